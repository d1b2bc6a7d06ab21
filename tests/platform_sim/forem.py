# SPDX-License-Identifier: MIT
"""A Forem site such as dev.to. Behaviours played:

 1. Header `api-key`; 401 `{"error":"unauthorized","status":401}` without a valid one.
 2. POST /api/articles answers 201 with a Location header, a numeric id and a slug with a random suffix.
 3. `published` defaults to false: a draft. Drafts collide with nothing.
 4. canonical_url is unique among published articles of the whole site, whoever wrote them, compared as exact text:
    422 "Canonical url has already been taken. ...". Two requests that both passed the check: the database's index
    refuses the second with a 500 in HTML.
 5. The same title by the same author within `title_window_ms`: 422 "Title has already been used in the last five
    minutes". Several complaints are joined by " and ". No title, more than four tags, spaces in the URL: 422.
 6. Front matter at the head of body_markdown overrides title, published, tags and canonical_url of the JSON.
 7. GET /api/articles/me/all, /me/published, /me/unpublished, /me: page and per_page (30, at most `per_page_max`),
    drafts on top, then by published_at descending; no Link and no totals. A new article shifts all pages.
 8. GET /api/articles/:id shows published articles only; a draft is 404.
 9. canonical_url of an article without one is its own address. tag_list is a text in one article, a list in listings.
10. 429 with Retry-After seconds: JSON from the site's own limiter (`limit_articles` per `limit_window_ms`), plain text
    from the front (fault `rate_limited`, form `native_plain`). Nothing created.
"""
import re
import secrets

from .base import Platform, Post, now_ms
from .texts import iso_ms
from .wire import Answer

PER_PAGE_DEFAULT = 30
TAGS_MAX = 4
FIRST_ID = 2_900_001
CANONICAL_TAKEN = "Canonical url has already been taken. Email contact@site.example for further details."
TITLE_TAKEN = "Title has already been used in the last five minutes"


def error(status, text, headers=None):
    return Answer.of_json(status, {"error": text, "status": status}, headers)


def front_matter(body):
    """(fields, rest) of a text that begins with front matter; ({}, body) if it does not."""
    match = re.match(r"---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", body, re.S)
    if not match:
        return {}, body
    fields = {}
    for line in match.group(1).splitlines():
        name, separator, value = line.partition(":")
        if separator:
            fields[name.strip()] = value.strip().strip("\"'")
    return fields, body[match.end():]


def tags_of(value):
    if isinstance(value, str):
        value = value.split(",")
    return [str(tag).strip() for tag in value or [] if str(tag).strip()]


