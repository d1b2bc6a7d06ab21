# SPDX-License-Identifier: MIT
"""Before a person's word sends anything again, the platform is read: what is found is published instead, what cannot be
excluded is not sent, and a post that a person names is looked at. The fake platforms say what is there and count."""
import json
import subprocess

import pytest

from lib.fleet import SECRETS
from lib.tree import program
from reconciler_kit import Scene, channel, wait_for

FOREM, TOOTS = channel("forem"), channel("mastodon")
WHY = ("--why", "asked the editors")


def landfall(scene, *words, code=0, env=None):
    done = subprocess.run([program("landfall"), *words, *WHY, "--config", scene.config_path, "--json"], text=True, env=env,
                          capture_output=True, timeout=60, cwd=scene.dir)
    assert done.returncode == code, done
    return json.loads(done.stdout)


def answer(scene, *words, **options):
    return landfall(scene, *words, **options)["deliveries"][0]


def read(scene, *words, code=0, stdin=None):
    done = subprocess.run([program("landfall-reconciler"), "read", *words, "--json", "--config", scene.config_path], text=True,
                          input=stdin, capture_output=True, timeout=60, cwd=scene.dir)
    assert done.returncode == code, done
    return {line["delivery"]: line for line in map(json.loads, done.stdout.splitlines())}


def hold(scene, where, item_id, reason="no_evidence", **fields):
    """Its only attempt had no answer, and it was given to a person."""
    delivery = scene.uncertain(where, item_id)
    answered = scene.ledger.settle(delivery, "held", reason, fields=fields)
    assert answered[0] == "ok", answered
    return delivery


def audit(scene):
    return [(fields["act"], fields["delivery"], fields["from"], fields["to"])
            for _, fields in scene.db.xrange(scene.ledger.key("audit"))]


@pytest.mark.parametrize("verb", ["retry", "approve"])
def test_what_is_there_is_published_and_not_sent_again(verb):
    with Scene(["forem"]) as scene:
        delivery = hold(scene, FOREM, "it-1")
        post = scene.plant("forem", "it-1")
        told = answer(scene, verb, delivery)
        assert told["answer"] == "done" and told["risk"] is None and f"has it as {post}; nothing is sent" in told["text"]
        assert told["to"] == {"state": "published", "reason": "confirmed"}
        row = scene.row(delivery)
        assert (row["state"], row["source"], row["ext_id"]) == ("published", "read_back", post)
        assert audit(scene) == [(verb, delivery, "held", "published")]
        scene.run_worker()
        scene.nothing_was_written()


def test_two_that_are_there_are_told_as_a_duplicate():
    with Scene(["forem"]) as scene:
        delivery = hold(scene, FOREM, "it-1")
        posts = {scene.plant("forem", "it-1", newest_age_ms=1000), scene.plant("forem", "it-1")}
        assert answer(scene, "retry", delivery)["to"]["state"] == "published"
        assert {scene.row(delivery)["ext_id"], scene.row(delivery)["duplicate"]} == posts


def test_what_a_complete_history_does_not_hold_is_sent_once_more():
    with Scene(["forem"]) as scene:
        delivery = f"{FOREM}/it-1"
        scene.sim.fault("close_before_commit", "forem")
        scene.add(FOREM, scene.item("it-1"))
        scene.run_worker()
        scene.ledger.settle(delivery, "held", "no_evidence")
        scene.plant("forem", count=40, newest_age_ms=5000)
        wait_for(lambda: scene.ledger.now() > int(scene.row(delivery)["commit_by"]), 10, "the attempt to be over")
        told = answer(scene, "retry", delivery)
        assert told["to"] == {"state": "approved", "reason": "operator"} and told["risk"] is None
        scene.run_worker()
        assert scene.state(delivery) == "published"
        scene.check_judge(**{delivery: 1})


def test_many_of_one_account_are_read_in_one_walk():
    with Scene(["forem"]) as scene:
        names = [hold(scene, FOREM, f"it-{n}") for n in range(20)]
        there = {names[n]: scene.plant("forem", f"it-{n}") for n in range(0, 20, 2)}
        done = landfall(scene, "retry", "--channel", FOREM, "--yes")
        assert done["done"] == 20
        assert {name: scene.row(name).get("ext_id") for name in names} == {name: there.get(name) for name in names}
        assert {scene.state(name) for name in names if name not in there} == {"approved"}
        assert scene.saw("forem", "reads") == 4, "a page and the empty one that ends it, twice, for its pages have numbers"


