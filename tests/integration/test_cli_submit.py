# SPDX-License-Identifier: MIT
"""landfall submit on a real Redis: what is taken, what is refused and where; nothing is lost or written twice."""
import contextlib
import json
import os
import select
import socket
import subprocess
import threading

import pytest

from lib.cli import Cli
from lib.procs import wait_for
from lib.tree import program


@pytest.fixture
def cli(tmp_path):
    with Cli(tmp_path) as one:
        yield one


def lines(*items):
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def item(number, text=None):
    return {"id": f"a{number}", "content_text": text or f"text {number}"}


def counts(document):
    return [document[name] for name in ("items", "unreadable", "new", "same", "conflicting", "refused")]


def test_new_then_same(cli):
    text = lines(*(item(i) for i in range(3)))
    assert counts(cli.json("submit", "-", "--to", "blog/brand", "news/brand", stdin=text)) == [3, 0, 6, 0, 0, 0]
    assert cli.client.xlen(cli.key("queue")) == 6
    assert cli.client.hget(cli.key("delivery", "blog/brand/a1"), "state") == "approved"
    before = cli.dump()
    assert counts(cli.json("submit", "-", "--to", "blog/brand", "news/brand", stdin=text)) == [3, 0, 0, 6, 0, 0]
    assert cli.dump() == before


@pytest.mark.parametrize("form", ["lines", "array", "feed"])
def test_forms(cli, form):
    items = [item(i) for i in range(5)]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "x", "items": items, "more": [1]}
    text = {"lines": lines(*items), "array": json.dumps(items, indent=2), "feed": json.dumps(feed, indent=1)}
    cli.write("in.json", text[form])
    assert counts(cli.json("submit", "in.json", "--to", "blog/brand")) == [5, 0, 5, 0, 0, 0]


def test_bad_lines_are_named_and_the_rest_is_taken(cli):
    text = (lines(item(1)) + b"nonsense\n" + lines({"id": "a2", "content_text": "x" * 21}) + b'{"id": "cut\n'
            + lines({"content_text": "no id"}) + b'{"id": "a\xff", "content_text": "x"}\n'
            + b'{"id": "n", "content_text": "\0"}\n' + lines({"id": "odd", "content_text": "x", "titel": "y"}, item(3)))
    cli.write("in.ndjson", text)
    document = cli.json("submit", "in.ndjson", "--to", "blog/brand", code=1)
    assert counts(document) == [5, 4, 2, 0, 0, 3]
    problems = {problem["line"]: problem for problem in document["problems"]}
    assert sorted(problems) == [2, 3, 4, 5, 6, 7, 8]
    assert problems[3]["delivery"] == "blog/brand/a2" and "21 graphemes, the channel takes 20" in problems[3]["text"]
    assert problems[2]["kind"] == "not taken" and problems[8]["kind"] == "refused" and "titel" in problems[8]["text"]
    again = cli.run("submit", "in.ndjson", "--to", "blog/brand")
    assert again.code == 1
    assert "in.ndjson:4: not taken" in again.err and "in.ndjson:3: blog/brand/a2: refused" in again.err
    assert "5 items: 0 new, 2 same, 0 conflicting, 3 refused" in again.out and "4 could not be read" in again.out


def test_conflict_changes_nothing(cli):
    cli.json("submit", "-", "--to", "blog/brand", stdin=lines(item(1)))
    before = cli.dump()
    done = cli.run("submit", "-", "--to", "blog/brand", "--verbose", stdin=lines(item(1, "other")))
    assert done.code == 1 and "conflict  blog/brand/a1" in done.out
    assert "standard input:1: blog/brand/a1: conflict" in done.err and "needs another id" in done.err
    assert cli.dump() == before


def test_a_conflict_inside_one_input(cli):
    document = cli.json("submit", "-", "--to", "blog/brand", code=1, stdin=lines(item(1), item(1), item(1, "other")))
    assert counts(document) == [3, 0, 1, 1, 1, 0]


