# SPDX-License-Identifier: MIT
"""Mastodon as played: one test for each behaviour that the module lists."""
import hashlib
import re
import threading
import time

from simhttp import Account, eventually

STATUSES = "/api/v1/statuses"


def test_bearer_token_and_own_account(mastodon):
    assert Account(mastodon.base_url).get("/api/v1/accounts/verify_credentials").status == 401
    bad = Account(mastodon.base_url, {"Authorization": "Bearer nope"}).post(STATUSES, {"status": "x"})
    assert (bad.status, bad.json) == (401, {"error": "The access token is invalid"})
    me = mastodon.get("/api/v1/accounts/verify_credentials").json
    assert me["username"] == "lf" and me["id"].isdigit()


def test_post_by_json_or_form_answers_200_with_a_long_string_id(mastodon):
    first = mastodon.post(STATUSES, {"status": "Hello", "visibility": "public"})
    assert first.status == 200 and isinstance(first.json["id"], str) and int(first.json["id"]) > 2 ** 53
    second = mastodon.post(STATUSES, b"status=Good+day&visibility=unlisted",
                           content_type="application/x-www-form-urlencoded")
    assert second.json["visibility"] == "unlisted" and int(second.json["id"]) > int(first.json["id"])
    assert mastodon.get(f"{STATUSES}/{second.json['id']}/source").json["text"] == "Good day"
    assert mastodon.get(f"{STATUSES}/1").status == 404


def test_key_replays_the_same_status_whatever_the_body_says(sim, mastodon):
    first = mastodon.post(STATUSES, {"status": "one"}, idempotency_key="k1")
    again = mastodon.post(STATUSES, {"status": "two"}, idempotency_key="k1")
    assert (again.status, again.json["id"]) == (200, first.json["id"]) and "one" in again.json["content"]
    assert sim.get("posts", instance="m")["count"] == 1


def test_key_belongs_to_the_account(sim, mastodon):
    sim.post("accounts", instance="m", channel="mastodon/other", token="other-token", username="other")
    other = Account(mastodon.base_url, {"Authorization": "Bearer other-token"})
    assert mastodon.post(STATUSES, {"status": "a"}, idempotency_key="k").json["id"] != \
        other.post(STATUSES, {"status": "a"}, idempotency_key="k").json["id"]


def test_key_is_forgotten_after_its_window(sim, mastodon):
    sim.post("settings", instance="m", key_window_ms=80)
    first = mastodon.post(STATUSES, {"status": "one"}, idempotency_key="k1").json["id"]
    time.sleep(0.1)
    assert mastodon.post(STATUSES, {"status": "one"}, idempotency_key="k1").json["id"] != first


