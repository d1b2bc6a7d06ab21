# SPDX-License-Identifier: MIT
"""What strangers write into the queue: every entry becomes a delivery or stands in `refused` with its id and why.

Nobody but XADD stands between a producer and the worker here, so any bytes may come: the worker must neither die of an
entry nor lose one.
"""
import json
import random

import pytest

from lib.fleet import Fleet
from lib.procs import wait_for

HOOK = "webhook/brand"
QUEUE = "lf:{0}:queue"


@pytest.fixture(scope="module")
def fleet():
    with Fleet(["webhook"]) as running:
        running.raw = running.redis.client(decode_responses=False)
        yield running


def deep(levels):
    return '{"id": "deep", "_d": ' + "[" * levels + "]" * levels + "}"


def text(**members):
    return json.dumps({"id": "x", **members})


# What stands in the entry, and what the refusal must say.
REFUSED = [
    ("no channel", {"item": text()}, "the field channel is missing"),
    ("no item", {"channel": HOOK}, "the field item is missing"),
    ("no field of ours", {"a": "b"}, "unknown field"),
    ("unknown field", {"channel": HOOK, "item": text(), "channels": HOOK}, "channels"),
    ("field name with control characters", {"channel": HOOK, "item": text(), "a\r\nb": "c"}, "unknown field"),
    ("two channels", {"channel": f"{HOOK} mastodon/brand", "item": text()}, "channel"),
    ("channel without account", {"channel": "webhook", "item": text()}, "channel"),
    ("channel of capitals", {"channel": "Webhook/brand", "item": text()}, "channel"),
    ("empty channel", {"channel": "", "item": text()}, "channel"),
    ("channel with a line break", {"channel": "webhook/a\r\nb", "item": text()}, "channel"),
    ("channel with NUL", {"channel": b"webhook/br\0and", "item": text()}, "NUL"),
    ("channel that is no UTF-8", {"channel": b"webhook/\xff", "item": text()}, "channel"),
    ("channel of 4000 bytes", {"channel": "webhook/" + "a" * 4000, "item": text()}, "channel"),
    ("empty item", {"channel": HOOK, "item": ""}, "JSON"),
    ("truncated", {"channel": HOOK, "item": text()[:-3]}, "JSON"),
    ("something behind it", {"channel": HOOK, "item": text() + "x"}, "JSON"),
    ("invalid UTF-8", {"channel": HOOK, "item": b'{"id": "\xc3("}'}, "UTF-8"),
    ("an encoded surrogate", {"channel": HOOK, "item": b'{"id": "\xed\xa0\x80"}'}, "UTF-8"),
    ("half of a surrogate pair", {"channel": HOOK, "item": '{"id": "x", "title": "\\ud800"}'}, "JSON"),
    ("NUL as it is", {"channel": HOOK, "item": b'{"id": "a\0b"}'}, "JSON"),
    ("NUL escaped", {"channel": HOOK, "item": '{"id": "x", "title": "a\\u0000b"}'}, "U+0000"),
    ("a member twice", {"channel": HOOK, "item": '{"id": "x", "title": "a", "title": "b"}'}, "title"),
    ("too deep", {"channel": HOOK, "item": deep(65)}, "64 levels"),
    ("deeper than any stack", {"channel": HOOK, "item": deep(200_000)}, "64 levels"),
    ("more than a MiB", {"channel": HOOK, "item": text(content_text="a" * (1 << 20))}, "bytes"),
    ("no object", {"channel": HOOK, "item": "[1]"}, "object"),
    ("no id", {"channel": HOOK, "item": '{"title": "a"}'}, "id"),
    ("empty id", {"channel": HOOK, "item": text(id="")}, "id"),
    ("id of 201 bytes", {"channel": HOOK, "item": text(id="a" * 201)}, "id"),
    ("id with a line break", {"channel": HOOK, "item": text(id="a\r\nX-Evil: 1")}, "id"),
    ("id with white space at its end", {"channel": HOOK, "item": text(id="a ")}, "id"),
    ("id of another type", {"channel": HOOK, "item": text(id=["a"])}, "id"),
    ("an integer beyond a double", {"channel": HOOK, "item": '{"id": "x", "_n": 9007199254740993}'}, "_n"),
    ("a number beyond a double", {"channel": HOOK, "item": '{"id": "x", "_n": [1, 1e400]}'}, "_n"),
    ("more digits than a double", {"channel": HOOK, "item": '{"id": "x", "_n": 0.1234567890123456789}'}, "_n"),
    ("a misspelt member", {"channel": HOOK, "item": text(contnet_text="a")}, "contnet_text"),
    ("a misspelt member of landfall", {"channel": HOOK, "item": text(landfall={"not_befor": "x"})}, "not_befor"),
    ("a time without an offset",
     {"channel": HOOK, "item": text(landfall={"not_before": "2026-01-01T10:00:00"})}, "not_before"),
    ("a day that no calendar has",
     {"channel": HOOK, "item": text(date_published="2026-02-30T10:00:00Z")}, "date_published"),
    ("a predecessor without a name", {"channel": HOOK, "item": text(landfall={"after": ""})}, "after"),
    ("more fields than any entry has", {f"f{i}": "x" for i in range(300)}, "field"),
]


