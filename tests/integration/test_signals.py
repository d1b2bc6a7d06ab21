# SPDX-License-Identifier: MIT
"""How a worker ends and what it leaves: signals, exit codes, the numbers of its last line, and its options."""
import os
import re
import signal
import time

import pytest

from lib.fleet import Fleet
from lib.procs import free_port, wait_for

HOOK, TOOTS = "webhook/brand", "mastodon/brand"
QUICK_S = 3.0


@pytest.fixture(scope="module")
def fleet():
    with Fleet(["webhook", "mastodon", "forem"]) as running:
        yield running


def consumers(fleet):
    if not fleet.db.exists("lf:{0}:queue"):
        return []
    return [consumer["name"] for consumer in fleet.db.xinfo_consumers("lf:{0}:queue", "workers")]


def nothing_left(fleet):
    """An orderly end leaves no lease, no consumer, nothing pending."""
    assert fleet.db.keys("lf:{0}:lease:*") == []
    assert consumers(fleet) == []
    assert fleet.db.xpending("lf:{0}:queue", "workers")["pending"] == 0


# ---- TERM and INT

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_ends_at_once(fleet, number):
    worker = fleet.start_worker(name=f"idle-{number}")
    wait_for(lambda: consumers(fleet), what="it reads the queue")
    began = time.monotonic()
    worker.send_signal(number)
    assert worker.wait(QUICK_S) == 0, worker.tail()
    assert time.monotonic() - began < QUICK_S
    nothing_left(fleet)


def test_what_is_in_flight_may_finish_and_nothing_new_is_taken(fleet):
    fleet.sim.fault("hold", "mastodon")
    fleet.add(TOOTS, fleet.item("in-flight"))
    worker = fleet.start_worker(name="finishing")
    fleet.sim.wait("holding")
    worker.send_signal(signal.SIGTERM)
    worker.wait_output("worker.stopping")
    late = fleet.add(HOOK, fleet.item("after-the-signal"))  # the read that waits for it has been asked for already
    time.sleep(0.3)  # time enough for a worker that did not stop reading
    fleet.sim.release()
    assert worker.wait(QUICK_S) == 0
    assert fleet.state("mastodon/brand/in-flight") == "published"
    assert [entry for entry, _ in fleet.db.xrange("lf:{0}:queue")] == [late]
    assert fleet.row("webhook/brand/after-the-signal") == {}
    assert fleet.db.keys("lf:{0}:lease:*") == []
    began = time.monotonic()
    assert fleet.run_worker(name="next", env={"LANDFALL_WORKER_RECLAIM_IDLE_MS": "60000"}) == 0
    assert time.monotonic() - began < 30, "what the first one had read and left is handed over at once"
    fleet.check_judge(**{"mastodon/brand/in-flight": 1, "webhook/brand/after-the-signal": 1})
    fleet.db.xgroup_delconsumer("lf:{0}:queue", "workers", *consumers(fleet)[:1])


def test_beyond_the_grace_time_the_row_says_that_nobody_knows():
    with Fleet(["mastodon"], config={"worker": {"grace_ms": 300}}) as fleet:
        fleet.sim.fault("hold", "mastodon")
        fleet.add(TOOTS, fleet.item("unheard"))
        worker = fleet.start_worker()
        fleet.sim.wait("holding")
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(QUICK_S) == 0, worker.tail()
        row = fleet.row("mastodon/brand/unheard")
        assert (row["state"], row["reason"]) == ("uncertain", "no_answer")
        assert row["in_doubt"].startswith("1:")
        assert [entry["delivery"] for _, entry in fleet.db.xrange("lf:{0}:journal")] == ["mastodon/brand/unheard"]
        nothing_left(fleet)
        assert fleet.run_worker(name="next") == 0, "nothing is due for a worker: evidence comes first"
        fleet.check_judge(**{"mastodon/brand/unheard": 1})


