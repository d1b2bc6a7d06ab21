# SPDX-License-Identifier: MIT
"""What the reconciler makes of uncertain deliveries, with a real Redis and the fake platforms as judge."""
import signal

import pytest

from lib.fleet import SECRETS
from reconciler_kit import Scene, channel, wait_for

LISTINGS = ("mastodon", "forem")


@pytest.mark.parametrize("platform", LISTINGS)
def test_a_post_that_is_found_is_published_under_its_id(platform):
    with Scene([platform]) as scene:
        delivery = scene.uncertain(channel(platform), "it-1")
        post = scene.plant(platform, "it-1")
        scene.plant(platform, count=50)
        with scene.running() as reconciler:
            row = scene.wait_state(delivery, "published")
            assert (row["ext_id"], row["source"]) == (post, "read_back")
            assert "in_doubt" not in row
        assert len(scene.events(reconciler, "delivery.resolved")) == 1
        assert scene.ledger.journal() == []
        assert scene.ledger.due("walk:" + channel(platform)) is None
        assert scene.db.get(scene.ledger.key("walk", channel(platform))) is None
        scene.nothing_was_written()


def test_a_post_that_is_not_there_goes_back_to_the_workers():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.plant("forem", count=20)
        with scene.running():
            row = scene.wait_reason(delivery, "approved", "absent")
        assert "in_doubt" not in row and "cleared_at" in row
        assert scene.ledger.due("delivery:" + delivery) is not None
        scene.nothing_was_written()


def test_the_content_of_another_delivery_is_not_taken_for_it():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.plant("forem", "it-2")
        with scene.running():
            scene.wait_reason(delivery, "approved", "absent")


def test_a_record_is_found_by_its_key():
    with Scene(["bluesky"]) as scene:
        uri = scene.plant("bluesky", count=1)
        delivery = scene.uncertain(channel("bluesky"), "it-1", key=uri.rsplit("/", 1)[1])
        with scene.running():
            row = scene.wait_state(delivery, "published")
        assert row["source"] == "read_back"
        assert scene.ledger.request(delivery)["ext_id"] == uri  # longer than what a row holds
        assert scene.saw("bluesky", "logins") == 0
        scene.nothing_was_written()


def test_a_record_that_its_key_does_not_name_goes_back():
    with Scene(["bluesky"]) as scene:
        delivery = scene.uncertain(channel("bluesky"), "it-1", key="3mqcsmrp2nc2a")
        with scene.running():
            scene.wait_reason(delivery, "approved", "absent")
        scene.nothing_was_written()


def test_two_posts_are_an_alarm():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        first = scene.plant("forem", "it-1", newest_age_ms=1000)
        second = scene.plant("forem", "it-1")
        with scene.running() as reconciler:
            row = scene.wait_state(delivery, "published")
        assert {row["ext_id"], row["duplicate"]} == {first, second}
        assert len(scene.events(reconciler, "delivery.duplicate")) == 1
        assert "level=error" in scene.events(reconciler, "delivery.duplicate")[0]


def test_an_id_of_another_delivery_is_not_adopted_twice():
    with Scene(["forem"]) as scene:
        other = scene.uncertain(channel("forem"), "it-2")
        post = scene.plant("forem", "it-1")
        scene.ledger.settle(other, "published", "confirmed", fields={"ext_id": post, "source": "response"})
        delivery = scene.uncertain(channel("forem"), "it-1")
        with scene.running() as reconciler:
            reconciler.wait_output("delivery.foreign_id")
            reconciler.wait_output("walk.ended")
        assert scene.state(delivery) == "uncertain"
        assert scene.row(other)["ext_id"] == post


def test_what_is_known_by_its_id_is_read_by_it():
    with Scene(["mastodon"]) as scene:
        post = scene.plant("mastodon", "it-1")
        there, gone = scene.uncertain(channel("mastodon"), "it-1"), scene.uncertain(channel("mastodon"), "it-2")
        for delivery, ext_id in ((there, post), (gone, "117000000000000001")):
            answer = scene.ledger.settle(delivery, "uncertain", "verify", place="walk", fields={"ext_id": ext_id})
            assert answer[0] == "ok"
        with scene.running():
            assert scene.wait_state(there, "published")["ext_id"] == post
            assert scene.wait_state(gone, "held")["reason"] == "gone"
        scene.nothing_was_written()


