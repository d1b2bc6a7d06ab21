#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""landfall and BullMQ under one schedule of faults, on one simulated platform, counted by that platform.

    tests/run peers                              the whole schedule, as a test
    tests/peers/beside_bullmq.py [--quick] [--seed N] [--json FILE]

The platform has Mastodon's API without idempotency keys: a repeat is a second post. It answers after 600 ms and commits
whether or not anybody still listens; of every twentieth write it commits, the answer is lost. All posts are in the
queue at the start; 20 are in flight at once in one worker, which is killed (SIGKILL) about once a second, at moments
that the seed fixes, and replaced at once. Then nothing is killed any more, answers go on being lost, and everybody gets
the time to settle. Of landfall the worker is killed; one reconciler runs. Each has a Redis of its own that stays up.
"""
import argparse
import collections
import contextlib
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
from lib.fleet import Fleet  # noqa: E402
from lib.npm import NotToBeHad, installed  # noqa: E402
from lib.procs import Process, WaitTimeout, wait_for  # noqa: E402
from lib.redis_server import RedisServer  # noqa: E402
from lib.tree import TOP  # noqa: E402
from platform_sim.client import SimulatorProcess  # noqa: E402

SEED = 20261130
CHANNEL, TOKEN, INSTANCE = "mastodon/brand", "tok-peers-40d1", "toots"
WRITES_MAX = 20_000  # more than any run sends
START_LIMIT_S = 60
FOLDER = os.path.join(TOP, "build", "peers")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """What is done to both. The quick one has short times in both: leases, locks, windows, intervals."""

    posts: int = 1000
    kills: int = 40
    quick: bool = False
    seed: int = SEED
    concurrency: int = 20
    lost_every: int = 20
    latency_ms: int = 600
    settle_limit_s: int = 1800

    def items(self):
        return [Fleet.item(f"it-{number}") for number in range(self.posts)]

    def disturb(self, start):
        """Kills what start() gives, and starts it again, so many times; gives the last one. One that ends by itself proves nothing."""
        moments = random.Random(self.seed)
        worker = start()
        for _ in range(self.kills):
            time.sleep(moments.uniform(0.5, 1.5))
            assert worker.running, f"it ended by itself\n{worker.tail()}"
            worker.kill()
            worker = start()
        return worker

    def prepare(self, sim):
        """The faults of the platform. Of two that match a write the first is taken."""
        lost = list(range(self.lost_every, WRITES_MAX, self.lost_every))
        sim.fault("commit_then_close", INSTANCE, on={"nth": lost}, times=-1)
        sim.fault("commit_slowly", INSTANCE, times=-1, delay_ms=self.latency_ms)


FULL = Schedule()
QUICK = Schedule(posts=100, kills=8, quick=True, settle_limit_s=180)


@dataclasses.dataclass(frozen=True)
class Figures:
    """Of one run, by what the platform has seen; `shown` is what the queue says of a post."""

    posts: int
    requests: int
    duplicates: int
    lost: int                # never published, and nothing will be done about it
    shown_as_failed: int     # published all the same
    held: int                # left to a person
    unsettled: int
    settled_s: float
    lost_answers: int
    why: dict                # how many were held or unsettled for which reason
    violations: tuple = ()   # what the judge of landfall's tests complains of, and how often

    @classmethod
    def of(cls, sim, shown, settled_s):
        """shown: item id -> done, failed, "held: reason" or "open: reason"."""
        report = sim.report()
        commits = {item: report["deliveries"].get(f"{CHANNEL}/{item}", {}).get("commits", 0) for item in shown}
        state = {item: words.partition(":")[0] for item, words in shown.items()}
        lost_answers = next(rule["fired"] for rule in sim.get("state")["faults"] if rule["do"] == "commit_then_close")
        return cls(
            posts=len(shown), requests=report["totals"]["writes"], duplicates=sum(max(0, n - 1) for n in commits.values()),
            lost=sum(n == 0 and state[item] in ("done", "failed") for item, n in commits.items()),
            shown_as_failed=sum(n > 0 and state[item] == "failed" for item, n in commits.items()),
            held=sum(one == "held" for one in state.values()), unsettled=sum(one == "open" for one in state.values()),
            settled_s=settled_s, lost_answers=lost_answers,
            why=dict(collections.Counter(words for words in shown.values() if ":" in words)),
            violations=tuple(report["violation_counts"].items()))


# ---- landfall

def without_keys():
    """Mastodon's descriptor for a server that looks the same and keeps no keys: read back, never repeated."""
    with open(os.path.join(TOP, "platforms", "descriptors", "mastodon.json"), encoding="utf-8") as stream:
        descriptor = json.load(stream)
    del descriptor["key"], descriptor["write"]["request"]["headers"]
    descriptor["accept"] = [rule for rule in descriptor["accept"] if ".replay" not in rule.get("if", "")]
    return {**descriptor, "tier": "read"}


