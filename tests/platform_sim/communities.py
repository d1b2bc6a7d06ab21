# SPDX-License-Identifier: MIT
"""Communities. Behaviours played:

 1. Misskey: everything is a POST, the token is member `i` of the body. Errors are `{"error": {"code", "kind"}}`: 400 of kind
    client, 401 for a token that it does not know. The same again is another note. Notes newest first, before `untilId`;
    a page may be short, only an empty one is the end.
 2. Lemmy: a login gives a token; a token that it does not know makes a stranger of its owner, whom reads answer with 200.
    Errors are 400 with a word. The same again is another post. Numbered pages, which shift with every new post; what a
    moderator removed (op `remove`) is in none of them, and in the log of moderators.
"""
import secrets

from .base import SettingError, now_ms
from .simple import Simple
from .texts import iso_ms
from .wire import Answer


class Misskey(Simple):
    NAME = "misskey"
    SETTINGS = {"page_max": 100}
    ROUTES = (
        ("POST", r"/api/notes/create", "write", "create"),
        ("POST", r"/api/notes/show", "read", "show"),
        ("POST", r"/api/users/notes", "read", "list"),
        ("POST", r"/api/i", "read", "me"),
    )

    def new_id(self, number):
        return f"9x{number:08d}"

    def account_of(self, request):
        given = request.json()
        return self.account_by_token(given.get("i")) if isinstance(given, dict) else None

    @staticmethod
    def refused(status, code, kind="client"):
        answer = Answer.of_json(status, {"error": {"message": code, "code": code, "kind": kind}})
        answer.credential_refused = status == 401
        return answer

    def _note(self, post):
        return {"id": post.data["id"], "createdAt": iso_ms(post.created_ms), "userId": f"u{post.account.number}",
                "text": post.data.get("text"), "renoteId": post.data.get("renoteId"), "replyId": post.data.get("replyId")}

    def create(self, request):
        account, given = self.account_of(request), request.fields()
        if account is None:
            return self.refused(401, "AUTHENTICATION_FAILED")
        if not given.get("text"):
            return self.refused(400, "INVALID_PARAM")
        data = {"text": self.as_stored(request, given["text"]), "replyId": given.get("replyId")}
        return self.commit(request, account, data, lambda post: Answer.of_json(200, {"createdNote": self._note(post)}))

    def show(self, request):
        post = self.by_id(request.fields().get("noteId"))
        return Answer.of_json(200, self._note(post)) if post else self.refused(400, "NO_SUCH_NOTE")

    def list(self, request):
        account, given = self.account_of(request), request.fields()
        if account is None or given.get("userId") != f"u{account.number}":
            return self.refused(*((401, "AUTHENTICATION_FAILED") if account is None else (400, "NO_SUCH_USER")))
        found = [post for post in self.shown(account) if post.data["id"] < given.get("untilId", "~")]
        size = min(given.get("limit", 10), self.settings["page_max"])
        return Answer.of_json(200, [self._note(post) for post in found[:size]])

    def me(self, request):
        account = self.account_of(request)
        return Answer.of_json(200, {"id": f"u{account.number}"}) if account else self.refused(401, "AUTHENTICATION_FAILED")


class Lemmy(Simple):
    NAME = "lemmy"
    SETTINGS = {"page_max": 50, "show_read_posts": True}
    ROUTES = (
        ("POST", r"/api/v3/user/login", "login", "login"),
        ("POST", r"/api/v3/post", "write", "create"),
        ("GET", r"/api/v3/post", "read", "show"),
        ("GET", r"/api/v3/site", "read", "site"),
        ("GET", r"/api/v3/modlog", "read", "modlog"),
        ("GET", r"/api/v3/user", "read", "list"),
    )

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self._sessions, self._removals = {}, []

    def new_id(self, number):
        return 70 + number

    def secrets(self):
        return super().secrets() + list(self._sessions)

    def account_of(self, request):
        return self._sessions.get(self.bearer(request))

    @staticmethod
    def refused(status, word):
        answer = Answer.of_json(status, {"error": word})
        answer.credential_refused = status == 401
        return answer

    def login(self, request):
        given = request.fields()
        account = self.account_by_token(given.get("password"))
        if account is None or account.name != given.get("username_or_email"):
            return self.refused(401, "incorrect_login")
        token = f"session-{secrets.token_hex(16)}"
        self._sessions[token] = account
        return Answer.of_json(200, {"jwt": token, "registration_created": False, "verify_email_sent": False})

    def _post(self, post):
        data, number = post.data, post.data["id"]
        return {"id": number, "name": data["name"], "body": data.get("body"), "url": data.get("url"), "deleted": False,
                "removed": number in [removed for removed, _ in self._removals], "community_id": data.get("community_id"),
                "published": iso_ms(post.created_ms), "ap_id": f"{self.base_url}/post/{number}"}

    def create(self, request):
        account, given = self.account_of(request), request.fields()
        if account is None:
            return self.refused(401, "incorrect_login")
        if not 3 <= len(given.get("name", "")) <= 200:
            return self.refused(400, "invalid_post_title")
        data = {"name": given["name"], "url": given.get("url"), "body": self.as_stored(request, given.get("body", "")),
                "community_id": given.get("community_id")}
        return self.commit(request, account, data, lambda post: Answer.of_json(200, {"post_view": {"post": self._post(post)}}))

    def show(self, request):
        post = self.by_id(request.query.get("id"))
        return Answer.of_json(200, {"post_view": {"post": self._post(post)}}) if post else self.refused(404, "couldnt_find_post")

    def site(self, request):
        account, user = self.account_of(request), None
        if account:
            shown = {"show_read_posts": self.settings["show_read_posts"], "show_nsfw": True, "show_bot_accounts": True}
            user = {"local_user_view": {"local_user": shown, "person": {"id": account.number}}, "community_blocks": []}
        return Answer.of_json(200, {"site_view": {"site": {"id": 1}}, "my_user": user})

    def modlog(self, request):
        del request
        return Answer.of_json(200, {"removed_posts": [{"mod_remove_post": {"post_id": number, "when_": iso_ms(when_ms)}}
                                                      for number, when_ms in self._removals]})

    def list(self, request):
        account, removed = self.account_of(request), [number for number, _ in self._removals]
        if account is None or not self.settings["show_read_posts"]:  # a stranger sees less than all; here: nothing
            return Answer.of_json(200, {"posts": []})
        found = [post for post in self.shown(account) if post.data["id"] not in removed]
        size = min(int(request.query.get("limit", 10)), self.settings["page_max"])
        start = (int(request.query.get("page", 1)) - 1) * size
        return Answer.of_json(200, {"posts": [{"post": self._post(post)} for post in found[start:start + size]]})

    # -- the outside world --------------------------------------------------------------------------------------

    def op_remove(self, id):
        """A moderator takes a post out of sight."""
        if self.by_id(str(id)) is None:
            raise SettingError(f"{self.NAME} has no post {id!r}")
        self._removals.insert(0, (int(id), now_ms()))
        return {"removed": int(id)}

    def op_forget_sessions(self):
        """Every token is over, as after a change of the password."""
        count = len(self._sessions)
        self._sessions.clear()
        return {"forgotten": count}