def test_dry_run_writes_nothing(cli):
    cli.json("submit", "-", "--to", "blog/brand", stdin=lines(item(1), item(2)))
    before = cli.dump()
    text = lines(item(1), item(2, "other"), item(3), item(3), item(3, "another"), item(4, "x" * 30))
    with cli.client.monitor() as monitor:
        document = cli.json("submit", "-", "--to", "blog/brand", "--dry-run", code=1, stdin=text)
        cli.client.echo("the end")
        seen = []
        for command in monitor.listen():
            if command["command"] == "ECHO the end":
                break
            seen.append(command["command"].split()[0].upper())
    assert document["dry_run"] and counts(document) == [6, 0, 1, 2, 2, 1]
    assert cli.dump() == before
    assert "HGETALL" in seen
    assert not {"EVALSHA", "EVAL", "XADD", "HSET", "SET", "ZADD", "FCALL"} & set(seen)


def script_calls(cli):
    stats = cli.client.info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("eval", "evalsha"))


def test_ten_thousand(cli):
    text = lines(*(item(i) for i in range(10000)))
    before = script_calls(cli)
    document = cli.json("submit", "-", "--to", "blog/brand", stdin=text)
    assert counts(document) == [10000, 0, 10000, 0, 0, 0]
    assert cli.client.xlen(cli.key("queue")) == 10000
    assert cli.client.hget(cli.key("counts"), "blog/brand approved") == "10000"
    assert script_calls(cli) - before <= 10000 / 64 + 5
    assert counts(cli.json("submit", "-", "--to", "blog/brand", stdin=text)) == [10000, 0, 0, 10000, 0, 0]


