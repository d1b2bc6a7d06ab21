# SPDX-License-Identifier: MIT
"""snac, one C process with Mastodon's API, from Debian's package or its backports."""
import json

import pytest

from real.servers import Snac, SnacNext
from real.table import RealFleet, Table


class TestSnac(Table):
    server_class = Snac
    lookups = {"id": "gone"}

    @pytest.fixture(scope="class", autouse=True)
    def old_post(self, server):
        """An account has posts from before; a walk through a list that does not page ends at what is older than the attempt."""
        with RealFleet(server) as fleet:
            assert fleet.publish("from-before")["state"] == "published"
        server.age_all_posts(3600)

    @staticmethod
    def probe_code(server):
        """Releases up to 2.75 give the same page again, and the probe says that the end was not proven."""
        return 0 if server.pages() else 5

    @pytest.mark.parametrize("text", ["a < b && b > c, <b>not bold</b> &amp; as it is", "**bold**, *slanted* and `code` in one line",
                                      "two\n\nparagraphs and “typographic” – things…"])
    def test_found_by_its_text_alone(self, fleet, text):
        fleet.web.lose_answer(*fleet.server.write)
        item_id = f"text-{len(text)}"
        fleet.add(fleet.channel, {"id": item_id, "content_text": text + f" {item_id}"})
        fleet.run_worker(timeout_s=60)
        row = fleet.settle(item_id)
        assert row["source"] == "read_back" and row["ext_id"] == fleet.server.posts(item_id)[0]["id"] and len(fleet.writes()) == 1

    def test_published_twice_by_hand_is_told(self, fleet):
        """Nothing drops a repeat, not even one with the same Idempotency-Key."""
        fleet.web.lose_answer(*fleet.server.write)
        fleet.publish("eighth-note")
        again = fleet.writes()[0]
        again.headers.append(("Idempotency-Key", "the-same"))
        assert [fleet.web.repeat(again).status for _ in range(2)] == [200, 200]
        posts = [one["id"] for one in fleet.server.posts("eighth-note")]
        assert len(posts) == 3
        row = fleet.settle("eighth-note")
        assert row["ext_id"] in posts and row["duplicate"] in posts and row["ext_id"] != row["duplicate"]

    def test_more_posts_than_a_page(self, fleet):
        for number in range(60):
            assert fleet.server.ask("POST", "/api/v1/statuses", {"status": f"filler {number}", "visibility": "public"}).status == 200
        fleet.web.lose_answer(*fleet.server.write)
        fleet.publish("ninth-wave")
        for number in range(60):
            assert fleet.server.ask("POST", "/api/v1/statuses", {"status": f"more filler {number}", "visibility": "public"}).status == 200
        row = fleet.settle("ninth-wave")
        self.there_once(fleet, "ninth-wave", row)
        pages = fleet.server.pages()
        listing = json.loads(fleet.landfall("platform", "probe", fleet.channel, "--pages", "0", "--json", code=0 if pages else 5))["listing"]
        assert listing["end_proof_seen"] == pages and listing["end"] == ("complete" if pages else "no_progress") and listing["entries"] > 120


class TestSnacNext(TestSnac):
    """Pages."""

    server_class = SnacNext
