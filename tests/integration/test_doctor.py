# SPDX-License-Identifier: MIT
"""Each finding of landfall doctor, made true and made false; what --repair does, and what it leaves alone."""
import binascii
import fcntl
import json
import os
import socket

import pytest
import redis

from doctor_kit import D, SEEN, cli, doctor, place, severity, waiting  # cli: the fixture
from lib.cli import BLOG
from lib.procs import wait_for
from lib.redis_server import RedisServer
from lib.tree import TOP

# A server of this machine cannot be made to have them wrong: tests/unit/cli/test_checks.c does, and to have them right.
UNIT = {"version", "role", "clock"}


# ---- the whole

def test_a_sound_fleet_ends_with_0(cli):
    place(cli, D, state="published")
    found, document = doctor(cli)
    assert {finding["severity"] for finding in found.values()} <= {"ok", "note"}
    assert document["looked_at"]["rows"] == 1 and document["looked_at"]["complete"]
    assert document["repaired"] is None and document["redis"] is None
    text = cli.run("doctor")
    assert text.code == 0 and "environment = \"test\"  (file)" in text.out and "what to do:" in text.out


def test_without_redis_the_rest_is_said_and_it_ends_with_2(cli):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        cli.config(redis={"url": f"redis://127.0.0.1:{free.getsockname()[1]}"})
    document = cli.json("doctor", code=2)
    assert "Redis (redis.url" in document["redis"]
    assert {finding["check"] for finding in document["findings"]} == {"partitions", "proxies", "descriptors", "credentials",
                                                                     "spool"}
    assert "nothing was repaired" in cli.run("doctor", "--repair").out


def test_looking_writes_nothing(cli):
    place(cli, D, state="published")
    place(cli, "blog/brand/two", state="approved")
    cli.client.zrem(cli.key("agenda"), "delivery:blog/brand/two")
    before = cli.dump()
    doctor(cli)
    assert cli.dump() == before


# ---- the server

@pytest.mark.parametrize("policy, expected", [("noeviction", "ok"), ("allkeys-lru", "unsafe"), ("volatile-ttl", "unsafe")])
def test_eviction(cli, policy, expected):
    cli.client.config_set("maxmemory-policy", policy)
    assert severity(cli, "eviction") == expected


def test_keys_that_were_evicted(cli):
    cli.client.config_set("maxmemory-policy", "allkeys-random")
    cli.client.set("other", "x" * 100000)
    cli.client.config_set("maxmemory", 1)
    with pytest.raises(redis.ResponseError):
        cli.client.set("more", "x" * 1000)
    cli.client.config_set("maxmemory", 0)
    cli.client.config_set("maxmemory-policy", "noeviction")
    assert severity(cli, "eviction") == "note"


def test_memory(cli):
    cli.client.setrange("filler", 50_000_000, "x")
    used = cli.client.info("memory")["used_memory"]
    for share, expected in [(0.2, "ok"), (0.82, "note"), (0.97, "risk")]:
        cli.client.config_set("maxmemory", int(used / share))
        assert severity(cli, "memory") == expected
    cli.client.config_set("maxmemory", 0)
    assert severity(cli, "memory") == "ok"


@pytest.mark.parametrize("settings, expected, words", [
    ({"appendonly": "yes", "appendfsync": "always"}, "ok", "always"),
    ({"appendonly": "yes", "appendfsync": "everysec"}, "note", "everysec"),
    ({"appendonly": "yes", "appendfsync": "no"}, "risk", "appendfsync no"),
    ({"appendonly": "no", "save": "3600 1"}, "risk", "save 3600 1"),
    ({"appendonly": "no", "save": ""}, "unsafe", "no snapshots"),
])
def test_persistence(cli, settings, expected, words):
    for name, value in settings.items():
        cli.client.config_set(name, value)
    finding = doctor(cli)[0]["persistence"]
    assert finding["severity"] == expected and words in finding["what"]


def test_a_snapshot_that_failed(cli):
    assert "failed" not in doctor(cli)[0]["persistence"]["what"]
    os.makedirs(os.path.join(cli.redis.dir, "dump.rdb", "in-the-way"))
    with pytest.raises(redis.ResponseError):
        cli.client.save()
    cli.client.bgsave()
    wait_for(lambda: cli.client.info("persistence")["rdb_last_bgsave_status"] == "err", 20, "the snapshot has failed")
    finding = doctor(cli)[0]["persistence"]
    assert finding["severity"] == "unsafe" and "snapshot failed" in finding["what"]


