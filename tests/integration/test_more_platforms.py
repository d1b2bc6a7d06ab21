# SPDX-License-Identifier: MIT
"""Platforms of every make, with the shipped descriptors: what is sent is there once, whatever became of the answers, and each
platform's own traps are seen."""
import json
import re

import pytest

from lib.canary import everything, found
from lib.more_platforms import MORE, MoreFleet
from lib.procs import wait_for
from lib.together import Together

NOT_DONE = {"meta": {"commit_state": "not_committed"}, "error": {"retry": {"kind": "retry_identical"}}}
SLOW_RETRY = {"delivery": {"backoff_base_ms": 60_000, "backoff_cap_ms": 60_000}}
together = Together(at_once=4)
HTML = "<html><body><h1>504</h1></body></html>"

# item -> what its first write meets, whether that committed
MEETS = {
    "plain": (None, {}, 1),
    "lost": ("commit_then_close", {"how": "rst"}, 1),
    "proxy": ("commit_then_status", {"status": 504, "body": HTML}, 1),
    "never": ("close_before_commit", {}, 0),
}


@pytest.fixture(scope="module")
def fleet():
    """All of it at once, until each delivery has come to rest."""
    with MoreFleet() as running:
        for name in MORE:
            for item, (do, params, _) in MEETS.items():
                if do:
                    running.sim.fault(do, name, on={"kind": "write", "delivery": f"{name}/brand/{item}"}, **params)
                running.add(running.channel(name), running.made(name, item))
        running.start_worker()
        running.start_reconciler()
        for name in MORE:
            for item in MEETS:
                running.wait_state(f"{name}/brand/{item}", "published", "held", "rejected", timeout_s=60)
        yield running
        running.check_judge()


@pytest.mark.parametrize("name", MORE)
def test_each_item_is_there_once(fleet, name):
    ends = MORE[name].ends
    for item, (do, _, commits) in MEETS.items():
        delivery = f"{name}/brand/{item}"
        row, seen = fleet.row(delivery), fleet.sim.delivery(delivery)
        if ends == "person" and do:
            assert (row["state"], row["reason"], seen["writes"], seen["commits"]) == ("held", "no_evidence", 1, commits), (row, seen)
            continue
        assert (row["state"], seen["commits"]) == ("published", 1), (row, seen)
        ext_id = row.get("ext_id") or fleet.db.hget(f"lf:{{0}}:request:{delivery}", "ext_id")
        assert [str(made) for made in seen["external_ids"]] == [ext_id], row
        assert seen["writes"] == (1 if commits and ends == "read" else seen["writes"]) <= 2
        if commits and do:
            assert row["source"] == "read_back" or ends == "key", row
        assert len({(write["key"], write["body_sha256"]) for write in seen["requests"]}) == 1, "never other bytes"


def log_of(fleet, event):
    return [line for process in fleet.processes for line in process.stderr().splitlines() if f"event={event} " in line]


def tried_once(fleet, name, item="it-1"):
    """An item whose first write was refused for now, and is to be sent again in a minute: its key is known. Gives the row."""
    delivery = f"{fleet.channel(name)}/{item}"
    fleet.sim.fault("status", name, on={"kind": "write", "delivery": delivery}, status=503, body=NOT_DONE)
    fleet.add(fleet.channel(name), fleet.made(name, item))
    return wait_for(lambda: fleet.row(delivery).get("reason") == "retry" and fleet.row(delivery), what=f"{delivery} to be tried")


# ---- credentials

