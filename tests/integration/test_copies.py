# SPDX-License-Identifier: MIT
"""redis.wait_: nothing is sent before as many copies of its claim are acknowledged as the configuration asks for."""
import contextlib
import json
import subprocess
import time

import pytest

from lib.fleet import CHANNELS, UNPACED, Fleet
from lib.procs import cpu_s, wait_for
from lib.redis_server import RedisServer, newer_server
from lib.stepped import stepped
from lib.together import Together
from lib.tree import program

together = Together(at_once=3)
FOREM, MASTODON = CHANNELS["forem"], CHANNELS["mastodon"]
ONE_REPLICA = {"wait_replicas": 1, "wait_timeout_ms": 300}


class Copied(Fleet):
    """A fleet whose Redis has a replica, if `replica`, and whose worker waits for copies as `wait` says."""

    def __init__(self, wait=None, replica=True, server=None, redis_options=None, **more):
        super().__init__(("forem", "mastodon"), metrics=True, config={"redis": {**ONE_REPLICA, **(wait or {})}},
                         redis_options=redis_options, **{"channel": UNPACED, **more})
        self.has_replica, self.server, self.replica = replica, server, None
        self.redis.program = server or self.redis.program

    def __enter__(self):
        super().__enter__()
        if self.has_replica:
            self.start_replica()
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(AttributeError):
            self.replica.close()
        super().__exit__(*exc)

    def start_replica(self):
        """With the persistence of its master."""
        self.replica = RedisServer(replicaof=f"127.0.0.1 {self.redis.port}", repl_ping_replica_period="1", **self.redis.options)
        self.replica.program = self.redis.program
        self.replica.__enter__()
        wait_for(lambda: self.replica.client().info("replication")["master_link_status"] == "up", 30, "the replica to have its first copy")

    def writes(self):
        return self.sim.report()["totals"]["writes"]


@together.test
def test_a_silent_replica_stops_the_sending_and_its_return_goes_on():
    with Copied() as fleet:
        worker = fleet.start_worker()
        first = fleet.add_many(FOREM, ["it-1"]) + fleet.add_many(MASTODON, ["it-1"])
        fleet.wait_states(first, "published")
        assert fleet.ready(200) and fleet.metric("landfall_copies_enough") == 1
        fleet.replica.pause()
        second = [name for channel in (FOREM, MASTODON) for name in fleet.add_many(channel, [f"late-{n}" for n in range(5)])]
        worker.wait_output("ledger.copies.missing")
        wait_for(lambda: fleet.metric("landfall_uncopied_claims_total") or 0, 20, lambda: fleet.get()[1])
        assert "too few copies" in wait_for(lambda: fleet.ready(503), 20, "it not to be ready")
        status = subprocess.run([program("landfall"), "status", "--config", fleet.config_path], capture_output=True, text=True, timeout=60, check=False)
        assert "copies=missing" in status.stdout, status.stdout
        given_back = [name for name in second if fleet.state(name)]
        assert given_back, "it has claimed before it knew"
        wait_for(lambda: fleet.states(given_back) == {"approved": len(given_back)}, 20, lambda: fleet.states(second))
        assert {(row["reason"], row.get("tries", "0")) for row in map(fleet.row, given_back)} == {("not_sent", "0")}
        assert fleet.writes() == 2
        fleet.replica.resume()
        fleet.wait_states(second, "published")
        assert fleet.ready(200) and "copies=enough" in fleet.db.get(fleet.db.keys("lf:{0}:worker:*")[0])
        fleet.check_judge(**{name: 1 for name in first + second})
        assert fleet.writes() == 12 and worker.stop(20) == 0


@together.test
def test_without_a_replica_nothing_is_even_claimed():
    with Copied(replica=False) as fleet:
        deliveries = fleet.add_many(FOREM, ["it-1", "it-2"])
        worker = fleet.start_worker()
        worker.wait_output("0 of 1 replicas")
        assert fleet.db.xlen("lf:{0}:queue") == 2 and fleet.states(deliveries) == {None: 2} and fleet.writes() == 0
        fleet.start_replica()
        fleet.wait_states(deliveries, "published")
        assert fleet.writes() == 2 and worker.stop(20) == 0


