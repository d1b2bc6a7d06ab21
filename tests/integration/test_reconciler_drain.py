# SPDX-License-Identifier: MIT
"""landfall-reconciler drain: what it says, what it does, and how it ends; and what the program takes."""
import re
import signal
import socket
import urllib.error
import urllib.request

import pytest

from lib.procs import free_port, wait_for
from reconciler_kit import Scene, channel

FOREM = channel("forem")


def by_name(lines):
    return {line["delivery"]: line for line in lines["delivery"]}


def test_it_says_what_there_is_what_was_found_and_what_became_of_it():
    with Scene(["forem"], blind=True) as scene:
        there, absent = scene.uncertain(FOREM, "it-1"), scene.uncertain(FOREM, "it-2")
        blind = scene.uncertain("blind/brand", "it-3")
        post = scene.plant("forem", "it-1")
        lines = scene.drain(code=3)  # what is held waits for a person
        assert lines["plan"][0]["uncertain"] == 3
        assert lines["plan"][0]["channels"] == {"blind/brand": 1, FOREM: 2}
        assert (lines["plan"][0]["now"], lines["plan"][0]["later"]) == (3, 0)
        told = by_name(lines)
        assert told[there]["before"] == {"state": "uncertain", "reason": "no_answer"}
        assert told[there]["evidence"]["event"] == "found" and told[there]["evidence"]["by"] == "listing"
        assert told[there]["evidence"]["ext_id"] == post
        assert told[there]["after"]["state"] == "published"
        assert told[absent]["evidence"]["event"] == "absent" and told[absent]["after"]["reason"] == "absent"
        assert told[blind]["evidence"]["event"] == "unseen" and told[blind]["after"]["reason"] == "no_evidence"
        assert lines["summary"][0]["after"] == {"approved": 1, "claimed": 0, "published": 1, "rejected": 0, "uncertain": 0, "held": 1}
        assert scene.ledger.journal() == []
        scene.nothing_was_written()


def test_with_nothing_to_do_it_says_so_and_ends_well():
    with Scene(["forem"]) as scene:
        lines = scene.drain()
        assert lines["plan"][0]["uncertain"] == 0 and lines["summary"][0]["exit"] == 0
        process = scene.run("drain", name="words")
        process.wait_exit(0)
        assert process.stdout().startswith("0 uncertain deliveries. 0 can be settled now\n")


def test_people_read_lines():
    with Scene(["forem"], times={"visibility_lag_ms": 3600000}) as scene:
        there, early = scene.uncertain(FOREM, "it-1"), scene.uncertain(FOREM, "it-2")
        post = scene.plant("forem", "it-1")
        process = scene.run("drain", name="words")
        process.wait_exit(3)
        lines = process.stdout().splitlines()
        assert lines[0].startswith(f"2 uncertain deliveries: {FOREM} 2. 0 can be settled now, 2 within ")
        assert f"{there}  uncertain no_answer -> found by listing {post} -> published confirmed" in lines
        assert any(line.startswith(f"{early}  uncertain no_answer -> absent by listing -> uncertain no_answer, looked at again in ") for line in lines)
        assert lines[-1] == "2 deliveries: 1 published, 1 uncertain."


def test_with_wait_it_goes_on_until_nothing_is_uncertain():
    with Scene(["forem"], times={"visibility_lag_ms": 900, "clean_misses": 2}) as scene:
        delivery = scene.uncertain(FOREM, "it-1", commit_cap=500)
        lines = scene.drain("--wait")
        assert lines["plan"][0]["later"] == 1 and 0 < lines["plan"][0]["later_within_ms"] <= 1400
        assert len(lines["wait"]) >= 1
        assert [line["delivery"] for line in lines["delivery"]] == [delivery]
        assert scene.ledger.state(delivery) == ("approved", "absent")


def test_without_wait_it_looks_once_at_what_is_not_settled_yet():
    with Scene(["forem"], times={"visibility_lag_ms": 60000}) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        lines = scene.drain(code=3)
        assert lines["summary"][0]["after"]["uncertain"] == 1
        assert by_name(lines)[delivery]["after"]["state"] == "uncertain"
        assert scene.state(delivery) == "uncertain"
        assert scene.saw("forem", "reads") >= 1


