# SPDX-License-Identifier: MIT
"""The helpers that other tests stand on: they must end what they start, and their waits must end."""
import os
import signal
import socket
import sys
import time

import pytest

from lib.procs import Process, Processes, WaitTimeout, free_port, wait_for
from lib.redis_server import RedisServer

SLEEPER = [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(60)"]
STUBBORN = [sys.executable, "-c",
            "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"]


def exists(pid):
    return os.path.exists(f"/proc/{pid}")


def test_wait_for_returns_the_value_and_gives_up():
    assert wait_for(lambda: "value", 1) == "value"
    started = time.monotonic()
    with pytest.raises(WaitTimeout, match="the moon"):
        wait_for(lambda: None, 0.05, "the moon")
    assert 0.05 <= time.monotonic() - started < 2


def test_the_block_ends_every_process(tmp_path):
    with Processes(tmp_path) as procs:
        pids = [procs.start(SLEEPER, name=f"sleeper{n}").pid for n in range(2)]
        stopped = procs.start(SLEEPER, name="stopped")
        stopped.pause()
        assert all(exists(pid) for pid in pids)
    assert not any(exists(pid) for pid in pids + [stopped.pid])


def test_output_exit_code_and_environment(tmp_path):
    with Processes(tmp_path, env={"COLOUR": "red", "HOME": None}) as procs:
        script = "import os, sys; print(os.environ['COLOUR'], 'HOME' in os.environ, sys.stdin.read()); sys.exit(3)"
        done = procs.run([sys.executable, "-c", script], code=3, stdin=b"hello")
        assert done.stdout() == "red False hello\n"
        with pytest.raises(AssertionError, match="ended with 3, expected 0"):
            procs.run([sys.executable, "-c", "raise SystemExit(3)"])


def test_a_second_process_of_the_same_name_reads_only_its_own_output(tmp_path):
    with Processes(tmp_path) as procs:
        procs.run(["/bin/echo", "first"], name="echo")
        assert procs.run(["/bin/echo", "second"], name="echo").stdout() == "second\n"
    assert (tmp_path / "echo.out").read_text() == "first\nsecond\n"


def test_wait_output_fails_as_soon_as_the_process_has_ended(tmp_path):
    with Process(["/bin/echo", "something"], tmp_path) as process:
        process.wait_output("something")
        with pytest.raises(AssertionError, match="ended with 0"):
            process.wait_output("nothing of the kind", timeout_s=30)


def test_stop_kills_who_does_not_go(tmp_path):
    with Process(STUBBORN, tmp_path, name="stubborn") as process:
        process.wait_output("ready")
        with pytest.raises(WaitTimeout):
            process.stop(timeout_s=0.1)
        process.wait_killed(signal.SIGKILL)


def test_redis_answers_on_both_addresses_and_leaves_nothing():
    with RedisServer() as redis:
        assert redis.client().set("a", "1")
        with socket.create_connection(("127.0.0.1", redis.port), timeout=2) as link:
            link.sendall(b"GET a\r\n")
            assert link.recv(16) == b"$1\r\n1\r\n"
        pid, folder = redis.pid, redis.dir
    assert not exists(pid) and not os.path.exists(folder)


def test_redis_restart_keeps_the_port_and_options_decide_what_survives():
    with RedisServer() as redis:
        redis.client().set("a", "1")
        port = redis.port
        redis.restart()
        assert redis.port == port and redis.client().get("a") is None
    with RedisServer(appendonly="yes", appendfsync="always") as redis:
        redis.client().set("a", "1")
        redis.kill()
        assert redis.start().client().get("a") == "1"


def test_redis_that_cannot_start_says_why():
    with pytest.raises(AssertionError, match="(?s)did not start.*nonsense"):
        with RedisServer(nonsense="1"):
            pass


def test_redis_paused_is_still_ended():
    with RedisServer() as redis:
        redis.pause()
        pid = redis.pid
    assert not exists(pid)


def test_free_port_can_be_bound():
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port()))
