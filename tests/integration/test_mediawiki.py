# SPDX-License-Identifier: MIT
"""Pages of a wiki: a login of three requests, a token that belongs to it, titles that are taken."""
import pytest

from lib.fleet import Fleet
from lib.procs import wait_for

CHANNEL, PASSWORD = "mediawiki/brand", "bot-pass-77aa"


@pytest.fixture
def fleet():
    with Fleet([]) as fleet:
        url = fleet.add_fake("w", "mediawiki", CHANNEL, PASSWORD)
        fleet.add_channel(CHANNEL, PASSWORD, {"instance": url, "user": "lf@landfall"}, pace={"spacing_ms": 0})
        yield fleet


def pages(fleet):
    return fleet.sim.get("posts", instance="w")["posts"]


def logins(fleet):
    return fleet.sim.report()["instances"]["w"]["logins"]


def test_a_page_is_made_and_nothing_of_the_session_is_in_its_frozen_request(fleet):
    fleet.sim.fault("hold", "w")
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.start_worker()
    fleet.sim.wait("holding")
    frozen = fleet.db.hget(f"lf:{{0}}:request:{CHANNEL}/it-1", "frozen")
    assert '{"as":"percent","hole":"session.csrf"}' in frozen and '{"hole":"session.cookies"}' in frozen, frozen
    fleet.sim.release()
    row = fleet.wait_state(CHANNEL + "/it-1", "published")
    page = pages(fleet)[0]
    assert page["title"] == "Title of it-1" and page["summary"] == f"Published [{row['key']}]"
    assert row["ext_id"] == page["id"] and row["url"].endswith("/index.php?curid=" + page["id"])
    fleet.check_judge(**{CHANNEL + "/it-1": 1})


@pytest.mark.parametrize("moved", [False, True])
def test_an_answer_that_is_lost_is_found_again(fleet, moved):
    """By its title; and where somebody has moved the page, by the key in its summary."""
    fleet.sim.fault("commit_then_close", "w")
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.start_worker()
    fleet.wait_state(CHANNEL + "/it-1", "uncertain", "published")
    if moved:
        fleet.sim.post("posts", instance="w", op="move", id=pages(fleet)[0]["id"], title="Elsewhere")
    fleet.start_reconciler()
    row = fleet.wait_state(CHANNEL + "/it-1", "published")
    assert row["source"] == "read_back" and row["ext_id"] == pages(fleet)[0]["id"]
    fleet.check_judge(**{CHANNEL + "/it-1": 1})


def test_nothing_was_made_and_it_is_sent_again(fleet):
    fleet.sim.fault("close_before_commit", "w")
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.start_worker()
    fleet.start_reconciler()
    assert fleet.wait_state(CHANNEL + "/it-1", "published")["attempt"] == "2"
    fleet.check_judge(**{CHANNEL + "/it-1": 1})


def test_a_title_that_somebody_else_has_taken_is_left_to_them(fleet):
    """It is not ours, so nothing is adopted; it is never overwritten; and it ends before a person."""
    fleet.config_extra["delivery"] = {"max_attempts": 2, "backoff_base_ms": 100, "backoff_cap_ms": 100}
    fleet.write_config()
    fleet.sim.post("posts", instance="w", op="plant", title="Title of it-1", text="theirs", foreign=True)
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.start_worker()
    fleet.start_reconciler()
    row = fleet.wait_state(CHANNEL + "/it-1", "held")
    assert row["reason"] in ("spent", "absent") and "ext_id" not in row, row
    assert pages(fleet) == [] and fleet.sim.report()["totals"]["commits"] == 0


def test_a_session_that_ended_is_renewed_with_its_token(fleet):
    """The same bytes go out again: cookie and token are not among them."""
    worker = fleet.start_worker()
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.wait_state(CHANNEL + "/it-1", "published")
    fleet.sim.post("posts", instance="w", op="end_sessions")
    fleet.add(CHANNEL, fleet.item("it-2"))
    assert fleet.wait_state(CHANNEL + "/it-2", "published")["attempt"] == "1"
    requests = fleet.sim.delivery(CHANNEL + "/it-2")["requests"]
    assert len(requests) == 2 and logins(fleet) == 2, requests
    assert worker.stop() == 0
    fleet.check_judge(**{CHANNEL + "/it-2": 1})


def test_a_session_that_ends_between_pages_of_the_history_is_renewed_while_reading(fleet):
    """What says so stands in a 200."""
    fleet.sim.post("settings", instance="w", page_max=2)
    fleet.sim.post("posts", instance="w", op="plant", count=6, newest_age_ms=0, step_ms=1)
    fleet.sim.fault("commit_then_close", "w")
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.run_worker()
    fleet.sim.post("posts", instance="w", op="move", id=pages(fleet)[0]["id"], title="Elsewhere")
    fleet.sim.post("posts", instance="w", op="end_sessions")
    fleet.start_reconciler()
    assert fleet.wait_state(CHANNEL + "/it-1", "published")["source"] == "read_back"
    assert logins(fleet) == 2


def test_a_wrong_password_pauses_the_channel_once_and_too_many_logins_do_not(fleet):
    fleet.sim.post("settings", instance="w", login_limit=1)
    fleet.write_secret("mediawiki.brand", "wrong\n")
    for item in ("one", "two"):
        fleet.add(CHANNEL, fleet.item(item))
    worker = fleet.start_worker()
    wait_for(lambda: fleet.db.hget("lf:{0}:channel:" + CHANNEL, "paused") == "credential", 10, "the pause")
    wait_for(lambda: "channel.paused" in worker.stderr(), 10, "the alert")
    assert worker.stderr().count("channel.paused") == 1 and logins(fleet) == 1
    assert worker.stop() == 0
    fleet.write_secret("mediawiki.brand", PASSWORD + "\n")
    fleet.start_worker()  # it lifts the pause, and the quota is used up
    wait_for(lambda: fleet.db.hget("lf:{0}:channel:" + CHANNEL, "blocked_until"), 15, "the block")
    assert not fleet.db.hget("lf:{0}:channel:" + CHANNEL, "paused")
    assert fleet.row(CHANNEL + "/one").get("tries", "0") == "0"
