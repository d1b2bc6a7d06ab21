# SPDX-License-Identifier: MIT
"""What happens to the queue below a worker: an answer that is lost on the way, entries that somebody trims, and its memory."""
import json
import subprocess

from lib.fleet import UNPACED, Fleet
from lib.procs import wait_for
from lib.tiers import BLIND, PING, TierFleet, check_row
from lib.together import Together
from lib.tree import program

QUEUE = "lf:{0}:queue"
NEVER_MS = 600_000
together = Together(at_once=4)


@together.test
def test_entries_whose_answer_was_lost_are_read_again_without_waiting_for_the_sweep():
    """Redis has assigned them to this consumer and the connection dies with the answer: its own pending entries come first."""
    with Fleet(["mastodon"], channel=UNPACED, config={"worker": {"reclaim_idle_ms": NEVER_MS}}, proxied=True) as fleet:
        worker = fleet.start_worker()
        wait_for(lambda: fleet.db.exists(QUEUE) and fleet.db.xinfo_groups(QUEUE), what="the group")
        lost = fleet.proxy.cut_after(json.dumps(fleet.item("it-0")))
        deliveries = fleet.add_many("mastodon/brand", [f"it-{n}" for n in range(3)])
        assert lost.wait(20)
        fleet.wait_states(deliveries, "published")
        report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert report["totals"]["writes"] == 3 and fleet.db.xlen(QUEUE) == 0
        assert worker.stop() == 0


@together.test
def test_a_foreign_trim_of_the_queue_takes_nothing_that_was_submitted():
    """The ledger has what `landfall submit` took, so the agenda brings it where the entry is gone."""
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        items = "\n".join(json.dumps(fleet.item(f"it-{n}")) for n in range(60))
        subprocess.run([program("landfall"), "submit", "-", "--to", "mastodon/brand", "--config", fleet.config_path], input=items,
                       text=True, capture_output=True, check=True, timeout=60, cwd=fleet.dir)
        deliveries = [f"mastodon/brand/it-{n}" for n in range(60)]
        assert fleet.db.xtrim(QUEUE, maxlen=10, approximate=False) == 50
        fleet.hurry(*deliveries)  # a minute after it was submitted, what nobody has read is due
        fleet.start_worker()
        fleet.wait_states(deliveries, "published")
        report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert report["totals"]["writes"] == 60


@together.test
def test_the_queue_keeps_nothing_of_what_was_looked_at():
    """A delivery in doubt is kept by the ledger and pins no part of the stream, however much goes past it."""
    with TierFleet() as fleet:
        worker = fleet.start_worker()
        for round_of in range(3):
            fleet.sim.fault("commit_then_close", "notices")
            fleet.add(BLIND, fleet.item(f"doubt-{round_of}"))
            check_row(fleet, f"{BLIND}/doubt-{round_of}", "uncertain", "no_answer")
            fleet.wait_states(fleet.add_many(PING, [f"it-{round_of}-{n}" for n in range(100)]), "published")
            wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the queue to be empty")
            assert fleet.db.xpending(QUEUE, "workers")["pending"] == 0
            assert fleet.db.memory_usage(QUEUE) < 10_000
        assert worker.stop() == 0