def test_the_second_signal_ends_it_at_once_and_the_lease_stays(fleet):
    fleet.sim.fault("hold", "mastodon")
    fleet.add(TOOTS, fleet.item("left"))
    worker = fleet.start_worker(name="twice")
    fleet.sim.wait("holding")
    worker.send_signal(signal.SIGTERM)
    worker.wait_output("worker.stopping")
    began = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(QUICK_S) == 0
    assert time.monotonic() - began < 1.5
    assert "worker.left_over" in worker.stderr()
    assert fleet.state("mastodon/brand/left") == "claimed", "who ends it writes nothing any more"
    lease = "lf:{0}:lease:mastodon/brand/left"
    assert 0 < fleet.db.pttl(lease) <= 6500, "its lease ends by itself"
    fleet.sim.release("close")
    fleet.db.delete(lease)  # as if its time were over
    fleet.hurry("mastodon/brand/left")
    assert fleet.run_worker(name="heir") == 3
    row = fleet.row("mastodon/brand/left")
    assert (row["state"], row["reason"]) == ("uncertain", "lease_lost")
    fleet.check_judge(**{"mastodon/brand/left": 1})


def test_a_signal_while_redis_is_away():
    """An outcome that Redis has not taken yet waits for it within the grace time."""
    with Fleet(["webhook"], config={"worker": {"grace_ms": 600}}) as fleet:
        fleet.sim.fault("hold", "webhook")
        fleet.add(HOOK, fleet.item("it"))
        worker = fleet.start_worker()
        fleet.sim.wait("holding")
        fleet.redis.pause()
        fleet.sim.release()
        worker.send_signal(signal.SIGTERM)
        time.sleep(0.4)
        fleet.redis.resume()
        assert worker.wait(10) == 0
        assert fleet.state("webhook/brand/it") == "published"


# ---- HUP

def test_hup_reads_credentials_again():
    with Fleet(["mastodon"], secrets={"mastodon": "wrong-token-0"}) as fleet:
        fleet.sim.post("accounts", instance="mastodon", channel=TOOTS, token="new-token-1", username="second")
        worker = fleet.start_worker()
        fleet.sim.fault("status", "mastodon", status=401)
        fleet.add(TOOTS, fleet.item("first"))
        wait_for(lambda: fleet.db.hget(f"lf:{{0}}:channel:{TOOTS}", "paused") == "credential", what="a paused channel")

        for bad, words in ((b"two\nlines", "control character inside"), (b"", "is empty"), (b"a\0b", "NUL")):
            path = fleet.write_secret("mastodon", bad)
            worker.send_signal(signal.SIGHUP)
            worker.wait_output(words)
            assert path in worker.stderr() and "two" not in worker.stderr()
        assert fleet.db.hget(f"lf:{{0}}:channel:{TOOTS}", "paused") == "credential"

        fleet.write_secret("mastodon", "new-token-1\n")
        worker.send_signal(signal.SIGHUP)
        fleet.wait_state("mastodon/brand/first", "published")
        assert "reload.credential" in worker.stderr() and "new-token" not in worker.stderr()
        assert worker.stop() == 0
        fleet.check_judge(**{"mastodon/brand/first": 1})


def test_a_start_with_a_credential_that_is_still_refused_costs_one_request():
    with Fleet(["mastodon"]) as fleet:
        fleet.write_secret("mastodon", "wrong-token")
        for number in range(4):
            fleet.add(TOOTS, fleet.item(f"it-{number}"))
        assert fleet.run_worker() == 3
        writes = fleet.sim.report()["instances"]["mastodon"]["writes"]
        assert fleet.run_worker() == 3
        assert fleet.sim.report()["instances"]["mastodon"]["writes"] == writes + 1
        fleet.write_secret("mastodon", fleet.secrets["mastodon"])
        fleet.start_worker()
        for number in range(4):
            fleet.wait_state(f"mastodon/brand/it-{number}", "published")
        fleet.check_judge(**{f"mastodon/brand/it-{number}": 1 for number in range(4)})


