#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Where fuzzers begin: inputs made of the descriptors, their fixtures, and what the tests know. seeds.py FOLDER writes them,
a folder for each fuzzer."""
import glob
import json
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DESCRIPTORS = os.path.join(TOP, "platforms", "descriptors")
NEXT_ANSWER = "\x1e"

LIMITS = ["0", "1", "30", "3600", "86400", "-1", "1e3", "0.5", "nan", "inf", "Wed, 21 Oct 2026 07:28:00 GMT", "Wednesday, 21-Oct-26 07:28:00 GMT",
          "Wed Oct 21 07:28:00 2026", "1790000060", "1790000060000", "2026-09-21T15:00:00.000000Z", "2026-09-21T15:00:00+02:00", "18446744073709551616",
          "60;w=60", " 12 ", "31 Feb 2026", "Sun, 31 Feb 2026 24:61:61 GMT"]
HTML = ["<p>Hello &amp; welcome <a href=\"https://blog.example/p/1\" rel=\"nofollow\"><span class=\"invisible\">https://</span>blog</a> #tag</p>",
        "<!-- a --> <b title='>'>x</b>&#x1f600;&#0;&#xD800;&euro;&ampx<br/>y<script>z</script>", "https://BLOG.example:443/a/../b?utm_source=x&y=%7e#f",
        "http://xn--bcher-kva.example/ http://b\u00fccher.example/\u00e4", "text https://a.example/(b) #t\u00e4g @who e\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "http://[::1]:80/", "&&&;;<<<>>>", "<a href=x", "<![CDATA[", "\u202e\u0000 \u00a0\u2028"]
JSONS = ['{"a":[1,2.5,-0,1e21,1e-7,true,false,null,"\\u00e4\\ud83d\\ude00\\n"]}', "9007199254740993", '"\\ud800"', '{"a":1,"a":2}', "[" * 70, '{"\\u0000":1}',
         "1E400", "[0.1,1e3,333333333.3333333]", '{"":{"b":[{}]}}', "\ufeff{}"]
PROGRAMS = ['.a.b.c? // .x // "none"', '{b: .a, "c d": {z: 1, y: [true]}, e: ("<" + .x + ">")}', '.a["b c"]', 'null + .n', '"\\"\\\\\\n" + .x', "[[.t.y]]",
            "(.f // .n)", "{}", ".a[", '.a["b"', ".a?//.b", "-1"]
CONFIGS = [{}, {"environment": "test", "redis": {"url": "redis://u@h:1/2", "prefix": "a"}, "partition": 1, "partitions": 2},
           {"redis": {"url": "unix:///tmp/x?db=3"}}, {"redis": {"url": "rediss://h,h2:2/1"}}, {"redis": {"url": "redis+sentinel://h,h2:2/main/1"}},
           {"fetch": {"allow": "media 10.0.0.0/8 ::1"}}, {"worker": {"slots": 4, "max_in_flight_per_channel": 2, "name": "w"}, "log": {"level": "debug"}},
           {"channels": {"mastodon/brand": {"platform": "mastodon", "settings": {"instance": "https://m.example"}, "credential": {"env": "X"}}}}]
FROZEN = [{"v": 1, "method": "POST", "url": ["https://m.example/api/", {"hole": "secret", "as": "percent"}, "/x"],
           "headers": [["Authorization", ["Bearer ", {"hole": "secret"}]], ["Content-Type", ["application/json"]]],
           "body": ["{\"a\":\"", {"as": "json", "hole": "session.token"}, "\"}"]}, {"v": 1, "method": "GET", "url": ["http://h/"], "headers": []}]
ROW = {"state": "uncertain", "reason": "no_answer", "since": "1790000000000", "rev": "7", "content": "0" * 32, "approved_at": "1790000000000", "gen": "0",
       "attempt": "2", "tries": "2", "token": "0123456789abcdef", "worker": "w-1", "claimed_at": "1790000000000", "first_send": "1790000000000",
       "commit_by": "1790000090000", "key": "lf-it-1-0123456789abcdef", "body_hash": "1" * 32, "in_doubt": "1:9f2c01d4 2:77e0a1b2", "misses": "1",
       "missed_at": "1790000100000", "journal": "1790000000000-0", "ext_id": "117", "url": "https://m.example/@lf/117", "status": "200"}
REPORT = {"v": 1, "kept_at": 1790000000000, "delivery": "a/b/c", "attempt": 1, "token": "0123456789abcdef", "event": "committed", "reason": "none",
          "ext_id": "117", "url": "https://x/1", "status": 200, "detail": "d", "content": "0" * 32, "key": "k", "body_hash": "1" * 32,
          "approved_at": 1790000000000, "item": "{\"id\":\"c\"}", "frozen": "{}"}


def reply(value):
    """A reply of Redis as kit.c reads it."""
    if value is None:
        return b"_"
    if isinstance(value, (list, tuple)):
        return b"*" + bytes([len(value)]) + b"".join(map(reply, value))
    if isinstance(value, int):
        return b":%d\n" % value
    return b"$" + value.encode() + b"\n"


def flat(members):
    return [word for pair in members.items() for word in pair]


def answer(described):
    body = described["text"] if "text" in described else json.dumps(described.get("body"), separators=(",", ":"))
    head = "".join(f"{name}: {value}\n" for name, value in described.get("headers", {}).items())
    return f"HTTP/1.1 {described['status']} X\n{head}\n{body}"


def fixtures(platform, name):
    path = os.path.join(DESCRIPTORS, "fixtures", platform, name + ".json")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def of_platform(platform):
    """(fuzzer, input) of one platform's fixtures."""
    for one in fixtures(platform, "accept"):
        yield "verdict", f"{platform}\n{answer(one['answer'])}"
    pages = [answer(one["answer"]) for one in fixtures(platform, "reads") if "answer" in one]
    for page in pages:
        yield "search", f"{platform}\n{page}"
    if pages:
        yield "search", f"{platform}\n" + NEXT_ANSWER.join(pages)
    for walk in fixtures(platform, "walks"):
        yield "search", f"{platform}\n" + NEXT_ANSWER.join(answer(page["answer"]) for page in walk["pages"])
    for one in fixtures(platform, "requests"):
        if "item" in one:
            yield "item", f"{platform}\n{json.dumps(one['item'], ensure_ascii=False)}"


