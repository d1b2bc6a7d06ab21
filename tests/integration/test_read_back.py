# SPDX-License-Identifier: MIT
"""What an account's history does while it is read: pages move, break and end early, texts are cut, posts are not for all
eyes, somebody else has decided meanwhile. The fake platforms count the posts."""
import contextlib

from lib.fleet import CHANNELS, TIMES, UNPACED, Fleet
from lib.procs import wait_for
from lib.stepped import shipped
from lib.together import Together
from reconciler_kit import Scene, channel

PER_PAGE = 30  # articles that the descriptor asks for
NO_KEY = {"mastodon": {**UNPACED["mastodon"], "times": {**TIMES, "key_window_ms": 0}}}  # only reading ends a doubt
TOOTS, NAME = "mastodon/brand", "mastodon/brand/it-1"
LONG = "https://blog.example/p/it-1 " + "a text of which the platform keeps sixty characters and no more, " * 3
together = Together(at_once=6)


# ---- pages that move, break and end early

@contextlib.contextmanager
def second_page_held(newer):
    """A walk that has read the first page of thirty articles; ours has so many newer ones above it."""
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.plant("forem", count=10, newest_age_ms=600_000, text="old {n}")
        post = scene.plant("forem", "it-1", newest_age_ms=120_000)
        above = scene.sim.post("posts", instance="forem", op="plant", count=newer, newest_age_ms=1000, step_ms=1000,
                               text="above {n}")["ids"]
        scene.sim.fault("hold", "forem", on={"kind": "list", "nth": 2}, commit=False)
        with scene.running() as reconciler:
            scene.sim.wait("holding")
            yield scene, reconciler, above
            row = scene.wait_state(delivery, "published", "approved", "held")
            assert (row["state"], row.get("ext_id")) == ("published", post), row
        resolved = scene.events(reconciler, "delivery.resolved")
        assert len(resolved) == 1 and "evidence=found" in resolved[0], "it was never taken for absent"
        scene.nothing_was_written()


@together.test
def test_an_article_that_moves_up_while_pages_are_read_is_not_taken_for_absent():
    """Two articles of the first page are deleted: ours leaves the second page for the first, which has been read."""
    with second_page_held(newer=PER_PAGE) as (scene, _, above):
        for newer in above[:2]:
            scene.sim.post("posts", instance="forem", op="delete", id=newer)
        scene.sim.release()


@together.test
def test_articles_that_come_twice_are_one():
    """Two new articles: the second page begins with the last two of the first."""
    with second_page_held(newer=PER_PAGE + 5) as (scene, _, above):
        scene.plant("forem", count=2, newest_age_ms=1, step_ms=0, text="new {n}")
        scene.sim.release()


@together.test
def test_a_history_whose_pages_break_one_after_the_other_is_read_to_its_end():
    """The third page is cut, then refused for the rate, then an error: the walk goes on where it stood."""
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.plant("forem", count=4 * PER_PAGE + 5, newest_age_ms=1000, step_ms=100, text="above {n}")
        post = scene.plant("forem", "it-1", newest_age_ms=60_000)
        scene.plant("forem", count=20, newest_age_ms=600_000, text="old {n}")
        for nth, do, params in ((3, "truncated_page", {"sent_bytes": 200}), (4, "rate_limited", {"wait_s": 1}),
                                (5, "status", {"status": 500})):
            scene.sim.fault(do, "forem", on={"kind": "list", "nth": nth}, **params)
        with scene.running() as reconciler:
            assert scene.wait_state(delivery, "published", "approved")["ext_id"] == post
        pages = [line["target"].rpartition("=")[2] for line in scene.sim.get("requests", instance="forem")["requests"]]
        assert pages[:6] == ["1", "2", "3", "3", "3", "3"], "it did not begin anew"
        assert len(scene.events(reconciler, "walk.ended")) == 1
        scene.nothing_was_written()