def test_hup_changes_nothing_where_nothing_changed(fleet):
    worker = fleet.start_worker(name="calm")
    wait_for(lambda: consumers(fleet), what="it reads the queue")
    worker.send_signal(signal.SIGHUP)
    fleet.add(HOOK, fleet.item("after-hup"))
    fleet.wait_state("webhook/brand/after-hup", "published")
    assert "reload" not in worker.stderr()
    assert worker.stop() == 0


# ---- the last line and the exit code of --until-idle

STATES = ("published", "rejected", "uncertain", "held", "waiting")


def numbers(worker):
    """What the last line says, without the zeros; they add up."""
    line = worker.stdout().strip().splitlines()[-1]
    found = {name: int(number) for name, number in re.findall(rf"({'|'.join(('due', *STATES))}) (\d+)", line)}
    assert found["due"] == sum(found[name] for name in STATES), line
    return {name: number for name, number in found.items() if number}


def run(fleet, name):
    worker = fleet.start_worker("--until-idle", name=name)
    return worker.wait(30), numbers(worker)


def test_nothing_due_is_fine(fleet):
    assert run(fleet, "nothing") == (0, {})


def test_the_exit_code_tells_due_and_done_from_due_and_not_done():
    with Fleet(["webhook", "mastodon", "forem"]) as fleet:
        for number in range(2):
            fleet.add(HOOK, fleet.item(f"it-{number}"))
        assert run(fleet, "done") == (0, {"due": 2, "published": 2})

        fleet.sim.fault("status", "mastodon", status=401, times=-1)
        for number in range(10):
            fleet.add(TOOTS, fleet.item(f"it-{number}"))
        assert run(fleet, "all-401") == (3, {"due": 10, "waiting": 10})

        fleet.db.hset(f"lf:{{0}}:channel:{TOOTS}", "paused", "maintenance")  # else each start tries again

        fleet.sim.fault("commit_then_close", "forem")
        fleet.add("forem/brand", fleet.item("doubtful"))
        fleet.add(HOOK, fleet.item("held", landfall={"not_after": "2020-01-01T00:00:00Z"}))
        fleet.add(HOOK, fleet.item("it-0"))
        assert run(fleet, "mixed") == (3, {"due": 3, "published": 1, "uncertain": 1, "held": 1})

        fleet.sim.fault("status", "forem", status=422, body='{"error": "Title is too long", "status": 422}')
        fleet.add("forem/brand", fleet.item("refused"))
        fleet.add("forem/brand", {"id": "does-not-fit"})
        assert run(fleet, "rejected") == (4, {"due": 2, "rejected": 2})

        fleet.add("forem/brand", {"id": "does-not-fit-either"})
        fleet.add("nonsense", fleet.item("x"))
        assert run(fleet, "several")[0] == 1, "of several the first of 1, 2, 4, 5, 3"


def test_redis_that_is_away_ends_the_run_in_bounded_time():
    with Fleet(["webhook"], config={"redis": {"away_limit_ms": 1000}, "worker": {"grace_ms": 500}}) as fleet:
        fleet.sim.fault("hold", "webhook")
        fleet.add(HOOK, fleet.item("it"))
        in_hand = fleet.start_worker("--until-idle", name="in-hand")
        fleet.sim.wait("holding")
        fleet.redis.stop()
        fleet.sim.release()
        absent = fleet.start_worker("--until-idle", name="absent")
        assert absent.wait(5) == 2 and "ledger.gone" in absent.stderr()
        assert in_hand.wait(5) == 2 and "worker.left_over" in in_hand.stderr()
        check = fleet.start_worker("--check", name="check")
        assert check.wait(10) == 2 and "not ready" in check.stderr()


