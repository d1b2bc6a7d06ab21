# SPDX-License-Identifier: MIT
"""What a fleet does when Redis comes back with less than it has answered: each persistence setting, a lost machine, a failover.

A killed server keeps what it has written to its append-only file, whatever the fsync; only a machine that fails loses the
last of it, which is played here by cutting the file. Each run prints what came of it."""
import glob
import os
import subprocess
import time

import pytest

from lib.fleet import CHANNELS, TIMES, UNPACED, Fleet
from lib.procs import wait_for
from lib.redis_proxy import RedisProxy
from lib.redis_server import RedisServer
from lib.tree import program

# After a rewind no absence counts before the longest window is over: an hour, for Mastodon's keys, were it not set.
QUICK = {**UNPACED, "mastodon": {**UNPACED["mastodon"], "times": {**TIMES, "key_window_ms": 2000}}}
PLATFORMS = ["forem", "mastodon", "bluesky", "webhook"]
COUNT = 25
KILLS = 3
AOF = {"appendonly": "yes", "aof-load-truncated": "yes"}
# name: options of the server, bytes of the append-only file that the machine has lost, may rows be forgotten
SETTINGS = {
    "none": ({}, 0, True),
    "rdb": ({"save": "1 1"}, 0, True),
    "aof no": ({**AOF, "appendfsync": "no"}, 0, False),
    "aof everysec": ({**AOF, "appendfsync": "everysec"}, 0, False),
    "aof always": ({**AOF, "appendfsync": "always"}, 0, False),
    "aof everysec, machine lost": ({**AOF, "appendfsync": "everysec"}, 60_000, True),
}


def cut_append_only_file(redis, lost_bytes):
    path = max(glob.glob(os.path.join(redis.dir, "appendonlydir", "*.incr.aof")), key=os.path.getmtime)
    os.truncate(path, max(os.path.getsize(path) - lost_bytes, 0))


def kill_redis(fleet, lost_bytes):
    fleet.redis.kill()
    if lost_bytes:
        cut_append_only_file(fleet.redis, lost_bytes)
    fleet.redis.start()


def open_ones(fleet, deliveries):
    return [name for name in deliveries if fleet.state(name) in ("approved", "claimed", "uncertain")]


def at_rest(fleet, deliveries):
    return fleet.db.xlen("lf:{0}:queue") == 0 and not open_ones(fleet, deliveries)


def say(name, fleet, deliveries, kills):
    """Prints the run; gives (harmful duplicates, lost, forgotten) as lists of deliveries."""
    seen = fleet.sim.report()["deliveries"]
    commits = {name: seen.get(name, {}).get("commits", 0) for name in deliveries}
    harmful = [name for name in deliveries if commits[name] > 1 and not name.startswith("webhook/")]
    forgotten = [name for name in deliveries if not fleet.state(name)]
    lost = [name for name in deliveries if fleet.state(name) == "published" and commits[name] == 0]
    held = [name for name in deliveries if fleet.state(name) == "held"]
    writes = sum(one["writes"] for one in seen.values())
    print(f"{name}: Redis killed {kills} times; {len(deliveries)} deliveries, {writes} requests, {len(harmful)} duplicates, {len(lost)} losses, "
          f"{len(held)} held, {len(forgotten)} forgotten ({sum(commits[n] > 0 for n in forgotten)} of them published)")
    return harmful, lost, forgotten


def landfall(fleet, *words, stdin=""):
    return subprocess.run([program("landfall"), *words, "--config", fleet.config_path], input=stdin, text=True, capture_output=True,
                          timeout=60, cwd=fleet.dir, check=False).stdout


def audit(fleet, channel):
    """Deliveries of the feed that the ledger does not know."""
    feed = "\n".join('{"id": "it-%d", "content_text": "x"}' % n for n in range(COUNT))
    said = landfall(fleet, "audit", "-", "--to", channel, stdin=feed)
    return {line.split(":")[0] for line in said.splitlines() if line.endswith(": no delivery")}


