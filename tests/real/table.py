# SPDX-License-Identifier: MIT
"""What must hold on every real server: one table of tests, which a file for each server takes over and adds to.

    class TestWordPress(Table):
        server_class = WordPress

Each test has a ledger and a fleet of its own; the server is one for the whole file, as a platform is. What is on the
server is asked of the server itself, past landfall and past the proxy.
"""
import json
import subprocess

import pytest

from lib.fleet import Fleet
from lib.http_proxy import HttpProxy
from lib.procs import wait_for
from lib.tree import program

# A lease that a server on a busy machine does not outlast, and windows that end within a test.
TIMES = {"lease_ms": 30000, "late_commit_ms": 1500, "visibility_lag_ms": 500, "margin_ms": 100, "clean_misses": 2}
WRITE_LIMIT_MS = 20000
WAIT_S = 90


class RealFleet(Fleet):
    """A fleet with one channel, `<platform>/brand`, on a real server behind a proxy that loses what it is told to lose."""

    def __init__(self, server, credentials=None, config=None, **members):
        super().__init__(platforms=(), config=config)
        self.server, self.web = server, HttpProxy(server.origin)
        self.channel, self.members = server.platform + "/brand", members
        self.credentials = credentials or server.credentials

    def __enter__(self):
        self.web.__enter__()
        super().__enter__()
        self.use(self.credentials)
        return self

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.web.__exit__(*exc)

    def use(self, credentials):
        """These from now on, for programs that start now: one secret, or one of each name."""
        members = {"pace": {"spacing_ms": 0, "burst": 1}, "times": dict(TIMES), "write_limit_ms": WRITE_LIMIT_MS, **self.members}
        settings = {**self.server.settings(self.web.url), **members.pop("settings_extra", {})}
        self.add_channel(self.channel, credentials, settings, **members)

    def _channel(self, channel, token, settings, members):
        if isinstance(token, str):
            return super()._channel(channel, token, settings, members)
        files = {name: {"file": self.write_secret(name, value + "\n")} for name, value in token.items()}
        return {"platform": self.server.platform, "settings": settings, "credentials": files, **members}

    def landfall(self, *words, code=0, stdin=""):
        done = subprocess.run([program("landfall"), *words, "--config", self.config_path], input=stdin, text=True, capture_output=True,
                              timeout=120, cwd=self.dir, check=False)
        assert done.returncode == code and "Sanitizer" not in done.stderr, done
        return done.stdout

    def publish(self, item_id, **members):
        """Through the queue, until nothing is due; gives the row."""
        self.add(self.channel, self.item(item_id, **members))
        self.run_worker(timeout_s=WAIT_S)
        return self.row(self.name(item_id))

    def row(self, delivery):
        """With the values that are too long for the row itself."""
        return {**super().row(delivery), **self.db.hgetall(f"lf:{{0}}:request:{delivery}")}

    def name(self, item_id):
        return f"{self.channel}/{item_id}"

    def settle(self, item_id):
        """A worker and a reconciler, until it is published; gives the row."""
        self.start_worker()
        self.start_reconciler()
        return self.wait_state(self.name(item_id), "published", timeout_s=WAIT_S)

    def writes(self):
        return self.web.exchanges(*self.server.write)


