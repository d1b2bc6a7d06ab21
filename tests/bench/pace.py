# SPDX-License-Identifier: MIT
"""What is measured at a pace, not at full speed: latency at 500/s, an idle worker, the start.

The end of a delivery is the moment at which a client that waits for it hears of it: from the outcomes stream of the
product, from a stream that the bare loop adds to (--tell) only in this measurement. Both are read the same way.
"""
import json
import os
import statistics
import threading
import time

from bench.rig import QUEUE, Case, NoFigure, Rig, cpu_us, push
from bench.subjects import Bare, Product
from lib.procs import wait_for
from lib.tree import TOP

RATE = 500
TOLD = "told"
LISTEN_LIMIT_S = 90
STARTED_LIMIT_S = 60
DESCRIPTORS = os.path.join(TOP, "platforms", "descriptors")


class Listener(threading.Thread):
    """Notes when each delivery's end was heard of."""

    def __init__(self, rig, stream, count):
        super().__init__(daemon=True)
        self.db, self.stream, self.count, self.heard = rig.redis.client(), stream, count, {}
        newest = self.db.xrevrange(stream, count=1)
        self.after = newest[0][0] if newest else "0"

    def run(self):
        end = time.monotonic() + LISTEN_LIMIT_S
        while len(self.heard) < self.count and time.monotonic() < end:
            for _, entries in self.db.xread({self.stream: self.after}, block=500) or ():
                now = time.monotonic()
                for self.after, fields in entries:
                    self.heard[fields["delivery"].rsplit("/", 1)[1]] = now


def latencies(subject, stream, seconds, *more):
    with Rig(Case("latency")) as rig:
        subject.start(rig, *more)
        push(rig, subject, 200)
        count, sent = RATE * seconds, {}
        listener = Listener(rig, stream, count)
        listener.start()
        link, text, started = rig.redis.client(), rig.content(), time.monotonic()
        for number in range(count):
            time.sleep(max(0, started + number / RATE - time.monotonic()))
            name = f"paced-{number}"
            item = json.dumps({"id": name, "url": f"https://blog.example/p/{name}", "title": name, "content_text": text},
                              separators=(",", ":"))
            sent[name] = time.monotonic()
            link.xadd(QUEUE, {"channel": rig.channel(0), "item": item})
        listener.join(LISTEN_LIMIT_S)
        waits = sorted(1000 * (listener.heard[name] - sent[name]) for name in sent if name in listener.heard)
        if len(waits) != count:
            raise NoFigure(f"{count - len(waits)} deliveries had no end")
        return {"count": count, **{f"p{p:g}": waits[min(count - 1, int(count * p / 100))] for p in (50, 99, 99.9)}}


def commands(rig):
    return rig.db.info("stats")["total_commands_processed"]


def idle(workers, seconds):
    """Of each worker; after a delivery, so that everything that a worker does once is done."""
    with Rig(Case("idle", workers=workers)) as rig:
        subject = Product()
        subject.start(rig)
        push(rig, subject, 10)
        wait_for(lambda: len(rig.db.keys("lf:{0}:worker:*")) == workers, STARTED_LIMIT_S, what="all workers to be there")
        pids = [process.pid for process in rig.processes]
        cpu, redis, asked, started = sum(map(cpu_us, pids)), cpu_us(rig.redis.pid), commands(rig), time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - started
        return {"cpu_percent": (sum(map(cpu_us, pids)) - cpu) / workers / took / 1e4,
                "redis_percent": (cpu_us(rig.redis.pid) - redis) / took / 1e4,
                "commands_per_s": (commands(rig) - asked - 1) / workers / took}


def first_delivery(channels):
    """Seconds from the start of the process to the first delivery of a queue that was filled before."""
    with Rig(Case("start", channels=channels)) as rig:
        subject = Product()
        rig.fill_stream(0, 1)
        started = time.monotonic()
        subject.start(rig)
        wait_for(lambda: subject.settled(rig, 1), STARTED_LIMIT_S, what=rig.tail)
        return time.monotonic() - started


def measure_latency(seconds):
    return {"product": latencies(Product(), "lf:{0}:outcomes", seconds), "bare": latencies(Bare(), TOLD, seconds, "--tell", TOLD)}


def measure_idle(seconds, fleets=(1, 100)):
    return {str(workers): idle(workers, seconds) for workers in fleets}


def measure_start(tries):
    descriptors = len([name for name in os.listdir(DESCRIPTORS) if name.endswith(".json")])
    return [{"channels": channels, "descriptors": descriptors,
             "seconds": statistics.median(first_delivery(channels) for _ in range(tries))} for channels in (1, 1000)]
