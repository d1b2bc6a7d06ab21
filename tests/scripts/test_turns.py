# SPDX-License-Identifier: MIT
"""claim: what was handed back after doubt goes out one by one, and everything else does not wait for it."""
import pytest

from rows import CH, D, put

EVERY, SLACK = 60000, 5000


def handed_back(ledger, delivery, **fields):
    put(ledger, delivery, turn=1, reason="absent", **fields)
    return delivery


def turn_at(ledger):
    return int(ledger.client.hget(ledger.key("channel", CH), "turn_at"))


def test_resolve_marks_what_it_hands_back(ledger):
    put(ledger)
    token = ledger.token()
    assert ledger.claim(D, token=token)[0] == "granted"
    ledger.settle(D, "uncertain", "no_answer", place="walk", token=token, commit_cap=1)
    assert "turn" not in ledger.row(D)
    ledger.settle(D, "approved", "retry", place="agenda")
    assert "turn" not in ledger.row(D), "its own report: nothing was in doubt for long"
    ledger.settle(D, "uncertain", "no_answer", place="walk")
    ledger.resolve(D, "approved", "replay", place="agenda")
    assert ledger.row(D)["turn"] == "1"


def test_they_go_out_one_by_one_and_others_go_between(ledger):
    names = [handed_back(ledger, f"blog/main/{n}") for n in range(4)]
    answers = ledger.claims([ledger.claim_block(name, turn=EVERY) for name in names])
    at = ledger.answered_at
    assert answers[0][0] == "granted" and "turn" not in ledger.row(names[0])
    for n, name in enumerate(names[1:], 1):
        assert answers[n] == ["wait", "absent", str(at + n * EVERY)]
        assert ledger.row(name)["turn"] == str(at + n * EVERY) and ledger.due("delivery:" + name) == at + n * EVERY
    assert turn_at(ledger) == at + 4 * EVERY
    assert ledger.claim("blog/main/new", entry=ledger.add("blog/main/new"), turn=EVERY)[0] == "granted"
    assert turn_at(ledger) == at + 4 * EVERY, "what was never in doubt takes no turn"


def test_nobody_comes_before_its_turn_also_if_it_is_fed_again(ledger):
    ledger.client.hset(ledger.key("channel", CH), "turn_at", 1)
    turn = ledger.now() + 30000
    handed_back(ledger, D)
    ledger.client.hset(ledger.key("delivery", D), "turn", turn)
    assert ledger.claim(D, entry=ledger.add(D), turn=EVERY,
                        approved_at=ledger.row(D)["approved_at"]) == ["wait", "absent", str(turn)]
    assert ledger.due("delivery:" + D) == turn and turn_at(ledger) == 1


@pytest.mark.parametrize("late, every, granted", [(0, 100, True), (SLACK - 1000, 100, True), (SLACK + 1000, 100, False),
                                                  (SLACK + 1000, EVERY, True), (EVERY + 1000, EVERY, False)])
def test_who_comes_late_takes_another_turn(ledger, late, every, granted):
    free = ledger.now() + 600000
    handed_back(ledger, D)
    ledger.client.hset(ledger.key("channel", CH), "turn_at", free)
    ledger.client.hset(ledger.key("delivery", D), "turn", ledger.now() - late)
    answer = ledger.claim(D, turn=every)
    assert answer[0] == "granted" if granted else answer == ["wait", "absent", str(free)]
    assert turn_at(ledger) == free + (0 if granted else every)


def test_a_channel_whose_pace_is_slower_gives_turns_at_its_pace(ledger):
    names = [handed_back(ledger, f"blog/main/{n}") for n in range(3)]
    answers = ledger.claims([ledger.claim_block(name, turn=100, spacing=EVERY, burst=3) for name in names])
    assert [answer[0] for answer in answers] == ["granted", "wait", "wait"]
    assert int(answers[2][2]) - int(answers[1][2]) == EVERY


def test_what_its_channel_holds_back_takes_no_turn(ledger):
    handed_back(ledger, D)
    assert ledger.claim(D, turn=EVERY, hold_back="channel_full")[:2] == ["wait", "channel_full"]
    assert ledger.client.hget(ledger.key("channel", CH), "turn_at") is None and ledger.row(D)["turn"] == "1"
    assert ledger.claim(D, turn=EVERY)[0] == "granted"


def test_without_a_limit_all_go_at_once(ledger):
    names = [handed_back(ledger, f"blog/main/{n}") for n in range(5)]
    assert [answer[0] for answer in ledger.claims([ledger.claim_block(name) for name in names])] == ["granted"] * 5
    assert ledger.client.hget(ledger.key("channel", CH), "turn_at") is None


def test_what_is_over_is_held_and_takes_no_turn(ledger):
    handed_back(ledger, D, not_after=ledger.now() - 1)
    assert ledger.claim(D, turn=EVERY) == ["held", "expired"]
    assert ledger.client.hget(ledger.key("channel", CH), "turn_at") is None
