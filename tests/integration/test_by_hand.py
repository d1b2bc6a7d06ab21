# SPDX-License-Identifier: MIT
"""Somebody's hand in the ledger while a worker works: the documented effect, and no second commit.

Writes are held by the fake platform, so that the hand comes between the request and its answer.
"""
import contextlib
import time

from lib.fleet import UNPACED, Fleet
from lib.procs import wait_for
from lib.together import Together

QUEUE = "lf:{0}:queue"
AGENDA = "lf:{0}:agenda"
CHANNEL = "mastodon/brand"
NAME = "mastodon/brand/it-1"
ROW, LEASE, REQUEST = (f"lf:{{0}}:{kind}:{NAME}" for kind in ("delivery", "lease", "request"))
LEASE_S = 6.5
together = Together(at_once=8)


@contextlib.contextmanager
def in_flight(platform="mastodon", honour_keys=True, workers=1, **kwargs):
    """A fleet whose worker has a write in flight that the platform has committed and not answered. The platform ignores
    keys where asked, so that a second request would be a second post."""
    instances = {"mastodon": {"honour_keys": honour_keys}} if platform == "mastodon" else {}
    with Fleet([platform], channel=UNPACED, instances=instances, **kwargs) as fleet:
        fleet.sim.fault("hold", platform, limit_ms=60_000)
        fleet.add_many(f"{platform}/brand", ["it-1"])
        fleet.sender = fleet.start_worker()
        fleet.sim.wait("holding")
        for _ in range(workers - 1):
            fleet.start_worker().wait_output("worker.started")
        yield fleet


def end(fleet, delivery=NAME, source="response"):
    """The answer leaves, the delivery is published by it; one request, one commit, and nothing is left of it."""
    fleet.sim.release()
    row = fleet.wait_state(delivery, "published")
    assert row["source"] == source
    assert fleet.sim.delivery(delivery)["writes"] == 1, fleet.output()
    fleet.check_judge(**{delivery: 1})
    left = [m for m in fleet.db.zrange(AGENDA, 0, -1) if delivery in m]
    assert left == [] and fleet.db.zscore(f"lf:{{0}}:waiting:{CHANNEL}", delivery) is None
    assert fleet.db.zscore(f"lf:{{0}}:uncertain:{CHANNEL}", delivery) is None and fleet.db.xlen("lf:{0}:journal") == 0
    assert "content" not in fleet.db.hgetall(f"lf:{{0}}:request:{delivery}")
    for process in fleet.processes:
        assert process.stop() == 0, process.tail()
    return row


# ---- leases

@together.test
def test_the_lease_is_deleted_during_the_send():
    with in_flight(honour_keys=False, workers=2) as fleet:
        assert fleet.db.delete(LEASE) == 1
        fleet.add_many(CHANNEL, ["it-1"])
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the second entry to be answered")
        assert fleet.state(NAME) == "claimed", "a claim is the row's, with or without its lease"
        end(fleet)


@together.test
def test_a_claim_without_a_lease_becomes_uncertain_and_the_report_ends_that():
    with in_flight(honour_keys=False, workers=2) as fleet:
        fleet.db.delete(LEASE)
        fleet.hurry(NAME)
        row = fleet.wait_state(NAME, "uncertain")
        assert row["reason"] == "lease_lost" and row["in_doubt"] == f"1:{row['token'][:8]}"
        end(fleet)


@together.test
def test_the_lease_is_somebody_elses():
    """The report settles, and the foreign lease is left to its owner."""
    with in_flight(honour_keys=False) as fleet:
        fleet.db.set(LEASE, "somebody 7 else", px=60_000)
        end(fleet)
        assert fleet.db.get(LEASE) == "somebody 7 else"


@together.test
def test_a_lease_without_a_row_holds_the_claim_back():
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        fleet.db.set(LEASE, "somebody 7 else", px=3000)
        fleet.add_many(CHANNEL, ["it-1"])
        worker = fleet.start_worker()
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the entry to be answered")
        assert fleet.state(NAME) == "approved" and fleet.sim.delivery(NAME) is None
        fleet.wait_state(NAME, "published")
        fleet.check_judge(**{NAME: 1})
        assert worker.stop() == 0


