# SPDX-License-Identifier: MIT
"""One session for the fleet: few logins, sealed in Redis, shared by workers and reconcilers, whoever dies."""
import pytest

from lib.canary import forms
from lib.fleet import UNPACED, Fleet
from lib.procs import wait_for

CHANNEL = "bluesky/brand"
SESSION, LOCK = "lf:{0}:session:" + CHANNEL, "lf:{0}:login:" + CHANNEL
PASSWORD = "Zq7bluesky-app-password"


@pytest.fixture
def fleet():
    with Fleet(["bluesky"], channel=dict(UNPACED), secrets={"bluesky": PASSWORD}) as fleet:
        yield fleet


def logins(fleet):
    return fleet.sim.report()["instances"].get("bluesky", {"logins": 0})["logins"]


def publish(fleet, item):
    fleet.add(CHANNEL, fleet.item(item))
    return fleet.wait_state(f"{CHANNEL}/{item}", "published")


def test_a_fleet_and_its_restarts_log_in_once(fleet):
    """Three workers, a reconciler, and each of them again: within a quota of three logins, and with one."""
    fleet.sim.post("settings", instance="bluesky", login_limit=3)
    items = [f"it-{number}" for number in range(12)]
    fleet.sim.fault("commit_then_close", "bluesky", on={"delivery": "it-3"})
    workers = [fleet.start_worker(name=f"first-{number}") for number in range(3)]
    reconciler = fleet.start_reconciler()
    fleet.add_many(CHANNEL, items[:6])
    fleet.wait_states([f"{CHANNEL}/{item}" for item in items[:6]], "published")
    workers[0].kill()
    assert [worker.stop() for worker in workers[1:]] == [0, 0] and reconciler.stop() == 0
    for number in range(3):
        fleet.start_worker(name=f"second-{number}")
    fleet.start_reconciler()
    fleet.add_many(CHANNEL, items[6:])
    fleet.wait_states([f"{CHANNEL}/{item}" for item in items[6:]], "published")
    assert logins(fleet) == 1
    fleet.check_judge(**{f"{CHANNEL}/{item}": 1 for item in items})


def test_too_many_logins_park_the_account_for_the_whole_fleet(fleet):
    """A 429 on a login holds for everybody, for as long as it says, and uses up no attempt."""
    fleet.sim.fault("rate_limited", "bluesky", on={"kind": "login"}, times=-1, form="native", wait_s=600)
    fleet.add_many(CHANNEL, ["one", "two", "three"])
    workers = [fleet.start_worker(name=f"w-{number}") for number in range(2)]
    wait_for(lambda: fleet.db.hget(SESSION, "not_before"), 10, "the wait in the ledger")
    wait_for(lambda: fleet.db.hget("lf:{0}:channel:" + CHANNEL, "blocked_until"), 10, "the block")
    left_ms = int(fleet.db.hget(SESSION, "not_before")) - fleet.db.time()[0] * 1000
    assert 500_000 < left_ms <= 601_000
    assert [worker.stop() for worker in workers] == [0, 0]
    fleet.db.hdel("lf:{0}:channel:" + CHANNEL, "blocked_until")  # not even a process that knows of no block logs in
    fleet.add(CHANNEL, fleet.item("four"))
    fleet.start_worker()
    wait_for(lambda: fleet.db.hget("lf:{0}:channel:" + CHANNEL, "blocked_until"), 10, "the block again")
    assert logins(fleet) == 1
    for item in ("one", "two", "three", "four"):
        row = fleet.row(f"{CHANNEL}/{item}")
        assert row["state"] == "approved" and row.get("tries", "0") == "0", row


@pytest.mark.parametrize("point", ["after_login", "after_session"])
def test_whoever_dies_while_logging_in_delays_the_others_and_no_more(fleet, point):
    """Nothing of a session was stored: the lock ends by itself. It was stored: it is used by the next."""
    fleet.add(CHANNEL, fleet.item("it-1"))
    fleet.start_worker(crash_at=point).wait(20)
    assert fleet.row(CHANNEL + "/it-1")["state"] == "claimed"
    if point == "after_login":
        assert fleet.db.pttl(LOCK) > 0 and not fleet.db.hexists(SESSION, "sealed")
        fleet.db.pexpire(LOCK, 300)  # its end has come
    else:
        assert not fleet.db.exists(LOCK) and fleet.db.hget(SESSION, "rev") == "1"
    fleet.start_worker()
    publish(fleet, "it-2")
    assert logins(fleet) == (2 if point == "after_login" else 1)


