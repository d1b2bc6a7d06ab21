# SPDX-License-Identifier: MIT
"""The in-memory Redis of the simulation answers as redis-server does: the same commands to both, the same answers.

Every command of its table is among those that are drawn; arguments are drawn from a few keys, so that keys of another
type, missing groups and entries that are gone come up all the time. What time makes different (idle times, what is left
of an expiry) is compared with a margin; what Redis keeps in no order is sorted. The script tests of tests/scripts run
against it, too.
"""
import os
import random
import re
import subprocess
import sys

import pytest

from lib.redis_server import RedisServer
from lib.tree import TOP, program

COMMANDS_A_RUN = 6000
MARGIN_MS = 4000
# Of the fake only the answer is a simplification: no configuration, one page of SCAN, other words in INFO.
NOT_COMPARED = {"auth", "client", "command", "config", "info", "role", "select", "time", "object", "scan", "flushdb"}
KEYS = {"string": "s", "hash": "h", "zset": "z", "set": "t", "stream": "x", "list": "l"}
NEEDS_A_REAL_SERVER = ("test_a_full_server_still_takes_settlements", "test_a_replica_refuses_and_says_so",
                       "test_scripts_touch_only_the_keys_they_are_given",
                       "test_who_waits_for_entries_while_it_goes_gets_the_next_one", "test_the_short_ways_are_taken")
LUA = (
    ("return {KEYS[1], ARGV[1], #KEYS, #ARGV}", 1),
    ("return redis.call('HGETALL', KEYS[1])", 1),
    ("return redis.pcall('HGETALL', KEYS[1])", 1),
    ("local a = redis.pcall('GET', KEYS[1]); return type(a) == 'table' and a.err or a", 1),
    ("local ok, e = pcall(redis.call, 'LPUSH', KEYS[1]); return {tostring(ok), type(e)}", 1),
    ("return redis.call('NOSUCH', KEYS[1])", 1),
    ("return {1, 2.9, 'x', false, 4}", 0),
    ("return {true, {ok = 'FINE'}, {err = 'BAD thing'}}", 0),
    ("return {err = 'WRONGTYPE of mine'}", 0),
    ("return redis.error_reply('MINE')", 0),
    ("return redis.status_reply('FINE')", 0),
    ("return redis.sha1hex(ARGV[1])", 0),
    ("#!lua flags=allow-oom\nreturn string.format('%.0f', 1e15 + #ARGV)", 0),
    ("return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 100000)", 1),
    ("return redis.call('ZADD', KEYS[1], 5, ARGV[1])", 1),
    ("return type(redis.call('TYPE', KEYS[1]).ok)", 1),
    ("local t = redis.call('HMGET', KEYS[1], 'a', 'nothing'); return {type(t[1]), tostring(t[2])}", 1),
)


class Talk:
    """One connection; an error is an answer."""

    def __init__(self, server):
        import redis
        self.error = redis.exceptions.RedisError
        self.connection = server.client(decode_responses=False).connection_pool.get_connection("x")

    def ask(self, *words):
        self.connection.send_command(*words)
        try:
            return self.connection.read_response()
        except self.error as error:
            return ("error", str(error))


