# SPDX-License-Identifier: MIT
"""Every error that Redis answers with says something about Redis, nothing about a delivery: no request, no attempt used
up, words that name the error, few of them, and recovery without a restart.
"""
import contextlib
import json
import os
import signal
import threading
import time

import redis

from lib.fleet import UNPACED, Fleet
from lib.procs import cpu_s, wait_for
from lib.together import Together

QUEUE = "lf:{0}:queue"
WATCH_S = 3
LINES_MAX = 25
DURABLE = {"appendonly": "yes", "appendfsync": "always"}
together = Together(at_once=8)


def ids(count):
    return [f"it-{n:04}" for n in range(count)]


def written(worker, *words):
    """Waits until all the words stand in the worker's log."""
    wait_for(lambda: all(word in worker.stderr() for word in words), 15, lambda: f"{words} in\n{worker.tail()}")


def watch(fleet, worker, seconds=WATCH_S):
    """For a while: nothing is sent, the worker lives, and it does not fill its log."""
    before = fleet.sim.report()["totals"]["writes"]
    lines = len(worker.stderr().splitlines())
    time.sleep(seconds)
    assert worker.running, worker.tail()
    assert fleet.sim.report()["totals"]["writes"] == before
    assert len(worker.stderr().splitlines()) - lines <= LINES_MAX, worker.tail()


def finish(fleet, worker, deliveries, attempt="1"):
    fleet.wait_states(deliveries, "published")
    assert {fleet.row(name)["attempt"] for name in deliveries} == {attempt}
    report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
    assert report["totals"]["writes"] == len(deliveries)
    assert worker.stop() == 0, worker.tail()


@contextlib.contextmanager
def one_in_flight(**kwargs):
    """A fleet with a write in flight (held) and another entry in the queue that finds no slot."""
    kwargs.setdefault("config", {"worker": {"slots": 1, "max_in_flight_per_channel": 1}})
    with Fleet(["mastodon"], channel=UNPACED, **kwargs) as fleet:
        fleet.sim.fault("hold", "mastodon", limit_ms=60_000)
        worker = fleet.start_worker()
        first, = fleet.add_many("mastodon/brand", ["it-1"])
        fleet.sim.wait("holding")
        second, = fleet.add_many("mastodon/brand", ["it-2"])
        yield fleet, worker, [first, second]


# ---- the server cannot write now

@together.test
def test_loading():
    """Redis reads its data for seconds: it answers, and refuses what is needed."""
    with Fleet(["mastodon"], channel=UNPACED, redis_options={**DURABLE, "key-load-delay": "0"}) as fleet:
        deliveries = fleet.add_many("mastodon/brand", ids(3))
        pipe = fleet.db.pipeline(transaction=False)
        for n in range(30_000):
            pipe.set(f"other:{n}", n)
        pipe.execute()
        fleet.redis.kill()
        fleet.redis.options["key-load-delay"] = "100"  # microseconds a key; commands are answered every 1024 keys
        starting = threading.Thread(target=fleet.redis.start)
        starting.start()
        wait_for(lambda: loading(fleet), what="LOADING")
        worker = fleet.start_worker()
        written(worker, "LOADING")
        starting.join()
        finish(fleet, worker, deliveries)


def loading(fleet):
    try:
        fleet.db.ping()
    except redis.BusyLoadingError:
        return True
    except redis.RedisError:
        return False
    raise AssertionError("Redis has read its data before anybody could see it")


@together.test
def test_readonly():
    """The server becomes a replica under the worker, and a master again."""
    with one_in_flight() as (fleet, worker, deliveries):
        fleet.db.replicaof("127.0.0.1", "1")
        fleet.sim.release()
        written(worker, "READONLY", "no master")
        watch(fleet, worker)
        assert fleet.state(deliveries[0]) == "claimed"
        fleet.db.replicaof("NO", "ONE")
        finish(fleet, worker, deliveries)


@together.test
def test_misconf():
    """The server cannot save, so it refuses writes, PING and reads of the group included."""
    with one_in_flight(redis_options={"save": "3600 1", "enable-protected-configs": "yes"}) as (fleet, worker, deliveries):
        fleet.db.config_set("dir", "/proc/self")
        with contextlib.suppress(redis.RedisError):
            fleet.db.bgsave()
        wait_for(lambda: fleet.db.info("persistence")["rdb_last_bgsave_status"] == "err", what="the save to fail")
        fleet.sim.release()
        written(worker, "MISCONF")
        watch(fleet, worker)
        fleet.db.config_set("dir", fleet.redis.dir)
        fleet.db.bgsave()
        finish(fleet, worker, deliveries)


