# SPDX-License-Identifier: MIT
"""deploy/acl on a real server: each program does its whole job as its own user, and what it needs not is refused to it."""
import json
import os
import subprocess

import pytest
import redis

from lib.fleet import CHANNELS, Fleet
from lib.procs import wait_for
from lib.redis_server import RedisServer
from lib.tree import TOP, program

USERS = ("worker", "reconciler", "operator", "reader", "producer", "monitor", "replica", "admin")
MASTODON, BLUESKY = CHANNELS["mastodon"], CHANNELS["bluesky"]
NAME = f"{MASTODON}/it-1"


def acl_file(folder, *options, default="off ~* &* +@all"):
    """The users with passwords, each its name and "-word", as an ACL file; gives (its path, folder of the passwords)."""
    secrets = os.path.join(folder, "redis-secrets")
    os.makedirs(secrets, exist_ok=True)
    for user in USERS:
        with open(os.path.join(secrets, user), "w", encoding="utf-8") as out:
            out.write(f"{user}-word\n")
    text = subprocess.run([os.path.join(TOP, "deploy", "acl", "with-passwords"), *options, secrets], check=True, text=True,
                          capture_output=True).stdout
    assert "-word" not in text
    path = os.path.join(folder, "users.acl")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text.replace("user default reset off ~* &* +@all", f"user default reset {default}"))
    return path, secrets


@pytest.fixture
def fleet(tmp_path):
    """The judge and the test itself are the default user; programs are not."""
    path, secrets = acl_file(tmp_path, default="on nopass ~* &* +@all")
    with Fleet(["mastodon", "bluesky"], redis_options={"aclfile": path}) as one:
        one.secrets_dir = secrets
        yield one


def as_user(fleet, user):
    """The environment of a program that is to be this user."""
    return {"LANDFALL_REDIS_URL": f"redis://{user}@127.0.0.1:{fleet.redis.port}",
            "LANDFALL_REDIS_PASSWORD_FILE": os.path.join(fleet.secrets_dir, user)}


def landfall(fleet, user, *words, code=0, stdin=""):
    env = {"HOME": fleet.dir, "PATH": f"{os.path.dirname(program('landfall'))}:/usr/bin:/bin", **as_user(fleet, user)}
    done = subprocess.run([program("landfall"), *words, "--config", fleet.config_path, "--json"], input=stdin, text=True,
                          capture_output=True, timeout=60, cwd=fleet.dir, env=env)
    assert done.returncode == code, done
    return done.stdout


def refusals(fleet):
    """What the server refused for want of a right. A newer python3-redis introduces itself (CLIENT SETINFO) and takes no
    offence; Redis 7.0 would refuse a file that allows it."""
    return [(one["username"], one["object"], one["reason"]) for one in fleet.db.acl_log() if one["object"] != "client|setinfo"]


def test_each_program_does_its_whole_job_as_its_user(fleet):
    """Published, killed in mid-send, uncertain, drained, held, acted on; nothing was refused on the way."""
    first, second, third = (fleet.item(f"it-{i}") for i in (1, 2, 3))
    producer = fleet.redis.client(username="producer", password="producer-word")
    producer.xadd("lf:{0}:queue", {"channel": MASTODON, "item": json.dumps(first)})
    fleet.start_worker(crash_at="after_last_byte", env=as_user(fleet, "worker")).wait_killed()

    reconciler = fleet.start_reconciler(env=as_user(fleet, "reconciler"))
    worker = fleet.start_worker(env=as_user(fleet, "worker"))
    assert fleet.wait_state(NAME, "published")["source"] == "read_back"
    landfall(fleet, "operator", "submit", "-", "--to", MASTODON, BLUESKY, stdin=json.dumps(second))
    fleet.wait_state(f"{BLUESKY}/it-2", "published")  # with a session that the fleet shares
    assert fleet.db.exists(f"lf:{{0}}:session:{BLUESKY}")
    assert fleet.wait_state(f"{MASTODON}/it-2", "published")["source"] == "response"
    wait_for(lambda: len(fleet.db.keys("lf:{0}:worker:*")) >= 2, 20, "heartbeats")
    reads(fleet, "reader")
    reads(fleet, "operator")
    reconciler.stop()
    assert worker.stop() == 0

    landfall(fleet, "operator", "submit", "-", "--to", MASTODON, "--hold", stdin=json.dumps(third))
    landfall(fleet, "operator", "approve", f"{MASTODON}/it-3", "--why", "read")
    landfall(fleet, "operator", "pause", MASTODON, "--why", "a test")
    landfall(fleet, "operator", "resume", MASTODON, "--why", "a test")
    fleet.sim.fault("commit_then_close", "mastodon")
    fleet.run_worker(env=as_user(fleet, "worker"))
    assert fleet.state(f"{MASTODON}/it-3") == "uncertain"
    landfall(fleet, "operator", "drain", "--wait")
    assert fleet.state(f"{MASTODON}/it-3") == "published"
    landfall(fleet, "operator", "submit", "-", "--to", MASTODON, "--at", "1h", stdin=json.dumps(fleet.item("it-4")))
    landfall(fleet, "operator", "cancel", f"{MASTODON}/it-4", "--why", "not wanted")
    told = landfall(fleet, "operator", "doctor", code=4)  # this Redis keeps nothing on disk
    found = {one["check"]: one["severity"] for one in json.loads(told)["findings"]}
    assert found["rights"] == "ok" and found["encoding"] == "ok", found
    landfall(fleet, "operator", "doctor", "--repair", code=4)
    landfall(fleet, "operator", "spool")
    landfall(fleet, "operator", "archive", "kept.ndjson", "--older-than", "1s", "--why", "a test", "--no-guard", "--yes")
    fleet.db.hincrby(f"lf:{{0}}:delivery:{MASTODON}/it-2", "since", -100 * 86400000)
    told = landfall(fleet, "operator", "archive", os.path.join(fleet.dir, "archive"), "--older-than", "90d", "--no-guard", "--yes",
                    "--why", "a test")
    assert json.loads(told)["dropped"] == 1
    assert refusals(fleet) == []
    fleet.check_judge(**{f"{MASTODON}/it-{i}": 1 for i in (1, 2, 3)})


