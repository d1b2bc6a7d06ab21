# SPDX-License-Identifier: MIT
"""A Bluesky PDS with the directory that its account is registered in."""
import http.server
import json
import struct
import threading
import zlib

import pytest

from lib.procs import wait_for
from real.servers import LimitedPds, Pds, ask
from real.table import WAIT_S, RealFleet, Table


def record_of(write):
    return json.loads(write.body)


def png(size):
    """A square picture, as small as they come."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)  # eight bits of grey
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(size * (size + 1)))) + chunk(b"IEND", b"")


@pytest.fixture
def web():
    """The address of a web server that has pictures: /2.png, /3.png, and one that breaks off."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path[1:].split(".")[0]
            body = png(int(name)) if name.isdigit() else png(2)[:20]
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


class TestPds(Table):
    server_class = Pds
    lookups = {"key": "gone", "id": "gone"}
    test_a_credential_that_ends_before_the_reading_proves_nothing = None  # everybody can read what is published

    @staticmethod
    def same_body(document, shown, sent):
        """Record key and date come from the moment of approval, which try does not know."""
        shown, sent = json.loads(shown), json.loads(sent)
        assert document["key_depends_on_time"] and shown.keys() == sent.keys() and shown["record"].keys() == sent["record"].keys()
        for name in ("text", "facets", "embed"):
            assert shown["record"][name] == sent["record"][name]

    def test_an_ended_session_is_renewed_once(self, fleet):
        """The token ends earlier than anybody thought: the server says 400, one renewal follows, the same request goes again."""
        first, refused, again = self.across_the_end_of_a_token(fleet, "seventh-a", "seventh-b")
        assert (first.status, refused.status, again.status) == (200, 400, 200)
        assert json.loads(refused.answer)["error"] == "ExpiredToken" and again.body == refused.body
        assert len(fleet.web.exchanges("POST", "createSession")) == 1
        assert [one.status for one in fleet.web.exchanges("POST", "refreshSession")] == [200]

    def test_a_session_that_was_taken_away_is_opened_again(self, fleet):
        """Somebody has ended it on the server: it is not renewed, so a login follows."""
        def end_it():
            token = json.loads(fleet.web.exchanges("POST", "createSession")[0].answer)["refreshJwt"]
            url = fleet.server.origin + "/xrpc/com.atproto.server.deleteSession"
            assert ask("POST", url, headers={"Authorization": "Bearer " + token}).status == 200
        writes = self.across_the_end_of_a_token(fleet, "taken-a", "taken-b", end_it)
        assert [one.status for one in writes] == [200, 400, 200]
        assert [one.status for one in fleet.web.exchanges("POST", "refreshSession")] == [400]
        assert len(fleet.web.exchanges("POST", "createSession")) == 2

    def across_the_end_of_a_token(self, fleet, before, after, meanwhile=lambda: None):
        """Publishes one item, waits until the worker's token has ended, publishes the other; gives the write requests."""
        server = fleet.server
        server.token_life(4)
        fleet.start_worker()
        try:
            fleet.add(fleet.channel, fleet.item(before))
            fleet.wait_state(fleet.name(before), "published", timeout_s=WAIT_S)
            header = dict(fleet.writes()[-1].headers)["Authorization"]
            who = server.origin + "/xrpc/com.atproto.server.getSession"
            wait_for(lambda: ask("GET", who, headers={"Authorization": header}).status == 400, 30, "the token's end")
        finally:
            server.token_life(None)
        meanwhile()
        fleet.add(fleet.channel, fleet.item(after))
        row = fleet.wait_state(fleet.name(after), "published", timeout_s=WAIT_S)
        assert row["attempt"] == "1"
        self.there_once(fleet, after, row)
        return fleet.writes()

    def test_the_same_record_again_changes_nothing(self, fleet):
        """What makes this an upsert: a repeat is answered as the first, another text under the key is refused."""
        row = fleet.publish("eighth-note")
        write = fleet.writes()[0]
        again = fleet.web.repeat(write)
        first, second = json.loads(write.answer), json.loads(again.answer)
        assert again.status == 200 and (second["uri"], second["cid"]) == (first["uri"], first["cid"]) and "commit" not in second
        body = record_of(write)
        write.body = json.dumps({**body, "record": {**body["record"], "text": "another text"}}).encode()
        other = fleet.web.repeat(write)
        assert (other.status, json.loads(other.answer)["error"]) == (400, "InvalidSwap")
        create = {name: value for name, value in body.items() if name != "swapRecord"}
        token = dict(write.headers)["Authorization"]
        taken = ask("POST", fleet.server.origin + "/xrpc/com.atproto.repo.createRecord", create, {"Authorization": token})
        assert taken.status >= 400, taken.text
        self.there_once(fleet, "eighth-note", row)

    def test_a_lost_ledger_writes_the_same_text_under_another_key(self, fleet):
        """A limit: the key holds the time of approval, so a ledger that was emptied makes another one and finds nothing."""
        fleet.publish("ninth-wave")
        fleet.db.flushall()
        row = fleet.publish("ninth-wave")
        assert row["state"] == "published" and len(fleet.server.posts("ninth-wave")) == 2

    def test_an_edited_record_is_the_post_that_was_published(self, fleet):
        fleet.web.lose_answer(*fleet.server.write)
        fleet.publish("tenth-muse")
        write = fleet.writes()[0]
        body = record_of(write)
        del body["swapRecord"]
        body["record"]["text"] = "edited by hand: tenth-muse"
        body["record"].pop("facets")
        put = ask("POST", fleet.server.origin + "/xrpc/com.atproto.repo.putRecord", body,
                  {"Authorization": dict(write.headers)["Authorization"]})
        assert put.status == 200, put.text
        row = fleet.settle("tenth-muse")
        assert row["source"] == "read_back"
        self.there_once(fleet, "tenth-muse", row)

    def test_a_thread(self, fleet):
        """Parent and first post of the thread are named by address and hash; the server checks the hashes' form."""
        rows = [fleet.publish("eleventh-1")]
        rows.append(fleet.publish("eleventh-2", landfall={"after": "eleventh-1"}))
        rows.append(fleet.publish("eleventh-3", landfall={"after": "eleventh-2"}))
        replies = [record_of(write)["record"].get("reply") for write in fleet.writes()]
        assert replies[0] is None
        assert [reply["parent"]["uri"] for reply in replies[1:]] == [row["ext_id"] for row in rows[:2]]
        assert {reply["root"]["uri"] for reply in replies[1:]} == {rows[0]["ext_id"]}

    def test_pictures(self, server, web):
        """Uploaded as they are, named in the record by their hash, and given back by the server byte for byte."""
        with RealFleet(server, config={"fetch": {"allow": "127.0.0.0/8"}}) as fleet:
            row = fleet.publish("thirteenth-sign", attachments=[{"url": web + "/2.png", "mime_type": "image/png", "title": "two"},
                                                                {"url": web + "/3.png", "mime_type": "image/png"}])
            images = server.record(row["ext_id"])["embed"]["images"]
            assert [(one["alt"], one["image"]["mimeType"]) for one in images] == [("two", "image/png"), ("", "image/png")]
            assert [server.blob(one["image"]["ref"]["$link"]) for one in images] == [png(2), png(3)]

    def test_a_picture_that_is_none_publishes_nothing(self, server, web):
        """The server looks into what it is given, and stumbles: 500, which is not taken for a refusal."""
        with RealFleet(server, config={"fetch": {"allow": "127.0.0.0/8"}}, max_attempts=2) as fleet:
            row = fleet.publish("fourteenth-line", attachments=[{"url": web + "/broken.png", "mime_type": "image/png"}])
            assert {one.status for one in fleet.web.exchanges("POST", "uploadBlob")} == {500}
            assert (row["state"], row["reason"]) == ("held", "spent") and fleet.writes() == [] and server.posts("fourteenth-line") == []

    def test_who_publishes_logs_in_once(self, server):
        with RealFleet(server) as fleet:
            fleet.add_many(fleet.channel, [f"twelfth-{number}" for number in range(8)])
            fleet.run_worker(timeout_s=WAIT_S)
            assert len(fleet.writes()) == 8 and len(fleet.web.exchanges("POST", "createSession")) == 1
            assert len(server.posts("twelfth-")) == 8


def test_logins_are_limited_and_the_channel_waits_as_long_as_it_is_told(tmp_path):
    """429 says when in RateLimit-Reset, as a moment, and has no Retry-After."""
    with LimitedPds(tmp_path) as server, RealFleet(server) as fleet:
        login = {"identifier": server.handle, "password": server.credentials}
        for _ in range(40):
            answer = ask("POST", server.origin + "/xrpc/com.atproto.server.createSession", login)
            if answer.status != 200:
                break
        assert answer.status == 429 and "retry-after" not in answer.headers
        reset_ms = int(answer.headers["ratelimit-reset"]) * 1000
        row = fleet.publish("limited-edition")
        assert row["state"] == "approved" and row.get("tries", "0") == "0" and fleet.writes() == [], row
        blocked_until = int(fleet.db.hget(f"lf:{{0}}:channel:{fleet.channel}", "blocked_until"))
        assert abs(blocked_until - reset_ms) < 2000, (row, fleet.output())
