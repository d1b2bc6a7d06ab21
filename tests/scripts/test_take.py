# SPDX-License-Identifier: MIT
"""take: due work goes to one worker; what died comes back; what cannot be worked blocks nobody."""
import pytest

from ledger_calls import HOUR

D = "blog/main/a"
CH = "blog/main"
T = "t" * 16


def pairs(answer, skip=2):
    return dict(zip(answer[skip::2], answer[skip + 1::2]))


def fill(ledger, count, **policy):
    """`count` deliveries in the channel's waiting list, oldest first."""
    names = [f"{CH}/{n:02}" for n in range(count)]
    for n, name in enumerate(names):
        ledger.claim(name, entry=ledger.add(name), approved_at=1000 + n, hold_back="channel_full", **policy)
    assert ledger.waiting(CH) == names
    return names


@pytest.fixture
def due(ledger):
    ledger.submit(D)
    ledger.make_due(D)
    return ledger


def test_work_has_all_that_is_needed_to_render_and_claim(due):
    answer = due.take(D)
    row = due.row(D)
    assert answer[:2] == ["work", "agenda"]
    assert pairs(answer) == {"content": f"item of {D}", "content_hash": "c" * 32, "approved_at": row["approved_at"], "gen": "0",
                             "not_before": "0", "not_after": "0", "dated": "0", "attempt": "0"}
    assert row["taken"] == "1" and due.due("delivery:" + D) == due.answered_at + 30000


def test_nothing_is_handed_out_twice(due):
    score = due.due("delivery:" + D)
    assert due.takes([(D, "agenda", score)] * 2)[1][0] == "moved", "not in one call either"
    before = due.dump()
    assert due.take(D, score=score) == ["moved", str(due.due("delivery:" + D))]
    assert due.take(D) == ["moved", str(due.due("delivery:" + D))], "not due yet"
    assert due.dump() == before
    due.make_due(D)
    assert due.take(D, score=score - 5000)[0] == "moved", "due again, but not what was seen"


def test_a_taker_that_dies_delays_by_half_a_minute_and_five_times_is_poison(due):
    for taken in range(1, 6):
        assert due.take(D)[0] == "work" and due.row(D)["taken"] == str(taken)
        due.make_due(D)
    assert due.take(D) == ["held", "poison"] and due.state(D) == ("held", "poison") and due.due("delivery:" + D) is None


def test_poison_in_doubt_is_looked_for(due):
    due.client.hset(due.key("delivery", D), mapping={"taken": 5, "in_doubt": "1:ffffffff", "attempt": 1})
    assert due.take(D) == ["uncertain"] and due.state(D) == ("uncertain", "poison_in_doubt") and len(due.journal()) == 1
    assert due.due("delivery:" + D) is None and due.due("walk:" + CH) is not None


@pytest.mark.parametrize("epoch, row, state", [
    ({"run_id": "THIS"}, {}, "held"), ({"first_run_id": "THIS"}, {}, "held"), ({"first_run_id": "OTHER"}, {}, "uncertain"),
    ({"run_id": "OTHER", "first_run_id": "THIS"}, {}, "uncertain"), ({"run_id": "THIS", "rewound_at": "AFTER"}, {}, "uncertain"),
    ({"run_id": "THIS", "rewound_at": "BEFORE"}, {}, "held"), ({"run_id": "THIS", "rewound_at": "x"}, {}, "held"),
    ({"run_id": "THIS", "rewound_at": "AFTER"}, {"cleared_at": "AFTER"}, "held"),
    ({"run_id": "OTHER"}, {"harmless": "1"}, "held")])