@together.test
def test_a_lease_that_was_made_to_last_for_ever():
    """It ends where the attempt can no longer commit: the delivery does not stay claimed for good."""
    with in_flight(honour_keys=False, workers=2) as fleet:
        fleet.db.persist(LEASE)
        fleet.sender.kill()
        fleet.sim.release()
        row = fleet.wait_state(NAME, "uncertain")
        assert row["reason"] == "lease_lost" and int(row["since"]) >= int(row["commit_by"])
        fleet.check_judge(**{NAME: 1})


@together.test
def test_the_lease_is_of_another_type():
    """Nothing can be said about the claim until the key is mended; the report waits."""
    with in_flight(honour_keys=False) as fleet:
        fleet.db.delete(LEASE)
        fleet.db.hset(LEASE, "a", "b")
        fleet.sim.release()
        fleet.sender.wait_output("delivery.unreadable")
        assert fleet.state(NAME) == "claimed"
        fleet.db.delete(LEASE)
        end(fleet)


# ---- rows

@together.test
def test_the_state_is_set_to_approved_while_it_is_sent():
    """The lease still stands, so nobody else sends; the report of a claim that the row does not show is believed."""
    with in_flight(honour_keys=False, workers=2) as fleet:
        fleet.db.hset(ROW, "state", "approved")
        fleet.add_many(CHANNEL, ["it-1"])
        fleet.hurry(NAME)
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the second entry to be answered")
        assert fleet.state(NAME) == "approved"
        end(fleet)


@together.test
def test_of_two_that_send_at_once_the_answer_with_the_post_stands():
    """Lease and state are gone, so a second worker sends too. It is refused with 503: that is neither the delivery's end nor
    a reason to try a third time."""
    with in_flight(honour_keys=False, workers=2) as fleet:
        fleet.sim.fault("status", "mastodon", status=503, body={"error": "the key is in use"})
        fleet.db.delete(LEASE)
        fleet.db.hset(ROW, "state", "approved")
        fleet.hurry(NAME)
        row = fleet.wait_state(NAME, "uncertain")
        assert row["attempt"] == "2" and row["in_doubt"] == f"2:{row['token'][:8]}", row
        fleet.sim.release()
        row = fleet.wait_state(NAME, "published")
        assert [row["ext_id"]] == fleet.sim.delivery(NAME)["external_ids"], row
        assert [process.stop() for process in fleet.processes] == [0, 0]
        assert fleet.db.zcard(AGENDA) == 0 and fleet.sim.delivery(NAME)["writes"] == 2
        fleet.check_judge(**{NAME: 1})


@together.test
def test_the_state_is_set_to_published_while_it_is_sent():
    with in_flight(honour_keys=False) as fleet:
        fleet.db.hset(ROW, "state", "published")
        fleet.sim.release()
        wait_for(lambda: fleet.db.get(LEASE) is None or fleet.sender.stderr().count("delivery.") > 0, 10, "the report")
        assert fleet.state(NAME) == "published"
        fleet.add_many(CHANNEL, ["it-1"])
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the second entry to be skipped")
        assert fleet.sim.delivery(NAME)["writes"] == 1
        assert fleet.sender.stop() == 0


@together.test
def test_the_state_is_set_to_rejected_while_it_is_sent():
    """Evidence wins: it is published, and whoever rejected it is told."""
    with in_flight(honour_keys=False) as fleet:
        fleet.db.hset(ROW, "state", "rejected")
        end(fleet)
        assert "delivery.alert" in fleet.sender.stderr()


@together.test
def test_the_attempt_is_set_back_while_it_is_sent():
    with in_flight(honour_keys=False, workers=2) as fleet:
        fleet.db.hdel(ROW, "attempt")
        fleet.db.hset(ROW, "token", "0123456789abcdef")
        row = end(fleet)
        assert row["ext_id"]


