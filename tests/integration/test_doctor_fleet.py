# SPDX-License-Identifier: MIT
"""landfall doctor beside processes that work: it sees no trouble where there is none, asks little, and what it repairs
is then done by the workers, once."""
import json
import threading
import time

import pytest

from lib.cli import Cli
from lib.fleet import UNPACED, Fleet
from lib.procs import wait_for

LEDGER = ("group", "leases", "claims", "places", "rows", "agenda", "channels", "counts", "keys")


def doctor(fleet, *words):
    process = fleet.start("landfall", "doctor", "--json", "--config", fleet.config_path, *words)
    process.wait(60)
    document = json.loads(process.stdout())
    return {finding["check"]: finding for finding in document["findings"]}, document


def test_nothing_is_wrong_while_a_fleet_works():
    with Fleet(["mastodon"], channel={"mastodon": UNPACED["mastodon"]}) as fleet:
        deliveries = fleet.add_many("mastodon/brand", [f"it-{i}" for i in range(150)])
        with fleet.start_worker():
            looks = 0
            while looks < 3 or fleet.states(deliveries) != {"published": len(deliveries)}:
                found, document = doctor(fleet, "--repair")
                bad = [found[check] for check in LEDGER if found[check]["severity"] != "ok"]
                assert bad == [] and document["repaired"]["placed"] == document["repaired"]["removed"] == 0, (bad, document)
                assert document["repaired"]["counts"] == document["repaired"]["channels"] == 0
                looks += 1
                assert looks < 200, fleet.output()
        found, document = doctor(fleet)
        assert found["counts"]["severity"] == "ok" and document["looked_at"]["rows"] == len(deliveries)
        fleet.check_judge(**{delivery: 1 for delivery in deliveries})


def test_what_was_put_back_is_sent_once():
    with Fleet(["mastodon"]) as fleet:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
        fleet.add("mastodon/brand", fleet.item("later", landfall={"not_before": when}))
        fleet.add("mastodon/brand", fleet.item("now"))
        with fleet.start_worker():
            fleet.wait_state("mastodon/brand/later", "approved")
            fleet.wait_state("mastodon/brand/now", "published")
            assert fleet.db.zrem("lf:{0}:agenda", "delivery:mastodon/brand/later") == 1
            assert doctor(fleet)[0]["places"]["severity"] == "risk"
            found, document = doctor(fleet, "--repair")
            assert found["places"]["severity"] == "ok" and document["repaired"]["placed"] == 1
            fleet.wait_state("mastodon/brand/later", "published")
        fleet.check_judge(**{"mastodon/brand/later": 1, "mastodon/brand/now": 1})


def lost_claim(fleet, item_id):
    """A claim that a failed machine brought back half: claimed, sent, and neither lease nor place."""
    name, = fleet.add_many("mastodon/brand", [item_id])
    fleet.start_worker(crash_at="after_last_byte").wait_killed()
    assert fleet.db.zrem("lf:{0}:agenda", f"delivery:{name}") == fleet.db.delete(f"lf:{{0}}:lease:{name}") == 1
    return name


def test_a_reconciler_puts_back_what_a_failed_machine_left_on_no_list():
    """At its start, and whenever the server is another one; nobody has to know of it, and nothing is sent twice."""
    with Fleet(["mastodon"], redis_options={"appendonly": "yes", "appendfsync": "always"}) as fleet:
        settled = fleet.add_many("mastodon/brand", ["it-0"])
        fleet.run_worker()
        fleet.wait_states(settled, "published")
        first = lost_claim(fleet, "it-1")
        reconciler = fleet.start_reconciler()
        fleet.start_worker()
        assert fleet.wait_state(first, "published")["source"] == "read_back"
        wait_for(lambda: "ledger.placed" in reconciler.stderr(), what="the log to say so")
        fleet.processes[-1].stop()
        second = lost_claim(fleet, "it-2")
        fleet.redis.restart()
        fleet.start_worker()
        assert fleet.wait_state(second, "published", timeout_s=60)["source"] == "read_back"
        fleet.check_judge(**{"mastodon/brand/it-0": 1, first: 1, second: 1})