class PublishingFleet(Fleet):
    """One channel of tier read, as it is shipped but for the times of this platform, which commits within a second and shows at
    once; the quick one has a short lease, too."""

    def __init__(self, schedule):
        super().__init__(platforms=(), descriptors=[without_keys()])
        self.schedule = schedule

    def write_config(self):
        super().write_config()
        with open(self.config_path, encoding="utf-8") as stream:
            config = json.load(stream)
        config["worker"] = {"slots": self.schedule.concurrency, "max_in_flight_per_channel": self.schedule.concurrency}
        if self.schedule.quick:
            config["worker"]["reclaim_idle_ms"] = 1000
        else:
            del config["delivery"]
        with open(self.config_path, "w", encoding="utf-8") as out:
            json.dump(config, out)

    def _channel(self, channel, token, settings, members):
        config = super()._channel(channel, token, settings, members)
        if self.schedule.quick:
            config["times"] = {"lease_ms": 10000, "late_commit_ms": 2000, "visibility_lag_ms": 500, "margin_ms": 100, "clean_misses": 2}
            config["write_limit_ms"] = 5000
        else:
            config["times"] = {"late_commit_ms": 5000, "visibility_lag_ms": 1000, "clean_misses": 2}
            del config["write_limit_ms"]
        return config

    def start_ready_worker(self):
        worker = self.start_worker()
        worker.wait_output("worker.started", START_LIMIT_S)
        return worker

    def shown(self, items):
        pipe = self.db.pipeline(transaction=False)
        for item in items:
            pipe.hmget(f"lf:{{0}}:delivery:{CHANNEL}/{item}", "state", "reason")
        return {item: self._words(*row) for item, row in zip(items, pipe.execute())}

    @staticmethod
    def _words(state, reason):
        plain = {"published": "done", "rejected": "failed", "held": f"held: {reason}"}
        return plain.get(state, f"open: {state} {reason}")


def landfall(schedule):
    with PublishingFleet(schedule) as fleet:
        url = fleet.add_fake(INSTANCE, "mastodon", CHANNEL, TOKEN, honour_keys=False)
        fleet.add_channel(CHANNEL, TOKEN, {"instance": url}, pace={"spacing_ms": 0, "burst": 1})
        schedule.prepare(fleet.sim)
        items = [item["id"] for item in schedule.items()]
        fleet.add_many(CHANNEL, items)
        fleet.start_reconciler()
        started = time.monotonic()
        worker = schedule.disturb(fleet.start_ready_worker)
        with contextlib.suppress(WaitTimeout):  # what is open then is counted
            wait_for(lambda: _rarely(lambda: not any(words.startswith("open") for words in fleet.shown(items).values())),
                     schedule.settle_limit_s)
        assert worker.running, worker.tail()
        return Figures.of(fleet.sim, fleet.shown(items), time.monotonic() - started)


def _rarely(look):
    """The look, and no other within half a second: it is a thousand rows."""
    return look() or time.sleep(0.5)


# ---- BullMQ

