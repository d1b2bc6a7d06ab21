# SPDX-License-Identifier: MIT
"""What it costs to settle what is in doubt: landfall-reconciler drain beside the bare reads of the same pages.

Deliveries are made uncertain by the real scripts, and the fake Mastodon has what became of them. Its pages are answered
by nginx out of a cache that was filled before, so that what is measured is not the fake. curl reads the same pages with
as many transfers at once, and looks into none of them.
"""
import contextlib
import json
import os
import re
import resource
import sys
import time
import urllib.parse
import urllib.request

from bench import nginx
from bench.rig import NoFigure, cpu_us
from lib.procs import Process
from lib.tree import TOP

sys.path.insert(0, os.path.join(TOP, "tests", "integration"))
from reconciler_kit import Scene  # noqa: E402

DOUBTS, HISTORY, PAGE = 10_000, 25_000, 40
ACCOUNTS, DOUBTS_EACH, POSTS_EACH = 1_000, 10, 12
PER_SECOND = 20  # and account, where a platform is played that bounds it
WALKS = 8        # that a reconciler has under way at once
LIMIT_S = 300
OURS = "Text of it-{n} https://blog.example/p/it-{n}"
LISTING = "/api/v1/accounts/{}/statuses?limit=40&exclude_reblogs=true"
NEXT = re.compile(r'(/api/[^>]*)>; rel="next"')
WHO = "/api/v1/accounts/verify_credentials"


def long_listing(descriptor):
    descriptor["reads"]["listing"]["pages_max"] = 2 * HISTORY // PAGE


def pages(targets):
    return sum("/statuses?" in target for target in targets)


