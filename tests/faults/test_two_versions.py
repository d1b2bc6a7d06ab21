# SPDX-License-Identifier: MIT
"""An older version of this repository and the one that is tested, on one Redis: updated and rolled back under way.

The older one is $LANDFALL_PREVIOUS, a commit (HEAD~40 unless set), built with its own descriptors under build/previous: half a
minute, once for each commit. Where the history does not reach back so far (a shallow clone), this is skipped."""
import itertools
import json
import os
import random
import re
import subprocess
import time

import pytest

from lib.procs import wait_for
from lib.tiers import BLIND, BLUESKY, FOREM, KEPT, MASTODON, PING, TierFleet, harmless
from lib.tree import TOP

TIERS = [PING, KEPT, MASTODON, FOREM, BLUESKY, BLIND]
POINTS = ("after_claim", "before_first_byte", "after_last_byte", "after_answer")
EACH = 20
REPLACED = 16  # workers, one after the other
PROGRAMS = ("landfall-worker", "landfall-reconciler")


def run(*words, **options):
    return subprocess.run(words, cwd=TOP, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def previous():
    """The folder of the older tree, built."""
    name = os.environ.get("LANDFALL_PREVIOUS", "HEAD~40")
    found = run("git", "rev-parse", "--verify", "--quiet", name + "^{commit}")
    if found.returncode != 0:
        pytest.skip(f"the history that is here does not have {name}: {found.stderr.strip() or 'a shallow clone'}")
    folder = os.path.join(TOP, "build", "previous", found.stdout.strip())
    os.makedirs(folder, exist_ok=True)
    for words in (f"git archive {found.stdout.strip()} | tar -x -C {folder}", f"cd {folder} && cmake --preset package",
                  f"cd {folder} && cmake --build --preset package -j2 -- {' '.join(PROGRAMS)}"):
        done = run("nice", "bash", "-o", "pipefail", "-c", words, timeout=900)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


class TwoVersions(TierFleet):
    """worker("old") and worker("new"): processes of either version; so with reconcilers."""

    def __init__(self, previous, **more):
        super().__init__(backoff_ms=200, redis_options={"appendonly": "yes", "appendfsync": "always"}, **more)
        self.previous, self.numbers = previous, itertools.count(1)

    def __enter__(self):
        super().__enter__()
        with open(self.config_path, encoding="utf-8") as given:
            config = json.load(given)
        own = os.path.join(TOP, "platforms", "descriptors")
        theirs = os.path.join(self.previous, "platforms", "descriptors")
        config["descriptors"] = [theirs if folder == own else folder for folder in config["descriptors"]]
        self.config_of = {"new": self.config_path, "old": os.path.join(self.dir, "old.json")}
        with open(self.config_of["old"], "w", encoding="utf-8") as out:
            json.dump(config, out)
        return self

    def _start(self, version, program, *words, **options):
        if version == "old":  # by its path, which is nobody's name
            program = os.path.join(self.previous, "build", "package", "bin", program)
        return self.start(program, *words, "--config", self.config_of[version], name=f"{version}-{next(self.numbers)}", **options)

    def worker(self, version, **options):
        return self._start(version, "landfall-worker", **options)

    def reconciler(self, version):
        return self._start(version, "landfall-reconciler", "run")

    def settled_by(self, version):
        """How many settlements processes of this version have told of."""
        said = (one.stdout() + one.stderr() for one in self.processes if one.name.startswith(version))
        return sum(len(re.findall(r"event=delivery\.settled|event=delivery\.resolved", text)) for text in said)

    def check(self, deliveries):
        """Gives the number of requests. Nothing twice that may not be, nothing lost, nothing in sight of nobody."""
        seen = self.sim.report()["deliveries"]
        commits = {name: seen.get(name, {}).get("commits", 0) for name in deliveries}
        assert [name for name in deliveries if commits[name] > 1 and not harmless(name.rsplit("/", 1)[0])] == []
        assert [name for name in deliveries if self.state(name) == "published" and commits[name] == 0] == []
        assert {name.rsplit("/", 1)[0] for name in deliveries if self.state(name) != "published"} <= {BLIND}
        return sum(one["writes"] for one in seen.values())

    def wait_settled(self, deliveries):
        wait_for(lambda: set(self.states(deliveries)) <= {"published", "held"}, 120,
                 lambda: f"{self.states(deliveries)} {[self.row(one) for one in deliveries if self.state(one) != 'published'][:4]}\n{self.output()[-6000:]}")


@pytest.mark.parametrize("first, then", [("old", "new"), ("new", "old")], ids=["update", "rollback"])
def test_what_one_version_left_the_other_one_finishes(previous, first, then):
    """A worker of one version dies at a crash point on each tier; worker and reconciler of the other one know what to do."""
    with TwoVersions(previous) as fleet:
        deliveries = []
        for point in POINTS:
            for channel in TIERS:
                deliveries += fleet.add_many(channel, [point.replace("_", "-")])
                fleet.worker(first, crash_at=point).wait_killed()
        assert set(fleet.states(deliveries)) <= {"claimed", "uncertain"}, "the leases of the first may be over"
        fleet.worker(then), fleet.reconciler(then)
        fleet.wait_settled(deliveries)
        requests = fleet.check(deliveries)
        print(f"{first} to {then}: {len(deliveries)} deliveries left by a killed worker, {requests} requests, {fleet.states(deliveries)}")


@pytest.mark.parametrize("first, then", [("old", "new"), ("new", "old")], ids=["update", "rollback"])
def test_workers_are_replaced_one_after_the_other(previous, first, then):
    """Each is killed, and more and more often comes back as the other version, as do the reconcilers; both have work all the while."""
    chance = random.Random(20261130)
    with TwoVersions(previous) as fleet:
        fleet.sim.fault("commit_then_late_answer", on={"kind": "write"}, times=-1, delay_ms=400)
        workers, reconcilers = [fleet.worker(first) for _ in range(3)], [fleet.reconciler(first), fleet.reconciler(then)]
        deliveries, between = [], 0
        for n in range(REPLACED):
            deliveries += [name for channel in TIERS for name in fleet.add_many(channel, [f"it-{n}-{i}" for i in range(EACH // 10)])]
            time.sleep(chance.uniform(0.2, 0.5))  # the moment of the kill is what is drawn
            at = n % len(workers)
            workers[at].kill()
            seen = fleet.sim.report()["deliveries"]
            between += fleet.states([name for name in seen if seen[name]["commits"]]).get("claimed", 0)
            workers[at] = fleet.worker(then if chance.random() < (n + 4) / REPLACED else first)
        fleet.wait_settled(deliveries)
        requests = fleet.check(deliveries)
        by = {version: fleet.settled_by(version) for version in ("old", "new")}
        print(f"{first} to {then}: {REPLACED} workers replaced, {between} deliveries between commit and settlement then; {len(deliveries)} deliveries, "
              f"{requests} requests; settled by {by}; {fleet.states(deliveries)}")
        assert between > 0 and min(by.values()) > 10, "both versions were at work"
        assert [one.stop(20) for one in (*workers, *reconcilers)] == [0] * 5
