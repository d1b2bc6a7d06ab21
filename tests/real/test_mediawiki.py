# SPDX-License-Identifier: MIT
"""MediaWiki, from Debian's package, on PHP's own server and SQLite."""
import json
import urllib.parse

from real.servers import MediaWiki, ask
from real.table import WAIT_S, RealFleet, Table


def form_of(write):
    return dict(urllib.parse.parse_qsl(write.body.decode()))


class TestMediaWiki(Table):
    server_class = MediaWiki
    lookups = {"id": "unseen", "key": "unseen"}

    @staticmethod
    def there_once(fleet, item_id, row):
        """The row has the page's id; its address leads to the page, whatever that is called now."""
        posts = fleet.server.posts(item_id)
        assert [one["id"] for one in posts] == [row["ext_id"]], (posts, row)
        assert row["url"] in (posts[0]["url"], f"{fleet.web.url}/index.php?curid={row['ext_id']}")
        assert f"Text of {item_id}" in ask("GET", row["url"]).text

    @staticmethod
    def same_body(document, shown, sent):
        shown, sent = (dict(urllib.parse.parse_qsl(one)) for one in (shown, sent))
        assert {**shown, "token": None} == {**sent, "token": None} and shown["token"] != sent["token"]

    def test_an_ended_session_is_renewed_once(self, fleet):
        fleet.start_worker()
        fleet.add(fleet.channel, fleet.item("seventh-a"))
        fleet.wait_state(fleet.name("seventh-a"), "published", timeout_s=WAIT_S)
        assert fleet.server.end_sessions() > 0
        fleet.add(fleet.channel, fleet.item("seventh-b"))
        row = fleet.wait_state(fleet.name("seventh-b"), "published", timeout_s=WAIT_S)
        first, refused, again = fleet.writes()
        assert json.loads(refused.answer)["error"]["code"] in ("assertuserfailed", "badtoken") and row["attempt"] == "1"
        assert len(fleet.web.exchanges("POST", "action=login")) == 2
        self.there_once(fleet, "seventh-b", row)

    def test_a_title_that_is_taken_by_our_own_page_is_that_page(self, fleet):
        """A ledger that was emptied publishes again: refused, read back by the key in the summary, and adopted."""
        first = fleet.publish("eighth-note")
        fleet.db.flushall()
        row = fleet.publish("eighth-note")
        assert json.loads(fleet.writes()[-1].answer)["error"]["code"] == "articleexists"
        assert (row["state"], row["reason"]) == ("uncertain", "conflict")
        row = fleet.settle("eighth-note")
        assert row["ext_id"] == first["ext_id"] and row["source"] == "read_back"
        self.there_once(fleet, "eighth-note", row)

    def test_a_title_that_somebody_else_has_is_not_adopted(self, server):
        with RealFleet(server, max_attempts=2) as fleet:
            fleet.publish("ninth-wave")
            write = fleet.writes()[0]
            title, token = form_of(write)["title"], form_of(write)["token"]
            taken = {**form_of(write), "title": title.replace("ninth", "tenth"), "summary": "by hand", "text": "mine", "token": token}
            cookie = dict(write.headers)["Cookie"]
            assert "Success" in ask("POST", server.origin + write.path, taken, {"Cookie": cookie}, form=True).text
            fleet.publish("tenth-wave")
            fleet.start_worker()
            fleet.start_reconciler()
            row = fleet.wait_state(fleet.name("tenth-wave"), "held", timeout_s=WAIT_S)
            assert row["reason"] == "spent" and "ext_id" not in row and len(server.posts("tenth-wave")) == 1

    def test_a_page_that_was_moved_is_found_in_the_list(self, fleet):
        fleet.web.lose_answer(*fleet.server.write)
        fleet.publish("eleventh-hour")
        write = fleet.writes()[0]
        page, = fleet.server.posts("eleventh-hour")
        move = {"action": "move", "from": form_of(write)["title"], "to": "Moved eleventh-hour", "noredirect": 1, "token": form_of(write)["token"],
                "format": "json"}
        assert "error" not in ask("POST", fleet.server.origin + "/api.php", move, {"Cookie": dict(write.headers)["Cookie"]}, form=True).json
        row = fleet.settle("eleventh-hour")
        assert row["ext_id"] == page["id"] and len(fleet.writes()) == 1

    def test_too_many_edits_wait_and_nothing_is_lost(self, server):
        """A new account may make eight edits a minute, or four pages; what comes after is told so inside a 200."""
        with RealFleet(server, server.guest, settings_extra={"user": "Guest@landfall"}) as fleet:
            names = fleet.add_many(fleet.channel, [f"twelfth-{number}" for number in range(12)])
            fleet.run_worker(timeout_s=WAIT_S)
            states = fleet.states(names)
            assert states["published"] in (4, 8) and sum(states.values()) == states["published"] + states["approved"], (states, fleet.output())
            assert len(server.posts("twelfth-")) == states["published"]
            waiting = [fleet.row(name) for name in names if fleet.state(name) == "approved"]
            assert all(row.get("tries", "0") == "0" for row in waiting)
            assert any(json.loads(one.answer)["error"]["code"] == "ratelimited" for one in fleet.writes() if b'"error"' in one.answer)

    def test_more_pages_than_an_answer_holds(self, fleet):
        """Last, since all look-ups after it are long."""
        fleet.server.make_pages(510)
        fleet.publish("last-post")
        listing = json.loads(fleet.landfall("platform", "probe", fleet.channel, "--pages", "0", "--json"))["listing"]
        assert listing["pages"] > 1 and listing["entries"] > 510 and listing["end_proof_seen"], listing