@pytest.mark.parametrize("name", SETTINGS)
def test_redis_killed_again_and_again(name):
    options, lost_bytes, may_forget = SETTINGS[name]
    with Fleet(PLATFORMS, channel=QUICK, instances={"bluesky": {"limit_points": 0}}, redis_options=options) as fleet:
        fleet.sim.fault("commit_then_late_answer", times=-1, delay_ms=150)
        workers = [fleet.start_worker() for _ in range(2)]
        reconciler = fleet.start_reconciler()
        deliveries = []
        for kill in range(KILLS + 1):
            ids = [f"it-{n}" for n in range(COUNT) if n % (KILLS + 1) == kill]
            fresh = [one for platform in PLATFORMS for one in fleet.add_many(CHANNELS[platform], ids)]
            deliveries += fresh
            before = len(deliveries) - len(fresh)
            wait_for(lambda n=before: len(fleet.sim.report()["deliveries"]) > n or at_rest(fleet, deliveries), 60, "work to be under way")
            if kill < KILLS:
                kill_redis(fleet, lost_bytes)
        wait_for(lambda: at_rest(fleet, deliveries), 150, lambda: f"{[(one, fleet.row(one)) for one in open_ones(fleet, deliveries)][:5]}\n{fleet.output()}")
        harmful, lost, forgotten = say(name, fleet, deliveries, KILLS)
        assert harmful == [] and lost == []
        assert may_forget or forgotten == []
        for platform in PLATFORMS:
            assert audit(fleet, CHANNELS[platform]) == {one for one in forgotten if one.startswith(platform)}, "all that is missing is named"
        assert [process.stop(20) for process in (*workers, reconciler)] == [0, 0, 0]


class Pair:
    """A fleet that knows a master and a replica by their addresses; what goes from one to the other can be held up."""

    def __init__(self, redis=None, **master_options):
        """redis: members of the configuration."""
        self.fleet = Fleet(["forem", "mastodon", "webhook"], channel=QUICK, redis_options=master_options)
        self.more = redis or {}

    def __enter__(self):
        self.fleet.__enter__()
        self.between = RedisProxy(self.fleet.redis.socket_path)
        self.between.__enter__()
        self.replica = RedisServer(replicaof=f"127.0.0.1 {self.between.url.rpartition(':')[2]}", repl_ping_replica_period="1")
        self.replica.__enter__()
        self.copy = self.replica.client()
        wait_for(lambda: self.copy.info("replication")["master_link_status"] == "up", 30, "the replica to have its first copy")
        addresses = f"redis://127.0.0.1:{self.fleet.redis.port},127.0.0.1:{self.replica.port}"
        self.fleet.config_extra = {"redis": {"url": addresses, **self.more}}
        self.fleet.write_config()
        return self

    def __exit__(self, *exc):
        self.replica.__exit__(*exc)
        self.between.__exit__(*exc)
        self.fleet.__exit__(*exc)

    def copied(self):
        offset = self.fleet.db.info("replication")["master_repl_offset"]
        wait_for(lambda: self.copy.info("replication")["slave_repl_offset"] >= offset, 30, "the replica to have it all")

    def fail_over(self):
        self.fleet.redis.kill()
        self.copy.replicaof("NO", "ONE")
        self.fleet.db = self.copy


