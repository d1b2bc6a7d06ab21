# SPDX-License-Identifier: MIT
"""What a script does when Redis is not as it left it: other types, missing groups, a lost cache, a full server."""
import pytest
import redis

from ledger_calls import GLOBALS, NAMES, PER_CHANNEL, source
from lib.redis_server import RedisServer

CH = "blog/main"
NEEDS = {
    "submit": {"agenda", "journal", "outcomes", "counts", "channels", "queue", "epoch"},
    "claim": set(GLOBALS) - {"audit"},
    "renew": {"agenda", "counts"},
    "settle": {"agenda", "journal", "outcomes", "counts", "channels"},
    "resolve": {"agenda", "journal", "outcomes", "counts", "channels", "epoch"},
    "take": {"agenda", "journal", "outcomes", "counts", "channels"},
    "operate": {"agenda", "journal", "outcomes", "counts", "channels", "audit"},
    "archive": {"agenda", "counts", "channels", "audit"},
}
NEEDS_OF_A_ROW = {
    "submit": {"delivery", "request"}, "claim": {"delivery", "request", "lease"}, "renew": {"delivery", "lease"},
    "settle": {"delivery"}, "resolve": {"delivery", "request"}, "operate": {"delivery", "request"},
    "archive": {"delivery", "request", "lease"}, "take": {"delivery", "request"},
}
NEEDS_UNCERTAIN = {"settle", "resolve", "operate"}


def names(count):
    return [f"{CH}/{n:02}" for n in range(count)]


def prepared(ledger, script, deliveries):
    """Deliveries in the state in which the script has something to do with them."""
    if script not in ("submit", "claim"):
        ledger.claims([ledger.claim_block(d, token=f"{n:016}", entry=ledger.add(d)) for n, d in enumerate(deliveries)])
    if script == "archive":
        for delivery in deliveries:
            ledger.settle(delivery, "published", "confirmed", token=ledger.row(delivery)["token"])
    if script in ("resolve", "operate"):
        for delivery in deliveries:
            ledger.settle(delivery, "uncertain", "no_answer", place="walk", token=ledger.row(delivery)["token"])
    if script == "take":
        for delivery in deliveries:
            ledger.settle(delivery, "approved", "retry", place="agenda", due=1, token=ledger.row(delivery)["token"])


def run(ledger, script, deliveries, entries=None):
    if script == "submit":
        return ledger.call(script, [0], [ledger.submit_block(d) for d in deliveries])
    if script == "claim":
        return ledger.claims([ledger.claim_block(d, entry=entry) for d, entry in zip(deliveries, entries)])
    if script == "renew":
        return ledger.call(script, [], [(d, None, [f"{n:016}", 60000, 30000, 10000, 0]) for n, d in enumerate(deliveries)])
    if script == "take":
        return ledger.takes([(d, "agenda", 1) for d in deliveries])
    if script == "archive":
        return ledger.call(script, ["user", "host", "why", "note"], [(d, None, [2]) for d in deliveries])
    own = {"settle": [], "resolve": [ledger.run_id, "test", 0], "operate": ["act", "user", "host", "why"]}[script]
    state = "uncertain" if script == "settle" else "held"
    blocks = []
    for delivery in deliveries:
        expect = ("claimed", 1, 1) if script == "settle" else ("uncertain", 1, 2)
        block = ledger.decision(delivery, state, "no_answer", place="walk", expect=expect)
        block[2].extend([0, 1, 0] if script == "resolve" else [])
        blocks.append(block)
    return ledger.call(script, own, blocks)


GOOD = {"submit": "new", "claim": "granted", "renew": "ok", "settle": "ok", "resolve": "ok", "operate": "ok", "archive": "ok", "take": "work"}


def spoil(client, key):
    client.delete(key)
    client.lpush(key, "somebody else's")