class Forem(Platform):
    NAME = "forem"
    SETTINGS = {"title_window_ms": 300_000, "per_page_max": 1000, "limit_articles": 0, "limit_window_ms": 30_000}
    ROUTES = (
        ("GET", r"/api/users/me", "read", "me"),
        ("POST", r"/api/articles", "write", "create"),
        ("GET", r"/api/articles/me(?:/(all|published|unpublished))?", "read", "list"),
        ("GET", r"/api/articles/(\d+)", "read", "show"),
    )

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self._listings = {}

    def account_of(self, request):
        return self.account_by_token(request.header("api-key"))

    def content(self, request):
        article = self._article(request)
        fields, body = front_matter(str(article.get("body_markdown") or ""))
        canonical = fields.get("canonical_url", article.get("canonical_url"))
        return [str(canonical)] if canonical else [str(article.get("title") or ""), body]

    @staticmethod
    def _article(request):
        body = request.json()
        article = body.get("article") if isinstance(body, dict) else None
        return article if isinstance(article, dict) else {}

    def rate_limited(self, wait_ms):
        seconds = max(1, -(-wait_ms // 1000))
        return error(429, f"Rate limit reached, try again in {seconds} seconds", {"Retry-After": str(seconds)})

    @staticmethod
    def rate_limited_plain(wait_ms):
        return Answer(429, "Retry later\n", {"Retry-After": str(max(1, -(-wait_ms // 1000)))}, "text/plain")

    # -- writing ------------------------------------------------------------------------------------------------

    def create(self, request):
        account = self.account_of(request)
        if account is None:
            return error(401, "unauthorized")
        article = self._article(request)
        if not article:
            return error(422, "param is missing or the value is empty: article")
        fields, _ = front_matter(str(article.get("body_markdown") or ""))
        published = fields.get("published", article.get("published"))
        data = {
            "title": str(fields.get("title", article.get("title")) or ""),
            "body_markdown": self.as_stored(request, str(article.get("body_markdown") or "")),
            "published": published is True or published == "true",
            "canonical_url": str(fields.get("canonical_url", article.get("canonical_url")) or "") or None,
            "tags": tags_of(fields.get("tags", article.get("tags"))),
            "description": str(article.get("description") or ""),
        }
        problems = self._problems(account, data)
        if problems:
            return error(422, " and ".join(problems))
        granted, _, end = self.window.take("article " + account.id, self.settings["limit_articles"],
                                           self.settings["limit_window_ms"])
        if not granted:
            return self.rate_limited(end - now_ms())
        return lambda: self._commit(request, account, data)

    def _problems(self, account, data):
        problems = []
        if not data["title"].strip():
            problems.append("Title can't be blank")
        if len(data["tags"]) > TAGS_MAX:
            problems.append(f"Tag list exceed the maximum of {TAGS_MAX} tags")
        if data["canonical_url"] and re.search(r"\s", data["canonical_url"]):
            problems.append("Canonical url must not have spaces")
        if self._canonical_taken(data):
            problems.append(CANONICAL_TAKEN)
        if any(post.account is account and post.data["title"] == data["title"]
               and post.created_ms > now_ms() - self.settings["title_window_ms"] for post in self.posts.newest_first()):
            problems.append(TITLE_TAKEN)
        return problems

    def _canonical_taken(self, data):
        return bool(data["canonical_url"]) and data["published"] and any(
            post.data["published"] and post.data["canonical_url"] == data["canonical_url"]
            for post in self.posts.newest_first())

    def _commit(self, request, account, data):
        with self.lock:
            if self._canonical_taken(data):
                return Answer(500, "<!DOCTYPE html><html><body>We're sorry, but something went wrong.</body></html>",
                              content_type="text/html; charset=utf-8")
            post = self._store(account, now_ms(), data)
            post.visible_ms = self.visible_from(request)
            request.on_commit(str(post.id))
            return Answer.of_json(201, self.article_json(post), {"Location": self._url(post)})

    def _store(self, account, created_ms, data):
        slug = re.sub(r"[^a-z0-9]+", "-", data["title"].lower()).strip("-") or "article"
        data["slug"] = f"{slug}-{secrets.token_hex(2)}"
        post = Post(FIRST_ID + len(self.posts), account, created_ms, created_ms, data)
        while self.posts.get(post.id) is not None:
            post.id += 1
        self.posts.add(post)
        return post

    # -- reading ------------------------------------------------------------------------------------------------

    def _author(self, post):
        return post.account.name if post.account else "somebody-else"

    def _url(self, post):
        return f"{self.base_url}/{self._author(post)}/{post.data['slug']}"

    def article_json(self, post, listed=False):
        data, tags = post.data, post.data["tags"]
        published_at = iso_ms(post.created_ms) if data["published"] else None
        if published_at and not listed:
            published_at = published_at[:19] + "Z"
        value = {
            "type_of": "article", "id": post.id, "title": data["title"], "description": data["description"],
            "slug": data["slug"], "path": f"/{self._author(post)}/{data['slug']}", "url": self._url(post),
            "canonical_url": data["canonical_url"] or self._url(post), "published_at": published_at,
            "tag_list": tags if listed else ", ".join(tags), "body_markdown": data["body_markdown"],
            "user": {"username": self._author(post), "user_id": post.account.number if post.account else 0}}
        if listed:
            return {**value, "published": data["published"]}
        return {**value, "tags": tags, "created_at": iso_ms(post.created_ms)[:19] + "Z"}

    def me(self, request):
        account = self.account_of(request)
        if account is None:
            return error(401, "unauthorized")
        return Answer.of_json(200, {"type_of": "user", "id": account.number, "username": account.name})

    def show(self, request, article_id):
        post = self.posts.get(int(article_id))
        if post is None or not post.data["published"] or not post.shown():
            return error(404, "not found")
        return Answer.of_json(200, self.article_json(post))

    def list(self, request, which):
        account = self.account_of(request)
        if account is None:
            return error(401, "unauthorized")
        page = self._number(request, "page", 1)
        per_page = min(self._number(request, "per_page", PER_PAGE_DEFAULT), self.settings["per_page_max"])
        fault = request.directives.get("page") or {"kind": None}
        if fault["kind"] == "empty_page":
            return Answer.of_json(200, [])
        if fault["kind"] == "short_page":
            per_page = min(per_page, fault["items"])
        if fault["kind"] in ("repeated_cursor", "paging_ignored"):
            page = 1
        if fault["kind"] == "cyclic_cursors":
            page = (page - 1) % fault["length"] + 1
        own = self._own_articles(account, which or "published")
        chosen = own[(page - 1) * per_page:page * per_page]
        return Answer.of_json(200, [self.article_json(post, listed=True) for post in chosen])

    def _own_articles(self, account, which):
        """The author's visible articles in the order of the listing; kept while nothing changes."""
        key = (account.id, which)
        version, own = self._listings.get(key, (None, None))
        if version != self.posts.version:
            own = [post for post in self.posts.newest_first() if post.account is account
                   and (which == "all" or post.data["published"] == (which == "published"))]
            shown = [post for post in own if post.shown()]
            shown.sort(key=lambda post: (post.data["published"], -post.created_ms, -post.id))
            self._listings.pop(key, None)
            if len(shown) == len(own):
                self._listings[key] = (self.posts.version, shown)
            own = shown
        return own

    @staticmethod
    def _number(request, name, default):
        text = request.query.get(name, "")
        return int(text) if text.isdigit() and int(text) > 0 else default

    # -- the outside world --------------------------------------------------------------------------------------

    def op_plant(self, count=1, text="history {n}", canonical_url=None, published=True, newest_age_ms=3_600_000,
                 step_ms=60_000, channel=None, foreign=False):
        """Articles that landfall did not make; foreign=True: by another author (an RSS import, an organisation)."""
        account, ids = None if foreign else self.account_named(channel), []
        for n in range(count):
            number = str(n)
            data = {"title": text.replace("{n}", number), "body_markdown": text.replace("{n}", number), "tags": [],
                    "canonical_url": canonical_url.replace("{n}", number) if canonical_url else None,
                    "published": published, "description": ""}
            ids.append(str(self._store(account, now_ms() - newest_age_ms - n * step_ms, data).id))
        return {"ids": ids[:100], "count": count}

    def op_delete(self, id):
        return {"deleted": self.posts.remove(int(id)) is not None}

    def op_edit(self, id, **fields):
        self.posts.get(int(id)).data.update(fields)
        self.posts.version += 1
        return {"edited": True}

    def op_list(self, limit=100, channel=None):
        account = self.account_named(channel)
        own = [post for post in self.posts.newest_first() if post.account is account]
        return {"count": len(own), "posts": [{"id": str(post.id), **post.data} for post in own[:limit]]}
