# SPDX-License-Identifier: MIT
"""What is kept for a while only is what is settled: whatever is still to be done outlives every retention, however often
the ledger is cleaned up meanwhile."""
import datetime
import subprocess

from lib.fleet import Fleet
from lib.procs import wait_for
from lib.tree import program

MASTODON, FOREM = "mastodon/brand", "forem/brand"
KEEP_MS, DUE_S = 300, 2.5


def in_s(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def clean_up(fleet):
    """What a job of every night does, here all the time."""
    done = subprocess.run([program("landfall"), "archive", "old.ndjson", "--older-than", "1s", "--no-guard", "--yes", "--why", "retention",
                           "--config", fleet.config_path], capture_output=True, text=True, timeout=60, cwd=fleet.dir)
    assert done.returncode == 0, done
    for stream in ("outcomes", "audit", "refused"):
        fleet.db.xtrim(f"lf:{{0}}:{stream}", maxlen=0)


def test_what_is_due_later_outlives_the_retention():
    config = {"retention": {"rejected_request_ms": KEEP_MS, "outcomes_entries": 100}}
    with Fleet(["mastodon", "forem"], config=config) as fleet:
        fleet.sim.fault("rate_limited", "mastodon", on={"kind": "write"}, form="native", wait_s=2)
        fleet.sim.fault("commit_then_close", "forem", on={"kind": "write"})
        later, parked, doubtful = f"{FOREM}/later", f"{MASTODON}/parked", f"{FOREM}/doubtful"
        fleet.add(MASTODON, fleet.item("parked"))
        fleet.add(FOREM, fleet.item("doubtful"))
        fleet.add(FOREM, fleet.item("later", landfall={"not_before": in_s(DUE_S)}))
        fleet.add(FOREM, {"id": "refused"})
        worker = fleet.start_worker()
        fleet.wait_state(doubtful, "uncertain")
        fleet.wait_state(f"{FOREM}/refused", "rejected")
        wait_for(lambda: not fleet.db.exists(f"lf:{{0}}:request:{FOREM}/refused"), 20, "the content of what is rejected goes")
        with fleet.start_reconciler():
            def all_out():
                clean_up(fleet)
                return all(fleet.db.hget(f"lf:{{0}}:delivery:{name}", "state") in ("published", None) for name in (later, parked, doubtful))
            assert fleet.state(later) == "approved"
            wait_for(all_out, 60, what=fleet.output)
        assert worker.stop() == 0
        fleet.check_judge(**dict.fromkeys((later, parked, doubtful), 1))