def test_an_absence_that_does_not_count_yet_is_refused_with_its_time():
    with Scene(["forem"], times={"visibility_lag_ms": 3600000}) as scene:
        delivery = hold(scene, FOREM, "it-1")
        commit_by = int(scene.row(delivery)["commit_by"])
        told = answer(scene, "retry", delivery, "--yes", code=3)
        assert (told["answer"], told["until_ms"]) == ("busy", commit_by + 3600000)
        assert "may still commit or become visible" in told["text"]
        assert scene.ledger.state(delivery) == ("held", "no_evidence") and audit(scene) == []
        scene.plant("forem", "it-1")  # and what is found counts at once
        assert answer(scene, "retry", delivery)["to"]["state"] == "published"


def test_a_history_that_cannot_be_read_to_its_end_sends_nothing_unless_a_person_says_so():
    with Scene(["mastodon"], times={"key_window_ms": 0}) as scene:
        delivery = hold(scene, TOOTS, "it-1")
        scene.plant("mastodon", count=100, newest_age_ms=2000, step_ms=10)
        scene.sim.fault("repeated_cursor", "mastodon", times=-1)
        for words in ([], ["--yes"]):
            told = answer(scene, "retry", delivery, *words, code=2)
            assert told["answer"] == "unread" and "cursor_repeated" in told["text"] and "--without-reading" in told["text"]
        assert scene.ledger.state(delivery) == ("held", "no_evidence") and audit(scene) == []
        told = answer(scene, "retry", delivery, "--without-reading")
        assert told["answer"] == "done" and "a second post is possible" in told["risk"]
        assert audit(scene) == [("retry --without-reading", delivery, "held", "approved")]


def test_a_platform_that_refuses_the_credential_or_asks_to_wait_proves_nothing():
    with Scene(["forem"]) as scene:
        delivery = hold(scene, FOREM, "it-1")
        scene.sim.fault("rate_limited", "forem", times=-1, form="retry_after_seconds", wait_s=900, on={"kind": "list"})
        before = scene.ledger.now()
        told = answer(scene, "retry", delivery, code=2)
        assert told["answer"] == "unread" and before + 800000 < told["until_ms"] < before + 1000000
        scene.sim.clear_faults()
        config = json.load(open(scene.config_path, encoding="utf-8"))
        config["channels"][FOREM]["credential"] = {"file": scene.write("wrong.secret", "tok-wrong-0000")}
        scene.write("landfall.json", json.dumps(config))
        assert answer(scene, "retry", delivery, code=2)["answer"] == "unread"
        assert scene.db.hget(scene.ledger.key("channel", FOREM), "paused") is None, "a person only looked"
        assert scene.ledger.state(delivery) == ("held", "no_evidence") and audit(scene) == []


def test_a_row_that_changes_while_the_platform_is_read_is_not_decided_about():
    with Scene(["forem"]) as scene:
        delivery = hold(scene, FOREM, "it-1")
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        process = scene.start("landfall", "retry", delivery, *WHY, "--config", scene.config_path, "--json", name="retry")
        scene.sim.wait("holding")
        assert answer(scene, "cancel", delivery, "--in-doubt")["answer"] == "done"
        scene.sim.release()
        process.wait_exit(3, 30)
        told = json.loads(process.stdout())["deliveries"][0]
        assert told["answer"] == "busy" and "it changed while the platform was read" in told["text"]
        assert scene.ledger.state(delivery) == ("rejected", "operator")


def test_what_was_published_once_and_is_gone_is_posted_again_on_a_persons_word():
    with Scene(["mastodon"]) as scene:
        post = scene.plant("mastodon", "it-1")
        scene.sim.post("posts", instance="mastodon", op="delete", id=post)
        delivery = hold(scene, TOOTS, "it-1", "gone", ext_id=post)
        told = answer(scene, "retry", delivery)
        assert told["to"]["state"] == "approved" and f"published once as {post}" in told["risk"]


# ---- confirm

def test_a_post_that_a_person_names_is_looked_at():
    with Scene(["mastodon"]) as scene:
        there, gone = scene.plant("mastodon", "it-1"), scene.plant("mastodon", "it-2")
        scene.sim.post("posts", instance="mastodon", op="delete", id=gone)
        one, two = hold(scene, TOOTS, "it-1"), scene.uncertain(TOOTS, "it-2")
        told = answer(scene, "confirm", two, "--id", gone, code=1)
        assert told["answer"] == "refused" and "no post under that id" in told["text"]
        assert scene.ledger.state(two) == ("uncertain", "no_answer") and audit(scene) == []
        assert answer(scene, "confirm", one, "--id", there)["answer"] == "done"
        row = scene.row(one)
        assert (row["state"], row["source"], row["ext_id"]) == ("published", "operator", there)
        assert row["url"].endswith(there), "its address is the platform's word"
        assert "belongs to " + one in answer(scene, "confirm", two, "--id", there, code=1)["text"]
        assert answer(scene, "confirm", two, "--id", gone, "--without-reading")["answer"] == "done"
        assert audit(scene) == [("confirm", one, "held", "published"), ("confirm --without-reading", two, "uncertain", "published")]
        scene.nothing_was_written()