def test_a_reconciler_puts_back_the_walk_and_the_channel_that_the_agenda_does_not_name():
    """The agenda is what a script writes last: a machine that fails can bring back the lists without it."""
    with Fleet(["mastodon", "forem"]) as fleet:
        fleet.sim.fault("commit_then_close", "mastodon")
        doubtful, = fleet.add_many("mastodon/brand", ["it-1"])
        waits, = fleet.add_many("forem/brand", ["it-1"])
        fleet.start("landfall", "pause", "forem/brand", "--why", "a test", "--config", fleet.config_path).wait_exit(0)
        fleet.run_worker()
        assert fleet.state(doubtful) == "uncertain" and fleet.row(waits)["reason"] == "paused"
        fleet.db.hdel("lf:{0}:channel:forem/brand", "paused")
        assert fleet.db.delete("lf:{0}:agenda") == 1
        fleet.start_reconciler()
        fleet.start_worker()
        assert fleet.wait_state(doubtful, "published")["source"] == "read_back"
        fleet.wait_state(waits, "published")
        fleet.check_judge(**{doubtful: 1, waits: 1})


def test_all_of_many_rows_are_looked_at():
    """More than one step and one page of names takes, others among them."""
    with Fleet(["mastodon"]) as fleet:
        pipe = fleet.db.pipeline(transaction=False)
        for number in range(6000):
            state = "approved" if number % 20 == 0 else "published"
            pipe.hset(f"lf:{{0}}:delivery:mastodon/brand/it-{number}", mapping={"state": state, "rev": 1})
            pipe.set(f"lf:{{1}}:delivery:mastodon/brand/it-{number}", "another partition's")
        pipe.execute()
        reconciler = fleet.start_reconciler()
        wait_for(lambda: fleet.db.zcard("lf:{0}:agenda") >= 300, what=lambda: f"300 to stand on the agenda\n{fleet.output()}")
        assert fleet.db.zcard("lf:{0}:agenda") == 300 and reconciler.stop() == 0


@pytest.fixture
def cli(tmp_path):
    with Cli(tmp_path) as one:
        yield one


def test_counts_that_change_meanwhile_are_left_alone(cli):
    """They are wrong, but a count taken while others write proves nothing."""
    for i in range(300):
        cli.row(f"blog/brand/{i}", state="published", reason="confirmed", since=1)
    cli.client.hset(cli.key("counts"), "blog/brand published", 7)
    ends, beats = threading.Event(), cli.redis.client()

    def work():
        while not ends.is_set():
            beats.zadd(cli.key("agenda"), {"channel:blog/brand": time.time_ns() // 1000})

    thread = threading.Thread(target=work)
    thread.start()
    try:
        document = json.loads(cli.run("doctor", "--repair", "--json").out)
    finally:
        ends.set()
        thread.join()
    assert document["repaired"]["counts_left_alone"] and document["repaired"]["counts"] == 0
    assert cli.client.hget(cli.key("counts"), "blog/brand published") == "7"
    document = json.loads(cli.run("doctor", "--repair", "--json").out)
    assert document["repaired"]["counts"] == 1 and not document["repaired"]["counts_left_alone"]
    assert cli.client.hget(cli.key("counts"), "blog/brand published") == "300"


def test_many_rows_are_asked_in_few_round_trips(cli):
    pipe = cli.client.pipeline(transaction=False)
    for i in range(5000):
        pipe.hset(cli.key("delivery", f"blog/brand/{i}"), mapping={"state": "held", "reason": "approval", "rev": 1})
    pipe.hset(cli.key("counts"), "blog/brand held", 5000)
    pipe.execute()
    before = cli.client.info("stats")["total_reads_processed"]
    document = json.loads(cli.run("doctor", "--json").out)
    reads = cli.client.info("stats")["total_reads_processed"] - before
    assert document["looked_at"] == {"keys": 5001, "rows": 5000, "agenda": 0, "complete": True}
    # 20 pages of rows of 250, each of a few socket reads, and two passes over the keys: far from one a row.
    assert reads < 400


def test_a_thousand_places_are_repaired_at_once(cli):
    for i in range(1200):
        cli.client.hset(cli.key("delivery", f"blog/brand/{i}"), mapping={"state": "approved", "reason": "new", "rev": 1})
    what = {finding["check"]: finding["what"] for finding in json.loads(cli.run("doctor", "--json").out)["findings"]}
    assert "1200 (blog/brand/0, " in what["places"]
    repaired = [json.loads(cli.run("doctor", "--repair", "--json").out)["repaired"]["placed"] for _ in range(3)]
    assert repaired == [1000, 200, 0]
    assert cli.client.zcard(cli.key("agenda")) == 1200
