# SPDX-License-Identifier: MIT
"""Redis goes away, comes back as another, and answers get lost on the way: at the moments that matter most.

The fake platforms ask Redis itself whenever a write arrives; only the programs go through the proxy.
"""
import signal
import time

import pytest

from lib.fleet import TIMES, UNPACED, Fleet
from lib.procs import wait_for
from lib.together import Together

AWAY_S = 20
SHORT_AWAY_S = 8  # longer than the lease and than the limit of a round
WIDE = {"worker": {"slots": 64, "max_in_flight_per_channel": 64}}
QUEUE = "lf:{0}:queue"
together = Together(at_once=8)


def ids(count):
    return [f"it-{n:04}" for n in range(count)]


def held_write(fleet, platform="mastodon", limit_ms=60_000):
    """A worker whose write the platform has taken and does not answer yet."""
    fleet.sim.fault("hold", platform, limit_ms=limit_ms)
    delivery, = fleet.add_many(f"{platform}/brand", ["it-1"])
    worker = fleet.start_worker()
    fleet.sim.wait("holding")
    return delivery, worker


def wait_answered(fleet):
    """Until the platform's answer is out, and a little longer: the worker has it and nobody else knows."""
    fleet.sim.release()
    wait_for(lambda: fleet.sim.get("state")["holding"] == [], what="the answer to leave")
    time.sleep(0.3)


def check_once(fleet, delivery, source="response"):
    row = fleet.wait_state(delivery, "published")
    assert row["source"] == source and row["attempt"] == "1"
    assert fleet.sim.delivery(delivery)["writes"] == 1
    fleet.check_judge(**{delivery: 1})


def few_lines(worker, most):
    lines = worker.stderr().splitlines()
    assert len(lines) <= most, "\n".join(lines)


# ---- away right after the platform's answer

@together.test
def test_redis_stands_still_for_20_s_after_the_answer():
    with Fleet(["mastodon"], metrics=True) as fleet:
        delivery, worker = held_write(fleet)
        fleet.redis.pause()
        wait_answered(fleet)
        until = time.monotonic() + AWAY_S
        while time.monotonic() < until:
            assert worker.running
            time.sleep(1)
        assert fleet.metric("landfall_unsettled_outcomes") == 1 and fleet.metric("landfall_redis_up") == 0
        assert fleet.get("/live")[0] == 200 and fleet.get("/ready")[0] == 503
        fleet.redis.resume()
        check_once(fleet, delivery)
        wait_for(lambda: fleet.get("/ready")[0] == 200, what="/ready")
        few_lines(worker, 30)
        assert worker.stop() == 0


@together.test
def test_the_loop_turns_while_the_answer_to_a_round_is_awaited():
    with Fleet(["mastodon"], channel=UNPACED, metrics=True, config={"redis": {"round_limit_ms": 60_000}}) as fleet:
        delivery, worker = held_write(fleet)
        fleet.sim.fault("hold", "mastodon", limit_ms=60_000)
        other, = fleet.add_many("mastodon/brand", ["it-2"])
        wait_for(lambda: len(fleet.sim.get("state")["holding"]) == 2, what="both writes")
        first = fleet.sim.get("state")["holding"][0]
        fleet.redis.pause()
        fleet.sim.release(id=first["id"])
        wait_for(lambda: fleet.metric("landfall_unsettled_outcomes") == 1, what="an outcome whose round hangs")
        turns = fleet.metric("landfall_loop_turns_total")
        fleet.sim.release()
        wait_for(lambda: fleet.metric("landfall_in_flight") == 0, what="the other transfer's end")
        assert fleet.metric("landfall_unsettled_outcomes") == 2 and fleet.metric("landfall_loop_turns_total") > turns
        assert fleet.get("/live")[0] == 200 and fleet.metric("landfall_ledger_errors_total", word="lost") is None
        fleet.redis.resume()
        for name in (delivery, other):
            fleet.wait_state(name, "published")
        fleet.check_judge(**{delivery: 1, other: 1})
        assert worker.stop() == 0


@together.test
def test_redis_is_killed_and_comes_back_with_its_data():
    with Fleet(["mastodon"], redis_options={"appendonly": "yes", "appendfsync": "always"}) as fleet:
        delivery, worker = held_write(fleet)
        fleet.redis.kill()
        wait_answered(fleet)
        time.sleep(SHORT_AWAY_S)
        fleet.redis.start()
        check_once(fleet, delivery)
        few_lines(worker, 30)
        assert worker.stop() == 0


