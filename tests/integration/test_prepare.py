# SPDX-License-Identifier: MIT
"""Steps before a write: their results go out with it, the ledger has the request before the platform does, and whatever
happens among the steps leaves nothing that could have been published."""
import hashlib
import json

import pytest

from lib.fleet import CHANNELS, TIMES, Fleet
from lib.procs import wait_for
from lib.stepped import stepped
from lib.tiers import check_row, wait_row

CHANNEL = CHANNELS["mastodon"]
DELIVERY = f"{CHANNEL}/it-1"
NO_SUCH = '.settings.instance + "/api/v1/nothing"'
STEP_PATH = "/verify_credentials"


def request_of(fleet, delivery=DELIVERY):
    return fleet.db.hgetall(f"lf:{{0}}:request:{delivery}")


def blake2b(text):
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def check_frozen(fleet, delivery=DELIVERY):
    """The ledger has the request with the step's result in it, and what the result was; gives the bytes."""
    request = request_of(fleet, delivery)
    kept = json.loads(request["prepared"])["step1"]
    assert kept and kept in "".join(part for part in json.loads(request["frozen"])["body"] if isinstance(part, str))
    assert fleet.row(delivery)["body_hash"] == blake2b(request["frozen"])
    return request["frozen"]


@pytest.mark.parametrize("platform", ["mastodon", "bluesky"])
def test_results_go_out_with_the_post(platform):
    delivery = f"{CHANNELS[platform]}/it-1"
    with Fleet([platform], descriptors=[stepped(platform, steps=2)]) as fleet:
        fleet.add(CHANNELS[platform], fleet.item("it-1"))
        assert fleet.run_worker() == 0
        assert fleet.state(delivery) == "published"
        fleet.check_judge(**{delivery: 1})
        assert fleet.sim.report()["instances"][platform]["reads"] == 2, "one request of each step"
        assert "prepared" not in request_of(fleet, delivery)


def test_the_ledger_has_the_request_before_the_platform():
    """Killed with the connection open: the row says what would have been sent, and exactly that is sent later, without steps."""
    with Fleet(["mastodon"], descriptors=[stepped("mastodon")]) as fleet:
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker(crash_at="before_first_byte", name="first").wait_killed()
        frozen = check_frozen(fleet)
        fleet.start_reconciler()
        fleet.start_worker(crash_at="after_last_byte", name="second").wait_killed()
        assert request_of(fleet)["frozen"] == frozen
        assert fleet.row(DELIVERY)["body_hash"] == blake2b(frozen)
        fleet.start_worker(name="third")
        fleet.wait_state(DELIVERY, "published")
        fleet.check_judge(**{DELIVERY: 1})


def test_killed_among_the_steps_nothing_is_frozen():
    """The request of the claim is empty until the steps are done, so a row without one was not sent."""
    with Fleet(["mastodon"], descriptors=[stepped("mastodon")]) as fleet:
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker(crash_at="after_prepare", name="first").wait_killed()
        row = fleet.row(DELIVERY)
        assert row["state"] == "claimed" and "body_hash" not in row
        assert {"frozen", "prepared"} & set(request_of(fleet)) == set()
        fleet.check_judge(**{DELIVERY: 0})


def test_a_step_that_is_refused_rejects_the_delivery():
    with Fleet(["mastodon"], descriptors=[stepped("mastodon", url=NO_SUCH)]) as fleet:
        fleet.add(CHANNEL, fleet.item("it-1"))
        assert fleet.run_worker() == 4
        check_row(fleet, DELIVERY, "rejected", "refused")
        fleet.check_judge(**{DELIVERY: 0})


def test_a_step_that_fails_is_tried_again_and_uses_up_the_budget():
    with Fleet(["mastodon"], descriptors=[stepped("mastodon")], channel={"mastodon": {"max_attempts": 3}}) as fleet:
        fleet.sim.fault("status", on={"path": STEP_PATH}, times=-1, status=503)
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker()
        row = wait_row(fleet, DELIVERY, "held", "spent", timeout_s=20)
        assert row["attempt"] == "3"
        fleet.check_judge(**{DELIVERY: 0})


