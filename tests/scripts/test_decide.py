# SPDX-License-Identifier: MIT
"""settle, resolve and operate: a decision is applied to the row that it was made for, whole, or not at all."""
import pytest

from ledger_calls import HOUR

D = "blog/main/a"
CH = "blog/main"
T = "t" * 16


@pytest.fixture
def claimed(ledger):
    assert ledger.claim(D, token=T, entry=ledger.add(D))[0] == "granted"
    return ledger


def test_published_leaves_what_late_reports_need(claimed):
    expect = ("claimed", 1, 1)
    fields = {"ext_id": "42", "url": "https://blog.example/42", "source": "response", "status": "201", "changed": "1"}
    assert claimed.settle(D, "published", "confirmed", token=T, fields=fields, expect=expect) == ["ok", "2"]
    assert set(claimed.row(D)) == {"state", "reason", "since", "rev", "content", "approved_at", "attempt", "token", "key",
                                   "ext_id", "url", "source", "status", "changed"}
    assert claimed.request(D) == {} and claimed.lease(D) is None and claimed.due("delivery:" + D) is None
    assert claimed.client.hgetall(claimed.key("posts", CH)) == {"42": D}
    assert (claimed.count(CH, "claimed"), claimed.count(CH, "published")) == (0, 1)
    outcome = claimed.client.xrange(claimed.key("outcomes"))[0][1]
    assert outcome == {"delivery": D, "state": "published", "reason": "confirmed", "source": "response", "ext_id": "42",
                       "url": "https://blog.example/42", "attempt": "1"}
    before = claimed.dump()
    again = claimed.settle(D, "published", "confirmed", token=T, fields=fields, expect=expect)
    assert again[0] == "stale" and dict(zip(again[1::2], again[2::2])) == claimed.row(D)
    assert claimed.dump() == before


@pytest.mark.parametrize("expect", [("approved", 1, 1), ("claimed", 2, 1), ("claimed", 1, 2), ("none", 0, 0), ("claimed", 1, 1, 5)])
def test_another_row_than_the_one_it_was_decided_for_is_stale(claimed, expect):
    before = claimed.dump()
    answer = claimed.settle(D, "rejected", "refused", token=T, expect=expect)
    assert answer[0] == "stale" and "claimed" in answer and claimed.dump() == before


def test_a_row_of_a_ledger_that_was_set_back_has_the_same_numbers_and_is_another(claimed):
    """The report of an attempt that Redis has forgotten must not hand back what is being sent by another one."""
    decided_for = ("claimed", 1, 1, claimed.since(D))
    claimed.client.delete(claimed.key("delivery", D), claimed.key("lease", D))
    while claimed.now() <= int(decided_for[3]):
        pass
    assert claimed.claim(D, token="u" * 16, entry=claimed.add(D))[:2] == ["granted", "1"]
    before = claimed.dump()
    assert claimed.settle(D, "approved", "not_sent", token=T, expect=decided_for)[0] == "stale" and claimed.dump() == before


def test_a_missing_row_is_stale_without_fields_and_made_again_from_a_report(ledger):
    assert ledger.settle(D, "published", "confirmed", expect=("claimed", 1, 1)) == ["stale"]
    assert ledger.dump(without=["queue"]) == {}
    fields = {"content": "c" * 32, "approved_at": "5", "attempt": "3", "token": T, "in_doubt": "3:tttttttt", "key": "k"}
    assert ledger.settle(D, "uncertain", "late_report", place="walk", commit_cap=30000, fields=fields,
                         long={"content": "the item", "frozen": "bytes"}) == ["ok", "1"]
    row = ledger.row(D)
    assert row["commit_by"] == str(ledger.answered_at + 30000) and row["attempt"] == "3"
    assert ledger.request(D) == {"content": "the item", "frozen": "bytes"} and len(ledger.journal()) == 1
    assert ledger.due("walk:" + CH) == ledger.answered_at and ledger.count(CH, "uncertain") == 1


