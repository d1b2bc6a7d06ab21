# SPDX-License-Identifier: MIT
"""session.lua: one session for the fleet; whoever renews it, and whoever came too late."""
import os

import pytest

from lib.redis_server import RedisServer
from lib.tree import TOP

SESSION, LOGIN = "lf:{0}:session:bluesky/brand", "lf:{0}:login:bluesky/brand"
FIELDS = ("now", "answer", "rev", "sealed", "begun", "not_before", "failures", "lock_left")


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def db(server):
    db = server.client()
    db.flushall()
    return db


@pytest.fixture
def ask(db):
    with open(os.path.join(TOP, "ledger", "scripts", "session.lua"), encoding="utf-8") as file:
        text = file.read()

    def call(op, token="a 1", *arguments):
        return dict(zip(FIELDS, db.eval(text, 2, SESSION, LOGIN, op, token, *arguments)))
    return call


def test_nothing_is_there(ask, db):
    seen = ask("look")
    assert (seen["answer"], seen["rev"], seen["sealed"], seen["begun"], seen["not_before"], seen["lock_left"]) == (
        "ok", "0", "", "", "0", "0")
    assert not db.exists(SESSION, LOGIN)


def test_one_at_a_time_and_not_for_ever(ask, db):
    assert ask("lock", "a 1", 5000)["answer"] == "ok" and ask("lock", "a 1", 5000)["answer"] == "ok"
    busy = ask("lock", "b 2", 5000)
    assert busy["answer"] == "busy" and 0 < int(busy["lock_left"]) <= 5000
    assert int(ask("look", "b 2")["lock_left"]) > 0 and ask("look", "a 1")["lock_left"] == "0"
    db.pexpire(LOGIN, 0)
    assert ask("lock", "b 2", 5000)["answer"] == "ok"
    assert ask("release", "a 1")["answer"] == "ok" and db.get(LOGIN) == "b 2", "given back by its holder only"


def test_a_session_replaces_only_the_one_that_its_maker_has_seen(ask, db):
    ask("lock", "a 1", 5000)
    assert ask("store", "a 1", 0, "S1") | {"now": 0} == {
        "now": 0, "answer": "ok", "rev": "1", "sealed": "S1", "begun": "", "not_before": "0", "failures": "0", "lock_left": "0"}
    assert not db.exists(LOGIN)
    late = ask("store", "b 2", 0, "S2")
    assert (late["answer"], late["rev"], late["sealed"]) == ("stale", "1", "S1")
    assert ask("store", "a 1", 0, "S1")["answer"] == "stale", "a repeat is told what is there: its own"
    assert ask("store", "c 3", 1, "S3")["rev"] == "2", "without the lock, if it has seen what it replaces"


def test_a_refresh_is_written_down_and_its_end_too(ask):
    assert ask("begin", "a 1", "key-id")["answer"] == "lost"
    ask("lock", "a 1", 5000)
    assert ask("begin", "a 1", "key-id")["begun"] == "key-id"
    failed = ask("fail", "a 1", 1795990000000, 3, 0)
    assert (failed["answer"], failed["begun"], failed["not_before"], failed["failures"]) == ("ok", "", "1795990000000", "3")
    ask("lock", "a 1", 5000)
    ask("begin", "a 1", "key-id")
    assert ask("fail", "a 1", 1, 1, 1)["begun"] == "key-id", "nobody knows how it ended"
    assert ask("fail", "a 1", 2, 2, 0)["answer"] == "lost"
    ask("lock", "a 1", 5000)
    stored = ask("store", "a 1", 0, "S")
    assert (stored["begun"], stored["not_before"], stored["failures"]) == ("", "0", "0")


@pytest.mark.parametrize("rev", ["abc", "-5", "", "01", " 1", "1e3", "9223372036854775807"])
def test_a_number_that_no_store_has_written_counts_as_none(ask, db, rev):
    """Else nobody could replace the session any more, and all of them would log in without end."""
    db.hset(SESSION, mapping={"rev": rev, "sealed": "X"})
    assert ask("look")["rev"] == "0"
    stored = ask("store", "a 1", 0, "S1")
    assert (stored["answer"], stored["rev"], stored["sealed"]) == ("ok", "1", "S1")


def test_a_lock_without_an_end_is_nobodys(ask, db):
    db.set(LOGIN, "somebody's hand")
    assert ask("look")["lock_left"] == "0" and ask("lock", "a 1", 5000)["answer"] == "ok"
    assert db.get(LOGIN) == "a 1" and db.pttl(LOGIN) > 0 and ask("begin", "a 1", "key-id")["answer"] == "ok"


def test_keys_of_the_wrong_type_and_words_that_nobody_knows(ask, db):
    with pytest.raises(Exception, match="no such op"):
        ask("dance")
    db.lpush(SESSION, "x")
    with pytest.raises(Exception, match="WRONGTYPE"):
        ask("store", "a 1", 0, "S")
    assert db.type(SESSION) == "list"
