# SPDX-License-Identifier: MIT
"""OAuth 2 with refresh tokens of one use: renewed once, stored before use, never spent twice."""
import pytest

from lib.fleet import Fleet
from lib.procs import wait_for

CHANNEL, OTHER, FIRST = "grants/brand", "notices/other", "rt-first-0123456789"
SESSION = "lf:{0}:session:" + CHANNEL
# Expired in all forms: 401, an error inside a 200 as one word, or as GraphQL has it.
OVER = ('(.answer.body.error? // "") == "token_expired" or any(.answer.body.errors[]?; (.extensions.code? // "") == "UNAUTHENTICATED") '
        'or (.answer.body.error? // "") == "expired"')
REFRESH = {
    "method": "POST", "url": '.settings.instance + "/token"',
    "headers": 'if any(.credentials[]?; . == "client_secret") then {Authorization: ("Basic " + .hole.client)} else {} end',
    "body": {"form": '{grant_type: "refresh_token", refresh_token: .hole["session.refresh_token"]} + (if any(.credentials[]?; . == '
                     '"client_secret") then {} else {client_id: .hole["secret.client_id"]} end)'}}


def descriptor(repeatable=False):
    return {
        "platform": "grants", "title": "grants", "docs": ["https://grants.example/api"],
        "settings": {"instance": {"type": "origin", "required": True, "help": "The service."}}, "instance": "instance",
        "auth": {"kind": "oauth2", "refresh": REFRESH, "refresh_repeatable": repeatable, "login_limit_ms": 1000,
                 "token": ".answer.body | {token: .access_token, refresh_token: .refresh_token, expires_in: .expires_in}"},
        "item": {"needs": [["content_text"]]}, "tier": "read", "repeats": "harmful",
        "write": {"request": {"method": "POST", "url": '.settings.instance + "/notices"',
                              "body": {"json": "{id: .item.id, text: .item.content_text}"}}, "limit_ms": 1500},
        "accept": [{"status": [200], "if": ".answer.body.ok? == true", "outcome": "committed", "id": ".answer.body.id"},
                   {"if": OVER, "outcome": "session_expired"}],
        "reads": {"listing": {
            "request": {"method": "GET", "url": '.settings.instance + "/notices"'},
            "entries": ".answer.body.notices | map({id, at_ms: (.at | fromdate * 1000), keys: [.item]})",
            "next": "null", "end": ".answer.body.ok? == true", "floor": "none"}},
        "marks": "{keys: [.item.id]}", "times": {"clean_misses": 1, "late_commit_s": 1, "visibility_lag_s": 0},
    }


NOTICES = {**descriptor(), "platform": "notices", "auth": {"kind": "bearer"}, "tier": "blind",
           "accept": [{"status": [200], "outcome": "committed", "id": ".answer.body.id"}]}
del NOTICES["reads"], NOTICES["marks"]


class Grants(Fleet):
    def __init__(self, repeatable=False, client_secret=None, **settings):
        super().__init__([], descriptors=[descriptor(repeatable), NOTICES])
        self.client_secret, self.sim_settings = client_secret, settings

    def __enter__(self):
        super().__enter__()
        url = self.add_fake("g", "grants", CHANNEL, FIRST)
        self.sim.post("settings", instance="g", client_secret=self.client_secret or "", **self.sim_settings)
        other = self.add_fake("n", "notices", OTHER, "tok-other-1234")
        self.add_channel(OTHER, "tok-other-1234", {"instance": other}, pace={"spacing_ms": 0})
        credentials = {"refresh_token": {"file": self.write_secret("refresh", FIRST)},
                       "client_id": {"file": self.write_secret("client", "app-7734")}}
        if self.client_secret:
            credentials["client_secret"] = {"file": self.write_secret("client.secret", self.client_secret)}
        self.add_channel(CHANNEL, "", {"instance": url}, pace={"spacing_ms": 0}, credentials=credentials)
        del self.channels_added[CHANNEL]["credential"]
        self.write_config()
        return self

    def publish(self, item, channel=CHANNEL):
        self.add(channel, self.item(item))
        return self.wait_state(f"{channel}/{item}", "published")

    def refreshes(self):
        return self.sim.report()["instances"].get("g", {"logins": 0})["logins"]

    def grants(self):
        return self.sim.post("posts", instance="g", op="grants")

    def paused(self, why="credential"):
        wait_for(lambda: self.db.hget("lf:{0}:channel:" + CHANNEL, "paused") == why, 20, lambda: f"the pause\n{self.output()}")


@pytest.fixture
def fleet():
    with Grants() as fleet:
        yield fleet


