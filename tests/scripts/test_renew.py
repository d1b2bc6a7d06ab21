# SPDX-License-Identifier: MIT
"""renew: a lease is prolonged by its holder only, and not past the key's window."""
import pytest

from ledger_calls import HOUR
from rows import D, put, put_in_doubt


def test_renew_prolongs_lease_agenda_and_commit_by(ledger):
    put(ledger)
    ledger.claim(D, token="t" * 16, lease=1000)
    answer = ledger.renew(D, "t" * 16)
    end = ledger.answered_at + 60000
    assert answer == ["ok", str(end), ledger.row(D)["rev"], str(end + 30000)] and ledger.due("delivery:" + D) == end
    assert ledger.row(D)["commit_by"] == str(end + 30000) and ledger.client.pttl(ledger.key("lease", D)) > 59000


@pytest.mark.parametrize("spoil", ["other token", "lease gone", "lease of another", "settled"])
def test_renew_of_what_is_no_longer_ours(ledger, spoil):
    put(ledger)
    ledger.claim(D, token="t" * 16)
    if spoil == "lease gone":
        ledger.client.delete(ledger.key("lease", D))
    elif spoil == "lease of another":
        ledger.client.set(ledger.key("lease", D), "w2 1 " + "u" * 16, px=60000)
    elif spoil == "settled":
        ledger.settle(D, "uncertain", "no_answer")
    before = ledger.dump()
    assert ledger.renew(D, "x" * 16 if spoil == "other token" else "t" * 16)[0] == "lost"
    assert ledger.dump() == before


def test_in_doubt_a_lease_is_not_prolonged_past_the_window(ledger):
    put_in_doubt(ledger)
    ledger.claim(D, token="t" * 16, lease=10000)
    before = ledger.dump()
    answer = ledger.renew(D, "t" * 16, window=10 * 60000)
    assert answer[0] == "ok" and int(answer[1]) <= ledger.answered_at + 10000 and ledger.dump() == before
    assert int(ledger.renew(D, "t" * 16, window=HOUR)[1]) == ledger.answered_at + 60000
