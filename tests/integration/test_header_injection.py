# SPDX-License-Identifier: MIT
"""A line end in a value makes no header and no second request: what would carry one into a head is not sent at all."""
import json

import pytest

from lib.fleet import Fleet
from lib.recorder import Recorder
from lib.tiers import NOTICES_TOKEN, blind

EVIL = "a\r\nX-Evil: 1\r\n\r\nPOST /evil HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
# Titles and a setting go into headers, the id into the path, the text into the body.
TITLED = blind("titled", "POST", '"/notes/" + (.item.id | @uri) + "?t=" + (.item.content_text | @uri)', "{text: .item.content_text}")
TITLED["settings"]["note"] = {"type": "string", "default": "plain", "help": "A note."}
TITLED["write"]["request"]["headers"] = '{"X-Title": (.item.title // "none"), "X-Note": .settings.note}'
PLAIN, NOTED = "titled/plain", "titled/noted"


@pytest.fixture
def recorder():
    with Recorder({"id": "1"}) as one:
        yield one


def test_line_ends_in_items_and_settings(recorder):
    with Fleet([], descriptors=[TITLED]) as fleet:
        settings = {"instance": recorder.url}
        fleet.add_channel(PLAIN, NOTICES_TOKEN, settings)
        fleet.add_channel(NOTED, NOTICES_TOKEN, {**settings, "note": EVIL})
        fleet.add(PLAIN, {"id": "in-a-header", "title": EVIL, "content_text": "x"})
        fleet.add(NOTED, {"id": "in-a-setting", "title": "T", "content_text": "x"})
        fleet.add(PLAIN, {"id": "good", "title": "T", "content_text": EVIL})
        fleet.start_worker()
        fleet.wait_state(f"{PLAIN}/good", "published")
        for name in (f"{PLAIN}/in-a-header", f"{NOTED}/in-a-setting"):
            assert fleet.wait_state(name, "held")["reason"] == "unsendable"
            assert "holds a control character" in fleet.db.hget(f"lf:{{0}}:request:{name}", "detail")
        (_, path, headers, body), = recorder.requests
        assert path.startswith("/notes/good?t=a%0D%0AX-Evil%3A%201%0D%0A") and "\r" not in path
        assert headers["X-Title"] == "T" and headers["X-Note"] == "plain" and "X-Evil" not in headers
        assert json.loads(body) == {"text": EVIL}
        assert NOTICES_TOKEN not in fleet.output()


def test_a_line_end_in_a_credential_is_refused_before_anything_is_sent(recorder):
    with Fleet([], descriptors=[TITLED]) as fleet:
        fleet.add_channel(PLAIN, NOTICES_TOKEN + "\r\nX-Evil: 1", {"instance": recorder.url})
        fleet.add(PLAIN, {"id": "x", "title": "T", "content_text": "x"})
        worker = fleet.start_worker("--until-idle")
        assert worker.wait(20) == 1
        assert NOTICES_TOKEN not in fleet.output() and recorder.requests == []
