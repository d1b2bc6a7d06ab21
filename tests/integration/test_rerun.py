# SPDX-License-Identifier: MIT
"""The same work again: by new processes, by several at once, by the next one after a death. The fake platforms count."""
import re
import signal

import pytest

from lib.fleet import CHANNELS, UNPACED, Fleet
from lib.procs import free_port, wait_for
from lib.together import Together

PLATFORMS = ["mastodon", "forem", "bluesky", "indexnow", "webhook"]
QUEUE = "lf:{0}:queue"
WIDE = {"worker": {"slots": 64, "max_in_flight_per_channel": 64}}
together = Together()


def feed(fleet, ids, times=1):
    """Every item for every channel, so many times; the deliveries."""
    deliveries = []
    for _ in range(times):
        deliveries = [name for p in fleet.platforms for name in fleet.add_many(CHANNELS[p], ids)]
    return deliveries


def ids(count):
    return [f"it-{n:03}" for n in range(count)]


def tally(process):
    """The numbers of the report's line by the word before them, and `before`."""
    line = process.stdout().strip().splitlines()[-1]
    found = re.fullmatch(r"due (\d+): published (\d+) \((\d+) of them before\), rejected (\d+), uncertain (\d+), held (\d+), "
                         r"waiting (\d+)\. Input refused (\d+), conflicting (\d+)\. (\d+) write requests, (\d+) ledger .*", line)
    assert found, line
    words = "due published before rejected uncertain held waiting refused conflicting writes round_trips".split()
    return dict(zip(words, map(int, found.groups())))


def run_all(fleet, code=0, workers=1):
    processes = [fleet.start_worker("--until-idle") for _ in range(workers)]
    for process in processes:
        process.wait_exit(code, timeout_s=60)
    return [tally(process) for process in processes]


@together.test
def test_a_second_run_of_the_same_input_skips_everything():
    with Fleet(PLATFORMS, channel=UNPACED, config=WIDE) as fleet:
        deliveries = feed(fleet, ids(12))
        first, = run_all(fleet)
        assert first["published"] == first["writes"] == len(deliveries) and first["before"] == 0
        rows = {name: fleet.row(name) for name in deliveries}
        writes = fleet.sim.report()["totals"]["writes"]
        fleet.db.script_flush()
        fleet.db.xgroup_destroy(QUEUE, "workers")
        feed(fleet, ids(12))
        second, = run_all(fleet)
        assert second["published"] == second["before"] == second["due"] == len(deliveries)
        assert second["writes"] == 0 and fleet.sim.report()["totals"]["writes"] == writes
        assert {name: fleet.row(name) for name in deliveries} == rows, "a row that was settled is not touched"
        assert fleet.db.xlen(QUEUE) == 0
        fleet.check_judge(**dict.fromkeys(deliveries, 1))


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_that_are_fed_the_same_deliveries(workers):
    with Fleet(["mastodon", "webhook"], channel=UNPACED, config=WIDE) as fleet:
        deliveries = feed(fleet, ids(40), times=3)
        run_all(fleet, workers=workers)
        assert fleet.states(deliveries) == {"published": len(deliveries)}
        report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert report["totals"]["writes"] == len(deliveries), "one request each, harmless repeats or not"
        assert {fleet.row(name)["attempt"] for name in deliveries} == {"1"}


@together.test
def test_an_item_that_is_added_while_it_is_sent():
    """The second entry meets the claim of the first: busy, and no request."""
    with Fleet(["mastodon"]) as fleet:
        fleet.sim.fault("hold", "mastodon")
        name, = fleet.add_many("mastodon/brand", ["it-1"])
        workers = [fleet.start_worker() for _ in range(2)]
        fleet.sim.wait("holding")
        fleet.add_many("mastodon/brand", ["it-1", "it-1"])
        wait_for(lambda: fleet.db.xlen(QUEUE) == 0, what="both entries to be answered busy")
        assert fleet.state(name) == "claimed"
        fleet.sim.release()
        fleet.wait_state(name, "published")
        assert [worker.stop() for worker in workers] == [0, 0]
        assert fleet.sim.delivery(name)["writes"] == 1
        fleet.check_judge(**{name: 1})