def test_the_time_is_up():
    with Scene(["forem"], times={"visibility_lag_ms": 60000}) as scene:
        scene.uncertain(FOREM, "it-1")
        lines = scene.drain("--wait", "--timeout", "2", code=3)
        assert lines["summary"][0]["timed_out"] is True
        assert scene.db.get(scene.ledger.key("walk", FOREM)) is None


def test_only_the_channels_that_were_named():
    with Scene(["forem", "bluesky"]) as scene:
        ours = scene.uncertain(FOREM, "it-1")
        other = scene.uncertain(channel("bluesky"), "it-1", key="3mqcsmrp2nc2a")
        lines = scene.drain("--channel", FOREM)
        assert set(by_name(lines)) == {ours} and lines["plan"][0]["uncertain"] == 1
        assert scene.state(other) == "uncertain"


def test_a_platform_out_of_reach_concludes_nothing():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        scene.sim.fault("status", "forem", on={"kind": "list"}, times=-1, status=503)
        lines = scene.drain(code=2)
        assert by_name(lines)[delivery]["evidence"]["event"] == "unseen"
        assert scene.state(delivery) == "uncertain"


def test_redis_out_of_reach():
    with Scene(["forem"]) as scene:
        scene.uncertain(FOREM, "it-1")
        scene.redis.stop()
        process = scene.run("drain", name="drain")
        process.wait_exit(2)
        assert "nothing was done" in process.stderr()


def test_a_channel_that_is_not_configured_is_counted_and_left_alone():
    with Scene(["forem"]) as scene:
        stranger = scene.uncertain("elsewhere/brand", "it-1")
        lines = scene.drain(code=3)
        assert lines["plan"][0]["not_configured"] == {"elsewhere/brand": 1}
        assert scene.state(stranger) == "uncertain"
        process = scene.run("drain", "--channel", "elsewhere/brand", name="named")
        process.wait_exit(1)
        assert "elsewhere/brand is not configured here" in process.stderr()


def test_what_somebody_else_settles_meanwhile_is_told_too():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        process = scene.run("drain", "--json", name="drain")
        scene.sim.wait("holding")
        scene.ledger.settle(delivery, "published", "confirmed", fields={"ext_id": "7", "source": "response"})
        scene.sim.release()
        process.wait_exit(0)
        assert '"state":"published"' in process.stdout()
        assert scene.row(delivery)["ext_id"] == "7"


def test_an_account_that_somebody_walks_is_waited_for():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        with scene.running(name="runner"):
            scene.sim.wait("holding")
            drain = scene.run("drain", "--json", name="drain")
            drain.wait_output('"line":"plan"')
            scene.sim.release()
            drain.wait_exit(0)
        assert scene.ledger.state(delivery) == ("approved", "absent")


def test_term_ends_a_drain_in_order():
    with Scene(["forem"]) as scene:
        scene.uncertain(FOREM, "it-1")
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        process = scene.run("drain", name="drain")
        scene.sim.wait("holding")
        process.send_signal(signal.SIGTERM)
        process.wait_exit(3)
        assert scene.db.get(scene.ledger.key("walk", FOREM)) is None


# ---- what the program takes


@pytest.mark.parametrize("args, code, words", [
    (["--help"], 0, "Usage: landfall-reconciler run"),
    (["--version"], 0, "landfall-reconciler 0."),
    (["--check"], 0, "ready: 1 channels"),
    ([], 1, "the command is missing"),
    (["walk"], 1, "unknown command"),
    (["run", "drain"], 1, "one command"),
    (["run", "--wait"], 1, "does not belong"),
    (["run", "--dry-run"], 1, "does not belong"),
    (["drain", "--dry-run", "--wait"], 1, "cannot --wait"),
    (["drain", "--since", "yesterday"], 1, "2026-09-01T09:00:00Z"),
    (["drain", "--since", "0s"], 1, "2026-09-01T09:00:00Z"),
    (["drain", "--older-than", "2026-09-01T09:00:00Z"], 1, "takes a duration"),
    (["drain", "--older-than", "soon"], 1, "takes a duration"),
    (["drain", "--limit", "0"], 1, "above 0"),
    (["drain", "--limit", "3x"], 1, "above 0"),
    (["drain", "--timeout", "soon"], 1, "whole seconds"),
    (["drain", "--timeout", "0"], 1, "whole seconds"),
    (["run", "--nonsense"], 1, "unknown option"),
])
def test_what_it_takes(args, code, words):
    with Scene(["forem"]) as scene:
        process = scene.start("landfall-reconciler", *args, env={"LANDFALL_CONFIG": scene.config_path}, name="said")
        process.wait_exit(code)
        assert words in process.stdout() + process.stderr()


