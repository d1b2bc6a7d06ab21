# SPDX-License-Identifier: MIT
"""A Bluesky personal data server (AT Protocol). Behaviours played, error words as measured on PDS 0.4.217 and 0.5.35:

 1. createSession with identifier and password; wrong: 401 AuthenticationRequired. `login_limit` logins per
    `login_window_ms` (30 in 5 minutes), then 429 RateLimitExceeded with RateLimit-* headers and Retry-After.
 2. accessJwt lives `access_ms` (or `access_uses` requests): then 400 ExpiredToken, not 401. A bad one: 400
    InvalidToken; none: 401 AuthMissing. refreshSession takes the refresh token, rotates both; a used one is 400.
 3. Record keys of app.bsky.feed.post are TIDs (unless validate is false): 400 with the words of the real server.
 4. putRecord: absent: created, with `commit`. The same record again: 200 without `commit`, checked before swapRecord.
    Another record with `swapRecord: null`: 400 InvalidSwap. Without swapRecord it overwrites. It resurrects a deleted
    record.
 5. createRecord on a key that exists: 500 InternalServerError. Without rkey the server draws one.
 6. Content ids are the hash of the record: another createdAt is another record.
 7. The record is checked: $type, createdAt, 300 graphemes, 3000 bytes.
 8. getRecord needs no login, reads at once; absent is 400 RecordNotFound, not 404.
 9. listRecords: by key descending, 50, at most 100 (more: 400, or 500 with `list_over_limit_500`); cursor on every page
    that is not empty, the last one too; a cursor of any text means "keys below it".
10. Points: create 3, put 2, `limit_points` an hour (5000), refused with 429 before anything is done. RateLimit-Reset is
    epoch seconds.
11. uploadBlob takes any bytes, at most a million (400 BlobTooLarge); a record may name only blobs of its own account.
"""
import hashlib
import re
import secrets

from .base import Platform, Post, now_ms, page_as_sent
from .dag_cbor import cid
from .texts import grapheme_count, iso_ms, strings_in
from .wire import Answer

TID = re.compile(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}\Z")
RECORD_KEY = re.compile(r"[a-zA-Z0-9_~.:-]{1,512}\Z")
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
SORTABLE_BASE32 = "234567abcdefghijklmnopqrstuvwxyz"
POST_COLLECTION = "app.bsky.feed.post"
PAGE_DEFAULT, PAGE_MAX = 50, 100
GRAPHEMES_MAX, BYTES_MAX = 300, 3000
CREATE_POINTS, PUT_POINTS, POINTS_WINDOW_MS = 3, 2, 3_600_000
BLOB_BYTES_MAX = 1_000_000
REFRESH_MS = 90 * 86_400_000


def error(status, name, message, headers=None):
    answer = Answer.of_json(status, {"error": name, "message": message}, headers)
    answer.credential_refused = status == 401 or name in ("ExpiredToken", "InvalidToken")
    return answer


def tid(microseconds, clock_id):
    """A TID: 53 bits of microseconds and 10 bits of clock id in sortable base32."""
    number, out = microseconds << 10 | clock_id, ""
    for _ in range(13):
        out = SORTABLE_BASE32[number & 31] + out
        number >>= 5
    return out


def record_problem(collection, record):
    """What the server says against a record, or None."""
    if not isinstance(record, dict):
        return "Input/record must be an object"
    if record.get("$type", collection) != collection:
        return f"Invalid $type: expected {collection}, got {record.get('$type')}"
    if collection != POST_COLLECTION:
        return None
    text = record.get("text")
    if not isinstance(text, str):
        return f"Invalid {collection} record: Missing required key \"text\" at $"
    if not isinstance(record.get("createdAt"), str) or not DATE_TIME.match(record["createdAt"]):
        return f"Invalid {collection} record: createdAt must be an valid atproto datetime"
    size = len(text.encode())
    if size > BYTES_MAX:
        return f"Invalid {collection} record: string too big (maximum {BYTES_MAX}, got {size}) at $.record.text"
    count = grapheme_count(text)
    if count > GRAPHEMES_MAX:
        return f"Invalid {collection} record: grapheme too big (maximum {GRAPHEMES_MAX}, got {count}) at $.record.text"
    return None


class Session:
    def __init__(self, account, access_ms, access_uses):
        self.account = account
        self.access = f"eyJhbGciOiJIUzI1NiJ9.access-{secrets.token_hex(12)}.{secrets.token_hex(8)}"
        self.refresh = f"eyJhbGciOiJIUzI1NiJ9.refresh-{secrets.token_hex(12)}.{secrets.token_hex(8)}"
        self.access_until_ms = now_ms() + access_ms
        self.refresh_until_ms = now_ms() + REFRESH_MS
        self.uses_left = access_uses or None


