# SPDX-License-Identifier: MIT
"""After a drain no flood: what it hands back to the workers keeps to the channel's pace, its time limits, the number of
requests that one channel may have at once, and to its turns: so many a minute and no more."""
import datetime
import time

from lib.fleet import TIMES, UNPACED, Fleet
from lib.procs import wait_for

FOREM = "forem/brand"
COUNT, EXPIRED, LATE = 50, 5, 5
SPACING_MS, BURST, IN_FLIGHT = 200, 3, 2
# The worker's clock at the send and the platform's at the receipt differ by what the machine does meanwhile.
JITTER_MS = 150


def in_s(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def outage(fleet):
    """Fifty requests are under way when the platform falls silent and the worker is killed. (all, those with little time)"""
    times = {**{f"it-{n}": {} for n in range(COUNT - EXPIRED - LATE)},
             **{f"expired-{n}": {"landfall": {"not_after": in_s(5)}} for n in range(EXPIRED)},
             **{f"late-{n}": {"landfall": {"not_after": in_s(12)}} for n in range(LATE)}}
    fleet.sim.fault("accept_and_never_answer", "forem", times=-1)
    for item_id, members in times.items():
        fleet.add(FOREM, fleet.item(item_id, **members))
    worker = fleet.start_worker(name="killed")
    names = [f"{FOREM}/{item_id}" for item_id in times]
    fleet.wait_states(names, "claimed")
    wait_for(lambda: fleet.sim.report()["instances"].get("forem", {}).get("writes") == COUNT, what="fifty requests under way")
    worker.kill()
    fleet.sim.clear_faults()
    return names, [name for name in names if "/it-" not in name]


def write_times(fleet):
    """When the platform got the write requests, by its own clock."""
    log = fleet.sim.get("requests", instance="forem", limit=1000)["requests"]
    return sorted(line["at_ms"] for line in log if line["kind"] == "write")


def test_what_is_handed_back_does_not_flood_the_channel():
    config = {"worker": {"slots": 64, "max_in_flight_per_channel": 64}}
    quick = {**TIMES, "clean_misses": 1}
    with Fleet(["forem"], channel={"forem": {**UNPACED["forem"], "times": quick}}, config=config) as fleet:
        names, short = outage(fleet)
        # The leases end, and a worker finds out; then one drain.
        fleet.channel_extra = {"forem": {"pace": {"spacing_ms": SPACING_MS, "burst": BURST}, "times": quick}}
        fleet.config_extra = {"worker": {"slots": 64, "max_in_flight_per_channel": IN_FLIGHT}}
        fleet.write_config()
        finder = fleet.start_worker(name="finder")
        fleet.wait_states(names, "uncertain")
        assert finder.stop() == 0
        drain = fleet.start_reconciler("drain", "--wait", "--timeout", "20", name="drain")
        drain.wait_exit(3, 30)  # what is held waits for a person
        handed_back = [name for name in names if fleet.state(name) == "approved"]
        assert set(names) - set(short) <= set(handed_back)
        assert {fleet.row(name)["reason"] for name in handed_back} == {"absent"}

        before = len(write_times(fleet))
        fleet.sim.fault("commit_then_late_answer", "forem", times=-1, delay_ms=250)
        fleet.start_worker(name="sender")
        most, began = 0, time.monotonic()

        def all_out():
            nonlocal most
            most = max(most, len(fleet.db.keys("lf:{0}:lease:forem/*")))
            states = fleet.states(names)
            return states.get("published") == COUNT - len(short) and states.get("held") == len(short)
        wait_for(all_out, 60, what=lambda: f"{fleet.states(names)}\n{fleet.output()}")
        assert 1 <= most <= IN_FLIGHT
        assert {fleet.row(name)["reason"] for name in short} == {"expired"}

        sent = write_times(fleet)[before:]
        assert len(sent) == COUNT - len(short)
        for first in range(len(sent) - BURST):  # a burst, and then one every spacing
            took = sent[first + BURST] - sent[first]
            assert took >= SPACING_MS - JITTER_MS, (first, took)
        assert sent[-1] - sent[0] >= (len(sent) - BURST) * SPACING_MS - JITTER_MS
        assert time.monotonic() - began >= (len(sent) - BURST) * SPACING_MS / 1000
        fleet.check_judge(**{name: int(name not in short) for name in names})


MANY, TURN_MS = 400, 100


def turns(fleet, names):
    """The turns that they have; none for those that have none yet or have gone out."""
    pipe = fleet.db.pipeline(transaction=False)
    for name in names:
        pipe.hget(f"lf:{{0}}:delivery:{name}", "turn")
    return {name: int(turn) for name, turn in zip(names, pipe.execute()) if turn and int(turn) > 1}


def test_hundreds_that_an_outage_left_absent_go_out_one_by_one():
    config = {"worker": {"slots": 64, "max_in_flight_per_channel": 64}, "delivery": {"handed_back_per_minute": 60000 // TURN_MS}}
    with Fleet(["forem"], channel={"forem": {**UNPACED["forem"], "times": {**TIMES, "clean_misses": 1}}}, config=config) as fleet:
        fleet.sim.fault("status", "forem", times=-1, status=500, on={"kind": "write"})
        names = fleet.add_many(FOREM, [f"it-{n}" for n in range(MANY)])
        worker = fleet.start_worker(name="before")
        fleet.wait_states(names, "uncertain", timeout_s=60)
        assert worker.stop() == 0
        fleet.sim.clear_faults()
        before = len(write_times(fleet))
        fleet.start_reconciler("drain", "--wait", "--timeout", "60", name="drain").wait_exit(0, 90)
        assert fleet.states(names) == {"approved": MANY}

        worker = fleet.start_worker(name="after")
        given = {}

        def all_have_had_theirs():
            given.update(turns(fleet, names))
            return len(given) + 1 >= MANY  # the first one goes out at once
        wait_for(all_have_had_theirs, 30, what=lambda: f"{len(given)}\n{fleet.output()}")
        in_order = sorted(given.values())
        assert all(later - earlier >= TURN_MS for earlier, later in zip(in_order, in_order[1:]))
        status = fleet.db.hget(f"lf:{{0}}:channel:{FOREM}", "turn_at")
        assert int(status) == in_order[-1] + TURN_MS

        # What has gone out meanwhile did not go out before its turn; and a new post does not stand behind hundreds.
        fresh = f"{FOREM}/fresh"
        fleet.add(FOREM, fleet.item("fresh"))
        fleet.wait_state(fresh, "published")
        wait_for(lambda: len(write_times(fleet)) >= before + 40, 60, what=fleet.output)
        assert worker.stop() == 0
        sent = write_times(fleet)[before:]
        assert len(sent) < MANY / 2, "most of them wait for theirs"
        log = fleet.sim.get("requests", instance="forem", limit=1000)["requests"]
        at = {name: line["at_ms"] for line in log[before:] if line["kind"] == "write" for name in line["deliveries"]}
        published = [name for name in given if fleet.state(name) == "published"]
        assert len(published) >= 30 and not {name: given[name] - at[name] for name in published if at[name] < given[name]}