def test_every_bad_entry_is_refused_with_its_id_and_the_reason(fleet):
    entries = {name: fleet.raw.xadd(QUEUE, fields).decode() for name, fields, _ in REFUSED}
    twice = fleet.db.execute_command("XADD", QUEUE, "*", "channel", HOOK, "channel", "webhook/other", "item", text())
    fleet.add(HOOK, fleet.item("good-1"))
    worker = fleet.start_worker("--until-idle", name="refuser")
    assert worker.wait(30) == 1, "some input was refused"
    refused = fleet.refused()
    for name, _, words in REFUSED:
        assert words in refused.get(entries[name], "is not there"), (name, refused.get(entries[name]))
        assert refused[entries[name]].isprintable(), name
    assert twice in refused, "of two channel fields one would be passed over in silence"
    assert len(refused) == len(REFUSED) + 1
    assert fleet.state("webhook/brand/good-1") == "published"
    assert fleet.db.xlen(QUEUE) == 0 and fleet.db.xpending(QUEUE, "workers")["pending"] == 0
    assert f"Input refused {len(refused)}" in worker.stdout()
    assert "due 1: published 1" in worker.stdout()
    assert max(len(kept[b"first_kb"]) for _, kept in fleet.raw.xrange("lf:{0}:refused")) == 1024
    fleet.check_judge(**{"webhook/brand/good-1": 1})
    assert fleet.run_worker() == 0, "what was refused does not come back"


def test_texts_arrive_byte_for_byte(fleet):
    titles = ["%s%n%x %%", "{{secret}} ${jndi:x} $(id) `id`", '"\\" \\u0041 \x7f', "a\nb\tc",
              "\u202eabc\u202c \ufeff", "e\u0301 \u00e9", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
              "\u2028 \u2029 </script>", "a" * 5000, "\u0001\u001f"]
    for number, title in enumerate(titles):
        fleet.add(HOOK, fleet.item(f"text-{number}", title=title, _own={"%n": [title, 1.5, True, None]}))
    assert fleet.run_worker() == 0
    posts = [json.loads(post["body"])["data"] for post in fleet.sim.get("posts", instance="webhook")["posts"]]
    by_id = {post["id"]: post for post in posts}
    for number, title in enumerate(titles):
        assert by_id[f"text-{number}"]["title"] == title
        assert by_id[f"text-{number}"]["_own"] == {"%n": [title, 1.5, True, None]}