@together.test
def test_the_same_id_with_other_content_is_refused():
    with Fleet(["mastodon"]) as fleet:
        name = "mastodon/brand/it-1"
        fleet.add("mastodon/brand", fleet.item("it-1"))
        run_all(fleet)
        before = fleet.row(name)
        entry = fleet.add("mastodon/brand", fleet.item("it-1", content_text="Another text https://blog.example/p/it-1"))
        fleet.add("mastodon/brand", fleet.item("it-2"))
        told, = run_all(fleet, code=1)
        assert (told["conflicting"], told["published"], told["writes"]) == (1, 1, 1), "the rest of the input was taken"
        assert fleet.row(name) == before
        (_, refused), = fleet.db.xrange("lf:{0}:refused")
        assert refused["entry"] == entry and "other content" in refused["why"] and "Another text" in refused["first_kb"]
        assert before["content"] in refused["why"], "it names the content that the id has"
        assert "input.conflict" in fleet.processes[-1].stderr()
        assert fleet.db.xlen(QUEUE) == 0
        fleet.check_judge(**{name: 1, "mastodon/brand/it-2": 1})


@together.test
def test_an_entry_of_a_worker_that_died_before_its_claim():
    with Fleet(["mastodon"]) as fleet:
        name, = fleet.add_many("mastodon/brand", ["it-1"])
        fleet.start_worker(crash_at="after_read").wait_killed()
        assert fleet.row(name) == {} and fleet.db.xpending(QUEUE, "workers")["pending"] == 1
        told, = run_all(fleet)
        assert told["published"] == 1
        fleet.check_judge(**{name: 1})


@together.test
def test_deaths_between_read_and_claim_use_up_no_attempt():
    """The entry is handed out three times; that is no attempt, and it is not put aside."""
    with Fleet(["mastodon"]) as fleet:
        name, = fleet.add_many("mastodon/brand", ["it-1"])
        for _ in range(3):
            fleet.start_worker(crash_at="after_read").wait_killed()
        run_all(fleet)
        assert fleet.row(name)["attempt"] == "1" and fleet.refused() == {}
        fleet.check_judge(**{name: 1})


@together.test
def test_an_entry_that_kills_every_worker_is_put_aside():
    with Fleet(["mastodon"]) as fleet:
        entry = fleet.add("mastodon/brand", fleet.item("it-1"))
        for _ in range(5):
            fleet.start_worker(crash_at="after_read").wait_killed()
        told, = run_all(fleet, code=1)
        assert told["refused"] == 1 and told["writes"] == 0
        (_, refused), = fleet.db.xrange("lf:{0}:refused")
        assert refused["entry"] == entry and "handed out" in refused["why"]


@together.test
def test_a_worker_that_goes_leaves_its_pending_entries_to_others():
    few = {"worker": {"slots": 4, "max_in_flight_per_channel": 4, "grace_ms": 0}}
    with Fleet(["mastodon"], channel=UNPACED, config=few) as fleet:
        fleet.sim.fault("hold", "mastodon", times=4, commit=False)
        deliveries = fleet.add_many("mastodon/brand", ids(30))
        worker = fleet.start_worker()
        fleet.sim.wait("holding", count=4)
        assert worker.stop() == 0
        sent = set(fleet.sim.report()["deliveries"])
        assert fleet.states(sent) == {"uncertain": 4}, "without grace, what was in flight is given up and is in doubt"
        fleet.start_worker()
        fleet.wait_states(set(deliveries) - sent, "published")
        report = fleet.check_judge()
        assert report["totals"]["writes"] == len(deliveries) and fleet.db.xlen(QUEUE) == 0


@together.test
def test_consumers_that_have_nothing_pending_are_cleaned_up():
    with Fleet(["mastodon"]) as fleet:
        fleet.add_many("mastodon/brand", ["it-1"])
        run_all(fleet)
        assert fleet.db.xinfo_consumers(QUEUE, "workers") == []