def test_a_failover_to_a_replica_that_has_not_heard_of_the_last_posts():
    """Published and told to the old master only. The replica still has the entries: what may have been sent is read back or
    repeated under its key."""
    with Pair() as pair:
        fleet = pair.fleet
        fleet.start_worker("--until-idle").wait_exit(0)  # it has claimed nothing; its heartbeat is all that the replica has
        deliveries = [name for platform in ("forem", "mastodon") for name in fleet.add_many(CHANNELS[platform], [f"it-{n}" for n in range(10)])]
        pair.copied()
        pair.between.freeze()
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        fleet.wait_states(deliveries, "published")
        pair.fail_over()
        assert set(fleet.states(deliveries)) == {None}
        fleet.wait_states(deliveries, "published", timeout_s=120)
        harmful, lost, forgotten = say("failover, asynchronous replica", fleet, deliveries, 1)
        assert harmful == lost == forgotten == []
        forem = [name for name in deliveries if name.startswith("forem")]
        assert {fleet.row(name)["source"] for name in forem} == {"read_back"}
        assert {fleet.sim.delivery(name)["writes"] for name in forem} == {1}, "what can only be read is not sent a second time"
        assert [worker.stop(20), reconciler.stop(20)] == [0, 0]


def test_a_failover_to_a_replica_that_has_acknowledged_every_claim():
    """redis.wait_replicas: what the platform was sent before the master was cut off is known to the replica. The same as above, where
    all was forgotten; here the worker is cut off in the middle."""
    with Pair(redis={"wait_replicas": 1, "wait_timeout_ms": 500}) as pair:
        fleet = pair.fleet
        fleet.sim.fault("commit_then_late_answer", times=-1, delay_ms=100)
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        deliveries = [name for platform in ("forem", "mastodon") for name in fleet.add_many(CHANNELS[platform], [f"it-{n}" for n in range(20)])]
        wait_for(lambda: fleet.sim.report()["totals"]["writes"] >= 5, 30, "work to be under way")
        pair.between.freeze()
        late = fleet.add_many(CHANNELS["forem"], ["late-1", "late-2"])  # there is something to claim, whatever was done by now
        worker.wait_output("ledger.copies.missing", timeout_s=30)
        sent = {name for name, seen in fleet.sim.report()["deliveries"].items() if seen["writes"]}
        pair.fail_over()
        known = {name for name in deliveries if fleet.row(name).get("attempt", "0") != "0"}
        assert len(sent) >= 5 and sent <= known and not sent & set(late)
        with RedisServer(replicaof=f"127.0.0.1 {pair.replica.port}", repl_ping_replica_period="1"):
            fleet.add_many(CHANNELS["forem"], ["late-1", "late-2"])  # of these the replica has not heard
            wait_for(lambda: at_rest(fleet, deliveries + late), 120, fleet.output)
            harmful, lost, forgotten = say("failover, redis.wait_replicas 1", fleet, deliveries + late, 1)
            assert harmful == lost == forgotten == []
            assert {fleet.sim.delivery(name)["writes"] for name in deliveries + late if name.startswith("forem")} == {1}
            assert [worker.stop(20), reconciler.stop(20)] == [0, 0]


def test_a_master_that_wants_a_replica_lets_nothing_out_when_it_is_alone():
    """min-replicas-to-write: a master that was cut off refuses claims, so nothing is sent that the failover would forget."""
    with Pair(min_replicas_to_write="1", min_replicas_max_lag="2") as pair:
        fleet = pair.fleet
        fleet.start_worker("--until-idle").wait_exit(0)
        pair.copied()
        pair.between.freeze()
        wait_for(lambda: fleet.db.info("replication")["min_slaves_good_slaves"] == 0, 30, "the master to miss its replica")
        worker = fleet.start_worker()
        worker.wait_output("NOREPLICAS", timeout_s=30)
        time.sleep(1)
        assert fleet.sim.report()["totals"]["writes"] == 0
        pair.fail_over()
        # They come before the first claim on the new master, so they count as approved before it: they are read back first.
        reconciler = fleet.start_reconciler()
        deliveries = fleet.add_many(CHANNELS["forem"], [f"it-{n}" for n in range(10)])
        fleet.wait_states(deliveries, "published", timeout_s=120)
        harmful, lost, forgotten = say("failover, min-replicas-to-write", fleet, deliveries, 1)
        assert harmful == lost == forgotten == [] and fleet.sim.report()["totals"]["writes"] == 10
        assert worker.stop(20) == 0 and reconciler.stop(20) == 0