def test_replication(cli):
    assert severity(cli, "replication") == "note" and severity(cli, "copies") == "ok"
    cli.config(redis={"url": cli.redis.url, "wait_replicas": 1})
    assert severity(cli, "copies") == "risk"
    with RedisServer(replicaof=f"127.0.0.1 {cli.redis.port}") as replica:
        wait_for(lambda: cli.client.info("replication")["connected_slaves"] == 1, 20, "the replica is connected")
        assert severity(cli, "replication") == "risk" and severity(cli, "copies") == "ok"
        cli.client.config_set("min-replicas-to-write", 1)
        assert severity(cli, "replication") == "ok"
        cli.config(redis={"url": replica.url})
        document = cli.json("doctor", code=2)
        assert "no master" in document["redis"]


def test_rights(cli):
    def user(name, *rules, **redis):
        cli.client.execute_command("ACL", "SETUSER", name, "on", "nopass", *rules)
        cli.config(redis={"url": cli.redis.url.replace("//", f"//{name}@"), **redis})
        return doctor(cli, env={"LANDFALL_REDIS_PASSWORD": "any"})[0]
    assert user("all", "~lf:*", "+@all")["rights"]["severity"] == "ok"
    advised = user("advised", "~lf:*", "+@all", "-@dangerous", "+info", "+role", "+acl|dryrun")
    assert advised["rights"]["severity"] == "ok" and "not known" in advised["encoding"]["what"]
    found = user("less", "~lf:*", "+@all", "-zadd", "-xgroup")
    assert found["rights"]["severity"] == "unsafe" and "XGROUP" in found["rights"]["what"] and "ZADD" in found["rights"]["what"]
    found = user("keys", "~other:*", "%R~lf:*", "+@all")
    assert found["rights"]["severity"] == "unsafe" and "HSET" in found["rights"]["what"] and "HGET" not in found["rights"]["what"].split()
    # What workers ask for copies with counts where they are to ask.
    found = user("hasty", "~lf:*", "+@all", "-wait")
    assert found["rights"]["severity"] == found["copies"]["severity"] == "ok"
    found = user("hasty", wait_replicas=1)
    assert found["copies"]["severity"] == "risk" and "wants WAIT, which the user hasty may not use" in found["copies"]["what"], found["copies"]
    # As a managed service has it: no CONFIG, no ACL. What cannot be known is said, and nothing is concluded.
    found = user("managed", "~lf:*", "+@all", "-config", "-acl", "-@admin", "+info", "+role")
    assert found["rights"]["severity"] == "note" and "NOPERM" in found["rights"]["what"]
    assert found["persistence"]["severity"] == "note" and "not known" in found["persistence"]["what"]
    assert found["encoding"]["severity"] == "ok" and "not known" in found["encoding"]["what"]
    assert found["places"]["severity"] == "ok"


def test_encoding(cli):
    assert severity(cli, "encoding") == "ok"
    cli.client.config_set("hash-max-listpack-value", 32)
    assert severity(cli, "encoding") == "note"
    cli.client.config_set("hash-max-listpack-value", 64)
    cli.client.config_set("hash-max-listpack-entries", 8)
    assert severity(cli, "encoding") == "note"


# ---- environment and epoch

def test_environment(cli):
    cli.client.hset(cli.key("epoch"), "environment", "test")
    assert severity(cli, "environment") == "ok"
    cli.client.hset(cli.key("epoch"), "environment", "production")
    place(cli, D, state="approved")
    cli.client.zrem(cli.key("agenda"), f"delivery:{D}")
    before = cli.dump()
    found, document = doctor(cli, "--repair")
    assert found["environment"]["severity"] == "unsafe" and "production" in document["repaired"]["refused"]
    assert cli.dump() == before


@pytest.mark.parametrize("field, expected, words", [
    ("doubt_until", "note", "restarted or replaced"), ("no_absence_before", "note", "no absence counts before"),
    ("leap_until", "risk", "leapt"),
])
def test_epoch(cli, field, expected, words):
    now, run_id = cli.now_ms(), cli.client.info("server")["run_id"]
    cli.client.hset(cli.key("epoch"), mapping={"environment": "test", "run_id": run_id, field: now - 1})
    assert severity(cli, "epoch") == "ok"
    cli.client.hset(cli.key("epoch"), field, now + 60000)
    finding = doctor(cli)[0]["epoch"]
    assert finding["severity"] == expected and words in finding["what"]


def test_a_restart_that_nobody_has_noticed(cli):
    cli.client.hset(cli.key("epoch"), mapping={"environment": "test", "run_id": "0" * 40})
    assert severity(cli, "epoch") == "note"


# ---- the ledger