class Bullmq:
    """Its worker, its queue, its platform. A spare worker is loaded all the time and takes over when one is killed."""

    def __init__(self, schedule, settings, stack):
        self.redis = stack.enter_context(RedisServer())
        platform = {"name": INSTANCE, "platform": "mastodon", "channel": CHANNEL, "token": TOKEN, "own_port": True, "honour_keys": False}
        self.sim = stack.enter_context(SimulatorProcess([platform]))
        self.dir = stack.enter_context(tempfile.TemporaryDirectory(prefix="landfall-peers-"))
        self.stack, self.count, self.spare = stack, 0, None
        self.env = {
            "REDIS_PORT": self.redis.port, "SETTINGS": settings, "CONCURRENCY": schedule.concurrency, "URL": self.sim.urls[INSTANCE],
            "TOKEN": TOKEN, "STALLED_MS": 5000 if schedule.quick else "",
        }

    def run(self, mode, *args, words=None, limit_s=START_LIMIT_S):
        env = {**os.environ, **{name: str(value) for name, value in self.env.items()}}
        done = subprocess.run(["node", "bullmq_publish.mjs", mode, *map(str, args)], cwd=FOLDER, env=env, input=words, text=True,
                              stdout=subprocess.PIPE, timeout=limit_s, check=True)
        return done.stdout

    def load(self):
        self.count += 1
        argv = ["node", "bullmq_publish.mjs", "work"]
        return self.stack.enter_context(Process(argv, self.dir, name=f"work-{self.count}", env=self.env, cwd=FOLDER))

    def start(self):
        worker, self.spare = self.spare or self.load(), None
        worker.wait_output("loaded", START_LIMIT_S)
        worker.send_signal(signal.SIGUSR2)
        self.spare = self.load()
        return worker


def bullmq(schedule, settings):
    with contextlib.ExitStack() as stack:
        queue = Bullmq(schedule, settings, stack)
        schedule.prepare(queue.sim)
        queue.run("add", words=json.dumps([{"id": item["id"], "text": item["content_text"]} for item in schedule.items()]))
        started = time.monotonic()
        worker = schedule.disturb(queue.start)
        ended = json.loads(queue.run("settle", schedule.settle_limit_s, limit_s=schedule.settle_limit_s + START_LIMIT_S))
        settled_s = time.monotonic() - started
        assert worker.running, worker.tail()
        words = {"completed": "done", "failed": "failed"}
        shown = {item["id"]: words.get(ended.get(item["id"]), "open: not ended") for item in schedule.items()}
        return Figures.of(queue.sim, shown, settled_s)


# ---- all of them

SUBJECTS = {
    "landfall": landfall,
    "BullMQ, retrying": lambda schedule: bullmq(schedule, "retrying"),
    "BullMQ, nearest to at most once": lambda schedule: bullmq(schedule, "at-most-once"),
}
COLUMNS = {
    "requests": "requests", "lost_answers": "answers lost", "duplicates": "duplicates", "lost": "lost",
    "shown_as_failed": "published, shown as failed", "held": "held", "unsettled": "unsettled", "settled_s": "settled after, s",
}


def install():
    """Raises NotToBeHad."""
    here = os.path.dirname(os.path.abspath(__file__))
    installed(FOLDER, os.path.join(here, "package.json"), os.path.join(here, "bullmq_publish.mjs"))


def measure(schedule, say=print):
    """All subjects, one after the other; name -> Figures."""
    figures = {}
    for name, run in SUBJECTS.items():
        say(f"{name}: {schedule.posts} posts, {schedule.kills} kills, seed {schedule.seed}")
        figures[name] = run(schedule)
    return figures


def table(figures):
    """As it stands in docs/reliability.md."""
    lines = ["| | " + " | ".join(COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, one in figures.items():
        lines.append(f"| {name} | " + " | ".join(f"{getattr(one, column):.0f}" for column in COLUMNS) + " |")
    return "\n".join(lines + [f"{name}: {count} {words}" for name, one in figures.items() for words, count in one.why.items()])


def main():
    parser = argparse.ArgumentParser(description="landfall and BullMQ under the same faults")
    parser.add_argument("--quick", action="store_true", help="100 posts, 8 kills, short times")
    parser.add_argument("--seed", type=int, default=SEED, help="the moments of the kills")
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    try:
        install()
    except NotToBeHad as error:
        print(f"passed over: {error}")
        return 0
    figures = measure(dataclasses.replace(QUICK if args.quick else FULL, seed=args.seed))
    print(table(figures))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({name: dataclasses.asdict(one) for name, one in figures.items()}, out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
