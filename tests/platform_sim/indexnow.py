# SPDX-License-Identifier: MIT
"""An IndexNow endpoint. Behaviours played:

 1. POST JSON {host, key, keyLocation?, urlList[1..10000]} and GET ?url=&key=; both can create.
 2. 200; 202 with `pending=true` (the key file has not been looked at yet). The same URL again is 200 again.
 3. 400 for what is not such JSON, or a key that is not 8 to 128 of [A-Za-z0-9-]; 403 for a key that is not the site's.
 4. 422 for the whole batch if one URL is not of the host, or not below keyLocation.
 5. 429 with `limit_requests` per `limit_window_ms`, without any header.
 6. Bodies are empty (`error_bodies=true`: JSON on 422, as one engine does).
 7. No ids, nothing to read. Repeats are harmless: at-least-once.
"""
import re
import urllib.parse

from .base import Platform, now_ms
from .texts import item_id_of_link
from .wire import Answer

KEY = re.compile(r"[A-Za-z0-9-]{8,128}\Z")
URLS_MAX = 10_000


def host_of(url):
    return urllib.parse.urlsplit(url).netloc.lower()


class IndexNow(Platform):
    NAME = "indexnow"
    AT_MOST_ONCE = False
    SETTINGS = {"pending": False, "error_bodies": False, "limit_requests": 0, "limit_window_ms": 60_000}
    ROUTES = (
        ("POST", r"/indexnow", "write", "submit"),
        ("GET", r"/indexnow", "write", "submit"),
    )

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self.submitted = []

    @staticmethod
    def _submission(request):
        """The request's fields as the JSON form has them; None if it is no submission."""
        if request.method == "POST":
            body = request.json()
            return body if isinstance(body, dict) else None
        url = request.query.get("url")
        if url is None:
            return None
        return {"host": host_of(url), "key": request.query.get("key"), "urlList": [url],
                **({"keyLocation": request.query["keyLocation"]} if "keyLocation" in request.query else {})}

    def account_of(self, request):
        submission = self._submission(request)
        return self.account_by_token(submission.get("key")) if submission else None

    def content(self, request):
        urls = (self._submission(request) or {}).get("urlList")
        return [url for url in urls if isinstance(url, str)] if isinstance(urls, list) else []

    def own_ids(self, request):
        """Each URL is an item of its own."""
        return [item_id_of_link(url) for url in self.content(request)]

    def rate_limited(self, wait_ms):
        return Answer(429)

    def submit(self, request):
        granted, _, _ = self.window.take("requests", self.settings["limit_requests"], self.settings["limit_window_ms"])
        if not granted:
            return self.rate_limited(0)
        submission = self._submission(request)
        if submission is None or not self._well_formed(submission):
            return Answer(400)
        if self.account_of(request) is None:
            return Answer(403)
        if not self._of_host(submission):
            if not self.settings["error_bodies"]:
                return Answer(422)
            body = {"code": "InvalidRequestParameters", "message": "urlList host mismatch", "details": []}
            return Answer.of_json(422, body)
        return lambda: self._commit(request, submission)

    @staticmethod
    def _well_formed(submission):
        urls = submission.get("urlList")
        return (isinstance(submission.get("host"), str) and isinstance(submission.get("key"), str)
                and bool(KEY.match(submission["key"])) and isinstance(urls, list) and 1 <= len(urls) <= URLS_MAX
                and all(isinstance(url, str) for url in urls))

    @staticmethod
    def _of_host(submission):
        host, location = submission["host"].lower(), submission.get("keyLocation")
        if location is not None:
            folder = urllib.parse.urlsplit(location).path.rsplit("/", 1)[0] + "/"
            if host_of(location) != host or not all(
                    urllib.parse.urlsplit(url).path.startswith(folder) for url in submission["urlList"]):
                return False
        return all(host_of(url) == host and url.lower().startswith(("http://", "https://"))
                   for url in submission["urlList"])

    def _commit(self, request, submission):
        with self.lock:
            for url in submission["urlList"]:
                self.submitted.append((now_ms(), url))
            request.on_commit(None)
            return Answer(202 if self.settings["pending"] else 200)

    def op_list(self, limit=100, channel=None):
        return {"count": len(self.submitted), "posts": [{"id": None, "url": url} for _, url in self.submitted[-limit:]]}
