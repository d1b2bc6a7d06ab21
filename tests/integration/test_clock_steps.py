# SPDX-License-Identifier: MIT
"""A clock is set an hour forward or back: that of the machine with Redis, or that of a worker's machine."""
import contextlib
import datetime
import os
import tempfile
from unittest import mock

import pytest

from lib.fleet import CHANNELS, UNPACED, Fleet
from lib.leaping_clock import LeapingClock
from lib.procs import wait_for

HOUR_S = 3600
FOREM = CHANNELS["forem"]


@contextlib.contextmanager
def redis_that_leaps(*platforms, **kwargs):
    with tempfile.TemporaryDirectory() as folder:
        clock = LeapingClock(folder)
        with mock.patch.dict(os.environ, LANDFALL_REDIS_SERVER=clock.program):
            fleet = Fleet(platforms, channel=UNPACED, **kwargs)
        with fleet:
            yield fleet, clock


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_a_step_of_redis_clock_while_a_write_is_in_flight_makes_no_second_one(step_s):
    """Forward, the lease seems to be over, and others look at it; back, it seems to last. The answer settles it."""
    with redis_that_leaps("forem") as (fleet, clock):
        fleet.sim.fault("hold", "forem", limit_ms=60_000)
        delivery, = fleet.add_many(FOREM, ["it-1"])
        first = fleet.start_worker()
        fleet.sim.wait("holding")
        clock.leap(step_s)
        other, reconciler = fleet.start_worker(), fleet.start_reconciler()
        if step_s > 0:
            assert fleet.wait_state(delivery, "uncertain", "published", timeout_s=40)
        fleet.sim.release()
        fleet.wait_state(delivery, "published", timeout_s=60)
        assert fleet.sim.delivery(delivery)["writes"] == 1
        fleet.check_judge(**{delivery: 1})
        assert [p.stop() for p in (first, other, reconciler)] == [0, 0, 0]


def test_what_waits_when_redis_clock_is_set_back_is_neither_lost_nor_sent_before_its_time():
    """Its time is one of that clock: it goes out when the clock is right again, and the fleet works meanwhile."""
    with redis_that_leaps("webhook") as (fleet, clock):
        fleet.sim.fault("status", "webhook", status=429, headers={"Retry-After": "5"})
        delivery, = fleet.add_many("webhook/brand", ["it-1"])
        worker = fleet.start_worker()
        wait_for(lambda: fleet.row(delivery).get("reason") == "blocked", 20, lambda: str(fleet.row(delivery)))
        clock.leap(-HOUR_S)
        worker.wait_output("ledger.leap", timeout_s=30)
        assert fleet.sim.delivery(delivery)["writes"] == 1
        clock.leap(0)
        fleet.wait_state(delivery, "published", timeout_s=40)
        assert fleet.sim.delivery(delivery)["writes"] == 2
        assert worker.stop() == 0


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_a_workers_own_clock_decides_nothing(step_s, tmp_path):
    """Schedules, leases and windows go by Redis's clock, limits by one that is never set."""
    clock = LeapingClock(tmp_path)
    with Fleet(["forem", "webhook"], channel=UNPACED) as fleet:
        clock.leap(step_s)
        worker, reconciler = (start(env=clock.environment) for start in (fleet.start_worker, fleet.start_reconciler))
        now_s = fleet.db.time()[0]

        def at(in_s):
            return datetime.datetime.fromtimestamp(now_s + in_s, datetime.timezone.utc).isoformat()

        soon, late = (fleet.item(name, landfall={"not_before": at(in_s)}) for name, in_s in (("soon", 3), ("late", 1800)))
        for item in (soon, late):
            fleet.add(FOREM, item)
        fleet.sim.fault("commit_then_close", "forem")
        fleet.wait_state(f"{FOREM}/soon", "published")
        clock.leap(0)
        fleet.wait_states(fleet.add_many("webhook/brand", ["it-1", "it-2"]), "published")
        wait_for(lambda: fleet.state(f"{FOREM}/late") == "approved", what="the late one to wait")
        assert fleet.sim.delivery(f"{FOREM}/late") is None
        fleet.check_judge(**{f"{FOREM}/soon": 1})
        assert [worker.stop(), reconciler.stop()] == [0, 0]