def test_poison_that_a_ledger_that_was_set_back_may_have_sent_is_looked_for(due, epoch, row, state):
    """Also where nobody has claimed anything since, so that the ledger does not know of it yet."""
    approved_at = int(due.row(D)["approved_at"])
    words = {"THIS": due.client.info("server")["run_id"], "OTHER": "2" * 40, "AFTER": approved_at + 1, "BEFORE": approved_at - 1}
    due.client.hset(due.key("epoch"), mapping={name: words.get(value, value) for name, value in epoch.items()})
    due.client.hset(due.key("delivery", D), mapping={"taken": 5, **{k: words.get(v, v) for k, v in row.items() if k != "harmless"}})
    assert due.take(D, **{k: v for k, v in row.items() if k == "harmless"})[0] == state
    assert due.state(D) == (state, "poison" if state == "held" else "poison_in_doubt")
    assert due.row(D).get("in_doubt") == (None if state == "held" else "rewound")


def test_in_doubt_the_frozen_request_comes_along(due):
    due.client.hset(due.key("delivery", D), mapping={"in_doubt": "1:ffffffff", "attempt": 1, "key": "k", "body_hash": "h"})
    due.client.hset(due.key("request", D), "frozen", "old bytes")
    assert pairs(due.take(D)).items() >= {"in_doubt": "1:ffffffff", "frozen": "old bytes", "key": "k", "body_hash": "h"}.items()


# ---- claimed

@pytest.fixture
def claimed(due):
    due.claim(D, token=T)
    due.make_due(D)
    return due


def test_claimed_with_a_lease_is_left_until_it_ends(claimed):
    answer = claimed.take(D)
    end = claimed.due("delivery:" + D)
    assert answer == ["moved", str(end)] and 59000 < end - claimed.answered_at <= 60000
    assert claimed.state(D) == ("claimed", "sending")


@pytest.mark.parametrize("harmless", [False, True])
@pytest.mark.parametrize("lease", [None, "w2 2 " + "u" * 16])
def test_claimed_without_its_own_lease_is_uncertain_never_sendable(claimed, lease, harmless):
    claimed.client.delete(claimed.key("lease", D))
    if lease:
        claimed.client.set(claimed.key("lease", D), lease, px=60000)
    commit_by = claimed.row(D)["commit_by"]
    assert claimed.take(D, harmless=harmless) == ["uncertain"]
    row = claimed.row(D)
    assert (row["state"], row["reason"], row["commit_by"]) == ("uncertain", "lease_lost", commit_by)
    assert row.get("in_doubt") == (None if harmless else "1:tttttttt")
    assert claimed.due("delivery:" + D) is None and claimed.due("walk:" + CH) == claimed.answered_at
    assert len(claimed.journal()) == 1 and claimed.lease(D) == lease
    before = claimed.dump(without=["agenda"])
    assert claimed.take(D, score=1)[0] == "removed" and claimed.dump(without=["agenda"]) == before


def test_a_lease_without_an_end_counts_until_the_attempt_cannot_commit(claimed):
    claimed.client.persist(claimed.key("lease", D))
    assert claimed.take(D) == ["moved", claimed.row(D)["commit_by"]]
    claimed.client.hset(claimed.key("delivery", D), "commit_by", 1)
    claimed.make_due(D)
    assert claimed.take(D) == ["uncertain"]


# ---- leftovers

@pytest.mark.parametrize("state", ["published", "rejected", "held", "uncertain", None])
def test_members_that_were_left_over_go(due, state):
    if state:
        due.settle(D, state, "confirmed")
    else:
        due.client.delete(due.key("delivery", D))
    due.make_due(D)
    assert due.take(D) == ["uncertain" if state == "uncertain" else "removed"] and due.due("delivery:" + D) is None


@pytest.mark.parametrize("spoil", ["type", "state", "number", "content"])
def test_what_cannot_be_read_comes_again_in_an_hour(due, spoil):
    key = due.key("delivery", D)
    if spoil == "type":
        due.client.delete(key)
        due.client.set(key, "x")
    elif spoil == "content":
        due.client.delete(due.key("request", D))
    else:
        due.client.hset(key, *{"state": ("state", "sent"), "number": ("attempt", "1x")}[spoil])
    other = "blog/main/b"
    due.submit(other)
    due.make_due(other)
    answers = due.takes([(D, "agenda", None), (other, "agenda", None)])
    assert answers[0][0] == "error" and answers[1][0] == "work"
    assert due.due("delivery:" + D) == due.answered_at + HOUR


