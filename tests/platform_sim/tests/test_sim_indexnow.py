# SPDX-License-Identifier: MIT
"""IndexNow as played: one test for each behaviour that the module lists."""
import pytest

from simhttp import call


def submit(sim, urls=("https://blog.example/p/1",), **fields):
    body = {"host": "blog.example", "key": "indexnow-key-1", "urlList": list(urls), **fields}
    return call("POST", sim.urls["i"] + "/indexnow", body={name: value for name, value in body.items() if value})


def test_submission_by_post_and_get(sim):
    reply = submit(sim, ["https://blog.example/p/1", "http://blog.example/p/2"])
    assert (reply.status, reply.body) == (200, b"")
    assert call("GET", sim.urls["i"] + "/indexnow?url=https://blog.example/p/3&key=indexnow-key-1").status == 200
    report = sim.report()
    assert sorted(report["deliveries"]) == [f"indexnow/blog/{number}" for number in (1, 2, 3)]
    assert report["instances"]["i"]["writes"] == 2 and report["deliveries"]["indexnow/blog/1"]["external_ids"] == [None]


def test_repeat_is_the_same_again(sim):
    assert submit(sim).status == submit(sim).status == 200
    assert sim.delivery("indexnow/blog/1")["commits"] == 2 and sim.report()["violations"] == []


def test_key_not_looked_at_yet(sim):
    sim.post("settings", instance="i", pending=True)
    assert submit(sim).status == 202


@pytest.mark.parametrize("fields, status", [
    ({"key": "short"}, 400), ({"key": "with space"}, 400), ({"urlList": []}, 400), ({"host": None}, 400),
    ({"key": "another-key-22"}, 403), ({"host": "other.example"}, 422),
    ({"keyLocation": "https://blog.example/keys/k.txt"}, 422), ({"keyLocation": "https://blog.example/p/k.txt"}, 200)])
def test_refusals(sim, fields, status):
    reply = submit(sim, **fields)
    assert (reply.status, reply.body) == (status, b"")
    assert sim.delivery("indexnow/blog/1") is None or sim.delivery("indexnow/blog/1")["commits"] == (status == 200)


def test_one_foreign_url_refuses_the_batch(sim):
    assert submit(sim, ["https://blog.example/p/1", "https://other.example/p/2"]).status == 422
    assert sim.report()["totals"]["commits"] == 0
    sim.post("settings", instance="i", error_bodies=True)
    assert submit(sim, ["https://other.example/p/2"]).json["code"] == "InvalidRequestParameters"


def test_not_json(sim):
    assert call("POST", sim.urls["i"] + "/indexnow", body=b"<xml/>").status == 400
    assert call("GET", sim.urls["i"] + "/indexnow").status == 400


def test_too_many(sim):
    sim.post("settings", instance="i", limit_requests=1)
    submit(sim)
    reply = submit(sim)
    assert (reply.status, reply.body) == (429, b"") and "Retry-After" not in reply.headers


def test_nothing_to_read(sim):
    assert call("GET", sim.urls["i"] + "/status").status == 404