class Draw:
    """Commands, one after the other, from a seed."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.makers = {name[5:]: getattr(self, name) for name in dir(self) if name.startswith("make_")}
        self.names = sorted(self.makers)

    def key(self, kind):
        if self.r.random() < 0.04:
            kind = self.r.choice(sorted(KEYS))
        return KEYS[kind] + self.r.choice("12")

    def word(self):
        return self.r.choice(["a", "b", "c", "dd", "e" * 60, "7", "-3", "", "x y", "\x00\r\n"])

    def number(self):
        return self.r.choice(["0", "1", "2", "-1", "-2", "10", "3.5", "nan", "x", "-inf", "inf", "9007199254740993"])

    def id(self):
        return f"{self.r.randint(0, 6)}-{self.r.randint(0, 3)}"

    def some(self, make, least=1, most=4):
        return [make() for _ in range(self.r.randint(least, most))]

    def next(self):
        name = self.r.choice(self.names)
        words = self.makers[name]()
        if self.r.random() < 0.01:
            words = words[:-1]  # a word is missing
        return [name.upper() if self.r.random() < 0.9 else name, *map(str, words)]

    # ---- keys

    def any_key(self):
        return self.key(self.r.choice(sorted(KEYS)))

    def make_del(self):
        return self.some(self.any_key, 1, 2) if self.r.random() < 0.3 else ["nothing"]

    def make_exists(self):
        return self.some(self.any_key)

    def make_type(self):
        return [self.any_key()]

    def make_expire(self):
        return [self.any_key(), self.r.choice(["100", "0", "x"] if self.r.random() < 0.3 else ["200"])]

    def make_pexpire(self):
        return [self.any_key(), self.r.choice(["100000", "200000", "-1", "1.5"])]

    def make_persist(self):
        return [self.any_key()]

    def make_pttl(self):
        return [self.any_key()]

    def make_ttl(self):
        return [self.any_key()]

    def make_keys(self):
        return [self.r.choice(["*", "?1", "[hz]*", "[^h]?", "h\\1", "no*"])]

    def make_ping(self):
        return []

    def make_echo(self):
        return [self.word()]

    def make_flushall(self):
        return [] if self.r.random() < 0.02 else ["nonsense"]

    # ---- small types

    def make_get(self):
        return [self.key("string")]

    def make_set(self):
        return [self.key("string"), self.word(), *self.r.choice([
            [], [], ["NX"], ["XX"], ["PX", "100000"], ["EX", "100"], ["NX", "PX", "100000"], ["KEEPTTL"], ["PX", "0"],
            ["PX", "x"], ["NX", "XX"], ["PX"]])]

    def make_lpush(self):
        return [self.key("list"), *self.some(self.word)]

    def make_lrange(self):
        return [self.key("list"), self.number(), self.number()]

    def make_sadd(self):
        return [self.key("set"), *self.some(self.word)]

    def make_smembers(self):
        return [self.key("set")]

    # ---- hashes

    def make_hset(self):
        return [self.key("hash"), *[word for _ in range(self.r.randint(1, 3)) for word in (self.word(), self.word())]]

    def make_hsetnx(self):
        return [self.key("hash"), self.word(), self.word()]

    def make_hget(self):
        return [self.key("hash"), self.word()]

    def make_hmget(self):
        return [self.key("hash"), *self.some(self.word)]

    def make_hgetall(self):
        return [self.key("hash")]

    def make_hkeys(self):
        return [self.key("hash")]

    def make_hdel(self):
        return [self.key("hash"), *self.some(self.word)]

    def make_hexists(self):
        return [self.key("hash"), self.word()]

    def make_hlen(self):
        return [self.key("hash")]

    def make_hincrby(self):
        return [self.key("hash"), self.word(), self.r.choice(["1", "-5", "x", "9223372036854775807"])]

    def make_hrandfield(self):
        return [self.key("hash")]

    # ---- sorted sets

    def make_zadd(self):
        options = self.r.choice([[], [], [], ["NX"], ["XX"], ["CH"], ["XX", "CH"], ["NX", "XX"]])
        return [self.key("zset"), *options,
                *[word for _ in range(self.r.randint(1, 3)) for word in (self.number(), self.word())]]

    def make_zrem(self):
        return [self.key("zset"), *self.some(self.word)]

    def make_zscore(self):
        return [self.key("zset"), self.word()]

    def make_zmscore(self):
        return [self.key("zset"), *self.some(self.word)]

    def make_zcard(self):
        return [self.key("zset")]

    def bound(self):
        return self.r.choice(["", "("]) + self.number()

    def limit(self):
        return self.r.choice([[], [], ["LIMIT", self.r.choice("013"), self.r.choice(["0", "1", "2", "-1"])], ["LIMIT", "1"]])

    def make_zrange(self):
        scores = self.r.choice([[], ["WITHSCORES"]])
        if self.r.random() < 0.5:
            return [self.key("zset"), self.number(), self.number(), *scores]
        return [self.key("zset"), self.bound(), self.bound(), "BYSCORE", *self.limit(), *scores]

    def make_zrangebyscore(self):
        return [self.key("zset"), self.bound(), self.bound(), *self.r.choice([[], ["WITHSCORES"]]), *self.limit()]

    # ---- streams

    def make_xadd(self):
        options = self.r.choice([[], [], [], ["MAXLEN", "5"], ["MAXLEN", "=", "3"], ["MAXLEN", "~", "1000"],
                                 ["NOMKSTREAM"], ["MAXLEN", "x"]])
        entry = self.r.choice([self.id(), f"{self.r.randint(0, 6)}-*", "7", "0-0", "x-1"])
        return [self.key("stream"), *options, entry, "f", self.word(), *self.r.choice([[], ["g", "h"]])]

    def make_xlen(self):
        return [self.key("stream")]

    def make_xrange(self):
        return [self.key("stream"), self.r.choice(["-", self.id(), "(" + self.id(), "3"]),
                self.r.choice(["+", self.id(), "(" + self.id(), "3"]), *self.r.choice([[], ["COUNT", "2"], ["COUNT", "x"]])]

    def make_xrevrange(self):
        words = self.make_xrange()
        return [words[0], words[2], words[1], *words[3:]]

    def make_xdel(self):
        return [self.key("stream"), *self.some(self.id)]

    def make_xread(self):
        return [*self.r.choice([[], ["COUNT", "2"]]), "STREAMS", self.key("stream"), self.r.choice(["0", self.id(), "$"])]

    def group(self):
        return self.r.choice(["g1", "g2"])

    def consumer(self):
        return self.r.choice(["c1", "c2", "c3"])

    def make_xgroup(self):
        key = self.key("stream")
        return self.r.choice([
            ["CREATE", key, self.group(), self.r.choice(["0", "$", self.id()]), *self.r.choice([[], ["MKSTREAM"]])],
            ["CREATE", key, self.group(), "0", "MKSTREAM"],
            ["DELCONSUMER", key, self.group(), self.consumer()],
            ["CREATECONSUMER", key, self.group(), self.consumer()],
            ["DESTROY", key, self.group() if self.r.random() < 0.2 else "nobody"]])

    def make_xreadgroup(self):
        return ["GROUP", self.group(), self.consumer(), *self.r.choice([[], ["COUNT", "1"], ["COUNT", "2"], ["NOACK"]]), "STREAMS",
                self.key("stream"), self.r.choice([">", ">", "0", self.id()])]

    def make_xack(self):
        return [self.key("stream"), self.group(), *self.some(self.id)]

    def make_xpending(self):
        return [self.key("stream"), self.group(), *self.r.choice([
            [], ["-", "+", "10"], ["-", "+", "2", self.consumer()], [self.id(), self.id(), "3"], ["-", "+"]])]

    def make_xclaim(self):
        return [self.key("stream"), self.group(), self.consumer(), self.r.choice(["0", "100000"]), *self.some(self.id),
                *self.r.choice([[], ["JUSTID"], ["IDLE", "86400000", "JUSTID"], ["IDLE", "5000"]])]

    def make_xautoclaim(self):
        return [self.key("stream"), self.group(), self.consumer(), self.r.choice(["0", "1000000"]),
                self.r.choice(["0-0", self.id()]), *self.r.choice([[], ["COUNT", "1"], ["COUNT", "2"], ["JUSTID"]])]

    def make_xinfo(self):
        return ["CONSUMERS", self.key("stream"), self.group()]

    # ---- scripts

    def script(self):
        text, keys = self.r.choice(LUA)
        return text, keys, [self.any_key() for _ in range(keys)] + [self.word()]

    def make_eval(self):
        text, keys, rest = self.script()
        return [text, keys, *rest]

    def make_evalsha(self):
        import hashlib
        text, keys, rest = self.script()
        return [hashlib.sha1(text.encode()).hexdigest(), keys, *rest]

    def make_script(self):
        return self.r.choice([["LOAD", self.script()[0]], ["FLUSH"], ["EXISTS", "0" * 40]])


UNORDERED = {"SMEMBERS", "KEYS"}
MORE_WORDS = r" script: | command called from script|, with args"
TIMES = {"PTTL", "TTL", "XPENDING", "XINFO"}


def same_error(name, ours, theirs):
    """The words of what a script sees or says; else the first word, by which landfall goes. Where two things are wrong,
    which one is told first is the server's business."""
    if name in ("EVAL", "EVALSHA"):
        # What stands behind the script's own words differs from version to version.
        return re.split(MORE_WORDS, ours)[0] == re.split(MORE_WORDS, theirs)[0]
    words = [match and match[0] for match in (re.match("[A-Z]{4,}", ours), re.match("[A-Z]{4,}", theirs))]
    return words[0] == words[1] or None in words or "WRONGTYPE" in words