@together.test
def test_redis_is_killed_and_comes_back_empty():
    """The row is made again from the report: the delivery is not sent when its entry comes a second time."""
    with Fleet(["mastodon"]) as fleet:
        delivery, worker = held_write(fleet)
        before = fleet.row(delivery)
        fleet.redis.kill()
        wait_answered(fleet)
        fleet.redis.start()
        check_once(fleet, delivery)
        row = fleet.row(delivery)
        assert {k: row[k] for k in ("content", "key", "token")} == {k: before[k] for k in ("content", "key", "token")}
        fleet.add_many("mastodon/brand", ["it-1"])
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the second entry to be skipped")
        check_once(fleet, delivery)
        assert worker.stop() == 0


@together.test
def test_another_worker_sees_the_lease_end_while_the_answer_waits():
    """Only the sender has lost Redis. The lease ends, the delivery is in doubt, and the late report ends the doubt."""
    with Fleet(["mastodon"], proxied=True) as fleet:
        delivery, sender = held_write(fleet)
        fleet.proxy.refuse()
        wait_answered(fleet)
        other = fleet.start_worker(env={"LANDFALL_REDIS_URL": f"unix://{fleet.redis.socket_path}"})
        row = fleet.wait_state(delivery, "uncertain")
        assert row["reason"] == "lease_lost" and row["in_doubt"] == f"1:{row['token'][:8]}"
        fleet.proxy.accept()
        row = fleet.wait_state(delivery, "published")
        assert row["source"] == "response" and "in_doubt" not in row or row["in_doubt"] == ""
        assert fleet.sim.delivery(delivery)["writes"] == 1
        assert fleet.db.xlen("lf:{0}:journal") == 0
        fleet.check_judge(**{delivery: 1})
        assert [sender.stop(), other.stop()] == [0, 0]


@together.test
def test_a_worker_that_is_stopped_while_redis_is_away_waits_for_it_within_its_grace():
    with Fleet(["mastodon"], proxied=True) as fleet:
        delivery, worker = held_write(fleet)
        fleet.proxy.refuse()
        wait_answered(fleet)
        worker.send_signal(signal.SIGTERM)
        time.sleep(1)
        fleet.proxy.accept()
        check_once(fleet, delivery)
        worker.wait_exit(0)


@together.test
def test_a_worker_that_is_killed_while_redis_is_away_leaves_a_doubt_and_no_second_request():
    with Fleet(["mastodon"], proxied=True) as fleet:
        delivery, worker = held_write(fleet)
        fleet.proxy.refuse()
        wait_answered(fleet)
        worker.kill()
        fleet.proxy.accept()
        fleet.start_worker()
        row = fleet.wait_state(delivery, "uncertain")
        assert row["reason"] == "lease_lost"
        assert fleet.sim.delivery(delivery)["writes"] == 1
        fleet.check_judge(**{delivery: 1})


# ---- connections that die without a word

@together.test
def test_a_half_open_connection_is_noticed():
    """Nothing is forwarded and nothing is closed: within the limit of a round the worker has a new connection."""
    with Fleet(["mastodon"], proxied=True) as fleet:
        delivery, worker = held_write(fleet)
        fleet.proxy.freeze()
        wait_answered(fleet)
        time.sleep(6)
        fleet.proxy.drop_all()
        fleet.proxy.thaw()
        check_once(fleet, delivery)
        assert worker.stop() == 0


@together.test
def test_a_blocked_read_on_a_dead_connection():
    """The feed's connection dies silently while nothing happens; what is added afterwards is found without a restart."""
    with Fleet(["mastodon"], proxied=True) as fleet:
        worker = fleet.start_worker()
        wait_for(lambda: fleet.db.xinfo_consumers(QUEUE, "workers") if fleet.db.exists(QUEUE) else None, what="the reader")
        fleet.proxy.abandon()
        delivery, = fleet.add_many("mastodon/brand", ["it-1"])
        fleet.wait_state(delivery, "published", timeout_s=20)
        check_once(fleet, delivery)
        assert worker.stop() == 0


@together.test
def test_a_slow_network_before_redis():
    with Fleet(["mastodon", "webhook"], channel=UNPACED, config=WIDE, proxied=True) as fleet:
        fleet.proxy.delay_s = 0.2
        deliveries = fleet.add_many("mastodon/brand", ids(50)) + fleet.add_many("webhook/brand", ids(50))
        assert fleet.run_worker() == 0
        report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert report["totals"]["writes"] == len(deliveries)


# ---- answers that get lost

@pytest.mark.parametrize("delivered", [0, 1, 20, 63])
def test_answers_to_claims_get_lost(delivered):
    """64 claims travel together; the connection dies after some answers and Redis runs the rest."""
    with Fleet(["mastodon"], channel=UNPACED, config=WIDE, proxied=True) as fleet:
        lost = fleet.proxy.cut_after("granted", delivered)
        deliveries = fleet.add_many("mastodon/brand", ids(64))
        assert fleet.run_worker() == 0
        assert lost.is_set()
        check_all_once(fleet, deliveries)


