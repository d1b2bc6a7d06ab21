# SPDX-License-Identifier: MIT
"""A channel that was paused goes on by itself when what it waited for has happened, and not before."""
import signal

from lib.fleet import UNPACED, Fleet
from lib.procs import wait_for


def paused(fleet):
    return fleet.db.hget("lf:{0}:channel:mastodon/brand", "paused")


def test_a_new_credential_lifts_the_pause_at_sighup_and_at_a_start():
    with Fleet(["mastodon"]) as fleet:
        good = fleet.secrets["mastodon"]
        fleet.write_secret("mastodon", "wrong-token-1")
        worker = fleet.start_worker(name="worker")
        fleet.add("mastodon/brand", fleet.item("it-1"))
        wait_for(lambda: paused(fleet) == "credential", what="the pause")
        assert fleet.row("mastodon/brand/it-1")["state"] == "approved"

        fleet.write_secret("mastodon", good)
        worker.send_signal(signal.SIGHUP)
        fleet.wait_state("mastodon/brand/it-1", "published")
        assert paused(fleet) is None

        fleet.write_secret("mastodon", "wrong-token-2")
        worker.stop()
        worker = fleet.start_worker(name="worker-2")
        fleet.add("mastodon/brand", fleet.item("it-2"))
        wait_for(lambda: paused(fleet) == "credential", what="the second pause")
        worker.stop()
        fleet.write_secret("mastodon", good)
        fleet.start_worker(name="worker-3")
        row = fleet.wait_state("mastodon/brand/it-2", "published")
        assert row["attempt"] == "2" and "tries" not in row, row
        fleet.check_judge(**{"mastodon/brand/it-1": 1, "mastodon/brand/it-2": 1})


def test_a_channel_that_the_configuration_pauses_waits_until_it_does_not():
    with Fleet(["mastodon"], channel={"mastodon": {"paused": True}}) as fleet:
        worker = fleet.start_worker(name="worker")
        wait_for(lambda: paused(fleet) == "configuration", what="the pause")
        fleet.add("mastodon/brand", fleet.item("it-1"))
        wait_for(lambda: fleet.row("mastodon/brand/it-1").get("reason") == "paused", what="a row that waits")
        worker.stop()
        fleet.channel_extra = {}
        fleet.write_config()
        fleet.start_worker(name="worker-2")
        fleet.wait_state("mastodon/brand/it-1", "published")
        assert paused(fleet) is None


def test_what_is_queued_for_a_channel_that_is_switched_off_waits_and_loses_nothing():
    """Twenty deliveries, each refused once; then the channel is paused, with retries still to come; then it goes on."""
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        names = [f"it-{number}" for number in range(20)]
        for name in names:
            fleet.sim.fault("status", "mastodon", on={"delivery": name}, status=500, body={
                "meta": {"commit_state": "not_committed"}, "error": {"retry": {"kind": "retry_identical"}}})
        deliveries = fleet.add_many("mastodon/brand", names)
        fleet.config_extra["delivery"] = {"backoff_base_ms": 60_000, "backoff_cap_ms": 60_000}
        fleet.write_config()
        worker = fleet.start_worker(name="worker")
        wait_for(lambda: all(fleet.row(name).get("reason") == "retry" for name in deliveries), what="one try of each")
        worker.stop()
        fleet.channel_extra = {"mastodon": {**UNPACED["mastodon"], "paused": True}}
        fleet.write_config()
        worker = fleet.start_worker(name="worker-2")
        wait_for(lambda: paused(fleet) == "configuration", what="the pause")
        fleet.hurry(*deliveries)
        wait_for(lambda: all(fleet.row(name)["reason"] == "paused" for name in deliveries), what="all of them to wait")
        before = {name: fleet.row(name) for name in deliveries}
        assert all((row["state"], row["tries"]) == ("approved", "1") for row in before.values()), before
        assert fleet.sim.report()["totals"]["writes"] == 20
        worker.stop()
        fleet.channel_extra = UNPACED
        fleet.write_config()
        fleet.start_worker(name="worker-3")
        fleet.wait_states(deliveries, "published")
        for name in deliveries:
            row, writes = fleet.row(name), fleet.sim.delivery(name)["requests"]
            assert row["attempt"] == "2" and row["key"] == before[name]["key"], row
            assert len({(write["key"], write["body_sha256"]) for write in writes}) == 1 and len(writes) == 2
        fleet.check_judge(**dict.fromkeys(deliveries, 1))


def test_an_approval_that_is_withdrawn_while_it_is_queued_sends_nothing():
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        fleet.db.hset("lf:{0}:channel:mastodon/brand", mapping={"paused": "maintenance", "paused_at": 1})
        kept, withdrawn = fleet.add_many("mastodon/brand", ["kept", "withdrawn"])
        assert fleet.run_worker(name="worker") == 3
        cancelled = fleet.start("landfall", "cancel", withdrawn, "--why", "not any more", "--config", fleet.config_path)
        assert cancelled.wait(20) in (0, 4), cancelled.tail()
        fleet.add_many("mastodon/brand", ["withdrawn"])  # a producer that has not heard of it
        fleet.db.hdel("lf:{0}:channel:mastodon/brand", "paused", "paused_at")
        fleet.db.zadd("lf:{0}:agenda", {"channel:mastodon/brand": 1})
        fleet.start_worker(name="worker-2")
        fleet.wait_state(kept, "published")
        assert fleet.row(withdrawn)["state"] == "rejected"
        fleet.check_judge(**{kept: 1, withdrawn: 0})


def test_a_pause_by_an_operator_is_nobody_elses_to_lift():
    with Fleet(["mastodon"]) as fleet:
        fleet.db.hset("lf:{0}:channel:mastodon/brand", mapping={"paused": "maintenance", "paused_at": 1})
        fleet.add("mastodon/brand", fleet.item("it-1"))
        assert fleet.run_worker(name="worker") == 3
        assert paused(fleet) == "maintenance"
        assert fleet.row("mastodon/brand/it-1")["reason"] == "paused"
