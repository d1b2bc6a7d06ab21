# SPDX-License-Identifier: MIT
"""A Redis that was set back, while what it has forgotten is still being executed by the platform."""
import contextlib
import os
import subprocess
import time

from lib.fleet import TIMES, UNPACED, Fleet
from lib.procs import wait_for
from lib.redis_server import RedisServer
from lib.together import Together
from lib.tree import program

together = Together(at_once=4)
# The lease and what the platform may do afterwards outlast the 10 s in which nobody claims after a rewind.
LATE = {**TIMES, "late_commit_ms": 8000}
COMMITS_AFTER_MS = 12_000


def published_once(platform, times, settings):
    """Redis is killed with the claim that it has answered, the worker with the request that it has sent; the platform
    executes that request later, but not later than it may."""
    with Fleet([platform], channel={platform: {**UNPACED[platform], "times": times}}, instances={platform: settings}) as fleet:
        fleet.add_many(f"{platform}/brand", ["first"])
        assert fleet.run_worker() == 0
        delivery, = fleet.add_many(f"{platform}/brand", ["it-1"])
        fleet.db.save()
        fleet.sim.fault("commit_late", platform, after_ms=COMMITS_AFTER_MS)
        worker = fleet.start_worker()
        wait_for(lambda: fleet.sim.delivery(delivery), what="the request to arrive")
        fleet.redis.kill()
        worker.kill()
        fleet.redis.start()
        executed = time.monotonic() + COMMITS_AFTER_MS / 1000
        assert fleet.state(delivery) is None
        fleet.start_worker()
        fleet.start_reconciler()
        fleet.wait_state(delivery, "published")
        time.sleep(max(0.0, executed + 0.5 - time.monotonic()))
        # Two requests may bear the number 1, of which Redis knows one: what counts is how often it was published.
        assert fleet.sim.delivery(delivery)["commits"] == 1


@together.test
def test_where_only_reading_helps_an_absence_counts_when_what_was_forgotten_can_be_seen():
    published_once("forem", LATE, {})


@together.test
def test_a_key_that_is_kept_only_when_the_request_is_done_is_not_sent_again_before_that():
    published_once("mastodon", {**LATE, "key_window_ms": 600_000}, {"key_lock": False})


@together.test
def test_a_refusal_that_is_told_late_does_not_hide_a_later_post():
    """A worker that was stopped brings the refusal of its attempt to a Redis that has forgotten the next one, which was
    published."""
    with Fleet(["forem"], channel={"forem": {**UNPACED["forem"], "times": TIMES}}) as fleet:
        delivery, = fleet.add_many("forem/brand", ["it-1"])
        fleet.sim.fault("status", "forem", status=422, body='{"error": "Title is too long", "status": 422}', delay_ms=300)
        late = fleet.start_worker()
        fleet.sim.wait("writes")
        late.pause()
        fleet.db.save()
        others = fleet.start_worker(), fleet.start_reconciler()
        assert fleet.wait_state(delivery, "published")["attempt"] == "2"
        assert [process.stop() for process in others] == [0, 0]
        fleet.redis.kill()
        fleet.redis.start()
        assert fleet.state(delivery) == "claimed"
        late.resume()
        late.wait_output("outcome=refused")
        row = fleet.row(delivery)
        assert (row["state"], row["reason"], row.get("in_doubt")) == ("uncertain", "refused_in_doubt", "rewound"), row
        fleet.start_reconciler()
        row = fleet.wait_state(delivery, "published")
        assert (row["source"], row["attempt"]) == ("read_back", "1")
        assert fleet.sim.delivery(delivery)["commits"] == 1


def landfall(fleet, *words):
    subprocess.run([program("landfall"), *words, "--config", fleet.config_path], capture_output=True, check=True, timeout=60, cwd=fleet.dir)


