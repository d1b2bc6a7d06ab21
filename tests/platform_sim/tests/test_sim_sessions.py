# SPDX-License-Identifier: MIT
"""Platforms with sessions as played: one test for each behaviour that mediawiki.py and grants.py list."""
import base64
import urllib.parse

import pytest

from platform_sim.client import SimulatorProcess
from platform_sim.grants import CLIENT
from simhttp import Account, call

INSTANCES = (
    {"name": "k", "platform": "mediawiki", "channel": "mediawiki/brand", "token": "bot-pass-1"},
    {"name": "g", "platform": "grants", "channel": "grants/brand", "token": "rt-first-1"},
)
EXPIRED = {"status_401": (401, {"error": "expired"}), "inside_200": (200, {"ok": False, "error": "token_expired"}),
           "graphql": (200, {"data": None, "errors": [{"extensions": {"code": "UNAUTHENTICATED"}}]})}


@pytest.fixture(scope="module")
def running():
    with SimulatorProcess(INSTANCES) as simulator:
        yield simulator


class Wiki:
    def __init__(self, sim):
        self.url, self.cookie = sim.urls["k"] + "/api.php?", ""

    def ask(self, method="GET", fields=None, **query):
        body = urllib.parse.urlencode(fields) if fields else None
        headers = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded"}
        reply = call(method, self.url + urllib.parse.urlencode(query), headers, body)
        if "Set-Cookie" in reply.headers:
            self.cookie = reply.headers["Set-Cookie"].split(";")[0]
        return reply.json

    def log_in(self, password="bot-pass-1"):
        token = self.ask(action="query", meta="tokens", type="login")["query"]["tokens"]["logintoken"]
        answer = self.ask("POST", {"lgname": "lf@bot", "lgpassword": password, "lgtoken": token}, action="login")["login"]
        if answer["result"] == "Success":
            self.csrf = self.ask(action="query", meta="tokens", **{"assert": "user"})["query"]["tokens"]["csrftoken"]
        return answer

    def edit(self, title, summary="s", **more):
        fields = {"title": title, "text": "t https://blog.example/p/1", "summary": summary, "createonly": 1, "assert": "user",
                  "token": self.csrf, **more}
        return self.ask("POST", fields, action="edit")


@pytest.fixture
def wiki(sim):
    wiki = Wiki(sim)
    assert wiki.log_in()["result"] == "Success"
    return wiki


def test_a_login_of_three_requests_and_its_quota(sim):
    assert Wiki(sim).log_in("wrong") == {"result": "Failed", "reason": "Incorrect username or password entered."}
    assert Wiki(sim).ask("POST", {"lgname": "lf@bot", "lgpassword": "bot-pass-1", "lgtoken": "x"}, action="login") == {
        "login": {"result": "WrongToken"}}
    sim.post("settings", instance="k", login_limit=2)
    answers = [Wiki(sim).log_in() for _ in range(2)]
    assert [answer["result"] for answer in answers] == ["Success", "Failed"] and "too many" in answers[1]["reason"]


def test_the_token_of_writes_belongs_to_its_session(sim, wiki):
    other = Wiki(sim)
    other.log_in()
    other.csrf, wiki.csrf = wiki.csrf, other.csrf
    assert wiki.edit("One")["error"]["code"] == "badtoken"
    sim.post("posts", instance="k", op="end_sessions")
    assert wiki.edit("One")["error"]["code"] == "assertuserfailed"
    assert wiki.ask(action="query", list="usercontribs", **{"assert": "user"})["error"]["code"] == "assertuserfailed"


def test_a_session_of_few_requests(sim, wiki):
    sim.post("settings", instance="k", session_uses=2)
    assert [("edit" if "edit" in answer else answer["error"]["code"]) for answer in (wiki.edit("A"), wiki.edit("B"))] == [
        "edit", "assertuserfailed"]


def test_createonly(sim, wiki):
    assert wiki.edit("one")["edit"]["title"] == "One"
    assert wiki.edit(" One ")["error"]["code"] == "articleexists" and wiki.edit("<x>")["error"]["code"] == "invalidtitle"
    sim.post("posts", instance="k", op="plant", title="Theirs", foreign=True)
    assert wiki.edit("Theirs")["error"]["code"] == "articleexists"
    assert sim.delivery("mediawiki/brand/1")["commits"] == 1