@together.test
def test_a_run_to_the_end_gives_up_when_the_copies_stay_away():
    with Copied(replica=False, wait={"away_limit_ms": 1000}) as fleet:
        deliveries = fleet.add_many(FOREM, ["it-1"])
        assert fleet.run_worker() == 2
        assert fleet.states(deliveries) == {None: 1} and fleet.writes() == 0


@together.test
def test_what_is_settled_meanwhile_does_not_wait():
    """The question holds up its own connection only: an answer that comes while it is under way is written down."""
    long_lease = {"times": {"lease_ms": 60000, "late_commit_ms": 300, "visibility_lag_ms": 300, "margin_ms": 100, "clean_misses": 2}}
    with Copied(wait={"wait_timeout_ms": 20000}, channel={"forem": {**UNPACED["forem"], **long_lease},
                                                          "mastodon": {**UNPACED["mastodon"], **long_lease}}) as fleet:
        fleet.sim.fault("commit_then_late_answer", instance="forem", delay_ms=1000)
        worker = fleet.start_worker()
        slow, = fleet.add_many(FOREM, ["slow"])
        wait_for(lambda: fleet.writes() == 1, 20, "the slow one to be on its way")
        fleet.replica.pause()
        behind, = fleet.add_many(MASTODON, ["behind"])
        fleet.wait_state(behind, "claimed")
        fleet.wait_state(slow, "published")
        assert fleet.state(behind) == "claimed" and fleet.writes() == 1
        fleet.replica.resume()
        row = fleet.wait_state(behind, "published")
        assert row["attempt"] == "1" and fleet.writes() == 2, "its copy came in time"
        assert worker.stop(20) == 0


@together.test
def test_a_claim_that_waits_when_redis_goes_ends_at_its_deadline():
    """And the worker does not turn without an end because that moment has passed."""
    short = {"times": {"lease_ms": 3000, "late_commit_ms": 300, "visibility_lag_ms": 300, "margin_ms": 100, "clean_misses": 2},
             "write_limit_ms": 500}
    with Copied(wait={"wait_timeout_ms": 1100, "round_limit_ms": 3000}, channel={"forem": {**UNPACED["forem"], **short}}) as fleet:
        worker = fleet.start_worker()
        wait_for(lambda: fleet.metric("landfall_copies_enough") == 1, 20, "the worker to be ready")
        fleet.replica.pause()
        waiting, = fleet.add_many(FOREM, ["it-1"])
        fleet.wait_state(waiting, "claimed")
        fleet.redis.pause()
        worker.wait_output("ledger.away")
        fleet.redis.kill()
        time.sleep(4)  # longer than the lease
        used_s = cpu_s(worker)
        time.sleep(2)
        assert cpu_s(worker) - used_s < 0.5
        assert fleet.writes() == 0 and worker.stop(20) == 0


@together.test
def test_the_request_that_steps_make_is_copied_too():
    """The claim has its copies, the request that is made of the steps has not: it is not sent."""
    with Copied(descriptors=[stepped("mastodon")]) as fleet:
        fleet.sim.fault("commit_slowly", on={"path": "/verify_credentials"}, delay_ms=1000)
        fleet.start_worker()
        delivery, = fleet.add_many(MASTODON, ["it-1"])
        wait_for(lambda: fleet.replica.client().hget(f"lf:{{0}}:delivery:{delivery}", "state") == "claimed", 20, "the claim's copy")
        wait_for(lambda: fleet.sim.report()["instances"].get("mastodon", {}).get("reads") == 1, 20, "the step to be asked")
        fleet.replica.pause()
        row = fleet.wait_state(delivery, "approved")
        assert row["reason"] == "not_sent" and "body_hash" in row and fleet.writes() == 0, row
        fleet.replica.resume()
        fleet.wait_state(delivery, "published")
        fleet.check_judge(**{delivery: 1})


@together.test
def test_a_lease_that_leaves_no_time_to_wait_is_refused():
    with Copied(replica=False, wait={"wait_timeout_ms": 2500}) as fleet:
        check = fleet.start_worker("--check")
        assert check.wait(20) == 1
        said = check.stdout() + check.stderr()
        assert "forem/brand" in said and "times.lease_ms leaves 4900 ms" in said and "redis.wait_timeout_ms (2500)" in said, said


