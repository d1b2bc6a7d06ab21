# SPDX-License-Identifier: MIT
"""What keeps failing comes to an end: its deadline counts from the item and its budget from the row, whoever takes it over
and however often workers end and are started again."""
import datetime

from lib.fleet import Fleet, UNPACED
from lib.procs import wait_for

MASTODON = "mastodon/brand"
NOT_DONE = {"meta": {"commit_state": "not_committed"}, "error": {"retry": {"kind": "retry_identical"}}}
DUE_S = 4


def in_s(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def writes(fleet, name):
    return fleet.sim.report()["deliveries"].get(name, {}).get("writes", 0)


def work_with_restarts(fleet, names):
    """A worker ends after each write that it makes, and another one goes on, until all deliveries are held."""
    seen = sum(writes(fleet, name) for name in names)
    for number in range(30):
        worker = fleet.start_worker(name=f"worker-{number}")
        wait_for(lambda: sum(writes(fleet, name) for name in names) > seen or fleet.states(names) == {"held": len(names)}, 30,
                 what=fleet.output)
        assert worker.stop() == 0  # what is in flight ends
        seen = sum(writes(fleet, name) for name in names)
        if fleet.states(names) == {"held": len(names)}:
            return number
    raise AssertionError(f"it does not end: {fleet.states(names)}")


def make(config):
    return Fleet(["mastodon"], channel=UNPACED, config={"delivery": {"backoff_base_ms": 400, "backoff_cap_ms": 800, **config}})


def test_a_deadline_counts_from_the_item_and_not_from_the_last_start():
    with make({"max_attempts": 20}) as fleet:
        fleet.sim.fault("status", "mastodon", times=-1, status=503, body=NOT_DONE, on={"kind": "write"})
        deadline = in_s(DUE_S)
        name = f"{MASTODON}/it-1"
        fleet.add(MASTODON, fleet.item("it-1", landfall={"not_after": deadline}))
        restarts = work_with_restarts(fleet, [name])
        row = fleet.row(name)
        assert (row["state"], row["reason"]) == ("held", "expired") and restarts >= 2
        assert int(row["since"]) >= int(row["not_after"]) and 2 <= writes(fleet, name) < 20
        fleet.check_judge(**{name: 0})


def test_a_budget_of_attempts_is_the_rows_and_not_the_workers():
    with make({"max_attempts": 3}) as fleet:
        fleet.sim.fault("status", "mastodon", times=-1, status=503, body=NOT_DONE, on={"kind": "write"})
        name = f"{MASTODON}/it-1"
        fleet.add(MASTODON, fleet.item("it-1"))
        assert work_with_restarts(fleet, [name]) >= 2
        row = fleet.row(name)
        assert (row["state"], row["reason"], row["attempt"]) == ("held", "spent", "3") and writes(fleet, name) == 3
        fleet.check_judge(**{name: 0})