@together.test
def test_out_of_memory():
    """Settling frees more than it takes and goes through; nothing new is claimed."""
    with one_in_flight() as (fleet, worker, deliveries):
        fleet.db.config_set("maxmemory-policy", "noeviction")
        fleet.db.config_set("maxmemory", "1")
        fleet.sim.release()
        fleet.wait_state(deliveries[0], "published")
        written(worker, "OOM")
        watch(fleet, worker)
        assert fleet.state(deliveries[1]) is None
        fleet.db.config_set("maxmemory", "0")
        finish(fleet, worker, deliveries)


@together.test
def test_no_replicas():
    with one_in_flight() as (fleet, worker, deliveries):
        fleet.db.config_set("min-replicas-to-write", "1")
        fleet.sim.release()
        written(worker, "NOREPLICAS")
        watch(fleet, worker)
        fleet.db.config_set("min-replicas-to-write", "0")
        finish(fleet, worker, deliveries)


def run_script(fleet, source):
    """Somebody's script that does not come back soon, from another connection."""
    def run():
        with contextlib.suppress(redis.RedisError):
            fleet.redis.client(socket_timeout=30).eval(source, 1, "somebody")
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.5)
    return thread


@together.test
def test_busy():
    """A neighbour's endless script that is killed, and one that has written and can only be waited for."""
    with one_in_flight(redis_options={"busy-reply-threshold": "200"}) as (fleet, worker, deliveries):
        thread = run_script(fleet, "while true do end")
        fleet.sim.release()
        written(worker, "BUSY")
        watch(fleet, worker, 1.5)
        fleet.db.script_kill()
        thread.join()
        fleet.wait_state(deliveries[1], "published")
        run_script(fleet, """
            redis.call('SET', KEYS[1], 1)
            local start = os.clock()
            while os.clock() < start + 2 do end""").join()
        third = deliveries + fleet.add_many("mastodon/brand", ["it-3"])
        finish(fleet, worker, third)


@together.test
def test_what_the_server_refuses_for_long_is_nobodys_fault():
    """Claims are refused for ten times the time after which entries are taken over: they stay where they are and are not put
    aside as poison, and input that is to be refused is not lost where it cannot be written down."""
    with Fleet(["mastodon"], channel=UNPACED, config={"worker": {"reclaim_idle_ms": 200}}) as fleet:
        workers = [fleet.start_worker(), fleet.start_worker()]
        wait_for(lambda: fleet.db.exists(QUEUE), what="the group")
        pipe = fleet.db.pipeline(transaction=True)
        for n in range(20):
            pipe.xadd(QUEUE, {"channel": "mastodon/brand", "item": json.dumps(fleet.item(f"it-{n}"))})
        pipe.xadd(QUEUE, {"channel": "mastodon/brand"})
        pipe.config_set("maxmemory", "1")
        bad = pipe.execute()[20]
        deliveries = [f"mastodon/brand/it-{n}" for n in range(20)]
        written(workers[0], "OOM")
        time.sleep(3)
        assert fleet.sim.report()["totals"]["writes"] == 0 and fleet.db.xlen(QUEUE) == 21
        fleet.db.config_set("maxmemory", "0")
        fleet.wait_states(deliveries, "published")
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the bad entry to be refused")
        assert set(fleet.refused()) == {bad}
        report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert report["totals"]["writes"] == len(deliveries)
        assert [worker.stop() for worker in workers] == [0, 0]


# ---- who may come in

def config_with_user(fleet, user, password):
    fleet.config_extra["redis"] = {"url": f"redis://{user}@127.0.0.1:{fleet.redis.port}",
                                   "password_file": fleet.write_secret("redis-user", password + "\n")}
    fleet.write_config()