def test_crash_points_are_for_tests_only():
    with Scene(["forem"], environment="production") as scene:
        process = scene.run(crash_at="after_page", name="refused")
        process.wait_exit(1)
        assert "LANDFALL_CRASH_AT" in process.stderr()


def test_a_redis_of_another_environment_is_refused():
    with Scene(["forem"]) as scene:
        scene.uncertain(FOREM, "it-1")
        scene.db.hset(scene.ledger.key("epoch"), "environment", "production")
        for args in ((), ("drain",)):
            process = scene.run(*args, name="refused-" + "-".join(args))
            process.wait_exit(1)
            assert "production" in process.stderr()
        assert scene.saw("forem", "requests") == 0


def test_it_shows_itself():
    port = free_port()
    with Scene(["forem"], config={"metrics": {"listen": f"127.0.0.1:{port}"}}) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        scene.plant("forem", "it-1")
        with scene.running():
            beats = wait_for(lambda: scene.db.keys(scene.ledger.key("worker", "*")), 10, "the heartbeat")
            assert re.fullmatch(rf"role=reconciler host={socket.gethostname()} pid=\d+ started=\d{{13}} "
                                rf"resolved=\d+ walking=\d channels=1 metrics=127\.0\.0\.1:{port}", scene.db.get(beats[0]))
            assert 0 < scene.db.pttl(beats[0]) <= 30000
            scene.wait_state(delivery, "published")
            metrics = wait_for(lambda: (text := read(port, "/metrics")) and "landfall_walks_total" in text and text, 10, "the metrics")
            assert f'landfall_walks_total{{channel="{FOREM}",result="complete"}} 1' in metrics
            assert f'landfall_outcomes_total{{channel="{FOREM}",outcome="published",source="read_back"}} 1' in metrics
            assert f'landfall_pages_total{{channel="{FOREM}"}} ' in metrics
            assert "landfall_redis_up 1" in metrics
            assert f'landfall_deliveries{{channel="{FOREM}",state="' in metrics
            assert f'landfall_breaker_open{{channel="{FOREM}"}} 0' in metrics
            assert 'landfall_oldest_seconds{state="approved"} ' in metrics
            assert 'landfall_oldest_seconds{state="uncertain"} ' in metrics
            assert read(port, "/live") and read(port, "/ready")


def test_errors_of_redis_are_counted_by_their_word():
    port = free_port()
    with Scene(["forem"], config={"metrics": {"listen": f"127.0.0.1:{port}"}}) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        scene.plant("forem", "it-1")
        scene.db.config_set("maxmemory", 1)
        with scene.running() as process:
            process.wait_output("reconciler.started")
            wait_for(lambda: 'landfall_ledger_errors_total{word="OOM"}' in read(port, "/metrics"), 10, "a lease that was refused")
            assert "takes no writes" in wait_for(lambda: not_ready(port), 10, "red while Redis takes no writes")
            scene.db.config_set("maxmemory", 0)
            scene.wait_state(delivery, "published")
            wait_for(lambda: not not_ready(port), 10, "green again")


def test_not_ready_without_channels():
    port = free_port()
    with Scene([], config={"metrics": {"listen": f"127.0.0.1:{port}"}}) as scene:
        with scene.running() as process:
            process.wait_output("reconciler.started")
            assert "no channels" in not_ready(port)
            assert read(port, "/live")


def not_ready(port):
    """Why /ready is red; None where it is green."""
    try:
        return read(port, "/ready") and None
    except urllib.error.HTTPError as error:
        assert error.code == 503
        return error.read().decode()


def read(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return answer.read().decode()