@pytest.mark.parametrize("delivered", [0, 20])
def test_answers_to_settlements_get_lost(delivered):
    """Told again: the row is as it was told, the report is not counted twice."""
    with Fleet(["mastodon"], channel=UNPACED, config=WIDE, proxied=True) as fleet:
        lost = fleet.proxy.cut_after("ok", delivered)
        deliveries = fleet.add_many("mastodon/brand", ids(64))
        assert fleet.run_worker() == 0
        assert lost.is_set()
        check_all_once(fleet, deliveries)
        assert fleet.db.xlen("lf:{0}:outcomes") == len(deliveries)
        counts = {name: count for name, count in fleet.db.hgetall("lf:{0}:counts").items() if count != "0"}
        assert counts == {"mastodon/brand published": "64"}


@together.test
def test_an_answer_to_take_gets_lost():
    """What was handed over and did not arrive comes again in 30 s."""
    with Fleet(["webhook"], proxied=True) as fleet:
        fleet.sim.fault("status", "webhook", status=429, headers={"Retry-After": "1"})
        lost = fleet.proxy.cut_after("work")
        delivery, = fleet.add_many("webhook/brand", ["it-1"])
        worker = fleet.start_worker()
        wait_for(lost.is_set, 20, "the answer to be lost")
        row = fleet.wait_state(delivery, "published", timeout_s=45)
        assert row["attempt"] == "2"
        fleet.check_judge(**{delivery: 1})
        assert worker.stop() == 0


@together.test
def test_connections_die_all_the_time():
    """Their leases outlast it: a worker that waits before it connects again renews nothing meanwhile."""
    long = {name: {**extra, "times": {**TIMES, "lease_ms": 30000}} for name, extra in UNPACED.items()}
    with Fleet(["mastodon", "webhook"], channel=long, proxied=True) as fleet:
        deliveries = fleet.add_many("mastodon/brand", ids(100)) + fleet.add_many("webhook/brand", ids(100))
        workers = [fleet.start_worker() for _ in range(2)]
        for _ in range(25):
            time.sleep(0.15)
            fleet.proxy.drop_all()
            fleet.db.script_flush()
        fleet.wait_states(deliveries, "published", timeout_s=60)
        check_all_once(fleet, deliveries)
        assert [worker.stop() for worker in workers] == [0, 0]


@together.test
def test_doubts_end_although_connections_die_all_the_time():
    """The platform commits and hangs up; worker and reconciler lose Redis again and again. Each post is found, none is made
    twice."""
    with Fleet(["forem", "mastodon"], channel=UNPACED, proxied=True) as fleet:
        for platform in fleet.platforms:
            fleet.sim.fault("commit_then_close", platform, times=6)
        deliveries = fleet.add_many("forem/brand", ids(20)) + fleet.add_many("mastodon/brand", ids(20))
        programs = [fleet.start_worker(), fleet.start_reconciler()]
        for _ in range(20):
            time.sleep(0.2)
            fleet.proxy.drop_all()
        fleet.wait_states(deliveries, "published", timeout_s=60)
        fleet.check_judge(**dict.fromkeys(deliveries, 1))
        sources = [fleet.row(name)["source"] for name in deliveries]
        assert sources.count("response") <= len(deliveries) - 12 and "read_back" in sources
        assert fleet.db.xlen("lf:{0}:journal") == 0
        assert [process.stop() for process in programs] == [0, 0]


@together.test
def test_a_reconciler_lives_through_a_standstill():
    """Its page was read when Redis stood still: what it found is written when Redis is back, and nothing is sent again."""
    with Fleet(["forem"], channel=UNPACED) as fleet:
        fleet.sim.fault("commit_then_close", "forem")
        delivery, = fleet.add_many("forem/brand", ["it-1"])
        assert fleet.run_worker() == 3 and fleet.state(delivery) == "uncertain"
        reads = fleet.sim.report()["totals"]["reads"]
        reconciler = fleet.start_reconciler()
        wait_for(lambda: fleet.sim.report()["totals"]["reads"] > reads, 15, lambda: fleet.output())
        fleet.redis.pause()
        time.sleep(SHORT_AWAY_S)
        fleet.redis.resume()
        row = fleet.wait_state(delivery, "published")
        assert row["source"] == "read_back"
        assert fleet.sim.delivery(delivery)["writes"] == 1
        fleet.check_judge(**{delivery: 1})
        assert reconciler.stop() == 0


