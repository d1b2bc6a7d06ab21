# SPDX-License-Identifier: MIT
"""What an operator decides, beside real workers: one send goes through, evidence wins, a pause holds. The judge counts."""
import json
import subprocess

import pytest

from lib.fleet import Fleet, TIMES
from lib.procs import wait_for
from lib.tiers import NOTICES, NOTICES_TOKEN
from lib.tree import program

BLIND, MASTODON = "notices/brand", "mastodon/brand"
WHY = ("--why", "looked at the page")


@pytest.fixture
def fleet():
    """Writes may take their time, so that there is some to act in; a service that can neither be read nor replayed."""
    slow = {"mastodon": {"times": {**TIMES, "lease_ms": 30000}, "write_limit_ms": 20000, "pace": {"spacing_ms": 0, "burst": 1}}}
    with Fleet(["mastodon"], channel=slow, descriptors=[NOTICES]) as one:
        one.add_channel(BLIND, NOTICES_TOKEN, {"instance": one.add_fake("notices", "notices", BLIND, NOTICES_TOKEN)})
        yield one


def landfall(fleet, *words, code=0, stdin=""):
    done = subprocess.run([program("landfall"), *words, "--config", fleet.config_path, "--json"], input=stdin, text=True,
                          capture_output=True, timeout=60, cwd=fleet.dir)
    assert done.returncode == code, done
    return json.loads(done.stdout)


def answer(fleet, *words, code=0):
    return landfall(fleet, *words, *WHY, code=code)["deliveries"][0]


def hold_without_evidence(fleet, fault):
    """A delivery whose write was answered with nothing, on a channel where nobody can look."""
    delivery = f"{BLIND}/it-1"
    fleet.sim.fault(fault, "notices")
    fleet.add(BLIND, fleet.item("it-1"))
    fleet.run_worker()
    assert fleet.state(delivery) == "uncertain"
    with fleet.start_reconciler():
        row = fleet.wait_state(delivery, "held")
    assert row["reason"] == "no_evidence"
    return delivery


def test_a_retry_lets_one_claim_through(fleet):
    delivery = hold_without_evidence(fleet, "close_before_commit")
    told = answer(fleet, "retry", delivery, "--yes")
    assert told["answer"] == "done" and told["risk"].startswith("attempt 1 may have committed; a second post is possible")
    fleet.start_worker()
    fleet.start_worker()
    row = fleet.wait_state(delivery, "published")
    assert row["source"] == "response" and row["attempt"] == "2"
    report = fleet.check_judge(**{delivery: 1})
    assert report["deliveries"][delivery]["writes"] == 2
    assert answer(fleet, "retry", delivery)["answer"] == "already"


def test_after_a_retry_that_has_no_answer_either_a_person_is_asked_again(fleet):
    """The operator's word is for one claim. A second doubt is not sent again by itself."""
    delivery = hold_without_evidence(fleet, "close_before_commit")
    fleet.sim.fault("close_before_commit", "notices", times=-1)
    answer(fleet, "retry", delivery, "--yes")
    fleet.run_worker()
    assert fleet.state(delivery) == "uncertain" and "waived" not in fleet.row(delivery)
    with fleet.start_reconciler():
        row = fleet.wait_state(delivery, "held")
    assert row["attempt"] == "2" and len(row["in_doubt"].split()) == 2
    fleet.run_worker()
    assert fleet.check_judge(**{delivery: 0})["deliveries"][delivery]["writes"] == 2
    assert "attempts 1 and 2 may have committed" in answer(fleet, "retry", delivery, code=1)["risk"]


def test_a_confirmed_delivery_is_published_and_never_sent_again(fleet):
    delivery = hold_without_evidence(fleet, "commit_then_close")
    assert answer(fleet, "confirm", delivery, "--id", "notice_1")["answer"] == "done"
    row = fleet.row(delivery)
    assert (row["state"], row["source"], row["ext_id"]) == ("published", "operator", "notice_1")
    fleet.run_worker()
    assert fleet.check_judge(**{delivery: 1})["deliveries"][delivery]["writes"] == 1
    assert landfall(fleet, "report")["counts"] == [
        {"channel": BLIND, "state": "published", "source": "operator", "n": 1}]


