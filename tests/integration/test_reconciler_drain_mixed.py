# SPDX-License-Identifier: MIT
"""Everything that can be uncertain at once: a drain leaves exactly the right state for each, and so does a drain that was
killed anywhere and run again. The fake platforms say what is really there, and saw no write."""
import json

import pytest

from lib.fleet import SECRETS
from reconciler_kit import Scene, channel, wait_for

FOREM, TOOTS, BLIND, LOCKED = channel("forem"), channel("mastodon"), "blind/brand", "forem/locked"
POINTS = ["after_walk_begin", "after_page", "before_resolve", "after_resolve"]
HOUR_MS = 3600000
URL = "https://blog.example/p/"


class Bag:
    """The deliveries, by what they are; and the ids of the posts that stand there."""

    def __init__(self, scene):
        self.scene, self.posts = scene, {}
        self.names = {item: scene.uncertain(FOREM, item) for item in ("found", "absent", "twice", "late")}
        self.names["early"] = scene.uncertain(FOREM, "early", commit_cap=HOUR_MS)
        self.names.update({item: scene.uncertain(TOOTS, item) for item in ("seen", "unseen", "deleted")})
        self.names["blind"] = scene.uncertain(BLIND, "blind")
        self.names["locked"] = scene.uncertain(LOCKED, "locked")
        self.posts["twice"] = [scene.plant("forem", "twice", newest_age_ms=1000), scene.plant("forem", "twice")]
        self.posts["found"], self.posts["late"] = [scene.plant("forem", "found")], [scene.plant("forem", "late")]
        self.posts["seen"], self.posts["deleted"] = [scene.plant("mastodon", "seen")], [scene.plant("mastodon", "deleted")]
        scene.plant("forem", count=20, newest_age_ms=HOUR_MS)
        scene.plant("mastodon", count=100, newest_age_ms=2000, step_ms=10)
        # It was accepted under an id, which was not read back yet; then its author deleted it.
        answer = scene.ledger.settle(self.names["deleted"], "uncertain", "verify", place="walk",
                                     fields={"ext_id": self.posts["deleted"][0]})
        assert answer[0] == "ok", answer
        scene.sim.post("posts", instance="mastodon", op="delete", id=self.posts["deleted"][0])
        scene.sim.fault("repeated_cursor", "mastodon", times=-1)

    def late_answer(self):
        """The worker whose attempt it was comes back and tells what the platform had answered."""
        fields = {"ext_id": self.posts["late"][0], "source": "response", "in_doubt": ""}
        answer = self.scene.ledger.settle(self.names["late"], "published", "confirmed", fields=fields)
        assert answer[0] == "ok", answer

    def check(self):
        expected = {
            "found": ("published", "confirmed"), "absent": ("approved", "absent"), "twice": ("published", "confirmed"),
            "late": ("published", "confirmed"), "early": ("uncertain", "no_answer"), "seen": ("published", "confirmed"),
            "unseen": ("uncertain", "no_answer"), "deleted": ("held", "gone"), "blind": ("held", "no_evidence"),
            "locked": ("uncertain", "no_answer")}
        scene = self.scene
        assert {item: scene.ledger.state(name) for item, name in self.names.items()} == expected
        rows = {item: scene.row(name) for item, name in self.names.items()}
        for item in ("found", "late", "seen"):
            assert [rows[item]["ext_id"]] == self.posts[item] and "duplicate" not in rows[item]
        assert {rows["twice"]["ext_id"], rows["twice"]["duplicate"]} == set(self.posts["twice"])
        for item in ("early", "unseen", "blind", "locked"):
            assert rows[item]["in_doubt"].startswith("1:"), (item, rows[item])
        assert scene.db.zrange(scene.ledger.key("uncertain", FOREM), 0, -1) == [self.names["early"]]
        assert sorted(fields["delivery"] for _, fields in scene.ledger.journal()) == sorted(
            self.names[item] for item in ("early", "unseen", "locked"))
        self.check_platforms(rows)
        told = [fields["delivery"] for _, fields in scene.db.xrange(scene.ledger.key("outcomes"))]
        assert len(told) == len(set(told)), "an outcome is told once"
        assert scene.db.hget(scene.ledger.key("channel", LOCKED), "paused") == "credential"
        scene.nothing_was_written()

    def check_platforms(self, rows):
        """What the platforms have is what the rows say, however it came there."""
        articles = self.scene.sim.get("posts", instance="forem", limit=1000)["posts"]
        there = {}
        for post in articles:
            if (post["canonical_url"] or "").startswith(URL):
                there.setdefault(post["canonical_url"].removeprefix(URL), set()).add(post["id"])
        assert there == {item: set(self.posts[item]) for item in ("found", "late", "twice")}
        toots = {post["id"] for post in self.scene.sim.get("posts", instance="mastodon", limit=1000)["posts"]}
        assert rows["seen"]["ext_id"] in toots and rows["deleted"]["ext_id"] not in toots


