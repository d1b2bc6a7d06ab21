# SPDX-License-Identifier: MIT
"""The short ways of claim and settle leave what the long ones leave: the same calls to two servers, to one of them with scripts that
have no short ways and one clock for both. Compared is every key, and every answer."""
import contextlib
import random
import re

import pytest
from redis import ResponseError

import ledger_calls
from ledger_calls import HOUR, Ledger
from lib.redis_server import RedisServer

NOW = 1800000000000
CHANNELS = ("blog/main", "blog/other")
ROUNDS, CALLS = 40, 6
CUTS = {  # what makes a way short, and what stands there instead
    "claim": [("    if is_first(d, c) then write_first(d, c, to) else write_later(d, c, to) end\n", "    write_later(d, c, to)\n"),
              ("d.state == 'none' and c.is_plain and PLAIN_CHECKS or CHECKS", "CHECKS"), ("end, load_new)\n", "end)\n")],
    "settle": [("apply_decision, load_as_claimed)", "apply_decision)")],
}


def stopped(text):
    """With a clock that a key holds: it moves when the test wants it to. Both servers are as old, and leave as much of a lease."""
    changed = text.replace("redis.call('TIME')", "{redis.call('GET', 'clock'), '0'}")
    assert changed != text
    changed = changed.replace("redis.pcall('INFO', 'server')", "'uptime_in_seconds:90000'")
    return changed.replace("redis.call('PTTL', d.lease_key)", "math.min(redis.call('PTTL', d.lease_key), 5000)")


def long_ways(name, text):
    for short, long in CUTS.get(name, ()):
        assert text.count(short) == 1, short
        text = text.replace(short, long)
    return text


class Clocked(Ledger):
    def __init__(self, client, change):
        super().__init__(client)
        self.scripts = {name: client.register_script(stopped(change(name, ledger_calls.source(name)))) for name in self.scripts}

    def now(self):
        return int(self.client.get("clock")) * 1000

    def seen(self):
        """Everything, without what two servers number and time for themselves."""
        everything = self.dump()
        streams = {key: [fields for _, fields in value] for key, value in everything.items()
                   if key.endswith((":journal", ":outcomes"))}
        rows = {key: {**value, "journal": "some"} for key, value in everything.items() if isinstance(value, dict) and "journal" in value}
        ends = {key: self.client.pttl(key) > 0 for key in everything}
        return {**everything, **streams, **rows}, ends


@pytest.fixture(scope="module")
def servers():
    with RedisServer() as one, RedisServer() as other:
        yield one, other


def a_claim(rng, ledger, delivery):
    """What a block says; most say nothing that is out of the ordinary."""
    odd = rng.random() < 0.3
    said = {"entry": "", "token": f"{rng.randrange(6):016x}", "content_hash": rng.choice("cccd") * 32, "approved_at": NOW - 5000}
    if rng.random() < 0.85:
        said["entry"] = f"{NOW - 5000}-{rng.randrange(1, 9)}"
    if rng.random() < 0.3:
        said["content"] = "the item"
    if odd:
        said.update(rng.choice([{"gen": 1}, {"not_before": NOW + HOUR}, {"not_before": NOW - HOUR}, {"not_after": NOW + HOUR},
                                {"not_after": NOW - 1}, {"dated": NOW - HOUR}, {"after": "blog/main/0"}, {"hold_back": "channel_full"},
                                {"hold_back": "unknown_channel"}, {"key": ""}, {"key": "k" * 65}, {"frozen": "", "body_hash": ""},
                                {"approved_at": 0}, {"approved_at": NOW - 30 * HOUR}]))
    return ledger.claim_block(delivery, **said)


def a_settlement(rng, ledger, delivery):
    row = ledger.row(delivery)
    token = row.get("token", "f" * 16) if rng.random() < 0.9 else "f" * 16
    state, reason, place = rng.choice([("published", "confirmed", "-")] * 6 + [("rejected", "refused", "-"), ("approved", "retry", "agenda"),
                                      ("uncertain", "no_answer", "walk"), ("held", "spent", "-")])
    fields = {"source": "response", "status": "200"}
    for name, values in (("ext_id", ["1", "2", "3" * 65, ""]), ("url", ["https://b.example/1", "https://b.example/" + "u" * 60, ""]),
                         ("tries", ["0", "3"]), ("duplicate", ["7", ""]), ("in_doubt", ["", "1:00000000"])):
        if rng.random() < 0.25:
            fields[name] = rng.choice(values)
    long = rng.choice([{}, {}, {}, {"detail": ""}, {"detail": "why"}])
    expect = [row.get("state", "none"), row.get("attempt", 0), row.get("rev", 0), row.get("since", 0)]
    if rng.random() < 0.05:
        expect[rng.randrange(1, 4)] = 9
    return ledger.decision(delivery, state, reason, place=place, token=token, commit_cap=rng.choice([0, 0, 0, 30000]), fields=fields,
                           long=long, expect=tuple(expect))


