# SPDX-License-Identifier: MIT
"""A thousand deliveries over every tier while a worker is killed every second and one answer in twenty is lost.

$LANDFALL_KILLS_S makes it shorter or longer (120), $LANDFALL_KILLS_SEED repeats what is done."""
import os
import random
import time

from lib.procs import wait_for
from lib.tiers import BLIND, FOREM, KEPT, MASTODON, PING, TierFleet, harmless, fake_of

TIERS = [PING, KEPT, MASTODON, FOREM, BLIND]
EACH = 200
WORKERS = 3
LOST_IN = 20
SECONDS = float(os.environ.get("LANDFALL_KILLS_S", "120"))


def lose_answers(fleet, chance):
    """Of each platform one request in twenty, chosen beforehand: committed, and no word of it."""
    for channel in TIERS:
        nth = sorted(chance.sample(range(1, 2 * EACH), 2 * EACH // LOST_IN))
        fleet.sim.fault("commit_then_close", fake_of(channel), on={"kind": "write", "nth": nth}, times=len(nth), how="rst")
    fleet.sim.fault("commit_then_late_answer", on={"kind": "write"}, times=-1, delay_ms=120)


def committed_and_not_settled(fleet, seen):
    return fleet.states([name for name in seen if seen[name]["commits"]]).get("claimed", 0)


def test_a_kill_every_second():
    chance = random.Random(int(os.environ.get("LANDFALL_KILLS_SEED", "20261130")))
    with TierFleet(backoff_ms=500, redis_options={"appendonly": "yes", "appendfsync": "always"}) as fleet:
        lose_answers(fleet, chance)
        workers = [fleet.start_worker(name=f"worker-{n}") for n in range(WORKERS)]
        reconcilers = [fleet.start_reconciler(name=f"reconciler-{n}") for n in range(2)]
        deliveries, kills, between, fed = [], 0, 0, 0
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            share = int(EACH * (1 - max(end - time.monotonic() - 5, 0) / SECONDS))
            for channel in TIERS:
                deliveries += fleet.add_many(channel, [f"it-{n}" for n in range(fed, share)])
            fed = max(fed, share)
            time.sleep(chance.uniform(0.5, 1.0))
            at = chance.randrange(WORKERS)
            workers[at].kill()
            kills += 1
            between += committed_and_not_settled(fleet, fleet.sim.report()["deliveries"])
            workers[at] = fleet.start_worker(name=f"worker-{WORKERS + kills}")
        for channel in TIERS:
            deliveries += fleet.add_many(channel, [f"it-{n}" for n in range(fed, EACH)])
        fleet.sim.clear_faults()
        wait_for(lambda: set(fleet.states(deliveries)) <= {"published", "rejected", "held"}, 240, lambda: f"{fleet.states(deliveries)}\n{fleet.output()[-4000:]}")
        seen = fleet.sim.report()["deliveries"]
        commits = {name: seen.get(name, {}).get("commits", 0) for name in deliveries}
        duplicates = [name for name in deliveries if commits[name] > 1 and not harmless(name.rsplit("/", 1)[0])]
        repeats = sum(commits[name] > 1 for name in deliveries) - len(duplicates)
        lost = [name for name in deliveries if commits[name] == 0 and fleet.state(name) == "published"]
        held = [name for name in deliveries if fleet.state(name) == "held"]
        writes = sum(one["writes"] for one in seen.values())
        print(f"{kills} kills, {between} deliveries between commit and settlement then; {len(deliveries)} deliveries, {writes} requests, "
              f"{len(duplicates)} duplicates, {repeats} harmless repeats, {len(lost)} losses, {len(held)} held")
        assert between > 0, "no kill met a delivery between commit and settlement: the run shows nothing"
        assert duplicates == [] and lost == []
        assert {name.split("/")[0] for name in held} <= {"notices"}, "only what can neither be read nor repeated is a person's"
        assert [process.stop(20) for process in (*workers, *reconcilers)] == [0] * (WORKERS + 2)