@together.test
def test_the_row_is_deleted_while_it_is_sent():
    """It is made again from the report. Until then its lease keeps a second entry from being sent."""
    with in_flight(honour_keys=False, workers=2) as fleet:
        before = fleet.row(NAME)
        fleet.db.delete(ROW, REQUEST)
        fleet.add_many(CHANNEL, ["it-1"])
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the second entry to be answered")
        assert fleet.state(NAME) == "approved"
        row = end(fleet)
        assert row["content"] == before["content"] and row["ext_id"]


@together.test
def test_the_row_is_deleted_and_the_attempt_fails():
    """What was rejected is rejected in the row that is made again; a doubt is a doubt there."""
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        for item_id, fault in (("it-1", {"commit": False}), ("it-2", {})):
            fleet.sim.fault("hold", "mastodon", limit_ms=60_000, on={"delivery": item_id}, **fault)
        fleet.add_many(CHANNEL, ["it-1", "it-2"])
        worker = fleet.start_worker()
        fleet.sim.wait("holding", count=2)
        for item_id in ("it-1", "it-2"):
            fleet.db.delete(f"lf:{{0}}:delivery:{CHANNEL}/{item_id}", f"lf:{{0}}:request:{CHANNEL}/{item_id}")
        fleet.sim.release("close")
        for item_id in ("it-1", "it-2"):
            row = fleet.wait_state(f"{CHANNEL}/{item_id}", "uncertain")
            assert row["in_doubt"] == f"1:{row['token'][:8]}" and row["key"] and row["content"]
            assert fleet.db.hexists(f"lf:{{0}}:request:{CHANNEL}/{item_id}", "frozen")
        fleet.check_judge(**{f"{CHANNEL}/it-1": 0, f"{CHANNEL}/it-2": 1})
        assert worker.stop() == 0


@together.test
def test_the_state_is_garbage():
    """The report waits, with words, until somebody mends the row; a second entry does not get past it."""
    with in_flight(honour_keys=False) as fleet:
        fleet.db.hset(ROW, "state", "sent?")
        fleet.add_many(CHANNEL, ["it-1"])
        fleet.sim.release()
        fleet.sender.wait_output("delivery.unreadable")
        time.sleep(1)
        assert fleet.state(NAME) == "sent?" and fleet.sim.delivery(NAME)["writes"] == 1
        fleet.db.hset(ROW, "state", "claimed")
        end(fleet)


@together.test
def test_a_row_of_another_type_stops_nobody_else():
    """Its entry is put aside with words after five tries; the others of its batch go out."""
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        fleet.db.set(ROW, "somebody else's")
        entry = None
        for item_id in ("it-0", "it-1", "it-2"):
            got = fleet.add(CHANNEL, fleet.item(item_id))
            entry = got if item_id == "it-1" else entry
        worker = fleet.start_worker()
        fleet.wait_states([f"{CHANNEL}/it-0", f"{CHANNEL}/it-2"], "published")
        worker.wait_output("delivery.unreadable")
        wait_for(lambda: entry in fleet.refused(), 20, "the entry to be put aside")
        assert fleet.db.get(ROW) == "somebody else's" and fleet.db.xlen(QUEUE) == 0
        fleet.check_judge(**{NAME: 0})
        assert worker.stop() == 0


@together.test
def test_a_row_that_became_another_type_while_it_is_sent():
    with in_flight(honour_keys=False) as fleet:
        fleet.db.delete(ROW)
        fleet.db.set(ROW, "somebody else's")
        fleet.sim.release()
        fleet.sender.wait_output("delivery.unreadable")
        fleet.db.delete(ROW)
        end(fleet)


# ---- what all deliveries share

def spoiled(fleet, key):
    """A key of ours that somebody has overwritten: nothing is sent, nothing is put aside; gone again, work goes on."""
    worker = fleet.start_worker()
    wait_for(lambda: fleet.db.exists(QUEUE), what="the worker to work")
    fleet.db.delete(key)
    fleet.db.set(key, "somebody else's")
    deliveries = fleet.add_many(CHANNEL, [f"it-{n}" for n in range(5)])
    worker.wait_output("WRONGTYPE")
    time.sleep(3)
    assert fleet.sim.report()["totals"]["writes"] == 0
    assert fleet.refused() == {}, "it is not the entries' fault"
    lines = len(worker.stderr().splitlines())
    assert lines <= 40, worker.tail()
    fleet.db.delete(key)
    fleet.wait_states(deliveries, "published")
    fleet.check_judge(**dict.fromkeys(deliveries, 1))
    assert worker.stop() == 0