@pytest.mark.parametrize("script", sorted(GOOD))
def test_a_bad_row_in_a_batch_of_64(ledger, script):
    deliveries = names(64)
    prepared(ledger, script, deliveries)
    entries = [ledger.add(d) for d in deliveries] if script == "claim" else None
    bad = {5: "delivery", 20: "request", 63: "lease"}
    rows = {}
    for number, kind in bad.items():
        spoil(ledger.client, ledger.key(kind, deliveries[number]))
        rows[number] = {k: v for k, v in ledger.dump().items() if k.endswith(":" + deliveries[number])}
    if script != "submit" and script != "claim":
        ledger.client.hset(ledger.key("delivery", deliveries[40]), "state", "sent")
        ledger.client.hset(ledger.key("delivery", deliveries[41]), "attempt", "two")
        bad.update({40: "state", 41: "attempt"})
    answers = run(ledger, script, deliveries, entries)
    bad = {number: kind for number, kind in bad.items() if kind in NEEDS_OF_A_ROW[script] | {"state", "attempt"}}
    for number, answer in enumerate(answers):
        assert answer[0] == ("error" if number in bad else GOOD[script]), (number, answer)
    assert "unknown state" in answers[40][1] if 40 in bad else True
    for number, before in rows.items():
        after = {k: v for k, v in ledger.dump().items() if k.endswith(":" + deliveries[number])}
        assert after == before or number not in bad
        assert "somebody else's" in sum((v for v in after.values() if isinstance(v, list)), [])
    if script == "claim":
        assert len(ledger.client.xrange(ledger.key("queue"))) == 3, "the entries of bad rows stay"


@pytest.mark.parametrize("script", sorted(NEEDS))
@pytest.mark.parametrize("kind", GLOBALS)
def test_a_global_key_of_another_type(ledger, script, kind):
    deliveries = names(2)
    prepared(ledger, script, deliveries)
    entries = [ledger.add(d) for d in deliveries] if script == "claim" else None
    spoil(ledger.client, ledger.key(kind))
    before = ledger.dump()
    if kind in NEEDS[script]:
        with pytest.raises(redis.ResponseError, match=f"^WRONGTYPE {kind}: the key is a list"):
            run(ledger, script, deliveries, entries)
        assert ledger.dump() == before
    else:
        answers = run(ledger, script, deliveries, entries)
        assert [answer[0] for answer in answers] == [GOOD[script]] * 2, "what it does not need does not disturb it"


@pytest.mark.parametrize("script", sorted(NEEDS))
@pytest.mark.parametrize("kind", PER_CHANNEL)
def test_a_channels_key_of_another_type_stops_only_what_needs_it(ledger, script, kind):
    deliveries = [f"{CH}/a", "blog/other/b"]
    prepared(ledger, script, deliveries)
    entries = [ledger.add(d) for d in deliveries] if script == "claim" else None
    spoil(ledger.client, ledger.key(kind, CH))
    before = ledger.row(deliveries[0])
    answers = run(ledger, script, deliveries, entries)
    needed = kind in ("waiting", "channel") or (kind == "uncertain" and script in NEEDS_UNCERTAIN)
    assert [answer[0] for answer in answers] == ["error" if needed else GOOD[script], GOOD[script]]
    assert ledger.row(deliveries[0]) == before or not needed
    assert ledger.client.lrange(ledger.key(kind, CH), 0, -1) == ["somebody else's"]


@pytest.mark.parametrize("kind,field", [("posts", "ext_id"), ("posts", "duplicate"), ("lease", "ext_id"), ("request", "ext_id")])
def test_what_a_settlement_needs_is_looked_at_before_anything_is_written(ledger, kind, field):
    ledger.claim(f"{CH}/a", token="t" * 16, entry=ledger.add(f"{CH}/a"))
    spoil(ledger.client, ledger.key(kind, CH if kind == "posts" else f"{CH}/a"))
    before = ledger.dump()
    assert ledger.settle(f"{CH}/a", "published", "confirmed", token="t" * 16, fields={field: "42"})[0] == "error"
    assert ledger.dump(without=["agenda"]) == {k: v for k, v in before.items() if not k.endswith(":agenda")}
    assert ledger.due(f"delivery:{CH}/a") == dict(before[ledger.key("agenda")])[f"delivery:{CH}/a"]


@pytest.mark.parametrize("op", [("walk_begin", "r1", 1000), ("walk_end", "r1", 0, 0)])
@pytest.mark.parametrize("kind", ["walk", "uncertain"])
def test_a_walk_whose_keys_are_of_another_type(ledger, kind, op):
    ledger.client.set(ledger.key("walk", CH), "r1", px=100000)
    spoil(ledger.client, ledger.key(kind, CH))
    before = ledger.dump()
    needed = kind == "walk" or op[0] == "walk_end"
    assert ledger.channel(CH, *op)[0] == ("error" if needed else "ok")
    assert ledger.dump() == before or not needed


