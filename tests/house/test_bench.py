# SPDX-License-Identifier: MIT
"""What the bench goes by: the sink that must not count what it should not, the reading of callgrind's file, the verdicts."""
import base64
import hashlib
import hmac
import http.client
import urllib.parse

import pytest

from bench import budget, rig, subjects

BODY = b'{"type":"item.published","timestamp":1,"data":{"id":"item-1","title":"T"}}'


@pytest.fixture()
def sink():
    opened = rig.Sink(0, lambda: None)
    yield opened
    opened.close()


def post(sink, body=BODY, key="k-1", signed=None):
    """The status, or None where the sink hung up."""
    mac = hmac.new(base64.b64decode(rig.SECRET[6:]), b"%s.7.%s" % (key.encode(), signed or body), hashlib.sha256)
    link = http.client.HTTPConnection(urllib.parse.urlsplit(sink.url).netloc, timeout=10)
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
