# SPDX-License-Identifier: MIT
"""The judge: rows are read from Redis before anything is answered, and each kind of violation is found."""
import json
import urllib.parse

import pytest

from platform_sim.client import AdminError, SimulatorProcess
from simhttp import Account, call

STATUSES = "/api/v1/statuses"


def post(sim, text="https://blog.example/p/7", **headers):
    account = Account(sim.urls["m"], {"Authorization": "Bearer mastodon-token-1"})
    return account.post(STATUSES, {"status": text}, **headers)


def kinds(sim):
    return [violation["kind"] for violation in sim.report()["violations"]]


def test_a_write_with_a_claimed_row_is_right(judged):
    judged.row("mastodon/brand/7", state="claimed", attempt=1)
    external_id = post(judged, "New: https://blog.example/p/7. Read it").json["id"]
    delivery = judged.delivery("mastodon/brand/7")
    assert (delivery["writes"], delivery["commits"], delivery["external_ids"]) == (1, 1, [external_id])
    assert (delivery["row_states"], delivery["attempts"], kinds(judged)) == (["claimed"], ["1"], [])


@pytest.mark.parametrize("state", ["approved", "published", "uncertain", "held", "rejected"])
def test_a_write_whose_row_is_not_claimed(judged, state):
    judged.row("mastodon/brand/7", state=state, attempt=1)
    post(judged)
    assert kinds(judged) == ["O2"] and judged.delivery("mastodon/brand/7")["row_states"] == [state]


def test_a_write_without_a_row(judged):
    post(judged)
    assert kinds(judged) == ["O2"] and judged.delivery("mastodon/brand/7")["row_states"] == ["missing"]


def test_a_write_is_judged_even_if_a_fault_swallows_it(judged):
    judged.fault("close_before_commit", "m")
    with pytest.raises(ConnectionError):
        post(judged)
    assert kinds(judged) == ["O2"] and judged.delivery("mastodon/brand/7")["commits"] == 0


def test_two_commits(judged):
    for attempt in (1, 2):
        judged.row("mastodon/brand/7", state="claimed", attempt=attempt)
        post(judged)
    assert kinds(judged) == ["O1"] and judged.report()["totals"]["duplicates"] == 1


def test_two_commits_where_repeats_are_harmless(judged):
    for attempt in (1, 2):
        judged.row("indexnow/blog/7", state="claimed", attempt=attempt)
        body = {"host": "blog.example", "key": "indexnow-key-1", "urlList": ["https://blog.example/p/7"]}
        assert call("POST", judged.urls["i"] + "/indexnow", body=body).status == 200
    assert kinds(judged) == [] and judged.delivery("indexnow/blog/7")["commits"] == 2


def test_the_same_attempt_twice(judged):
    judged.row("mastodon/brand/7", state="claimed", attempt=3)
    post(judged, idempotency_key="k"), post(judged, idempotency_key="k")
    violation = judged.report()["violations"][0]
    assert violation["kind"] == "same_attempt_twice" and violation["earlier"]["attempt"] == "3"
    requests = judged.delivery("mastodon/brand/7")["requests"]
    assert requests[0]["key"] == requests[1]["key"] == "k"
    assert requests[0]["body_sha256"] == requests[1]["body_sha256"]


def test_the_same_attempt_after_a_refused_credential(judged):
    judged.row("mastodon/brand/7", state="claimed", attempt=1)
    assert Account(judged.urls["m"], {"Authorization": "Bearer old"}).post(
        STATUSES, {"status": "https://blog.example/p/7"}).status == 401
    post(judged)
    assert kinds(judged) == [] and judged.delivery("mastodon/brand/7")["writes"] == 2


def test_a_write_that_names_nothing(judged):
    post(judged, "no link here")
    assert kinds(judged) == ["unknown_delivery"]


def test_a_needle_names_a_delivery(judged):
    judged.post("expect", instance="m", needle="no link", delivery="mastodon/brand/it-9")
    judged.post("expect", instance="m", needle="no link here", delivery="it-10")
    judged.row("mastodon/brand/it-10", state="claimed", attempt=1)
    post(judged, "no link here")
    assert kinds(judged) == [] and judged.delivery("mastodon/brand/it-10")["commits"] == 1


@pytest.mark.parametrize("link, item", [
    ("https://blog.example/p/caf%C3%A9/?utm_source=x#top", "caf\u00e9"),
    ("https://blog.example/p/cafe\u0301", "caf\u00e9"),
    ("https://other.example/x and https://blog.example/p/9", "9"), ("(https://blog.example/p/9)!", "9")])