def test_a_channel_with_unreadable_facts(ledger):
    ledger.client.hset(ledger.key("channel", CH), "next_at", "soon")
    answer = ledger.claim(f"{CH}/a", entry=ledger.add(f"{CH}/a"))
    assert answer[0] == "error" and "next_at" in answer[1] and ledger.row(f"{CH}/a") == {}
    ledger.client.zadd(ledger.key("agenda"), {"channel:" + CH: 1})
    ledger.takes([], channels=[CH])
    assert ledger.due("channel:" + CH) > ledger.now() + 3000000, "it does not block the head of the agenda"


@pytest.mark.parametrize("gone", ["group", "stream"])
def test_a_missing_group_does_not_fail_the_call(ledger, gone):
    entry = ledger.add(f"{CH}/a")
    if gone == "group":
        ledger.client.xgroup_destroy(ledger.key("queue"), "workers")
    else:
        ledger.client.delete(ledger.key("queue"))
    assert ledger.claim(f"{CH}/a", entry=entry, content="the item")[0] == "granted"
    assert ledger.client.xlen(ledger.key("queue")) == 0
    ledger.settle(f"{CH}/a", "uncertain", "no_answer")
    ledger.resolve(f"{CH}/a", "published", "confirmed")
    assert ledger.journal() == []


def test_the_journals_group_is_acknowledged(ledger):
    ledger.client.xgroup_create(ledger.key("journal"), "reconcilers", "0", mkstream=True)
    ledger.settle(f"{CH}/a", "uncertain", "no_answer")
    ledger.client.xreadgroup("reconcilers", "r1", {ledger.key("journal"): ">"})
    ledger.resolve(f"{CH}/a", "published", "confirmed")
    assert ledger.client.xpending(ledger.key("journal"), "reconcilers")["pending"] == 0


def test_a_journal_entry_that_somebody_deleted(ledger):
    ledger.settle(f"{CH}/a", "uncertain", "no_answer")
    ledger.client.delete(ledger.key("journal"))
    assert ledger.resolve(f"{CH}/a", "published", "confirmed") == ["ok", "2"]


def test_the_script_cache_is_lost(ledger):
    ledger.submit(f"{CH}/a")
    ledger.client.script_flush()
    assert ledger.submit(f"{CH}/a")[0] == "same"


def test_a_full_server_still_takes_settlements():
    from ledger_calls import Ledger
    with RedisServer(maxmemory_policy="noeviction") as server:
        ledger = Ledger(server.client())
        ledger.claim(f"{CH}/a", token="t" * 16, entry=ledger.add(f"{CH}/a"))
        entry = ledger.add(f"{CH}/b")
        ledger.settle(f"{CH}/c", "held", "spent", long={"content": "x"})
        server.client().config_set("maxmemory", 1)
        for refused in (lambda: ledger.submit(f"{CH}/d"), lambda: ledger.claim(f"{CH}/b", entry=entry)):
            with pytest.raises(redis.exceptions.RedisError, match="maxmemory"):
                refused()
        assert ledger.settle(f"{CH}/a", "published", "confirmed", token="t" * 16)[0] == "ok"
        assert ledger.operate(f"{CH}/c", "rejected", "operator")[0] == "ok"


def test_a_replica_refuses_and_says_so(ledger):
    ledger.client.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(redis.exceptions.RedisError, match="(?i)read ?only|replica"):
            ledger.submit(f"{CH}/a")
    finally:
        ledger.client.replicaof("no", "one")


def test_scripts_touch_only_the_keys_they_are_given(ledger):
    """Every key that a call of each script reads or writes stands in KEYS: asked from a server that watches."""
    with ledger.client.monitor() as monitor:
        for script in sorted(GOOD):
            deliveries = [f"{CH}/{script}"]
            prepared(ledger, script, deliveries)
            run(ledger, script, deliveries, [ledger.add(deliveries[0])])
        ledger.channel(CH, "pause", "why", "ann", "desk")
        ledger.client.echo("the end")
        allowed = set(ledger.keys([CH], [(f"{CH}/{script}", None) for script in sorted(GOOD)]))
        for command in monitor.listen():
            words = command["command"].split(" ")
            if words[0] == "ECHO":
                break
            if command["client_type"] == "lua" and len(words) > 1 and words[0] != "INFO":
                assert words[1] in allowed, command["command"]


@pytest.mark.parametrize("name", NAMES)
def test_only_what_frees_memory_may_run_on_a_full_server(name):
    first = source(name).splitlines()[0]
    assert first == ("#!lua flags=allow-oom" if name in ("settle", "resolve", "operate", "archive") else "#!lua")
