# SPDX-License-Identifier: MIT
"""Outcomes that Redis has not taken survive the worker, and are settled by whoever comes next: without a second
request, and without reading the platform."""
import json
import os
import resource
import signal
import subprocess
import time

from lib.fleet import SECRETS, UNPACED, Fleet
from lib.procs import wait_for
from lib.together import Together
from lib.tree import program

NAME = "mastodon/brand/it-1"
DURABLE = {"appendonly": "yes", "appendfsync": "always"}
together = Together(at_once=6)


class Spooling(Fleet):
    """A fleet whose workers have a folder for outcomes."""

    def __init__(self, platforms=("mastodon",), worker=None, **kwargs):
        super().__init__(platforms, config={"worker": {"spool_dir": "spool", **(worker or {})}}, **kwargs)
        self.folder = os.path.join(self.dir, "spool")
        os.mkdir(self.folder)

    def files(self):
        return sorted(os.listdir(self.folder))

    def path(self, name):
        return os.path.join(self.folder, name)

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def kept(self):
        """All lines that hold an outcome, of all files."""
        return [line for name in self.files() for line in self.lines(name) if "event" in line]

    def held(self, platform="mastodon", ids=("it-1",)):
        """A worker whose writes the platform has taken and does not answer yet."""
        self.sim.fault("hold", platform, limit_ms=60_000, times=-1)
        deliveries = self.add_many(f"{platform}/brand", ids)
        worker = self.start_worker()
        self.sim.wait("holding", count=len(deliveries))
        return deliveries, worker

    def leave_outcomes(self, ids=("it-1",)):
        """A worker got its answers while Redis was away for it alone, and was killed: gives its file's name."""
        deliveries, worker = self.held(ids=ids)
        self.proxy.refuse()
        self.sim.release()
        self.sim.clear_faults()
        wait_for(lambda: len(self.kept()) == len(deliveries), 20, lambda: f"the outcomes in the file: {self.output()}")
        worker.kill()
        self.proxy.accept()
        name, = self.files()
        return name

    def landfall(self, *words, code=0):
        done = subprocess.run([program("landfall"), *words, "--config", self.config_path], text=True,
                              capture_output=True, timeout=60, cwd=self.dir)
        assert done.returncode == code, done
        return done.stdout


def check_settled(fleet, *deliveries, source="response"):
    for delivery in deliveries or (NAME,):
        row = fleet.wait_state(delivery, "published")
        assert row["source"] == source and row["attempt"] == "1", row
        assert fleet.sim.delivery(delivery)["writes"] == 1
    report = fleet.check_judge(**dict.fromkeys(deliveries or (NAME,), 1))
    assert report["totals"]["reads"] == 0, "nothing is looked up that is known"


# ---- a worker that does not come back

@together.test
def test_redis_and_the_worker_are_killed_after_the_answer():
    with Spooling(redis_options=DURABLE) as fleet:
        _, worker = fleet.held()
        fleet.redis.kill()
        fleet.sim.release()
        wait_for(fleet.kept, 20, "the outcome in the file")
        worker.kill()
        name, = fleet.files()
        with open(fleet.path(name), encoding="utf-8") as file:
            assert not any(secret in file.read() for secret in SECRETS.values())
        line, = fleet.kept()
        assert (line["delivery"], line["event"], line["status"]) == (NAME, "committed", 200) and line["ext_id"]
        fleet.redis.start()
        fleet.start_worker()
        check_settled(fleet)
        wait_for(lambda: name not in fleet.files(), what="the file to be removed")


@together.test
def test_an_empty_redis_gets_the_row_again():
    with Spooling() as fleet:
        _, worker = fleet.held()
        row = fleet.row(NAME)
        fleet.redis.kill()
        fleet.sim.release()
        fleet.sim.clear_faults()
        wait_for(fleet.kept, 20, "the outcome in the file")
        worker.kill()
        fleet.redis.start()
        second = fleet.start_worker()
        check_settled(fleet)
        again = fleet.row(NAME)
        assert {name: again[name] for name in ("content", "key", "token")} == {name: row[name] for name in ("content", "key", "token")}
        fleet.add_many("mastodon/brand", ["it-1"])
        wait_for(lambda: fleet.db.xlen("lf:{0}:queue") == 0, what="the second entry to be skipped")
        check_settled(fleet)
        assert second.stop() == 0