def test_ids_in_links(judged, link, item):
    judged.row("mastodon/brand/" + item, state="claimed", attempt=1)
    post(judged, "Read " + link)
    assert kinds(judged) == []


def test_a_batch_is_as_many_deliveries_as_it_has_urls(judged):
    judged.row("indexnow/blog/1", state="claimed", attempt=1)
    urls = ["https://blog.example/p/1", "https://blog.example/p/2"]
    body = {"host": "blog.example", "key": "indexnow-key-1", "urlList": urls}
    call("POST", judged.urls["i"] + "/indexnow", body=body)
    violation, = judged.report()["violations"]
    assert (violation["kind"], violation["delivery"]) == ("O2", "indexnow/blog/2")


def test_two_accounts_of_one_instance_are_two_channels(judged):
    judged.post("accounts", instance="m", channel="mastodon/second", token="second-token")
    judged.row("mastodon/second/7", state="claimed", attempt=1)
    Account(judged.urls["m"], {"Authorization": "Bearer second-token"}).post(
        STATUSES, {"status": "https://blog.example/p/7"})
    assert kinds(judged) == []


def test_reads_and_logins_are_no_writes(judged):
    bluesky = Account(judged.urls["b"])
    bluesky.post("/xrpc/com.atproto.server.createSession", {"identifier": "lf", "password": "app-password-1"})
    bluesky.get("/xrpc/com.atproto.repo.getRecord?repo=x&collection=y&rkey=z")
    bluesky.post("/nowhere", {})
    counts = judged.report()["instances"]["b"]
    assert [counts[name] for name in ("logins", "reads", "writes", "unrouted", "requests")] == [1, 1, 0, 1, 3]


def test_a_ledger_that_cannot_be_asked_proves_nothing(tmp_path):
    spec = {"name": "m", "platform": "mastodon", "channel": "mastodon/brand", "token": "mastodon-token-1"}
    with SimulatorProcess([spec], redis=f"unix:{tmp_path}/nothing.sock") as sim:
        assert post(sim).status == 200 and kinds(sim) == ["row_unreadable"]


def test_rows_of_another_prefix_and_partition(redis):
    spec = {"name": "m", "platform": "mastodon", "channel": "mastodon/brand", "token": "mastodon-token-1"}
    redis.call("HSET", "stage:{3}:delivery:mastodon/brand/7", "state", "claimed", "attempt", "1")
    with SimulatorProcess([spec], redis=redis.address, prefix="stage", partition=3) as sim:
        post(sim)
        assert kinds(sim) == []


def test_redis_that_was_restarted_in_between(judged, redis):
    judged.row("mastodon/brand/7", state="claimed", attempt=1)
    post(judged)
    redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    judged.row("mastodon/brand/7", state="claimed", attempt=2)
    judged.row("mastodon/brand/8", state="claimed", attempt=1)
    post(judged, "https://blog.example/p/8")
    assert kinds(judged) == []


def test_no_secret_in_what_is_told(judged):
    key = "indexnow-key-1"
    query = urllib.parse.urlencode({"url": "https://blog.example/p/1", "key": key})
    call("GET", judged.urls["i"] + "/indexnow?" + query)
    post(judged)
    told = json.dumps([judged.report(), judged.get("requests"), judged.get("state")])
    assert key not in told and "mastodon-token-1" not in told and "***" in told


def test_the_log_of_requests(judged):
    judged.row("mastodon/brand/7", state="claimed", attempt=1)
    judged.fault("commit_then_status", "m", status=502)
    post(judged)
    line = judged.get("requests", instance="m")["requests"][-1]
    assert (line["method"], line["target"], line["kind"], line["deliveries"], line["fault"], line["end"]) == \
        ("POST", STATUSES, "write", ["mastodon/brand/7"], "commit_then_status", "502")


def test_admin_says_what_is_wrong(judged):
    for arguments, words in (
            ({"do": "nonsense"}, "there is no fault 'nonsense'"),
            ({"do": "hold", "instance": "x"}, "no instance 'x'"),
            ({"do": "hold", "on": {"colour": 1}}, "no 'colour'"),
            ({"do": "hold", "strength": 3}, "no param 'strength'"),
            ({"do": "commit_then_close", "how": "softly"}, "fin, rst"),
            ({"do": "refuse_connections", "instance": "f"}, "own_port")):
        with pytest.raises(AdminError, match=words):
            judged.fault(**arguments)
    with pytest.raises(AdminError, match="has no setting 'speed'"):
        judged.post("settings", instance="m", speed=3)
    with pytest.raises(AdminError, match="waited for 1 holding, there are 0"):
        judged.wait("holding", timeout_ms=20)
