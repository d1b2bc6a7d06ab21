# SPDX-License-Identifier: MIT
"""The Bluesky PDS as played: one test for each behaviour that the module lists."""
import re
import time

import pytest

from platform_sim.bluesky import tid
from platform_sim.dag_cbor import cid, encode
from simhttp import Account

SERVER, REPO = "/xrpc/com.atproto.server.", "/xrpc/com.atproto.repo."
COLLECTION = "app.bsky.feed.post"
KEY = "3mvzvh4fs22sd"
CREATED = "2026-09-21T13:33:20.000Z"


@pytest.fixture
def session(bluesky):
    reply = bluesky.post(SERVER + "createSession", {"identifier": "lf", "password": "app-password-1"})
    signed_in = Account(bluesky.base_url, {"Authorization": "Bearer " + reply.json["accessJwt"]})
    signed_in.did, signed_in.refresh = reply.json["did"], reply.json["refreshJwt"]
    return signed_in


def put(session, text="Hello https://blog.example/p/1", rkey=KEY, created=CREATED, call="putRecord", **more):
    record = {"$type": COLLECTION, "text": text, "createdAt": created}
    body = {"repo": session.did, "collection": COLLECTION, "rkey": rkey, "record": record, **more}
    return session.post(REPO + call, {name: value for name, value in body.items() if value is not ...})


def get(session, rkey=KEY, repo=None):
    query = f"repo={repo or session.did}&collection={COLLECTION}&rkey={rkey}"
    return Account(session.base_url).get(f"{REPO}getRecord?{query}")


def test_published_vectors():
    assert tid(1_790_000_000_000_000, 777) == KEY
    assert encode({"b": [1, -1, 300], "a": {"cc": None, "c": True}}).hex() == "a26161a26163f5626363f6616283012019012c"
    assert cid({}) == "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"


def test_login_and_its_quota(sim, bluesky):
    bad = bluesky.post(SERVER + "createSession", {"identifier": "lf", "password": "wrong"})
    assert (bad.status, bad.json["error"]) == (401, "AuthenticationRequired")
    sim.post("settings", instance="b", login_limit=3)
    login = {"identifier": "lf", "password": "app-password-1"}
    replies = [bluesky.post(SERVER + "createSession", login) for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 200, 429]
    assert set(replies[0].json) >= {"accessJwt", "refreshJwt", "did", "handle", "active"}
    assert re.fullmatch(r"did:plc:[a-z2-7]{24}", replies[0].json["did"])
    limited = replies[2]
    assert limited.json["error"] == "RateLimitExceeded" and limited.headers["RateLimit-Policy"] == "3;w=300"
    assert 0 < int(limited.headers["RateLimit-Reset"]) - time.time() <= 301
    assert 0 < int(limited.headers["Retry-After"]) <= 300
    assert sim.report()["instances"]["b"]["logins"] == 4


def test_expired_and_bad_tokens_are_400(sim, session):
    assert put_as(session, "Bearer nonsense") == (400, "InvalidToken")
    assert put_as(session, None) == (401, "AuthMissing")
    assert put_as(session, "Bearer " + session.refresh) == (400, "InvalidToken")
    sim.post("posts", instance="b", op="expire_access")
    assert put_as(session, session.headers["Authorization"]) == (400, "ExpiredToken")


def put_as(session, authorization):
    stranger = Account(session.base_url, {"Authorization": authorization} if authorization else {})
    stranger.did = session.did
    reply = put(stranger)
    return reply.status, reply.json["error"]


def test_token_for_a_number_of_requests(sim, bluesky):
    sim.post("settings", instance="b", access_uses=2)
    reply = bluesky.post(SERVER + "createSession", {"identifier": "lf.example", "password": "app-password-1"})
    signed_in = Account(bluesky.base_url, {"Authorization": "Bearer " + reply.json["accessJwt"]})
    assert [signed_in.get(SERVER + "getSession").status for _ in range(3)] == [200, 200, 400]


def test_refresh_rotates_both_tokens(session):
    refresher = Account(session.base_url, {"Authorization": "Bearer " + session.refresh})
    fresh = refresher.post(SERVER + "refreshSession", b"").json
    assert fresh["refreshJwt"] != session.refresh
    assert put_as(session, session.headers["Authorization"]) == (400, "ExpiredToken")
    assert refresher.post(SERVER + "refreshSession", b"").json["error"] == "ExpiredToken"
    session.headers = {"Authorization": "Bearer " + fresh["accessJwt"]}
    assert put(session).status == 200


def test_record_keys_are_tids(session):
    reply = put(session, rkey="lf-0001")
    assert (reply.status, reply.json["message"]) == (
        400, 'Invalid record key for app.bsky.feed.post: Invalid TID string (got "lf-0001") at $')
    assert put(session, rkey="lf-0001", validate=False).status == 200
    assert put(session, rkey="..", validate=False).status == 400
    body = {"repo": session.did, "collection": "com.example.note", "rkey": "lf-0001", "record": {"x": 1}}
    assert session.post(REPO + "putRecord", body).json["validationStatus"] == "unknown"


def test_put_record_and_swap(sim, session):
    first = put(session, swapRecord=None)
    assert first.status == 200 and first.json["commit"]["cid"] and first.json["validationStatus"] == "valid"
    assert first.json["uri"] == f"at://{session.did}/{COLLECTION}/{KEY}"
    again = put(session, swapRecord=None)
    assert again.status == 200 and "commit" not in again.json and again.json["cid"] == first.json["cid"]
    other = put(session, text="other https://blog.example/p/1", swapRecord=None)
    assert other.status == 400
    assert other.json == {"error": "InvalidSwap", "message": "Record was at " + first.json["cid"]}
    assert sim.delivery("bluesky/brand/1")["commits"] == 1 and sim.report()["violations"] == []
    overwritten = put(session, text="other https://blog.example/p/1")
    assert overwritten.json["cid"] != first.json["cid"] and get(session).json["value"]["text"].startswith("other")
    assert [violation["kind"] for violation in sim.report()["violations"]] == ["O1"]


