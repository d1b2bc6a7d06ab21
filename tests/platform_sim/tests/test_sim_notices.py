# SPDX-License-Identifier: MIT
"""The service without keys and reads as played: one test for each behaviour that the module lists."""
import pytest

from platform_sim.client import SimulatorProcess
from simhttp import call

TOKEN = {"Authorization": "Bearer notices-token-1"}
INSTANCE = {"name": "n", "platform": "notices", "channel": "notices/team", "token": "notices-token-1"}


@pytest.fixture(scope="module")
def notices():
    with SimulatorProcess([INSTANCE]) as simulator:
        yield simulator


def test_a_token_is_asked_for(notices):
    notices.reset()
    assert call("POST", notices.urls["n"] + "/notices", body={"id": "a"}).status == 401
    assert notices.report()["totals"]["commits"] == 0


@pytest.mark.parametrize("method, path, body", [
    ("POST", "/notices", {"id": "it-1"}), ("POST", "/notices/it-1", None), ("PUT", "/notices/it-1", {"text": "t"}),
    ("DELETE", "/notices/it-1", None)])
def test_each_write_is_executed_each_time(notices, method, path, body):
    notices.reset()
    replies = [call(method, notices.urls["n"] + path, headers=TOKEN, body=body) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 200]
    assert notices.delivery("notices/team/it-1")["external_ids"] == ["notice_1", "notice_2"]
    assert notices.report()["violation_counts"] == {"O1": 1}, "what came twice is there twice"


def test_rate_limit(notices):
    notices.reset()
    notices.post("settings", instance="n", limit_requests=1)
    replies = [call("POST", notices.urls["n"] + f"/notices/it-{n}", headers=TOKEN) for n in range(2)]
    assert [reply.status for reply in replies] == [200, 429] and int(replies[1].headers["Retry-After"]) > 50
