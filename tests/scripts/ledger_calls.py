# SPDX-License-Identifier: MIT
"""Calls the ledger's scripts as the programs do: puts KEYS and ARGV together, gives back what was answered.

    ledger = Ledger(redis.client())
    ledger.claim("blog/main/a", entry=ledger.add("blog/main/a"))     -> ["granted", "1", ...]

Times are absolute milliseconds; ledger.now() is the server's. Values that a call does not name are the defaults below.
"""
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(TOP, "ledger", "scripts")
NAMES = ("submit", "claim", "renew", "settle", "resolve", "take", "operate", "archive", "channel")
GLOBALS = ("agenda", "journal", "outcomes", "counts", "channels", "queue", "epoch", "audit")
PER_CHANNEL = ("waiting", "uncertain", "channel", "posts", "walk")
STATES = ("approved", "claimed", "published", "rejected", "uncertain", "held")

HOUR = 3600 * 1000
POLICY = {"harmless": False, "window": 24 * HOUR, "lease": 60000, "late_commit": 30000, "margin": 10000,
          "max_attempts": 5, "max_age": 0, "spacing": 0, "burst": 1, "hold_back": "", "turn": 0}
RUN_ID = "1" * 40


def source(name):
    """A script that works rows, as the build puts it together: its #! line, call.lua, row.lua, what it asks for, itself."""
    def text(file):
        with open(os.path.join(FOLDER, file), encoding="utf-8") as stream:
            return stream.read()
    own = text(name + ".lua")
    said = {line[3:].split(":")[0]: line.split(":", 1)[1].split() for line in own.splitlines()
            if line.startswith(("-- flags:", "-- with:"))}
    first = "#!lua" + "".join(f" flags={flag}" for flag in said.get("flags", []))
    return "\n".join([first, text("call.lua"), text("row.lua"), *(text(file) for file in said.get("with", [])), own])


def channel_of(delivery):
    return "/".join(delivery.split("/")[:2])


def flat(pairs):
    return [part for pair in pairs.items() for part in pair]