class Table:
    server_class = None
    lookups = {}  # what the probe's look-ups of a post that does not exist say

    @pytest.fixture(scope="class")
    def server(self, tmp_path_factory):
        with self.server_class(tmp_path_factory.mktemp("server")) as server:
            yield server

    @pytest.fixture
    def fleet(self, server):
        with RealFleet(server) as fleet:
            yield fleet

    @staticmethod
    def there_once(fleet, item_id, row):
        """The row has the id and address that the server itself gives for the only such post."""
        posts = fleet.server.posts(item_id)
        assert [(one["id"], one["url"]) for one in posts] == [(row["ext_id"], row["url"])], (posts, row)

    def test_published(self, fleet):
        row = fleet.publish("first-light")
        assert (row["state"], row["source"]) == ("published", "response"), (row, fleet.writes(), fleet.output())
        self.there_once(fleet, "first-light", row)
        assert len(fleet.writes()) == 1

    def test_answer_lost_after_the_commit_is_read_back(self, fleet):
        fleet.web.lose_answer(*fleet.server.write)
        row = fleet.publish("second-bell")
        assert (row["state"], row["reason"]) == ("uncertain", "no_answer")
        assert len(fleet.server.posts("second-bell")) == 1
        row = fleet.settle("second-bell")
        assert row["source"] == "read_back" and "duplicate" not in row
        self.there_once(fleet, "second-bell", row)
        assert len(fleet.writes()) == 1

    def test_request_lost_before_the_server_is_published_once_after_proof(self, fleet):
        fleet.web.lose_request(*fleet.server.write)
        row = fleet.publish("third-rail")
        assert (row["state"], row["reason"]) == ("uncertain", "no_answer")
        assert fleet.server.posts("third-rail") == []
        row = fleet.settle("third-rail")
        assert [one.status is None for one in fleet.writes()] == [True, False]
        assert row["attempt"] == "2" and row["source"] in ("response", "replay")
        self.there_once(fleet, "third-rail", row)

    def test_a_worker_that_is_killed_leaves_one_post(self, server):
        """It has handed the whole request to the kernel and dies; the server goes on."""
        with RealFleet(server, times={**TIMES, "lease_ms": 7000, "late_commit_ms": 4000}, write_limit_ms=1900) as fleet:
            fleet.add(fleet.channel, fleet.item("killed-here"))
            fleet.start_worker(crash_at="after_last_byte").wait_killed(timeout_s=WAIT_S)
            row = fleet.settle("killed-here")
            self.there_once(fleet, "killed-here", row)
            assert row["source"] == "read_back" and len(fleet.writes()) == 1

    def test_refused_credential_pauses_the_channel_and_loses_nothing(self, server):
        with RealFleet(server, server.wrong_credentials) as fleet:
            for item_id in ("fourth-a", "fourth-b"):
                fleet.add(fleet.channel, fleet.item(item_id))
            fleet.run_worker(timeout_s=WAIT_S)
            rows = [fleet.row(fleet.name(item_id)) for item_id in ("fourth-a", "fourth-b")]
            assert all(row.get("state", "approved") == "approved" and row.get("tries", "0") == "0" for row in rows), (rows, fleet.output())
            assert fleet.db.hget(f"lf:{{0}}:channel:{fleet.channel}", "paused") == "credential", fleet.web.seen
            assert server.posts("fourth") == []
            fleet.landfall("platform", "probe", fleet.channel, code=4)
            fleet.use(server.credentials)
            fleet.landfall("resume", fleet.channel, "--why", "the right one")
            fleet.run_worker(timeout_s=WAIT_S)
            for item_id in ("fourth-a", "fourth-b"):
                self.there_once(fleet, item_id, fleet.row(fleet.name(item_id)))

    def test_a_credential_that_ends_before_the_reading_proves_nothing(self, fleet):
        """What is asked without leave may look like an empty account; the doubt stays, and the channel waits for a person."""
        fleet.web.lose_answer(*fleet.server.write)
        fleet.publish("seen-by-none")
        fleet.use(fleet.server.wrong_credentials)
        reconciler = fleet.start_reconciler()
        wait_for(lambda: fleet.db.hget(f"lf:{{0}}:channel:{fleet.channel}", "paused") == "credential", WAIT_S, reconciler.tail)
        reconciler.stop()
        assert fleet.row(fleet.name("seen-by-none"))["state"] == "uncertain"
        fleet.use(fleet.server.credentials)
        fleet.landfall("resume", fleet.channel, "--why", "the right one")
        row = fleet.settle("seen-by-none")
        self.there_once(fleet, "seen-by-none", row)
        assert row["source"] == "read_back" and len(fleet.writes()) == 1

    def test_try_shows_what_is_sent(self, fleet):
        item = fleet.item("fifth-wheel")
        document = json.loads(fleet.landfall("platform", "try", fleet.channel, "-", "--json", stdin=json.dumps(item)))
        assert fleet.web.seen == []
        assert fleet.publish("fifth-wheel")["state"] == "published"
        shown, sent = document["requests"][-1]["request"], fleet.writes()[-1]
        assert (shown["method"], shown["url"]) == (sent.method, fleet.web.url + sent.path)
        self.same_body(document, shown["body"], sent.body.decode())

    @staticmethod
    def same_body(document, shown, sent):
        assert json.loads(shown) == json.loads(sent) and not document["key_depends_on_time"]

    def test_probe_reads_only(self, fleet):
        fleet.publish("sixth-sense")
        writes = len(fleet.writes())
        document = json.loads(fleet.landfall("platform", "probe", fleet.channel, "--json", code=self.probe_code(fleet.server)))
        assert document["credential"] == "taken" and len(fleet.writes()) == writes, document
        assert {one["by"]: one["answer"] for one in document["lookups"]} == self.lookups, document
        assert document["listing"] is None or document["listing"]["end_proof_seen"] == (document["problems"] == []), document

    @staticmethod
    def probe_code(server):
        """5 where a listing does not prove its end."""
        return 0
