# SPDX-License-Identifier: MIT
"""A channel that was paused goes on by itself when what it waited for has happened, and not before."""
import signal

from lib.fleet import Fleet
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


def test_a_pause_by_an_operator_is_nobody_elses_to_lift():
    with Fleet(["mastodon"]) as fleet:
        fleet.db.hset("lf:{0}:channel:mastodon/brand", mapping={"paused": "maintenance", "paused_at": 1})
        fleet.add("mastodon/brand", fleet.item("it-1"))
        assert fleet.run_worker(name="worker") == 3
        assert paused(fleet) == "maintenance"
        assert fleet.row("mastodon/brand/it-1")["reason"] == "paused"