@together.test
def test_the_agenda_is_of_another_type():
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        spoiled(fleet, AGENDA)


@together.test
def test_the_counters_are_of_another_type():
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        spoiled(fleet, "lf:{0}:counts")


@together.test
def test_the_agenda_is_deleted():
    """What was claimed is settled by its worker; what waits for its time alone is lost to the agenda, not to the ledger."""
    with in_flight(honour_keys=False) as fleet:
        fleet.db.delete(AGENDA)
        end(fleet)


@together.test
def test_members_of_the_agenda_that_are_no_names():
    with in_flight(honour_keys=False) as fleet:
        fleet.db.zadd(AGENDA, {"delivery:": 1, "channel:": 1, "nonsense": 1, "delivery:a": 1, f"delivery:{CHANNEL}/ghost": 1,
                               "channel:no/such": 1, "delivery:" + "x" * 600: 1})
        fleet.sim.release()
        fleet.wait_state(NAME, "published")
        second = fleet.add_many(CHANNEL, ["it-2"])
        fleet.wait_states(second, "published")
        fleet.check_judge(**{NAME: 1, second[0]: 1})
        assert fleet.row(f"{CHANNEL}/ghost") == {}
        assert fleet.sender.stop() == 0


# ---- the queue

@together.test
def test_an_entry_that_is_deleted_while_it_is_pending():
    """A producer's trim took what a dead worker had read. It never became a delivery; the log says which entry."""
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        entry = fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.db.xgroup_create(QUEUE, "workers", "0")
        fleet.db.xreadgroup("workers", "dead", {QUEUE: ">"})
        fleet.db.xdel(QUEUE, entry)
        second = fleet.add_many(CHANNEL, ["it-2"])
        worker = fleet.start_worker("--until-idle")
        worker.wait_exit(0)
        assert "input.lost" in worker.stderr() and entry in worker.stderr()
        assert fleet.states(second) == {"published": 1} and fleet.row(NAME) == {}
        assert fleet.db.xpending(QUEUE, "workers")["pending"] == 0


@together.test
def test_an_entry_that_is_deleted_between_reading_and_claiming():
    """The worker still has what it read: the item goes into the row from there."""
    with Fleet(["mastodon"], channel=UNPACED, proxied=True) as fleet:
        fleet.proxy.delay_s = 0.3
        worker = fleet.start_worker()
        wait_for(lambda: fleet.db.exists(QUEUE), what="the group")
        entry = fleet.add(CHANNEL, fleet.item("it-1"))
        wait_for(lambda: fleet.db.xpending(QUEUE, "workers")["pending"] == 1, what="the entry to be read")
        assert fleet.db.xdel(QUEUE, entry) == 1
        fleet.wait_state(NAME, "published")
        fleet.check_judge(**{NAME: 1})
        assert worker.stop() == 0


@together.test
def test_an_entry_that_is_acknowledged_by_hand():
    """It belongs to nobody any more and is not sent. --until-idle says that the queue is not empty; a new group reads it."""
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        entry = fleet.add(CHANNEL, fleet.item("it-1"))
        fleet.db.xgroup_create(QUEUE, "workers", "0")
        fleet.db.xreadgroup("workers", "dead", {QUEUE: ">"})
        fleet.db.xack(QUEUE, "workers", entry)
        second = fleet.add_many(CHANNEL, ["it-2"])
        worker = fleet.start_worker("--until-idle")
        fleet.wait_states(second, "published")
        time.sleep(2)
        assert fleet.row(NAME) == {}
        fleet.db.xgroup_destroy(QUEUE, "workers")
        worker.wait_exit(0)
        fleet.check_judge(**{NAME: 1, second[0]: 1})


