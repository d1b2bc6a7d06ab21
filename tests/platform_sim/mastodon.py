# SPDX-License-Identifier: MIT
"""A Mastodon instance, as its publishing clients see it. Behaviours played:

 1. Bearer token; 401 without a valid one. verify_credentials names the own account.
 2. POST /api/v1/statuses, JSON or form, answers 200 (not 201) with string ids above 2^53.
 3. Idempotency-Key belongs to the account, lives `key_window_ms` after the first success, and the body is not compared:
    a replay is a fresh 200 with the existing status, whatever the second body says. A used-up key creates again.
 4. Two requests under one key at the same time: the second waits for the first, 503 after `lock_wait_ms`. With
    `key_lock=false` (older servers) both look the key up on arrival, both create.
 5. `honour_keys=false`: a server that looks the same and ignores keys. `replay_500=true`: a release whose replays fail
    with 500 although the status exists. A replay of a deleted status is 404.
 6. 422 for empty text and for more than 500 characters, where every link counts 23.
 7. Content comes back as HTML: escaped, links split into spans, their display cut at 30 characters. /source has it raw.
 8. Visibility: `default_visibility` when none is sent; `silenced=true` lowers public to unlisted. Without a token only
    public and unlisted statuses are seen.
 9. Listing: newest first, default 20, at most 40, max_id, since_id, exclude_reblogs, pinned; Link rel="next" only while
    the page is full. Boosts are in it; pinned statuses stand in their place.
10. `ghost=true`: a 200 with a plausible id of a status that was never saved.
11. `visibility_delay_ms`: replicas that show a status late, in the listing and by id.
12. X-RateLimit-* with an ISO time of six decimals; 429 without Retry-After, nothing created. Enforced for posting when
    `limit_posts` is set (per `limit_window_ms`).
13. POST /api/v2/media, and /api/v1/media of software that looks the same, takes multipart/form-data with `file` and `description` and answers 200 with an id; media_ids of a
    status must be uploaded by the same account and not be used before, at most four; else 422.
14. `media_polls`: an upload is answered 202 and GET /api/v1/media/<id> so often 206 before it is 200 (-1: for ever); a
    status that uses it before is refused with 422.
"""
import hashlib
import html
import re
import threading
import urllib.parse

from .base import Platform, Post, now_ms, page_as_sent
from .texts import LINK, MENTION, grapheme_count, iso_ms, iso_us, strings_in
from .wire import Answer

CHARACTERS_MAX = 500
LINK_CHARACTERS = 23
LINK_DISPLAY_CHARACTERS = 30
PAGE_DEFAULT, PAGE_MAX = 20, 40
MEDIA_MAX = 4
REQUESTS_PER_WINDOW, REQUEST_WINDOW_MS = 300, 300_000
TAG = re.compile(r"(?<![\w/])#(\w*[^\W\d]\w*)")
VISIBILITIES = ("public", "unlisted", "private", "direct")
RECORD_NOT_FOUND = {"error": "Record not found"}
TEMPORARY_PROBLEM = {"error": "There was a temporary problem serving your request, please try again"}


def link_html(url):
    """A link as the server renders it: scheme hidden, 30 characters shown, the rest hidden, href untouched."""
    prefix = re.match(r"https?://(?:www\.)?", url).group(0)
    shown = url[len(prefix):][:LINK_DISPLAY_CHARACTERS]
    rest = url[len(prefix) + LINK_DISPLAY_CHARACTERS:]
    spans = (f'<span class="invisible">{html.escape(prefix)}</span>'
             f'<span class="{"ellipsis" if rest else ""}">{html.escape(shown)}</span>'
             f'<span class="invisible">{html.escape(rest)}</span>')
    return (f'<a href="{html.escape(url)}" target="_blank" rel="nofollow noopener" translate="no">{spans}</a>')


