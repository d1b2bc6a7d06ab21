# SPDX-License-Identifier: MIT
"""Addresses that a platform's answer names: asked if they are public or allowed, and never with a redirect on the way."""
import pytest

from lib.fleet import Fleet
from lib.recorder import Recorder
from lib.tiers import NOTICES_TOKEN, blind

# A platform that says where an upload goes, as many do.
UPLOADER = blind("uploader", "POST", '"/posts"', "{text: .item.content_text, media: .prepared.media}")
UPLOADER["prepare"] = [
    {"name": "ticket", "request": {"method": "POST", "url": '.settings.instance + "/tickets"', "body": {"json": "{}"}}, "keep": ".answer.body.upload? // null"},
    {"name": "media", "request": {"method": "PUT", "url": ".prepared.ticket", "body": {"json": "{}"}}, "keep": ".answer.body.id? // null"},
]
CHANNEL = "uploader/brand"
NAME = f"{CHANNEL}/it-1"


def fleet_for(platform, **config):
    fleet = Fleet([], descriptors=[UPLOADER], config=config)
    fleet.__enter__()
    fleet.add_channel(CHANNEL, NOTICES_TOKEN, {"instance": platform.url})
    fleet.add(CHANNEL, fleet.item("it-1"))
    return fleet


@pytest.mark.parametrize("allow, state", [("", "rejected"), ("10.0.0.0/8 media.internal", "rejected"), ("127.0.0.1", "published")])
def test_an_upload_goes_to_no_inner_address(allow, state):
    with Recorder({"id": "m-1"}) as inner, Recorder({"upload": f"{inner.url}/upload", "id": "7"}) as platform:
        fleet = fleet_for(platform, fetch={"allow": allow})
        try:
            fleet.run_worker()
            row = fleet.row(NAME)
            assert row["state"] == state, (row, fleet.output())
            if state == "published":
                assert [request[0] for request in inner.requests] == ["PUT"] and len(platform.requests) == 2
            else:
                assert row["reason"] == "refused" and inner.requests == [] and len(platform.requests) == 1
                assert "127.0.0.1 is at 127.0.0.1, which is no public address" in fleet.db.hget(f"lf:{{0}}:request:{NAME}", "detail")
        finally:
            fleet.__exit__(None, None, None)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_step_follows_no_redirect(status):
    """Not even to where it came from: a request that goes out twice is no single request."""
    with Recorder({"id": "m-1"}) as inner, Recorder({}, {"Location": f"{inner.url}/elsewhere"}, status) as platform:
        fleet = fleet_for(platform, fetch={"allow": "127.0.0.0/8"}, delivery={"max_attempts": 1})
        try:
            fleet.start_worker()
            row = fleet.wait_state(NAME, "rejected", "held")
            assert inner.requests == [] and [request[1] for request in platform.requests] == ["/tickets"], row
        finally:
            fleet.__exit__(None, None, None)