class Ledger:
    def __init__(self, client, prefix="lf", partition=0, run_id=RUN_ID, outcomes_max=1000, rejected_keep=HOUR):
        self.client = client
        self.start = f"{prefix}:{{{partition}}}:"
        self.run_id = run_id
        self.limits = [outcomes_max, rejected_keep]
        self.scripts = {name: client.register_script(source(name)) for name in NAMES}
        self.tokens = 0

    # ---- keys and plain reads

    def key(self, kind, suffix=None):
        return self.start + kind + (":" + suffix if suffix else "")

    def now(self):
        seconds, micros = self.client.time()
        return seconds * 1000 + micros // 1000

    def row(self, delivery):
        return self.client.hgetall(self.key("delivery", delivery))

    def since(self, delivery):
        key = self.key("delivery", delivery)
        return (self.client.hget(key, "since") or 0) if self.client.type(key) == "hash" else 0

    def state(self, delivery):
        row = self.row(delivery)
        return row.get("state"), row.get("reason")

    def request(self, delivery):
        return self.client.hgetall(self.key("request", delivery))

    def due(self, member):
        score = self.client.zscore(self.key("agenda"), member)
        return None if score is None else int(score)

    def waiting(self, channel):
        return self.client.zrange(self.key("waiting", channel), 0, -1)

    def count(self, channel, state):
        return int(self.client.hget(self.key("counts"), f"{channel} {state}") or 0)

    def journal(self):
        return self.client.xrange(self.key("journal"))

    def lease(self, delivery):
        return self.client.get(self.key("lease", delivery))

    def dump(self, without=()):
        """Everything in the database, readable; keys that are named (by kind) are left out."""
        client, everything = self.client, {}
        for key in sorted(client.keys("*")):
            if any(key.startswith(self.start + kind) for kind in without):
                continue
            read = {"string": client.get, "hash": client.hgetall, "set": lambda k: sorted(client.smembers(k)),
                    "zset": lambda k: client.zrange(k, 0, -1, withscores=True), "list": lambda k: client.lrange(k, 0, -1),
                    "stream": client.xrange}[client.type(key)]
            everything[key] = read(key)
        return everything

    # ---- calls

    def keys(self, channels, deliveries):
        keys = [self.key(kind) for kind in GLOBALS]
        keys += [self.key(kind, channel) for channel in channels for kind in PER_CHANNEL]
        for delivery, after in deliveries:
            keys += [self.key(kind, delivery) for kind in ("delivery", "request", "lease")]
            keys += [self.key(kind, after) for kind in ("delivery", "request") if after]
        return keys

    def call(self, script, own, blocks, channels=None):
        """blocks: (delivery, after or None, words). Gives the answers; the first number, the server's time, is kept."""
        channels = channels or sorted({channel_of(delivery) for delivery, _, _ in blocks})
        argv = [len(channels), len(blocks), *self.limits, *channels, *own]
        for delivery, _, words in blocks:
            argv += [channels.index(channel_of(delivery)) + 1, delivery, *words]
        reply = self.scripts[script](self.keys(channels, [block[:2] for block in blocks]), argv)
        self.answered_at = int(reply[0])
        return reply[1:]

    def token(self):
        self.tokens += 1
        return f"{self.tokens:08x}{'5a' * 4}"

    def add(self, delivery, item=None, entry="*"):
        return self.client.xadd(self.key("queue"), {"channel": channel_of(delivery), "item": item or f"item of {delivery}"}, entry)

    def submit_block(self, delivery, content_hash="c" * 32, content=None, hold=False, not_before=0, not_after=0, dated=0):
        return (delivery, None, [content_hash, content or f"item of {delivery}", int(hold), not_before, not_after, dated])

    def submit(self, delivery, queue_max=0, **values):
        return self.call("submit", [queue_max], [self.submit_block(delivery, **values)])[0]

    def claim_block(self, delivery, token=None, entry="", after="", after_id="", content_hash="c" * 32, approved_at=None, gen=0,
                    not_before=0, not_after=0, dated=0, key="key-1", body_hash="b" * 32, frozen="frozen", content="", **policy):
        p = {**POLICY, **policy}
        if approved_at is None:
            approved_at = entry.split("-")[0] if entry else self.row(delivery).get("approved_at", 0)
        said = {"gen": gen, "not_before": not_before, "not_after": not_after, "dated": dated, "after": after, "after_id": after_id,
                "content": content, "hold_back": p["hold_back"]}
        said = {name: value for name, value in said.items() if value not in (0, "")}
        return (delivery, after, [entry, token or self.token(), content_hash, approved_at, key, body_hash, frozen, len(said),
                                  *flat(said)],
                [int(p["harmless"])] + [p[name] for name in POLICY if name not in ("harmless", "hold_back")])

    def claims(self, blocks, worker="w1", expires=5000, environment="test", longest_window=24 * HOUR, run_id=None,
               channels=None):
        channels = channels or sorted({channel_of(block[0]) for block in blocks})
        own = [run_id or self.run_id, worker, self.now() + expires, environment, longest_window]
        for channel in channels:
            own += next(policy for name, _, _, policy in blocks if channel_of(name) == channel)
        return self.call("claim", own, [block[:3] for block in blocks], channels)

    def claim(self, delivery, worker="w1", expires=5000, environment="test", longest_window=24 * HOUR, run_id=None, **values):
        return self.claims([self.claim_block(delivery, **values)], worker, expires, environment, longest_window, run_id)[0]

    def renew(self, delivery, token, lease=60000, late_commit=30000, margin=10000, window=24 * HOUR):
        return self.call("renew", [], [(delivery, None, [token, lease, late_commit, margin, window])])[0]

    def decision(self, delivery, state, reason, place="-", due=0, token="", commit_cap=0, fields=None, long=None, expect=None):
        if expect is None:
            row = self.row(delivery)
            expect = (row.get("state", "none"), row.get("attempt", 0), row.get("rev", 0), row.get("since", 0))
        if len(expect) == 3:
            expect = (*expect, self.since(delivery))
        fields, long = fields or {}, long or {}
        return (delivery, None, [*expect, state, reason, place, due, token, commit_cap, len(fields), *flat(fields), len(long),
                                 *flat(long)])

    def settle(self, delivery, state, reason, **values):
        return self.call("settle", [], [self.decision(delivery, state, reason, **values)])[0]

    def resolve(self, delivery, state, reason, searched_from=0, searched_attempt=None, lag=60000, run_id=None,
                environment="test", **values):
        block = self.decision(delivery, state, reason, **values)
        attempt = self.row(delivery).get("attempt", 0) if searched_attempt is None else searched_attempt
        block[2].extend([searched_from, attempt, lag])
        return self.call("resolve", [run_id or self.run_id, environment, 24 * HOUR], [block])[0]

    def operate(self, delivery, state, reason, act="retry", user="ann", host="desk", why="because", **values):
        return self.call("operate", [act, user, host, why], [self.decision(delivery, state, reason, **values)])[0]

    def archive(self, delivery, rev=None, user="ann", host="desk", why="because", note="1 row to a file"):
        rev = self.row(delivery).get("rev", 0) if rev is None else rev
        return self.call("archive", [user, host, why, note], [(delivery, None, [rev])])[0]

    def takes(self, members, room=10, harmless=False, spacing=0, burst=1, channels=None):
        """members: (delivery, "agenda" or "waiting", score or None for what stands there)."""
        blocks = []
        for delivery, member, score in members:
            if score is None:
                key, name = (("waiting", channel_of(delivery)), delivery) if member == "waiting" else (("agenda",), "delivery:" + delivery)
                score = int(self.client.zscore(self.key(*key), name) or 0)
            blocks.append((delivery, None, [member, score]))
        channels = channels or sorted({channel_of(delivery) for delivery, _, _ in members})
        return self.call("take", [word for _ in channels for word in (room, int(harmless), spacing, burst)], blocks, channels)

    def take(self, delivery, member="agenda", score=None, **values):
        return self.takes([(delivery, member, score)], **values)[0]

    def channel(self, channel, op, *arguments):
        return self.call("channel", [1, 1, op, len(arguments), *arguments], [], [channel])[0]

    def make_due(self, delivery):
        self.client.zadd(self.key("agenda"), {"delivery:" + delivery: self.now() - 1})
