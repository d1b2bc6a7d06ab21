# SPDX-License-Identifier: MIT
"""What a full ledger costs: CPU of a delivery and memory of a row beside 1,000 to 1,000,000 settled rows.

A worker settles a few deliveries; the row of one of them is then copied on the server under names of its own (COPY), so
that all rows have the shape of a real one. There is a Redis, a sink and a worker for each size, all at once; their runs
alternate, and what a run has added is taken away behind it. So the sizes stay what they are, and a ratio compares runs
that followed each other.
"""
import contextlib

from bench.rig import WARM_UP, Case, Rig, measured, push, redis_settings
from bench.subjects import Product
from lib.fleet import Fleet
from lib.procs import wait_for


SIZES = (1_000, 10_000, 100_000, 1_000_000)
DELIVERIES = 4_000
COPIES_A_CALL = 5_000
LOAD_LIMIT_S = 300
ROW = "lf:{0}:delivery:"
COPY = "for i = ARGV[1], ARGV[2] do redis.call('COPY', KEYS[1], string.format('%s%09d', ARGV[3], i)) end"
SETTLED = 100  # rows whose memory is asked for
LEFT_BY_RUNS = ("port", "dir", "appendonly", "appendfsync")


def quiet(db):
    """The append-only file is not being written anew."""
    info = db.info("persistence")
    return not (info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])


def copy_rows(db, row, start, first, last):
    """So that there are rows `start` + first to last, as `row` is."""
    copy = db.register_script(COPY)
    for number in range(first, last + 1, COPIES_A_CALL):
        copy([row], [number, min(number + COPIES_A_CALL - 1, last), start])
    wait_for(lambda: quiet(db), LOAD_LIMIT_S, what="Redis to have written its file anew")


class Ledger:
    """A rig with a worker and so many settled rows."""

    def __init__(self, stack, size):
        self.rig, self.subject = stack.enter_context(Rig(Case("growth"))), Product()
        self.subject.start(self.rig)
        push(self.rig, self.subject, WARM_UP)
        db, names = self.rig.db, ROW + self.rig.channel(0) + "/"
        before = db.info("memory")["used_memory"]
        copy_rows(db, f"{names}item-{WARM_UP - 1}", names, 1, size - WARM_UP)
        self.row_bytes = (db.info("memory")["used_memory"] - before) / (size - WARM_UP)

    def measure(self):
        figures = measured(self.rig, self.subject, DELIVERIES)
        filled = self.rig.filled
        self.rig.db.delete(*(f"{ROW}{self.rig.channel(0)}/item-{number}" for number in range(filled - DELIVERIES, filled)))
        return {**figures, "cpu_us": figures["worker_us"] + figures["redis_us"], "row_bytes": self.row_bytes}


def measure(pairs, sizes=SIZES):
    """size -> list of figures, one of each round."""
    runs = {size: [] for size in sizes}
    with contextlib.ExitStack() as stack:
        ledgers = {size: Ledger(stack, size) for size in sizes}
        for number in range(pairs):
            for size in sizes if number % 2 == 0 else reversed(sizes):
                runs[size].append(ledgers[size].measure())
    return runs


def row_bytes(platform, options):
    """MEMORY USAGE of a settled delivery, all its keys: the row, what may stand beside it, its part of `posts`."""
    with Fleet([platform], redis_options=options, channel={platform: {"pace": {"spacing_ms": 0, "burst": 1}}}) as fleet:
        channel = f"{platform}/brand"
        names = fleet.add_many(channel, [f"an-article-of-2026-{number:08d}" for number in range(SETTLED)])
        assert fleet.run_worker() == 0 and fleet.states(names) == {"published": SETTLED}, fleet.output()
        own = sum(fleet.db.memory_usage(f"lf:{{0}}:{kind}:{name}", samples=0) or 0
                  for name in names for kind in ("delivery", "request", "lease"))
        shared = fleet.db.memory_usage(f"lf:{{0}}:posts:{channel}", samples=0) or 0
        return {"own": own / SETTLED, "shared": shared / SETTLED, "all": (own + shared) / SETTLED,
                "encoding": fleet.db.object("encoding", f"lf:{{0}}:delivery:{names[0]}"),
                "redis": fleet.db.info("server")["redis_version"]}


def memory():
    """platform -> settings -> bytes of a settled row."""
    shipped = {name: value for name, value in redis_settings("no").items() if name not in LEFT_BY_RUNS}
    narrow = {"hash-max-listpack-value": "32"}
    return {platform: {words: row_bytes(platform, {name.replace("-", "_"): value for name, value in options.items()})
                       for words, options in (("shipped", shipped), ("without", {}), ("narrow", narrow))}
            for platform in ("webhook", "mastodon")}
