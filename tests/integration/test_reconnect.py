# SPDX-License-Identifier: MIT
"""A fleet of forty loses its Redis: how often it knocks while nobody is there, and that it is let in again."""
import time

from lib.fleet import Fleet
from lib.procs import wait_for

WORKERS = 40
DOWN_S = 5.0
BASE_MS, CAP_MS = 100, 5000  # of the wait between two tries of a connection; it is cut at the cap first, jittered then


def tries_at_most(down_ms):
    """Of one connection: each wait is at least half of what it is to be."""
    tries, spent_ms = 1, 0
    while (spent_ms := spent_ms + min(BASE_MS * 2 ** (tries - 1), CAP_MS) / 2) <= down_ms:
        tries += 1
    return tries


def test_forty_workers_knock_seldom_and_not_together_and_a_full_server_is_waited_for():
    with Fleet(["mastodon"], proxied=True, config={"worker": {"slots": 2}}) as fleet:
        workers = [fleet.start_worker() for _ in range(WORKERS)]
        wait_for(lambda: len(fleet.db.keys("lf:{0}:worker:*")) == WORKERS, 120, lambda: f"all workers\n{workers[-1].tail()}")
        fleet.redis.kill()  # the proxy takes connections all the same, and closes them: each is a knock
        before, began, knocks = fleet.proxy.accepted, time.monotonic(), []
        while (passed_s := time.monotonic() - began) < DOWN_S:
            knocks += [passed_s] * (fleet.proxy.accepted - before - len(knocks))
            time.sleep(0.01)
        spent_ms = (time.monotonic() - began) * 1000
        # One connection tries, the other follows when that is in; at the break both find out for themselves.
        assert WORKERS <= len(knocks) <= WORKERS * (tries_at_most(spent_ms) + 1), len(knocks)
        later = [at for at in knocks if at > 1.0]
        assert len({int(at * 10) for at in later}) >= 12, f"they come one by one: {sorted(later)}"

        fleet.proxy.refuse()
        fleet.redis.start()
        fleet.db.config_set("maxclients", 60)  # each wants two connections
        fleet.proxy.accept()
        wait_for(lambda: fleet.db.info("stats")["rejected_connections"] > 0, 60, "some to be turned away")
        assert all(worker.running for worker in workers)
        fleet.db.config_set("maxclients", 1000)
        deliveries = fleet.add_many("mastodon/brand", [f"it-{n}" for n in range(4)])
        fleet.wait_states(deliveries, "published", timeout_s=60)
        wait_for(lambda: len(fleet.db.client_list(_type="normal")) >= 2 * WORKERS, 60, "all to be back")
        fleet.check_judge(**dict.fromkeys(deliveries, 1))
        lines = [worker.stderr().count("\n") for worker in workers]
        assert max(lines) < 40, f"an outage is told in a few lines: {sorted(lines)[-5:]}"