@pytest.mark.parametrize("expired_as", ["status_401", "inside_200", "graphql"])
def test_an_expired_token_is_renewed_once_and_the_same_goes_out_again(expired_as):
    """Every token is good for two requests: each refresh spends the refresh token of the one before."""
    with Grants(access_uses=2, expired_as=expired_as) as fleet:
        fleet.start_worker()
        for number in range(5):
            assert fleet.publish(f"it-{number}")["attempt"] == "1"
        requests = fleet.sim.delivery(CHANNEL + "/it-2")["requests"]
        assert len(requests) == 2 and requests[0]["body_sha256"] == requests[1]["body_sha256"], requests
        assert fleet.refreshes() == 3 and fleet.grants() == {"stolen": 0, "good": 1}
        fleet.check_judge(**{f"{CHANNEL}/it-{number}": 1 for number in range(5)})


def test_a_confidential_client_proves_who_it_is():
    with Grants(client_secret="s:ecret/+%") as fleet:
        fleet.start_worker()
        fleet.publish("it-1")


def test_a_fleet_refreshes_once(fleet):
    """Three workers at once, and they go on with what one of them got, a reconciler too."""
    for number in range(3):
        fleet.start_worker(name=f"w-{number}")
    fleet.start_reconciler()
    fleet.sim.fault("commit_then_close", "g", on={"delivery": "it-3"})
    names = fleet.add_many(CHANNEL, [f"it-{number}" for number in range(12)])
    fleet.wait_states(names, "published")
    assert fleet.refreshes() == 1 and fleet.row(CHANNEL + "/it-3")["source"] == "read_back"
    fleet.sim.post("posts", instance="g", op="expire_access")
    names = fleet.add_many(CHANNEL, [f"later-{number}" for number in range(12)])
    fleet.wait_states(names, "published")
    assert fleet.refreshes() == 2 and fleet.grants()["stolen"] == 0


def test_a_token_that_is_over_inside_a_200_is_renewed_while_reading(fleet):
    fleet.sim.post("settings", instance="g", expired_as="inside_200")
    fleet.sim.fault("commit_then_close", "g", on={"kind": "write"})
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.run_worker()
    fleet.sim.post("posts", instance="g", op="expire_access")
    fleet.start_reconciler()
    assert fleet.wait_state(CHANNEL + "/it-1", "published")["source"] == "read_back"
    assert fleet.refreshes() == 2


@pytest.mark.parametrize("status, kept", [(500, True), (401, False)])
def test_a_refresh_that_fails_parks_the_account_and_no_other(fleet, status, kept):
    """500: tried again later with the same token, no attempt used up. 401: a person. The other account goes on."""
    worker = fleet.start_worker()
    fleet.publish("it-1")
    fleet.sim.post("posts", instance="g", op="expire_access")
    fleet.sim.fault("status", "g", on={"kind": "login"}, status=status, times=-1, body='{"error": "no"}')
    fleet.add(CHANNEL, fleet.item("it-2"))
    if kept:
        wait_for(lambda: fleet.db.hget(SESSION, "not_before"), 10, "a wait")
    else:
        fleet.paused()
        wait_for(lambda: worker.stderr().count("channel.paused") == 1, 10, "one alert")
        assert "authorise the client anew" in worker.stderr()
    fleet.publish("goes-on", OTHER)
    row = wait_for(lambda: fleet.state(CHANNEL + "/it-2") == "approved" and fleet.row(CHANNEL + "/it-2"), 10, "it waits")
    assert row.get("tries", "0") == "0" and "in_doubt" not in row
    assert fleet.grants() == {"stolen": 0, "good": 1}


@pytest.mark.parametrize("point, refreshes", [("after_session", 1), ("after_login", 1)])
def test_a_new_refresh_token_is_stored_before_it_is_used(fleet, point, refreshes):
    """A worker is killed between the refresh and the first use of what it brought. Stored: the next goes on with it. Not
    stored: the token may be spent, so nobody sends it again, and a person is told what to do."""
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.start_worker(crash_at=point).wait(20)
    assert fleet.refreshes() == 1 and fleet.db.hexists(SESSION, "sealed") == (point == "after_session")
    assert bool(fleet.db.hget(SESSION, "begun")) == (point == "after_login")
    fleet.db.delete("lf:{0}:login:" + CHANNEL)  # its end has come
    worker = fleet.start_worker()
    fleet.add(CHANNEL, fleet.item("it-2"))
    if point == "after_session":
        fleet.wait_state(CHANNEL + "/it-2", "published")
    else:
        fleet.paused()
        wait_for(lambda: "its token may be spent: authorise the client anew" in worker.stderr(), 10, "the alert")
    assert fleet.refreshes() == refreshes and fleet.grants()["stolen"] == 0


def test_an_answer_that_is_lost_is_not_asked_for_again_and_a_new_credential_helps(fleet):
    """The refresh was executed, nobody heard it. A second use of the token would end the grant."""
    fleet.sim.fault("commit_then_close", "g", on={"kind": "login"})
    fleet.add(CHANNEL, fleet.item("it-1"))
    worker = fleet.start_worker()
    fleet.paused()
    wait_for(lambda: worker.stderr().count("channel.paused") == 1, 10, "one alert")
    assert fleet.refreshes() == 1 and fleet.grants()["stolen"] == 0
    fleet.sim.post("posts", instance="g", op="authorise", token="rt-second-0123456789")
    fleet.write_secret("refresh", "rt-second-0123456789\n")
    worker.send_signal(1)
    fleet.wait_state(CHANNEL + "/it-1", "published")
    assert fleet.grants()["stolen"] == 0