def test_redis_that_comes_late_is_waited_for():
    with Fleet(["webhook"]) as fleet:
        fleet.redis.stop()
        worker = fleet.start_worker("--until-idle")
        worker.wait_output("ledger.away")
        fleet.redis.start()
        fleet.add(HOOK, fleet.item("it"))
        assert worker.wait(15) == 0
        assert fleet.state("webhook/brand/it") == "published"


# ---- options

def test_options(fleet):
    def ended(*args, **kwargs):
        process = fleet.start("landfall-worker", *args, name="options", **kwargs)
        return process.wait(10), process.stdout(), process.stderr()

    code, out, err = ended("--help")
    assert code == 0 and "--until-idle" in out and err == ""
    code, out, err = ended("--version")
    assert code == 0 and re.fullmatch(r"landfall-worker \d+\.\d+\.\d+, with(out)? TLS to Redis\n", out) and err == ""
    for bad in (["--unknown"], ["-x"], ["word"], ["--config"]):
        code, out, err = ended(*bad)
        assert code == 1 and "--help" in err and out == "", bad
    code, out, err = ended("--config", fleet.config_path, "--check")
    assert code == 0 and out == "ready: 3 channels, Redis answers\n"
    fleet.channel_extra = {"mastodon": {"text": ".item.title |"}, "forem": {"text": ".item | .title + 1 |"}}
    fleet.write_config()
    code, out, err = ended("--config", fleet.config_path, "--check")
    assert code == 1 and out == "" and "mastodon/brand" in err and "forem/brand" in err, "a check compiles all programs"
    fleet.channel_extra = {}
    fleet.write_config()
    code, out, err = ended("--config", os.path.join(fleet.dir, "nowhere.json"))
    assert code == 1 and "nowhere.json" in err
    empty = os.path.join(fleet.dir, "empty.json")
    with open(empty, "w", encoding="utf-8") as file:
        file.write("{}")
    env = {"LANDFALL_REDIS_URL": f"unix://{fleet.redis.socket_path}", "LANDFALL_ENVIRONMENT": "test"}
    code, out, err = ended("--check", "--config", empty, env=env)
    assert code == 1 and out == "" and f"{empty} has no channels" in err, "no channels are an error, not nothing to do"


def test_check_beside_a_running_worker(fleet):
    """The check of a machine that works already takes no port from it."""
    fleet.config_extra = {"metrics": {"listen": f"127.0.0.1:{free_port()}"}}
    fleet.write_config()
    worker = fleet.start_worker(name="running")
    worker.wait_output("worker.started")
    for program in (["landfall-worker"], ["landfall-reconciler", "run"]):
        check = fleet.start(*program, "--config", fleet.config_path, "--check", name="check")
        assert check.wait(10) == 0, check.tail()
    second = fleet.start_worker(name="second")
    assert second.wait(10) == 1 and "LANDFALL_METRICS_LISTEN" in second.stderr()
    assert worker.stop() == 0
    fleet.config_extra = {}
    fleet.write_config()


def test_crash_points_are_refused_outside_of_tests(fleet):
    for environment, point, words in (
            ("production", "after_read", 'is for "test" only'), ("test", "no_such_point", "no such point"),
            ("test", "after_read:0", "a count of 1 or more"), ("test", "after_page", "no such point")):
        worker = fleet.start_worker("--until-idle", crash_at=point, env={"LANDFALL_ENVIRONMENT": environment})
        assert worker.wait(10) == 1
        assert words in worker.stderr().replace("\\", "")


def test_another_environment_is_refused(fleet):
    """A configuration of production with the Redis of a test: nothing is sent."""
    fleet.add(HOOK, fleet.item("foreign"))
    worker = fleet.start_worker("--until-idle", env={"LANDFALL_ENVIRONMENT": "production"}, name="foreign")
    assert worker.wait(10) == 1
    assert "environment" in worker.stderr()
    assert fleet.sim.delivery("webhook/brand/foreign") is None
    assert fleet.run_worker(name="own") == 0
    assert fleet.state("webhook/brand/foreign") == "published"