def content_html(text, base_url):
    """Text as the server shows it: escaped, links and hashtags as anchors, blank lines as paragraphs."""
    out, position = [], 0
    for match in LINK.finditer(text):
        url = match.group(0).rstrip(".,;:!?")
        out.append(tags_html(text[position:match.start()], base_url) + link_html(url))
        position = match.start() + len(url)
    out.append(tags_html(text[position:], base_url))
    paragraphs = re.split(r"\n{2,}", "".join(out).replace("\r\n", "\n"))
    return "".join("<p>" + paragraph.replace("\n", "<br />") + "</p>" for paragraph in paragraphs)


def tags_html(text, base_url):
    anchor = rf'<a href="{base_url}/tags/\1" class="mention hashtag" rel="tag">#<span>\1</span></a>'
    return TAG.sub(anchor, html.escape(text, quote=False))


class Mastodon(Platform):
    NAME = "mastodon"
    SETTINGS = {"honour_keys": True, "key_window_ms": 3_600_000, "key_lock": True, "lock_wait_ms": 10_000,
                "replay_500": False, "ghost": False, "silenced": False, "default_visibility": "public",
                "limit_posts": 0, "limit_window_ms": 10_800_000, "media_polls": 0}
    ROUTES = (
        ("GET", r"/api/v1/accounts/verify_credentials", "read", "verify_credentials"),
        ("GET", r"/api/v[12]/instance", "read", "instance"),
        ("POST", r"/api/v1/statuses", "write", "create"),
        ("POST", r"/api/v[12]/media", "read", "upload"),
        ("GET", r"/api/v1/media/([^/]+)", "read", "media"),
        ("GET", r"/api/v1/statuses/([^/]+)", "read", "show"),
        ("GET", r"/api/v1/statuses/([^/]+)/source", "read", "source"),
        ("GET", r"/api/v1/accounts/([^/]+)/statuses", "read", "list"),
    )

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self._keys = {}
        self._running = {}
        self._media = {}
        self._last_id = 0

    def content(self, request):
        return list(strings_in(request.fields()))

    # -- answers ------------------------------------------------------------------------------------------------

    def receive(self, request):
        kind, handler, match = self.route(request)
        if handler not in ("not_found", "instance") and self.account_of(request) is None:
            if handler not in ("show", "list") or request.header("authorization"):
                return Answer.of_json(401, {"error": "The access token is invalid"})
        if kind == "write":
            return self._receive_create(request)
        with self.lock:
            answer = getattr(self, handler)(request, *(match.groups() if match else ()))
        answer.headers += self._rate_headers(request)
        return answer

    def _rate_headers(self, request):
        window = self.window.take(request.header("authorization"), 0, REQUEST_WINDOW_MS)
        return [("X-RateLimit-Limit", str(REQUESTS_PER_WINDOW)),
                ("X-RateLimit-Remaining", str(REQUESTS_PER_WINDOW - 1)), ("X-RateLimit-Reset", iso_us(window[2]))]

    def rate_limited(self, wait_ms):
        return Answer.of_json(429, {"error": "Too many requests"}, {
            "X-RateLimit-Limit": str(REQUESTS_PER_WINDOW), "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": iso_us(now_ms() + wait_ms)})

    def account_json(self, account):
        return {"id": account.id, "username": account.name, "acct": account.name, "display_name": account.name,
                "url": f"{self.base_url}/@{account.name}", "bot": False}

    def status_json(self, post):
        account, data = post.account, post.data
        reblog = None
        if post.boost:
            reblog = {"id": str(int(post.id) - 1), "content": content_html(data["text"], self.base_url),
                      "url": "https://elsewhere.example/@other/1",
                      "account": {"id": "1", "acct": "other@elsewhere.example"}}
        return {
            "id": post.id, "created_at": iso_ms(post.created_ms), "in_reply_to_id": data["in_reply_to_id"],
            "sensitive": data["sensitive"], "spoiler_text": data["spoiler_text"], "visibility": data["visibility"],
            "language": data["language"], "uri": f"{self.base_url}/users/{account.name}/statuses/{post.id}",
            "url": f"{self.base_url}/@{account.name}/{post.id}", "replies_count": 0, "reblogs_count": 0,
            "favourites_count": 0, "edited_at": iso_ms(data["edited_ms"]) if data.get("edited_ms") else None,
            "content": "" if post.boost else content_html(data["text"], self.base_url), "reblog": reblog,
            "account": self.account_json(account), "media_attachments": [self.media_json(media_id) for media_id in data.get("media", [])], "mentions": [],
            "tags": [{"name": tag.lower()} for tag in TAG.findall(data["text"])], "pinned": post.pinned}

    # -- writing ------------------------------------------------------------------------------------------------

    def _receive_create(self, request):
        account, key = self.account_of(request), request.header("idempotency-key")
        if not key or not self.settings["honour_keys"]:
            return self._check(request, account, None)
        name = (account.id, key)
        if self.settings["key_lock"] and not self._enter(name):
            return Answer.of_json(503, TEMPORARY_PROBLEM)
        try:
            step = self._replay(name)
            if step is None:
                step = self._check(request, account, name)
        except BaseException:
            self._leave(name)
            raise
        if isinstance(step, Answer):
            self._leave(name)
            return step
        return lambda: self._run_locked(name, step)

    def _run_locked(self, name, commit):
        try:
            return commit()
        finally:
            self._leave(name)

    def _enter(self, name):
        """Takes the lock of a key; False when whoever holds it does not come to an end."""
        with self.lock:
            gate = self._running.setdefault(name, threading.Lock())
        return gate.acquire(timeout=self.settings["lock_wait_ms"] / 1000)

    def _leave(self, name):
        if self.settings["key_lock"]:
            gate = self._running.get(name)
            if gate is not None and gate.locked():
                gate.release()

    def _replay(self, name):
        """The answer to a key that is known, None for a new or forgotten one."""
        with self.lock:
            post_id, expires_ms = self._keys.get(name, (None, 0))
            if post_id is None or now_ms() >= expires_ms:
                return None
            post = self.posts.get(post_id)
            if post is None:
                return Answer.of_json(404, RECORD_NOT_FOUND)
            if self.settings["replay_500"]:
                return Answer.of_json(500, {"error": "There was a problem processing your request"})
            return Answer.of_json(200, self.status_json(post))

    def _check(self, request, account, key_name):
        """The Answer that refuses a new status, or what commits it."""
        fields = request.fields()
        data = {"text": str(fields.get("status") or ""), "spoiler_text": str(fields.get("spoiler_text") or ""),
                "visibility": fields.get("visibility") or self.settings["default_visibility"],
                "language": fields.get("language") or "en", "in_reply_to_id": fields.get("in_reply_to_id") or None,
                "sensitive": fields.get("sensitive") in (True, "true", "1")}
        if data["in_reply_to_id"] is not None and self.posts.get(str(data["in_reply_to_id"])) is None:
            return Answer.of_json(404, RECORD_NOT_FOUND)
        data["media"] = fields.get("media_ids") or []
        problem = self._problem(data) or self._media_problem(account, data["media"])
        if problem:
            return Answer.of_json(422, {"error": f"Validation failed: {problem}"})
        limit, window_ms = self.settings["limit_posts"], self.settings["limit_window_ms"]
        granted, remaining, end = self.window.take("post " + account.id, limit, window_ms)
        if not granted:
            return self.rate_limited(end - now_ms())
        if self.settings["silenced"] and data["visibility"] == "public":
            data["visibility"] = "unlisted"
        data["text"] = self.as_stored(request, data["text"])
        headers = self._rate_headers(request)
        if limit:
            headers = [("X-RateLimit-Limit", str(limit)), ("X-RateLimit-Remaining", str(remaining)),
                       ("X-RateLimit-Reset", iso_us(end))]
        return lambda: self._commit(request, account, key_name, data, headers)

    @staticmethod
    def _problem(data):
        if not data["text"].strip():
            return "Text can't be blank"
        counted = MENTION.sub(r"@\1", LINK.sub("x" * LINK_CHARACTERS, data["text"]))
        if grapheme_count(counted) + grapheme_count(data["spoiler_text"]) > CHARACTERS_MAX:
            return f"Text character limit of {CHARACTERS_MAX} exceeded"
        if data["visibility"] not in VISIBILITIES:
            return "Visibility is not included in the list"
        return None

    def _media_problem(self, account, media_ids):
        if len(media_ids) > MEDIA_MAX:
            return "Cannot attach more than 4 files"
        found = [self._media.get(media_id) for media_id in media_ids]
        if any(media is None or media["account"] is not account or media["used"] for media in found):
            return "Media could not be found"
        if any(media["polls"] for media in found):
            return "Cannot attach files that have not finished processing. Try again in a moment!"
        return None

    def upload(self, request):
        """An upload creates no post; what no post uses is forgotten, so a repeat does no harm."""
        media_type, data = request.parts().get("file", (None, b""))
        if not data or not (media_type or "").startswith("image/"):
            return Answer.of_json(422, {"error": "Validation failed: File content type is invalid"})
        description = request.parts().get("description", (None, b""))[1].decode()
        media_id = str(22_348_641 + len(self._media))
        self._media[media_id] = {"account": self.account_of(request), "used": False, "type": media_type,
                                 "polls": self.settings["media_polls"],
                                 "description": description, "sha256": hashlib.sha256(data).hexdigest()}
        return Answer.of_json(202 if self._media[media_id]["polls"] else 200, self.media_json(media_id))

    def media(self, request, media_id):
        with self.lock:
            media = self._media.get(media_id)
            if media is None or media["account"] is not self.account_of(request):
                return Answer.of_json(404, RECORD_NOT_FOUND)
            waits = media["polls"] != 0
            media["polls"] -= media["polls"] > 0
        return Answer.of_json(206 if waits else 200, self.media_json(media_id))

    def media_json(self, media_id):
        media = self._media[media_id]
        return {"id": media_id, "type": "image", "url": None if media["polls"] else f"{self.base_url}/media/{media_id}",
                "description": media["description"] or None}

    def _commit(self, request, account, key_name, data, headers):
        with self.lock:
            for media_id in data["media"]:
                self._media[media_id]["used"] = True
            now = now_ms()
            post = Post(self._new_id(now), account, now, self.visible_from(request), data)
            if not (self.settings["ghost"] or request.directives.get("ghost")):
                self.posts.add(post)
                if key_name is not None:
                    self._keys[key_name] = (post.id, now_ms() + self.settings["key_window_ms"])
                request.on_commit(post.id)
            answer = Answer.of_json(200, self.status_json(post))
        answer.headers += headers
        return answer

    def _new_id(self, at_ms):
        """A Snowflake: milliseconds, then 16 bits. Ids of 18 digits, as strings they sort like numbers."""
        new = max(at_ms << 16, self._last_id + 0x100)
        if at_ms >= now_ms() - 60_000:
            self._last_id = new
        while self.posts.get(str(new)) is not None:
            new += 1
        return str(new)

    # -- reading ------------------------------------------------------------------------------------------------

    def verify_credentials(self, request):
        account = self.account_of(request)
        source = {"privacy": self.settings["default_visibility"], "sensitive": False, "language": "en"}
        return Answer.of_json(200, {**self.account_json(account), "source": source})

    def instance(self, request):
        statuses = {"max_characters": CHARACTERS_MAX, "characters_reserved_per_url": LINK_CHARACTERS}
        return Answer.of_json(200, {"domain": "m.example", "version": "4.4.0", "configuration": {"statuses": statuses}})

    def _readable(self, post, viewer):
        return post.shown() and (post.data["visibility"] in ("public", "unlisted") or viewer is post.account)

    def show(self, request, post_id):
        post = self.posts.get(post_id)
        if post is None or not self._readable(post, self.account_of(request)):
            return Answer.of_json(404, RECORD_NOT_FOUND)
        return Answer.of_json(200, self.status_json(post))

    def source(self, request, post_id):
        post = self.posts.get(post_id)
        if post is None or not post.shown() or post.account is not self.account_of(request):
            return Answer.of_json(404, RECORD_NOT_FOUND)
        return Answer.of_json(200, {"id": post.id, "text": post.data["text"],
                                    "spoiler_text": post.data["spoiler_text"]})

    def list(self, request, account_id):
        account = next((account for account in self.accounts if account.id == account_id), None)
        if account is None:
            return Answer.of_json(404, RECORD_NOT_FOUND)
        query, fault = request.query, request.directives.get("page")
        limit = min(int(query["limit"]), PAGE_MAX) if query.get("limit", "").isdigit() else PAGE_DEFAULT
        given = query.get("max_id")
        ignored = fault is not None and fault["kind"] == "paging_ignored"
        items = self._page(account, self.account_of(request), query, None if ignored else given, limit)
        following = items[-1].id if items and len(items) == limit else None
        items, following = page_as_sent(fault, given, items, following, lambda post: str(int(post.id) + 1))
        answer = Answer.of_json(200, [self.status_json(post) for post in items])
        answer.headers += self._link_header(request, following, items[0].id if items else None)
        return answer

    def _page(self, account, viewer, query, below, limit):
        items = []
        for post in self.posts.newest_first(below):
            if len(items) == limit or post.id <= query.get("since_id", ""):
                break
            if post.account is account and self._readable(post, viewer) and self._wanted(post, query):
                items.append(post)
        return items

    def _link_header(self, request, following, first):
        kept = {name: value for name, value in request.query.items() if name not in ("max_id", "min_id", "since_id")}
        links = []
        for relation, parameter, value in (("next", "max_id", following), ("prev", "min_id", first)):
            if value is not None:
                target = urllib.parse.urlencode({**kept, parameter: value})
                links.append(f'<{self.base_url}{request.path}?{target}>; rel="{relation}"')
        return [("Link", ", ".join(links))] if links else []

    @staticmethod
    def _wanted(post, query):
        if query.get("exclude_reblogs") in ("true", "1") and post.boost:
            return False
        if query.get("exclude_replies") in ("true", "1") and post.data["in_reply_to_id"]:
            return False
        return post.pinned or query.get("pinned") not in ("true", "1")

    # -- the outside world --------------------------------------------------------------------------------------

    def op_plant(self, count=1, text="history {n}", newest_age_ms=60_000, step_ms=60_000, visibility="public",
                 boost=False, pinned=False, channel=None):
        """Posts that landfall did not make, from newest_age_ms ago backwards; `{n}` is the post's number."""
        account, ids = self.account_named(channel), []
        for n in range(count):
            created = now_ms() - newest_age_ms - n * step_ms
            data = {"text": text.replace("{n}", str(n)), "spoiler_text": "", "visibility": visibility, "language": "en",
                    "in_reply_to_id": None, "sensitive": False}
            post_id = str(created << 16)
            while self.posts.get(post_id) is not None:
                post_id = str(int(post_id) + 7)
            post = Post(post_id, account, created, created, data)
            post.boost, post.pinned = boost, pinned
            self.posts.add(post)
            ids.append(post_id)
        return {"ids": ids[:100], "count": count}

    def op_delete(self, id):
        return {"deleted": self.posts.remove(id) is not None}

    def op_edit(self, id, text):
        data = self.posts.get(id).data
        data["text"], data["edited_ms"] = text, now_ms()
        return {"edited": True}

    def op_pin(self, id):
        self.posts.get(id).pinned = True
        return {"pinned": True}

    def op_forget_keys(self):
        self._keys.clear()
        return {"forgotten": True}

    def op_list(self, limit=100, channel=None):
        account = self.account_named(channel)
        own = [post for post in self.posts.newest_first() if post.account is account]
        return {"count": len(own), "posts": [
            {"id": post.id, "text": post.data["text"], "visibility": post.data["visibility"],
             "created_at": iso_ms(post.created_ms), "boost": post.boost, "in_reply_to_id": post.data["in_reply_to_id"],
             "pictures": [{name: self._media[media_id][name] for name in ("type", "description", "sha256")}
                          for media_id in post.data.get("media", [])]} for post in own[:limit]]}
