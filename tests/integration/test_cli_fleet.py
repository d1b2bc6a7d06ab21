# SPDX-License-Identifier: MIT
"""The command beside a working fleet: what real workers and reconcilers leave in Redis is what it shows."""
import json
import subprocess

import pytest

from lib.fleet import Fleet
from lib.procs import wait_for
from lib.tree import program

NAME = "mastodon/brand/hello"
ITEM = Fleet.item("hello")


@pytest.fixture
def fleet():
    with Fleet(["mastodon"]) as one:
        yield one


def landfall(fleet, *words, code=0, stdin=""):
    done = subprocess.run([program("landfall"), *words, "--config", fleet.config_path, "--json"], input=stdin, text=True,
                          capture_output=True, timeout=60, cwd=fleet.dir)
    assert done.returncode == code, done
    return json.loads(done.stdout)


def submit(fleet, *words):
    assert landfall(fleet, "submit", "-", "--to", "mastodon/brand", *words, stdin=json.dumps(ITEM))["new"] == 1


def test_published(fleet):
    submit(fleet)
    assert landfall(fleet, "show", NAME, code=3)["state"] == "approved"
    assert fleet.run_worker() == 0
    shown = landfall(fleet, "show", NAME)
    assert shown["state"] == "published" and shown["row"]["source"] == "response" and shown["row"]["url"]
    report = landfall(fleet, "report", "--expect", "1")
    assert report["deliveries"][0]["url"] == shown["row"]["url"]
    assert landfall(fleet, "status")["channels"][0]["counts"]["published"] == 1
    key = landfall(fleet, "key", "-", "--channel", "mastodon/brand", stdin=json.dumps(ITEM))["key"]
    assert key == shown["row"]["key"]
    fleet.check_judge(**{NAME: 1})


def test_backfill_and_schedule_reach_the_worker(fleet):
    fleet.channel_extra["mastodon"] = {"max_age_ms": 60000}
    fleet.write_config()
    old = json.dumps({**ITEM, "date_published": "2001-01-01T00:00:00Z"})
    landfall(fleet, "submit", "-", "--to", "mastodon/brand", stdin=old)
    other = json.dumps({**Fleet.item("other"), "date_published": "2001-01-01T00:00:00Z"})
    landfall(fleet, "submit", "-", "--to", "mastodon/brand", "--backfill", stdin=other)
    later = json.dumps(Fleet.item("later"))
    landfall(fleet, "submit", "-", "--to", "mastodon/brand", "--at", "1h", stdin=later)
    fleet.run_worker()
    assert landfall(fleet, "show", NAME, code=3)["reason"] == "backfill"
    assert landfall(fleet, "show", "mastodon/brand/other")["state"] == "published"
    shown = landfall(fleet, "show", "mastodon/brand/later", code=3)
    assert shown["reason"] == "scheduled" and shown["agenda_ms"] == shown["row"]["not_before_ms"]


def test_uncertain_then_drained(fleet):
    """The worker dies after the request; the command shows the doubt and what follows, and drain settles it."""
    submit(fleet)
    fleet.start_worker(crash_at="after_last_byte").wait_killed()
    shown = landfall(fleet, "show", NAME, code=3)
    assert shown["state"] == "claimed" and shown["lease"]["holder"] and shown["request"]["method"] == "POST"
    assert "{{secret}}" in json.dumps(shown["request"]) and "tok-masto" not in json.dumps(shown)
    wait_for(lambda: not fleet.db.exists(f"lf:{{0}}:lease:{NAME}"), 20, "the lease ends")
    fleet.run_worker()
    shown = landfall(fleet, "show", NAME, code=3)
    assert (shown["state"], shown["reason"], shown["in_journal"]) == ("uncertain", "lease_lost", True)
    status = landfall(fleet, "status", code=3)
    assert status["channels"][0]["uncertain_since_ms"] and any("landfall-reconciler" in note for note in status["notes"])
    done = subprocess.run([program("landfall"), "drain", "--config", fleet.config_path], cwd=fleet.dir, timeout=60)
    assert done.returncode in (0, 3)
    fleet.run_worker()
    assert landfall(fleet, "show", NAME)["state"] == "published"
    fleet.check_judge(**{NAME: 1})


def test_who_works_is_seen(fleet):
    worker = fleet.start_worker()
    reconciler = fleet.start_reconciler()
    wait_for(lambda: len(fleet.db.keys("lf:{0}:worker:*")) == 2, 20, "two heartbeats")
    status = landfall(fleet, "status")
    assert sorted(one["role"] for one in status["processes"]) == ["reconciler", "worker"] and status["notes"] == []
    assert worker.stop() == 0
    reconciler.stop()
