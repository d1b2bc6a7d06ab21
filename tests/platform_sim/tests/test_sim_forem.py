# SPDX-License-Identifier: MIT
"""Forem as played: one test for each behaviour that the module lists."""
import threading
import time

from simhttp import Account, eventually

ARTICLES = "/api/articles"
URL = "https://blog.example/p/1"


def publish(forem, title="Hello", canonical_url=URL, published=True, **more):
    article = {"title": title, "body_markdown": "Hi", "published": published, "canonical_url": canonical_url, **more}
    return forem.post(ARTICLES, {"article": {name: value for name, value in article.items() if value is not None}})


def test_api_key(forem):
    stranger = Account(forem.base_url, {"api-key": "no"})
    for reply in (stranger.get("/api/users/me"), stranger.get("/api/articles/me/all"), publish(stranger)):
        assert (reply.status, reply.json) == (401, {"error": "unauthorized", "status": 401})
    assert forem.get("/api/users/me").json["username"] == "lf"


def test_created_with_location_number_and_random_slug(sim, forem):
    reply = publish(forem, "Hello, World", tags=["c", "redis"])
    article = reply.json
    assert reply.status == 201 and isinstance(article["id"], int) and reply.headers["Location"] == article["url"]
    assert article["slug"].startswith("hello-world-") and article["canonical_url"] == URL
    assert (article["tag_list"], article["tags"]) == ("c, redis", ["c", "redis"])
    assert sim.delivery("forem/brand/1")["external_ids"] == [str(article["id"])]


def test_draft_unless_said_and_drafts_do_not_collide(forem):
    ids = [publish(forem, f"Title {n}", published=None).json["id"] for n in range(2)]
    assert forem.get(f"{ARTICLES}/{ids[0]}").status == 404
    assert publish(forem, "Title 3").status == 201
    assert publish(forem, "Title 4", published=False).status == 201


def test_canonical_url_is_unique_on_the_whole_site(sim, forem):
    sim.post("accounts", instance="f", channel="forem/other", token="other-key", username="other")
    assert publish(Account(forem.base_url, {"api-key": "other-key"}), "Mine").status == 201
    reply = publish(forem)
    assert reply.status == 422 and reply.json["error"].startswith("Canonical url has already been taken. Email ")
    assert publish(forem, canonical_url=URL + "/").status == 201
    sim.post("posts", instance="f", op="plant", foreign=True, canonical_url="https://blog.example/p/9")
    assert publish(forem, "Nine", "https://blog.example/p/9").status == 422


def test_the_database_refuses_what_passed_the_check_twice(sim, forem):
    sim.fault("commit_slowly", "f", delay_ms=400, times=-1)
    replies = []
    threads = [threading.Thread(target=lambda title=title: replies.append(publish(forem, title))) for title in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(reply.status for reply in replies) == [201, 500]
    assert b"<html>" in next(reply for reply in replies if reply.status == 500).body
    assert sim.delivery("forem/brand/1")["commits"] == 1


def test_same_title_within_the_window(sim, forem):
    sim.post("settings", instance="f", title_window_ms=500)
    assert publish(forem).status == 201
    reply = publish(forem, canonical_url="https://blog.example/p/2")
    assert (reply.status, reply.json["error"]) == (422, "Title has already been used in the last five minutes")
    assert " and Title has already" in publish(forem).json["error"]
    eventually(lambda: publish(forem, canonical_url="https://blog.example/p/2").status == 201)


def test_other_complaints(forem):
    reply = publish(forem, "", tags=["a", "b", "c", "d", "e"])
    assert reply.json["error"] == "Title can't be blank and Tag list exceed the maximum of 4 tags"
    assert publish(forem, canonical_url="https://blog.example/a b").status == 422
    assert forem.post(ARTICLES, {"title": "no article"}).status == 422


def test_front_matter_overrides(sim, forem):
    body = "---\ntitle: Other\npublished: false\ntags: x, y\ncanonical_url: https://blog.example/p/2\n---\nHi"
    article = publish(forem, body_markdown=body).json
    assert (article["title"], article["tags"]) == ("Other", ["x", "y"])
    assert article["canonical_url"] == "https://blog.example/p/2"
    assert article["published_at"] is None and sim.delivery("forem/brand/2")["commits"] == 1


def test_listing_pages_with_drafts_on_top(sim, forem):
    sim.post("posts", instance="f", op="plant", count=70)
    draft = publish(forem, published=False).json["id"]
    newest = publish(forem, "New", "https://blog.example/p/3").json["id"]
    first = forem.get("/api/articles/me/all").json
    assert [article["id"] for article in first[:2]] == [draft, newest] and len(first) == 30
    assert first[0]["published"] is False and first[0]["tag_list"] == []
    sizes = [len(forem.get(f"/api/articles/me/all?per_page=36&page={page}").json) for page in (1, 2, 3)]
    assert sizes == [36, 36, 0]
    assert forem.get("/api/articles/me").json[0]["id"] == newest
    assert [article["id"] for article in forem.get("/api/articles/me/unpublished").json] == [draft]
    sim.post("settings", instance="f", per_page_max=10)
    assert len(forem.get("/api/articles/me/published?per_page=100").json) == 10


def test_a_deleted_article_shifts_the_pages(sim, forem):
    sim.post("posts", instance="f", op="plant", count=20)
    page = forem.get("/api/articles/me/all?per_page=10").json
    following = forem.get("/api/articles/me/all?per_page=10&page=2").json[0]["id"]
    sim.post("posts", instance="f", op="delete", id=str(page[0]["id"]))
    assert following not in [article["id"] for article in forem.get("/api/articles/me/all?per_page=10&page=2").json]


def test_own_address_stands_in_for_a_missing_canonical_url(forem):
    article = publish(forem, canonical_url=None, body_markdown="see https://blog.example/p/5").json
    assert article["canonical_url"] == article["url"]
    assert forem.get(f"{ARTICLES}/{article['id']}").json["title"] == "Hello"


def test_two_kinds_of_429(sim, forem):
    sim.post("settings", instance="f", limit_articles=1)
    assert publish(forem).status == 201
    reply = publish(forem, "b", "https://blog.example/p/2")
    assert reply.status == 429 and int(reply.headers["Retry-After"]) > 0
    assert reply.json["error"].startswith("Rate limit reached, try again in ")
    sim.fault("rate_limited", "f", form="native_plain", wait_s=3)
    reply = publish(forem, "c", "https://blog.example/p/3")
    assert (reply.status, reply.body, reply.headers["Retry-After"]) == (429, b"Retry later\n", "3")


def test_late_listing(sim, forem):
    sim.fault("visibility_delay", "f", delay_ms=400)
    article = publish(forem).json
    assert forem.get("/api/articles/me/all").json == []
    eventually(lambda: [other["id"] for other in forem.get("/api/articles/me/all").json] == [article["id"]])


def test_a_long_history_is_planted_and_read_quickly(sim, forem):
    start = time.monotonic()
    sim.post("posts", instance="f", op="plant", count=25_000)
    assert sum(len(forem.get(f"/api/articles/me/all?per_page=1000&page={page}").json) for page in range(1, 4)) == 3000
    assert time.monotonic() - start < 5