# ---- when an absence counts


def test_an_absence_counts_only_after_the_settle_window_and_enough_misses():
    times = {"visibility_lag_ms": 700, "clean_misses": 2}
    with Scene(["forem"], times=times) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1", commit_cap=600)
        commit_by = int(scene.row(delivery)["commit_by"])
        with scene.running():
            row = scene.wait_reason(delivery, "approved", "absent")
        # The second miss began a visibility lag after the first, and that one not before the window's end.
        assert int(row["cleared_at"]) >= commit_by + 700 + 700
        assert "misses" not in row


def test_a_post_that_becomes_visible_late_is_found():
    with Scene(["forem"], times={"visibility_lag_ms": 1500}) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1", commit_cap=300)
        with scene.running() as reconciler:
            reconciler.wait_output("walk.ended")
            post = scene.plant("forem", "it-1")
            assert scene.wait_state(delivery, "published", "approved")["ext_id"] == post


def test_a_ledger_that_was_set_back_proves_no_absence():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.db.hset(scene.ledger.key("epoch"), "no_absence_before", scene.ledger.now() + 3600000)
        with scene.running() as reconciler:
            reconciler.wait_output("walk.ended")
        assert scene.state(delivery) == "uncertain"


@pytest.mark.parametrize("fault, params, on", [
    ("status", {"status": 500}, {"kind": "list"}),
    ("truncated_page", {}, {"kind": "list"}),
    ("paging_ignored", {}, {}),
    ("rate_limited", {"wait_s": 3600}, {"kind": "list"}),
    ("refuse_connections", {"for_ms": 20000, "commit": False}, {"kind": "list"}),
])
def test_a_history_that_cannot_be_read_proves_nothing(fault, params, on):
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.plant("forem", count=5)
        scene.sim.fault(fault, "forem", on=on, times=-1, **params)
        with scene.running() as reconciler:
            reconciler.wait_output("walk.ended", timeout_s=40)
            assert "result=complete" not in scene.events(reconciler, "walk.ended")[0]
        assert scene.state(delivery) == "uncertain"
        assert scene.ledger.due("walk:" + channel("forem")) is not None
        scene.nothing_was_written()


@pytest.mark.parametrize("fault", ["repeated_cursor", "cyclic_cursors", "empty_page"])
def test_pages_that_lead_nowhere_prove_nothing(fault):
    """Mastodon's key still holds, so what cannot be read is sent again under it: never as proven absent."""
    with Scene(["mastodon"], times={"key_window_ms": 0}) as scene:
        delivery = scene.uncertain(channel("mastodon"), "it-1")
        scene.plant("mastodon", count=100, newest_age_ms=0, step_ms=1)
        scene.sim.fault(fault, "mastodon", on={"kind": "list"}, times=-1)
        with scene.running() as reconciler:
            reconciler.wait_output("walk.ended")
            assert "result=complete" not in scene.events(reconciler, "walk.ended")[0]
        assert scene.state(delivery) == "uncertain"


def test_a_platform_that_asks_to_wait_is_left_alone():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.sim.fault("rate_limited", "forem", on={"kind": "list"}, wait_s=3)
        started = scene.ledger.now()
        with scene.running():
            scene.wait_reason(delivery, "approved", "absent")
        blocked = int(scene.db.hget(scene.ledger.key("channel", channel("forem")), "blocked_until"))
        assert blocked >= started + 2500
        assert int(scene.row(delivery)["since"]) >= blocked - 100


def test_looks_that_change_nothing_come_further_apart():
    with Scene(["forem"]) as scene:
        scene.uncertain(channel("forem"), "it-1")
        scene.sim.fault("status", "forem", on={"kind": "list"}, times=-1, status=403)
        with scene.running() as reconciler:
            reconciler.wait_output("walk.ended")
        assert scene.db.hget(scene.ledger.key("channel", channel("forem")), "looks") == "1"