def reads(fleet, user):
    assert json.loads(landfall(fleet, user, "status"))["queue"] == 0
    assert json.loads(landfall(fleet, user, "show", NAME))["state"] == "published"
    assert len(json.loads(landfall(fleet, user, "report"))["deliveries"]) == 3
    landfall(fleet, user, "leases")
    landfall(fleet, user, "journal")
    assert NAME in landfall(fleet, user, "export")
    landfall(fleet, user, "audit", "-", "--to", MASTODON, stdin=json.dumps(fleet.item("it-1")))


Q, ROW, REQUEST, COUNTS = "lf:{0}:queue", f"lf:{{0}}:delivery:{NAME}", f"lf:{{0}}:request:{NAME}", "lf:{0}:counts"
EVERYBODY = ("worker", "reconciler", "operator", "reader", "producer", "monitor")
# who -> what is refused to them
FORBIDDEN = [
    (EVERYBODY, [["FLUSHALL"], ["FLUSHDB"], ["KEYS", "*"], ["CONFIG", "SET", "appendonly", "no"], ["SHUTDOWN"],
                 ["ACL", "SETUSER", "worker", "+@all"], ["ACL", "LIST"], ["ACL", "GETUSER", "worker"], ["MONITOR"], ["SCRIPT", "FLUSH"],
                 ["SCRIPT", "KILL"], ["FUNCTION", "FLUSH"], ["REPLICAOF", "NO", "ONE"], ["SYNC"], ["CLIENT", "KILL", "ID", "1"],
                 ["CLIENT", "LIST"], ["GET", "other:key"], ["SET", "other:key", "x"], ["RENAME", ROW, "lf:x"], ["UNLINK", ROW],
                 ["PUBLISH", "lf:x", "y"], ["SUBSCRIBE", "lf:x"], ["SWAPDB", "0", "1"], ["MIGRATE", "127.0.0.1", "1", ROW, "0", "1"],
                 ["DUMP", ROW], ["RESTORE", "lf:x", "0", "x"], ["SAVE"], ["BGREWRITEAOF"], ["MODULE", "LIST"], ["SLOWLOG", "GET"]]),
    (("worker", "reconciler", "reader", "producer", "monitor"), [["CONFIG", "GET", "masterauth"], ["MULTI"], ["ACL", "DRYRUN", "admin", "GET", "x"]]),
    (("reconciler",), [["XREADGROUP", "GROUP", "workers", "x", "STREAMS", Q, ">"], ["XAUTOCLAIM", Q, "workers", "x", "0", "0"]]),
    (("reader",), [["HSET", ROW, "state", "published"], ["XADD", Q, "*", "channel", "x"], ["DEL", ROW], ["ZADD", "lf:{0}:agenda", "1", "x"],
                   ["EVAL", "return 1", "0"], ["EVALSHA", "0" * 40, "0"], ["EVAL_RO", "return 1", "0"], ["XREADGROUP", "GROUP", "workers", "x", "STREAMS", Q, ">"],
                   ["XACK", Q, "workers", "1-1"], ["EXPIRE", ROW, "1"]]),
    (("producer",), [["XADD", "lf:{0}:journal", "*", "a", "b"], ["XADD", "lf:{0}:outcomes", "*", "a", "b"], ["XRANGE", Q, "-", "+"], ["XLEN", Q],
                     ["XREAD", "STREAMS", Q, "0"], ["HGETALL", ROW], ["HGET", REQUEST, "content"], ["HSET", ROW, "state", "x"], ["SCAN", "0"], ["DEL", Q],
                     ["XTRIM", Q, "MAXLEN", "0"], ["XDEL", Q, "1-1"], ["EVAL", "return 1", "0"], ["INFO"], ["TIME"], ["EXISTS", ROW]]),
    (("monitor",), [["HGETALL", ROW], ["HGETALL", REQUEST], ["XRANGE", Q, "-", "+"], ["XINFO", "STREAM", Q], ["SCAN", "0"], ["HSET", COUNTS, "a", "1"],
                    ["XADD", Q, "*", "a", "b"], ["EVAL", "return 1", "0"], ["ZRANGE", "lf:{0}:agenda", "0", "-1"], ["XLEN", "other"]]),
    (("replica",), [["GET", ROW], ["HGETALL", ROW], ["XADD", Q, "*", "a", "b"], ["INFO"], ["SCAN", "0"]]),
]
ALLOWED = [
    ("producer", [["XADD", Q, "*", "channel", "a/b", "item", "{}"], ["PING"]]),
    ("monitor", [["PING"], ["INFO"], ["DBSIZE"], ["XLEN", Q], ["XLEN", "lf:{0}:journal"], ["XINFO", "GROUPS", Q], ["HGETALL", COUNTS],
                 ["ZCARD", "lf:{0}:agenda"], ["SLOWLOG", "LEN"], ["LATENCY", "LATEST"]]),
    ("replica", [["PING"], ["REPLCONF", "listening-port", "1"]]),
    ("admin", [["CONFIG", "GET", "save"], ["ACL", "LIST"], ["DEL", "lf:{0}:none"]]),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The file as it is shipped, with passwords and nothing else."""
    path, _ = acl_file(tmp_path_factory.mktemp("acl"))
    with RedisServer(aclfile=path) as one:
        one.client(username="admin", password="admin-word").xadd(Q, {"a": "b"})
        yield one


def test_what_is_not_needed_is_refused(server):
    for users, commands in FORBIDDEN:
        for user in users:
            link = server.client(username=user, password=f"{user}-word")
            for command in commands:
                with pytest.raises(redis.exceptions.NoPermissionError):
                    print(user, command, link.execute_command(*command))


def test_a_script_has_no_more_rights_than_its_user(server):
    worker = server.client(username="worker", password="worker-word")
    assert worker.eval("return redis.call('GET', KEYS[1])", 1, "lf:x") is None
    for script, key in (("return redis.call('GET', KEYS[1])", "other:key"), ("return redis.call('FLUSHALL')", "lf:x"),
                        ("return redis.call('KEYS', '*')", "lf:x"), ("return redis.call('GET', 'other:key')", "lf:x")):
        with pytest.raises(redis.exceptions.ResponseError, match="user executing the script can't|ACL failure|[Nn]o permissions|can't access"):
            print(worker.eval(script, 1, key))


def test_what_is_needed_is_allowed(server):
    for user, commands in ALLOWED:
        link = server.client(username=user, password=f"{user}-word")
        for command in commands:
            link.execute_command(*command)


def test_nobody_comes_in_without_a_password(server, tmp_path):
    link = server.client()
    with pytest.raises(redis.exceptions.AuthenticationError):
        link.ping()
    with RedisServer(aclfile=os.path.join(TOP, "deploy", "acl", "users.acl")) as bare:
        for user in ("default", *USERS):
            for password in ("", user, "x"):
                with pytest.raises(redis.exceptions.RedisError):
                    bare.client(username=user, password=password).ping()


def test_what_scripts_wrote_is_there_after_a_restart(tmp_path):
    """Redis reads its append-only file as the user default: without its rights it drops what scripts wrote, and starts."""
    path, _ = acl_file(tmp_path)
    with RedisServer(aclfile=path, appendonly="yes", appendfsync="always") as server:
        worker = {"username": "worker", "password": "worker-word"}
        server.client(**worker).eval("redis.call('HSET', KEYS[1], 'state', 'published') redis.call('SET', KEYS[2], '1')", 2,
                                     "lf:{0}:delivery:a", "lf:{0}:lease:a")
        server.restart()
        wait_for(lambda: server.client(username="admin", password="admin-word").info("persistence")["loading"] == 0, 10,
                 "the file to be read")
        assert server.client(**worker).hgetall("lf:{0}:delivery:a") == {"state": "published"}


def test_another_prefix(tmp_path):
    path, _ = acl_file(tmp_path, "--prefix", "blog.2")
    with RedisServer(aclfile=path) as server:
        worker = server.client(username="worker", password="worker-word")
        worker.set("blog.2:{0}:x", "1")
        monitor = server.client(username="monitor", password="monitor-word")
        assert monitor.xlen("blog.2:{0}:queue") == 0
        for link, words in ((worker, ("SET", "lf:{0}:x", "1")), (monitor, ("XLEN", "lf:{0}:queue"))):
            with pytest.raises(redis.exceptions.NoPermissionError):
                link.execute_command(*words)