def test_two_spellings_of_an_id_are_one_delivery(fleet):
    content = {"content_text": "the same"}
    for item_id in ("caf\u00e9", "cafe\u0301", "caf\u00e9"):
        fleet.add(HOOK, {"id": item_id, **content})
    for item_id in ("\ufb01", "fi", "\u2460", "1", "\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\u2122", "TM"):
        fleet.add(HOOK, {"id": item_id, **content})
    assert fleet.run_worker() == 0
    for item_id in ("caf\u00e9", "\ufb01", "fi", "\u2460", "1", "\ud55c\uae00", "\u2122", "TM"):
        assert fleet.state(f"webhook/brand/{item_id}") == "published", item_id
        assert fleet.sim.delivery(f"webhook/brand/{item_id}")["commits"] == 1
    assert fleet.state("webhook/brand/cafe\u0301") is None


def test_an_address_makes_no_identity_and_is_sent_as_it_was_given(fleet):
    """Seven spellings of what may be one page, or more: their author knows, and says it with the id."""
    spellings = ["https://Ex.test:443/p/?utm_source=a&b=1#top", "https://ex.test/p/?b=1", "http://ex.test/p/?b=1", "https://ex.test/p?b=1",
                 "https://ex.test/p/?b=1&utm_campaign=", "https://ex.test", "https://ex.test/"]
    for spelling in spellings:
        fleet.add(HOOK, {"id": spelling, "url": spelling})
    fleet.add(HOOK, {"id": "one-page", "url": spellings[0]})
    assert fleet.run_worker() == 0
    posts = [json.loads(post["body"])["data"] for post in fleet.sim.get("posts", instance="webhook")["posts"]]
    sent = {post["id"]: post["url"] for post in posts if post["id"] in (*spellings, "one-page")}
    assert sent == {**{spelling: spelling for spelling in spellings}, "one-page": spellings[0]}
    entry = fleet.add(HOOK, {"id": "one-page", "url": spellings[1]})
    assert fleet.run_worker() == 1, "another address is other content, and is told"
    assert "one-page exists with other content" in fleet.refused()[entry]
    assert fleet.sim.delivery("webhook/brand/one-page")["commits"] == 1


def test_an_id_that_is_a_number_is_its_text(fleet):
    fleet.add(HOOK, {"id": 42, "title": "a"})
    fleet.add(HOOK, {"id": "42", "title": "a"})
    assert fleet.run_worker() == 0
    assert fleet.sim.delivery("webhook/brand/42")["commits"] == 1


def test_the_same_id_with_other_content_is_refused_and_the_first_stays(fleet):
    fleet.add(HOOK, {"id": "same", "title": "first"})
    assert fleet.run_worker() == 0
    entry = fleet.add(HOOK, {"id": "same", "title": "second"})
    worker = fleet.start_worker("--until-idle", name="conflict")
    assert worker.wait(30) == 1
    assert "webhook/brand/same exists with other content" in fleet.refused()[entry]
    assert "conflicting 1" in worker.stdout()
    assert fleet.sim.delivery("webhook/brand/same")["commits"] == 1


def test_an_unknown_channel_waits_for_a_worker_that_knows_it():
    with Fleet(["webhook"]) as fleet:
        fleet.platforms = []  # the first worker's configuration does not have the channel yet
        fleet.write_config()
        fleet.add(HOOK, fleet.item("later"))
        assert fleet.run_worker() == 3, "something waits"
        row = fleet.row("webhook/brand/later")
        assert (row["state"], row["reason"]) == ("approved", "unknown_channel")
        assert fleet.db.zrange(f"lf:{{0}}:waiting:{HOOK}", 0, -1) == ["webhook/brand/later"]
        fleet.platforms = ["webhook"]
        fleet.write_config()
        fleet.start_worker()
        fleet.db.zadd("lf:{0}:agenda", {f"channel:{HOOK}": 1}, xx=True)
        fleet.wait_state("webhook/brand/later", "published")
        fleet.check_judge(**{"webhook/brand/later": 1})