def test_a_refused_credential_pauses_the_channel_with_one_alert():
    with Scene(["forem"], channel={"credential": {"env": "WRONG_KEY"}}) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        with scene.running(env={"WRONG_KEY": "not-the-key"}) as reconciler:
            scene.wait_channel(channel("forem"), "paused")
            scene.wait_channel(channel("forem"), "looks", "2")
        assert len(scene.events(reconciler, "channel.paused")) == 1
        assert scene.state(delivery) == "uncertain"


# ---- channels that nobody can read


def test_a_blind_channel_is_held_for_a_person_and_not_before_its_last_attempt_is_over():
    with Scene([], blind=True) as scene:
        delivery = scene.uncertain("blind/brand", "it-1", commit_cap=800)
        commit_by = int(scene.row(delivery)["commit_by"])
        with scene.running():
            row = scene.wait_reason(delivery, "held", "no_evidence")
        assert int(row["since"]) >= commit_by
        assert row["in_doubt"]


@pytest.mark.parametrize("platform", ["indexnow", "webhook"])
def test_a_harmless_repeat_is_sent_again_without_a_look(platform):
    with Scene([platform]) as scene:
        delivery = scene.uncertain(channel(platform), "it-1", harmless=True)
        with scene.running():
            scene.wait_reason(delivery, "approved", "retry")
        assert scene.saw(platform, "requests") == 0


def test_a_channel_that_is_not_configured_here_is_left_alone_and_said_once():
    with Scene(["forem"]) as scene:
        stranger = scene.uncertain("elsewhere/brand", "it-1")
        ours = scene.uncertain(channel("forem"), "it-1")
        with scene.running() as reconciler:
            scene.wait_reason(ours, "approved", "absent")
            again = scene.uncertain(channel("forem"), "it-2")
            scene.wait_reason(again, "approved", "absent")
        assert scene.state(stranger) == "uncertain"
        assert len(scene.events(reconciler, "channel.unknown")) == 1


def test_a_row_that_cannot_be_read_stops_nobody_else():
    with Scene(["forem"]) as scene:
        broken, fine = scene.uncertain(channel("forem"), "it-1"), scene.uncertain(channel("forem"), "it-2")
        scene.db.hset(scene.ledger.key("delivery", broken), "commit_by", "soon")
        with scene.running() as reconciler:
            scene.wait_reason(fine, "approved", "absent")
            reconciler.wait_output("delivery.unreadable")
            wait_for(lambda: scene.db.get(scene.ledger.key("walk", channel("forem"))) is None, 10, "the walk to end")
        assert scene.ledger.due("walk:" + channel("forem")) > scene.ledger.now()
        assert scene.row(broken)["state"] == "uncertain"


def test_a_report_that_comes_late_wins_over_what_was_found_out_meanwhile():
    """The row changes between the reading and the writing: the decision is made again with the row as it is."""
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        with scene.running() as reconciler:
            scene.sim.wait("holding")
            # The walk will say "absent", for attempt 1; meanwhile the delivery was sent again and is uncertain as attempt 2.
            scene.ledger.settle(delivery, "approved", "operator", place="agenda", due=scene.ledger.now() + 60000, fields={"waived": "1"})
            token = scene.ledger.token()
            answer = scene.ledger.claim(delivery, token=token, lease=60000)
            assert answer[:2] == ["granted", "2"], answer
            doubt = f"{scene.row(delivery)['in_doubt']} 2:{token[:8]}"
            scene.ledger.settle(delivery, "uncertain", "no_answer", place="walk", due=scene.ledger.now() + 60000, token=token,
                                commit_cap=60000, fields={"in_doubt": doubt})
            scene.sim.release()
            reconciler.wait_output("walk.ended")
        row = scene.row(delivery)
        assert (row["state"], row["in_doubt"], "misses" in row) == ("uncertain", doubt, False)


# ---- sessions