def test_group(cli):
    assert severity(cli, "group") == "ok"
    cli.client.xadd(cli.key("queue"), {"channel": "blog/brand", "item": "{}"})
    assert severity(cli, "group") == "risk"
    found, document = doctor(cli, "--repair")
    assert document["repaired"]["group"] and found["group"]["severity"] == "ok"
    assert cli.client.xinfo_groups(cli.key("queue"))[0]["last-delivered-id"] == "0-0"
    assert not doctor(cli, "--repair")[1]["repaired"]["group"]


def test_leases_without_an_end(cli):
    place(cli, D, state="claimed", claimed_at=cli.now_ms())
    cli.client.set(cli.key("lease", D), "w 1 token", px=60000)
    assert severity(cli, "leases") == "ok"
    cli.client.set(cli.key("lease", D), "w 1 token")
    finding = doctor(cli, "--repair")[0]["leases"]
    assert finding["severity"] == "risk" and D in finding["what"]
    assert cli.client.get(cli.key("lease", D)) == "w 1 token"


def test_claims_without_a_lease(cli):
    place(cli, D, state="claimed", claimed_at=cli.now_ms() - 30000)
    assert severity(cli, "claims") == "ok", "its lease may just have ended"
    cli.client.hset(cli.key("delivery", D), "claimed_at", cli.now_ms() - 90000)
    assert severity(cli, "claims") == "risk"
    cli.client.set(cli.key("lease", D), "w 1 token", px=60000)
    assert severity(cli, "claims") == "ok"


@pytest.mark.parametrize("state, where, member", [
    ("approved", "agenda", "delivery:" + D), ("claimed", "agenda", "delivery:" + D), ("uncertain", "uncertain:blog/brand", D)])
def test_rows_that_stand_nowhere(cli, state, where, member):
    place(cli, D, state=state, claimed_at=cli.now_ms(), in_doubt="1:abcdef01", since=cli.now_ms() - 5000)
    cli.client.set(cli.key("lease", D), "w 1 token", px=60000)
    assert severity(cli, "places") == "ok"
    assert cli.client.zrem(cli.key(where), member) == 1
    finding = doctor(cli)[0]["places"]
    assert finding["severity"] == "risk" and D in finding["what"]
    kept = [cli.client.hgetall(cli.key("delivery", D)), cli.client.get(cli.key("lease", D)), cli.client.hgetall(cli.key("counts")),
            cli.client.xrange(cli.key("journal"))]
    found, document = doctor(cli, "--repair")
    assert found["places"]["severity"] == "ok" and document["repaired"]["placed"] == 1
    assert cli.client.zscore(cli.key(where), member) <= cli.now_ms()
    assert kept == [cli.client.hgetall(cli.key("delivery", D)), cli.client.get(cli.key("lease", D)),
                    cli.client.hgetall(cli.key("counts")), cli.client.xrange(cli.key("journal"))]
    assert state != "uncertain" or cli.client.zscore(cli.key("agenda"), "walk:blog/brand")


def test_settled_rows_need_no_place(cli):
    for state in ("published", "rejected", "held"):
        place(cli, f"blog/brand/{state}", state=state)
    assert severity(cli, "places") == "ok" and doctor(cli, "--repair")[1]["repaired"]["placed"] == 0


def test_rows_that_wait_have_a_place(cli):
    cli.row(D, state="approved", reason="paced", since=cli.now_ms())
    cli.client.zadd(cli.key("waiting", "blog/brand"), {D: 1})
    cli.client.zadd(cli.key("agenda"), {"channel:blog/brand": cli.now_ms()})
    found = doctor(cli)[0]
    assert found["places"]["severity"] == found["channels"]["severity"] == "ok"


def test_unreadable_rows(cli):
    place(cli, D, state="published")
    assert severity(cli, "rows") == "ok"
    cli.client.hset(cli.key("delivery", D), "state", "nonsense")
    found = doctor(cli, "--repair")[0]
    assert found["rows"]["severity"] == "risk" and D in found["rows"]["what"]
    assert "not compared" in found["counts"]["what"]
    assert cli.client.hget(cli.key("delivery", D), "state") == "nonsense"


@pytest.mark.parametrize("state", [None, "published", "rejected", "held", "uncertain"])
def test_agenda_members_at_rest(cli, state):
    if state:
        place(cli, D, state=state)
    place(cli, "blog/brand/due", state="approved")
    assert severity(cli, "agenda") == "ok"
    cli.client.zadd(cli.key("agenda"), {f"delivery:{D}": cli.now_ms() + 1000})
    finding = doctor(cli)[0]["agenda"]
    assert finding["severity"] == "note" and D in finding["what"]
    found, document = doctor(cli, "--repair")
    assert found["agenda"]["severity"] == "ok" and document["repaired"]["removed"] == 1
    assert cli.client.zscore(cli.key("agenda"), f"delivery:{D}") is None
    assert cli.client.zscore(cli.key("agenda"), "delivery:blog/brand/due")


