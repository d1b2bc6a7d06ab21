# SPDX-License-Identifier: MIT
"""A network that loses packets or forgets connections, between the fleet and Redis and between the fleet and platforms."""
import urllib.parse

from lib import namespaces
from lib.fleet import CHANNELS, UNPACED, Fleet
from lib.namespaces import OwnNetwork, alone
from lib.procs import wait_for

pytestmark = namespaces.needed()
MASTODON, WEBHOOK, FOREM = CHANNELS["mastodon"], CHANNELS["webhook"], CHANNELS["forem"]
COUNT = 30


class TcpFleet(Fleet):
    """The programs reach Redis over TCP; the fake platforms and the test over its socket, which no rule touches."""

    @property
    def redis_url(self):
        return self.redis.url


def port_of(url):
    return urllib.parse.urlsplit(url).port


@alone
def test_a_connection_to_redis_that_carries_nothing_any_more():
    """Every packet is lost while a write is in flight and the queue is read: nobody closes anything. Found by time limits."""
    with OwnNetwork() as network, TcpFleet(["mastodon"], channel=UNPACED) as fleet:
        fleet.sim.fault("hold", "mastodon", limit_ms=120_000)
        first, = fleet.add_many(MASTODON, ["it-0"])
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        fleet.sim.wait("holding")
        heal = network.drop(fleet.redis.port)
        fleet.sim.release()
        worker.wait_output("ledger.", timeout_s=30)
        wait_for(lambda: fleet.db.get(f"lf:{{0}}:lease:{first}") is None, 30, "the lease to end")
        assert fleet.state(first) == "claimed"
        heal()
        fleet.wait_states([first, *fleet.add_many(MASTODON, ["it-1", "it-2"])], "published", timeout_s=90)
        report = fleet.check_judge(**{first: 1})
        assert report["totals"]["writes"] == 3
        assert [worker.stop(20), reconciler.stop(20)] == [0, 0]


@alone
def test_a_fifth_of_the_packets_to_redis_and_to_platforms_is_lost():
    with OwnNetwork() as network, TcpFleet(["mastodon", "forem", "webhook"], channel=UNPACED) as fleet:
        heals = [network.drop(port, 0.2) for port in (fleet.redis.port, *map(port_of, fleet.sim.urls.values()))]
        workers = [fleet.start_worker() for _ in range(2)]
        reconciler = fleet.start_reconciler()
        deliveries = [name for channel in (MASTODON, FOREM, WEBHOOK)
                      for name in fleet.add_many(channel, [f"it-{n}" for n in range(COUNT)])]
        wait_for(lambda: fleet.states(deliveries).get("published", 0) >= COUNT, 240, lambda: str(fleet.states(deliveries)))
        for heal in heals:
            heal()
        fleet.wait_states(deliveries, "published", timeout_s=120)
        report = fleet.check_judge(**{name: 1 for name in deliveries if not name.startswith(WEBHOOK)})
        print(f"packets lost 1 in 5; deliveries {len(deliveries)}, requests {report['totals']['writes']}, "
              f"duplicates {report['totals']['duplicates']}, losses 0, held 0")
        assert [process.stop(20) for process in (*workers, reconciler)] == [0, 0, 0]


@alone
def test_a_platform_that_falls_silent_behind_its_network():
    """Half of the connection is gone after the request has left: nobody knows, so it is read back when the network is there."""
    with OwnNetwork() as network, TcpFleet(["forem", "webhook"], channel=UNPACED) as fleet:
        fleet.sim.fault("hold", "forem", limit_ms=120_000)
        delivery, = fleet.add_many(FOREM, ["it-0"])
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        fleet.sim.wait("holding")
        heal = network.drop(port_of(fleet.sim.urls["forem"]))
        fleet.sim.release()
        fleet.wait_state(delivery, "uncertain", timeout_s=60)
        fleet.wait_states(fleet.add_many(WEBHOOK, ["it-1", "it-2"]), "published")
        assert fleet.state(delivery) == "uncertain", "a history that cannot be reached proves nothing"
        heal()
        assert fleet.wait_state(delivery, "published", timeout_s=90)["source"] in ("read_back", "replay")
        fleet.check_judge(**{delivery: 1})
        assert [worker.stop(20), reconciler.stop(20)] == [0, 0]
