# SPDX-License-Identifier: MIT
"""What platforms and networks do to a write, on a channel of every tier, with the fake platforms as the judge.

One fleet, one worker for all of it. Each test lets one item on each channel meet a fault and checks where the ledger
has put it; then the next item of the same channels must be published under its own id: nothing of what came late, cut
or never is taken for its answer, and no channel is blocked by it.
"""
import itertools
import json
import socket
import urllib.parse

import pytest

from lib.procs import wait_for
from lib.tiers import (BLIND, BLUESKY, BODILESS, FOREM, INDEXNOW, KEPT, MASTODON, PING, TIERS, TierFleet, check_row,
                       fake_of, places_of)
from lib.tree import PRESET

NUMBERS = itertools.count(1)
ALL = (*TIERS, *BODILESS)
RSS_GROWTH_MAX_KB = (96 if PRESET == "asan" else 24) * 1024  # ASan keeps what was freed

NO_ANSWER = ("uncertain", "no_answer")
BAD_ANSWER = ("uncertain", "bad_answer")
NO_ID = ("uncertain", "no_id")
CONFLICT = ("uncertain", "conflict")
PUBLISHED = ("published", "confirmed")
REFUSED = ("rejected", "refused")
REDIRECTED = ("rejected", "redirected")
RETRY = ("approved", "retry")
HTML = "<html><body><h1>Something went wrong</h1></body></html>"
JSON_TYPE = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def fleet():
    with TierFleet(without_body=True) as fleet:
        fleet.start_worker()
        pass_on(fleet)
        yield fleet


@pytest.fixture(autouse=True)
def no_violation(fleet):
    yield
    fleet.sim.clear_faults()
    fleet.check_judge()
    assert all(process.running for process in fleet.processes), fleet.output()


def pass_on(fleet, channels=ALL):
    """The next item of each channel is published, once, under its own id."""
    for delivery in fleet.deliver(channels, f"next-{next(NUMBERS)}").values():
        check_row(fleet, delivery, *PUBLISHED)
        seen = fleet.sim.delivery(delivery)
        assert (seen["writes"], seen["commits"]) == (1, 1), seen


def meet(fleet, do, channels=ALL, on=None, **params):
    """One item on each channel meets the fault; gives the deliveries by channel."""
    item_id = f"meets-{next(NUMBERS)}"
    fleet.sim.fault(do, on={"delivery": item_id, **(on or {})}, times=-1, **params)
    return fleet.deliver(channels, item_id)


def expected(usual, **by_channel):
    """What every channel's delivery becomes; by_channel: the exceptions."""
    names = {"ping": PING, "kept": KEPT, "indexnow": INDEXNOW, "mastodon": MASTODON, "forem": FOREM, "bluesky": BLUESKY}
    return {**dict.fromkeys(ALL, usual), **{names[name]: value for name, value in by_channel.items()}}


def check(fleet, deliveries, becomes, commits):
    for channel, delivery in deliveries.items():
        check_row(fleet, delivery, *becomes[channel])
        seen = fleet.sim.delivery(delivery)
        assert seen["writes"] == 1 and seen["commits"] == commits, (channel, seen)


# ---- no answer, or none that can be read: uncertain everywhere, and never a second write

UNANSWERED = {
    "committed, FIN": ("commit_then_close", {"how": "fin"}, 1),
    "committed, RST": ("commit_then_close", {"how": "rst"}, 1),
    "not committed, FIN": ("close_before_commit", {"how": "fin"}, 0),
    "not committed, RST": ("close_before_commit", {"how": "rst"}, 0),
    "committed, 503 of a proxy": ("commit_then_status", {"status": 503, "body": HTML}, 1),
    "committed, 504 of a proxy, late": ("commit_then_status", {"status": 504, "body": HTML, "delay_ms": 500}, 1),
    "committed, answer cut, FIN": ("truncated_answer", {"how": "fin"}, 1),
    "committed, answer cut, RST": ("truncated_answer", {"how": "rst"}, 1),
    "committed, 300 more lines of head": ("many_headers", {"count": 300}, 1),
    "408": ("status", {"status": 408, "body": {"error": "Request Timeout"}}, 0),
    "500": ("status", {"status": 500, "body": HTML}, 0),
    "500 in JSON": ("status", {"status": 500, "body": {"error": "boom"}}, 0),
    "a status nobody knows": ("status", {"status": 599, "body": {"error": "what?"}}, 0),
    "418": ("status", {"status": 418, "body": {"error": "I am a teapot"}}, 0),
    "half an error surface": ("status", {"status": 500, "body": {"meta": {"commit_state": "nowhere"}}}, 0),
}