def test_odd_agenda_members_are_said_and_left(cli):
    cli.client.zadd(cli.key("agenda"), {"channel:blog/brand": 1, "nonsense \x1b[2J": 2})
    finding = doctor(cli, "--repair")[0]["agenda"]
    assert finding["severity"] == "note" and "no names of ours" in finding["what"]
    assert cli.client.zcard(cli.key("agenda")) == 2
    assert "\x1b" not in cli.run("doctor").out


def test_channels_that_nobody_looks_at(cli):
    now = cli.now_ms()
    cli.row(D, state="approved", reason="paced", since=now)
    cli.client.zadd(cli.key("waiting", "blog/brand"), {D: now})
    cli.row("news/brand/u", state="uncertain", reason="no_answer", since=now, attempt=1)
    finding = doctor(cli)[0]["channels"]
    assert finding["severity"] == "risk" and "blog/brand" in finding["what"] and "news/brand" in finding["what"]
    found, document = doctor(cli, "--repair")
    assert found["channels"]["severity"] == "ok" and document["repaired"]["channels"] == 2
    assert cli.client.zscore(cli.key("agenda"), "channel:blog/brand") <= cli.now_ms()


def test_a_paused_channel_needs_no_place(cli):
    cli.row(D, state="approved", reason="paused", since=cli.now_ms())
    cli.client.zadd(cli.key("waiting", "blog/brand"), {D: 1})
    cli.client.hset(cli.key("channel", "blog/brand"), "paused", "the site is being moved")
    assert severity(cli, "channels") == "ok"


def test_deliveries_that_wait_for_one_that_is_not_there(cli):
    waiting(cli, "two", "one")
    place(cli, D, state="approved")
    assert severity(cli, "chains") == "ok", "it is there, and will go out"
    waiting(cli, "four", "three")
    waiting(cli, "young", "three", age_s=60)
    finding = doctor(cli, "--repair")[0]["chains"]
    assert finding["severity"] == "risk" and "blog/brand/four waits for blog/brand/three" in finding["what"]
    assert "two" not in finding["what"] and "young" not in finding["what"], "what was just brought may get company"
    place(cli, "blog/brand/three", state="held")
    assert severity(cli, "chains") == "ok", "a claim holds it, too"


def test_counts(cli):
    for i in range(3):
        place(cli, f"blog/brand/{i}", state="published")
    assert severity(cli, "counts") == "ok"
    cli.client.hset(cli.key("counts"), mapping={"blog/brand published": 7, "news/brand claimed": 2})
    finding = doctor(cli)[0]["counts"]
    assert finding["severity"] == "risk" and "counts that are wrong: 2" in finding["what"]
    found, document = doctor(cli, "--repair")
    assert found["counts"]["severity"] == "ok" and document["repaired"]["counts"] == 2
    assert cli.client.hgetall(cli.key("counts")) == {"blog/brand published": "3", "news/brand claimed": "0"}


def test_foreign_keys(cli):
    place(cli, D, state="published")
    cli.client.set(cli.key("worker", "w-1"), "role=worker", px=30000)
    cli.client.set("other:key", 1)
    assert severity(cli, "keys") == "ok"
    cli.client.set("lf:{0}:ledger2:x", 1)
    cli.client.set("lf:cache", 1)
    finding = doctor(cli, "--repair")[0]["keys"]
    assert finding["severity"] == "note" and "2 (" in finding["what"] and "lf:{0}:ledger2:x" in finding["what"]
    assert cli.client.get("lf:cache") == "1"


# ---- who works

def test_processes(cli):
    assert severity(cli, "processes") == "note"
    place(cli, D, state="approved")
    assert "no worker" in doctor(cli)[0]["processes"]["what"] and severity(cli, "processes") == "risk"
    cli.client.set(cli.key("worker", "w-1"), "role=worker pid=7", px=30000)
    assert severity(cli, "processes") == "note"
    place(cli, "blog/brand/u", state="uncertain")
    assert severity(cli, "processes") == "risk"
    cli.client.set(cli.key("worker", "r-1"), "role=reconciler pid=8", px=30000)
    assert severity(cli, "processes") == "ok"


def test_queue(cli):
    pipe = cli.client.pipeline(transaction=False)
    for _ in range(1001):
        pipe.xadd(cli.key("queue"), {"channel": "blog/brand", "item": "{}"})
    pipe.execute()
    assert severity(cli, "queue") == "note"
    cli.client.set(cli.key("worker", "w-1"), "role=worker", px=30000)
    cli.client.set(cli.key("worker", "w-2"), "role=worker", px=30000)
    assert severity(cli, "queue") == "ok"


