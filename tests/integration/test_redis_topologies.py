# SPDX-License-Identifier: MIT
"""Redis behind sentinels and Redis as a cluster: the fleet finds its server, and finds it again when it has moved."""
import redis

from lib.fleet import UNPACED, Fleet
from lib.procs import wait_for
from lib.redis_topology import Cluster, Watched
from lib.together import Together

together = Together(at_once=3)


class OtherRedis(Fleet):
    """A fleet whose programs reach Redis by another address. The fake platforms do not look at rows then: their Redis may
    be the one that dies. They still count every commit."""

    def point_to(self, url, **redis):
        self.config_extra = {**self.config_extra, "redis": {"url": url, **redis}}
        self.write_config()


def publish(fleet, db, ids):
    """Submitted through another client of the server that is the master now; gives the names."""
    fleet.db = db
    return fleet.add_many("mastodon/brand", ids)


def commits(fleet, deliveries):
    report = fleet.sim.report()["deliveries"]
    return {delivery: report.get(delivery, {}).get("commits", 0) for delivery in deliveries}


def is_master(server):
    """A sentinel that makes a server the master also ends the connections of its clients."""
    try:
        return server.client().info("replication")["role"] == "master"
    except redis.exceptions.ConnectionError:
        return False


@together.test
def test_sentinels_name_the_master_and_after_a_failover_the_new_one():
    with OtherRedis(["mastodon"], channel=UNPACED) as fleet, Watched(fleet.redis) as watched:
        fleet.point_to(watched.url)
        first = publish(fleet, fleet.redis.client(), [f"before-{n}" for n in range(10)])
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        fleet.wait_states(first, "published")
        wait_for(lambda: watched.replica.client().hget(f"lf:{{0}}:delivery:{first[-1]}", "state") == "published",
                 what="the replica to have it all")
        fleet.redis.kill()
        wait_for(lambda: is_master(watched.replica), what="the failover")
        second = publish(fleet, watched.replica.client(), [f"after-{n}" for n in range(10)])
        fleet.wait_states(second, "published", timeout_s=60)
        assert worker.running and reconciler.running
        assert set(commits(fleet, first + second).values()) == {1}


@together.test
def test_a_sentinel_that_does_not_know_the_service_is_told_with_its_address():
    with OtherRedis(["mastodon"]) as fleet, Watched(fleet.redis) as watched:
        fleet.point_to(f"redis+sentinel://127.0.0.1:{watched.sentinel.port}/nobody")
        check = fleet.start_worker("--check")
        assert check.wait(20) == 2
        assert f"127.0.0.1:{watched.sentinel.port}" in check.stderr() and "nobody" in check.stderr(), check.stderr()


@together.test
def test_sentinels_of_a_redis_with_a_password():
    with OtherRedis(["mastodon"], redis_password="open-sesame") as fleet, Watched(fleet.redis, password="open-sesame") as watched:
        fleet.point_to(watched.url, password_file=fleet.write_secret("redis", "open-sesame\n"))
        deliveries = fleet.add_many("mastodon/brand", ["it-1"])
        assert fleet.run_worker() == 0
        assert fleet.states(deliveries) == {"published": 1}


@together.test
def test_any_node_of_a_cluster_leads_to_the_one_that_holds_the_partition():
    with OtherRedis(["mastodon"], channel=UNPACED) as fleet, Cluster() as cluster:
        home = cluster.node_of("lf:{0}:epoch")
        stranger = next(node for node in cluster.nodes if node is not home)
        fleet.point_to(stranger.url)
        deliveries = publish(fleet, home.client(), [f"it-{n}" for n in range(10)])
        assert fleet.run_worker() == 0
        assert fleet.states(deliveries) == {"published": 10} and set(commits(fleet, deliveries).values()) == {1}


@together.test
def test_a_partition_that_moves_to_another_node_during_work_is_followed():
    with OtherRedis(["mastodon"], channel=UNPACED) as fleet, Cluster() as cluster:
        home = cluster.node_of("lf:{0}:epoch")
        target = next(node for node in cluster.nodes if node is not home)
        fleet.point_to(",".join(["redis://127.0.0.1:1"] + [f"127.0.0.1:{node.port}" for node in cluster.nodes]))
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        first = publish(fleet, home.client(), [f"first-{n}" for n in range(20)])
        wait_for(lambda: fleet.states(first).get("published", 0) >= 5, what="work to be under way")
        cluster.move_slot("lf:{0}:epoch", target)
        second = publish(fleet, target.client(), [f"second-{n}" for n in range(10)])
        fleet.wait_states(first + second, "published", timeout_s=60)
        assert worker.running and reconciler.running
        assert set(commits(fleet, first + second).values()) == {1}


@together.test
def test_the_loss_of_a_partitions_node_stops_work_and_its_return_goes_on():
    with OtherRedis(["mastodon"], channel=UNPACED) as fleet, Cluster() as cluster:
        home = cluster.node_of("lf:{0}:epoch")
        fleet.point_to(",".join([f"redis://127.0.0.1:{cluster.nodes[0].port}"] + [f"127.0.0.1:{n.port}" for n in cluster.nodes[1:]]))
        first = publish(fleet, home.client(), ["it-1"])
        worker, _ = fleet.start_worker(), fleet.start_reconciler()
        fleet.wait_states(first, "published")
        home.kill()
        home.start()
        wait_for(lambda: cluster.whole(home), what="the node to be back")
        second = publish(fleet, home.client(), ["it-2"])
        fleet.wait_states(second, "published", timeout_s=60)
        assert worker.running and set(commits(fleet, first + second).values()) == {1}


@together.test
def test_the_number_of_partitions_stays_what_the_fleet_was_started_with():
    with Fleet(["mastodon"]) as fleet:
        published = fleet.add_many("mastodon/brand", ["it-1"])
        assert fleet.run_worker() == 0
        assert fleet.db.hget("lf:{0}:epoch", "partitions") == "1"
        fleet.config_extra = {"partitions": 2, "partition": 0}
        fleet.write_config()
        for process in (fleet.start_worker(), fleet.start_worker("--check"), fleet.start_reconciler(),
                        fleet.start("landfall", "status", "--config", fleet.config_path)):
            assert process.wait(20) == 1, process
            assert "was started with 1 partitions" in process.stdout() + process.stderr()
        fleet.config_extra = {}
        fleet.write_config()
        assert fleet.run_worker() == 0
        assert fleet.states(published) == {"published": 1} and fleet.sim.delivery(published[0])["writes"] == 1