def post_twice_at_once(sim, mastodon):
    """Both requests are there before the first commits."""
    ids = []
    sim.fault("commit_slowly", "m", delay_ms=400, times=-1)


    def post():
        ids.append(mastodon.post(STATUSES, {"status": "x"}, idempotency_key="k"))

    threads = [threading.Thread(target=post) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ids


def test_two_requests_under_one_key_make_one_status(sim, mastodon):
    first, second = post_twice_at_once(sim, mastodon)
    assert first.json["id"] == second.json["id"]


def test_older_servers_race_on_a_key(sim, mastodon):
    sim.post("settings", instance="m", key_lock=False)
    first, second = post_twice_at_once(sim, mastodon)
    assert first.json["id"] != second.json["id"]


def test_the_lock_of_a_key_is_not_waited_for_without_end(sim, mastodon):
    sim.post("settings", instance="m", lock_wait_ms=20)
    assert sorted(reply.status for reply in post_twice_at_once(sim, mastodon)) == [200, 503]


def test_look_alike_ignores_keys(sim, mastodon):
    sim.post("settings", instance="m", honour_keys=False)
    ids = {mastodon.post(STATUSES, {"status": "x"}, idempotency_key="k").json["id"] for _ in range(2)}
    assert len(ids) == 2


def test_replays_that_fail_with_500(sim, mastodon):
    sim.post("settings", instance="m", replay_500=True)
    assert mastodon.post(STATUSES, {"status": "x"}, idempotency_key="k").status == 200
    assert mastodon.post(STATUSES, {"status": "x"}, idempotency_key="k").status == 500
    assert sim.get("posts", instance="m")["count"] == 1


def test_replay_of_a_deleted_status_is_404(sim, mastodon):
    post_id = mastodon.post(STATUSES, {"status": "x"}, idempotency_key="k").json["id"]
    sim.post("posts", instance="m", op="delete", id=post_id)
    again = mastodon.post(STATUSES, {"status": "x"}, idempotency_key="k")
    assert (again.status, again.json) == (404, {"error": "Record not found"})


def test_limits_of_text_count_links_as_23(mastodon):
    link = "https://blog.example/p/" + "a" * 90
    assert mastodon.post(STATUSES, {"status": "x" * 476 + " " + link}).status == 200
    long = mastodon.post(STATUSES, {"status": "x" * 477 + " " + link})
    assert (long.status, long.json["error"]) == (422, "Validation failed: Text character limit of 500 exceeded")
    assert mastodon.post(STATUSES, {"status": "\U0001F468\u200D\U0001F469\u200D\U0001F467" * 500}).status == 200
    assert mastodon.post(STATUSES, {"status": "  "}).status == 422
    assert mastodon.post(STATUSES, {"status": "x" * 493 + " @alice@a.very.long.host.example"}).status == 200
    assert mastodon.post(STATUSES, {"status": "x" * 494 + " @alice@a.very.long.host.example"}).status == 422


def test_content_is_html_with_the_link_cut_for_display(mastodon):
    url = "https://blog.example/p/a-rather-long-name?x=1&y=2#s"
    content = mastodon.post(STATUSES, {"status": f"Fish & <chips> {url}\nnext\n\nlast #tag"}).json["content"]
    assert content.startswith(f'<p>Fish &amp; &lt;chips&gt; <a href="{url.replace("&", "&amp;")}"')
    assert '<span class="invisible">https://</span>' in content
    assert '<span class="ellipsis">blog.example/p/a-rather-long-n</span>' in content
    assert "<br />next</p><p>last" in content and 'class="mention hashtag"' in content
    shown = re.sub(r"<[^>]+>", "", content.split("</a>")[0])
    assert shown.endswith(url.replace("&", "&amp;"))


def test_visibility(sim, mastodon):
    sim.post("settings", instance="m", default_visibility="private")
    post_id = mastodon.post(STATUSES, {"status": "x"}).json["id"]
    me = mastodon.get("/api/v1/accounts/verify_credentials").json["id"]
    stranger = Account(mastodon.base_url)
    assert mastodon.get(f"{STATUSES}/{post_id}").json["visibility"] == "private"
    assert stranger.get(f"{STATUSES}/{post_id}").status == 404
    assert len(mastodon.get(f"/api/v1/accounts/{me}/statuses").json) == 1
    assert stranger.get(f"/api/v1/accounts/{me}/statuses").json == []
    sim.post("settings", instance="m", silenced=True)
    assert mastodon.post(STATUSES, {"status": "x", "visibility": "public"}).json["visibility"] == "unlisted"


def walk(mastodon, query):
    """All ids over rel="next", and the sizes of the pages."""
    me = mastodon.get("/api/v1/accounts/verify_credentials").json["id"]
    url, ids, sizes = f"/api/v1/accounts/{me}/statuses?{query}", [], []
    while url:
        page = mastodon.get(url)
        ids += [status["id"] for status in page.json]
        sizes.append(len(page.json))
        following = re.search(r'<([^>]+)>; rel="next"', page.headers.get("Link", ""))
        url = following and following.group(1).removeprefix(mastodon.base_url)
    return ids, sizes


def test_listing_pages_and_its_end(sim, mastodon):
    sim.post("posts", instance="m", op="plant", count=85)
    ids, sizes = walk(mastodon, "limit=80")
    assert sizes == [40, 40, 5] and ids == sorted(set(ids), reverse=True) and len(ids) == 85
    sim.post("posts", instance="m", op="plant", count=35, newest_age_ms=10_000_000)
    assert walk(mastodon, "limit=40")[1] == [40, 40, 40, 0]
    assert walk(mastodon, "exclude_reblogs=true")[1][0] == 20


def test_boosts_and_pinned_statuses(sim, mastodon):
    sim.post("posts", instance="m", op="plant", count=3)
    boost = sim.post("posts", instance="m", op="plant", boost=True, newest_age_ms=1000)["ids"][0]
    oldest = walk(mastodon, "")[0][-1]
    sim.post("posts", instance="m", op="pin", id=oldest)
    ids, _ = walk(mastodon, "")
    assert ids[0] == boost and ids[-1] == oldest and mastodon.get(f"{STATUSES}/{boost}").json["reblog"]
    assert boost not in walk(mastodon, "exclude_reblogs=true")[0]
    assert walk(mastodon, "pinned=true")[0] == [oldest]


def test_edit_by_somebody_else(sim, mastodon):
    post_id = mastodon.post(STATUSES, {"status": "before"}).json["id"]
    sim.post("posts", instance="m", op="edit", id=post_id, text="after")
    status = mastodon.get(f"{STATUSES}/{post_id}").json
    assert "after" in status["content"] and status["edited_at"]


def test_ghost_id(sim, mastodon):
    sim.post("settings", instance="m", ghost=True)
    reply = mastodon.post(STATUSES, {"status": "https://blog.example/p/1"})
    assert reply.status == 200 and mastodon.get(f"{STATUSES}/{reply.json['id']}").status == 404
    assert sim.delivery("mastodon/brand/1")["commits"] == 0


def test_late_replica(sim, mastodon):
    sim.post("settings", instance="m", visibility_delay_ms=400)
    post_id = mastodon.post(STATUSES, {"status": "x"}).json["id"]
    assert mastodon.get(f"{STATUSES}/{post_id}").status == 404 and walk(mastodon, "")[0] == []
    eventually(lambda: walk(mastodon, "")[0] == [post_id])


def test_rate_limit_headers(sim, mastodon):
    iso = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")
    assert iso.match(mastodon.get("/api/v1/accounts/verify_credentials").headers["X-RateLimit-Reset"])
    sim.post("settings", instance="m", limit_posts=2, limit_window_ms=60_000)
    replies = [mastodon.post(STATUSES, {"status": "x"}) for _ in range(3)]
    assert [(reply.status, reply.headers["X-RateLimit-Remaining"]) for reply in replies] == \
        [(200, "1"), (200, "0"), (429, "0")]
    assert iso.match(replies[2].headers["X-RateLimit-Reset"]) and "Retry-After" not in replies[2].headers
    assert sim.get("posts", instance="m")["count"] == 2


def test_a_long_history_is_planted_and_read_quickly(sim, mastodon):
    start = time.monotonic()
    assert sim.post("posts", instance="m", op="plant", count=25_000)["count"] == 25_000
    me = mastodon.get("/api/v1/accounts/verify_credentials").json["id"]
    assert len(mastodon.get(f"/api/v1/accounts/{me}/statuses?limit=40").json) == 40
    assert time.monotonic() - start < 5


MEDIA = "/api/v2/media"
PICTURE = (b'--xyz\r\nContent-Disposition: form-data; name="description"\r\n\r\nA cat\r\n--xyz\r\nContent-Disposition: form-data; '
           b'name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG\x00\xff\r\n--xyz--\r\n')


def upload(account, body=PICTURE):
    return account.post(MEDIA, body, content_type="multipart/form-data; boundary=xyz")


def test_an_upload_is_kept_with_its_description_until_one_status_uses_it(sim, mastodon):
    reply = upload(mastodon)
    assert (reply.status, reply.json["description"]) == (200, "A cat")
    status = mastodon.post(STATUSES, {"status": "x", "media_ids": [reply.json["id"]]})
    assert [one["description"] for one in status.json["media_attachments"]] == ["A cat"]
    kept, = sim.get("posts", instance="m")["posts"][0]["pictures"]
    assert kept == {"type": "image/png", "description": "A cat", "sha256": hashlib.sha256(b"\x89PNG\x00\xff").hexdigest()}
    assert mastodon.post(STATUSES, {"status": "y", "media_ids": [reply.json["id"]]}).status == 422


def test_uploads_that_cannot_be_attached(sim, mastodon):
    assert upload(mastodon, PICTURE.replace(b"image/png", b"text/html")).status == 422
    assert upload(Account(mastodon.base_url)).status == 401
    sim.post("accounts", instance="m", channel="mastodon/other", token="other-token", username="other")
    others = upload(Account(mastodon.base_url, {"Authorization": "Bearer other-token"})).json["id"]
    for media_ids in (["1"], [others], [upload(mastodon).json["id"] for _ in range(5)]):
        assert mastodon.post(STATUSES, {"status": "x", "media_ids": media_ids}).status == 422
    assert sim.get("posts", instance="m")["count"] == 0