def test_put_resurrects_a_deleted_record(sim, session):
    uri = put(session, swapRecord=None).json["uri"]
    assert sim.post("posts", instance="b", op="delete", id=uri) == {"deleted": True}
    assert get(session).json["error"] == "RecordNotFound"
    assert "commit" in put(session, swapRecord=None).json


def test_create_record(session):
    first = put(session, call="createRecord")
    assert first.status == 200
    again = put(session, call="createRecord")
    assert (again.status, again.json) == (500, {"error": "InternalServerError", "message": "Internal Server Error"})
    drawn = {put(session, call="createRecord", rkey=...).json["uri"] for _ in range(2)}
    assert len(drawn) == 2


def test_content_id_is_of_the_whole_record(session):
    first = put(session, rkey="3mvzvh4fs22se").json["cid"]
    assert put(session, rkey="3mvzvh4fs22sf").json["cid"] == first
    assert put(session, rkey="3mvzvh4fs22sg", created="2026-09-21T13:33:21.000Z").json["cid"] != first


def test_records_are_checked(session):
    assert put(session, text="\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466" * 100).status == 200
    for text, words in (("x" * 301, "grapheme too big (maximum 300, got 301)"),
                        ("\U0001F468\u200D\U0001F469\u200D\U0001F467" * 200, "maximum 3000, got 3600")):
        reply = put(session, text=text)
        assert (reply.status, reply.json["error"]) == (400, "InvalidRequest") and words in reply.json["message"]
    assert "createdAt must be an valid atproto datetime" in put(session, created="yesterday").json["message"]
    assert session.post(REPO + "putRecord", b"text", Content_Type="text/plain").status == 400
    assert put(session, repo="did:plc:other").status == 401


def test_get_record(session):
    reply = get(session)
    assert (reply.status, reply.json["error"]) == (400, "RecordNotFound")
    assert reply.json["message"] == f"Could not locate record: at://{session.did}/{COLLECTION}/{KEY}"
    cid_put = put(session).json["cid"]
    assert get(session).json["cid"] == cid_put and get(session, repo="lf.example").status == 200
    unknown = get(session, repo="did:plc:nobody")
    assert (unknown.status, unknown.json["error"]) == (400, "InvalidRequest")


def page(session, **query):
    parameters = "".join(f"&{name}={value}" for name, value in query.items())
    return session.get(f"{REPO}listRecords?repo={session.did}&collection={COLLECTION}{parameters}")


def test_list_records(sim, session):
    sim.post("posts", instance="b", op="plant", count=100)
    assert len(page(session).json["records"]) == 50
    full = page(session, limit=100).json
    keys = [record["uri"].split("/")[-1] for record in full["records"]]
    assert keys == sorted(keys, reverse=True) and full["cursor"] == keys[-1]
    assert page(session, limit=100, cursor=full["cursor"]).json == {"records": []}
    short = page(session, limit=100, cursor=keys[-3]).json
    assert len(short["records"]) == 2 and short["cursor"] == keys[-1]
    assert page(session, limit=3, reverse="true").json["records"][0]["uri"].endswith(keys[-1])
    assert len(page(session, cursor="zzzz").json["records"]) == 50
    assert page(session, limit=101).status == 400
    sim.post("settings", instance="b", list_over_limit_500=True)
    assert page(session, limit=101).status == 500


def test_points(sim, session):
    sim.post("settings", instance="b", limit_points=6)
    replies = [put(session, rkey=f"3mvzvh4fs22s{end}") for end in "efgh"]
    assert [reply.status for reply in replies] == [200, 200, 200, 429]
    assert [reply.headers["RateLimit-Remaining"] for reply in replies] == ["4", "2", "0", "0"]
    assert replies[3].headers["Retry-After"] and abs(int(replies[3].headers["RateLimit-Reset"]) - time.time()) < 3601
    assert get(session, rkey="3mvzvh4fs22se").status == 200
    assert get(session, rkey="3mvzvh4fs22sh").status == 400
    sim.post("settings", instance="b", limit_points=0)
    free = put(session, rkey="3mvzvh4fs22sh")
    assert free.status == 200 and "RateLimit-Remaining" not in free.headers, "no limit is no window that is used up"


def test_a_record_names_only_blobs_of_its_account(session, bluesky):
    reply = session.post(REPO + "uploadBlob", b"\x89PNG\x00\xff", content_type="image/png")
    blob = reply.json["blob"]
    assert reply.status == 200 and (blob["mimeType"], blob["size"]) == ("image/png", 6)
    assert Account(bluesky.base_url).post(REPO + "uploadBlob", b"x", content_type="image/png").status == 401
    too_large = session.post(REPO + "uploadBlob", b"x" * 1_000_001, content_type="image/png")
    assert (too_large.status, too_large.json["error"]) == (400, "BlobTooLarge")
    for image, status in ((blob, 200), ({**blob, "ref": {"$link": "bafkreinothing"}}, 400)):
        record = {"$type": COLLECTION, "text": "x", "createdAt": CREATED,
                  "embed": {"$type": "app.bsky.embed.images", "images": [{"image": image, "alt": "A cat"}]}}
        assert put(session, record=record).status == status