def test_a_missing_row_without_content_cannot_be_sent(ledger):
    assert ledger.settle(D, "approved", "retry", place="agenda", fields={"attempt": "1"}) == ["no_content"]
    assert ledger.dump(without=["queue"]) == {}


def test_uncertain_stands_in_journal_set_and_walk_once(claimed):
    due = claimed.now() + 5000
    claimed.settle(D, "uncertain", "no_answer", place="walk", due=due, token=T, commit_cap=30000,
                   fields={"in_doubt": "1:tttttttt"}, long={"detail": "timed out"})
    row = claimed.row(D)
    assert row["commit_by"] == str(claimed.answered_at + 30000), "brought forward"
    assert claimed.journal() == [(row["journal"], {"delivery": D, "attempt": "1", "reason": "no_answer", "since": row["since"]})]
    assert claimed.client.zrange(claimed.key("uncertain", CH), 0, -1) == [D] and claimed.due("walk:" + CH) == due
    assert claimed.request(D)["detail"] == "timed out" and claimed.request(D)["frozen"] == "frozen"
    since = row["since"]
    claimed.resolve(D, "uncertain", "no_answer", place="walk", due=due + 9000)
    row = claimed.row(D)
    assert row["since"] == since and len(claimed.journal()) == 1 and claimed.due("walk:" + CH) == due, "the lower one stays"
    claimed.resolve(D, "published", "confirmed", fields={"ext_id": "42", "source": "read_back", "in_doubt": ""})
    assert claimed.journal() == [] and claimed.due("walk:" + CH) is None and "journal" not in claimed.row(D)
    assert claimed.client.exists(claimed.key("uncertain", CH)) == 0


def test_the_walk_stays_while_another_is_uncertain(claimed):
    other = "blog/main/b"
    claimed.claim(other, entry=claimed.add(other))
    due = claimed.now() + 50000
    for name in (D, other):
        claimed.settle(name, "uncertain", "no_answer", place="walk", due=due)
    claimed.resolve(D, "held", "no_evidence")
    assert claimed.due("walk:" + CH) == due and len(claimed.journal()) == 1
    assert claimed.state(D) == ("held", "no_evidence") and claimed.request(D)["frozen"] == "frozen"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_earliest_of_a_call_wins(ledger, order):
    names, soon = [f"{CH}/{n}" for n in range(2)], ledger.now() + 5000
    dues = [soon + 4000 * n for n in order]
    ledger.call("settle", [], [ledger.decision(name, "uncertain", "no_answer", place="walk", due=due) for name, due in zip(names, dues)])
    assert ledger.due("walk:" + CH) == soon


def test_since_when_a_delivery_is_uncertain_does_not_move(claimed):
    claimed.settle(D, "uncertain", "no_answer", token=T)
    key = claimed.key("uncertain", CH)
    assert claimed.client.zscore(key, D) == int(claimed.row(D)["since"])
    claimed.client.zadd(key, {D: 5})
    claimed.resolve(D, "uncertain", "no_answer", place="walk", fields={"misses": "1"})
    assert claimed.client.zscore(key, D) == 5


def test_commit_by_is_only_ever_raised_by_reports_of_other_attempts(claimed):
    claimed.settle(D, "uncertain", "no_answer", commit_cap=30000)
    known = int(claimed.row(D)["commit_by"])
    claimed.settle(D, "uncertain", "no_answer", commit_cap=1)
    assert int(claimed.row(D)["commit_by"]) == known
    claimed.settle(D, "uncertain", "no_answer", commit_cap=90000)
    assert int(claimed.row(D)["commit_by"]) == claimed.answered_at + 90000


def test_only_the_lease_with_the_reports_token_is_released(claimed):
    claimed.client.set(claimed.key("lease", D), "w2 2 " + "u" * 16, px=50000)
    claimed.settle(D, "uncertain", "no_answer", token=T)
    assert claimed.lease(D) == "w2 2 " + "u" * 16