def test_evidence_that_comes_after_a_cancel_wins_and_raises_the_alert(fleet):
    """Its lease is taken from a worker whose request was executed; it is given up; then the answer comes."""
    delivery = f"{MASTODON}/it-1"
    fleet.sim.fault("hold", "mastodon")
    fleet.add(MASTODON, fleet.item("it-1"))
    worker = fleet.start_worker()
    fleet.sim.wait("holding")
    lease = landfall(fleet, "leases")["leases"][0]
    assert (lease["delivery"], lease["attempt"], lease["state"]) == (delivery, 1, "claimed") and lease["left_ms"] > 0
    told = answer(fleet, "cancel", delivery, "--in-doubt", code=3)
    assert told["answer"] == "busy" and told["until_ms"] > 0
    fleet.db.delete(f"lf:{{0}}:lease:{delivery}")
    fleet.hurry(delivery)
    fleet.wait_state(delivery, "uncertain")
    assert landfall(fleet, "journal", code=3)["deliveries"][0]["reason"] == "lease_lost"
    assert answer(fleet, "cancel", delivery, code=1)["answer"] == "refused"
    assert answer(fleet, "cancel", delivery, "--in-doubt")["answer"] == "done" and fleet.state(delivery) == "rejected"
    fleet.sim.release()
    row = fleet.wait_state(delivery, "published")
    assert row["source"] == "response"
    wait_for(lambda: "event=delivery.alert" in worker.stderr(), 10, "the alert")
    fleet.check_judge(**{delivery: 1})
    acts = [fields["act"] for _, fields in fleet.db.xrange("lf:{0}:audit")]
    assert acts == ["cancel"]


def test_what_a_channel_that_is_paused_has_waits_and_goes_out_afterwards(fleet):
    assert landfall(fleet, "pause", MASTODON, *WHY)["answer"] == "done"
    deliveries = fleet.add_many(MASTODON, ["a", "b", "c"])
    assert fleet.run_worker() == 3  # it says that something waits
    assert {fleet.row(delivery)["reason"] for delivery in deliveries} == {"paused"}
    assert fleet.sim.report()["deliveries"] == {}
    assert landfall(fleet, "resume", MASTODON, *WHY)["waiting"] == 3
    fleet.run_worker()
    assert fleet.states(deliveries) == {"published": 3}
    fleet.check_judge(**dict.fromkeys(deliveries, 1))


def test_drafts_are_approved_and_rejected(fleet):
    items = [fleet.item(f"it-{i}") for i in range(5)]
    landfall(fleet, "submit", "-", "--to", MASTODON, "--hold", stdin="\n".join(map(json.dumps, items)))
    deliveries = [f"{MASTODON}/it-{i}" for i in range(5)]
    fleet.run_worker()
    assert fleet.states(deliveries) == {"held": 5}
    assert answer(fleet, "reject", deliveries[4])["answer"] == "done"
    assert landfall(fleet, "approve", "--channel", MASTODON, *WHY, code=1)["picked"] == 4
    done = landfall(fleet, "approve", "--channel", MASTODON, "--yes", *WHY)
    assert done["done"] == 4
    fleet.run_worker()
    assert fleet.states(deliveries) == {"published": 4, "rejected": 1}
    feed = "\n".join(map(json.dumps, items))
    gaps = landfall(fleet, "audit", "-", "--to", MASTODON, stdin=feed, code=5)["gaps"]
    assert [gap["delivery"] for gap in gaps] == [deliveries[4]]
    assert landfall(fleet, "retry", deliveries[4], *WHY)["done"] == 1
    fleet.run_worker()
    assert landfall(fleet, "audit", "-", "--to", MASTODON, stdin=feed)["published"] == 5
    assert [line["state"] for line in landfall(fleet, "export")] == ["published"] * 5
    fleet.check_judge(**dict.fromkeys(deliveries, 1))


def test_an_act_whose_answer_is_lost_is_done_once():
    with Fleet(["mastodon"], proxied=True) as fleet:
        deliveries = [f"{MASTODON}/it-{i}" for i in range(3)]
        landfall(fleet, "submit", "-", "--to", MASTODON, "--hold", stdin="\n".join(json.dumps(fleet.item(f"it-{i}")) for i in range(3)))
        lost = fleet.proxy.cut_after("ok")
        done = landfall(fleet, "approve", "--channel", MASTODON, "--yes", *WHY)
        assert lost.is_set() and done["done"] + done["already"] == 3 and done["not_known"] == 0
        assert fleet.states(deliveries) == {"approved": 3}
        assert sorted(fields["delivery"] for _, fields in fleet.db.xrange("lf:{0}:audit")) == deliveries
        fleet.run_worker()
        fleet.check_judge(**dict.fromkeys(deliveries, 1))
