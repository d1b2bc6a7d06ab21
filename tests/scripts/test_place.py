# SPDX-License-Identifier: MIT
"""What nothing leads to is put on the agenda; what has a place, or needs none, is left alone."""
import os

import pytest

from ledger_calls import FOLDER

CH = "blog/main"


def place(ledger, *names):
    keys, arguments = [ledger.key("agenda")], []
    for name in names:
        keys += [ledger.key("delivery", name), ledger.key("waiting", CH), ledger.key("uncertain", CH), ledger.key("channel", CH)]
        arguments += [name, CH]
    with open(os.path.join(FOLDER, "place.lua"), encoding="utf-8") as file:
        return ledger.client.eval(file.read(), len(keys), *keys, *arguments)


def made(ledger, name, state):
    ledger.claim(name, entry=ledger.add(name))
    if state != "claimed":
        ledger.settle(name, state, {"approved": "retry", "uncertain": "no_answer"}.get(state, "refused"))
    return name


@pytest.mark.parametrize("state", ["approved", "claimed", "uncertain"])
def test_what_stands_nowhere_is_due_now(ledger, state):
    name = made(ledger, f"{CH}/a", state)
    before = ledger.row(name), ledger.client.get(ledger.key("lease", name)), ledger.client.hgetall(ledger.key("counts"))
    assert place(ledger, name) == 0, "it has its place"
    kind, member = ("uncertain:" + CH, name) if state == "uncertain" else ("agenda", "delivery:" + name)
    assert ledger.client.zrem(ledger.key(kind), member) == 1
    now = ledger.now()
    assert place(ledger, name) == 1 and now <= ledger.client.zscore(ledger.key(kind), member) <= ledger.now()
    assert place(ledger, name) == 0, "once"
    assert state != "uncertain" or ledger.due("walk:" + CH)
    assert before == (ledger.row(name), ledger.client.get(ledger.key("lease", name)), ledger.client.hgetall(ledger.key("counts")))


def test_what_stands_in_a_list_that_the_agenda_does_not_name_is_due_now(ledger):
    """The agenda is what a script writes last, so half of what it wrote ends in front of it."""
    waits, doubtful = made(ledger, f"{CH}/a", "approved"), made(ledger, f"{CH}/b", "uncertain")
    ledger.client.zadd(ledger.key("waiting", CH), {waits: 1})
    ledger.client.delete(ledger.key("agenda"))
    now = ledger.now()
    assert place(ledger, waits, doubtful) == 2
    assert {member for member, _ in ledger.client.zrange(ledger.key("agenda"), 0, -1, withscores=True)} == {f"channel:{CH}", f"walk:{CH}"}
    assert now <= ledger.due(f"channel:{CH}") <= ledger.now() and now <= ledger.due(f"walk:{CH}") <= ledger.now()
    assert place(ledger, waits, doubtful) == 0, "once"


def test_a_channel_that_is_paused_stays_off_the_agenda(ledger):
    waits = made(ledger, f"{CH}/a", "approved")
    ledger.client.zadd(ledger.key("waiting", CH), {waits: 1})
    ledger.client.delete(ledger.key("agenda"))
    ledger.client.hset(ledger.key("channel", CH), "paused", "a person")
    assert place(ledger, waits) == 0 and not ledger.client.exists(ledger.key("agenda"))


def test_an_agenda_of_another_type_is_left_alone(ledger):
    names = [made(ledger, f"{CH}/a", "approved"), made(ledger, f"{CH}/b", "claimed")]
    ledger.client.delete(ledger.key("agenda"))
    ledger.client.lpush(ledger.key("agenda"), "somebody else's")
    before = ledger.dump()
    assert place(ledger, *names) == 0 and ledger.dump() == before


def test_the_place_that_something_has_is_kept(ledger):
    names = [made(ledger, f"{CH}/a", "approved"), made(ledger, f"{CH}/b", "claimed"), made(ledger, f"{CH}/c", "uncertain")]
    ledger.client.zrem(ledger.key("agenda"), "delivery:" + names[0])
    ledger.client.zadd(ledger.key("waiting", CH), {names[0]: 1})
    ledger.client.zadd(ledger.key("agenda"), {f"channel:{CH}": 7})
    before = ledger.dump()
    assert place(ledger, *names) == 0 and ledger.dump() == before


@pytest.mark.parametrize("state", ["published", "rejected", "held"])
def test_what_is_settled_needs_no_place(ledger, state):
    name = made(ledger, f"{CH}/a", state)
    before = ledger.dump()
    assert place(ledger, name, f"{CH}/never-there") == 0 and ledger.dump() == before


@pytest.mark.parametrize("kind", ["delivery", "waiting", "uncertain"])
def test_keys_of_another_type_are_left_alone(ledger, kind):
    names = [made(ledger, f"{CH}/a", "approved"), made(ledger, f"{CH}/b", "uncertain"), made(ledger, f"{CH}/c", "claimed")]
    for name in names:
        ledger.client.zrem(ledger.key("agenda"), "delivery:" + name)
    spoilt = ledger.key(kind, names[0] if kind == "delivery" else CH)
    ledger.client.delete(spoilt)
    ledger.client.lpush(spoilt, "somebody else's")
    placed = place(ledger, *names)
    assert ledger.due("delivery:" + names[2]), "the others are not hindered"
    assert placed == (1 if kind != "uncertain" else 2)