def test_handed_back_to_agenda_or_waiting_list(claimed):
    due = claimed.now() + 7000
    claimed.settle(D, "approved", "retry", place="agenda", due=due, token=T, fields={"tries": "1"})
    assert claimed.due("delivery:" + D) == due and claimed.waiting(CH) == []
    claimed.settle(D, "approved", "blocked", place="waiting", due=due + 1)
    assert claimed.due("delivery:" + D) is None and claimed.waiting(CH) == [D] and claimed.due("channel:" + CH) == due + 1
    claimed.settle(D, "approved", "blocked", place="-", fields={"tries": "0"})
    assert claimed.waiting(CH) == [D], "- leaves it where it is"
    claimed.operate(D, "rejected", "operator", act="cancel")
    assert claimed.waiting(CH) == [] and claimed.due("channel:" + CH) is None


def test_a_place_that_was_forgotten_is_the_agenda(claimed):
    claimed.settle(D, "approved", "retry", place="-")
    assert claimed.due("delivery:" + D) == claimed.answered_at


def test_a_note_on_a_claimed_row_keeps_lease_and_agenda(claimed):
    due = claimed.due("delivery:" + D)
    assert claimed.settle(D, "claimed", "sending", long={"prepared": "{}"}) == ["ok", "1"]
    assert claimed.due("delivery:" + D) == due and claimed.request(D)["prepared"] == "{}"
    claimed.settle(D, "approved", "retry", place="agenda", token=T)
    assert claimed.settle(D, "claimed", "sending")[0] == "error", "only claim claims"
    assert claimed.settle(D, "sent", "x")[0] == "error"


def test_ids_that_are_long_stand_beside_the_row(claimed):
    long_id, url = "at://did:plc:" + "x" * 200, "https://blog.example/" + "y" * 300
    claimed.settle(D, "published", "confirmed", token=T, fields={"ext_id": long_id, "url": url, "duplicate": "z" * 65})
    assert not {"ext_id", "url", "duplicate"} & set(claimed.row(D))
    assert claimed.request(D) == {"ext_id": long_id, "url": url, "duplicate": "z" * 65}
    assert claimed.client.object("encoding", claimed.key("delivery", D)) == "listpack"
    assert claimed.client.xrange(claimed.key("outcomes"))[0][1]["ext_id"] == long_id
    answer = claimed.settle(D, "published", "confirmed", expect=("claimed", 1, 1))
    row = dict(zip(answer[1::2], answer[2::2]))
    assert row["ext_id"] == long_id and row["url"] == url, "a stale answer has the whole row"
    assert set(claimed.client.hgetall(claimed.key("posts", CH))) == {long_id, "z" * 65}


def test_no_id_is_adopted_by_two(claimed):
    other = "blog/main/b"
    claimed.settle(D, "published", "confirmed", token=T, fields={"ext_id": "42"})
    claimed.claim(other, entry=claimed.add(other))
    before = claimed.dump()
    assert claimed.settle(other, "published", "confirmed", fields={"ext_id": "42"}) == ["foreign", D]
    assert claimed.dump() == before
    assert claimed.settle(D, "published", "confirmed", fields={"duplicate": "43"})[0] == "ok", "its own id is no stranger"


def test_posts_are_bounded(claimed):
    key = claimed.key("posts", CH)
    claimed.client.hset(key, mapping={f"old{n}": "x" for n in range(50000)})
    claimed.settle(D, "published", "confirmed", token=T, fields={"ext_id": "42"})
    assert claimed.client.hlen(key) == 50000 and claimed.client.hget(key, "42") == D


def test_rejected_keeps_its_content_for_a_while(claimed):
    claimed.settle(D, "rejected", "refused", token=T, fields={"in_doubt": "1:tttttttt"}, long={"detail": "no"})
    key = claimed.key("request", D)
    assert 0 < claimed.client.pttl(key) <= HOUR and claimed.request(D)["content"] == f"item of {D}"
    assert set(claimed.row(D)) >= {"commit_by", "first_send", "tries", "in_doubt"}, "a retry needs these"
    assert claimed.operate(D, "approved", "operator", place="agenda", fields={"waived": "1"})[0] == "ok"
    assert claimed.client.pttl(key) == -1, "nothing that is not settled ends by itself"
    claimed.operate(D, "rejected", "operator")
    claimed.client.delete(key)
    before = claimed.dump()
    assert claimed.operate(D, "approved", "operator", place="agenda") == ["no_content"] and claimed.dump() == before


