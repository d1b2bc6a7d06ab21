# SPDX-License-Identifier: MIT
"""The smaller fakes as played: what each does that its look-alikes do not."""
import base64
import hashlib
import hmac
import json
import time

import pytest

from platform_sim.client import SimulatorProcess
from simhttp import Account, call

SECRET = "ab" * 32
TOKENS = {"wordpress": "app password", "ghost": "6650a1:" + SECRET, "hashnode": "h-token-1", "slack": "s-token-1", "matrix": "m-token-1",
          "telegram": "12:tg-token", "postmark": "p-token-1", "github-releases": "g-token-1", "keyed-api": "k-token-1",
          "misskey": "n-token-1", "lemmy": "l-password-1"}
LINK = "https://blog.example/p/it-1"


@pytest.fixture(scope="module")
def running():
    specs = [{"name": name, "platform": name, "channel": f"{name}/brand", "token": token} for name, token in TOKENS.items()]
    with SimulatorProcess(specs) as simulator:
        yield simulator


@pytest.fixture
def at(running):
    """Gives an account: at("slack"), or at("slack", "another token")."""
    running.reset()
    yield lambda name, token=None: Account(running.urls[name], credential(name, token or TOKENS[name]))
    assert "simulator_error" not in running.report()["violation_counts"], running.report()["violations"]


def credential(name, token):
    if name == "wordpress":
        return {"Authorization": "Basic " + base64.b64encode(b"lf:" + token.encode()).decode()}
    if name == "ghost":
        return {"Authorization": "Ghost " + jwt(*token.split(":"))}
    if name == "postmark":
        return {"X-Postmark-Server-Token": token}
    return {"Authorization": f"Bearer {token}"}


def jwt(key_id, secret, lives_s=300, audience="/admin/"):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    text = part({"alg": "HS256", "kid": key_id}) + "." + part({"exp": int(time.time()) + lives_s, "aud": audience})
    signature = hmac.new(bytes.fromhex(secret), text.encode(), hashlib.sha256).digest()
    return text + "." + base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


def test_a_name_that_is_taken_gets_a_number(at):
    post = {"title": "Title", "content": LINK, "slug": "a-name", "status": "publish"}
    slugs = [at("wordpress").post("/wp-json/wp/v2/posts", post).json["slug"] for _ in range(3)]
    assert slugs == ["a-name", "a-name-2", "a-name-3"]
    found = at("wordpress").get("/wp-json/wp/v2/posts?status=publish,draft&slug=a-name,a-name-3")
    assert [one["slug"] for one in found.json] == ["a-name", "a-name-3"] and found.headers["X-WP-Total"] == "2"
    assert at("wordpress").get("/wp-json/wp/v2/posts/7").json["code"] == "rest_post_invalid_id"


def test_application_passwords(at):
    assert at("wordpress").get("/wp-json/wp/v2/users/me").status == 200
    nobody = at("wordpress", "wrong")
    assert (nobody.get("/wp-json/wp/v2/users/me").status, nobody.get("/wp-json/wp/v2/posts?slug=a").status) == (401, 400)
    assert nobody.post("/wp-json/wp/v2/posts", {"title": LINK}).status == 401


def test_ghost_tokens_and_filters(at, running):
    ghost = at("ghost")
    made = [ghost.post("/ghost/api/admin/posts/?source=html", {"posts": [
        {"title": "T", "html": LINK, "slug": "a-name", "canonical_url": LINK}]}).json["posts"][0] for _ in range(2)]
    assert [post["slug"] for post in made] == ["a-name", "a-name-2"]
    for wanted, count in (("slug:[a-name]", 1), ("slug:[a-name,a-name-2]", 2), (f"slug:[other],canonical_url:%27{LINK}%27", 2)):
        page = ghost.get("/ghost/api/admin/posts/?limit=50&filter=" + wanted).json
        assert (len(page["posts"]), page["meta"]["pagination"]["total"], page["meta"]["pagination"]["next"]) == (count, count, None)
    assert ghost.get("/ghost/api/admin/posts/?limit=1&page=1").json["meta"]["pagination"]["next"] == 2
    for bad in (jwt("6650a1", "cd" * 32), jwt("6650a1", SECRET, lives_s=900), jwt("6650a1", SECRET, lives_s=-5), "a.b.c",
                jwt("6650a1", SECRET, audience="/other/"), jwt("other", SECRET)):
        refused = Account(running.urls["ghost"], {"Authorization": "Ghost " + bad}).get("/ghost/api/admin/posts/")
        assert (refused.status, refused.json["errors"][0]["code"]) == (401, "INVALID_JWT"), bad


