# SPDX-License-Identifier: MIT
"""What a job of a CI system relies on: a run that announced nothing is never green, every exit code of report and audit means
what the contract says, and an export can be committed, so that its diff is what was published."""
import json
import socket

import pytest

from lib.cli import Cli
from lib.fleet import UNPACED, Fleet

CHANNEL = "mastodon/brand"


@pytest.fixture
def cli(tmp_path):
    with Cli(tmp_path) as one:
        one.write("feed.ndjson", "".join(json.dumps({"id": name, "content_text": name}) + "\n" for name in ("a", "b")))
        yield one


def outcome(cli, delivery, state):
    """A row and its outcome."""
    cli.row(delivery, state=state, reason={"published": "confirmed", "rejected": "refused", "held": "spent"}[state],
            since=cli.now_ms(), attempt=1)
    cli.client.xadd(cli.key("outcomes"), {"delivery": delivery, "state": state, "attempt": 1})


def away(cli):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        cli.config(redis={"url": f"redis://127.0.0.1:{free.getsockname()[1]}"})


@pytest.mark.parametrize("states, code", [
    (["published", "published"], 0), ([], 5), (["published"], 5), (["published", "published", "held"], 3),
    (["published", "published", "uncertain"], 3), (["published", "published", "rejected", "held"], 4),
    (["published", "rejected"], 4), (["published", "held"], 5)])
def test_report_expect(cli, states, code):
    for number, state in enumerate(states):
        if state == "uncertain":
            cli.row("blog/brand/u", state="uncertain", reason="no_answer", since=cli.now_ms(), attempt=1)
        else:
            outcome(cli, f"blog/brand/{number}", state)
    assert cli.run("report", "--since", "1h", "--expect", "2").code == code
    assert json.loads(cli.run("report", "--since", "1h", "--expect", "2", "--json").out)["missing"] == max(
        0, 2 - states.count("published"))


@pytest.mark.parametrize("states, code", [
    ({"a": "published", "b": "published"}, 0), ({}, 5), ({"a": "published"}, 5), ({"a": "published", "b": "held"}, 5),
    ({"a": "published", "b": "rejected"}, 5)])
def test_audit(cli, states, code):
    for name, state in states.items():
        outcome(cli, f"blog/brand/{name}", state)
    assert cli.run("audit", "feed.ndjson", "--to", "blog/brand").code == code
    cli.write("feed.ndjson", '{"id": "a", "content_text": "a"}\nnot json\n')
    assert cli.run("audit", "feed.ndjson", "--to", "blog/brand").code == 1, "of several the first of 1, 2, 4, 5, 3"


@pytest.mark.parametrize("words", [("report", "--expect", "2"), ("audit", "feed.ndjson", "--to", "blog/brand"), ("export",)])
def test_without_redis_nothing_is_concluded_and_what_is_misspelt_is_usage(cli, words):
    assert cli.run(*words, "--no-such-flag").code == 1
    away(cli)
    done = cli.run(*words)
    assert done.code == 2 and done.out == "" and "redis.url" in done.err


def test_a_job_from_its_feed_to_its_commit():
    """Submitted, published, checked, exported; run again it changes nothing; a new item changes its own line alone."""
    with Fleet(["mastodon"], channel={"mastodon": UNPACED["mastodon"]}) as fleet:
        def landfall(*words, code=0, stdin=None):
            process = fleet.start("landfall", *words, "--config", fleet.config_path, name=f"landfall-{len(fleet.processes)}",
                                  stdin=stdin)
            assert process.wait() == code, process.tail()
            return process.stdout()

        def job(ids, expected):
            feed = "".join(json.dumps(fleet.item(one)) + "\n" for one in ids)
            landfall("submit", "-", "--to", CHANNEL, stdin=feed.encode())
            assert fleet.run_worker(name=f"worker-{len(fleet.processes)}") == 0
            landfall("report", "--since", "1h", "--expect", str(expected))
            landfall("audit", "-", "--to", CHANNEL, stdin=feed.encode())
            return landfall("export")

        landfall("report", "--expect", "1", code=5)
        landfall("audit", "-", "--to", CHANNEL, stdin=b'{"id": "a", "content_text": "a"}\n', code=5)
        first = job(["a", "c"], 2)
        assert job(["a", "c"], 2) == first, "a run that did nothing new leaves no difference"
        second = job(["a", "b", "c"], 3).splitlines()
        assert [second[0], second[2]] == first.splitlines(), "what was published before is not touched"
        new = json.loads(second[1])
        assert (new["delivery"], new["state"]) == (f"{CHANNEL}/b", "published") and new["url"] and new["since"]

        landfall("submit", "-", "--to", CHANNEL, "--hold", stdin=json.dumps(fleet.item("d")).encode())
        held = landfall("export").splitlines()
        landfall("approve", f"{CHANNEL}/d", "--why", "read")
        assert fleet.run_worker(name="the-last") == 0
        published = landfall("export").splitlines()
        changed = [(json.loads(before)["state"], json.loads(after)["state"]) for before, after in zip(held, published)
                   if before != after]
        assert len(held) == len(published) and changed == [("held", "published")], "its publication changes exactly its line"
        fleet.check_judge(**{f"{CHANNEL}/{one}": 1 for one in "abcd"})