@together.test
def test_a_listing_that_ignores_its_parameters_proves_nothing():
    """Asked for what is older, it gives the newest forty again; ours would be the forty-fifth."""
    with Scene(["mastodon"], times={"key_window_ms": 0}) as scene:
        delivery = scene.uncertain(channel("mastodon"), "it-1")
        scene.plant("mastodon", "it-1", newest_age_ms=60_000)
        scene.plant("mastodon", count=44, newest_age_ms=1000, step_ms=100)
        scene.sim.fault("paging_ignored", "mastodon", times=-1)
        with scene.running() as reconciler:
            reconciler.wait_output("walk.ended")
            assert "result=no_progress" in scene.events(reconciler, "walk.ended")[0]
        assert scene.state(delivery) == "uncertain" and scene.saw("mastodon", "reads") < 20
        assert scene.ledger.due("walk:" + channel("mastodon")) > scene.ledger.now(), "and it is looked at again"
        scene.nothing_was_written()


# ---- posts that not everybody sees

@together.test
def test_a_post_for_followers_only_is_found_by_its_account():
    private = {"mastodon": {**NO_KEY["mastodon"], "settings_extra": {"visibility": "private"}}}
    with Fleet(["mastodon"], channel=private) as fleet:
        fleet.sim.fault("commit_then_close", "mastodon")
        fleet.add(TOOTS, fleet.item("it-1"))
        fleet.start_worker()
        fleet.start_reconciler()
        row = fleet.wait_state(NAME, "published", "held")
        assert row["source"] == "read_back" and fleet.sim.delivery(NAME)["writes"] == 1
        post, = fleet.sim.get("posts", instance="mastodon")["posts"]
        assert (post["id"], post["visibility"]) == (row["ext_id"], "private")
        fleet.check_judge(**{NAME: 1})


@together.test
def test_a_reply_is_found_among_an_accounts_posts():
    with Fleet(["mastodon"], channel=NO_KEY) as fleet:
        fleet.sim.fault("commit_then_close", "mastodon", on={"delivery": "part-2"})
        fleet.add(TOOTS, fleet.item("part-1"))
        fleet.start_worker()
        fleet.wait_state(TOOTS + "/part-1", "published")
        fleet.start_reconciler()
        fleet.add(TOOTS, fleet.item("part-2", landfall={"after": "part-1"}))
        row = fleet.wait_state(TOOTS + "/part-2", "published", "held")
        assert row["source"] == "read_back" and fleet.sim.delivery(TOOTS + "/part-2")["writes"] == 1
        fleet.check_judge(**{TOOTS + "/part-2": 1})


# ---- a platform that stored something else, or nothing

@together.test
def test_a_text_that_was_cut_is_published_and_said_to_be_changed():
    """Answered or not: it is there, nothing is posted a second time, and somebody can see that it is another text."""
    with Fleet(["mastodon", "forem"], channel={**NO_KEY, "forem": UNPACED["forem"]}) as fleet:
        for platform in fleet.platforms:
            fleet.sim.fault("text_cut", platform, times=-1, characters=60)
        fleet.sim.fault("commit_then_close", "mastodon", on={"delivery": "lost"})
        fleet.start_worker()
        fleet.start_reconciler()
        for item in ("told", "lost"):
            fleet.add(TOOTS, fleet.item(item, url=f"https://blog.example/p/{item}", content_text=LONG.replace("it-1", item)))
        fleet.add(CHANNELS["forem"], fleet.item("told", content_text=LONG))
        for delivery, source in ((TOOTS + "/told", "response"), (TOOTS + "/lost", "read_back"), ("forem/brand/told", "response")):
            row = fleet.wait_state(delivery, "published", "held", "rejected")
            assert (row["source"], row.get("changed")) == (source, "1"), row
            assert f"delivery={delivery}" in " ".join(line for process in fleet.processes for line in process.stderr().splitlines()
                                                      if "event=delivery.changed" in line)
        fleet.sim.clear_faults()
        fleet.add(TOOTS, fleet.item("whole"))
        assert "changed" not in fleet.wait_state(TOOTS + "/whole", "published")
        report = fleet.check_judge()
        assert [seen["writes"] for seen in report["deliveries"].values()] == [1, 1, 1, 1]


