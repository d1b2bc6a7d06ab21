# SPDX-License-Identifier: MIT
"""What a running worker tells monitoring: its numbers, /live and /ready."""
import re
import socket
import time

import pytest

from lib.fleet import TIMES, Fleet, metric_of
from lib.procs import wait_for

@pytest.fixture(scope="module")
def fleet():
    """A channel that works and one whose platform never answers, both with something done and something that waits."""
    slow = {"pace": {"spacing_ms": 75000, "burst": 1}}
    with Fleet(["webhook", "mastodon", "forem"], metrics=True, channel={"mastodon": slow}) as running:
        running.sim.fault("close_before_commit", "forem", times=-1)
        for number in range(3):
            running.add("webhook/brand", running.item(f"it-{number}"))
            running.add("mastodon/brand", running.item(f"it-{number}"))
            running.add("forem/brand", running.item(f"it-{number}"))
        running.add("webhook/brand", {"title": "an item without an id"})
        running.worker = running.start_worker("--until-idle")
        wait_for(lambda: running.metric("landfall_rounds_total") is not None, what="metrics")
        running.first = ""

        def ended():
            """Keeps the last page that the process gave: its counters live as long as it does."""
            running.first = running.get()[1] or running.first
            return not running.worker.running
        wait_for(ended, 30, what="the first worker ends")
        running.start_worker(name="second")
        wait_for(lambda: running.metric("landfall_deliveries", channel="webhook/brand") is not None,
                 what="the ledger's numbers")
        yield running


def test_the_heartbeat_has_the_words_of_the_contract(fleet):
    for key in wait_for(lambda: fleet.db.keys("lf:{0}:worker:*"), what="a heartbeat"):
        beat = fleet.db.get(key)
        assert re.fullmatch(rf"role=worker host={socket.gethostname()} pid=\d+ started=\d{{13}} "
                            rf"in_hand=\d+ writes=\d+ published=\d+ channels=3 metrics=127\.0\.0\.1:{fleet.metrics_port}", beat), beat
        assert 0 < fleet.db.pttl(key) <= 30000


def test_counters_of_what_happened(fleet):
    page = fleet.first
    told = (("webhook", "committed", 3), ("mastodon", "committed", 1), ("forem", "unknown", 3))
    for platform, outcome, count in told:
        assert metric_of(page, "landfall_outcomes_total", channel=f"{platform}/brand", outcome=outcome,
                         source="response") == count
    assert metric_of(page, "landfall_waits_total", channel="mastodon/brand") >= 2
    assert metric_of(page, "landfall_attempt_seconds_count", channel="webhook/brand") == 3
    assert metric_of(page, "landfall_attempt_seconds_bucket", channel="webhook/brand", le="+Inf") == 3
    assert 0 < metric_of(page, "landfall_attempt_seconds_sum", channel="webhook/brand") < 30
    assert metric_of(page, "landfall_write_requests_total") == 7
    assert metric_of(page, "landfall_refused_total") == 1
    assert metric_of(page, "landfall_rounds_total") >= 2
    assert metric_of(page, "landfall_ledger_round_trips_total") > metric_of(page, "landfall_rounds_total")
    assert metric_of(page, "landfall_redis_up") == 1


def test_what_the_ledger_knows(fleet):
    assert fleet.metric("landfall_deliveries", channel="webhook/brand", state="published") == 3
    assert fleet.metric("landfall_deliveries", channel="mastodon/brand", state="approved") == 2
    assert fleet.metric("landfall_deliveries", channel="forem/brand", state="uncertain") == 3
    assert fleet.metric("landfall_journal_entries") == 3
    assert fleet.metric("landfall_breaker_open", channel="webhook/brand") == 0
    assert 0 < fleet.metric("landfall_oldest_seconds", state="uncertain") < 60
    assert 0 < fleet.metric("landfall_oldest_seconds", state="approved") < 60
    assert fleet.metric("landfall_oldest_seconds", state="claimed") == 0


def test_the_age_of_the_oldest_claim():
    """Of a worker that died: its claim stands until its lease ends, and another worker tells its age."""
    with Fleet(["mastodon"], metrics=True, channel={"mastodon": {"times": {**TIMES, "lease_ms": 60000}}}) as fleet:
        fleet.add("mastodon/brand", fleet.item("it"))
        fleet.start_worker(crash_at="after_claim", name="dies").wait()
        assert fleet.state("mastodon/brand/it") == "claimed"
        fleet.db.hincrby("lf:{0}:delivery:mastodon/brand/it", "claimed_at", -20000)
        fleet.start_worker(name="tells")
        age_s = wait_for(lambda: fleet.metric("landfall_oldest_seconds", state="claimed"), what="an age")
        assert 20 <= age_s < 80


