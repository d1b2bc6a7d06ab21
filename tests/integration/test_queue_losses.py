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


def landfall(fleet, *words, items=()):
    return subprocess.run([program("landfall"), *words, "--config", fleet.config_path], input="\n".join(map(json.dumps, items)),
                          text=True, capture_output=True, check=False, timeout=60, cwd=fleet.dir)


@together.test
def test_what_a_producer_trims_before_it_is_read_is_lost_and_named():
    """What was added to the queue alone is nowhere else: the limit of it. doctor sees it, audit says which, submit brings it."""
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        first, = fleet.add_many("mastodon/brand", ["first"])
        assert fleet.run_worker() == 0 and fleet.state(first) == "published"
        items = [fleet.item(f"it-{n}") for n in range(30)]
        for item in items:
            fleet.db.xadd(QUEUE, {"channel": "mastodon/brand", "item": json.dumps(item)}, maxlen=10, approximate=False)
        assert fleet.run_worker() == 0
        found = {one["check"]: one for one in json.loads(landfall(fleet, "doctor", "--json").stdout)["findings"]}
        assert found["queue"]["severity"] == "risk" and found["queue"]["what"].startswith("20 entries left the queue"), found["queue"]
        audit = landfall(fleet, "audit", "-", "--to", "mastodon/brand", items=items)
        lost = [f"mastodon/brand/it-{n}" for n in range(20)]
        assert audit.returncode == 5 and [f"{name}: no delivery" in audit.stdout for name in lost] == [True] * 20, audit.stdout
        landfall(fleet, "submit", "-", "--to", "mastodon/brand", items=items)
        assert fleet.run_worker() == 0
        assert landfall(fleet, "audit", "-", "--to", "mastodon/brand", items=items).returncode == 0
        fleet.check_judge(**dict.fromkeys([first, *(f"mastodon/brand/it-{n}" for n in range(30))], 1))


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
