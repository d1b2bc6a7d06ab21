# SPDX-License-Identifier: MIT
"""A service that offers nothing but its writes, as many in-house systems do. Behaviours played:

 1. Bearer token; 401 without a valid one.
 2. POST /notices with JSON `{"id": .., ..}`, POST and PUT /notices/<id> with any body or none, DELETE /notices/<id>:
    each is executed, each time. 200 with `{"id": ...}`.
 3. No keys, no reads: what came twice is there twice. 429 with Retry-After by `limit_requests` per `limit_window_ms`.
"""
import urllib.parse

from .base import Platform, now_ms
from .texts import strings_in
from .wire import Answer


class Notices(Platform):
    NAME = "notices"
    SETTINGS = {"limit_requests": 0, "limit_window_ms": 60_000}
    ROUTES = (
        ("POST", r"/notices", "write", "execute"),
        ("POST", r"/notices/([^/]+)", "write", "execute"),
        ("PUT", r"/notices/([^/]+)", "write", "execute"),
        ("DELETE", r"/notices/([^/]+)", "write", "execute"),
    )

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self.executed = []

    def content(self, request):
        return list(strings_in(request.json()))

    def own_ids(self, request):
        """The id in the path, else the body's."""
        named = request.path.partition("/notices/")[2]
        body = request.json()
        return [urllib.parse.unquote(named) or (body.get("id") if isinstance(body, dict) else None)]

    def rate_limited(self, wait_ms):
        return Answer(429, headers={"Retry-After": str(max(1, -(-wait_ms // 1000)))})

    def execute(self, request, notice_id=None):
        if self.account_of(request) is None:
            return Answer.of_json(401, {"error": "who are you?"})
        granted, _, end = self.window.take("requests", self.settings["limit_requests"],
                                           self.settings["limit_window_ms"])
        if not granted:
            return self.rate_limited(end - now_ms())
        return lambda: self._commit(request, notice_id)

    def _commit(self, request, notice_id):
        with self.lock:
            self.executed.append((request.method, notice_id, request.body))
            external_id = f"notice_{len(self.executed)}"
            request.on_commit(external_id)
            return Answer.of_json(200, {"id": external_id})

    def op_list(self, limit=100, channel=None):
        return {"count": len(self.executed), "posts": [
            {"id": f"notice_{number}", "method": method, "notice": notice_id, "body": body.decode("utf-8", "replace")}
            for number, (method, notice_id, body) in list(enumerate(self.executed, 1))[-limit:]]}
