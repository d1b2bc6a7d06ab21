# SPDX-License-Identifier: MIT
"""What somebody's hand, a producer or a missing right does to a ledger, as landfall doctor tells it."""
import json

import pytest

from doctor_kit import D, cli, doctor, place, severity, waiting  # cli: the fixture


@pytest.mark.parametrize("kind, suffix", [("counts", ""), ("agenda", ""), ("channel", "blog/brand"), ("waiting", "blog/brand")])
def test_a_key_of_another_type_is_named(cli, kind, suffix):
    """Of a ledger that cannot be read nothing is concluded, but which key somebody has to look at is."""
    place(cli, D, state="published")
    key = cli.key(kind, suffix)
    cli.client.sadd(cli.key("channels"), "blog/brand")
    cli.client.delete(key)
    cli.client.set(key, "x")
    done = cli.run("doctor", "--json")
    document = json.loads(done.out)
    assert done.code == 2 and key in document["redis"] and "another type" in document["redis"], document["redis"]


def test_a_default_user_without_rights_makes_redis_forget_at_its_next_start(cli):
    cli.client.execute_command("ACL", "SETUSER", "worker", "on", "nopass", "~lf:*", "+@all")
    cli.config(redis={"url": cli.redis.url.replace("//", "//worker@")})
    def reload():
        return doctor(cli, env={"LANDFALL_REDIS_PASSWORD": "any"})[0]["reload"]
    cli.client.config_set("appendonly", "no")
    assert reload()["severity"] == "ok" and "no append-only file" in reload()["what"]
    cli.client.config_set("appendonly", "yes")
    assert reload()["severity"] == "ok"
    cli.client.execute_command("ACL", "SETUSER", "default", "-hset", "-@sortedset")
    found = reload()
    assert found["severity"] == "unsafe" and found["what"].endswith("HSET ZADD"), found


def test_a_missing_right_that_stops_the_look_itself_is_said(cli):
    cli.client.execute_command("ACL", "SETUSER", "blind", "on", "nopass", "~lf:*", "+@all", "-zscore")
    place(cli, D, state="published")
    cli.config(redis={"url": cli.redis.url.replace("//", "//blind@")})
    document = cli.json("doctor", code=2, env={"LANDFALL_REDIS_PASSWORD": "any"})
    found = {finding["check"]: finding for finding in document["findings"]}
    assert found["rights"]["severity"] == "unsafe" and "ZSCORE" in found["rights"]["what"]
    assert "NOPERM" in document["redis"] and "places" not in found and "credentials" in found


@pytest.mark.parametrize("field, value, expected", [
    ("next_at", "soon", "risk"), ("blocked_until", "", "risk"), ("ramp", "1.5", "risk"), ("turn_at", "9" * 16, "risk"),
    ("turn_at", "9" * 15, "ok"), ("next_at", "-5", "ok"), ("blocked_why", "soon", "ok")])
def test_a_channel_whose_facts_are_no_numbers(cli, field, value, expected):
    place(cli, D, state="published")
    cli.client.hset(cli.key("channel", "blog/brand"), mapping={"next_at": cli.now_ms(), field: value})
    finding = doctor(cli, "--repair")[0]["channels"]
    assert finding["severity"] == expected and ("blog/brand" in finding["what"]) == (expected == "risk"), finding
    assert cli.client.hget(cli.key("channel", "blog/brand"), field) == value


def test_deliveries_that_wait_for_each_other(cli):
    for name, after in (("a", "b"), ("b", "c"), ("c", "a"), ("tail", "a")):
        waiting(cli, name, after, age_s=1)
    finding = doctor(cli)[0]["chains"]
    assert finding["severity"] == "risk" and "circle" in finding["what"]
    assert [f"blog/brand/{one} waits for blog/brand/{other}" in finding["what"] for one, other in ("ab", "bc", "ca")] == [True] * 3
    assert "tail" not in finding["what"], "it goes on as soon as the circle is broken"
    cli.run("cancel", "blog/brand/c", "--why", "a circle")
    assert severity(cli, "chains") == "ok"


def test_an_item_that_comes_after_itself_is_refused(cli):
    item = b'{"id": "a", "content_text": "x", "landfall": {"after": "a"}}'
    done = cli.run("submit", "-", "--to", "blog/brand", stdin=item)
    assert done.code == 1 and "landfall.after names the item itself" in done.err and not cli.client.exists(cli.key("delivery", "blog/brand/a"))


def read_queue(cli, count, settle=True):
    """As a worker reads, and as claims take the entries away."""
    for _, entries in cli.client.xreadgroup("workers", "w-1", {cli.key("queue"): ">"}, count=count):
        for entry, _ in entries if settle else ():
            cli.client.xack(cli.key("queue"), "workers", entry)
            cli.client.xdel(cli.key("queue"), entry)


def test_entries_that_were_trimmed_before_they_were_read(cli):
    queue = cli.key("queue")
    cli.client.xgroup_create(queue, "workers", "0", mkstream=True)
    for _ in range(10):
        cli.client.xadd(queue, {"channel": "blog/brand", "item": "{}"})
    read_queue(cli, 3)
    read_queue(cli, 1, settle=False)
    assert severity(cli, "queue") == "ok"
    cli.client.xtrim(queue, maxlen=2, approximate=False)
    finding = doctor(cli, "--repair")[0]["queue"]
    assert finding["severity"] == "risk" and finding["what"].startswith("4 entries left the queue")
    read_queue(cli, 10)
    assert doctor(cli)[0]["queue"]["what"].startswith("4 entries left the queue"), "also when the rest was read"
    cli.client.execute_command("XGROUP", "SETID", queue, "workers", "$", "ENTRIESREAD", cli.client.xinfo_stream(queue)["entries-added"])
    assert severity(cli, "queue") == "ok"
    cli.client.xadd(queue, {"channel": "blog/brand", "item": "{}"})
    cli.client.xgroup_destroy(queue, "workers")
    cli.client.xgroup_create(queue, "workers", "0")
    read_queue(cli, 10)
    assert severity(cli, "queue") == "ok", "a group that was lost and made again is no loss of entries"