def doctor(fleet):
    done = subprocess.run([program("landfall"), "doctor", "--json", "--config", fleet.config_path], capture_output=True, text=True,
                          timeout=60, check=False)
    return {one["check"]: one for one in json.loads(done.stdout)["findings"]}["copies"]


@together.test
def test_a_server_that_cannot_wait_for_disks_is_named_and_nothing_is_sent():
    """Redis 7.0 has no WAITAOF; a later one refuses it without an append-only file. Both times its words are told."""
    with Copied(wait={"wait_fsync": "local", "wait_replicas": 0}, replica=False) as fleet:
        deliveries = fleet.add_many(FOREM, ["it-1"])
        worker = fleet.start_worker()
        worker.wait_output("WAITAOF")
        assert "with appendonly yes" in worker.stdout() + worker.stderr()
        assert "too few copies" in wait_for(lambda: fleet.ready(503), 20, "it not to be ready")
        assert fleet.states(deliveries) == {None: 1} and fleet.writes() == 0
        finding = doctor(fleet)
        assert finding["severity"] == "risk" and "redis.wait_fsync" in finding["what"], finding
        assert worker.stop(20) == 0


@together.test
def test_a_user_that_may_not_wait_is_named_and_the_right_goes_on():
    with Copied() as fleet:
        fleet.db.execute_command("ACL", "SETUSER", "hasty", "on", "nopass", "~*", "&*", "+@all", "-wait")
        fleet.config_extra["redis"].update(url=f"redis://hasty@127.0.0.1:{fleet.redis.port}", password_file=fleet.write_secret("redis", "any"))
        fleet.write_config()
        worker = fleet.start_worker()
        deliveries = fleet.add_many(FOREM, ["it-1"])
        worker.wait_output("asked for WAIT: redis: NOPERM")
        assert "wants WAIT, which the user hasty may not use" in doctor(fleet)["what"]
        assert fleet.states(deliveries) == {None: 1} and fleet.writes() == 0
        fleet.db.execute_command("ACL", "SETUSER", "hasty", "+wait")
        fleet.wait_states(deliveries, "published")
        assert doctor(fleet)["severity"] == "ok" and worker.stop(20) == 0


@pytest.mark.skipif(not newer_server(), reason="WAITAOF needs Redis 7.2 or later, or Valkey: $LANDFALL_REDIS_SERVER names one")
@pytest.mark.parametrize("fsync, policy", [("local", "always"), ("local", "everysec"), ("all", "everysec")])
def test_a_claim_that_is_on_disk_is_sent(fsync, policy):
    options = {"appendonly": "yes", "appendfsync": policy}
    with Copied(wait={"wait_fsync": fsync, "wait_timeout_ms": 2200}, server=newer_server(), redis_options=options) as fleet:
        worker = fleet.start_worker()
        deliveries = [name for channel in (FOREM, MASTODON) for name in fleet.add_many(channel, [f"it-{n}" for n in range(10)])]
        fleet.wait_states(deliveries, "published")
        assert fleet.metric("landfall_uncopied_claims_total") == 0 and fleet.writes() == 20
        assert doctor(fleet)["severity"] == "ok"
        fleet.redis.kill()  # what was sent is on disk
        fleet.redis.start()
        assert set(fleet.states(deliveries)) <= {"published", "claimed"}
        assert worker.stop(20) == 0


@pytest.mark.skipif(not newer_server(), reason="WAITAOF needs Redis 7.2 or later, or Valkey: $LANDFALL_REDIS_SERVER names one")
def test_a_replica_that_has_no_disk_does_not_count():
    options = {"appendonly": "yes", "appendfsync": "always"}
    with Copied(wait={"wait_fsync": "all", "wait_timeout_ms": 1500}, server=newer_server(), redis_options=options) as fleet:
        fleet.replica.client().config_set("appendonly", "no")
        deliveries = fleet.add_many(FOREM, ["it-1"])
        worker = fleet.start_worker()
        worker.wait_output("0 of 1 replicas have it on disk")
        assert fleet.writes() == 0
        fleet.replica.client().config_set("appendonly", "yes")
        fleet.wait_states(deliveries, "published")
        assert worker.stop(20) == 0