@together.test
def test_posts_that_were_accepted_and_thrown_away_are_told_and_not_sent_again():
    """30 times an id, and never a post: each is held with what is known of it, and the streak raises one alarm."""
    verified = {**shipped("mastodon"), "verify_after_publish": True}
    with Fleet(["mastodon"], channel=UNPACED, descriptors=[verified], instances={"mastodon": {"ghost": True}}) as fleet:
        names = fleet.add_many(TOOTS, [f"it-{number}" for number in range(30)])
        fleet.start_worker()
        reconciler = fleet.start_reconciler()
        fleet.wait_states(names, "held")
        rows = [fleet.row(name) for name in names]
        assert {row["reason"] for row in rows} == {"gone"} and all(row["ext_id"] for row in rows)
        assert "channel.vanishing" in reconciler.stderr() and f"channel={TOOTS} " in reconciler.stderr()
        report = fleet.check_judge(**dict.fromkeys(names, 0))
        assert {seen["writes"] for seen in report["deliveries"].values()} == {1}

        fleet.sim.post("settings", instance="mastodon", ghost=False)
        fleet.add_many(TOOTS, ["fine"])
        row = fleet.wait_state(TOOTS + "/fine", "published")
        assert row["source"] == "read_back"
        fleet.check_judge(**{TOOTS + "/fine": 1})


@together.test
def test_one_post_that_is_gone_is_no_alarm():
    verified = {**shipped("mastodon"), "verify_after_publish": True}
    with Fleet(["mastodon"], channel=UNPACED, descriptors=[verified]) as fleet:
        fleet.sim.fault("ghost_id", "mastodon", on={"delivery": "ghost"})
        names = fleet.add_many(TOOTS, ["before", "ghost", "after"])
        fleet.start_worker()
        reconciler = fleet.start_reconciler()
        fleet.wait_states([names[0], names[2]], "published")
        fleet.wait_state(names[1], "held")
        assert reconciler.stop() == 0 and "channel.vanishing" not in reconciler.stderr()
        fleet.check_judge(**dict(zip(names, (1, 0, 1))))


# ---- a worker that comes late

def late_worker(fault, **params):
    """The worker stands still with the answer in its socket until its lease has ended, somebody has read the post back,
    and a person has drained. Then it goes on."""
    with Fleet(["mastodon"], channel=NO_KEY) as fleet:
        fleet.sim.fault(fault, "mastodon", **params)
        fleet.add(TOOTS, fleet.item("it-1"))
        worker = fleet.start_worker(name="slow")
        fleet.sim.wait("commits")
        worker.pause()
        fleet.sim.release()
        fleet.start_worker(name="other")
        fleet.start_reconciler()
        fleet.wait_state(NAME, "published")
        drain = fleet.start_reconciler("drain", "--json")
        drain.wait_exit(0)
        row = fleet.row(NAME)
        assert row["source"] == "read_back"
        worker.resume()
        fleet.add(TOOTS, fleet.item("it-2"))
        fleet.wait_state(TOOTS + "/it-2", "published")
        assert worker.stop() == 0
        assert fleet.row(NAME) == row, "what was decided stands"
        assert fleet.sim.delivery(NAME)["writes"] == 1
        fleet.check_judge(**{NAME: 1})


@together.test
def test_a_success_that_is_told_late_changes_nothing():
    late_worker("hold", limit_ms=60_000)


@together.test
def test_a_failure_that_is_told_late_sends_nothing_again():
    late_worker("commit_then_status", status=503, body={"error": "busy"}, delay_ms=700)


@together.test
def test_the_wait_for_a_journal_that_cannot_be_written_sends_nothing_again():
    """The post is there and the ledger cannot note it: the bookkeeping alone is repeated, until it is done."""
    with Fleet(["mastodon"], channel=NO_KEY) as fleet:
        fleet.sim.fault("hold", "mastodon", limit_ms=60_000)
        fleet.add(TOOTS, fleet.item("it-1"))
        worker = fleet.start_worker()
        fleet.sim.wait("holding")
        fleet.db.delete("lf:{0}:outcomes")
        fleet.db.set("lf:{0}:outcomes", "of another type")
        fleet.sim.release()
        wait_for(lambda: "ledger." in worker.stderr() and "WRONGTYPE" in worker.stderr(), what=lambda: worker.tail())
        assert fleet.state(NAME) == "claimed"
        fleet.db.delete("lf:{0}:outcomes")
        assert fleet.wait_state(NAME, "published", "uncertain")["source"] == "response"
        assert fleet.sim.delivery(NAME)["writes"] == 1
        fleet.check_judge(**{NAME: 1})