@together.test
def test_a_refused_credential_pauses_the_channel_and_costs_nothing():
    """Each in its own words: 401, 200 with ok false, 200 with errors, a token that is none."""
    with MoreFleet() as fleet:
        wrong = {name: "1" * 24 + ":" + "ab" * 32 if name == "ghost" else f"wrong-token-of-{name}" for name in MORE}
        for name, token in wrong.items():
            fleet.write_secret(f"{name}.brand", token)
            fleet.add(fleet.channel(name), fleet.made(name, "it-1"))
        worker = fleet.start_worker()
        for name in MORE:
            delivery = fleet.channel(name) + "/it-1"
            wait_for(lambda d=delivery: fleet.row(d).get("reason") == "credential", 20, lambda d=delivery: f"{d}: {fleet.row(d)}")
            row = fleet.row(delivery)
            assert row["state"] == "approved" and row.get("tries", "0") == "0" and "in_doubt" not in row, row
            assert fleet.db.hget(f"lf:{{0}}:channel:{fleet.channel(name)}", "paused") == "credential"
        wait_for(lambda: len(log_of(fleet, "channel.paused")) >= len(MORE), what="an alert for each: it follows the row")
        assert len(log_of(fleet, "channel.paused")) == len(MORE), "one alert each"
        assert hidden(fleet, worker, wrong)
        fleet.check_judge()


def hidden(fleet, worker, tokens):
    """No token stands in a log or in Redis, in no form in which one travels; a key's id is no secret."""
    secrets = {name: token.rpartition(":")[2] if name == "ghost" else token for name, token in tokens.items()}
    places = {"worker": worker.stderr().encode(), **everything(fleet.redis.client(decode_responses=False))}
    hits = found(secrets, places)
    assert not hits, hits
    assert not [place for place, content in places.items() if b"eyJ" in content], "nor a token that was signed for one request"
    return True


@together.test
def test_a_token_that_an_answer_echoes_is_told_to_nobody():
    with MoreFleet() as fleet:
        echo = {"error": "you sent {request_header:authorization} {request_header:x-postmark-server-token}, which is wrong"}
        tokens = {name: more.token for name, more in MORE.items()}
        for name in MORE:
            told = json.dumps(echo) + (tokens[name] if name == "telegram" else "")
            fleet.sim.fault("status", name, on={"kind": "write"}, times=-1, status=410, body=told)
            fleet.add(fleet.channel(name), fleet.made(name, "it-1"))
        worker = fleet.start_worker("--until-idle", env={"LANDFALL_LOG_LEVEL": "debug"})
        worker.wait(30)
        answered = [fleet.sim.delivery(fleet.channel(name) + "/it-1")["requests"][0]["answered"] for name in MORE]
        assert set(answered) == {410} and "you sent" in worker.stderr()
        assert hidden(fleet, worker, tokens)


# ---- names that are taken

def second_post(name, slug_of_post):
    """Somebody has made the post by hand, under the name that ours would have. The number behind ours betrays it."""
    with MoreFleet([name], config=SLOW_RETRY) as fleet:
        fleet.start_worker()
        slug = re.sub("-+", "-", tried_once(fleet, name)["key"])
        fleet.sim.post("posts", instance=name, op="plant", slug=slug, title="by hand", content="", status="publish")
        delivery = fleet.channel(name) + "/it-1"
        fleet.hurry(delivery)
        row = fleet.wait_state(delivery, "published")
        duplicate = row.get("duplicate") or fleet.db.hget(f"lf:{{0}}:request:{delivery}", "duplicate")
        assert duplicate == slug and [slug_of_post(post) for post in fleet.posts(name)] == [slug + "-2", slug]
        assert len(log_of(fleet, "delivery.duplicate")) == 1 and "level=error" in log_of(fleet, "delivery.duplicate")[0]
        fleet.check_judge(**{delivery: 1})


@together.test
def test_a_number_behind_the_name_is_an_alarm_about_a_second_post():
    for name in ("wordpress", "ghost", "hashnode"):
        second_post(name, lambda post: post["slug"])


# ---- refusals inside a success

def inside_a_success(name, cases):
    """cases: item -> (body of the 200, state, reason, commits in the end)"""
    with MoreFleet([name]) as fleet:
        for item, (body, _, _, _) in cases.items():
            fleet.sim.fault("status", name, on={"kind": "write", "delivery": f"{fleet.channel(name)}/{item}"}, status=200, body=body)
            fleet.add(fleet.channel(name), fleet.made(name, item))
        fleet.start_worker()
        fleet.start_reconciler()
        for item, (_, state, reason, commits) in cases.items():
            delivery = f"{fleet.channel(name)}/{item}"
            row = fleet.wait_state(delivery, "published", "held", "rejected")
            assert (row["state"], row["reason"]) == (state, reason), (item, row)
            seen = fleet.sim.delivery(delivery)
            assert (seen["writes"], seen["commits"]) == (1 + commits, commits), (item, seen)
        fleet.check_judge()


