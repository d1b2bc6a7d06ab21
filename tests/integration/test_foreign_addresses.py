# SPDX-License-Identifier: MIT
"""Addresses that a platform's answer names: asked if they are public or allowed, and never with a redirect on the way.
And a fleet that may speak to named hosts only."""
import pytest

from lib.fleet import Fleet
from lib.procs import wait_for
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


def test_a_fleet_of_named_hosts_starts_with_no_other_channel():
    """Production's configuration and data on a machine where things are tried out."""
    with Recorder({"id": "7"}) as platform:
        fleet = fleet_for(platform, http={"only_hosts": "staging.example"})
        try:
            code = fleet.run_worker()
            told = 'settings.instance: http.only_hosts does not name 127.0.0.1'
            assert code != 0 and told in fleet.output(), fleet.output()
            assert platform.requests == []
        finally:
            fleet.__exit__(None, None, None)


def test_an_answer_leads_to_no_host_that_is_not_named():
    """The step that cannot be sent leaves the delivery unsent, for somebody to name the host."""
    with Recorder({"id": "m-1"}) as inner:
        upload = inner.url.replace("127.0.0.1", "localhost")
        with Recorder({"upload": f"{upload}/upload", "id": "7"}) as platform:
            fleet = fleet_for(platform, http={"only_hosts": "127.0.0.1"}, fetch={"allow": "localhost"})
            try:
                fleet.start_worker()
                wait_for(lambda: "http.only_hosts does not name localhost" in (
                    fleet.db.hget(f"lf:{{0}}:request:{NAME}", "detail") or ""), 30, "the reason in the row")
                assert fleet.row(NAME)["state"] in ("approved", "claimed") and inner.requests == []
                assert {request[1] for request in platform.requests} == {"/tickets"}
            finally:
                fleet.__exit__(None, None, None)