def a_hand(rng, delivery):
    """Something that is not the scripts' own work: what stands there before."""
    channel = ledger_calls.channel_of(delivery)
    return rng.choice([
        lambda l: l.client.set(l.key("lease", delivery), "somebody 1 " + "e" * 16, px=60000000),
        lambda l: l.client.delete(l.key("lease", delivery)),
        lambda l: l.client.hset(l.key("request", delivery), "detail", "of an earlier attempt"),
        lambda l: l.client.hset(l.key("request", delivery), "ext_id", "9" * 70),
        lambda l: (l.client.delete(l.key("request", delivery)), l.client.lpush(l.key("request", delivery), "a list")),
        lambda l: (l.client.delete(l.key("lease", delivery)), l.client.lpush(l.key("lease", delivery), "a list")),
        lambda l: l.client.hset(l.key("delivery", delivery), mapping={"state": "approved", "rev": 1, "since": NOW - 1}),
        lambda l: l.client.hset(l.key("channel", channel), "paused", "why"),
        lambda l: l.client.hset(l.key("channel", channel), mapping={"ramp": 2, "blocked_until": NOW - 10}),
        lambda l: l.client.zadd(l.key("waiting", channel), {delivery: NOW}),
        lambda l: l.client.hset(l.key("posts", channel), "1", "blog/main/9"),
        lambda l: l.client.hset(l.key("epoch"), mapping={"environment": "test", "run_id": "2" * 40}),
    ])


def prepare(ledger):
    ledger.client.flushall()
    ledger.client.set("clock", NOW // 1000)
    ledger.client.xgroup_create(ledger.key("queue"), "workers", "0", mkstream=True)
    for number in (1, 2, 3, 5, 6, 7):
        ledger.add("blog/main/x", item=f"item {number}", entry=f"{NOW - 5000}-{number}")


def comparable(answers):
    """A row that was told of has no order, and the number of its journal entry is the server's own."""
    return [("stale", {**dict(zip(a[1::2], a[2::2])), "journal": "some"}) if a[0] == "stale" else a for a in answers]


def play(rng, ledgers):
    """Some calls, each to both; answers and all keys are the same after each. Gives the words of the answers."""
    names = [f"{rng.choice(CHANNELS)}/{number}" for number in range(5)]
    policies = {channel: {"harmless": rng.random() < 0.2, "spacing": rng.choice([0, 0, 0, 1000]), "max_age": rng.choice([0, 0, HOUR // 2])}
                for channel in CHANNELS}
    first, words = ledgers[0], []
    for _ in range(CALLS):
        if rng.random() < 0.3:
            hand = a_hand(rng, rng.choice(names))
            for ledger in ledgers:
                with contextlib.suppress(ResponseError):  # an earlier hand has put another type there
                    hand(ledger)
        some = [rng.choice(names) for _ in range(rng.randrange(1, 6))]
        if rng.random() < 0.5:
            blocks = [a_claim(rng, first, name) for name in some]
            blocks = [(*block[:3], ledger_calls.Ledger.claim_block(first, block[0], **policies[ledger_calls.channel_of(block[0])])[3])
                      for block in blocks]
            answers = [ledger.claims(blocks) for ledger in ledgers]
        else:
            blocks = [a_settlement(rng, first, name) for name in some]
            answers = [ledger.call("settle", [], blocks) for ledger in ledgers]
        assert comparable(answers[0]) == comparable(answers[1]), blocks
        assert ledgers[0].seen() == ledgers[1].seen(), (blocks, answers[0])
        words += [re.match("[a-z_]*", answer[0])[0] for answer in answers[0]]
        for ledger in ledgers:
            ledger.client.set("clock", int(ledger.client.get("clock")) + 1)
    return words


@pytest.mark.parametrize("part", range(4))
def test_short_and_long_leave_the_same(servers, part):
    ledgers = Clocked(servers[0].client(), lambda _, text: text), Clocked(servers[1].client(), long_ways)
    words = set()
    for number in range(ROUNDS):
        for ledger in ledgers:
            prepare(ledger)
        words.update(play(random.Random(part * ROUNDS + number), ledgers))
    assert {"granted", "ok", "stale", "wait", "busy", "already"} <= words


def calls_of(ledger, script):
    before = ledger.client.info("commandstats")
    script()
    after = ledger.client.info("commandstats")
    return {name[8:]: after[name]["calls"] - before.get(name, {"calls": 0})["calls"] for name in after}


def test_the_short_ways_are_taken(ledger):
    """A claim and its settlement, as most are: no row is read whole, no request looked into."""
    delivery = "blog/main/a"
    blocks = [ledger.claim_block(delivery, token="t" * 16, entry=ledger.add(delivery))]
    claimed = calls_of(ledger, lambda: ledger.claims(blocks))
    settled = calls_of(ledger, lambda: ledger.call("settle", [], [
        ledger.decision(delivery, "published", "confirmed", token="t" * 16, fields={"source": "response"})]))
    assert ledger.state(delivery) == ("published", "confirmed")
    assert claimed.get("hexists", 0) == 0 and claimed["exists"] == 1 and claimed["hgetall"] == 1, "only the epoch"
    assert settled["hgetall"] == 1 and settled["hlen"] == 1, "of the test itself"


def test_items_that_do_not_stand_one_after_the_other(ledger):
    """Others' entries between them, the order turned round, one that is gone: each row gets its own item."""
    entries = [ledger.add("blog/main/x", item=f"item {number}") for number in range(60)]
    ledger.client.xdel(ledger.key("queue"), entries[20])
    wanted = [0, 1, 40, 17, 59, 18, 20, 3]
    answers = ledger.claims([ledger.claim_block(f"blog/main/{number}", entry=entries[number]) for number in wanted])
    assert [answer[0] for answer in answers] == ["no_content" if number == 20 else "granted" for number in wanted]
    for number in wanted:
        assert ledger.request(f"blog/main/{number}").get("content") == (None if number == 20 else f"item {number}")