@together.test
def test_what_a_chat_refuses_inside_a_success_is_believed_word_by_word():
    inside_a_success("slack", {
        "too-long": ({"ok": False, "error": "msg_too_long"}, "rejected", "refused", 0),
        "limit": ({"ok": False, "error": "ratelimited"}, "published", "confirmed", 1),
        "not-all-came": ({"ok": False, "error": "request_timeout"}, "published", "confirmed", 1),
        "who-knows": ({"ok": False, "error": "internal_error"}, "published", "confirmed", 1),  # read back first: it is not there
    })


@together.test
def test_what_graphql_refuses_inside_a_success_is_believed_word_by_word():
    def errors(*codes):
        return {"errors": [{"message": code, "extensions": {"code": code}} for code in codes], "data": None}
    inside_a_success("hashnode", {
        "bad-input": (errors("BAD_USER_INPUT"), "rejected", "refused", 0),
        "bad-and-broken": (errors("BAD_USER_INPUT", "INTERNAL_SERVER_ERROR"), "published", "confirmed", 1),
        "broken": (errors("INTERNAL_SERVER_ERROR"), "published", "confirmed", 1),
        "nothing": ({"data": {"publishPost": None}}, "published", "confirmed", 1),
    })


@together.test
def test_a_tag_that_has_a_release_is_read_and_not_made_again():
    with MoreFleet(["github-releases"]) as fleet:
        name = "github-releases"
        release, = fleet.sim.post("posts", instance=name, op="plant", tag_name="v-it-1")["ids"]
        fleet.add(fleet.channel(name), fleet.made(name, "it-1"))
        fleet.start_worker()
        fleet.start_reconciler()
        row = fleet.wait_state(fleet.channel(name) + "/it-1", "published", "held", "rejected")
        assert (row.get("ext_id"), row["source"]) == (release, "read_back"), row
        assert fleet.sim.delivery(fleet.channel(name) + "/it-1")["writes"] == 1
        fleet.check_judge(**{fleet.channel(name) + "/it-1": 0})


# ---- accounts that see less than all

@together.test
def test_a_token_that_makes_a_stranger_of_its_owner_is_renewed_before_anything_is_read():
    """Reads are answered with 200 then, and a list without our posts: believed, it would prove an absence."""
    with MoreFleet(["lemmy"]) as fleet:
        delivery = "lemmy/brand/it-1"
        fleet.sim.fault("commit_then_close", "lemmy")
        fleet.add("lemmy/brand", fleet.made("lemmy", "it-1"))
        fleet.start_worker("--until-idle").wait(30)
        assert fleet.row(delivery)["state"] == "uncertain", fleet.row(delivery)
        assert fleet.sim.post("posts", instance="lemmy", op="forget_sessions")["forgotten"] == 1
        fleet.start_reconciler()
        row, seen = fleet.wait_state(delivery, "published", "held"), fleet.sim.delivery(delivery)
        assert (row["source"], seen["writes"]) == ("read_back", 1), (row, seen)
        fleet.check_judge(**{delivery: 1})


def looked_for_in_vain(platform, hide, step):
    """The answer is lost, and hide(fleet, id) makes the list one that does not show the post: nothing is sent again."""
    with MoreFleet([platform]) as fleet:
        delivery = f"{platform}/brand/it-1"
        fleet.sim.fault("commit_then_close", platform)
        fleet.add(f"{platform}/brand", fleet.made(platform, "it-1"))
        worker = fleet.start_worker()
        wait_for(lambda: fleet.row(delivery).get("state") == "uncertain", what="the answer to be lost")
        hide(fleet, fleet.posts(platform)[0]["id"])
        fleet.start_reconciler()
        wait_for(lambda: len([line for line in log_of(fleet, "walk.ended") if "result=not_prepared" in line]) >= 2, what="two walks")
        assert any(f"$.reads.prepare[{step}].keep" in line for line in log_of(fleet, "walk.ended")), "it says which step it was"
        assert fleet.row(delivery)["state"] == "uncertain" and fleet.sim.delivery(delivery)["writes"] == 1, worker.stderr()
        fleet.check_judge(**{delivery: 1})


