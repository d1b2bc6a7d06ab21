# SPDX-License-Identifier: MIT
"""A Bluesky PDS with the directory that its account is registered in."""
import json

from lib.procs import wait_for
from real.servers import Pds, ask
from real.table import WAIT_S, RealFleet, Table


def record_of(write):
    return json.loads(write.body)


class TestPds(Table):
    server_class = Pds
    lookups = {"key": "gone", "id": "gone"}

    @staticmethod
    def same_body(document, shown, sent):
        """Record key and date come from the moment of approval, which try does not know."""
        assert document["key_depends_on_time"] and shown.keys() == sent.keys() and shown["record"].keys() == sent["record"].keys()
        for name in ("text", "facets", "embed"):
            assert shown["record"][name] == sent["record"][name]

    def test_an_ended_session_is_renewed_once(self, fleet):
        """The token ends earlier than anybody thought: the server says 400, one login follows, the same request goes again."""
        server = fleet.server
        server.token_life(2)
        fleet.start_worker()
        try:
            fleet.add(fleet.channel, fleet.item("seventh-a"))
            fleet.wait_state(fleet.name("seventh-a"), "published", timeout_s=WAIT_S)
            header = dict(fleet.writes()[0].headers)["Authorization"]
            who = server.origin + "/xrpc/com.atproto.server.getSession"
            wait_for(lambda: ask("GET", who, headers={"Authorization": header}).status == 400, 30, "the token's end")
        finally:
            server.token_life(None)
        fleet.add(fleet.channel, fleet.item("seventh-b"))
        row = fleet.wait_state(fleet.name("seventh-b"), "published", timeout_s=WAIT_S)
        first, refused, again = fleet.writes()
        assert (first.status, refused.status, again.status) == (200, 400, 200)
        assert json.loads(refused.answer)["error"] == "ExpiredToken" and again.body == refused.body
        assert len(fleet.web.exchanges("POST", "createSession")) == 2 and row["attempt"] == "1"
        self.there_once(fleet, "seventh-b", row)

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

    def test_who_publishes_logs_in_once(self, server):
        with RealFleet(server) as fleet:
            fleet.add_many(fleet.channel, [f"twelfth-{number}" for number in range(8)])
            fleet.run_worker(timeout_s=WAIT_S)
            assert len(fleet.writes()) == 8 and len(fleet.web.exchanges("POST", "createSession")) == 1
            assert len(server.posts("twelfth-")) == 8