class MixedScene(Scene):
    def __init__(self):
        super().__init__(["forem", "mastodon"], blind=True, times={"key_window_ms": 0})

    def __enter__(self):
        super().__enter__()
        url = self.add_fake("locked", "forem", LOCKED, "the-right-key")
        self.add_channel(LOCKED, SECRETS["forem"], {"instance": url}, times=self.times)
        return self


def test_each_gets_the_state_that_is_right_for_it():
    with MixedScene() as scene:
        bag = Bag(scene)
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        process = scene.run("drain", "--json", name="drain")
        scene.sim.wait("holding")
        bag.late_answer()
        scene.sim.release()
        process.wait_exit(3, 30)
        lines = [json.loads(text) for text in process.stdout().splitlines()]
        bag.check()
        assert scene.row(bag.names["late"])["source"] == "response"
        assert len(scene.events(process, "channel.paused")) == len(scene.events(process, "delivery.duplicate")) == 1
        plan, summary = lines[0], lines[-1]
        assert plan["channels"] == {BLIND: 1, FOREM: 5, LOCKED: 1, TOOTS: 3} and (plan["now"], plan["later"]) == (9, 1)
        assert summary["after"] == {"approved": 1, "claimed": 0, "published": 4, "rejected": 0, "uncertain": 3, "held": 2}
        left = {(kind["channel"], kind["state"], kind["reason"]): kind["why"] for kind in summary["left"]}
        whys = {(FOREM, "uncertain", "no_answer"): "may still commit", (LOCKED, "uncertain", "no_answer"): "credential",
                (TOOTS, "uncertain", "no_answer"): "nothing is proven: cursor_repeated",
                (TOOTS, "held", "gone"): "has it no more", (BLIND, "held", "no_evidence"): "nor asked twice"}
        assert set(left) == set(whys)
        for kind, words in whys.items():
            assert words in left[kind], (kind, left[kind])


@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_and_run_again_the_end_is_the_same(point, nth):
    with MixedScene() as scene:
        bag = Bag(scene)
        scene.run("drain", crash_at=f"{point}:{nth}", name="killed").wait_killed()
        if scene.state(bag.names["late"]) == "uncertain":
            bag.late_answer()
        for name in (FOREM, TOOTS, BLIND, LOCKED):  # nobody waits here for as long as a dead walk's lease lasts
            scene.db.delete(scene.ledger.key("walk", name))
        scene.drain(code=3)
        bag.check()
        scene.drain(code=3)  # once more changes nothing
        bag.check()


def test_two_at_once_and_a_reconciler_beside_them():
    with MixedScene() as scene:
        bag = Bag(scene)
        with scene.running(name="runner"):
            drains = [scene.run("drain", name=f"drain-{n}") for n in range(2)]
            for drain in drains:
                drain.wait(60)
            wait_for(lambda: scene.state(bag.names["late"]) == "published", 10, what=scene.output)
        bag.check()
