# SPDX-License-Identifier: MIT
"""Chat services. Behaviours played:

 1. Slack: refusals are 200 with `{"ok": false, "error": ..}`, `invalid_auth` too. The id is the time stamp, as text.
    `metadata` comes back in conversations.history with include_all_metadata; pages by cursor, `page_max` messages at most.
 2. Matrix: the key is the last part of the path and counts for the device (here: the token), for ever; a repeat is
    answered with the first event, whatever its body says. History by /messages; `end` is missing at its end.
 3. Telegram: the token is part of the path; there is neither a key nor a history. 401 `{"ok": false}` for a wrong one.
"""
import urllib.parse

from .base import now_ms
from .simple import Simple
from .wire import Answer


class Slack(Simple):
    NAME = "slack"
    SETTINGS = {"page_max": 200}
    ROUTES = (
        ("POST", r"/api/chat.postMessage", "write", "post_message"),
        ("GET", r"/api/conversations.history", "read", "list"),
        ("GET", r"/api/auth.test", "read", "who"),
    )

    def new_id(self, number):
        return f"{now_ms() // 1000}.{number:06d}"

    @staticmethod
    def refused(error):
        answer = Answer.of_json(200, {"ok": False, "error": error})
        answer.credential_refused = error == "invalid_auth"
        return answer

    def post_message(self, request):
        account, given = self.account_of(request), request.fields()
        if account is None:
            return self.refused("invalid_auth")
        if not given.get("text"):
            return self.refused("no_text")
        data = {"text": self.as_stored(request, given["text"]), "metadata": given.get("metadata")}
        return self.commit(request, account, data, lambda post: Answer.of_json(200, {
            "ok": True, "channel": given.get("channel"), "ts": post.data["id"], "message": self._message(post)}))

    @staticmethod
    def _message(post):
        return {"type": "message", "user": "U1", "bot_id": "B1", "ts": post.data["id"], "text": post.data["text"],
                **({"metadata": post.data["metadata"]} if post.data.get("metadata") else {})}

    def who(self, request):
        known = self.account_of(request) is not None
        return Answer.of_json(200, {"ok": True, "user_id": "U1", "bot_id": "B1"}) if known else self.refused("invalid_auth")

    def list(self, request):
        if self.account_of(request) is None:
            return self.refused("invalid_auth")
        query = request.query
        found = [post for post in self.shown() if query.get("oldest", "0") <= post.data["id"] <= query.get("latest", "9")]
        start, limit = int(query.get("cursor") or 0), min(int(query.get("limit", 100)), self.settings["page_max"])
        more = start + limit < len(found)
        return Answer.of_json(200, {
            "ok": True, "messages": [self._message(post) for post in found[start:start + limit]], "has_more": more,
            "response_metadata": {"next_cursor": str(start + limit) if more else ""}})


class Matrix(Simple):
    NAME = "matrix"
    ROUTES = (
        ("PUT", r"/_matrix/client/v3/rooms/[^/]+/send/m\.room\.message/([^/]+)", "write", "send"),
        ("GET", r"/_matrix/client/v3/rooms/[^/]+/messages", "read", "list"),
        ("GET", r"/_matrix/client/v3/rooms/[^/]+/event/([^/]+)", "read", "show"),
        ("GET", r"/_matrix/client/v3/account/whoami", "read", "who"),
    )

    def new_id(self, number):
        return f"$event-{number}:m.example"

    @staticmethod
    def refused():
        return Answer.of_json(401, {"errcode": "M_UNKNOWN_TOKEN", "error": "who?"})

    def send(self, request, key):
        account = self.account_of(request)
        if account is None:
            return self.refused()
        done = self._sent(account, key)
        if done is not None:
            return Answer.of_json(200, {"event_id": done.data["id"]})
        data = {"key": key, "content": request.fields()}
        store = self.commit(request, account, data, lambda post: Answer.of_json(200, {"event_id": post.data["id"]}))

        def run():
            with self.lock:
                again = self._sent(account, key)  # another request under the key may have come meanwhile
                return store() if again is None else Answer.of_json(200, {"event_id": again.data["id"]})
        return run

    def _sent(self, account, key):
        return next((post for post in self.posts.newest_first() if post.account is account and post.data["key"] == key), None)

    @staticmethod
    def _event(post):
        return {"event_id": post.data["id"], "type": "m.room.message", "sender": "@lf:m.example", "origin_server_ts": post.created_ms,
                "content": post.data["content"], "unsigned": {"transaction_id": post.data["key"]}}

    def list(self, request):
        if self.account_of(request) is None:
            return self.refused()
        found, start, limit = self.shown(), int(request.query.get("from", 0)), int(request.query.get("limit", 10))
        page = {"chunk": [self._event(post) for post in found[start:start + limit]], "start": str(start)}
        return Answer.of_json(200, {**page, **({"end": str(start + limit)} if start + limit < len(found) else {})})

    def show(self, request, event_id):
        post = self.by_id(urllib.parse.unquote(event_id))
        return Answer.of_json(200, self._event(post)) if post else Answer.of_json(404, {"errcode": "M_NOT_FOUND"})

    def who(self, request):
        return Answer.of_json(200, {"user_id": "@lf:m.example"}) if self.account_of(request) else self.refused()


class Telegram(Simple):
    NAME = "telegram"
    ROUTES = (("POST", r"/bot([^/]+)/sendMessage", "write", "send"),)

    def new_id(self, number):
        return number

    def account_of(self, request):
        return self.account_by_token(urllib.parse.unquote(request.path.partition("/bot")[2].partition("/")[0]))

    def send(self, request, _token):
        account, given = self.account_of(request), request.fields()
        if account is None:
            return Answer.of_json(401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
        if not given.get("text"):
            return Answer.of_json(400, {"ok": False, "error_code": 400, "description": "Bad Request: message text is empty"})
        data = {"text": self.as_stored(request, given["text"])}
        return self.commit(request, account, data, lambda post: Answer.of_json(200, {
            "ok": True, "result": {"message_id": post.data["id"], "chat": {"id": given.get("chat_id")}, "text": post.data["text"]}}))
