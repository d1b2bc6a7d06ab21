# SPDX-License-Identifier: MIT
"""A service of notices behind OAuth 2 (RFC 6749) with refresh tokens of one use. Behaviours played:

 1. POST /token, grant_type=refresh_token: 200 with access_token, expires_in and a new refresh_token. The account's token
    is the first refresh token. The client's id is `app-7734`; with `client_secret` it must authenticate (Basic).
 2. A refresh token that was used before ends the whole grant (RFC 9700, section 4.14.2): from then on everything is
    invalid_grant, until `authorise` makes a new one. `rotate: false`: a refresh token stays the same.
 3. An access token lasts `access_ms`, or `access_uses` requests. `expired_as`: 401 (status_401), 200 with
    `{"ok": false, "error": "token_expired"}` (inside_200), or 200 with a list of errors as GraphQL has it (graphql).
 4. POST /notices with `{"id": .., ..}` is executed each time; GET /notices lists what was, newest first, in one page.
"""
import base64
import secrets
import urllib.parse

from .base import now_ms
from .notices import Notices
from .texts import iso_ms
from .wire import Answer


CLIENT = "app-7734"


class Grants(Notices):
    NAME = "grants"
    SETTINGS = {**Notices.SETTINGS, "client_secret": "", "rotate": True, "access_ms": 3_600_000, "access_uses": 0,
                "expired_as": "status_401"}
    ROUTES = (("POST", r"/token", "login", "token"), ("GET", r"/notices", "read", "list"), *Notices.ROUTES)

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self._access = {}  # token -> [account, end, uses left]
        self._refresh = {}  # token -> account; those that are good
        self._known, self._issued = {}, []
        self.stolen = 0

    def secrets(self):
        return super().secrets() + self._issued

    def add_account(self, channel, token, name="lf"):
        account = super().add_account(channel, token, name)
        self._refresh[token] = self._known[token] = account
        return account

    def _issue(self, kind):
        self._issued.append(f"{kind}-{secrets.token_hex(16)}")
        return self._issued[-1]

    # -- tokens -------------------------------------------------------------------------------------------------

    def _is_client(self, request, fields):
        secret = self.settings["client_secret"]
        if not secret:
            return fields.get("client_id") == CLIENT
        wanted = base64.b64encode(f"{CLIENT}:{urllib.parse.quote(secret, safe='')}".encode()).decode()
        return request.header("authorization") == "Basic " + wanted

    def token(self, request):
        fields = request.fields()
        if not self._is_client(request, fields):
            return Answer.of_json(401, {"error": "invalid_client"})
        given = fields.get("refresh_token", "")
        account = self._refresh.get(given)
        if fields.get("grant_type") != "refresh_token" or account is None:
            if given in self._known:
                self._revoke(self._known[given])
                self.stolen += 1
            return Answer.of_json(400, {"error": "invalid_grant", "error_description": "the token is not valid"})
        return lambda: self._grant(given, account)

    def _revoke(self, account):
        self._refresh = {token: owner for token, owner in self._refresh.items() if owner is not account}
        self._access = {token: entry for token, entry in self._access.items() if entry[0] is not account}

    def _grant(self, given, account):
        with self.lock:
            access = self._issue("at")
            self._access[access] = [account, now_ms() + self.settings["access_ms"], self.settings["access_uses"] or None]
            answer = {"access_token": access, "token_type": "bearer", "expires_in": self.settings["access_ms"] // 1000}
            if self.settings["rotate"]:
                self._refresh.pop(given, None)
                answer["refresh_token"] = self._issue("rt")
                self._refresh[answer["refresh_token"]] = self._known[answer["refresh_token"]] = account
            return Answer.of_json(200, answer)

    def account_of(self, request):
        entry = self._access.get(self.bearer(request))
        return entry[0] if entry else None

    def _signed_in(self, request):
        """The account, or the Answer that refuses the token."""
        entry = self._access.get(self.bearer(request))
        if entry and entry[1] > now_ms() and entry[2] != 0:
            entry[2] = entry[2] - 1 if entry[2] else None
            return entry[0]
        if entry is None and self.bearer(request) not in self._issued:
            return Answer.of_json(401, {"error": "who are you?"})
        answer = {"status_401": Answer.of_json(401, {"error": "expired"}),
                  "inside_200": Answer.of_json(200, {"ok": False, "error": "token_expired"}),
                  "graphql": Answer.of_json(200, {"data": None, "errors": [{"extensions": {"code": "UNAUTHENTICATED"}}]}),
                  }[self.settings["expired_as"]]
        answer.credential_refused = True
        return answer

    # -- notices ------------------------------------------------------------------------------------------------

    def execute(self, request, notice_id=None):
        account = self._signed_in(request)
        return account if isinstance(account, Answer) else lambda: self._commit(request, notice_id)

    def _commit(self, request, notice_id):
        with self.lock:
            body = request.json()
            self.executed.append((request.method, body.get("id"), request.body, now_ms()))
            external_id = f"notice_{len(self.executed)}"
            request.on_commit(external_id)
            return Answer.of_json(200, {"ok": True, "id": external_id})

    def list(self, request):
        account = self._signed_in(request)
        if isinstance(account, Answer):
            return account
        entries = [{"id": f"notice_{number}", "item": item, "at": iso_ms(at)[:19] + "Z"}
                   for number, (_, item, _, at) in enumerate(self.executed, 1)]
        return Answer.of_json(200, {"ok": True, "notices": entries[::-1]})

    # -- the outside world --------------------------------------------------------------------------------------

    def op_expire_access(self):
        for entry in self._access.values():
            entry[1] = 0
        return {"expired": len(self._access)}

    def op_authorise(self, token, channel=None):
        """The owner authorises the client anew; `token` is the first refresh token of it."""
        account = self.account_named(channel)
        self._revoke(account)
        self._refresh[token] = self._known[token] = account
        return {"authorised": True}

    def op_issue(self, channel=None):
        """An access token that somebody else got."""
        access = self._issue("at")
        self._access[access] = [self.account_named(channel), now_ms() + self.settings["access_ms"], None]
        return {"access_token": access}

    def op_grants(self):
        return {"stolen": self.stolen, "good": len(self._refresh)}