class Platform:
    """A scene whose fake Mastodon is read through a cache."""

    def __init__(self, stack, per_second=None):
        if nginx.MISSING:
            raise NoFigure(nginx.MISSING)
        self.scene = stack.enter_context(Scene(["mastodon"], times={"key_window_ms": 0}, change={"mastodon": long_listing}))
        played = urllib.parse.urlsplit(self.scene.sim.urls["mastodon"])
        self.front = stack.enter_context(contextlib.closing(nginx.pages(self.scene.dir, played.port, per_second)))
        self.origin, self.base = f"http://127.0.0.1:{self.front.port}", played.path
        self.scene.sim.urls["mastodon"] = self.origin + self.base
        self.wanted = []  # (target, token) of every read that is needed
        self.scene.write_config()

    def plant(self, **how):
        self.scene.sim.post("posts", instance="mastodon", op="plant", **how)

    def fetch(self, target, token):
        """Fills the cache; (what was answered, where it goes on)."""
        self.wanted.append((target, token))
        request = urllib.request.Request(self.origin + target, headers={"Authorization": f"Bearer {token}", "X-Unbounded": "1"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            following = NEXT.search(answer.headers["Link"] or "")
            return json.load(answer), following and self.base + following[1]

    def walk(self, token, pages_max):
        """Reads an account's history as far back as so many pages."""
        who, _ = self.fetch(self.base + WHO, token)
        target = self.base + LISTING.format(who["id"])
        while target and pages_max > 0:
            _, target = self.fetch(target, token)
            pages_max -= 1

    def bare(self, at_once):
        """Seconds and CPU seconds of curl that reads all that is needed."""
        path = os.path.join(self.scene.dir, "curl")
        blocks = [f'url = "{self.origin}{target}"\noutput = "/dev/null"\nheader = "Authorization: Bearer {token}"\n'
                  for target, token in self.wanted]
        with open(path, "w", encoding="utf-8") as out:
            out.write("next\n".join(blocks))
        argv = ["curl", "--silent", "--no-progress-meter", "--parallel", "--parallel-max", str(at_once), "--config", path]
        return self.timed(lambda: self.scene.processes.append(self._run(argv, "curl")))

    def _run(self, argv, name):
        process = Process(argv, self.scene.dir, name=name)
        process.wait_exit(0, LIMIT_S)
        return process

    @staticmethod
    def timed(run):
        """Seconds, and CPU seconds of the processes that were waited for meanwhile."""
        def cpu():
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            return used.ru_utime + used.ru_stime
        started, before = time.monotonic(), cpu()
        run()
        return time.monotonic() - started, cpu() - before

    def drain(self, doubts):
        """Figures of a drain that settles all of them."""
        scene, played = self.scene, self.scene.saw("mastodon", "reads")
        self.front.requests()
        redis_us = cpu_us(scene.redis.pid)
        took_s, cpu_s = self.timed(lambda: scene.drain(timeout_s=LIMIT_S))
        redis_us = cpu_us(scene.redis.pid) - redis_us
        left = sum(scene.db.zcard(key) for key in scene.db.scan_iter("lf:{0}:uncertain:*"))
        seen, asked = self.front.requests(), sorted(target for target, _ in self.wanted)
        unprepared = scene.saw("mastodon", "reads") - played
        if left or unprepared:
            raise NoFigure(f"{left} are still uncertain, {unprepared} reads were of what was not prepared")
        return {"doubts": doubts, "reads": len(seen), "needed": len(asked), "pages_read": pages(seen), "pages": pages(asked), "seconds": took_s,
                "cpu_us": 1e6 * cpu_s / doubts, "redis_us": redis_us / doubts}


def figures(platform, doubts, at_once):
    bare_s, bare_cpu_s = platform.bare(at_once)
    drained = platform.drain(doubts)
    return {**drained, "bare_seconds": bare_s, "bare_cpu_us": 1e6 * bare_cpu_s / doubts, "times": drained["seconds"] / bare_s}


def down_to_the_floor():
    """Half of them stand there, younger than the floor; the rest of the history lies below it, and of what is not found above
    it is proven that it is absent."""
    with contextlib.ExitStack() as stack:
        platform, found = Platform(stack), DOUBTS // 2
        platform.scene.uncertain_many("mastodon/brand", [f"it-{number}" for number in range(DOUBTS)])
        platform.plant(count=found, text=OURS, newest_age_ms=0, step_ms=5)
        platform.plant(count=HISTORY - found, newest_age_ms=3600000, step_ms=1000)
        platform.walk(platform.scene.secrets["mastodon"], (found + PAGE) // PAGE)
        return figures(platform, DOUBTS, 1)


def through_everything():
    """The whole history is younger than the floor, and all of them stand there, spread over it."""
    with contextlib.ExitStack() as stack:
        platform = Platform(stack)
        numbers = [number for number in range(HISTORY) if number % 5 in (0, 2)]
        platform.scene.uncertain_many("mastodon/brand", [f"it-{number}" for number in numbers])
        platform.plant(count=HISTORY, text=OURS, newest_age_ms=0, step_ms=5)
        platform.walk(platform.scene.secrets["mastodon"], HISTORY)
        return figures(platform, len(numbers), 1)


def many_accounts(per_second=None):
    """Each has ten in doubt; half of these stand there."""
    with contextlib.ExitStack() as stack:
        platform = Platform(stack, per_second)
        scene = platform.scene
        for number in range(ACCOUNTS):
            channel, token = f"mastodon/account-{number:04d}", f"tok-account-{number:04d}"
            scene.sim.post("accounts", instance="mastodon", channel=channel, token=token, username=f"account{number}")
            scene.channels_added[channel] = scene._channel(channel, token, scene.settings("mastodon"), {"times": scene.times})
            scene.uncertain_many(channel, [f"it-{one}" for one in range(DOUBTS_EACH)])
            platform.plant(channel=channel, count=DOUBTS_EACH // 2, text=OURS, newest_age_ms=0, step_ms=5)
            platform.plant(channel=channel, count=POSTS_EACH - DOUBTS_EACH // 2, newest_age_ms=1000, step_ms=1000)
            platform.walk(token, 1)
        scene.write_config()
        return figures(platform, ACCOUNTS * DOUBTS_EACH, WALKS)


def measure(rounds):
    """what -> list of figures, one of each round."""
    scenes = {
        "one account, half found above the floor": down_to_the_floor,
        "one account, all above the floor": through_everything,
        "1,000 accounts": many_accounts,
        f"1,000 accounts, each answered {PER_SECOND} times a second": lambda: many_accounts(PER_SECOND),
    }
    return {words: [scene() for _ in range(rounds)] for words, scene in scenes.items()}