def publish(account, **members):
    given = {"title": "A title", "contentMarkdown": LINK, "slug": "a-name", **members}
    return account.post("/", {"query": "mutation Publish($input: X!) { publishPost }", "variables": {"input": given}})


def test_graphql_refuses_inside_a_success_and_reads_are_no_writes(at, running):
    for account, members, code in ((at("hashnode", "wrong"), {}, "UNAUTHENTICATED"), (at("hashnode"), {"title": "x"}, "BAD_USER_INPUT")):
        refused = publish(account, **members)
        assert refused.status == 200 and refused.json["errors"][0]["extensions"]["code"] == code
    read = at("hashnode")
    assert read.post("/", {"query": "query ById { post }", "variables": {"id": "66f0"}}).json["data"] == {"post": None}
    post = publish(read).json["data"]["publishPost"]["post"]
    slug = read.post("/", {"query": "query BySlug { x }", "variables": {"slug": "a-name"}}).json
    assert slug["data"]["publication"]["post"]["id"] == post["id"]
    seen = running.report()["instances"]["hashnode"]
    assert (seen["writes"], seen["reads"], seen["commits"]) == (3, 2, 1)


def test_chat_with_metadata_and_pages(at):
    slack = at("slack")
    assert at("slack", "wrong").post("/api/chat.postMessage", {"text": LINK}).json == {"ok": False, "error": "invalid_auth"}
    sent = [slack.post("/api/chat.postMessage", {"channel": "C", "text": LINK, "metadata": {"event_payload": {"n": n}}}).json
            for n in range(3)]
    assert all(one["ok"] and isinstance(one["ts"], str) for one in sent)
    page = slack.get("/api/conversations.history?channel=C&limit=2").json
    assert [one["metadata"]["event_payload"]["n"] for one in page["messages"]] == [2, 1] and page["has_more"]
    last = slack.get("/api/conversations.history?limit=2&cursor=" + page["response_metadata"]["next_cursor"]).json
    assert len(last["messages"]) == 1 and not last["has_more"] and last["response_metadata"]["next_cursor"] == ""


def test_a_transaction_is_one_event(at):
    matrix = at("matrix")
    room = "/_matrix/client/v3/rooms/%21r:m.example"

    def put(key, body):
        return call_put(matrix, f"{room}/send/m.room.message/{key}", {"body": body + LINK})
    first = put("k1", "one")
    assert put("k1", "another") == first and put("k2", "one") != first
    page = matrix.get(room + "/messages?dir=b&limit=1").json
    assert len(page["chunk"]) == 1 and page["end"] == "1"
    assert "end" not in matrix.get(room + "/messages?dir=b&limit=1&from=1").json


def call_put(account, path, body):
    return call("PUT", account.base_url + path, account.headers, body).json["event_id"]


def test_a_token_in_the_path(at):
    telegram = at("telegram")
    assert telegram.post("/bot12:tg-token/sendMessage", {"chat_id": "-1", "text": LINK}).json["result"]["message_id"] == 1
    assert telegram.post("/bot12:wrong/sendMessage", {"chat_id": "-1", "text": LINK}).status == 401
    assert telegram.get("/bot12:tg-token/getUpdates").status == 404


def test_mail_is_found_by_its_metadata(at):
    mail = {"To": "a@blog.example", "TextBody": LINK, "Metadata": {"lf_key": "k1"}}
    account = at("postmark")
    ids = [account.post("/email", {**mail, "Metadata": {"lf_key": key}}).json["MessageID"] for key in ("k1", "k2", "k1")]
    found = account.get("/messages/outbound?count=500&metadata_lf_key=k1").json
    assert found["TotalCount"] == 2 and [one["MessageID"] for one in found["Messages"]] == [ids[2], ids[0]]
    assert account.post("/email", {"To": "a@blog.example"}).json["ErrorCode"] == 300
    assert account.get("/messages/outbound/nobody/details").json["ErrorCode"] == 701
    assert at("postmark", "wrong").post("/email", mail).status == 401