@together.test
def test_a_post_that_a_moderator_removed_is_not_published_again():
    looked_for_in_vain("lemmy", lambda fleet, post: fleet.sim.post("posts", instance="lemmy", op="remove", id=post), 1)


@together.test
def test_an_account_that_hides_posts_from_itself_proves_nothing():
    looked_for_in_vain("lemmy", lambda fleet, post: fleet.sim.post("settings", instance="lemmy", show_read_posts=False), 0)


# ---- keys

@together.test
def test_a_key_in_the_path_gives_the_first_post_again():
    """Nothing can be read: the same bytes go out under the same key, and it is one post."""
    with MoreFleet(["matrix"]) as fleet:
        delivery = fleet.channel("matrix") + "/it-1"
        fleet.sim.fault("commit_then_close", "matrix")
        fleet.sim.fault("status", "matrix", on={"kind": "list"}, times=-1, status=500)
        fleet.add(fleet.channel("matrix"), fleet.made("matrix", "it-1"))
        fleet.start_worker()
        fleet.start_reconciler()
        row = fleet.wait_state(delivery, "published", "held", "rejected")
        seen = fleet.sim.delivery(delivery)
        assert (row["state"], row["source"], seen["writes"]) == ("published", "replay", 2), (row, seen)
        assert seen["external_ids"] == [row["ext_id"]]
        fleet.check_judge(**{delivery: 1})


def used_with_other_bytes(status):
    """Another version of us has used the key. That proves a request under it: it is read back, never refused, and no other
    key is drawn."""
    with MoreFleet(["keyed-api"], config=SLOW_RETRY) as fleet:
        name, delivery = "keyed-api", "keyed-api/brand/it-1"
        fleet.sim.post("settings", instance=name, mismatch=status)
        fleet.start_worker()
        key = tried_once(fleet, name)["key"]
        post, = fleet.sim.post("posts", instance=name, op="plant", key=key, sent="other bytes", metadata={"landfall_key": key})["ids"]
        fleet.hurry(delivery)
        assert fleet.wait_state(delivery, "uncertain", "rejected", "held")["reason"] == "conflict", fleet.output()
        fleet.start_reconciler()
        row = fleet.wait_state(delivery, "published", "rejected", "held")
        assert (row["state"], row["ext_id"], row["key"], row["source"]) == ("published", post, key, "read_back"), row
        assert {write["key"] for write in fleet.sim.delivery(delivery)["requests"]} == {key}
        fleet.check_judge(**{delivery: 0})


@together.test
def test_a_key_that_was_used_with_other_bytes_is_read_back():
    for status in (400, 409, 422):
        used_with_other_bytes(status)


# ---- mail

@together.test
def test_a_mail_that_is_acknowledged_too_late_is_found_and_not_sent_again():
    """The answer comes when nobody waits for it any more; the next mail to the same host must not take it for its own."""
    with MoreFleet(["postmark"]) as fleet:
        late, following = "postmark/brand/late", "postmark/brand/following"
        fleet.sim.fault("commit_then_late_answer", "postmark", on={"delivery": late}, delay_ms=2500)
        fleet.add("postmark/brand", fleet.made("postmark", "late"))
        fleet.start_worker()
        fleet.start_reconciler()
        fleet.sim.wait("commits")
        fleet.add("postmark/brand", fleet.made("postmark", "following"))
        rows = {name: fleet.wait_state(name, "published", "held") for name in (late, following)}
        assert rows[late]["source"] == "read_back" and rows[following]["source"] == "response"
        for name, row in rows.items():
            seen = fleet.sim.delivery(name)
            assert seen["external_ids"] == [row["ext_id"]] and seen["writes"] == 1, (row, seen)
        fleet.check_judge(**{late: 1, following: 1})
