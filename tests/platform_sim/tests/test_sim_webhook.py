# SPDX-License-Identifier: MIT
"""The webhook receiver as played: one test for each behaviour that the module lists."""
import json
import time

import pytest

from conftest import WEBHOOK_SECRET
from platform_sim.webhook import signature
from simhttp import call


def deliver(sim, webhook_id="msg_1", body=None, secret=WEBHOOK_SECRET, age_s=0, **headers):
    data = json.dumps(body or {"type": "post.published", "data": {"id": "it-1"}}).encode()
    timestamp = str(int(time.time()) - age_s)
    signed = {"webhook-id": webhook_id, "webhook-timestamp": timestamp, "Content-Type": "application/json",
              "webhook-signature": signature(secret, webhook_id, timestamp, data)}
    signed.update({name.replace("_", "-"): value for name, value in headers.items()})
    return call("POST", sim.urls["w"] + "/in", {name: value for name, value in signed.items() if value}, data)


def test_published_vector():
    body = b'{"type":"post.published","timestamp":"2026-09-21T13:33:20Z","data":{"id":"it-1"}}'
    assert signature(WEBHOOK_SECRET, "msg_lf_01", "1790000000", body) == \
        "v1,g6Hz8+xIeO8UjKvAH4YrrWqG+JwO82T77b7CGxUPgGY="


def test_signature_is_checked(sim):
    reply = deliver(sim)
    assert (reply.status, reply.body) == (204, b"")
    assert deliver(sim, "msg_2", webhook_signature="v1,AAAA v1a,BBBB").status == 401
    other = "whsec_" + "B" * 43 + "="
    assert deliver(sim, "msg_3", secret=other).status == 401
    assert deliver(sim, "msg_4", webhook_signature=None).status == 400
    assert sim.get("posts", instance="w")["count"] == 1


def test_one_of_several_signatures_is_enough(sim):
    data, timestamp = b'{"data":{"id":"it-2"}}', str(int(time.time()))
    good = signature(WEBHOOK_SECRET, "m", timestamp, data)
    headers = {"webhook-id": "m", "webhook-timestamp": timestamp, "webhook-signature": "v1,AAAA " + good}
    assert call("POST", sim.urls["w"], headers, data).status == 204


@pytest.mark.parametrize("age_s", [400, -400])
def test_timestamp_out_of_tolerance(sim, age_s):
    assert deliver(sim, age_s=age_s).status == 401


def test_ids_are_remembered_for_a_while(sim):
    sim.post("settings", instance="w", retention_ms=500)
    assert deliver(sim).status == deliver(sim).status == 204
    assert sim.delivery("webhook/partner/it-1")["commits"] == 1
    time.sleep(0.55)
    assert deliver(sim).status == 204 and sim.delivery("webhook/partner/it-1")["commits"] == 2


def test_receiver_that_forgets(sim):
    sim.post("settings", instance="w", remember_ids=False)
    deliver(sim), deliver(sim)
    assert sim.delivery("webhook/partner/it-1")["commits"] == 2
    assert sim.report()["violations"] == []
    sim.post("settings", instance="w", at_most_once=True)
    deliver(sim)
    assert [violation["kind"] for violation in sim.report()["violations"]] == ["O1"]


@pytest.mark.parametrize("status", [409, 422, 400])
def test_known_id_with_another_body(sim, status):
    sim.post("settings", instance="w", mismatch_status=status)
    deliver(sim)
    reply = deliver(sim, body={"data": {"id": "it-1", "title": "changed"}})
    assert reply.status == status and reply.headers["Content-Type"] == "application/problem+json"


def test_forms_of_success(sim):
    for status in (200, 202):
        sim.post("settings", instance="w", success_status=status)
        reply = deliver(sim, f"msg_{status}")
        assert (reply.status, reply.body, reply.headers["Content-Length"]) == (status, b"", "0")
    sim.post("settings", instance="w", answer_id=True)
    first = deliver(sim, "with-id").json["id"]
    assert first.startswith("obj_") and deliver(sim, "with-id").json["id"] == first


def test_gone_and_too_many(sim):
    sim.post("settings", instance="w", limit_requests=1)
    assert deliver(sim).status == 204
    reply = deliver(sim, "msg_2")
    assert reply.status == 429 and int(reply.headers["Retry-After"]) > 0
    sim.post("settings", instance="w", gone=True)
    assert deliver(sim, "msg_3").status == 410


@pytest.mark.parametrize("body, item", [
    ({"data": {"id": "a", "url": "https://blog.example/p/z"}}, "a"), ({"data": {"item": {"id": "b"}}}, "b"),
    ({"item": {"id": "c"}}, "c"), ({"id": "d"}, "d"), ({"data": {"url": "https://blog.example/p/e"}}, "e")])
def test_where_the_item_id_stands(sim, body, item):
    deliver(sim, body=body)
    assert sim.delivery(f"webhook/partner/{item}")["commits"] == 1