class Bluesky(Platform):
    NAME = "bluesky"
    SETTINGS = {"login_limit": 30, "login_window_ms": 300_000, "access_ms": 7_200_000, "access_uses": 0,
                "limit_points": 5000, "list_over_limit_500": False}
    ROUTES = (
        ("POST", r"/xrpc/com\.atproto\.server\.createSession", "login", "create_session"),
        ("POST", r"/xrpc/com\.atproto\.server\.refreshSession", "login", "refresh_session"),
        ("GET", r"/xrpc/com\.atproto\.server\.getSession", "read", "get_session"),
        ("POST", r"/xrpc/com\.atproto\.repo\.putRecord", "write", "put_record"),
        ("POST", r"/xrpc/com\.atproto\.repo\.createRecord", "write", "create_record"),
        ("POST", r"/xrpc/com\.atproto\.repo\.uploadBlob", "read", "upload_blob"),
        ("GET", r"/xrpc/com\.atproto\.repo\.getRecord", "read", "get_record"),
        ("GET", r"/xrpc/com\.atproto\.repo\.listRecords", "read", "list_records"),
    )

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self._sessions = []
        self._retired = set()
        self._blobs = {}
        self._last_us = 0

    def secrets(self):
        return super().secrets() + [token for session in self._sessions for token in (session.access, session.refresh)]

    def did(self, account):
        """24 characters of base32, as did:plc has them."""
        digits = f"{account.number:04d}".translate(str.maketrans("0123456789", "abcdefghij"))
        return f"did:plc:simulatedsimulatedsi{digits}"

    def handle(self, account):
        return f"{account.name}.example"

    def account_of(self, request):
        token = self.bearer(request)
        return next((session.account for session in self._sessions if token in (session.access, session.refresh)), None)

    def content(self, request):
        body = request.json()
        return list(strings_in(body.get("record"))) if isinstance(body, dict) else []

    def not_found(self, request):
        return error(501, "MethodNotImplemented", "Method Not Implemented")

    def rate_limited(self, wait_ms):
        return self._exceeded(5000, 3600, now_ms() + wait_ms)

    @staticmethod
    def _limit_headers(limit, remaining, end_ms, window_s):
        """A limit of 0 is none, and nothing is said of it: "0 remaining" would be a request to wait."""
        if not limit:
            return {}
        return {"RateLimit-Limit": str(limit), "RateLimit-Remaining": str(remaining),
                "RateLimit-Reset": str(-(-end_ms // 1000)), "RateLimit-Policy": f"{limit};w={window_s}"}

    def _exceeded(self, limit, window_s, end_ms):
        wait_s = max(1, -(-(end_ms - now_ms()) // 1000))
        headers = {"Retry-After": str(wait_s), **self._limit_headers(limit, 0, end_ms, window_s)}
        return error(429, "RateLimitExceeded", "Rate Limit Exceeded", headers)

    # -- sessions -----------------------------------------------------------------------------------------------

    def create_session(self, request):
        fields = request.fields()
        identifier = str(fields.get("identifier") or "")
        window_ms, limit = self.settings["login_window_ms"], self.settings["login_limit"]
        granted, remaining, end = self.window.take("login " + identifier, limit, window_ms)
        if not granted:
            return self._exceeded(limit, window_ms // 1000, end)
        account = next((account for account in self.accounts
                        if identifier in (account.name, self.handle(account), self.did(account))), None)
        headers = self._limit_headers(limit, remaining, end, window_ms // 1000)
        if account is None or fields.get("password") != account.token:
            return error(401, "AuthenticationRequired", "Invalid identifier or password", headers)
        return self._session_answer(self._new_session(account), headers)

    def _new_session(self, account):
        session = Session(account, self.settings["access_ms"], self.settings["access_uses"])
        self._sessions.append(session)
        return session

    def _session_answer(self, session, headers=None):
        account = session.account
        value = {"accessJwt": session.access, "refreshJwt": session.refresh, "did": self.did(account),
                 "handle": self.handle(account), "active": True}
        return Answer.of_json(200, value, headers)

    def refresh_session(self, request):
        token = self.bearer(request)
        if token is None:
            return error(401, "AuthMissing", "Authentication Required")
        session = next((session for session in self._sessions if session.refresh == token), None)
        if token in self._retired or (session and session.refresh_until_ms <= now_ms()):
            return error(400, "ExpiredToken", "Token has been revoked")
        if session is None:
            return error(400, "InvalidToken", "Token could not be verified")
        self._sessions.remove(session)
        self._retired |= {session.refresh, session.access}
        return self._session_answer(self._new_session(session.account))

    def _signed_in(self, request):
        """The account of a request's access token, or the Answer that refuses it."""
        token = self.bearer(request)
        if not token:
            return error(401, "AuthMissing", "Authentication Required")
        session = next((session for session in self._sessions if session.access == token), None)
        if session is None:
            if token in self._retired:
                return error(400, "ExpiredToken", "Token has expired")
            if any(session.refresh == token for session in self._sessions):
                return error(400, "InvalidToken", "Bad token scope")
            return error(400, "InvalidToken", "Token could not be verified")
        if session.access_until_ms <= now_ms() or session.uses_left == 0:
            return error(400, "ExpiredToken", "Token has expired")
        if session.uses_left is not None:
            session.uses_left -= 1
        return session.account

    def get_session(self, request):
        account = self._signed_in(request)
        if isinstance(account, Answer):
            return account
        return Answer.of_json(200, {"did": self.did(account), "handle": self.handle(account), "active": True})

    def upload_blob(self, request):
        """A blob that no record names is forgotten, so a repeat does no harm."""
        account = self._signed_in(request)
        if isinstance(account, Answer):
            return account
        if not request.body or len(request.body) > BLOB_BYTES_MAX:
            return error(400, "BlobTooLarge", "This file is too large")
        link = "bafkrei" + hashlib.sha256(request.body).hexdigest()
        self._blobs[link] = account
        return Answer.of_json(200, {"blob": {"$type": "blob", "ref": {"$link": link}, "mimeType": request.media_type,
                                             "size": len(request.body)}})

    def _blob_problem(self, account, record):
        images = record.get("embed", {}).get("images", []) if isinstance(record, dict) else []
        links = [image.get("image", {}).get("ref", {}).get("$link") for image in images]
        if any(self._blobs.get(link) is not account for link in links):
            return "Could not find blob"
        return None

    # -- writing ------------------------------------------------------------------------------------------------

    def put_record(self, request):
        return self._receive_record(request, PUT_POINTS, True)

    def create_record(self, request):
        return self._receive_record(request, CREATE_POINTS, False)

    def _receive_record(self, request, cost, is_put):
        account = self._signed_in(request)
        if isinstance(account, Answer):
            return account
        limit = self.settings["limit_points"]
        granted, remaining, end = self.window.take("points " + account.id, limit, POINTS_WINDOW_MS, cost)
        if not granted:
            return self._exceeded(limit, POINTS_WINDOW_MS // 1000, end)
        headers = self._limit_headers(limit, remaining, end, POINTS_WINDOW_MS // 1000)
        if request.media_type != "application/json":
            return error(400, "InvalidRequest", f"Wrong request encoding (Content-Type): {request.media_type}", headers)
        body = request.json()
        if not isinstance(body, dict) or not isinstance(body.get("collection"), str):
            return error(400, "InvalidRequest", "Input must be an object with repo, collection and record", headers)
        if body.get("repo") not in (self.did(account), self.handle(account)):
            return error(401, "AuthenticationRequired", "Authentication Required", headers)
        problem = self._problem(body, is_put) or self._blob_problem(account, body.get("record"))
        if problem:
            return error(400, "InvalidRequest", problem, headers)
        return lambda: self._commit(request, account, body, is_put, headers)

    @staticmethod
    def _problem(body, is_put):
        collection, rkey, checked = body["collection"], body.get("rkey"), body.get("validate") is not False
        if rkey is None and is_put:
            return 'Input must have the property "rkey"'
        if rkey is not None:
            if not isinstance(rkey, str) or not RECORD_KEY.match(rkey) or rkey in (".", ".."):
                return "Input/rkey must be a valid Record Key"
            if checked and collection == POST_COLLECTION and not TID.match(rkey):
                return f'Invalid record key for {collection}: Invalid TID string (got "{rkey}") at $'
        return record_problem(collection, body.get("record")) if checked else None

    def _commit(self, request, account, body, is_put, headers):
        collection = body["collection"]
        record = {"$type": collection, **body["record"]}
        if "text_cut" in request.directives and isinstance(record.get("text"), str):
            record["text"] = self.as_stored(request, record["text"])
        content_id = cid(record)
        with self.lock:
            rkey = body.get("rkey") or self._next_tid()
            post_id = (self.did(account), collection, rkey)
            uri = f"at://{'/'.join(post_id)}"
            current = self.posts.get(post_id)
            if current is not None and not is_put:
                return error(500, "InternalServerError", "Internal Server Error", headers)
            answer = {"uri": uri, "cid": content_id,
                      "validationStatus": "valid" if collection == POST_COLLECTION else "unknown"}
            if current is not None and current.data["cid"] == content_id:
                return Answer.of_json(200, answer, headers)
            if "swapRecord" in body:
                expected = body["swapRecord"]
                actual = current.data["cid"] if current else None
                if expected != actual:
                    return error(400, "InvalidSwap", f"Record was at {actual or 'null'}", headers)
            if current is not None:
                self.posts.remove(post_id)
            self.posts.add(Post(post_id, account, now_ms(), self.visible_from(request),
                                {"uri": uri, "cid": content_id, "record": record}))
            request.on_commit(uri)
            rev = self._next_tid()
            answer["commit"] = {"cid": cid({"rev": rev, "data": content_id}), "rev": rev}
            return Answer.of_json(200, answer, headers)

    def _next_tid(self):
        self._last_us = max(now_ms() * 1000, self._last_us + 1)
        return tid(self._last_us, 1)

    # -- reading ------------------------------------------------------------------------------------------------

    def _account_of_repo(self, repo):
        return next((account for account in self.accounts if repo in (self.did(account), self.handle(account))), None)

    def get_record(self, request):
        query = request.query
        account = self._account_of_repo(query.get("repo"))
        if account is None:
            return error(400, "InvalidRequest", "Could not locate record")
        post_id = (self.did(account), query.get("collection", ""), query.get("rkey", ""))
        post = self.posts.get(post_id)
        if post is None or not post.shown():
            return error(400, "RecordNotFound", f"Could not locate record: at://{'/'.join(post_id)}")
        return Answer.of_json(200, self._record_json(post))

    @staticmethod
    def _record_json(post):
        return {"uri": post.data["uri"], "cid": post.data["cid"], "value": post.data["record"]}

    def list_records(self, request):
        query = request.query
        account = self._account_of_repo(query.get("repo"))
        if account is None:
            return error(400, "InvalidRequest", f"Could not find repo: {query.get('repo')}")
        limit = int(query["limit"]) if query.get("limit", "").isdigit() else PAGE_DEFAULT
        if not 1 <= limit <= PAGE_MAX:
            if self.settings["list_over_limit_500"]:
                return error(500, "InternalServerError", "Internal Server Error")
            return error(400, "InvalidRequest", f"limit can not be greater than {PAGE_MAX}")
        fault = request.directives.get("page")
        given = query.get("cursor")
        ignored = fault is not None and fault["kind"] == "paging_ignored"
        items = self._page(account, query.get("collection", ""), limit, None if ignored else given,
                           query.get("reverse") == "true")
        following = items[-1].id[2] if items else None
        items, following = page_as_sent(fault, given, items, following, lambda post: post.id[2] + "2")
        answer = {"records": [self._record_json(post) for post in items]}
        if following is not None:
            answer["cursor"] = following
        return Answer.of_json(200, answer)

    def _page(self, account, collection, limit, cursor, reverse):
        did = self.did(account)
        if reverse:
            posts = self.posts.oldest_first((did, collection, cursor or ""))
        else:
            posts = self.posts.newest_first((did, collection, cursor or "\uffff"))
        items = []
        for post in posts:
            if len(items) == limit or post.id[:2] != (did, collection):
                break
            if post.shown():
                items.append(post)
        return items

    # -- the outside world --------------------------------------------------------------------------------------

    def op_plant(self, count=1, text="history {n}", newest_age_ms=60_000, step_ms=60_000, channel=None):
        """Posts that landfall did not make, from newest_age_ms ago backwards."""
        account, ids = self.account_named(channel), []
        for n in range(count):
            created = now_ms() - newest_age_ms - n * step_ms
            record = {"$type": POST_COLLECTION, "text": text.replace("{n}", str(n)), "createdAt": iso_ms(created)}
            post_id = (self.did(account), POST_COLLECTION, tid(created * 1000, n % 1024))
            uri = f"at://{'/'.join(post_id)}"
            self.posts.add(Post(post_id, account, created, created, {"uri": uri, "cid": cid(record), "record": record}))
            ids.append(uri)
        return {"ids": ids[:100], "count": count}

    @staticmethod
    def _id_of(uri):
        return tuple(uri.removeprefix("at://").split("/"))

    def op_delete(self, id):
        return {"deleted": self.posts.remove(self._id_of(id)) is not None}

    def op_edit(self, id, text):
        data = self.posts.get(self._id_of(id)).data
        data["record"] = {**data["record"], "text": text}
        data["cid"] = cid(data["record"])
        return {"edited": True}

    def op_expire_access(self):
        for session in self._sessions:
            session.access_until_ms = 0
        return {"expired": len(self._sessions)}

    def op_revoke_sessions(self):
        count = len(self._sessions)
        for session in self._sessions:
            self._retired |= {session.refresh, session.access}
        self._sessions.clear()
        return {"revoked": count}

    def op_list(self, limit=100, channel=None):
        account = self.account_named(channel)
        own = [post for post in self.posts.newest_first() if post.account is account]
        return {"count": len(own), "posts": [{"id": post.data["uri"], **post.data["record"]} for post in own[:limit]]}