@together.test
def test_consumers_of_killed_workers_do_not_pile_up():
    """Every start has a name of its own, and who is killed cannot leave. What is pending for the dead is not lost with them."""
    with Fleet(["mastodon"], channel=UNPACED, config={"worker": {"reclaim_idle_ms": 100}}) as fleet:
        for number in range(4):
            one, = fleet.add_many("mastodon/brand", [f"it-{number}"])
            fleet.start_worker(crash_at="after_settle").wait_killed()
            assert fleet.state(one) == "published"
        waiting, = fleet.add_many("mastodon/brand", ["it-4"])
        fleet.start_worker(crash_at="after_read").wait_killed()
        assert len(fleet.db.xinfo_consumers(QUEUE, "workers")) >= 5
        worker = fleet.start_worker()
        fleet.wait_state(waiting, "published")
        wait_for(lambda: len(fleet.db.xinfo_consumers(QUEUE, "workers")) == 1, what=lambda: f"one consumer\n{fleet.output()}")
        assert worker.running and "feed.tidied" in worker.stderr()
        later, = fleet.add_many("mastodon/brand", ["later"])
        fleet.wait_state(later, "published")
        fleet.check_judge(**{waiting: 1, later: 1})


@together.test
def test_workers_of_the_same_name():
    """One name means one consumer: both drain the same pending list. The lease still lets one request through."""
    with Fleet(["mastodon"], channel=UNPACED, config={"worker": {**WIDE["worker"], "name": "twin", "reclaim_idle_ms": 100}}) as fleet:
        deliveries = feed(fleet, ids(60), times=2)
        run_all(fleet, workers=2)
        report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert report["totals"]["writes"] == len(deliveries)


@together.test
def test_workers_killed_at_random_moments():
    """Twelve kills while forty deliveries go out; leases end, nothing is sent twice, every lease has an end."""
    with Fleet(["mastodon", "webhook"], channel=UNPACED, config={"worker": {"reclaim_idle_ms": 100}}) as fleet:
        deliveries = feed(fleet, ids(40))
        for n in range(12):
            worker = fleet.start_worker()
            wait_for(lambda at=n: not worker.running or fleet.sim.report()["totals"]["writes"] > 3 * at, 20)
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            assert all(fleet.db.pttl(key) != -1 for key in fleet.db.scan_iter("lf:{0}:lease:*"))
        fleet.start_worker()
        fleet.wait_states([name for name in deliveries if fleet.state(name) in ("published", "approved", None)], "published")
        wait_for(lambda: set(fleet.states(deliveries)) <= {"published", "uncertain"}, 20, lambda: fleet.states(deliveries))
        report = fleet.check_judge()
        assert all(seen["commits"] <= 2 for seen in report["deliveries"].values())


@together.test
def test_an_address_with_a_wrong_port_costs_nothing_and_its_correction_sends_each_once():
    """Nobody listens there, so nothing was sent: no attempt is used up, and what was rendered for that address is made anew."""
    nobody = f"http://127.0.0.1:{free_port()}"
    wrong = {p: {**UNPACED[p], "settings_extra": {"url" if p == "webhook" else "instance": nobody}} for p in PLATFORMS}
    with Fleet(PLATFORMS, channel=wrong) as fleet:
        worker = fleet.start_worker()
        deliveries = feed(fleet, ids(2))
        wait_for(lambda: all(int(fleet.row(name).get("attempt", 0)) >= 2 for name in deliveries), 30, fleet.output)
        assert worker.stop() == 0
        rows = [fleet.row(name) for name in deliveries]
        assert [(row["state"], row.get("tries", "0")) for row in rows] == [("approved", "0")] * len(rows), rows
        fleet.channel_extra = UNPACED
        fleet.write_config()
        fleet.start_worker()
        fleet.wait_states(deliveries, "published", timeout_s=60)
        fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert fleet.sim.report()["totals"]["writes"] == len(deliveries)