@pytest.mark.parametrize("do, params, commits", UNANSWERED.values(), ids=UNANSWERED)
def test_unanswered(fleet, do, params, commits):
    check(fleet, meet(fleet, do, **params), expected(NO_ANSWER), commits)
    pass_on(fleet)


# These take the whole time limit of a write, so two share it; a third failure in a row would open the breaker.
SLOW = {
    "never answered": [
        ("accept_and_never_answer", {"commit": True}, 1), ("accept_and_never_answer", {"commit": False}, 0)],
    "committed after the client gave up, or answered by the byte": [
        ("commit_late", {"after_ms": 50}, 1), ("slow_drip", {"interval_ms": 100, "for_ever": True}, 1)],
}


@pytest.mark.parametrize("pair", SLOW.values(), ids=SLOW)
def test_beyond_the_time_limit(fleet, pair):
    met = [(meet(fleet, do, **params), do, commits) for do, params, commits in pair]
    for deliveries, do, commits in met:
        for delivery in deliveries.values():
            wait_for(lambda d=delivery, n=commits: (fleet.sim.delivery(d) or {}).get("commits") == n, 10,
                     f"{delivery}: {do}")
        check(fleet, deliveries, expected(NO_ANSWER), commits)
    pass_on(fleet)


def test_a_late_answer_is_nobody_elses(fleet):
    late = meet(fleet, "commit_then_late_answer", delay_ms=2000)
    pass_on(fleet)  # while the answers are still to come
    check(fleet, late, expected(NO_ANSWER), 1)
    pass_on(fleet)  # as they come
    pass_on(fleet)


# ---- connections that were used before: the library must not send again by itself

@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("do, commits", [("commit_then_close", 1), ("close_before_commit", 0)])
def test_a_reused_connection_dies(fleet, do, commits, how):
    deliveries = meet(fleet, do, on={"reused": True}, how=how)
    fresh = {channel: deliveries.pop(channel) for channel in (BLIND, *BODILESS)}
    check(fleet, deliveries, expected(NO_ANSWER), commits)
    for delivery in deliveries.values():
        assert fleet.sim.delivery(delivery)["requests"][0]["reused_connection"]
    check(fleet, fresh, expected(PUBLISHED), 1)  # where nothing can be read back, no connection is used twice
    for channel in fresh:
        assert fleet.sim.report()["instances"][fake_of(channel)]["on_reused_connection"] == 0
    pass_on(fleet)


def wait_listening(url):
    address = urllib.parse.urlsplit(url)

    def listens():
        try:
            socket.create_connection((address.hostname, address.port), 1).close()
            return True
        except OSError:
            return False
    wait_for(listens, 10, url)


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_platform_that_commits_and_dies(fleet, how):
    """The second connection is refused: that proves nothing about the first. What comes then was never sent."""
    item_id = f"meets-{next(NUMBERS)}"
    for channel in ALL:
        fleet.sim.fault("refuse_connections", fake_of(channel), on={"delivery": item_id}, for_ms=2500, how=how)
    check(fleet, fleet.deliver(ALL, item_id), expected(NO_ANSWER), 1)
    for channel, delivery in fleet.deliver(ALL, f"refused-{next(NUMBERS)}").items():
        row = check_row(fleet, delivery, "approved", "not_sent", tries=0)
        due = fleet.db.zscore("lf:{0}:agenda", "delivery:" + delivery)
        assert 29_000 <= due - int(row["since"]) <= 61_000, "tried again after a bounded pause"
        assert fleet.sim.delivery(delivery) is None, channel
    for channel in ALL:
        wait_listening(fleet.sim.urls[fake_of(channel)])
    pass_on(fleet)


# ---- answers that mean different things on different platforms

