# SPDX-License-Identifier: MIT
"""The clock of the Redis server leaps. What was waited for seems to be over, and is not: whoever notices tells the ledger,
and until everything that was sent before is over no absence counts."""
import pytest

from lib.leaping_clock import LeapingClock
from lib.procs import wait_for
from reconciler_kit import Scene, channel

FOREM = channel("forem")
LAG_MS = 600000  # an absence counts ten minutes after the last moment at which the attempt can commit
TWO_HOURS_S = 7200


@pytest.fixture
def clock(tmp_path, monkeypatch):
    leaping = LeapingClock(tmp_path)
    monkeypatch.setenv("LANDFALL_REDIS_SERVER", leaping.program)
    return leaping


def told(scene):
    """Until when the ledger holds that nothing counts."""
    epoch = scene.db.hgetall(scene.ledger.key("epoch"))
    return int(epoch.get("leap_until", 0)), int(epoch.get("no_absence_before", 0))


def wait_told(scene):
    wait_for(lambda: told(scene)[0] > 0, 20, what=scene.output)
    leap_until, no_absence_before = told(scene)
    assert leap_until == no_absence_before > scene.ledger.now() + LAG_MS - 60000


@pytest.mark.parametrize("leap_s", [TWO_HOURS_S, -TWO_HOURS_S])
def test_a_reconciler_that_sees_a_leap_takes_no_absence_for_proven(clock, leap_s):
    with Scene(["forem"], times={"visibility_lag_ms": LAG_MS}) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        with scene.running() as reconciler:
            reconciler.wait_output("walk.ended")
            clock.leap(leap_s)
            scene.db.zadd(scene.ledger.key("agenda"), {"walk:" + FOREM: 1})  # due on any clock
            reconciler.wait_output("ledger.leap")
            wait_told(scene)
            assert told(scene)[0] > scene.ledger.now() + LAG_MS - 60000 - min(leap_s, 0) * 1000, "set back, it has to come to where it was"
            walks = len(scene.events(reconciler, "walk.ended"))
            scene.db.zadd(scene.ledger.key("agenda"), {"walk:" + FOREM: 1})
            wait_for(lambda: len(scene.events(reconciler, "walk.ended")) > walks, 20, what=scene.output)
        assert scene.ledger.state(delivery) == ("uncertain", "no_answer")
        scene.nothing_was_written()


def test_a_leap_that_only_a_worker_has_seen_holds_for_a_drain_that_begins_later(clock):
    with Scene(["forem"], times={"visibility_lag_ms": LAG_MS}) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        worker = scene.start_worker()
        scene.add(FOREM, scene.item("before"))
        scene.wait_state(f"{FOREM}/before", "published")
        clock.leap(TWO_HOURS_S)
        scene.add(FOREM, scene.item("after"))
        scene.wait_state(f"{FOREM}/after", "published")
        wait_told(scene)
        assert worker.stop() == 0 and len(scene.events(worker, "ledger.leap")) == 1
        lines = scene.drain(code=3)
        assert scene.ledger.state(delivery) == ("uncertain", "no_answer")
        assert "its clock leapt" in lines["plan"][0]["later_why"]
        scene.plant("forem", "it-1")  # what is found counts at any time
        scene.drain()
        assert scene.state(delivery) == "published"