@together.test
def test_a_second_post_that_a_file_tells_of_is_an_alarm_that_counts():
    """Meanwhile the delivery was published under another id: the file's outcome is a second post, and the alert goes by the metric."""
    with Spooling(proxied=True, metrics=True) as fleet:
        fleet.leave_outcomes()
        told, = fleet.kept()
        fleet.db.hset(f"lf:{{0}}:delivery:{NAME}", mapping={"state": "published", "reason": "confirmed", "source": "operator",
                                                            "ext_id": "another-post"})
        fleet.db.delete(f"lf:{{0}}:lease:{NAME}")
        fleet.start_worker().wait_output("event=delivery.duplicate", timeout_s=30)
        wait_for(lambda: fleet.metric("landfall_duplicates_total", channel="mastodon/brand") == 1, 20, lambda: fleet.get()[1])
        row = fleet.row(NAME)
        assert {row["ext_id"], row["duplicate"]} == {"another-post", told["ext_id"]} and row["state"] == "published"


def refusal_from_a_file(restarted):
    """A worker had its refusal while Redis was away for it alone, and was killed; another one tells it."""
    with Spooling(proxied=True, redis_options=DURABLE) as fleet:
        fleet.sim.fault("status", "mastodon", status=422, body='{"error": "Validation failed"}', delay_ms=300)
        fleet.add_many("mastodon/brand", ["it-1"])
        worker = fleet.start_worker()
        fleet.sim.wait("writes")
        fleet.proxy.refuse()
        line, = wait_for(fleet.kept, 20, "the outcome in the file")
        assert (line["event"], line["run_id"]) == ("refused", fleet.db.info("server")["run_id"])
        worker.kill()
        if restarted:
            fleet.redis.restart()
        fleet.proxy.accept()
        fleet.start_worker().wait_output("outcome=refused")
        return fleet.row(NAME)


@together.test
def test_a_refusal_in_a_file_ends_the_delivery():
    row = refusal_from_a_file(restarted=False)
    assert (row["state"], row["reason"]) == ("rejected", "refused")


@together.test
def test_a_refusal_in_a_file_proves_nothing_to_a_redis_that_was_restarted():
    """It may have been set back, and a later attempt forgotten."""
    row = refusal_from_a_file(restarted=True)
    assert (row["state"], row["reason"], row["in_doubt"]) == ("uncertain", "refused_in_doubt", "rewound")


@together.test
def test_two_workers_and_one_file():
    ids = [f"it-{n:02}" for n in range(30)]
    wide = {"slots": 32, "max_in_flight_per_channel": 32}
    with Spooling(worker=wide, channel=UNPACED, proxied=True) as fleet:
        name = fleet.leave_outcomes(ids)
        workers = [fleet.start_worker() for _ in range(2)]
        check_settled(fleet, *(f"mastodon/brand/{one}" for one in ids))
        wait_for(lambda: name not in fleet.files(), what="the file to be removed")
        assert [w.stop() for w in workers] == [0, 0]
        assert sum(w.stderr().count("event=spool.replayed") for w in workers) == 1, fleet.output()
        assert fleet.db.xlen("lf:{0}:outcomes") == len(ids)
        assert fleet.files() == []


@together.test
def test_a_worker_that_is_stopped_while_redis_is_away():
    with Spooling(worker={"grace_ms": 500}, proxied=True) as fleet:
        _, worker = fleet.held()
        fleet.proxy.refuse()
        fleet.sim.release()
        wait_for(fleet.kept, 20, "the outcome in the file")
        worker.send_signal(signal.SIGTERM)
        worker.wait_exit(0)
        assert len(fleet.kept()) == 1 and "spooled=1" in worker.stderr()
        fleet.proxy.accept()
        fleet.start_worker()
        check_settled(fleet)