def test_a_channel_of_another_partition_is_refused_with_its_queue():
    with Fleet([], config={"partitions": 4}) as fleet:
        entries = {f"webhook/account-{n}": fleet.add(f"webhook/account-{n}", fleet.item("it")) for n in range(24)}
        assert fleet.run_worker() == 1
        refused = fleet.refused()
        elsewhere = {channel for channel, entry in entries.items() if entry in refused}
        assert 0 < len(elsewhere) < 24
        for channel in elsewhere:
            assert f"channel {channel} belongs to partition" in refused[entries[channel]]
            assert fleet.state(f"{channel}/it") is None
        for channel in set(entries) - elsewhere:
            assert fleet.row(f"{channel}/it")["reason"] == "unknown_channel"


HOSTILE = [b"\0", b"\xff", b"\\u0000", b"\\ud800", b"\r\n", b'"', b"{", b"]", b"%n%s", b"\xe2\x80\xa8"]


def hostile_bytes(rng, good):
    """A damaged copy of something good, or noise."""
    data = bytearray(good)
    for _ in range(rng.randint(1, 4)):
        act, at = rng.randrange(5), rng.randrange(len(data) + 1)
        if act == 0:
            data[at:at] = rng.choice(HOSTILE)
        elif act == 1:
            del data[at:at + rng.randint(1, 9)]
        elif act == 2:
            data[at:at] = data[at:at + 20]
        elif act == 3:
            del data[at:]
        else:
            data[at:at + 1] = bytes([rng.randrange(256)])
    return bytes(data)


def hostile_entry(rng, number):
    item = json.dumps({"id": f"h-{number}", "title": "t", "content_text": "c", "tags": ["a"], "_n": 1.5,
                       "landfall": {"not_after": "2050-01-01T00:00:00Z", "channels": {HOOK: {"title": "own"}}}})
    fields = {b"channel": HOOK.encode(), b"item": item.encode()}
    name = rng.choice([b"item", b"item", b"item", b"channel"])
    kind = rng.randrange(10)
    if kind < 7:
        fields[name] = hostile_bytes(rng, fields[name])
    elif kind == 7:
        fields[hostile_bytes(rng, name)] = fields.pop(name)
    elif kind == 8:
        fields[name] = rng.randbytes(rng.randrange(200))
    return fields


@pytest.mark.parametrize("seed", [20260417])
def test_a_thousand_hostile_entries_are_each_a_delivery_or_refused(seed):
    rng = random.Random(seed)
    with Fleet(["webhook"], config={"worker": {"grace_ms": 5000, "reclaim_idle_ms": 300}}) as fleet:
        raw = fleet.redis.client(decode_responses=False)
        entries = [raw.xadd(QUEUE, hostile_entry(rng, number)).decode() for number in range(1000)]
        worker = fleet.start_worker("--until-idle")
        assert worker.wait(60) == 1, worker.tail()
        assert fleet.db.xlen(QUEUE) == 0 and fleet.db.xpending(QUEUE, "workers")["pending"] == 0
        refused = fleet.refused()
        assert set(refused) <= set(entries) and all(why for why in refused.values())
        counts = {key: int(value) for key, value in raw.hgetall("lf:{0}:counts").items() if value != b"0"}
        published, waiting = counts.pop(b"webhook/brand published"), sum(counts.values())
        assert all(key.endswith(b" approved") for key in counts), counts
        # Two damaged entries may name the same delivery: then the second is skipped, or refused for its other content.
        skipped = len(entries) - len(refused) - published - waiting
        report = worker.stdout()
        assert f"({skipped} of them before)" in report and skipped < 20, report
        assert len(refused) > 300 and published > 100
        assert fleet.sim.report()["totals"]["commits"] == published
        channels = {key.rsplit(b" ", 1)[0] for key in counts}
        wait_for(lambda: raw.zcard("lf:{0}:agenda") == len(channels), what="an agenda of channels")