def session_scene(**kwargs):
    """A platform whose reads need a login, which none of the shipped ones does: Bluesky's descriptor, changed."""
    def with_session(descriptor):
        for name in ("by_id", "by_key"):
            del descriptor["reads"][name]["request"]["anonymous"]
    return Scene(["bluesky"], change={"bluesky": with_session}, **kwargs)


def test_one_login_serves_all_the_looks_of_a_process():
    with session_scene() as scene:
        first = scene.uncertain(channel("bluesky"), "it-1", key="3mqcsmrp2nc2a")
        second = scene.uncertain(channel("bluesky"), "it-2", key="3mqcsmrp2nc2b")
        with scene.running():
            scene.wait_reason(first, "approved", "absent")
            scene.wait_reason(second, "approved", "absent")
            third = scene.uncertain(channel("bluesky"), "it-3", key="3mqcsmrp2nc2c")
            scene.wait_reason(third, "approved", "absent")
        assert scene.saw("bluesky", "logins") == 1
        scene.nothing_was_written()


def test_a_login_that_has_no_answer_ends_the_walk_and_is_not_repeated_at_once():
    with session_scene() as scene:
        delivery = scene.uncertain(channel("bluesky"), "it-1", key="3mqcsmrp2nc2a")
        scene.sim.fault("status", "bluesky", on={"kind": "login"}, times=-1, status=503)
        with scene.running() as reconciler:
            reconciler.wait_output("result=login_failed")
        assert scene.saw("bluesky", "logins") == 1
        # An upsert may be sent again; a refused login alone would not have proven that it is not there.
        assert scene.ledger.state(delivery)[1] in ("no_answer", "replay")
        assert "in_doubt" in scene.row(delivery)


def test_a_login_quota_holds_for_the_whole_fleet():
    with session_scene() as scene:
        scene.uncertain(channel("bluesky"), "it-1", key="3mqcsmrp2nc2a", commit_cap=60000)
        scene.sim.fault("rate_limited", "bluesky", on={"kind": "login"}, times=-1, wait_s=30)
        with scene.running() as reconciler:
            reconciler.wait_output("result=login_failed")
            until = int(scene.wait_channel(channel("bluesky"), "blocked_until"))
        assert until > scene.ledger.now() + 20000
        assert scene.ledger.due("walk:" + channel("bluesky")) >= until


def test_a_password_that_is_refused_pauses_the_channel():
    with session_scene(channel={"credential": {"env": "WRONG_PASSWORD"}}) as scene:
        scene.uncertain(channel("bluesky"), "it-1", key="3mqcsmrp2nc2a", commit_cap=60000)
        with scene.running(env={"WRONG_PASSWORD": "not-the-password"}) as reconciler:
            scene.wait_channel(channel("bluesky"), "paused")
        assert len(scene.events(reconciler, "channel.paused")) == 1
        assert "not-the-password" not in reconciler.stderr()


def test_a_look_up_that_fails_is_no_absence():
    with Scene(["bluesky"]) as scene:
        delivery = scene.uncertain(channel("bluesky"), "it-1", key="3mqcsmrp2nc2a", commit_cap=60000)
        scene.sim.fault("status", "bluesky", on={"kind": "read"}, times=-1, status=503)
        with scene.running() as reconciler:
            reconciler.wait_output("result=page_failed", timeout_s=20)
        assert scene.saw("bluesky", "requests") == 5
        # Five looks may outlast commit_by. Then an upsert may be sent again, still in doubt; nothing has proven it absent.
        assert scene.ledger.state(delivery)[1] in ("no_answer", "replay")
        assert "in_doubt" in scene.row(delivery)


def test_a_credential_that_was_replaced_is_used_after_hup():
    with Scene(["forem"]) as scene:
        scene.write("forem.secret", "not-the-key")
        delivery = scene.uncertain(channel("forem"), "it-1")
        with scene.running() as reconciler:
            reconciler.wait_output("channel.paused")
            scene.write("forem.secret", SECRETS["forem"])
            reconciler.send_signal(signal.SIGHUP)
            scene.wait_reason(delivery, "approved", "absent")
            assert len(scene.events(reconciler, "reload.credential")) == 1