@together.test
def test_the_clients_are_killed_and_the_scripts_forgotten():
    with Fleet(["mastodon", "webhook"], channel=UNPACED) as fleet:
        deliveries = fleet.add_many("mastodon/brand", ids(100)) + fleet.add_many("webhook/brand", ids(100))
        worker = fleet.start_worker()
        for _ in range(20):
            time.sleep(0.15)
            for client in fleet.db.client_list():
                if client["name"] not in ("", None):
                    fleet.db.client_kill_filter(_id=client["id"])
            fleet.db.script_flush()
        fleet.wait_states(deliveries, "published", timeout_s=40)
        check_all_once(fleet, deliveries)
        assert worker.stop() == 0


def check_all_once(fleet, deliveries):
    assert fleet.states(deliveries) == {"published": len(deliveries)}
    report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
    assert report["totals"]["writes"] == len(deliveries), "nothing claimed stayed unsent, nothing was sent twice"
    assert {fleet.row(name)["attempt"] for name in deliveries} == {"1"}
    assert fleet.db.zcard("lf:{0}:agenda") == 0 and fleet.db.xlen(QUEUE) == 0
    assert list(fleet.db.scan_iter("lf:{0}:lease:*")) == []


# ---- how often Redis is asked

def test_round_trips_at_64_in_flight():
    """2,000 webhooks that take 50 ms each: rounds carry many deliveries. Counted from outside, reads of the queue included."""
    count = 2000
    with Fleet(["webhook"], channel=UNPACED, config=WIDE, proxied=True) as fleet:
        fleet.sim.fault("commit_then_late_answer", "webhook", times=-1, delay_ms=50)
        deliveries = fleet.add_many("webhook/brand", ids(count))
        worker = fleet.start_worker("--until-idle")
        worker.wait_exit(0, timeout_s=60)
        assert fleet.states(deliveries) == {"published": count}
        report = fleet.sim.report()
        assert report["violations"] == [] and report["totals"]["writes"] == count
        per_delivery = fleet.proxy.round_trips / count
        print(f"{per_delivery:.3f} round trips per delivery; {worker.stdout().strip()}")
        assert per_delivery < 0.2, worker.stdout()


# ---- another Redis than before

@together.test
def test_what_was_approved_before_a_restart_waits_and_goes_on_only_where_that_is_safe():
    """A Redis that restarted may have forgotten what was answered before. Harmless repeats go on at once; an upsert and a
    key inside its window after 10 s; where only reading helps, a delivery that was approved before is in doubt."""
    platforms = ["mastodon", "forem", "bluesky", "webhook"]
    short = {p: {**UNPACED[p], "times": dict(TIMES)} for p in platforms}
    short["mastodon"]["times"]["key_window_ms"] = 600_000
    with Fleet(platforms, channel=short, redis_options={"appendonly": "yes", "appendfsync": "always"}) as fleet:
        fleet.add_many("webhook/brand", ["first"])
        assert fleet.run_worker() == 0
        old = {p: fleet.add_many(f"{p}/brand", ["it-1"])[0] for p in platforms}
        fleet.redis.restart()
        started = time.monotonic()
        worker = fleet.start_worker()
        fleet.wait_state(old["webhook"], "published", timeout_s=8)
        fresh, = fleet.add_many("forem/brand", ["it-2"])
        while time.monotonic() < started + 8:
            assert fleet.sim.delivery(old["mastodon"]) is None and fleet.sim.delivery(fresh) is None
            time.sleep(0.2)
        assert fleet.row(old["mastodon"])["reason"] == "ledger_rewound"
        row = fleet.wait_state(old["forem"], "uncertain")
        assert (row["reason"], row["in_doubt"]) == ("ledger_rewound", "rewound")
        for delivery in (old["mastodon"], old["bluesky"], fresh):
            fleet.wait_state(delivery, "published")
        epoch = fleet.db.hgetall("lf:{0}:epoch")
        assert int(epoch["doubt_until"]) == int(epoch["rewound_at"]) + 10_000
        for delivery in (old["mastodon"], old["bluesky"], fresh):
            assert int(fleet.row(delivery)["since"]) >= int(epoch["doubt_until"])
        fleet.check_judge(**{old["forem"]: 0, fresh: 1, old["mastodon"]: 1, old["bluesky"]: 1, old["webhook"]: 1})
        assert worker.stop() == 0


@together.test
def test_a_worker_that_lived_through_the_restart_notices_it():
    with Fleet(["forem"], channel=UNPACED, redis_options={"appendonly": "yes", "appendfsync": "always"}) as fleet:
        worker = fleet.start_worker()
        first, = fleet.add_many("forem/brand", ["first"])
        fleet.wait_state(first, "published")
        worker.pause()
        old, = fleet.add_many("forem/brand", ["it-1"])
        fleet.redis.restart()
        worker.resume()
        row = fleet.wait_state(old, "uncertain")
        assert row["reason"] == "ledger_rewound"
        fleet.check_judge(**{first: 1, old: 0})
        assert worker.stop() == 0