ANSWERS = {
    "200 without a body": ("commit_then_status", {"status": 200, "body": ""}, 1,
                           expected(NO_ID, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "202 without a body": ("commit_then_status", {"status": 202, "body": ""}, 1,
                           expected(NO_ID, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "204": ("commit_then_status", {"status": 204, "body": ""}, 1,
            expected(NO_ID, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "200 ok": ("commit_then_status", {"status": 200, "body": " ok"}, 1,
               expected(BAD_ANSWER, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "200 {}": ("commit_then_status", {"status": 200, "body": {}}, 1,
               expected(NO_ID, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "200 with errors": ("status", {"status": 200, "body": {"errors": ["title is too long"]}}, 0,
                        expected(NO_ID, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "200 with a login page": ("status", {"status": 200, "body": HTML}, 0,
                              expected(BAD_ANSWER, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "200 with an id that is none": ("status", {"status": 200, "body": {"id": {"a": 1}, "uri": [1]}}, 0,
                                    expected(NO_ID, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "299": ("commit_then_status", {"status": 299, "body": ""}, 1,
            expected(NO_ID, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED)),
    "400 in HTML": ("status", {"status": 400, "body": HTML}, 0,
                    expected(BAD_ANSWER, ping=RETRY, kept=RETRY, indexnow=REFUSED)),
    "422 in HTML": ("status", {"status": 422, "body": HTML}, 0,
                    expected(BAD_ANSWER, ping=RETRY, kept=RETRY, indexnow=REFUSED)),
    "400 in JSON": ("status", {"status": 400, "body": {"error": "InvalidRequest"}}, 0,
                    expected(REFUSED, ping=RETRY, kept=RETRY)),
    "409": ("status", {"status": 409, "body": {"error": "Conflict"}}, 0, expected(CONFLICT, ping=RETRY, kept=RETRY)),
    "410": ("status", {"status": 410, "body": {"error": "Gone"}}, 0, expected(REFUSED)),
    "false gzip": ("false_gzip", {}, 1, expected(PUBLISHED)),
    "nothing was done, say the platform": (
        "status", {"status": 503, "body": {"meta": {"commit_state": "not_committed"},
                                           "error": {"retry": {"kind": "retry_identical"}}}}, 0, expected(RETRY)),
}


@pytest.mark.parametrize("do, params, commits, becomes", ANSWERS.values(), ids=ANSWERS)
def test_answers(fleet, do, params, commits, becomes):
    check(fleet, meet(fleet, do, **params), becomes, commits)
    pass_on(fleet)


def rss_peak_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


@pytest.mark.parametrize("chunked", [True, False])
def test_an_answer_without_end_is_cut(fleet, chunked):
    worker = fleet.processes[0]
    before_kb = rss_peak_kb(worker.pid)
    deliveries = meet(fleet, "endless_body", chunked=chunked)
    check(fleet, deliveries, expected(BAD_ANSWER, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED), 1)
    assert rss_peak_kb(worker.pid) - before_kb < RSS_GROWTH_MAX_KB
    for delivery in deliveries.values():
        detail = fleet.db.hget(f"lf:{{0}}:request:{delivery}", "detail") or ""
        assert len(detail) <= 1024, "what is kept of it is bounded"
    pass_on(fleet)


def test_a_small_answer_that_unpacks_to_a_large_one_is_not_unpacked(fleet):
    """We ask for no compression. What comes packed all the same is an answer that cannot be read, and costs what it weighs."""
    worker = fleet.processes[0]
    before_kb = rss_peak_kb(worker.pid)
    deliveries = meet(fleet, "gzip_bomb", megabytes=128)
    check(fleet, deliveries, expected(BAD_ANSWER, ping=PUBLISHED, kept=PUBLISHED, indexnow=PUBLISHED), 1)
    assert rss_peak_kb(worker.pid) - before_kb < RSS_GROWTH_MAX_KB
    pass_on(fleet)


# ---- redirects: never followed

@pytest.mark.parametrize("status, usual", [(301, REDIRECTED), (302, NO_ANSWER), (303, NO_ANSWER), (307, REDIRECTED),
                                           (308, REDIRECTED)])
def test_redirects_are_not_followed(fleet, status, usual):
    target = fleet.sim.urls["webhook"] + "/elsewhere"
    deliveries = meet(fleet, "redirect", status=status, location=target)
    check(fleet, deliveries, expected(usual, ping=REDIRECTED, kept=REDIRECTED), 0)
    for delivery in deliveries.values():
        assert places_of(fleet, delivery) <= {"uncertain"}
    asked = [line["target"] for line in fleet.sim.get("requests", instance="webhook")["requests"]]
    assert not any("elsewhere" in path for path in asked), asked
    pass_on(fleet)


# ---- large requests: sent at once, without asking first, or not at all

REQUEST_BYTES_MAX = 1 << 20


@pytest.mark.parametrize("spare_bytes, becomes", [(2000, PUBLISHED), (0, REFUSED)])
def test_large_requests(fleet, spare_bytes, becomes):
    for status in (0, 417):  # a server that ignores Expect, and one that refuses it
        fleet.sim.fault("expect", times=-1, status=status)
    item = fleet.item(f"large-{next(NUMBERS)}", _pad="")
    item["_pad"] = "x" * (REQUEST_BYTES_MAX - spare_bytes - len(json.dumps(item)))
    for channel in (PING, KEPT):
        fleet.add(channel, item)
        check_row(fleet, f"{channel}/{item['id']}", *becomes)
        sent = fleet.sim.delivery(f"{channel}/{item['id']}")
        assert (sent is not None) == (becomes == PUBLISHED)
    assert [rule["fired"] for rule in fleet.sim.get("state")["faults"]] == [0, 0]