def test_a_slow_writer_is_not_waited_for(cli):
    with subprocess.Popen([program("landfall"), "submit", "-", "--to", "blog/brand"], cwd=cli.folder, env=cli.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(lines(item(1)))
        process.stdin.flush()
        wait_for(lambda: cli.client.exists(cli.key("delivery", "blog/brand/a1")), 10, "the first item is in Redis")
        out, _ = process.communicate(lines(item(2)))
    assert process.returncode == 0 and b"2 items: 2 new" in out


def test_a_redis_that_dies_between_two_items_is_found_again(cli):
    """A write into its closed socket ends nobody: without a word, somebody would have to guess what was taken."""
    cli.config(redis={"url": f"unix://{cli.redis.socket_path}"})
    with subprocess.Popen([program("landfall"), "submit", "-", "--to", "blog/brand"], cwd=cli.folder, env=cli.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(lines(item(1)))
        process.stdin.flush()
        wait_for(lambda: cli.client.exists(cli.key("delivery", "blog/brand/a1")), 10, "the first item is in Redis")
        cli.redis.kill()
        cli.redis.start()
        out, _ = process.communicate(lines(item(2)), timeout=60)
    assert process.returncode == 0 and b"2 items: 2 new" in out


def test_a_redis_that_stays_away_is_named(cli):
    cli.config(redis={"url": cli.redis.url, "round_limit_ms": 3000})
    with subprocess.Popen([program("landfall"), "submit", "-", "--to", "blog/brand"], cwd=cli.folder, env=cli.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(lines(item(1)))
        process.stdin.flush()
        wait_for(lambda: cli.client.exists(cli.key("delivery", "blog/brand/a1")), 10, "the first item is in Redis")
        cli.redis.kill()
        _, err = process.communicate(lines(item(2)), timeout=60)
        assert process.returncode == 2 and b"landfall submit: redis: cannot connect" in err, err


def test_a_reader_who_has_seen_enough_is_told_as_such(cli):
    for number in range(2000):
        cli.row(f"blog/brand/{number}", state="held", reason="approval", since=1)
    with subprocess.Popen([program("landfall"), "export"], cwd=cli.folder, env=cli.env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait(30) == 1 and b"standard output: Broken pipe" in process.stderr.read()


def test_text_schedule_and_hold(cli):
    now = cli.now_ms()
    cli.json("submit", "--text", "Hello", "--id", "hello", "--to", "blog/brand", "--at", "2h",
             "--not-after", "2099-01-01T00:00:00Z")
    row = cli.client.hgetall(cli.key("delivery", "blog/brand/hello"))
    assert row["reason"] == "scheduled" and 0 <= int(row["not_before"]) - now - 7200000 < 10000
    assert int(row["not_after"]) == 4070908800000
    cli.json("submit", "--text", "Hold me", "--id", "held", "--to", "blog/brand", "--hold")
    assert cli.client.hget(cli.key("delivery", "blog/brand/held"), "state") == "held"
    assert counts(cli.json("submit", "--text", "Again", "--to", "blog/brand"))[2:4] == [1, 0]
    assert counts(cli.json("submit", "--text", "Again", "--to", "blog/brand"))[2:4] == [0, 1]
    never = cli.run("submit", "--text", "Never", "--to", "blog/brand", "--at", "2h", "--not-after", "1h")
    assert never.code == 1 and "could never be sent" in never.err


def test_backfill_drops_the_date(cli):
    old = {"id": "old", "content_text": "x", "date_published": "2001-01-01T00:00:00Z"}
    cli.json("submit", "-", "--to", "blog/brand", stdin=lines(old))
    assert cli.client.hget(cli.key("delivery", "blog/brand/old"), "dated") == "978307200000"
    cli.json("submit", "-", "--to", "news/brand", "--backfill", stdin=lines(old))
    assert cli.client.hget(cli.key("delivery", "news/brand/old"), "dated") is None


def test_a_date_before_1970_is_a_date(cli):
    """0 and below are none in the ledger, and would lift the channel's max_age_ms."""
    old = {"id": "old", "content_text": "x", "date_published": "1965-03-01T00:00:00Z", "landfall": {"not_after": "1966-03-01T00:00:00Z"}}
    cli.json("submit", "-", "--to", "blog/brand", stdin=lines(old))
    assert cli.client.hmget(cli.key("delivery", "blog/brand/old"), "dated", "not_after") == ["1", "1"]


def test_map(cli):
    posts = {"posts": [{"n": 1, "t": "one"}, {"n": 2, "t": "two"}]}
    document = cli.json("submit", "-", "--to", "blog/brand", "--map", '[.posts[] | {id: "p\\(.n)", content_text: .t}]',
                        stdin=json.dumps(posts, indent=2).encode())
    assert counts(document) == [2, 0, 2, 0, 0, 0]
    kept = cli.client.hget(cli.key("request", "blog/brand/p2"), "content")
    assert json.loads(kept) == {"id": "p2", "content_text": "two"}
    bad = cli.run("submit", "-", "--to", "blog/brand", "--map", ".posts |", stdin=b"{}")
    assert bad.code == 1 and "--map" in bad.err


def test_notes(cli):
    document = cli.json("submit", "-", "--to", "blog/brand", "other/one", stdin=lines(item(1, "x" * 50)), code=1)
    assert counts(document) == [1, 0, 1, 0, 0, 1]
    assert any("other/one is not among the channels of ./landfall.json" in note for note in document["notes"])
    assert any("no worker" in note and "landfall-worker --config ./landfall.json" in note for note in document["notes"])
    cli.client.set(cli.key("worker", "w1"), "role=worker pid=1", px=30000)
    cli.row("blog/brand/u", state="uncertain", reason="no_answer", since=cli.now_ms())
    notes = cli.json("submit", "-", "--to", "blog/brand", stdin=lines(item(2)))["notes"]
    assert len(notes) == 1 and "landfall-reconciler run" in notes[0]
    cli.client.set(cli.key("worker", "r1"), "role=reconciler pid=2", px=30000)
    assert cli.json("submit", "-", "--to", "blog/brand", stdin=lines(item(2)))["notes"] == []


def test_no_credential_is_needed(cli):
    """Who brings items holds no secret: the environment has none, and a credential's file cannot be read."""
    cli.config(channels={"blog/brand": {"platform": "blog", "settings": {"origin": "https://blog.example"},
                                        "credential": {"file": "no-such-file"}}})
    document = cli.json("submit", "-", "--to", "blog/brand", code=1, stdin=lines(item(1), item(2, "x" * 30)))
    assert counts(document) == [2, 0, 1, 0, 0, 1]  # and the limits are checked all the same
    cli.config(channels={"blog/brand": {"platform": "blog", "settings": {"origin": "https://blog.example"}}})
    assert "credential" in cli.run("config").err  # it must still be named


def test_usage(cli):
    for words, says in [
        ([], "--to"), (["x.ndjson"], "--to"), (["--to", "blog/brand"], "standard input"),
        (["-", "--text", "x", "--to", "blog/brand"], "one of them"), (["-", "--id", "x", "--to", "blog/brand"], "--id"),
        (["--text", "", "--to", "blog/brand"], "empty"), (["missing.json", "--to", "blog/brand"], "missing.json"),
    ]:
        done = cli.run("submit", *words)
        assert done.code == 1 and says in done.err, (words, done)


def test_partition(cli):
    done = [cli.run("submit", "--text", "x", "--to", "blog/brand",
                    env={"LANDFALL_PARTITIONS": "2", "LANDFALL_PARTITION": partition}) for partition in "01"]
    assert sorted(one.code for one in done) == [0, 1]
    assert "lives in partition" in done[0].err + done[1].err


def test_environment(cli):
    cli.client.hset(cli.key("epoch"), "environment", "production")
    done = cli.run("submit", "--text", "x", "--to", "blog/brand")
    assert done.code == 1 and "environment production" in done.err
    assert not cli.client.exists(cli.key("queue"))


def test_redis_away(cli):
    cli.redis.stop()
    done = cli.run("submit", "--text", "x", "--to", "blog/brand", timeout_s=10)
    assert done.code == 2 and "redis.url" in done.err
    assert cli.json("status", code=2)["exit"] == 2


def test_redis_goes_and_comes_back(cli):
    """The connection is cut in the middle; what was asked is asked again and nothing is made twice."""
    with subprocess.Popen([program("landfall"), "submit", "-", "--to", "blog/brand"], cwd=cli.folder, env=cli.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(lines(*(item(i) for i in range(100))))
        process.stdin.flush()
        wait_for(lambda: cli.client.xlen(cli.key("queue")) == 100, 10, "the first hundred")
        cli.client.client_kill_filter(_type="normal", skipme=True)
        out, _ = process.communicate(lines(*(item(i) for i in range(100, 200))))
    assert process.returncode == 0 and b"200 items: 200 new" in out
    assert cli.client.xlen(cli.key("queue")) == 200


def test_redis_goes_for_good(cli):
    """What was answered is told as taken, the rest as not known; the same again later completes it."""
    env = {**cli.env, "LANDFALL_REDIS_ROUND_LIMIT_MS": "3000"}
    with subprocess.Popen([program("landfall"), "submit", "-", "--to", "blog/brand", "--json"], cwd=cli.folder, env=env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(lines(*(item(i) for i in range(10))))
        process.stdin.flush()
        wait_for(lambda: cli.client.xlen(cli.key("queue")) == 10, 10, "the first ten")
        cli.redis.pause()
        out, _ = process.communicate(lines(*(item(i) for i in range(10, 20))), timeout=60)
    cli.redis.resume()
    document = json.loads(out)
    assert process.returncode == 2 and document["new"] == 10 and document["not_known"] == 10
    again = cli.json("submit", "-", "--to", "blog/brand", stdin=lines(*(item(i) for i in range(20))))
    assert again["new"] + again["same"] == 20 and cli.client.xlen(cli.key("queue")) == 20


class LosesTheFirstAnswer(threading.Thread):
    """Stands before Redis: the first script runs there, and its answer is thrown away together with the connection."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.server.getsockname()[1]}"
        self.redis_port = port
        self.lost = False

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                with client, socket.create_connection(("127.0.0.1", self.redis_port)) as redis:
                    self.carry(client, redis)

    def carry(self, client, redis):
        asked = b""
        while True:
            for ready in select.select([client, redis], [], [])[0]:
                data = ready.recv(1 << 20)
                if not data:
                    return
                if ready is client:
                    asked += data
                    redis.sendall(data)
                elif b"EVAL" in asked.upper() and not data.startswith(b"-NOSCRIPT") and not self.lost:
                    self.lost = True
                    return
                else:
                    asked = b""
                    client.sendall(data)


def test_an_answer_is_lost(cli):
    proxy = LosesTheFirstAnswer(cli.redis.port)
    proxy.start()
    document = cli.json("submit", "-", "--to", "blog/brand", stdin=lines(*(item(i) for i in range(100))),
                        env={"LANDFALL_REDIS_URL": proxy.url})
    proxy.server.close()
    assert proxy.lost and counts(document) == [100, 0, 36, 64, 0, 0]  # what had been done is there already
    assert cli.client.xlen(cli.key("queue")) == 100


def test_output_is_safe(cli):
    text = lines(item(1)) + b'{"id": "x", "content_text": "y", "\\u001b[2J": 1}\n'
    done = cli.run("submit", "-", "--to", "blog/brand", "--verbose", stdin=text)
    assert "\x1b" not in done.out + done.err
    done = cli.run("submit", os.path.join(cli.folder, "\x1b[2J"), "--to", "blog/brand")
    assert done.code == 1 and "[2J" in done.err and "\x1b" not in done.err
