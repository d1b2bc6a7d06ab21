# SPDX-License-Identifier: MIT
"""A proxy between landfall and a platform that sends a write a second time by itself, and passes the second answer on.

landfall sends once. What the platform makes of the second one depends on what the request says: a key, a record's own
name, or an address that may stand once make it harmless; where there is none of them, the second post is there, and it is told as soon as the account is read."""
import pytest

from lib.fleet import SECRETS, TIMES, UNPACED, Fleet
from lib.http_proxy import HttpProxy
from lib.procs import wait_for

WRITES = {"mastodon": "/api/v1/statuses", "bluesky": "Record", "forem": "/api/articles"}
# What the judge says of two requests with one attempt number is right, and is the proxy's doing.
EXPECTED = {"same_attempt_twice", "O1", "O2"}


def through(fleet, proxy, platform, **members):
    """The platform's channel by way of the proxy."""
    host, proxy_host = (url.split("/")[2] for url in (fleet.sim.urls[platform], proxy.url))
    settings = {**fleet.settings(platform), "instance": fleet.sim.urls[platform].replace(host, proxy_host)}
    fleet.platforms.remove(platform)
    fleet.add_channel(f"{platform}/brand", SECRETS[platform], settings, **{**UNPACED[platform], **members})


@pytest.mark.parametrize("platform", WRITES)
def test_a_write_that_a_proxy_repeats_is_one_post_where_it_has_a_key_or_a_name_or_an_address(platform):
    with Fleet([platform], instances={"bluesky": {"limit_points": 0}}) as fleet, HttpProxy(fleet.sim.urls[platform]) as proxy:
        through(fleet, proxy, platform)
        proxy.repeat_itself("POST", WRITES[platform])
        delivery, = fleet.add_many(f"{platform}/brand", ["it-1"])
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        fleet.wait_state(delivery, "published", timeout_s=60)
        seen = fleet.sim.delivery(delivery)
        assert seen["writes"] == 2 and len(set(seen["external_ids"])) == 1, seen
        assert {violation["kind"] for violation in fleet.sim.report()["violations"]} <= EXPECTED
        assert [worker.stop(), reconciler.stop()] == [0, 0]


def test_the_second_post_of_a_write_that_a_proxy_repeats_is_an_alarm_where_nothing_prevents_it():
    with Fleet(["mastodon"], instances={"mastodon": {"honour_keys": False}}) as fleet, HttpProxy(fleet.sim.urls["mastodon"]) as proxy:
        through(fleet, proxy, "mastodon", times={**TIMES, "key_window_ms": 1000})
        proxy.repeat_itself("POST", WRITES["mastodon"])
        fleet.sim.fault("commit_then_status", "mastodon", on={"nth_write": 2}, status=504)
        delivery, = fleet.add_many("mastodon/brand", ["it-1"])
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        row = fleet.wait_state(delivery, "published", timeout_s=60)
        made = {str(one) for one in fleet.sim.delivery(delivery)["external_ids"]}
        assert {row["ext_id"], row["duplicate"]} == made and len(made) == 2, (row, made)
        wait_for(lambda: "delivery.duplicate" in reconciler.stderr(), 20, fleet.output)
        assert len(proxy.exchanges("POST", WRITES["mastodon"])) == 1, "landfall has sent it once"
        assert [worker.stop(), reconciler.stop()] == [0, 0]
