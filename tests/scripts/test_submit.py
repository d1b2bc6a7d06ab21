# SPDX-License-Identifier: MIT
"""submit: a delivery begins to exist, once."""
from ledger_calls import HOUR
from rows import CH, D


def test_submit_writes_row_entry_and_agenda(ledger):
    answer = ledger.submit(D, dated=7)
    assert answer[0] == "new" and ledger.state(D) == ("approved", "new")
    assert ledger.client.xrange(ledger.key("queue")) == [(answer[1], {"channel": CH, "item": f"item of {D}"})]
    assert ledger.row(D)["approved_at"] == answer[1].split("-")[0] and ledger.row(D)["dated"] == "7"
    assert ledger.due("delivery:" + D) == ledger.answered_at + 60000 and ledger.request(D)["content"] == f"item of {D}"
    assert ledger.claim(D, entry=answer[1])[0] == "granted"


def test_submit_again_is_the_same_or_a_conflict(ledger):
    ledger.submit(D)
    before = ledger.dump()
    assert ledger.submit(D)[:2] == ["same", "approved"]
    assert ledger.submit(D, content_hash="d" * 32) == ["conflict", "approved", ledger.row(D)["since"], "c" * 32]
    assert ledger.dump() == before


def test_submit_held_or_scheduled_needs_no_entry(ledger):
    later = ledger.now() + HOUR
    assert ledger.submit(D, hold=True) == ["new", ""] and ledger.state(D) == ("held", "approval")
    assert ledger.submit("blog/main/b", not_before=later) == ["new", ""] and ledger.due("delivery:blog/main/b") == later
    assert ledger.client.xlen(ledger.key("queue")) == 0 and ledger.due("delivery:" + D) is None


def test_submit_to_a_full_queue(ledger):
    ledger.submit(D)
    before = ledger.dump()
    assert ledger.submit("blog/main/b", queue_max=1) == ["full", "1"]
    assert ledger.dump() == before