def same(command, ours, theirs):
    name = command[0].upper()
    if isinstance(theirs, tuple) and isinstance(ours, tuple):
        return same_error(name, ours[1], theirs[1])
    if name in UNORDERED and isinstance(theirs, list):
        return sorted(ours) == sorted(theirs)
    if name == "HRANDFIELD" and isinstance(theirs, bytes):
        return isinstance(ours, bytes)
    if name in TIMES:
        return near(name, ours, theirs)
    return ours == theirs or repr(ours) == repr(theirs)  # an error inside an answer is an object


def is_near(ours, theirs):
    return abs(ours - theirs) <= MARGIN_MS if theirs >= 0 and ours >= 0 else ours == theirs


def near(name, ours, theirs):
    if isinstance(ours, int) and isinstance(theirs, int):
        return is_near(ours, theirs)
    idle = 5 if name == "XINFO" else 2  # where it stands in a row of the answer
    rows = isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs)
    if not rows or not all(isinstance(row, list) and len(row) > idle for row in theirs):
        return ours == theirs
    return all(is_near(a[idle], b[idle]) and a[:idle] + a[idle + 1:] == b[:idle] + b[idle + 1:] for a, b in zip(ours, theirs))


@pytest.fixture(scope="module")
def both():
    with RedisServer() as real:
        os.environ["LANDFALL_REDIS_SERVER"], before = program("sim_redis"), os.environ.get("LANDFALL_REDIS_SERVER")
        try:
            with RedisServer() as fake:
                yield fake, real
        finally:
            os.environ.pop("LANDFALL_REDIS_SERVER")
            if before is not None:
                os.environ["LANDFALL_REDIS_SERVER"] = before