# ---- this machine

def test_partitions(cli):
    assert severity(cli, "partitions") == "ok"
    cli.client.set("lf:{3}:channel:blog/brand", 1)
    assert severity(cli, "partitions") == "unsafe"
    cli.client.delete("lf:{3}:channel:blog/brand")
    for partition in (0, 1):
        cli.config(partitions=2, partition=partition)
        served = [channel for channel in ("blog/brand", "news/brand")
                  if binascii.crc_hqx(channel.encode(), 0) % 16384 % 2 == partition]
        finding = doctor(cli)[0]["partitions"]
        assert finding["severity"] == ("ok" if len(served) == 2 else "note")
        assert [channel for channel in served if channel in finding["what"]] == []


def test_proxies(cli):
    assert severity(cli, "proxies", env={"HTTPS_PROXY": "", "https_proxy": ""}) == "ok"
    finding = doctor(cli, env={"HTTPS_PROXY": "http://user:pass-0123456789@proxy.example:3128"})[0]["proxies"]
    assert finding["severity"] == "note" and "HTTPS_PROXY" in finding["what"] and "pass-0123456789" not in str(finding)


def test_credentials(cli):
    assert severity(cli, "credentials") == "ok"
    finding = doctor(cli, env={"BLOG_TOKEN": ""})[0]["credentials"]
    assert finding["severity"] == "risk" and "BLOG_TOKEN is not set" in finding["what"]
    cli.write("token", "planted-secret-0123456789\n")
    cli.config(channels={"blog/brand": {"platform": "blog", "settings": {"origin": "https://blog.example"},
                                        "credential": {"file": "token"}}})
    path = os.path.join(cli.folder, "token")
    for mode, expected in [(0o600, "ok"), (0o640, "ok"), (0o644, "risk"), (0o660, "risk")]:
        os.chmod(path, mode)
        assert severity(cli, "credentials") == expected
    os.unlink(path)
    assert severity(cli, "credentials") == "risk"


def test_descriptors(cli):
    assert severity(cli, "descriptors") == "ok"
    cli.write("descriptors/news.json", {**BLOG, "platform": "news", "verify": True})
    finding = doctor(cli)[0]["descriptors"]
    assert finding["severity"] == "note" and "news/brand" in finding["what"]
    cli.write("descriptors/news.json", {**BLOG, "platform": "news", "text": ".item | nonsense("})
    finding = doctor(cli)[0]["descriptors"]
    assert finding["severity"] == "risk" and "news/brand" in finding["what"]
    with open(os.path.join(TOP, "platforms/descriptors/webhook.json"), encoding="utf-8") as file:
        cli.write("descriptors/webhook.json", json.load(file))
    cli.config(channels={"webhook/site": {"platform": "webhook", "settings": {"url": "https://site.example"},
                                          "credential": {"env": "HOOK"}}})
    assert severity(cli, "descriptors") == "ok", "a shipped platform that cannot be read back has no programs for it"
    cli.config(channels={})
    assert severity(cli, "descriptors") == "risk"


def test_spool(cli):
    assert severity(cli, "spool") == "note"
    folder = os.path.join(cli.folder, "spool")
    cli.config(worker={"spool_dir": folder})
    assert severity(cli, "spool") == "risk"
    os.mkdir(folder)
    assert severity(cli, "spool") == "ok"
    path = os.path.join(folder, "w-1.spool")
    with open(path, "wb") as file:
        assert severity(cli, "spool") == "note"
        fcntl.flock(file, fcntl.LOCK_EX)
        assert severity(cli, "spool") == "ok", "its owner lives"
    os.rename(path, path + ".unreadable")
    finding = doctor(cli)[0]["spool"]
    assert finding["severity"] == "risk" and "w-1.spool.unreadable" in finding["what"]


def test_every_check_was_made_true_and_made_false(cli, request):
    """By the tests above; so a new check without its two tests is seen."""
    if request.config.option.keyword or any("::" in path for path in request.config.args):
        pytest.skip("only with the whole file")
    doctor(cli)
    assert {check for check, seen in SEEN.items() if seen in ({"ok"}, {"note"}, {"risk"}, {"unsafe"})} == UNIT, SEEN
    with open(os.path.join(TOP, "tests", "unit", "cli", "test_checks.c"), encoding="utf-8") as file:
        text = file.read()
    assert all(f'look("{check}", &f)' in text for check in UNIT)