@together.test
def test_wrong_password():
    """It says so, waits, and takes the password that the file has when it is told to read it again."""
    with Fleet(["mastodon"]) as fleet:
        fleet.db.acl_setuser("lf", enabled=True, passwords=["+right-word-4711"], categories=["+@all"], keys=["*"], channels=["*"])
        config_with_user(fleet, "lf", "wrong-word-0815")
        deliveries = fleet.add_many("mastodon/brand", ["it-1"])
        worker = fleet.start_worker()
        written(worker, "WRONGPASS", "password")
        watch(fleet, worker)
        fleet.write_secret("redis-user", "right-word-4711\n")
        worker.send_signal(signal.SIGHUP)
        finish(fleet, worker, deliveries)
        assert "word-4711" not in worker.stderr() and "word-0815" not in worker.stderr()


@together.test
def test_a_password_that_changes_while_the_worker_runs():
    """The old connection is cut; nothing is sent as another user meanwhile."""
    with Fleet(["mastodon"], config={"worker": {"slots": 1}}) as fleet:
        fleet.db.acl_setuser("lf", enabled=True, passwords=["+first-word-1"], categories=["+@all"], keys=["*"], channels=["*"])
        config_with_user(fleet, "lf", "first-word-1")
        fleet.sim.fault("hold", "mastodon", limit_ms=60_000)
        deliveries = fleet.add_many("mastodon/brand", ["it-1", "it-2"])
        worker = fleet.start_worker()
        fleet.sim.wait("holding")
        fleet.db.acl_setuser("lf", enabled=True, reset=True, passwords=["+second-word-2"], categories=["+@all"], keys=["*"],
                             channels=["*"])
        fleet.db.client_kill_filter(user="lf")
        fleet.sim.release()
        written(worker, "WRONGPASS")
        watch(fleet, worker)
        fleet.write_secret("redis-user", "second-word-2\n")
        worker.send_signal(signal.SIGHUP)
        finish(fleet, worker, deliveries)


@together.test
def test_a_password_file_that_cannot_be_read_at_a_reload():
    """The old password stays, and the log says what is wrong."""
    with Fleet(["mastodon"]) as fleet:
        fleet.db.acl_setuser("lf", enabled=True, passwords=["+first-word-1"], categories=["+@all"], keys=["*"], channels=["*"])
        config_with_user(fleet, "lf", "first-word-1")
        worker = fleet.start_worker()
        deliveries = fleet.add_many("mastodon/brand", ["it-1"])
        fleet.wait_states(deliveries, "published")
        os.unlink(os.path.join(fleet.dir, "redis-user.secret"))
        worker.send_signal(signal.SIGHUP)
        written(worker, "reload.refused", "redis.password_file")
        fleet.db.client_kill_filter(user="lf")
        finish(fleet, worker, deliveries + fleet.add_many("mastodon/brand", ["it-2"]))


@together.test
def test_no_password_where_one_is_wanted():
    with Fleet(["mastodon"]) as fleet:
        deliveries = fleet.add_many("mastodon/brand", ["it-1"])
        fleet.db.config_set("requirepass", "secret-word-99")
        worker = fleet.start_worker()
        written(worker, "NOAUTH")
        watch(fleet, worker)
        fleet.db.config_set("requirepass", "")
        finish(fleet, worker, deliveries)


@together.test
def test_a_user_that_may_not_make_the_group():
    """NOGROUP cannot be mended: a line now and then, and no burnt core."""
    with Fleet(["mastodon"]) as fleet:
        fleet.db.acl_setuser("lf", enabled=True, passwords=["+word-1"], categories=["+@all"], commands=["-xgroup"], keys=["*"],
                             channels=["*"])
        config_with_user(fleet, "lf", "word-1")
        deliveries = fleet.add_many("mastodon/brand", ["it-1"])
        worker = fleet.start_worker()
        written(worker, "NOPERM")
        used_s = cpu_s(worker)
        watch(fleet, worker)
        assert cpu_s(worker) - used_s < 0.3
        fleet.db.xgroup_create(QUEUE, "workers", "0")
        fleet.wait_states(deliveries, "published")
        worker.kill()


