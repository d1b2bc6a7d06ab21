# SPDX-License-Identifier: MIT
"""What is measured: the worker, the bare loop, BullMQ. Each starts its processes in a rig and knows when all is done."""
import json
import os
import subprocess

from bench.rig import QUEUE, SECRET
from lib import npm
from lib.procs import free_port
from lib.tree import TOP, program

PEERS = os.path.join(TOP, "tests", "peers")
FILL_LIMIT_S = 120
HTTP2_CONNECTIONS = "4"  # of one, two, four and sixteen the best or not far from it


class Product:
    """landfall-worker with everything on: log, metrics page, outcomes stream, log lines of each delivery."""

    name, runs_longer = "product", 1

    def config(self, rig):
        secret = os.path.join(rig.dir, "secret")
        with open(secret, "w", encoding="ascii") as out:
            out.write(SECRET + "\n")
        channel = {"platform": "webhook", "settings": {"url": rig.url}, "credential": {"file": secret},
                   "pace": {"spacing_ms": 0, "burst": 1}}
        path = os.path.join(rig.dir, "landfall.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({
                "environment": "bench", "redis": {"url": rig.redis.url},
                "descriptors": [os.path.join(TOP, "platforms", "descriptors")],
                "channels": {rig.channel(number): channel for number in range(rig.case.channels)},
                "worker": {"slots": rig.case.slots, "max_in_flight_per_channel": rig.case.slots},
            }, out)
        return path

    def command(self, rig):
        return [program("landfall-worker"), "--config", self.config(rig)]

    def start(self, rig):
        command = self.command(rig)
        for _ in range(rig.case.workers):
            rig.start(command, env={"LANDFALL_METRICS_LISTEN": f"127.0.0.1:{free_port()}"})

    def fill(self, rig, first, count):
        rig.fill_stream(first, count)

    def settled(self, rig, total):
        return rig.db.exists("lf:{0}:outcomes") and rig.db.xinfo_stream("lf:{0}:outcomes")["entries-added"] >= total


class Bare:
    name, runs_longer = "bare", 4

    def start(self, rig, *more):
        if rig.case.tls == "h2":
            more = (*more, "--http2", HTTP2_CONNECTIONS)
        for _ in range(rig.case.workers):
            rig.start([program("bench_bare_loop"), "--redis-port", str(rig.redis.port), "--url", rig.url, "--slots",
                       str(rig.case.slots), "--secret", SECRET, *more])

    def fill(self, rig, first, count):
        rig.fill_stream(first, count)

    def settled(self, rig, total):
        return rig.db.xlen(QUEUE) == 0


class Bullmq:
    name, runs_longer = "bullmq", 1

    def __init__(self, folder, concurrency):
        self.folder, self.concurrency = folder, concurrency

    def start(self, rig):
        for _ in range(rig.case.workers):
            rig.start(["node", "worker.mjs", "work", str(rig.redis.port), str(self.concurrency), rig.url, SECRET],
                      cwd=self.folder)

    def fill(self, rig, first, count):
        subprocess.run(["node", "worker.mjs", "fill", str(rig.redis.port), str(first), str(count), str(len(rig.content()))],
                       cwd=self.folder, check=True, timeout=FILL_LIMIT_S)

    def settled(self, rig, total):
        return rig.db.llen("bull:bench:active") == 0 and rig.db.llen("bull:bench:wait") == 0


def install_peers(build):
    """(folder, None), or (None, why there are no peers). The versions stand in tests/peers/package.json."""
    folder = os.path.join(build, "peers")
    try:
        npm.installed(folder, os.path.join(PEERS, "package.json"), os.path.join(PEERS, "worker.mjs"))
    except npm.NotToBeHad as missing:
        return None, str(missing)
    return folder, None