def test_a_step_without_its_result_sends_nothing():
    with Fleet(["mastodon"], descriptors=[stepped("mastodon", keep=".answer.body.nothing? // null")],
               channel={"mastodon": {"max_attempts": 1}}) as fleet:
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker()
        wait_row(fleet, DELIVERY, "held", "spent", timeout_s=20)
        assert "step.failed" in fleet.output()
        fleet.check_judge(**{DELIVERY: 0})


def test_steps_that_an_item_does_not_need_are_passed_over():
    """Where no step is left, the claim brings the request along as for any other platform."""
    descriptor = stepped("mastodon", url="null")
    with Fleet(["mastodon"], descriptors=[descriptor]) as fleet:
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker(crash_at="after_claim", name="first").wait_killed()
        assert json.loads(request_of(fleet)["frozen"])["v"] == 1
        assert "prepared" not in request_of(fleet)
        fleet.check_judge(**{DELIVERY: 0})


def test_the_lease_lasts_while_steps_run():
    """Steps that take longer than a lease, all in all: nobody takes the delivery away, and it goes out once."""
    with Fleet(["mastodon"], descriptors=[stepped("mastodon", steps=7)]) as fleet:
        fleet.sim.fault("commit_slowly", on={"path": STEP_PATH}, times=-1, delay_ms=1200)
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker(name="first")
        claimed = fleet.wait_state(DELIVERY, "claimed")
        fleet.start_worker(name="second")
        row = fleet.wait_state(DELIVERY, "published")
        assert int(row["since"]) - int(claimed["claimed_at"]) > TIMES["lease_ms"]
        assert row["attempt"] == "1"
        fleet.check_judge(**{DELIVERY: 1})


def test_a_lease_that_is_lost_among_the_steps_sends_nothing():
    """Somebody's hand takes the lease away: the worker is told so and does not begin the write; it goes out later, once."""
    with Fleet(["mastodon"], descriptors=[stepped("mastodon", steps=4)]) as fleet:
        fleet.sim.fault("commit_slowly", on={"path": STEP_PATH}, times=4, delay_ms=1200)
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker(name="first")
        fleet.wait_state(DELIVERY, "claimed")
        fleet.db.delete(f"lf:{{0}}:lease:{DELIVERY}")
        fleet.hurry(DELIVERY)
        fleet.wait_state(DELIVERY, "uncertain")
        fleet.start_reconciler()
        row = fleet.wait_state(DELIVERY, "published", timeout_s=45)
        assert row["attempt"] == "2"
        fleet.check_judge(**{DELIVERY: 1})


def test_redis_that_goes_away_among_the_steps():
    """The request cannot be kept, so it is not sent; when Redis is back in time it is, once."""
    with Fleet(["mastodon"], descriptors=[stepped("mastodon")], proxied=True) as fleet:
        fleet.sim.fault("commit_slowly", on={"path": STEP_PATH}, delay_ms=1000)
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker()
        fleet.wait_state(DELIVERY, "claimed")
        fleet.proxy.refuse()
        wait_for(lambda: fleet.sim.report()["instances"].get("mastodon", {}).get("reads") == 1, 10,
                 lambda: "the step to be asked")
        fleet.check_judge(**{DELIVERY: 0})
        fleet.proxy.accept()
        fleet.start_reconciler()
        fleet.wait_state(DELIVERY, "published", timeout_s=45)
        fleet.check_judge(**{DELIVERY: 1})


def test_an_answer_that_is_lost_when_the_ledger_has_the_request():
    """The note is made once and its answer never arrives: the same again finds it there, and the write goes out once."""
    with Fleet(["mastodon"], descriptors=[stepped("mastodon")], proxied=True) as fleet:
        done = fleet.proxy.cut_after("ok")
        fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.start_worker()
        row = fleet.wait_state(DELIVERY, "published")
        assert done.is_set() and row["attempt"] == "1"
        fleet.check_judge(**{DELIVERY: 1})