def test_a_tag_has_one_release(at):
    github = at("github-releases")
    release = {"tag_name": "v1", "name": "One", "body": LINK}
    made = github.post("/repos/o/r/releases", release).json
    again = github.post("/repos/o/r/releases", release)
    assert again.status == 422 and again.json["errors"][0]["code"] == "already_exists"
    assert github.get("/repos/o/r/releases/tags/v1").json["id"] == made["id"] > 2 ** 53
    assert github.get("/repos/o/r/releases/tags/v2").json == {"message": "Not Found"}
    assert github.get("/repos/o/r").json["permissions"]["push"]


def test_a_key_and_its_bytes(at, running):
    keyed = at("keyed-api")
    first = keyed.post("/v1/posts", {"item": LINK}, Idempotency_Key="k1")
    again = keyed.post("/v1/posts", {"item": LINK}, Idempotency_Key="k1")
    assert (first.status, again.status, again.json) == (201, 200, first.json) and again.headers["Idempotent-Replayed"] == "true"
    for status in (400, 409, 422):
        running.post("settings", instance="keyed-api", mismatch=status)
        other = keyed.post("/v1/posts", {"item": LINK + "?"}, Idempotency_Key="k1")
        assert other.status == status and "key" in other.body.decode().lower()
    keyed.post("/v1/posts", {"item": LINK}, Idempotency_Key="k2")
    page = keyed.get("/v1/posts?limit=1").json
    assert page["has_more"] and page["data"][0]["id"] == "post_0002"
    last = keyed.get("/v1/posts?limit=1&starting_after=post_0002").json
    assert not last["has_more"] and last["data"][0]["id"] == "post_0001"


def test_notes_are_asked_for_with_the_token_in_the_body(at):
    note = at("misskey")
    made = [note.post("/api/notes/create", {"i": "n-token-1", "text": LINK}).json["createdNote"]["id"] for _ in range(3)]
    assert len(set(made)) == 3, "the same again is another note"
    me = note.post("/api/i", {"i": "n-token-1"}).json["id"]
    asked = {"i": "n-token-1", "userId": me, "limit": 2}
    assert [one["id"] for one in note.post("/api/users/notes", asked).json] == made[:0:-1]
    assert [one["id"] for one in note.post("/api/users/notes", {**asked, "untilId": made[1]}).json] == made[:1]
    assert note.post("/api/users/notes", {**asked, "untilId": made[0]}).json == []
    assert note.post("/api/notes/create", {"i": "wrong", "text": LINK}).status == 401
    gone = note.post("/api/notes/show", {"i": "n-token-1", "noteId": "9x9"})
    assert (gone.status, gone.json["error"]["code"]) == (400, "NO_SUCH_NOTE")


def test_a_stranger_reads_with_200_and_sees_less(at, running):
    login = at("lemmy").post("/api/v3/user/login", {"username_or_email": "lf", "password": "l-password-1"}).json["jwt"]
    own = Account(running.urls["lemmy"], {"Authorization": f"Bearer {login}"})
    post = {"name": "Title", "url": LINK, "community_id": 7}
    made = [own.post("/api/v3/post", post).json["post_view"]["post"]["id"] for _ in range(3)]

    def pages(account):
        return [[one["post"]["id"] for one in account.get(f"/api/v3/user?limit=2&page={page}").json["posts"]] for page in (1, 2, 3)]
    assert pages(own) == [made[:0:-1], made[:1], []]
    running.post("posts", instance="lemmy", op="remove", id=made[1])
    assert pages(own) == [[made[2], made[0]], [], []]
    assert [one["mod_remove_post"]["post_id"] for one in own.get("/api/v3/modlog").json["removed_posts"]] == [made[1]]
    running.post("posts", instance="lemmy", op="forget_sessions")
    assert own.get("/api/v3/site").json["my_user"] is None and pages(own) == [[], [], []]
    refused = own.post("/api/v3/post", post)
    assert (refused.status, refused.json) == (401, {"error": "incorrect_login"})
