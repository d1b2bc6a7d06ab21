# SPDX-License-Identifier: MIT
"""/usr/bin/python3 tests/bench/memory.py [DELIVERIES...]: memory of Redis for each settled delivery.

A worker publishes one item to the fake Mastodon. What the ledger holds of it (row, long values, who owns its id) is
copied on the server under other names, so often as is asked for (100,000 unless numbers are given), once with the
settings of deploy/redis/redis.conf, once with those that Redis has without it, and once where rows do not fit the compact
encoding. The figure is the growth of
used_memory by the number of copies: keys and the tables that they stand in are counted, with the room that these keep
for growing.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib.fleet import Fleet  # noqa: E402
from lib.tree import TOP  # noqa: E402

NAME = "mastodon/brand/an-article-of-2026-00000000"
OF_ITS_PLACE = ("port", "protected-mode", "aclfile", "dir", "appendonly")
COPIES_A_CALL = 10_000
COPY = """
for i = ARGV[1], ARGV[2] do
    local name = string.format('%s%08d', string.sub(ARGV[3], 1, -9), i)
    redis.call('COPY', KEYS[1], 'lf:{0}:delivery:' .. name)
    redis.call('COPY', KEYS[2], 'lf:{0}:request:' .. name)
    if i <= 50000 then redis.call('HSET', KEYS[3], string.format('1150%014d', i), name) end
end"""


def shipped():
    """The settings of deploy/redis/redis.conf that have to do with memory, as options of a RedisServer."""
    with open(os.path.join(TOP, "deploy", "redis", "redis.conf"), encoding="utf-8") as file:
        lines = [line.split(None, 1) for line in file if line.strip() and not line.startswith("#")]
    return {name.replace("-", "_"): value.strip().strip('"') for name, value in lines if name not in OF_ITS_PLACE}


def bytes_each(options, deliveries):
    with Fleet(["mastodon"], redis_options=options) as fleet:
        fleet.add("mastodon/brand", fleet.item(NAME.rsplit("/", 1)[1]))
        assert fleet.run_worker() == 0 and fleet.state(NAME) == "published"
        keys = [f"lf:{{0}}:delivery:{NAME}", f"lf:{{0}}:request:{NAME}", "lf:{0}:posts:mastodon/brand"]
        copy = fleet.db.register_script(COPY)
        before = fleet.db.info("memory")["used_memory"]
        for first in range(1, deliveries + 1, COPIES_A_CALL):
            copy(keys, [first, min(first + COPIES_A_CALL - 1, deliveries), NAME])
        grown = fleet.db.info("memory")["used_memory"] - before
        row = f"row {fleet.db.memory_usage(keys[0])}, {fleet.db.object('encoding', keys[0])}"
        return grown / deliveries, row, fleet.db.info("server")["redis_version"]


def main():
    for deliveries in [int(word) for word in sys.argv[1:]] or [100_000]:
        for words, options in (("with deploy/redis/redis.conf", shipped()), ("without it", {}),
                               ("with hash-max-listpack-value 32", {"hash_max_listpack_value": "32"})):
            each, row, version = bytes_each(options, deliveries)
            print(f"{deliveries} deliveries, Redis {version} {words}: {each:.0f} bytes each ({row})")


if __name__ == "__main__":
    main()