# ---- waiting lists

def heads(names):
    return [(name, "waiting", None) for name in names]


def test_from_the_waiting_list_as_many_as_there_is_room_for(ledger):
    names = fill(ledger, 5)
    answers = ledger.takes(heads(names), room=2)
    assert [answer[0] for answer in answers] == ["work"] * 2 + ["moved"] * 3 and answers[0][1] == "waiting"
    assert ledger.waiting(CH) == names[2:] and ledger.due("delivery:" + names[0]) == ledger.answered_at + 30000
    assert ledger.due("channel:" + CH) == ledger.answered_at + 1000, "offered again a little later"
    before = ledger.dump(without=["agenda"])
    assert ledger.takes([(names[0], "waiting", 1000)])[0] == ["removed"] and ledger.dump(without=["agenda"]) == before


@pytest.mark.parametrize("next_in, burst, handed", [(-1000000, 1, 1), (-1000000, 3, 3), (-30000, 3, 1), (-61000, 3, 2), (30000, 3, 0)])
def test_the_pace_bounds_what_is_handed_out(ledger, next_in, burst, handed):
    names = fill(ledger, 5)
    ledger.client.hset(ledger.key("channel", CH), "next_at", ledger.now() + next_in)
    answers = ledger.takes(heads(names), spacing=60000, burst=burst)
    assert [answer[0] for answer in answers].count("work") == handed
    assert ledger.due("channel:" + CH) == (ledger.answered_at + 1000 if handed else int(
        ledger.client.hget(ledger.key("channel", CH), "next_at")))


def test_the_ramp_bounds_it_too(ledger):
    names = fill(ledger, 5)
    ledger.client.hset(ledger.key("channel", CH), "ramp", 3)
    ledger.claim(names[0])
    assert [answer[0] for answer in ledger.takes(heads(names[1:]))] == ["work"] * 2 + ["moved"] * 2


@pytest.mark.parametrize("how", ["paused", "blocked"])
def test_paused_and_blocked_hand_out_nothing(ledger, how):
    names = fill(ledger, 2)
    until = ledger.now() + 60000
    ledger.channel(CH, *(["pause", "why", "", ""] if how == "paused" else ["block", until, "429"]))
    assert [answer[0] for answer in ledger.takes(heads(names))] == ["moved"] * 2
    assert ledger.due("channel:" + CH) == (None if how == "paused" else until) and ledger.waiting(CH) == names


def test_a_channel_that_the_worker_does_not_know_is_put_off(ledger):
    names = fill(ledger, 1)
    ledger.submit(D)
    ledger.make_due(D)
    answers = ledger.takes([*heads(names), (D, "agenda", None)], room=-1)
    later = ledger.answered_at + 30000
    assert answers == [["moved", str(later)]] * 2
    assert ledger.due("channel:" + CH) == later and ledger.due("delivery:" + D) == later


def test_a_channel_without_deliveries_leaves_the_agenda(ledger):
    ledger.client.zadd(ledger.key("agenda"), {"channel:" + CH: 1})
    ledger.takes([], channels=[CH])
    assert ledger.due("channel:" + CH) is None


def test_unreadable_in_the_waiting_list_does_not_block_its_head(ledger):
    names = fill(ledger, 3)
    ledger.client.hset(ledger.key("delivery", names[0]), "state", "sent")
    answers = ledger.takes(heads(names))
    assert [answer[0] for answer in answers] == ["error", "work", "work"]
    assert ledger.client.zscore(ledger.key("waiting", CH), names[0]) == ledger.answered_at + HOUR
    assert ledger.due("channel:" + CH) == ledger.answered_at + HOUR


def test_claimed_in_the_waiting_list_is_taken_out_of_it(ledger):
    ledger.claim(D, entry=ledger.add(D))
    ledger.client.zadd(ledger.key("waiting", CH), {D: 1})
    assert ledger.take(D, member="waiting")[0] == "moved" and ledger.waiting(CH) == []
    assert ledger.due("delivery:" + D) > ledger.now() + 50000