class TwoServers(Fleet):
    """A fleet whose Redis has a replica. Programs know one address, which leads to either of the two."""

    def __init__(self, **options):
        super().__init__(["forem"], redis_options={"repl_diskless_sync_delay": "0"}, **options)

    def __enter__(self):
        super().__enter__()
        self.address = os.path.join(self.dir, "redis.sock")
        self.other = RedisServer(replicaof=f"127.0.0.1 {self.redis.port}", repl_ping_replica_period="1")
        self.other.__enter__()
        wait_for(lambda: self.other.client().info("replication")["master_link_status"] == "up", 30, "the replica's first copy")
        self.config_extra = {"redis": {"url": f"unix://{self.address}"}}
        self.write_config()
        self.move_to(self.redis)
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(AttributeError):
            self.other.close()
        super().__exit__(*exc)

    def move_to(self, server):
        """The address leads there from now on, and whoever is connected has to come again."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.address)
        os.symlink(server.socket_path, self.address)
        for one in (self.redis, self.other):
            one.client().client_kill_filter(_type="normal")

    def promote(self, delivery, state):
        """The replica, once it knows the delivery so, is the master: the first one stands still and hears of nothing."""
        wait_for(lambda: self.other.client().hget(f"lf:{{0}}:delivery:{delivery}", "state") == state, 20, "the copy")
        self.other.client().execute_command("REPLICAOF", "NO", "ONE")
        self.move_to(self.other)

    def start_with_one_that_waits(self):
        """A worker that has published the first, and a delivery that its paused channel keeps."""
        worker = self.start_worker()
        first, = self.add_many("forem/brand", ["first"])
        self.wait_state(first, "published")
        landfall(self, "pause", "forem/brand", "--why", "a test")
        delivery, = self.add_many("forem/brand", ["it-1"])
        self.wait_state(delivery, "approved")
        return worker, delivery

    def wait_worker_at(self, server, name):
        """Until it has looked at the agenda there: another connection of it reads the queue, and may come earlier."""
        wait_for(lambda: any(one["name"] == name and one["cmd"].startswith("z") for one in server.client().client_list()), 20,
                 lambda: f"the worker to come: {server.client().client_list()}")


@together.test
def test_a_server_that_was_left_and_is_used_again_counts_as_set_back():
    """It has not been restarted, so its run id is the one that its ledger knows; what was sent meanwhile it has never heard of."""
    with TwoServers(channel=UNPACED) as fleet:
        worker, delivery = fleet.start_with_one_that_waits()
        fleet.promote(delivery, "approved")
        fleet.start_reconciler()
        landfall(fleet, "resume", "forem/brand", "--why", "a test")
        row = f"lf:{{0}}:delivery:{delivery}"
        wait_for(lambda: fleet.other.client().hget(row, "state") == "published", 40, "it to be published by the other server")
        fleet.move_to(fleet.redis)
        worker.wait_output("ledger.comeback", timeout_s=30)
        landfall(fleet, "resume", "forem/brand", "--why", "a test")
        wait_for(lambda: fleet.row(delivery)["reason"] != "paused", 20, "the claim to be answered")
        row = fleet.row(delivery)
        assert (row["state"], row["reason"]) == ("approved", "ledger_rewound"), "it waits, and is then read back"
        assert fleet.sim.report()["totals"]["writes"] == 2, "nothing was sent again"


@together.test
def test_a_master_that_was_a_replica_meanwhile_counts_as_set_back():
    """It has got what the other one knew, and lost what that had not heard of; and its run id is the one that its ledger knows."""
    with TwoServers(channel=UNPACED) as fleet:
        worker, delivery = fleet.start_with_one_that_waits()
        wait_for(lambda: fleet.other.client().hget(f"lf:{{0}}:delivery:{delivery}", "state") == "approved", 20, "the copy")
        fleet.other.client().execute_command("REPLICAOF", "NO", "ONE")
        landfall(fleet, "resume", "forem/brand", "--why", "a test")
        fleet.wait_state(delivery, "published")
        fleet.db.execute_command("REPLICAOF", "127.0.0.1", fleet.other.port)
        worker.wait_output("READONLY", timeout_s=30)
        wait_for(lambda: fleet.state(delivery) == "approved", 20, "the other one's copy")
        fleet.db.execute_command("REPLICAOF", "NO", "ONE")
        worker.wait_output("ledger.comeback", timeout_s=30)
        landfall(fleet, "resume", "forem/brand", "--why", "a test")
        wait_for(lambda: fleet.row(delivery)["reason"] != "paused", 20, "the claim to be answered")
        assert fleet.row(delivery)["reason"] == "ledger_rewound" and fleet.sim.report()["totals"]["writes"] == 2


@together.test
def test_a_refusal_of_an_attempt_whose_server_was_left_meanwhile_is_no_last_word():
    times = {**TIMES, "lease_ms": 25000}
    with TwoServers(channel={"forem": {**UNPACED["forem"], "times": times, "write_limit_ms": 20000}}) as fleet:
        fleet.sim.fault("status", "forem", status=422, body='{"error": "Title is too long", "status": 422}', delay_ms=14000)
        worker = fleet.start_worker(env={"LANDFALL_WORKER_NAME": "late"})
        delivery, = fleet.add_many("forem/brand", ["it-1"])
        fleet.sim.wait("writes")
        fleet.promote(delivery, "claimed")
        fleet.wait_worker_at(fleet.other, "late")
        fleet.move_to(fleet.redis)
        worker.wait_output("outcome=refused", timeout_s=30)
        row = fleet.row(delivery)
        assert (row["state"], row["reason"], row.get("in_doubt")) == ("uncertain", "refused_in_doubt", "rewound"), row


@together.test
def test_a_dump_that_is_older_than_the_first_claim():
    """The first worker's claims are forgotten together with the epoch that would tell of the restart."""
    with Fleet(["forem"], channel=UNPACED) as fleet:
        delivery, = fleet.add_many("forem/brand", ["it-1"])
        time.sleep(2.0)  # servers tell their age in whole seconds
        fleet.db.save()
        assert fleet.run_worker() == 0
        fleet.redis.kill()
        fleet.redis.start()
        assert fleet.state(delivery) is None
        worker = fleet.start_worker()
        row = fleet.wait_state(delivery, "uncertain", "published")
        assert row["reason"] == "ledger_rewound", row
        fleet.start_reconciler()
        assert fleet.wait_state(delivery, "published")["source"] == "read_back"
        assert fleet.sim.delivery(delivery)["writes"] == 1
        assert worker.stop() == 0


@together.test
def test_what_may_have_been_sent_is_not_cancelled_as_if_it_had_not():
    with Fleet(["forem"], channel=UNPACED) as fleet:
        fleet.add_many("forem/brand", ["first"])
        assert fleet.run_worker() == 0
        delivery, = fleet.add_many("forem/brand", ["it-1"])
        approved_at = fleet.db.xrange("lf:{0}:queue")[0][0].split("-")[0]
        fleet.db.hset(f"lf:{{0}}:delivery:{delivery}", mapping={"state": "approved", "reason": "new", "approved_at": approved_at})
        fleet.db.hset("lf:{0}:epoch", "rewound_at", int(approved_at) + 1)
        cancel = [program("landfall"), "cancel", delivery, "--why", "late", "--config", fleet.config_path]
        refused = subprocess.run(cancel, capture_output=True, text=True, timeout=60, cwd=fleet.dir)
        assert "has forgotten may have committed" in refused.stdout + refused.stderr
        assert fleet.state(delivery) == "approved"
        subprocess.run([*cancel, "--in-doubt"], capture_output=True, check=True, timeout=60, cwd=fleet.dir)
        assert fleet.row(delivery)["in_doubt"] == "rewound"
