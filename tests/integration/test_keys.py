# SPDX-License-Identifier: MIT
"""What keys are worth: the same bytes under the same key by whoever sends again, nothing past the window, nothing where
the server only looks as if it honoured them."""
import json

from lib.fleet import TIMES, UNPACED, Fleet
from lib.procs import wait_for
from lib.together import Together

TOOTS, NAME = "mastodon/brand", "mastodon/brand/it-1"
PAGE = "<html><body><h1>503 Service Unavailable</h1></body></html>"
together = Together(at_once=6)


def writes_of(fleet, delivery):
    return fleet.sim.delivery(delivery)["requests"]


def same_request(writes):
    return len({(write["key"], write["body_sha256"]) for write in writes}) == 1 and writes[0]["key"]


def window(key_window_ms):
    return {"mastodon": {**UNPACED["mastodon"], "times": {**TIMES, "key_window_ms": key_window_ms}}}


# ---- past the window

def forgotten(fleet):
    """A post is there, its answer was a proxy's 503, the worker is gone, and the server has forgotten the key."""
    fleet.sim.fault("commit_then_status", "mastodon", status=503, body=PAGE)
    fleet.add(TOOTS, fleet.item("it-1"))
    worker = fleet.start_worker(name="first")
    fleet.wait_state(NAME, "uncertain")
    assert worker.stop() == 0
    fleet.sim.post("posts", instance="mastodon", op="forget_keys")


@together.test
def test_a_key_past_its_window_is_not_sent_again():
    """A drain reads back what the key can no longer protect."""
    with Fleet(["mastodon"], channel=window(2000)) as fleet:
        forgotten(fleet)
        fleet.start_worker(name="second")
        fleet.start_reconciler("drain", "--json", "--wait", name="drain").wait_exit(0)
        assert fleet.wait_state(NAME, "published")["source"] == "read_back"
        assert len(writes_of(fleet, NAME)) == 1
        fleet.check_judge(**{NAME: 1})


@together.test
def test_a_key_past_its_window_is_not_sent_again_where_nothing_can_be_read():
    with Fleet(["mastodon"], channel=window(2000)) as fleet:
        forgotten(fleet)
        fleet.sim.fault("status", "mastodon", on={"kind": "list"}, times=-1, status=500)
        worker = fleet.start_worker(name="second")
        first_send_ms = int(fleet.row(NAME)["first_send"])

        def over():
            seconds, micros = fleet.db.time()
            return seconds * 1000 + micros // 1000 > first_send_ms + 2000
        wait_for(over, what="the window to end")
        drain = fleet.start_reconciler("drain", "--json", name="drain")
        assert drain.wait(60) == 2, "what cannot be read concludes nothing\n" + drain.tail()
        fleet.add(TOOTS, fleet.item("it-2"))
        fleet.wait_state(TOOTS + "/it-2", "published")
        assert fleet.state(NAME) == "uncertain" and len(writes_of(fleet, NAME)) == 1
        assert worker.stop() == 0
        fleet.check_judge(**{NAME: 1})


@together.test
def test_a_server_that_looks_the_same_and_ignores_keys_gets_one_request():
    channel, token = "gotosocial/brand", "tok-gts-91bc"
    with Fleet([]) as fleet:
        url = fleet.add_fake("gts", "mastodon", channel, token, honour_keys=False)
        fleet.add_channel(channel, token, {"instance": url}, **UNPACED["mastodon"])
        fleet.sim.fault("commit_then_status", "gts", status=504, body=PAGE)
        fleet.add(channel, fleet.item("it-1"))
        fleet.start_worker()
        fleet.start_reconciler()
        row = fleet.wait_state(channel + "/it-1", "published", "held", "rejected")
        write, = writes_of(fleet, channel + "/it-1")
        assert row["source"] == "read_back" and write["key"] is None, "a key that nobody honours is not sent"
        fleet.check_judge(**{channel + "/it-1": 1})


# ---- inside the window: the same bytes, whoever sends them and whatever has changed

@together.test
def test_a_template_that_changes_meanwhile_does_not_change_what_is_sent_again():
    with Fleet(["mastodon", "bluesky"], channel={**window(3_600_000), "bluesky": UNPACED["bluesky"]}) as fleet:
        names = [NAME, "bluesky/brand/it-1"]
        fleet.sim.fault("close_before_commit", "mastodon")
        fleet.sim.fault("close_before_commit", "bluesky", on={"kind": "write"})
        fleet.sim.fault("status", "mastodon", on={"kind": "list"}, times=-1, status=500)
        for name in names:
            fleet.add(name.rpartition("/")[0], fleet.item("it-1"))
        first = fleet.start_worker(name="first")
        for name in names:
            fleet.wait_state(name, "uncertain")
        assert first.stop() == 0
        for platform in fleet.platforms:
            members = fleet.channel_extra[platform]
            fleet.channel_extra[platform] = {**members, "text": '"Another text: " + .item.content_text'}
        fleet.write_config()
        fleet.start_worker(name="second")
        fleet.start_reconciler()
        for name in names:
            fleet.wait_state(name, "published")
            writes = writes_of(fleet, name)
            assert len(writes) == 2 and len({write["body_sha256"] for write in writes}) == 1, writes
            assert writes[0]["key"] == writes[1]["key"]
        fleet.check_judge(**dict.fromkeys(names, 1))


@together.test
def test_a_key_is_the_deliverys_on_every_machine():
    """The first worker is killed when all has been sent; another one, of another name and with another clock zone, repeats."""
    with Fleet(["webhook"], channel=UNPACED, config={"worker": {"name": "host-a"}}) as fleet:
        name = "webhook/brand/it-1"
        fleet.sim.fault("commit_then_close", "webhook", how="rst")
        fleet.add("webhook/brand", fleet.item("it-1"))
        fleet.start_worker(crash_at="after_last_byte", name="first").wait_killed()
        fleet.config_extra["worker"] = {"name": "host-b"}
        fleet.write_config()
        fleet.start_worker(name="second", env={"TZ": "Asia/Kolkata", "LC_ALL": "tr_TR.UTF-8"})
        fleet.start_reconciler()
        fleet.wait_state(name, "published")
        writes = writes_of(fleet, name)
        assert len(writes) == 2 and same_request(writes), writes
        assert writes[1]["at_ms"] - writes[0]["at_ms"] > 1200, "and at another time"


@together.test
def test_time_that_passes_between_attempts_changes_no_byte():
    """A record carries its time of creation: that is the approval's, not the sender's."""
    with Fleet(["bluesky"], channel=UNPACED, config={"delivery": {"backoff_base_ms": 2600, "backoff_cap_ms": 2600}}) as fleet:
        name = "bluesky/brand/it-1"
        fleet.sim.fault("status", "bluesky", on={"kind": "write"}, status=503,
                        body={"meta": {"commit_state": "not_committed"}, "error": {"retry": {"kind": "retry_identical"}}})
        fleet.add("bluesky/brand", fleet.item("it-1"))
        fleet.start_worker()
        fleet.wait_state(name, "published")
        first, second = writes_of(fleet, name)
        assert second["at_ms"] - first["at_ms"] >= 1200
        assert first["body_sha256"] == second["body_sha256"]
        post, = fleet.sim.get("posts", instance="bluesky")["posts"]
        assert "createdAt" in json.dumps(post)
        fleet.check_judge(**{name: 1})
