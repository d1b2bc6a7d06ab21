# SPDX-License-Identifier: MIT
"""Rows as the tests of claim and renew want to find them."""
from ledger_calls import HOUR

D = "blog/main/a"
CH = "blog/main"


def put(ledger, delivery=D, **fields):
    """An approved row on the agenda, as if it had come from the queue, with some fields changed by hand."""
    assert ledger.claim(delivery, entry=ledger.add(delivery), not_before=ledger.now() + HOUR)[0] == "wait"
    key = ledger.key("delivery", delivery)
    ledger.client.hdel(key, "not_before")
    if fields:
        ledger.client.hset(key, mapping=fields)


def put_in_doubt(ledger, delivery=D, **fields):
    put(ledger, delivery, attempt=1, tries=1, token="f" * 16, in_doubt="1:ffffffff", reason="replay",
        first_send=ledger.now() - 10 * 60000, commit_by=ledger.now() - 5 * 60000, key="old-key", body_hash="0" * 32, **fields)
    ledger.client.hset(ledger.key("request", delivery), "frozen", "old bytes")
