# SPDX-License-Identifier: MIT
"""Everything at once: workers and reconcilers killed and stopped, Redis killed, answers lost, for a while. Then it must come to rest by itself.

$LANDFALL_CHAOS_SEED and $LANDFALL_CHAOS_S repeat a run or make it longer. The seed fixes what is done; when it meets whom is up to the machine."""
import os
import random
import time

from lib.fleet import CHANNELS, TIMES, UNPACED, Fleet
from lib.procs import wait_for

PLATFORMS = ["mastodon", "webhook", "forem", "bluesky", "indexnow"]
ITEMS = 60
# A Redis that comes back while much is open has another run id. What only reading can settle waits for the longest key
# window of the fleet then, so that one is short.
CHANNEL = {**UNPACED, "mastodon": {**UNPACED["mastodon"], "times": {**TIMES, "key_window_ms": 10_000}}}
FAULTS = {
    "commit_then_close": [{"how": "fin"}, {"how": "rst"}], "close_before_commit": [{"how": "fin"}], "commit_then_late_answer": [{"delay_ms": 400}, {"delay_ms": 2500}],
    "commit_then_status": [{"status": 503}], "truncated_answer": [{}], "status": [{"status": 500}, {"status": 429}],
}


class Chaos:
    def __init__(self, fleet, seed):
        self.fleet, self.random, self.count = fleet, random.Random(seed), 0
        self.kills = self.between = self.answers_lost = 0
        # A fleet has worked with this server. It dies before the first write: the judge asks Redis at every one.
        fleet.db.hset("lf:{0}:epoch", mapping={"environment": "test", "run_id": fleet.db.info("server")["run_id"]})
        fleet.redis.kill()
        self.processes = [(fleet.start_worker, None)] * 3 + [(fleet.start_reconciler, None)] * 2
        self.processes = [(start, self.started(start)) for start, _ in self.processes]
        time.sleep(self.random.random())
        fleet.redis.start()

    def committed_and_not_settled(self):
        """How many deliveries the platform has while the ledger still says that they are being sent."""
        seen = self.fleet.sim.report()["deliveries"]
        return self.fleet.states([name for name in seen if seen[name]["commits"]]).get("claimed", 0)

    def started(self, start):
        self.count += 1
        return start(name=f"{start.__name__}-{self.count}")

    def kill_one(self):
        at = self.random.randrange(len(self.processes))
        start, process = self.processes[at]
        process.kill()
        self.kills += 1
        self.between += self.committed_and_not_settled()
        self.processes[at] = (start, self.started(start))

    def stop_one_for_a_moment(self):
        _, process = self.random.choice(self.processes)
        process.pause()
        time.sleep(0.2)
        process.resume()

    def lose_an_answer(self):
        fault = self.random.choice(list(FAULTS))
        self.answers_lost += 1
        self.fleet.sim.fault(fault, self.random.choice(PLATFORMS), on={"nth": self.random.randrange(1, 4)}, **self.random.choice(FAULTS[fault]))

    def go_on_for(self, duration_s):
        end = time.monotonic() + duration_s
        while time.monotonic() < end:
            time.sleep(self.random.uniform(0.05, 0.4))
            self.random.choices([self.kill_one, self.stop_one_for_a_moment, self.lose_an_answer], [5, 1, 4])[0]()
        self.fleet.sim.clear_faults()


def test_it_comes_to_rest_with_each_delivery_published_once():
    seed = int(os.environ.get("LANDFALL_CHAOS_SEED", "20261129"))
    deliveries = [f"{CHANNELS[p]}/it-{i}" for i in range(ITEMS) for p in PLATFORMS]
    # What Redis has answered is on disk, so a killed Redis forgets nothing: the loss of a claim is another test's.
    kept = {"appendonly": "yes", "appendfsync": "always"}
    with Fleet(PLATFORMS, channel=CHANNEL, instances={"bluesky": {"limit_points": 0}}, redis_options=kept) as fleet:
        for delivery in deliveries:
            platform, _, item = delivery.split("/")
            fleet.add(CHANNELS[platform], fleet.item(item))
        chaos = Chaos(fleet, seed)
        chaos.go_on_for(float(os.environ.get("LANDFALL_CHAOS_S", "20")))

        def open_ones():
            return [d for d in deliveries if fleet.state(d) not in ("published", "rejected", "held")]

        wait_for(lambda: not open_ones(), timeout_s=90, what=lambda: f"seed {seed}: {[(d, fleet.row(d)) for d in open_ones()[:3]]}")
        states = {d: fleet.row(d) for d in deliveries}
        assert {row["state"] for row in states.values()} == {"published"}, [(d, r) for d, r in states.items() if r["state"] != "published"][:3]
        assert fleet.db.hexists("lf:{0}:epoch", "rewound_at"), "another run id was not noticed"
        report = fleet.check_judge()
        print(f"seed {seed}: {chaos.kills} kills, {chaos.between} deliveries between commit and settlement then, {chaos.answers_lost} answers spoilt; "
              f"{len(deliveries)} deliveries, {report['totals']['writes']} requests, 0 duplicates, {report['totals']['duplicates']} harmless repeats, "
              "0 losses, 0 held")
        assert all(report["deliveries"][d]["commits"] >= 1 for d in deliveries)
        assert fleet.db.xlen("lf:{0}:journal") == 0 and fleet.db.xlen("lf:{0}:queue") == 0