@together.test
def test_a_user_that_may_not_read_the_queue_is_not_ready():
    """Heartbeats go through, so only the queue tells: red until the right is given, then green without a restart."""
    with Fleet(["mastodon"], metrics=True) as fleet:
        fleet.db.acl_setuser("lf", enabled=True, passwords=["+word-1"], categories=["+@all"], commands=["-xreadgroup"], keys=["*"],
                             channels=["*"])
        config_with_user(fleet, "lf", "word-1")
        deliveries = fleet.add_many("mastodon/brand", ["it-1"])
        worker = fleet.start_worker()
        assert "read the queue" in wait_for(lambda: fleet.ready(503), 20, "red")
        written(worker, "NOPERM")
        watch(fleet, worker)
        assert fleet.ready(503) and fleet.get("/live")[0] == 200
        fleet.db.acl_setuser("lf", enabled=True, commands=["+xreadgroup"])
        wait_for(lambda: fleet.ready(200), 20, "green")
        finish(fleet, worker, deliveries)


@together.test
def test_too_many_clients():
    """Redis 8 closes a connection that is one too many before its first command has arrived, which takes its words away."""
    with one_in_flight() as (fleet, worker, deliveries):
        has_words = int(fleet.db.info("server")["redis_version"].split(".")[0]) < 8
        fleet.db.config_set("maxclients", "1")
        for client in fleet.db.client_list():
            if client["name"]:
                fleet.db.client_kill_filter(_id=client["id"])
        fleet.sim.release()
        written(worker, "maxclients" if has_words else "ledger.away")
        watch(fleet, worker)
        fleet.db.config_set("maxclients", "1000")
        finish(fleet, worker, deliveries)


# ---- the queue and the group

@together.test
def test_the_group_is_destroyed_again_and_again():
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        worker = fleet.start_worker()
        deliveries = []
        for n in range(8):
            deliveries += fleet.add_many("mastodon/brand", [f"it-{n}-{i}" for i in range(5)])
            with contextlib.suppress(redis.RedisError):
                fleet.db.xgroup_destroy(QUEUE, "workers")
            time.sleep(0.1)
        fleet.wait_states(deliveries, "published")
        lines = [line for line in worker.stderr().splitlines() if "delivery.settled" not in line]
        assert len(lines) <= LINES_MAX, worker.tail()
        finish(fleet, worker, deliveries)


@together.test
def test_the_queue_is_deleted_and_made_again_by_a_producer():
    """The stream comes back without its group, while the worker is blocked in it."""
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        worker = fleet.start_worker()
        first = fleet.add_many("mastodon/brand", ["it-1"])
        fleet.wait_states(first, "published")
        used_s = cpu_s(worker)
        fleet.db.delete(QUEUE)
        second = fleet.add_many("mastodon/brand", ["it-2"])
        fleet.wait_states(second, "published", timeout_s=10)
        watch(fleet, worker, 1)
        assert cpu_s(worker) - used_s < 0.5
        finish(fleet, worker, first + second)


@together.test
def test_the_queue_is_of_another_type():
    with Fleet(["mastodon"]) as fleet:
        fleet.db.set(QUEUE, "somebody else's")
        worker = fleet.start_worker()
        written(worker, "WRONGTYPE")
        watch(fleet, worker)
        fleet.db.delete(QUEUE)
        finish(fleet, worker, fleet.add_many("mastodon/brand", ["it-1"]))


# ---- whose Redis is it

@together.test
def test_a_redis_of_another_environment():
    """A copy of production's data under a staging worker: it stops with words, and nobody's posts go out."""
    with Fleet(["mastodon"]) as fleet:
        first, = fleet.add_many("mastodon/brand", ["it-1"])
        assert fleet.run_worker() == 0
        second, = fleet.add_many("mastodon/brand", ["it-2"])
        fleet.environment = "staging"
        fleet.write_config()
        worker = fleet.start_worker()
        worker.wait_exit(1)
        assert "belongs to the environment test, the configuration says staging" in worker.stderr(), worker.tail()
        assert fleet.row(second) == {} and fleet.db.xlen(QUEUE) == 1, "the entry is there for whom it belongs to"
        fleet.environment = "test"
        fleet.write_config()
        assert fleet.run_worker() == 0
        fleet.check_judge(**{first: 1, second: 1})


@together.test
def test_a_redis_of_another_environment_with_nothing_to_do():
    with Fleet(["mastodon"]) as fleet:
        fleet.add_many("mastodon/brand", ["it-1"])
        assert fleet.run_worker() == 0
        fleet.environment = "staging"
        fleet.write_config()
        worker = fleet.start_worker("--until-idle")
        worker.wait_exit(1)
        assert "environment" in worker.stderr()
