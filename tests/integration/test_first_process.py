# SPDX-License-Identifier: MIT
"""The programs as process 1 of a process namespace, as in a container without an init: to that one the kernel passes no signal
that it has no handler for, and every orphan is its child."""
import os
import signal
import subprocess

import pytest

from lib.fleet import Fleet
from lib.procs import Process, wait_for
from lib.tree import program

UNSHARE = ["unshare", "--pid", "--fork", "--kill-child"]
tried = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
pytestmark = pytest.mark.skipif(tried.returncode != 0, reason=f"no process namespace here: {tried.stderr.strip()[-200:]}")


def start_first(fleet, name, *args):
    """(the process that waits for it, its id outside of the namespace)."""
    outer = Process([*UNSHARE, program(name), *args, "--config", fleet.config_path], fleet.dir, name=f"first-{name}", cwd=fleet.dir,
                    env={"HOME": fleet.dir, "PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "detect_leaks=0"}, env_only=True)
    fleet.processes.append(outer)

    def child():
        with open(f"/proc/{outer.pid}/task/{outer.pid}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    pid, = wait_for(child, 20, outer.tail)
    wait_for(lambda: os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name, 20, outer.tail)
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        inside = next(line.split()[-1] for line in file if line.startswith("NSpid:"))
    assert inside == "1"
    return outer, pid


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_without_work_ends_at_once(number):
    with Fleet(["mastodon"]) as fleet:
        outer, pid = start_first(fleet, "landfall-worker")
        wait_for(lambda: fleet.db.keys("lf:{0}:worker:*"), 20, outer.tail)
        os.kill(pid, number)
        outer.wait_exit(0)


def test_a_worker_records_what_is_in_flight_before_it_ends():
    with Fleet(["mastodon"]) as fleet:
        fleet.sim.fault("hold", "mastodon")
        delivery, = fleet.add_many("mastodon/brand", ["it-1"])
        outer, pid = start_first(fleet, "landfall-worker")
        fleet.sim.wait("holding")
        os.kill(pid, signal.SIGTERM)
        outer.wait_output("worker.stopping")
        assert children(pid) == [], "it starts nobody, so no child of its own can become a zombie"
        later, = fleet.add_many("mastodon/brand", ["it-2"])
        fleet.sim.release()
        outer.wait_exit(0)
        assert fleet.state(delivery) == "published" and fleet.state(later) is None
        fleet.check_judge(**{delivery: 1})


def test_a_worker_whose_redis_is_not_there_yet_hears_the_signal():
    """The handler is there before anything is waited for."""
    with Fleet(["mastodon"]) as fleet:
        fleet.redis.kill()
        outer, pid = start_first(fleet, "landfall-worker")
        outer.wait_output("ledger.away")
        os.kill(pid, signal.SIGTERM)
        outer.wait_exit(0)


def test_a_reconciler_ends_at_once():
    with Fleet(["mastodon"]) as fleet:
        outer, pid = start_first(fleet, "landfall-reconciler", "run")
        wait_for(lambda: fleet.db.keys("lf:{0}:worker:*"), 20, outer.tail)
        os.kill(pid, signal.SIGTERM)
        outer.wait_exit(0)