@together.test
def test_what_is_given_up_at_the_end_is_kept_too():
    """The grace time ends before the platform answers: that the outcome is unknown is known."""
    with Spooling(worker={"grace_ms": 300}, proxied=True) as fleet:
        _, worker = fleet.held()
        fleet.proxy.refuse()
        worker.send_signal(signal.SIGTERM)
        worker.wait_exit(0)
        line, = fleet.kept()
        assert line["event"] == "unknown" and line["item"]
        fleet.proxy.accept()
        fleet.start_worker()
        row = fleet.wait_state(NAME, "uncertain")
        assert row["in_doubt"].startswith("1:")


@together.test
def test_a_worker_that_does_not_know_the_channel_leaves_it_to_one_that_does():
    with Spooling(proxied=True) as fleet:
        name = fleet.leave_outcomes()
        fleet.platforms = []
        fleet.write_config()
        stranger = fleet.start_worker(name="stranger")
        stranger.wait_output("event=spool.left")
        assert stranger.stop() == 0 and name in fleet.files()
        fleet.platforms = ["mastodon"]
        fleet.write_config()
        fleet.start_worker()
        check_settled(fleet)


@together.test
def test_a_file_of_another_environment_is_left_alone():
    with Spooling(proxied=True) as fleet:
        name = fleet.leave_outcomes()
        with open(fleet.path(name), encoding="utf-8") as file:
            text = file.read().replace('"environment":"test"', '"environment":"other"')
        with open(fleet.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        worker = fleet.start_worker()
        fleet.wait_state(NAME, "uncertain")
        assert worker.stop() == 0
        assert fleet.files() == [name] and fleet.kept()


# ---- a worker that lives on

@together.test
def test_redis_comes_back_and_the_file_is_empty_again():
    with Spooling(proxied=True) as fleet:
        _, worker = fleet.held()
        name, = fleet.files()
        fleet.proxy.refuse()
        fleet.sim.release()
        wait_for(fleet.kept, 20, "the outcome in the file")
        fleet.proxy.accept()
        check_settled(fleet)
        wait_for(lambda: not fleet.kept(), what="the file to be emptied")
        assert fleet.files() == [name]
        assert worker.stop() == 0
        assert fleet.files() == []


@together.test
def test_nothing_is_written_while_redis_answers():
    with Spooling(channel=UNPACED) as fleet:
        fleet.sim.fault("commit_then_late_answer", "mastodon", times=-1, delay_ms=20)
        deliveries = fleet.add_many("mastodon/brand", [f"it-{n}" for n in range(40)])
        worker = fleet.start_worker()
        name, = wait_for(fleet.files, what="the file")
        before = os.stat(fleet.path(name))
        fleet.wait_states(deliveries, "published")
        after = os.stat(fleet.path(name))
        assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        assert worker.stop() == 0


@together.test
def test_a_full_disk_loses_no_outcome_of_a_living_worker():
    item = Fleet.item("it-1", content_text="word " * 5000)
    with Spooling(["webhook"], proxied=True) as fleet:
        fleet.sim.fault("hold", "webhook", limit_ms=60_000)
        fleet.add("webhook/brand", item)
        worker = fleet.start_worker()
        fleet.sim.wait("holding")
        name, = fleet.files()
        size = os.stat(fleet.path(name)).st_size
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
        fleet.proxy.refuse()
        fleet.sim.release(then="close")
        worker.wait_output("event=spool.failed")
        time.sleep(5)
        assert worker.running and worker.stderr().count("event=spool.failed") == 1
        assert os.stat(fleet.path(name)).st_size == size, "no half of a line stays"
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wait_for(fleet.kept, 20, "the outcome in the file, now that there is room")
        fleet.proxy.accept()
        fleet.wait_state("webhook/brand/it-1", "published", "uncertain", "approved")
        wait_for(lambda: not fleet.kept(), what="the file to be emptied")
        assert worker.stop() == 0


@together.test
def test_a_folder_that_cannot_be_written_is_an_error_at_the_start():
    with Spooling() as fleet:
        os.rmdir(fleet.folder)
        worker = fleet.start_worker()
        worker.wait_exit(1)
        assert fleet.folder in worker.stderr() and "worker.spool_dir" in worker.stderr()


@together.test
def test_without_a_folder_the_worker_says_what_that_can_cost():
    with Fleet(["mastodon"]) as fleet:
        worker = fleet.start_worker()
        worker.wait_output("worker.memory_only")
        assert "worker.spool_dir is empty" in worker.stderr()
        assert worker.stop() == 0


# ---- damaged files

@together.test
def test_a_torn_last_line_counts_for_nothing():
    with Spooling(proxied=True) as fleet:
        name = fleet.leave_outcomes(["it-1"])
        with open(fleet.path(name), "ab") as file:
            file.write(b'{"v":1,"delivery":"mastodon/brand/it-2","attempt":1,"tok')
        worker = fleet.start_worker()
        check_settled(fleet)
        wait_for(lambda: name not in fleet.files(), what="the file to be removed")
        worker.wait_output(f"event=spool.torn file={name} bytes=56")


@together.test
def test_a_line_that_nobody_can_read_is_kept_for_a_person():
    with Spooling(proxied=True) as fleet:
        name = fleet.leave_outcomes(["it-1"])
        with open(fleet.path(name), "rb") as file:
            head, *rest = file.readlines()
        with open(fleet.path(name), "wb") as file:
            file.writelines([head, b"\x00\xff somebody's hand\n", *rest])
        worker = fleet.start_worker()
        check_settled(fleet)
        aside = wait_for(lambda: [n for n in fleet.files() if n.endswith(".unreadable")], what="the file put aside")
        assert name not in fleet.files()
        worker.wait_output(f"file={name} lines=1 line=2")
        with open(fleet.path(aside[0]), "rb") as file:
            assert b"somebody's hand" in file.read()
        listed = json.loads(fleet.landfall("spool", "--json", code=3))["files"]
        assert [one["unreadable"] for one in listed if one["put_aside"]] == [1]


# ---- the command

@together.test
def test_the_command_lists_and_replays():
    with Spooling(proxied=True) as fleet:
        assert "nothing" in fleet.landfall("spool")
        name = fleet.leave_outcomes(["it-1"])
        assert name in fleet.landfall("spool", code=3)
        one, = json.loads(fleet.landfall("spool", "--json", code=3))["files"]
        assert (one["file"], one["alive"], one["outcomes"], one["unreadable"]) == (name, False, 1, 0)
        assert one["oldest_kept_at_ms"] > 0 and fleet.state(NAME) == "claimed"
        document = json.loads(fleet.landfall("spool", "--replay", "--json"))
        assert document["files"][0]["end"] == "removed"
        assert document["deliveries"] == [{"delivery": NAME, "attempt": 1, "event": "committed", "result": "settled",
                                           "state": "published", "reason": "confirmed", "why": None, "file": name}]
        check_settled(fleet)
        assert fleet.files() == []
        assert json.loads(fleet.landfall("spool", "--replay", "--json"))["files"] == []


@together.test
def test_the_command_leaves_a_living_owner_its_file():
    with Spooling(proxied=True) as fleet:
        _, worker = fleet.held()
        fleet.proxy.refuse()
        fleet.sim.release()
        wait_for(fleet.kept, 20, "the outcome in the file")
        fleet.config_extra["redis"] = {"url": f"unix://{fleet.redis.socket_path}"}
        fleet.write_config()
        document = json.loads(fleet.landfall("spool", "--replay", "--json"))
        assert document["files"][0]["end"] == "alive" and document["deliveries"] == []
        assert fleet.state(NAME) in ("claimed", "uncertain") and fleet.kept()
        fleet.proxy.accept()
        check_settled(fleet)
        assert worker.stop() == 0