@pytest.mark.parametrize("seed", range(5))
def test_answers_are_those_of_redis_server(both, seed):
    fake, real = map(Talk, both)
    for talk in (fake, real):
        talk.ask("FLUSHALL")
        talk.ask("SCRIPT", "FLUSH")
    draw, answered = Draw(seed), {}
    for number in range(COMMANDS_A_RUN):
        command = draw.next()
        ours, theirs = fake.ask(*command), real.ask(*command)
        assert same(command, ours, theirs), f"command {number}: {command}\nfake: {ours}\nreal: {theirs}"
        good, bad = answered.setdefault(command[0].lower(), [0, 0])
        answered[command[0].lower()] = [good + (not isinstance(theirs, tuple)), bad + isinstance(theirs, tuple)]
    rarely = {name for name, (good, _) in answered.items() if good < 5 and name != "flushall"}
    assert not rarely, f"hardly ever answered without an error: {rarely}"


def test_every_command_is_compared():
    with open(os.path.join(TOP, "tests", "sim", "redis_commands.c"), encoding="utf-8") as source:
        known = set(re.findall(r'^    \{"(\w+)", ', source.read(), re.M))
    assert known - NOT_COMPARED == set(Draw(0).names)


def test_the_script_tests_run_against_it(tmp_path):
    """All of tests/scripts but five tests about what only a server has: memory limits, replicas, MONITOR, BLOCK, statistics."""
    environment = {**os.environ, "LANDFALL_REDIS_SERVER": program("sim_redis"), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--basetemp", tmp_path / "t", "-k",
                          " and ".join(f"not {name}" for name in NEEDS_A_REAL_SERVER), os.path.join("tests", "scripts")],
                         cwd=TOP, env=environment, capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stdout[-5000:]
    passed, deselected = map(int, re.search(r"(\d+) passed, (\d+) deselected", run.stdout).groups())
    assert passed > 200 and deselected == len(NEEDS_A_REAL_SERVER), run.stdout[-300:]
