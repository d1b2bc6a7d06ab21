# SPDX-License-Identifier: MIT
"""A MediaWiki as its action API shows it. Behaviours played:

 1. Everything is /api.php; `action` says what. Errors stand in a 200, with the header MediaWiki-API-Error.
 2. A login takes three requests: a token, which belongs to a cookie that comes with it; name, password and that token,
    which gives another cookie; a token for writes. `login_limit` logins per `login_window_ms`: "Failed", in words.
 3. The token for writes belongs to its session: under another one it is `badtoken`. A session that has ended is nobody:
    with assert=user `assertuserfailed`. Sessions last `session_uses` requests (0: for ever).
 4. action=edit with createonly: a title that exists, whoever made it, is `articleexists`. Titles begin with a capital;
    spaces at their ends do not count.
 5. list=usercontribs&ucshow=new: the pages that a user has made, newest first, `uclimit` (500 at most, or
    `page_max`), with `continue.uccontinue`.
 6. prop=revisions and prop=info by title and by page id; a page that is not there is `missing`.
 7. `ratelimited` after `limit_edits` in `limit_window_ms`.
"""
import secrets

from .base import Platform, Post, now_ms, page_as_sent
from .texts import iso_ms
from .wire import Answer

PAGE_MAX = 500
FIRST_ID = 4711


def error(code, info="", status=200):
    answer = Answer.of_json(status, {"error": {"code": code, "info": info or code}}, {"MediaWiki-API-Error": code})
    answer.credential_refused = code in ("badtoken", "assertuserfailed")
    return answer


def title_of(text):
    text = text.replace("_", " ").strip()
    return text[:1].upper() + text[1:]