def test_pages_made_and_pages_read(sim, wiki):
    sim.post("settings", instance="k", page_max=2)
    ids = [wiki.edit(f"Page {number}", f"key-{number}")["edit"]["pageid"] for number in range(3)]
    query = {"action": "query", "list": "usercontribs", "ucshow": "new", "uclimit": 500, "ucuser": "lf"}
    first = wiki.ask(**query)
    second = wiki.ask(**query, uccontinue=first["continue"]["uccontinue"])
    seen = first["query"]["usercontribs"] + second["query"]["usercontribs"]
    assert [entry["pageid"] for entry in seen] == ids[::-1] and "continue" not in second
    page = wiki.ask(action="query", prop="revisions|info", titles="page 1")["query"]["pages"][0]
    assert page["pageid"] == ids[1] and page["revisions"][0]["comment"] == "key-1"
    sim.post("posts", instance="k", op="delete", id=str(ids[1]))
    assert wiki.ask(action="query", prop="info", pageids=ids[1])["query"]["pages"] == [{"pageid": ids[1], "missing": True}]


def test_too_many_edits(sim, wiki):
    sim.post("settings", instance="k", limit_edits=1)
    assert "edit" in wiki.edit("A") and wiki.edit("B")["error"]["code"] == "ratelimited"


class Client(Account):
    def refresh(self, token, secret=None, **more):
        fields = {"grant_type": "refresh_token", "refresh_token": token, **({} if secret else {"client_id": CLIENT}), **more}
        headers = {"Content_Type": "application/x-www-form-urlencoded"}
        if secret:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{CLIENT}:{secret}".encode()).decode()
        reply = self.post("/token", urllib.parse.urlencode(fields), **headers)
        return reply.status, reply.json


@pytest.fixture
def client(sim):
    return Client(sim.urls["g"])


def test_tokens_rotate_and_a_second_use_ends_the_grant(sim, client):
    status, first = client.refresh("rt-first-1")
    assert status == 200 and first["expires_in"] == 3600
    assert client.refresh(first["refresh_token"])[0] == 200
    assert client.refresh("rt-first-1") == (400, {"error": "invalid_grant", "error_description": "the token is not valid"})
    assert client.refresh(first["refresh_token"])[0] == 400
    assert sim.post("posts", instance="g", op="grants") == {"stolen": 2, "good": 0}
    sim.post("posts", instance="g", op="authorise", token="rt-again")
    assert client.refresh("rt-again")[0] == 200


def test_a_token_that_stays_the_same(sim, client):
    sim.post("settings", instance="g", rotate=False)
    assert [client.refresh("rt-first-1")[0] for _ in range(2)] == [200, 200]


def test_clients(sim, client):
    assert client.refresh("rt-first-1", client_id="another") == (401, {"error": "invalid_client"})
    sim.post("settings", instance="g", client_secret="secret")
    assert client.refresh("rt-first-1")[0] == 401 and client.refresh("rt-first-1", "secret")[0] == 200


@pytest.mark.parametrize("expired_as", EXPIRED)
def test_how_an_access_token_ends(sim, client, expired_as):
    sim.post("settings", instance="g", access_uses=1, expired_as=expired_as)
    bearer = {"Authorization": "Bearer " + client.refresh("rt-first-1")[1]["access_token"]}
    assert call("POST", sim.urls["g"] + "/notices", bearer, {"id": "1"}).json == {"ok": True, "id": "notice_1"}
    reply = call("GET", sim.urls["g"] + "/notices", bearer)
    assert (reply.status, reply.json) == EXPIRED[expired_as]
    assert call("GET", sim.urls["g"] + "/notices", {"Authorization": "Bearer no"}).status == 401


def test_the_list_of_notices(sim, client):
    bearer = {"Authorization": "Bearer " + client.refresh("rt-first-1")[1]["access_token"]}
    for item in ("1", "2"):
        call("POST", sim.urls["g"] + "/notices", bearer, {"id": item})
    assert [entry["item"] for entry in call("GET", sim.urls["g"] + "/notices", bearer).json["notices"]] == ["2", "1"]
