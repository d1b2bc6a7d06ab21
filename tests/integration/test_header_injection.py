# SPDX-License-Identifier: MIT
"""A line end in a value makes no header and no second request: what would carry one into a head is not sent at all."""
import http.server
import json
import threading

import pytest

from lib.fleet import Fleet
from lib.tiers import NOTICES_TOKEN, blind

EVIL = "a\r\nX-Evil: 1\r\n\r\nPOST /evil HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
# Titles and a setting go into headers, the id into the path, the text into the body.
TITLED = blind("titled", "POST", '"/notes/" + (.item.id | @uri) + "?t=" + (.item.content_text | @uri)', "{text: .item.content_text}")
TITLED["settings"]["note"] = {"type": "string", "default": "plain", "help": "A note."}
TITLED["write"]["request"]["headers"] = '{"X-Title": (.item.title // "none"), "X-Note": .settings.note}'
PLAIN, NOTED = "titled/plain", "titled/noted"


class Recorder(http.server.ThreadingHTTPServer):
    """Answers every request and keeps its method, path, headers and body."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.requests = []
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.requests.append((self.path, dict(self.headers.items()), body))
            answer = b'{"id": "1"}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_PUT = do_DELETE = do_POST

        def log_message(self, *_):
            pass

    def handle_error(self, *_):
        """A worker that is killed leaves its connections."""

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.shutdown()
        self.server_close()
        self.thread.join()


@pytest.fixture
def recorder():
    with Recorder() as one:
        yield one


def test_line_ends_in_items_and_settings(recorder):
    with Fleet([], descriptors=[TITLED]) as fleet:
        settings = {"instance": f"http://127.0.0.1:{recorder.server_address[1]}"}
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
        (path, headers, body), = recorder.requests
        assert path.startswith("/notes/good?t=a%0D%0AX-Evil%3A%201%0D%0A") and "\r" not in path
        assert headers["X-Title"] == "T" and headers["X-Note"] == "plain" and "X-Evil" not in headers
        assert json.loads(body) == {"text": EVIL}
        assert NOTICES_TOKEN not in fleet.output()


def test_a_line_end_in_a_credential_is_refused_before_anything_is_sent(recorder):
    with Fleet([], descriptors=[TITLED]) as fleet:
        fleet.add_channel(PLAIN, NOTICES_TOKEN + "\r\nX-Evil: 1", {"instance": f"http://127.0.0.1:{recorder.server_address[1]}"})
        fleet.add(PLAIN, {"id": "x", "title": "T", "content_text": "x"})
        worker = fleet.start_worker("--until-idle")
        assert worker.wait(20) == 1
        assert NOTICES_TOKEN not in fleet.output() and recorder.requests == []
