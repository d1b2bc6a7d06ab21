# SPDX-License-Identifier: MIT
"""What platforms say and what stands in Redis reaches no terminal as it is, and JSON stays JSON whatever it holds."""
import json
import os
import subprocess

import pytest

from lib.fleet import CHANNELS, Fleet
from lib.terminal import open_terminal
from lib.tree import program

CHANNEL = CHANNELS["mastodon"]
# Clear the screen, set the title, CSI as one byte's character, a right-to-left override, a bell, bytes that are not UTF-8.
HOSTILE = b"a\x1b[2J\x1b]0;owned\x07 \xc2\x9b31m \xe2\x80\xae \x08\r\n\xff\xfe\x00b"
NAMES = [f"{CHANNEL}/it-1", f"{CHANNEL}/it-2", f"{CHANNEL}/it-3"]
VERBS = [["status"], *(["show", name] for name in NAMES), ["report"], ["report", "--format", "github"], ["leases"], ["journal"],
         ["export"], ["audit", "-", "--to", CHANNEL], ["spool"], ["doctor"], ["drain", "--dry-run"], ["drain"], ["config"], ["archive", "kept.ndjson", "--older-than", "1s", "--why", "x", "--no-guard", "--dry-run"],
         ["retry", NAMES[1], "--why", "x"], ["cancel", NAMES[2], "--why", "x"]]


@pytest.fixture
def fleet():
    """Rows, requests, streams, and keys that somebody filled who may write to this Redis."""
    with Fleet(["mastodon"]) as one:
        one.add(CHANNEL, one.item("it-1"))
        assert one.run_worker() == 0
        spoil(one)
        yield one


def spoil(fleet):
    db = fleet.redis.client(decode_responses=False)
    published = db.hgetall(f"lf:{{0}}:delivery:{NAMES[0]}")
    assert published[b"state"] == b"published"
    for name in NAMES:
        row, request = f"lf:{{0}}:delivery:{name}", f"lf:{{0}}:request:{name}"
        db.hset(row, mapping={**published, b"ext_id": HOSTILE, b"url": b"https://x/" + HOSTILE, b"worker": HOSTILE, b"key": HOSTILE,
                              b"duplicate": HOSTILE, b"status": b"200"})
        db.hset(request, mapping={b"detail": HOSTILE, b"frozen": HOSTILE, b"content": HOSTILE, b"url": HOSTILE, b"ext_id": HOSTILE})
        db.set(f"lf:{{0}}:lease:{name}", HOSTILE, px=600000)
    db.hset(f"lf:{{0}}:delivery:{NAMES[1]}", mapping={b"state": b"held", b"reason": HOSTILE})
    db.hset(f"lf:{{0}}:delivery:{NAMES[2]}", mapping={b"state": b"uncertain", b"reason": b"no_answer", b"attempt": b"1"})
    db.zadd(f"lf:{{0}}:uncertain:{CHANNEL}", {NAMES[2]: 1, CHANNEL.encode() + b"/" + HOSTILE: 2})
    db.zadd(b"lf:{0}:agenda", {b"delivery:" + CHANNEL.encode() + b"/" + HOSTILE: 1, HOSTILE: 2})
    db.hset(f"lf:{{0}}:channel:{CHANNEL}", mapping={b"paused": HOSTILE, b"paused_at": b"1", b"blocked_why": HOSTILE})
    db.sadd("lf:{0}:channels", b"evil/" + HOSTILE)
    db.hset("lf:{0}:counts", mapping={b"evil/" + HOSTILE + b" uncertain": b"1"})
    for stream in ("journal", "outcomes", "refused", "audit"):
        db.xadd(f"lf:{{0}}:{stream}", {field: HOSTILE for field in ("delivery", "attempt", "reason", "since", "state", "source", "ext_id", "url", "entry",
                                                                    "why", "first_kb", "act", "user", "host")})
    db.xadd("lf:{0}:outcomes", {b"delivery": NAMES[1].encode(), b"state": b"held", b"reason": HOSTILE, b"source": HOSTILE, b"ext_id": HOSTILE,
                                b"url": b"https://x/" + HOSTILE})
    db.set(b"lf:{0}:worker:" + HOSTILE, b"role=worker host=" + HOSTILE, px=600000)
    db.set("lf:{0}:worker:w-1", HOSTILE, px=600000)
    db.hset("lf:{0}:epoch", "rewound_at", HOSTILE)


def run(fleet, words, terminal):
    """(exit code, what was printed); to a terminal, as a person sees it, or into a pipe."""
    argv = [program("landfall"), *words, "--config", fleet.config_path]
    env = {"HOME": fleet.dir, "PATH": f"{os.path.dirname(argv[0])}:/usr/bin:/bin", "TERM": "xterm"}
    stdin = json.dumps(fleet.item("it-1")).encode()
    if not terminal:
        done = subprocess.run(argv, input=stdin, capture_output=True, timeout=60, cwd=fleet.dir, env=env)
        return done.returncode, done.stdout, done.stdout + done.stderr
    ours, theirs = open_terminal()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, cwd=fleet.dir, env=env) as child:
        os.close(theirs)
        try:
            child.stdin.write(stdin)
            child.stdin.close()
        except BrokenPipeError:
            pass
        seen = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:
                break
            if not more:
                break
            seen += more
        os.close(ours)
        code = child.wait(60)
    # What the command itself draws: the line of a progress bar, and line ends as terminals have them.
    return code, seen, seen.replace(b"\r\x1b[K", b"").replace(b"\r\n", b"\n")


def test_no_control_character_reaches_a_terminal(fleet):
    hostile_seen = 0
    for words in VERBS:
        code, _, seen = run(fleet, words, terminal=True)
        assert 0 <= code <= 5, (words, code, seen)
        text = seen.decode("utf-8")  # nothing else is printed
        bad = [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c in "\u202e\ufeff"]
        assert bad == [], (words, text)
        hostile_seen += "owned" in text
    assert hostile_seen >= 5  # the texts were there to be printed


def test_json_is_json(fleet):
    hostile_seen = 0
    for words in VERBS:
        if "github" in words:
            continue
        code, out, _ = run(fleet, [*words, "--json"], terminal=False)
        assert 0 <= code <= 5, (words, code, out)
        assert out.isascii() and out.strip(), words
        for line in out.splitlines() if words[0] == "drain" else [out]:
            json.loads(line)
        hostile_seen += b"owned" in out
    assert hostile_seen >= 5
