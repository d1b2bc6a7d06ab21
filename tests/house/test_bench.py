# SPDX-License-Identifier: MIT
"""What the bench goes by: the sink that must not count what it should not, the reading of callgrind's file, the verdicts."""
import base64
import hashlib
import hmac
import http.client

import pytest

from bench import budget, cases, goals, growth, nginx, report, rig, subjects

BODY = b'{"type":"item.published","timestamp":1,"data":{"id":"item-1","title":"T"}}'


@pytest.fixture()
def sink():
    opened = rig.Sink(0, lambda: None)
    yield opened
    opened.close()


def post(sink, body=BODY, key="k-1", signed=None):
    """The status, or None where the sink hung up."""
    mac = hmac.new(base64.b64decode(rig.SECRET[6:]), b"%s.7.%s" % (key.encode(), signed or body), hashlib.sha256)
    link = http.client.HTTPConnection("127.0.0.1", sink.port, timeout=10)
    try:
        link.request("POST", "/hook", body, {"webhook-id": key, "webhook-timestamp": "7",
                                             "webhook-signature": "v1," + base64.b64encode(mac.digest()).decode()})
        return link.getresponse().status
    except (http.client.HTTPException, OSError):
        return None
    finally:
        link.close()


def test_the_sink_counts_different_deliveries(sink):
    assert post(sink) == 204
    assert post(sink, BODY.replace(b"item-1", b"item-2"), "k-2") == 204
    assert sink.report() == {"posts": 2, "keys": 2, "items": 2, "bad": 0}
    assert sink.ask("until 2") == "reached 2"


def test_a_repeat_is_seen(sink):
    assert [post(sink), post(sink), post(sink, key="k-2")] == [204, 204, 204]
    assert sink.report() == {"posts": 3, "keys": 2, "items": 1, "bad": 0}


def test_a_wrong_signature_is_bad(sink):
    assert post(sink, signed=BODY + b" ") is None
    assert post(sink, b"{}") is None
    assert sink.report() == {"posts": 2, "keys": 0, "items": 0, "bad": 2}


def test_a_large_body_is_read_whole(sink):
    body = BODY[:-1] + b',"more":"' + b"x" * 300000 + b'"}'
    assert post(sink, body) == 204
    assert sink.report() == {"posts": 1, "keys": 1, "items": 1, "bad": 0}


def test_callgrinds_file_is_read_by_object(tmp_path):
    dump = tmp_path / "callgrind.out"
    dump.write_text("events: Ir\nob=(1) /usr/bin/ours\nfn=(1) main\n5 10\n+2 5\ncob=(2) /lib/theirs.so\ncfn=(2) f\ncalls=3 7\n6 999\n"
                    "* 1\nob=(2)\nfn=(2)\n7 40\n")
    assert budget.self_cost(dump) == {"ours": 16, "theirs.so": 40}


@pytest.mark.parametrize("now, good", [(1000, True), (1050, True), (1051, False), (500, True)])
def test_the_budget_fails_over_five_percent(now, good):
    assert budget.judge({"own": 1000}, {"own": now})[1] is good


def test_the_shipped_settings_are_used_whole():
    settings = rig.redis_settings("always")
    assert settings["appendfsync"] == "always" and settings["appendonly"] == "yes" and settings["save"] == ""
    assert settings["hash-max-listpack-value"] == "64" and "aclfile" not in settings


def test_peers_are_pinned():
    with open(f"{subjects.PEERS}/package.json", encoding="utf-8") as package:
        assert "^" not in package.read()


def test_ratios_are_of_one_round_and_leave_out_what_has_no_figure():
    over = [{"rate": 10}, {"none": "why"}, {"rate": 30}]
    under = [{"rate": 10}, {"rate": 1}, {"rate": 10}]
    assert cases.ratio(over, under, "rate") == (2, 1, 3)
    assert cases.ratio(over[1:2], under[1:2], "rate") is None


RUN = {"rate": 1, "worker_us": 30, "redis_us": 31, "rss_mib": 64}
PARTS = {
    "latency": {"product": {"p50": 1.5}, "bare": {"p50": 0.5}},
    "idle": {"1": {"cpu_percent": 0.2, "commands_per_s": 9.9}, "100": {"cpu_percent": 0.1, "commands_per_s": 10}},
    "growth": {size: [{"rate": 1, "cpu_us": 100 + size / 50000}] for size in growth.SIZES},
    "memory": {"a": {"shipped": {"own": 500}}, "b": {"shipped": {"own": 513}}},
    "doubt": {"one account, all above the floor": [{"pages": 10, "pages_read": 11}]},
}


def test_each_goal_has_a_line_and_a_verdict():
    runs = {"product": [RUN], "bare": [RUN], "bullmq": [RUN], cases.BASELINE: [RUN]}
    lines = goals.judged(goals.of_cases({case.name: runs for case in cases.CASES}) + goals.of_parts(PARTS))
    verdicts = {line["goal"]: line["reached"] for line in lines}
    assert len(verdicts) == len(lines) == 18 and None not in verdicts.values()
    missed = [goal for goal, reached in verdicts.items() if not reached]
    assert missed == ["rate, product / BullMQ", "worker CPU per delivery, product / BullMQ", "Redis CPU per delivery, us",
                      "CPU per delivery, 1,000,000 settled rows / 1,000", "memory of a settled row, all its keys, bytes",
                      "read requests to settle 10,000 in doubt / pages back to the floor", "an idle worker, % of a core",
                      "one of 100 idle workers, Redis commands/s"]


def test_a_goal_that_was_not_measured_is_neither_reached_nor_missed():
    lines = goals.judged(goals.of_cases({}) + goals.of_parts({}))
    assert len(lines) == 18 and all(line["reached"] is None and line["figure"] is None for line in lines)


def test_without_nginx_a_case_over_tls_has_no_figure_and_says_why(monkeypatch):
    monkeypatch.setattr(nginx, "MISSING", "nginx is not installed")
    assert cases.attempt(cases.TLS, subjects.Product()) == {"none": "nginx is not installed"}


def test_a_page_gets_the_tables_with_the_same_heads(capsys):
    page = "before\n\n| | a |\n|---|---|\n| old | 1 |\n| older | 2 |\n\n| other | a |\n|---|---|\n| stays | 3 |\nafter"
    report.printed.clear()
    report.table("a title", ["", "a"], [["new", 4]])
    report.table("not for pages", ["other", "a"], [["x", 5]], kept=False)
    assert report.put_into(page) == page.replace("| old | 1 |\n| older | 2 |", "| new | 4 |")
    assert "| new | 4 |" in capsys.readouterr().out
