# SPDX-License-Identifier: MIT
"""WordPress, from Debian's package, on PHP's own server and a MariaDB of its own."""
from real.servers import WordPress
from real.table import RealFleet, Table


class TestWordPress(Table):
    server_class = WordPress
    lookups = {"key": "gone", "id": "unseen"}  # the probe's id is no number, and no such route is no such post

    def test_a_name_that_comes_back_with_a_number_betrays_a_second_post(self, fleet):
        """Another fleet, or a ledger that was lost, has published it before: the server takes it and numbers its slug."""
        first = fleet.publish("seventh-seal")
        fleet.db.flushall()
        row = fleet.publish("seventh-seal")
        posts = fleet.server.posts("seventh-seal")
        assert sorted(one["id"] for one in posts) == sorted((first["ext_id"], row["ext_id"]))
        numbered, = [one["slug"] for one in posts if one["id"] == row["ext_id"]]
        plain, = [one["slug"] for one in posts if one["id"] == first["ext_id"]]
        assert numbered == plain + "-2" and row["duplicate"] == plain and row["state"] == "published"

    def test_published_twice_by_hand_is_told(self, fleet):
        fleet.web.lose_answer(*fleet.server.write)
        fleet.publish("eighth-note")
        assert fleet.web.repeat(fleet.writes()[0]).status == 201
        row = fleet.settle("eighth-note")
        assert {row["ext_id"], row["duplicate"]} == {one["id"] for one in fleet.server.posts("eighth-note")}
        assert int(row["ext_id"]) < int(row["duplicate"])

    def test_a_post_in_the_trash_was_published(self, fleet):
        fleet.web.lose_answer(*fleet.server.write)
        fleet.publish("ninth-wave")
        post, = fleet.server.posts("ninth-wave")
        assert fleet.server.ask("DELETE", "posts/" + post["id"]).json["slug"].endswith("__trashed")
        row = fleet.settle("ninth-wave")
        assert row["ext_id"] == post["id"] and "duplicate" not in row and len(fleet.writes()) == 1

    def test_who_may_not_publish_pauses_the_channel(self, server):
        from real.table import RealFleet
        with RealFleet(server, {"user": "guest", "password": server.passwords["guest"]}) as fleet:
            row = fleet.publish("tenth-man")
            assert (row["state"], row["reason"]) == ("approved", "credential")
            assert fleet.writes()[0].status == 403 and server.posts("tenth-man") == []