class MediaWiki(Platform):
    NAME = "mediawiki"
    SETTINGS = {"login_limit": 0, "login_window_ms": 300_000, "session_uses": 0, "page_max": PAGE_MAX, "limit_edits": 0,
                "limit_window_ms": 60_000}

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self._sessions = {}  # cookie -> {account, login, csrf, uses}
        self._issued = []

    def secrets(self):
        return super().secrets() + self._issued

    def route(self, request):
        handlers = {("GET", "query"): ("read", "query"), ("POST", "login"): ("login", "login"),
                    ("POST", "edit"): ("write", "edit")}
        known = handlers.get((request.method, request.query.get("action"))) if request.path == "/api.php" else None
        if known and "list" in request.query:
            known = ("read", "list")
        return (*known, None) if known else ("unrouted", "not_found", None)

    def content(self, request):
        fields = request.fields()
        return [fields.get("text", ""), fields.get("title", "")]

    def rate_limited(self, wait_ms):
        return error("ratelimited", "You've exceeded your rate limit. Please wait some time and try again.")

    # -- sessions -----------------------------------------------------------------------------------------------

    def _issue(self):
        token = secrets.token_hex(16)
        self._issued.append(token)
        return token

    def _session(self, request):
        for pair in request.header("cookie", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == "sim_session" and value in self._sessions:
                return self._sessions[value]
        return None

    def _begin(self, account):
        cookie = self._issue()
        self._sessions[cookie] = {"account": account, "login": self._issue() + "+\\", "csrf": self._issue() + "+\\",
                                  "uses": 0}
        return cookie, self._sessions[cookie]

    def account_of(self, request):
        session = self._session(request)
        return session["account"] if session else None

    def _signed_in(self, request):
        """The session of a request that counts, or None."""
        session = self._session(request)
        limit = self.settings["session_uses"]
        if session is None or session["account"] is None or (limit and session["uses"] >= limit):
            return None
        session["uses"] += 1
        return session

    def login(self, request):
        fields, session = request.fields(), self._session(request)
        user = fields.get("lgname", "")
        if session is None or fields.get("lgtoken") != session["login"]:
            return Answer.of_json(200, {"login": {"result": "WrongToken" if fields.get("lgtoken") else "NeedToken"}})
        granted, _, _ = self.window.take("login " + user, self.settings["login_limit"], self.settings["login_window_ms"])
        if not granted:
            return Answer.of_json(200, {"login": {"result": "Failed", "reason": (
                "You have made too many recent login attempts. Please wait 5 minutes before trying again.")}})
        account = next((a for a in self.accounts if a.name == user.partition("@")[0]), None)
        if account is None or account.token != fields.get("lgpassword"):
            return Answer.of_json(200, {"login": {"result": "Failed", "reason": "Incorrect username or password entered."}})
        cookie, _ = self._begin(account)
        return Answer.of_json(200, {"login": {"result": "Success", "lguserid": account.number, "lgusername": account.name}},
                              {"Set-Cookie": f"sim_session={cookie}; path=/; HttpOnly; SameSite=Lax"})

    def op_end_sessions(self):
        self._sessions.clear()
        return {"ended": True}

    # -- writing ------------------------------------------------------------------------------------------------

    def edit(self, request):
        fields, session = request.fields(), self._signed_in(request)
        if session is None:
            return error("assertuserfailed" if fields.get("assert") == "user" else "badtoken")
        if fields.get("token") != session["csrf"]:
            return error("badtoken", "Invalid CSRF token.")
        title = title_of(fields.get("title", ""))
        if not title or any(c in title for c in "<>[]{}|#"):
            return error("invalidtitle", f'Bad title "{title}".')
        granted, _, end = self.window.take("edit", self.settings["limit_edits"], self.settings["limit_window_ms"])
        if not granted:
            return self.rate_limited(end - now_ms())
        if "createonly" in fields and self._titled(title):
            return error("articleexists", "The article you tried to create has been created already.")
        return lambda: self._commit(request, session["account"], title, fields)

    def _titled(self, title):
        return next((post for post in self.posts.newest_first() if post.data["title"] == title), None)

    def _commit(self, request, account, title, fields):
        with self.lock:
            if self._titled(title):
                return error("articleexists", "The article you tried to create has been created already.")
            post = self._store(account, now_ms(), title, fields.get("text", ""), fields.get("summary", ""))
            post.visible_ms = self.visible_from(request)
            request.on_commit(str(post.id))
            return Answer.of_json(200, {"edit": {
                "new": True, "result": "Success", "pageid": post.id, "title": title, "contentmodel": "wikitext",
                "oldrevid": 0, "newrevid": post.id + 90_000, "newtimestamp": iso_ms(post.created_ms)[:19] + "Z"}})

    def _store(self, account, created_ms, title, text, summary):
        post = Post(FIRST_ID + len(self.posts), account, created_ms, created_ms,
                    {"title": title, "text": text, "summary": summary})
        while self.posts.get(post.id) is not None:
            post.id += 1
        self.posts.add(post)
        return post

    # -- reading ------------------------------------------------------------------------------------------------

    def query(self, request):
        query = request.query
        if query.get("meta") == "tokens" and query.get("type") == "login":
            cookie, session = self._begin(None)
            return Answer.of_json(200, {"query": {"tokens": {"logintoken": session["login"]}}},
                                  {"Set-Cookie": f"sim_session={cookie}; path=/; HttpOnly"})
        session = self._signed_in(request)
        if query.get("assert") == "user" and session is None:
            return error("assertuserfailed", "You are no longer logged in, so the action could not be completed.")
        if query.get("meta") == "tokens":
            return Answer.of_json(200, {"query": {"tokens": {"csrftoken": session["csrf"] if session else "+\\"}}})
        return Answer.of_json(200, {"batchcomplete": True, "query": {"pages": [self._page(query)]}})

    def _page(self, query):
        by_title = "titles" in query
        title = title_of(query.get("titles", ""))
        post = self._titled(title) if by_title else self.posts.get(int(query.get("pageids", "0")))
        if post is None or not post.shown():
            return {"ns": 0, "title": title, "missing": True} if by_title else {"pageid": int(query["pageids"]), "missing": True}
        page = {"pageid": post.id, "ns": 0, "title": post.data["title"], "canonicalurl": f"{self.base_url}/index.php?curid={post.id}"}
        if "revisions" in query.get("prop", ""):
            page["revisions"] = [{"revid": post.id + 90_000, "parentid": 0, "timestamp": iso_ms(post.created_ms)[:19] + "Z",
                                  "comment": post.data["summary"]}]
        return page

    def list(self, request):
        query = request.query
        if query.get("assert") == "user" and self._signed_in(request) is None:
            return error("assertuserfailed", "You are no longer logged in, so the action could not be completed.")
        limit = min(int(query.get("uclimit", "10")), self.settings["page_max"])
        given = query.get("uccontinue")
        below = int(given.rpartition("|")[2]) + 1 if given else None
        own = [post for post in self.posts.newest_first(below) if post.account and post.shown()
               and post.account.name == query.get("ucuser")]
        def cursor(post):
            return f"{iso_ms(post.created_ms)[:19]}|{post.id}"
        following = cursor(own[limit]) if len(own) > limit else None
        chosen, following = page_as_sent(request.directives.get("page"), given, own[:limit], following, cursor)
        value = {"query": {"usercontribs": [
            {"user": post.account.name, "pageid": post.id, "revid": post.id + 90_000, "parentid": 0, "ns": 0,
             "title": post.data["title"], "timestamp": iso_ms(post.created_ms)[:19] + "Z", "comment": post.data["summary"]}
            for post in chosen]}}
        if following is not None:
            value["continue"] = {"uccontinue": following, "continue": "-||"}
        else:
            value["batchcomplete"] = True
        return Answer.of_json(200, value)

    # -- the outside world --------------------------------------------------------------------------------------

    def op_plant(self, count=1, text="history {n}", title="Page {n}", summary="by hand", newest_age_ms=3_600_000,
                 step_ms=60_000, channel=None, foreign=False):
        """Pages that landfall did not make; foreign: by nobody that we know."""
        account, ids = None if foreign else self.account_named(channel), []
        for n in reversed(range(count)):
            ids.append(str(self._store(account, now_ms() - newest_age_ms - n * step_ms, title_of(title.replace("{n}", str(n))),
                                       text.replace("{n}", str(n)), summary).id))
        return {"ids": ids[:100], "count": count}

    def op_delete(self, id):
        return {"deleted": self.posts.remove(int(id)) is not None}

    def op_move(self, id, title):
        self.posts.get(int(id)).data["title"] = title_of(title)
        return {"moved": True}

    def op_list(self, limit=100, channel=None):
        account = self.account_named(channel)
        own = [post for post in self.posts.newest_first() if post.account is account]
        return {"count": len(own), "posts": [{"id": str(post.id), **post.data} for post in own[:limit]]}