@together.test
def test_the_queue_is_deleted_while_something_is_sent():
    with in_flight(honour_keys=False) as fleet:
        fleet.db.delete(QUEUE)
        fleet.sim.release()
        fleet.wait_state(NAME, "published")
        second = fleet.add_many(CHANNEL, ["it-2"])
        fleet.wait_states(second, "published")
        fleet.check_judge(**{NAME: 1, second[0]: 1})
        assert fleet.sender.stop() == 0


# ---- everything

@together.test
def test_flushall_while_many_are_sent():
    """What is in flight is written down again from its reports; a second feed of those is skipped. What was published before
    the flush is forgotten: that is what the ledger is for."""
    count = 16
    with Fleet(["mastodon"], channel=UNPACED, instances={"mastodon": {"honour_keys": False}}) as fleet:
        fleet.sim.fault("hold", "mastodon", times=count, limit_ms=60_000)
        deliveries = fleet.add_many(CHANNEL, [f"it-{n}" for n in range(count)])
        worker = fleet.start_worker()
        fleet.sim.wait("holding", count=count)
        fleet.db.flushall()
        fleet.sim.release()
        fleet.wait_states(deliveries, "published")
        fleet.add_many(CHANNEL, [f"it-{n}" for n in range(count)])
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="the second feed to be skipped")
        report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert report["totals"]["writes"] == count
        assert fleet.db.hget("lf:{0}:epoch", "environment") == "test"
        assert worker.stop() == 0


@together.test
def test_flushall_again_and_again_while_items_come():
    """Nobody crashes, nothing is sent unclaimed, and a delivery that is fed once is sent at most once."""
    with Fleet(["mastodon"], channel=UNPACED, instances={"mastodon": {"honour_keys": False}}) as fleet:
        workers = [fleet.start_worker() for _ in range(2)]
        for n in range(12):
            fleet.add_many(CHANNEL, [f"it-{n}-{i}" for i in range(10)])
            time.sleep(0.1)
            fleet.db.flushall()
        last = fleet.add_many(CHANNEL, ["last"])
        fleet.wait_states(last, "published")
        report = fleet.sim.report()
        assert report["totals"]["duplicates"] == 0
        kinds = {violation["kind"] for violation in report["violations"]}
        assert kinds <= {"O2"}, "a row that was flushed between its claim and the request's arrival, and nothing else"
        assert [worker.stop() for worker in workers] == [0, 0]


# ---- time

@together.test
def test_a_worker_that_is_stopped_past_its_lease():
    """SIGSTOP during the send, the answer lies in its socket, the lease ends, another worker notes the doubt. SIGCONT: the
    late report is taken, nothing is sent a second time."""
    with in_flight(honour_keys=False, workers=2) as fleet:
        fleet.sender.pause()
        fleet.sim.release()
        row = fleet.wait_state(NAME, "uncertain")
        assert row["reason"] == "lease_lost"
        fleet.sender.resume()
        end(fleet)


@together.test
def test_a_worker_that_is_stopped_between_claim_and_send():
    """Its lease has ended before its first byte left: it does not send any more."""
    with Fleet(["mastodon"], channel=UNPACED, instances={"mastodon": {"honour_keys": False}}, proxied=True) as fleet:
        worker = fleet.start_worker()
        wait_for(lambda: fleet.db.exists(QUEUE), what="the group")
        fleet.proxy.delay_s = 0.4
        fleet.add_many(CHANNEL, ["it-1"])
        fleet.wait_state(NAME, "claimed")
        worker.pause()
        fleet.proxy.delay_s = 0
        other = fleet.start_worker(env={"LANDFALL_REDIS_URL": f"unix://{fleet.redis.socket_path}"})
        fleet.wait_state(NAME, "uncertain")
        worker.resume()
        wait_for(lambda: "delivery.settled" in worker.stderr(), 20, lambda: worker.tail())
        assert fleet.sim.delivery(NAME) is None, "nothing was sent after the lease"
        row = fleet.row(NAME)
        assert (row["state"], row.get("in_doubt", "")) in (("approved", ""), ("uncertain", "")), row
        assert [worker.stop(), other.stop()] == [0, 0]