def test_a_refresh_that_never_left_is_sent_again(fleet):
    """Nothing was spent: the token is as good as before."""
    url = fleet.channels_added[CHANNEL]["settings"]["instance"]
    fleet.channels_added[CHANNEL]["settings"]["instance"] = "http://127.0.0.1:1"
    fleet.write_config()
    fleet.add(CHANNEL, fleet.item("it-1"))
    worker = fleet.start_worker()
    wait_for(lambda: fleet.db.hget(SESSION, "not_before"), 10, "a wait")
    assert not fleet.db.hget(SESSION, "begun") and worker.stop() == 0
    fleet.channels_added[CHANNEL]["settings"]["instance"] = url
    fleet.write_config()
    fleet.db.hdel(SESSION, "not_before")
    fleet.start_worker()
    fleet.publish("it-2")


def test_where_the_token_stays_the_same_a_lost_answer_is_asked_for_again():
    with Grants(repeatable=True, rotate=False) as fleet:
        fleet.sim.fault("commit_then_close", "g", on={"kind": "login"})
        fleet.add(CHANNEL, fleet.item("it-1"))
        worker = fleet.start_worker()
        wait_for(lambda: fleet.db.hget(SESSION, "not_before"), 10, "a wait")
        assert worker.stop() == 0
        fleet.db.hdel(SESSION, "not_before")
        fleet.start_worker()
        fleet.publish("it-2")
        assert fleet.refreshes() == 2


def test_an_access_token_alone_does_as_a_bearer(fleet):
    """Somebody else renews it; expired it pauses the channel."""
    fleet.run_worker()
    token = fleet.sim.post("posts", instance="g", op="issue")["access_token"]
    del fleet.channels_added[CHANNEL]["credentials"]
    fleet.channels_added[CHANNEL]["credential"] = {"file": fleet.write_secret("access", token)}
    fleet.write_config()
    fleet.start_worker()
    fleet.publish("it-1")
    fleet.sim.post("posts", instance="g", op="expire_access")
    fleet.add(CHANNEL, fleet.item("it-2"))
    fleet.paused()
    assert fleet.refreshes() == 0


def test_a_probe_uses_the_fleets_session_and_spends_no_token(fleet):
    fleet.start_worker()
    fleet.publish("it-1")
    probe = fleet.start("landfall", "platform", "probe", CHANNEL, "--config", fleet.config_path)
    assert probe.wait(20) == 0, probe.stderr() + probe.stdout()
    fleet.db.delete(SESSION)
    probe = fleet.start("landfall", "platform", "probe", CHANNEL, "--config", fleet.config_path)
    assert probe.wait(20) == 2 and "only the fleet renews it" in probe.stderr() + probe.stdout()
    assert fleet.refreshes() == 1 and fleet.grants()["stolen"] == 0


def test_a_dry_run_spends_no_token_either(fleet):
    fleet.sim.fault("commit_then_close", "g", on={"kind": "write"})
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.run_worker()
    fleet.sim.post("posts", instance="g", op="expire_access")
    before = fleet.db.hgetall(SESSION)
    fleet.start_reconciler("drain", "--dry-run").wait(20)
    assert fleet.refreshes() == 1 and fleet.db.hgetall(SESSION) == before


def test_what_redis_does_not_take_is_stored_when_it_does(fleet):
    """The refresh has happened and the ledger takes no writes: nothing is sent before it has the new token."""
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.sim.fault("hold", "g", on={"kind": "login"})
    worker = fleet.start_worker()
    fleet.sim.wait("holding")
    fleet.db.config_set("min-replicas-to-write", "1")
    fleet.sim.release()
    wait_for(lambda: "session.unasked" in worker.stderr(), 10, "the ledger's refusal")
    assert not fleet.db.hexists(SESSION, "sealed")
    fleet.db.config_set("min-replicas-to-write", "0")
    wait_for(lambda: fleet.db.hexists(SESSION, "sealed"), 10, "the session in the ledger")
    fleet.wait_state(CHANNEL + "/it-1", "published")
    assert fleet.refreshes() == 1 and fleet.grants() == {"stolen": 0, "good": 1}


def test_a_ledger_that_was_set_back_brings_no_spent_token_back(fleet):
    """A worker that lives holds the newer one, and uses that."""
    fleet.start_worker()
    fleet.publish("it-1")
    backup = fleet.db.hgetall(SESSION)
    for number in (2, 3):
        fleet.sim.post("posts", instance="g", op="expire_access")
        if number == 3:
            fleet.db.delete(SESSION)
            fleet.db.hset(SESSION, mapping=backup)
        fleet.publish(f"it-{number}")
    assert fleet.refreshes() == 3 and fleet.grants() == {"stolen": 0, "good": 1}