def test_rejected_with_a_long_id_is_kept_whole(claimed):
    claimed.settle(D, "rejected", "refused", token=T, fields={"ext_id": "x" * 65})
    assert claimed.client.pttl(claimed.key("request", D)) == -1


# ---- resolve

def uncertain(ledger, commit_by):
    ledger.settle(D, "uncertain", "no_answer", place="walk", token=T, fields={"in_doubt": "1:tttttttt"})
    ledger.client.hset(ledger.key("delivery", D), "commit_by", commit_by)


def absent(ledger, searched_from, **values):
    return ledger.resolve(D, "approved", "absent", place="agenda", searched_from=searched_from, lag=60000,
                          fields={"in_doubt": "", "cleared_at": "now"}, **values)


def test_an_absence_counts_only_after_the_settle_window(claimed):
    commit_by = claimed.now() - 120000
    uncertain(claimed, commit_by)
    before = claimed.dump(without=["epoch"])
    assert absent(claimed, commit_by + 59999) == ["early", str(commit_by + 60000)]
    assert claimed.dump(without=["epoch"]) == before
    assert absent(claimed, commit_by + 60000)[0] == "ok"
    row = claimed.row(D)
    assert row["state"] == "approved" and row["cleared_at"] == str(claimed.answered_at) and "in_doubt" not in row
    assert claimed.due("delivery:" + D) == claimed.answered_at and claimed.journal() == []


def test_an_absence_counts_only_for_the_newest_attempt(claimed):
    uncertain(claimed, 1)
    before = claimed.dump(without=["epoch"])
    assert absent(claimed, claimed.now(), searched_attempt=0)[0] == "stale"
    assert claimed.dump(without=["epoch"]) == before


def test_no_absence_counts_after_a_restart(claimed):
    uncertain(claimed, 1)
    answer = absent(claimed, claimed.now(), run_id="2" * 40)
    assert answer == ["early", str(claimed.answered_at + 24 * HOUR)]
    assert absent(claimed, claimed.now(), environment="staging") == ["environment", "test"]


def test_a_doubt_is_not_cleared_without_a_search(claimed):
    uncertain(claimed, 1)
    assert absent(claimed, 0)[0] == "error" and claimed.row(D)["in_doubt"] == "1:tttttttt"


# ---- operate

def test_an_operators_act_is_audited_if_it_is_applied(claimed):
    claimed.settle(D, "held", "spent", token=T)
    assert claimed.operate(D, "approved", "operator", expect=("held", 1, 9))[0] == "stale"
    assert claimed.client.xlen(claimed.key("audit")) == 0
    claimed.operate(D, "approved", "operator", place="agenda", fields={"waived": "1", "tries": "0"})
    assert claimed.client.xrange(claimed.key("audit"))[0][1] == {
        "delivery": D, "act": "retry", "user": "ann", "host": "desk", "why": "because", "from": "held", "to": "approved"}


def test_cancelled_before_it_was_submitted(ledger):
    assert ledger.operate(D, "rejected", "operator", act="cancel") == ["ok", "1"]
    assert ledger.claim(D, entry=ledger.add(D))[:2] == ["already", "rejected"]
    assert ledger.submit(D)[:2] == ["same", "rejected"] and ledger.client.xlen(ledger.key("queue")) == 0


def test_streams_are_trimmed(ledger):
    ledger.limits[0] = 10
    for number in range(300):
        ledger.settle(f"blog/main/{number}", "rejected", "refused")
    assert ledger.client.xlen(ledger.key("outcomes")) < 200
