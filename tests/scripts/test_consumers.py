# SPDX-License-Identifier: MIT
"""The consumers of the queue's group: who goes, and that nobody goes with entries that are pending for it."""
import concurrent.futures
import os

import pytest

from ledger_calls import FOLDER
from lib.procs import wait_for

GROUP = "workers"


def evaluate(ledger, name, *arguments):
    with open(os.path.join(FOLDER, name + ".lua"), encoding="utf-8") as file:
        return ledger.client.eval(file.read(), 1, ledger.key("queue"), GROUP, *arguments)


def consumers(ledger):
    return {one["name"]: one["pending"] for one in ledger.client.xinfo_consumers(ledger.key("queue"), GROUP)}


@pytest.fixture
def killed(ledger):
    """Two of three consumers have an entry pending; all three are gone."""
    for name in ("a", "b", "c"):
        ledger.client.xgroup_createconsumer(ledger.key("queue"), GROUP, name)
    for name in ("a", "b"):
        ledger.add(f"blog/brand/{name}")
        ledger.client.xreadgroup(GROUP, name, {ledger.key("queue"): ">"}, count=1)
    return ledger


def test_consumers_of_killed_workers_go_when_nothing_is_pending_for_them(killed):
    assert evaluate(killed, "tidy", 60000) == 0, "they may be living"
    assert evaluate(killed, "tidy", 0) == 1 and consumers(killed) == {"a": 1, "b": 1}
    assert evaluate(killed, "tidy", 0) == 0 and killed.client.xpending(killed.key("queue"), GROUP)["pending"] == 2


def test_what_a_heir_has_taken_over_holds_nobody_back(killed):
    killed.client.xautoclaim(killed.key("queue"), GROUP, "heir", 0, "0-0")
    assert evaluate(killed, "tidy", 0) == 3 and consumers(killed) == {"heir": 2}


def test_who_lives_after_all_is_a_consumer_again(killed):
    assert evaluate(killed, "tidy", 0) == 1
    killed.add("blog/brand/later")
    assert killed.client.xreadgroup(GROUP, "c", {killed.key("queue"): ">"}) and consumers(killed)["c"] == 1


def test_who_waits_for_entries_while_it_goes_gets_the_next_one(killed):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(killed.client.xreadgroup, GROUP, "c", {killed.key("queue"): ">"}, block=20000)
        wait_for(lambda: killed.client.info("clients")["blocked_clients"] == 1, what="the reader to wait")
        assert evaluate(killed, "tidy", 0) == 1 and "c" not in consumers(killed)
        killed.add("blog/brand/later")
        assert len(answer.result(20)[0][1]) == 1 and consumers(killed)["c"] == 1


def test_hundreds_go_in_a_few_steps(ledger):
    for number in range(1200):
        ledger.client.xgroup_createconsumer(ledger.key("queue"), GROUP, f"w-{number}")
    assert [evaluate(ledger, "tidy", 0) for _ in range(3)] == [1000, 200, 0]


def test_without_a_group_nobody_goes(ledger):
    ledger.client.xgroup_destroy(ledger.key("queue"), GROUP)
    assert evaluate(ledger, "tidy", 0) == 0 and evaluate(ledger, "leave", "a") == 1


def test_who_leaves_with_entries_pending_stays_and_the_next_takes_them_at_once(killed):
    assert evaluate(killed, "leave", "c") == 1 and evaluate(killed, "leave", "a") == 0
    assert consumers(killed) == {"a": 1, "b": 1}
    taken = killed.client.xautoclaim(killed.key("queue"), GROUP, "heir", 3600000, "0-0")
    assert len(taken[1]) == 1 and consumers(killed)["heir"] == 1