def test_what_comes_again_is_counted_as_skipped(fleet):
    fleet.add("webhook/brand", fleet.item("it-0"))
    wait_for(lambda: fleet.metric("landfall_skipped_total") == 1, what="one skipped")


def test_half_a_request_disturbs_nobody(fleet):
    """Slow and broken clients at the metrics port: the loop goes on, and so does the page for others."""
    half = []
    for text in (b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: x\r\n", b"\0" * 100,
                 b"POST / HTTP/1.1\r\nContent-Length: 999\r\n\r\n"):
        link = socket.create_connection(("127.0.0.1", fleet.metrics_port), 5)
        link.sendall(text)
        half.append(link)
    fleet.add("webhook/brand", fleet.item("meanwhile"))
    fleet.wait_state("webhook/brand/meanwhile", "published", timeout_s=5)
    assert fleet.get("/live")[0] == 200
    assert fleet.get("/nothing")[0] == 404
    for link in half:
        link.close()


def test_ready_goes_red_and_green_again_with_redis(fleet):
    assert fleet.get("/live")[0] == 200 and fleet.get("/ready")[0] == 200
    fleet.redis.stop()
    try:
        assert "Redis is out of reach" in wait_for(lambda: fleet.ready(503), what="red")
        assert fleet.get("/live")[0] == 200, "the loop goes on"
        assert fleet.metric("landfall_redis_up") == 0
    finally:
        fleet.redis.start()
    wait_for(lambda: fleet.get("/ready")[0] == 200, what="green")
    assert fleet.metric("landfall_redis_up") == 1


def test_ready_is_red_while_redis_takes_no_writes():
    with Fleet(["webhook"], metrics=True) as fleet:
        fleet.db.config_set("maxmemory", 1)
        worker = fleet.start_worker()

        assert "takes no writes" in wait_for(lambda: fleet.ready(503), what="red")
        assert worker.running
        fleet.db.config_set("maxmemory", 0)
        wait_for(lambda: fleet.ready(200), what="green")
        fleet.sim.fault("hold", "webhook")
        fleet.add("webhook/brand", fleet.item("held"))
        fleet.sim.wait("holding")
        worker.send_signal(15)
        assert "it is ending" in wait_for(lambda: fleet.ready(503), what="red while it ends")
        fleet.sim.release()
        assert worker.wait() == 0


def test_errors_of_redis_are_counted_by_their_word():
    with Fleet(["webhook"], metrics=True) as fleet:
        worker = fleet.start_worker()
        wait_for(lambda: fleet.ready(200), what="green")
        worker.pause()
        fleet.add("webhook/brand", fleet.item("it"))
        fleet.db.config_set("maxmemory", 1)
        worker.resume()
        wait_for(lambda: fleet.metric("landfall_ledger_errors_total", word="OOM"), what="a claim that was refused")
        fleet.db.config_set("maxmemory", 0)
        fleet.wait_state("webhook/brand/it", "published")
        fleet.check_judge(**{"webhook/brand/it": 1})


def test_an_open_breaker_is_seen():
    with Fleet(["indexnow"], metrics=True) as fleet:
        fleet.sim.fault("close_before_commit", "indexnow", times=-1)
        worker = fleet.start_worker()
        for number in range(3):
            fleet.add("indexnow/brand", fleet.item(f"it-{number}"))
            fleet.wait_state(f"indexnow/brand/it-{number}", "uncertain")
        channel = "lf:{0}:channel:indexnow/brand"
        wait_for(lambda: fleet.db.hget(channel, "blocked_why") == "breaker", what="a breaker after three failures")
        assert worker.stop() == 0
        fleet.db.hset(channel, "blocked_until", int((time.time() + 600) * 1000))
        fleet.start_worker(name="second")
        wait_for(lambda: fleet.metric("landfall_breaker_open", channel="indexnow/brand") == 1, what="an open breaker")


def test_not_ready_without_channels():
    with Fleet([], metrics=True) as fleet:
        worker = fleet.start_worker()
        worker.wait_output("worker.started")
        status, text = fleet.get("/ready")
        assert status == 503 and fleet.config_path in text, "it says where it looked for channels"
        assert fleet.get("/live")[0] == 200
