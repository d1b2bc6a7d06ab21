# SPDX-License-Identifier: MIT
"""channel: what is said about a whole channel."""
import pytest

CH = "blog/main"


def facts(ledger):
    return ledger.client.hgetall(ledger.key("channel", CH))


def test_pause_and_resume_are_audited_where_a_person_did_it(ledger):
    assert ledger.channel(CH, "pause", "credential", "", "") == ["ok", "1"]
    first = facts(ledger)
    assert ledger.channel(CH, "pause", "maintenance", "ann", "desk") == ["ok", "0"], "it was paused already"
    assert facts(ledger) == {"paused": "maintenance", "paused_at": first["paused_at"]}
    ledger.channel(CH, "fail")
    ledger.channel(CH, "resume", "done", "ann", "desk")
    assert facts(ledger) == {}
    acts = [entry for _, entry in ledger.client.xrange(ledger.key("audit"))]
    assert [(act["act"], act["why"], act["from"], act["to"]) for act in acts] == [
        ("pause", "maintenance", "paused", "paused"), ("resume", "done", "paused", "open")]


def test_a_program_does_not_take_a_persons_reason_away(ledger):
    ledger.channel(CH, "pause", "maintenance", "ann", "desk")
    assert ledger.channel(CH, "pause", "credential", "", "") == ["ok", "0"]
    assert facts(ledger)["paused"] == "maintenance"
    ledger.channel(CH, "lift", "credential")
    assert facts(ledger)["paused"] == "maintenance"


def test_lift_resumes_only_what_was_paused_for_its_reason(ledger):
    ledger.channel(CH, "pause", "credential", "", "")
    ledger.channel(CH, "lift", "configuration")
    assert facts(ledger)["paused"] == "credential"
    ledger.channel(CH, "lift", "credential")
    assert facts(ledger) == {"ramp": "1"}, "one request goes first"


def test_a_block_is_never_shortened(ledger):
    until = ledger.now() + 60000
    assert ledger.channel(CH, "block", until, "429") == ["ok", str(until)]
    assert ledger.channel(CH, "block", until - 1, "other") == ["ok", str(until)]
    assert facts(ledger) == {"blocked_until": str(until), "blocked_why": "429", "ramp": "1"}


def test_ramp_and_failures(ledger):
    ledger.client.hset(ledger.key("channel", CH), "ramp", 4)
    assert [ledger.channel(CH, "fail") for _ in range(2)] == [["ok", "1"], ["ok", "2"]]
    assert facts(ledger) == {"ramp": "4", "failures": "2"}
    ledger.channel(CH, "recover")
    assert facts(ledger) == {"ramp": "4"}, "a ramp ends by what is published"


def test_one_walker_at_a_time_and_its_lease_ends(ledger):
    ledger.settle("blog/main/a", "uncertain", "no_answer")
    assert ledger.channel(CH, "walk_begin", "r1", 30000) == ["ok"]
    assert ledger.due("walk:" + CH) == ledger.answered_at + 30000
    assert ledger.channel(CH, "walk_begin", "r2", 30000) == ["busy", "r1"]
    assert ledger.channel(CH, "walk_begin", "r1", 60000) == ["ok"] and ledger.client.pttl(ledger.key("walk", CH)) > 50000
    before = ledger.dump()
    assert ledger.channel(CH, "walk_end", "r2", 5, 0) == ["busy", "r1"] and ledger.dump() == before
    due = ledger.now() + 90000
    assert ledger.channel(CH, "walk_end", "r1", due, 3) == ["ok"]
    assert ledger.due("walk:" + CH) == due and facts(ledger) == {"looks": "3"}
    assert ledger.client.exists(ledger.key("walk", CH)) == 0
    assert ledger.channel(CH, "walk_begin", "r1", 0)[0] == "error", "a lease without an end"


def test_a_walk_lease_without_an_end_is_nobodys(ledger):
    ledger.settle(f"{CH}/a", "uncertain", "no_answer")
    ledger.client.set(ledger.key("walk", CH), "somebody's hand")
    assert ledger.channel(CH, "walk_begin", "r1", 30000) == ["ok"]
    assert ledger.client.get(ledger.key("walk", CH)) == "r1" and 0 < ledger.client.pttl(ledger.key("walk", CH)) <= 30000
    assert ledger.due(f"walk:{CH}") > ledger.now() + 20000, "and the account is walked once"
    ledger.client.persist(ledger.key("walk", CH))
    assert ledger.channel(CH, "walk_end", "r1", ledger.now() + 500, 1) == ["ok"] and not ledger.client.exists(ledger.key("walk", CH))


def test_who_became_uncertain_during_a_walk_is_not_put_off(ledger):
    ledger.settle("blog/main/a", "uncertain", "no_answer")
    ledger.channel(CH, "walk_begin", "r1", 30000)
    ledger.settle("blog/main/b", "uncertain", "no_answer", place="walk", due=1)
    ledger.channel(CH, "walk_begin", "r1", 30000)
    assert ledger.due("walk:" + CH) == 1, "prolonging does not put it off either"
    ledger.channel(CH, "walk_end", "r1", ledger.now() + 90000, 0)
    assert ledger.due("walk:" + CH) <= ledger.now() + 1000


def test_who_became_uncertain_during_a_walk_is_looked_at_when_it_wants(ledger):
    ledger.settle("blog/main/a", "uncertain", "no_answer")
    ledger.channel(CH, "walk_begin", "r1", 30000)
    due = ledger.now() + 9000
    ledger.settle("blog/main/b", "uncertain", "verify", place="walk", due=due)
    ledger.channel(CH, "walk_begin", "r1", 30000)
    assert ledger.due("walk:" + CH) == due, "prolonging does not put it off"
    ledger.channel(CH, "walk_end", "r1", ledger.now() + 3600000, 4)
    assert ledger.due("walk:" + CH) == due
    ledger.channel(CH, "walk_begin", "r1", 30000)
    ledger.channel(CH, "walk_begin", "r1", 60000)
    assert ledger.due("walk:" + CH) == ledger.answered_at + 60000, "a lease that is only prolonged is no hurry"
    later = ledger.now() + 3600000
    ledger.channel(CH, "walk_end", "r1", later, 4)
    assert ledger.due("walk:" + CH) == later


def test_a_walk_that_left_nothing_uncertain_leaves_the_agenda(ledger):
    ledger.settle("blog/main/a", "uncertain", "no_answer")
    ledger.channel(CH, "walk_begin", "r1", 30000)
    ledger.resolve("blog/main/a", "published", "confirmed")
    assert ledger.due("walk:" + CH) is None
    ledger.channel(CH, "walk_end", "r1", ledger.now() + 90000, 0)
    assert ledger.due("walk:" + CH) is None


def test_a_leap_is_never_forgotten_early(ledger):
    far = ledger.now() + 10 ** 9
    ledger.channel(CH, "leap", far)
    ledger.channel(CH, "leap", far - 5)
    epoch = ledger.client.hgetall(ledger.key("epoch"))
    assert epoch == {"leap_until": str(far), "no_absence_before": str(far)}


@pytest.mark.parametrize("op", [("nonsense",), ("block", "soon", "why")])
def test_bad_arguments(ledger, op):
    before = ledger.dump()
    assert ledger.channel(CH, *op)[0] == "error" and ledger.dump() == before


def test_several_ops_in_one_call(ledger):
    own = [3, 1, "fail", 0, 2, "fail", 0, 3, "fail", 0]
    assert ledger.call("channel", own, [], ["blog/a", "blog/b"]) == [["ok", "1"], ["ok", "1"], ["error", "arguments: no such channel"]]