def everything():
    for path in sorted(glob.glob(os.path.join(DESCRIPTORS, "*.json"))):
        with open(path, encoding="utf-8") as stream:
            yield "descriptor", stream.read()
        yield from of_platform(os.path.basename(path)[:-len(".json")])
    yield from (("limits", text) for text in LIMITS)
    yield from (("html", text) for text in HTML)
    yield from (("canonical", text) for text in JSONS)
    yield from (("pick", program) for program in PROGRAMS)
    yield from (("config", json.dumps(config)) for config in CONFIGS)
    yield from (("frozen", json.dumps(frozen, sort_keys=True, separators=(",", ":"))) for frozen in FROZEN)
    yield "item", 'mastodon\n{"id":"it-1","title":"T","url":"https://b.example/1","landfall":{"after":"it-0","not_before":"2026-09-01T09:00:00+02:00",' \
                  '"channels":{"mastodon/brand":{"text":"x","visibility":"unlisted","url":null}}},"attachments":[{"url":"https://b.example/c.png","mime_type":"image/png"}]}'
    for line in (REPORT, {"v": 1, "done": "a/b/c", "attempt": 1, "token": "0123456789abcdef"},
                 {"v": 1, "spool": {"environment": "test", "prefix": "lf", "partition": 0, "worker": "w"}}):
        yield "spool", json.dumps(line)
    entry = ["1790000000000-0", ["channel", "mastodon/brand", "item", "{\"id\":\"it-1\"}"]]
    yield "entry", b"\x00" + reply([["lf:{0}:queue", [entry, ["1790000000001-0", None]]]])
    yield "entry", b"\x01" + reply(["0-0", [entry], ["1-1"]])
    row = flat(ROW)
    for which, answers in ((0, [["ok", "8"], ["stale", *row], ["foreign", "a/b/d"], ["early", "1790000000000"], ["no_content"], ["error", "words"]]),
                           (1, [["granted", "3", "1790000000000", "1790000000000", "1:9f2c01d4", "8", "3", "k", "0" * 32, "{}", "{}", "117", "https://x"],
                                ["already", "published", "1"], ["conflict", "held", "1", "0" * 32], ["busy", "w 1 t", "2"], ["wait", "paced", "3"],
                                ["uncertain", "window_closed"], ["held", "expired"], ["rerender", "1", "2", "117", "u"], ["late"], ["environment", "x"]]),
                           (2, [["work", "delivery:a/b/c", "content", "{}", *row], ["moved", "5"], ["uncertain"], ["removed"], ["held", "poison"]]),
                           (3, [["new", "1-1"], ["same", "published", "1"], ["full", "9"], ["ok", "1", "2", "3"], ["lost", "w 1 t"], ["busy", "r-1"]]),
                           (4, [row, [*row, ["ext_id", "x" * 80, "url", "https://x"]]])):
        for one in answers:
            yield "reply", bytes([which]) + reply(one)


def write(folder):
    for number, (name, data) in enumerate(everything()):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        with open(os.path.join(folder, name, f"seed-{number}"), "wb") as out:
            out.write(data if isinstance(data, bytes) else data.encode())


if __name__ == "__main__":
    write(sys.argv[1])