def tampered(sealed):
    return {"a byte": sealed[:60] + ("A" if sealed[60] != "A" else "B") + sealed[61:], "cut": sealed[:-5], "empty": "",
            "another version": "2" + sealed[1:], "somebody's hand": "hello", "another key": "1." + "0" * 32 + sealed[34:]}


@pytest.mark.parametrize("how", tampered("x" * 80))
def test_a_seal_that_does_not_open_is_ignored_with_one_warning(fleet, how):
    worker = fleet.start_worker()
    publish(fleet, "it-1")
    assert worker.stop() == 0
    fleet.db.hset(SESSION, "sealed", tampered(fleet.db.hget(SESSION, "sealed"))[how])
    worker = fleet.start_worker()
    publish(fleet, "it-2")
    publish(fleet, "it-3")
    assert worker.stderr().count("session.ignored") == 1 and logins(fleet) == 2
    assert fleet.db.hget(SESSION, "rev") == "2"


def test_a_record_of_the_wrong_type_stops_nobody_else(fleet):
    """Somebody's hand: nothing is concluded, nothing is sent without a session, and it goes on when the key is gone."""
    fleet.db.rpush(SESSION, "x")
    fleet.add(CHANNEL, fleet.item("it-1"))
    worker = fleet.start_worker()
    wait_for(lambda: "session.unasked" in worker.stderr(), 10, "the warning")
    assert logins(fleet) == 0
    fleet.db.delete(SESSION)
    fleet.wait_state(CHANNEL + "/it-1", "published")
    assert logins(fleet) == 1


@pytest.mark.parametrize("record", [{"rev": "abc"}, {"not_before": str(2**63 - 1)}, {"not_before": str(-2**63), "failures": "-9"}])
def test_numbers_of_somebodys_hand_cost_one_login_and_no_wait(fleet, record):
    """Also a time that was written down while the server's clock had leapt."""
    fleet.db.hset(SESSION, mapping={"sealed": "hello", "rev": "1", **record})
    fleet.start_worker()
    row = publish(fleet, "it-1")
    publish(fleet, "it-2")
    assert logins(fleet) == 1 and row["attempt"] == "1"


def test_another_credential_drops_the_session(fleet):
    worker = fleet.start_worker()
    publish(fleet, "it-1")
    assert worker.stop() == 0
    fleet.sim.post("accounts", instance="bluesky", channel="bluesky/new", token="another-password", username="lf2")
    fleet.secrets["bluesky"] = "another-password"
    fleet.channel_extra["bluesky"] = {"settings_extra": {"identifier": "lf2.example"}, **UNPACED["bluesky"]}
    fleet.write_config()
    worker = fleet.start_worker()
    publish(fleet, "it-2")
    assert "sealed under another credential" in worker.stderr() and logins(fleet) == 2


def test_what_lies_in_redis_names_no_token(fleet):
    """Every key and value of the ledger, with the session in use: no password, no token, in no common form."""
    worker = fleet.start_worker()
    publish(fleet, "it-1")
    fleet.sim.post("posts", instance="bluesky", op="expire_access")
    publish(fleet, "it-2")
    assert fleet.db.hget(SESSION, "rev") == "2"
    text = worker.stderr() + "".join(f"{key} {everything_of(fleet.db, key)}" for key in fleet.db.scan_iter("*"))
    for secret in (PASSWORD, "eyJ", "access-", "refresh-"):  # what the fake's tokens are made of
        for form in forms(secret) if secret == PASSWORD else (secret,):
            assert (form if isinstance(form, str) else form.decode("latin-1")) not in text, secret


def everything_of(db, key):
    kind = db.type(key)
    return {"hash": db.hgetall, "string": db.get, "set": db.smembers, "stream": db.xrange, "list": lambda k: db.lrange(k, 0, -1),
            "zset": lambda k: db.zrange(k, 0, -1, withscores=True)}[kind](key)


def test_an_answer_to_an_earlier_session_drops_no_later_one(fleet):
    """Several requests are in flight when the session ends: one login, however many of them say so."""
    fleet.config_extra["worker"] = {"slots": 16}
    fleet.write_config()
    fleet.start_worker()
    publish(fleet, "it-0")
    fleet.sim.post("posts", instance="bluesky", op="expire_access")
    items = [f"it-{number}" for number in range(1, 9)]
    fleet.add_many(CHANNEL, items)
    fleet.wait_states([f"{CHANNEL}/{item}" for item in items], "published")
    assert logins(fleet) == 2
    for item in items:
        assert fleet.row(f"{CHANNEL}/{item}")["attempt"] == "1"
