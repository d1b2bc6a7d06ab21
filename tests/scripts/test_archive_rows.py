# SPDX-License-Identifier: MIT
"""archive: a settled row leaves the ledger only as it was written down, with all that belongs to it, and with a trace."""
import pytest

D = "blog/main/a"
CH = "blog/main"
T = "t" * 16


@pytest.fixture
def published(ledger):
    ledger.claim(D, token=T, entry=ledger.add(D), dated=7)
    long_url = "https://blog.example/" + "x" * 60
    ledger.settle(D, "published", "confirmed", token=T, fields={"ext_id": "42", "url": long_url, "source": "response"})
    return ledger


def test_a_published_row_keeps_its_items_date(published):
    assert published.row(D)["dated"] == "7"


def test_it_goes_with_all_that_belongs_to_it(published):
    ledger = published
    assert ledger.client.exists(ledger.key("request", D)), "its long address"
    assert ledger.archive(D) == ["ok"]
    assert not ledger.client.exists(ledger.key("delivery", D)) and not ledger.client.exists(ledger.key("request", D))
    assert ledger.count(CH, "published") == 0
    assert ledger.client.hgetall(ledger.key("posts", CH)) == {"42": D}, "no other delivery may adopt the post"
    assert ledger.client.xlen(ledger.key("outcomes")) == 1, "what reports are made of stays"
    assert ledger.client.xrange(ledger.key("audit"))[0][1] == {
        "delivery": "", "act": "archive", "user": "ann", "host": "desk", "why": "because", "from": "1 row to a file", "to": ""}
    assert ledger.archive(D, rev=2, note="") == ["gone"] and ledger.client.xlen(ledger.key("audit")) == 1


def test_only_the_row_that_was_written_down(published):
    before = published.row(D)
    assert published.archive(D, rev=1) == ["changed", "published"]
    published.client.set(published.key("lease", D), "w 2 " + T)
    assert published.archive(D) == ["changed", "published"], "somebody sends it"
    assert published.row(D) == before and published.count(CH, "published") == 1


@pytest.mark.parametrize("state", ["approved", "claimed", "uncertain", "held"])
def test_what_is_not_settled_stays(ledger, state):
    ledger.claim(D, token=T, entry=ledger.add(D))
    if state != "claimed":
        ledger.settle(D, state, "no_answer" if state == "uncertain" else "spent", token=T)
    before = ledger.dump(without=("audit",))
    assert ledger.archive(D) == ["changed", state]
    assert ledger.dump(without=("audit",)) == before


def test_a_rejected_row_goes_too_and_a_row_that_cannot_be_read_stays(ledger):
    ledger.settle(D, "rejected", "refused")
    assert ledger.archive(D) == ["ok"] and ledger.count(CH, "rejected") == 0
    ledger.settle(D, "rejected", "refused")
    ledger.client.hset(ledger.key("delivery", D), "attempt", "many")
    assert ledger.archive(D)[0] == "error" and ledger.row(D)