def test_a_post_that_cannot_be_looked_at_is_not_confirmed():
    with Scene(["mastodon"]) as scene:
        delivery = hold(scene, TOOTS, "it-1")
        scene.sim.fault("rate_limited", "mastodon", times=-1, wait_s=900, on={"kind": "read"})
        told = answer(scene, "confirm", delivery, "--id", "1", code=2)
        assert told["answer"] == "unread" and "--without-reading" in told["text"]
        assert scene.ledger.state(delivery) == ("held", "no_evidence") and audit(scene) == []


def test_where_nobody_can_ask_by_id_a_person_is_believed():
    with Scene(["forem"]) as scene:
        delivery = hold(scene, FOREM, "it-1")
        assert answer(scene, "confirm", delivery, "--id", "17")["answer"] == "done"
        assert scene.saw("forem", "requests") == 0


# ---- what reads for them

def test_a_credential_of_the_environment_is_there_for_who_reads():
    """The command reads the configuration, which takes the password of Redis out of the environment; it starts the reader
    before."""
    with Scene(["forem"]) as scene:
        delivery = hold(scene, FOREM, "it-1")
        post = scene.plant("forem", "it-1")
        config = json.load(open(scene.config_path, encoding="utf-8"))
        config["channels"][FOREM]["credential"] = {"env": "FOREM_KEY"}
        scene.write("landfall.json", json.dumps(config))
        scene.db.config_set("requirepass", "pw-of-redis-1")
        env = {"PATH": "/usr/bin:/bin", "LANDFALL_REDIS_PASSWORD": "pw-of-redis-1", "FOREM_KEY": SECRETS["forem"]}
        assert post in answer(scene, "retry", delivery, env=env)["text"]


def test_reading_says_what_is_there_and_changes_nothing():
    with Scene(["forem", "mastodon"]) as scene:
        names = {"held": hold(scene, FOREM, "held"), "absent": hold(scene, FOREM, "absent"), "open": scene.uncertain(FOREM, "open"),
                 "early": scene.uncertain(FOREM, "early", commit_cap=3600000), "toot": hold(scene, TOOTS, "toot")}
        posts = {item: scene.plant("forem", item) for item in ("held", "open")}
        before = {name: scene.row(name) for name in names.values()}
        scene.db.config_resetstat()
        said = read(scene, "-", code=5, stdin="\n".join([*names.values(), FOREM + "/none", ""]))
        commands = {name for name in scene.db.info("commandstats")}
        assert not commands & {"cmdstat_eval", "cmdstat_evalsha", "cmdstat_set", "cmdstat_hset", "cmdstat_xadd", "cmdstat_zadd"}
        assert {name: scene.row(name) for name in names.values()} == before
        events = {item: (said[name]["evidence"]["event"], said[name]["settled"]) for item, name in names.items()}
        assert events == {"held": ("found", True), "absent": ("absent", True), "open": ("found", True), "early": ("absent", False),
                          "toot": ("absent", True)}
        assert said[names["held"]]["evidence"]["ext_id"] == posts["held"] and said[names["open"]]["state"] == "uncertain"
        assert said[names["early"]]["settled_at_ms"] >= int(before[names["early"]]["commit_by"])
        assert said[names["held"]]["rev"] == int(before[names["held"]]["rev"])
        assert said[FOREM + "/none"]["evidence"] is None and said[FOREM + "/none"]["state"] == "none"
        read(scene, names["held"])
        read(scene, names["early"], code=3)
        scene.nothing_was_written()


@pytest.mark.parametrize("words, says", [
    ([], "name deliveries"), (["nonsense"], "platform/account/id"), (["other/brand/x"], "not configured here"),
    ([FOREM + "/a", FOREM + "/b", "--id", "1"], "about one delivery"), ([FOREM + "/a", "--id", "1"], "by its id"),
    ([FOREM + "/a", "--dry-run"], "does not belong")])
def test_what_cannot_be_asked_is_said(words, says):
    with Scene(["forem"]) as scene:
        done = subprocess.run([program("landfall-reconciler"), "read", *words, "--config", scene.config_path], text=True,
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        assert done.returncode == 1 and says in done.stderr, done
