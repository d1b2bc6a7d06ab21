# SPDX-License-Identifier: MIT
"""Several partitions on the nodes of a cluster, and another number of them: what was published is not published again."""
import binascii
import json
import os

import pytest

from lib.cli import Cli
from lib.fleet import TIMES, UNPACED, WRITE_LIMIT_MS, Fleet
from lib.procs import wait_for
from lib.redis_topology import Cluster
from lib.together import Together

together = Together(at_once=3)
ACCOUNTS = ["brand", *"bace"]
CHANNELS = [f"mastodon/{account}" for account in ACCOUNTS]
WHY = ("--yes", "--why", "more nodes")
OWN = ("epoch", "audit", "outcomes", "refused", "queue", "journal")  # of a partition, not of a channel
POINTS = ["after_partitions_mark", "after_partitions_copy_batch", "after_partitions_copy", "after_partitions_drop_batch",
          "after_partitions_drop", "after_partitions_finish", "after_partitions_finish:2"]


def home(channel, partitions):
    return binascii.crc_hqx(channel.encode(), 0) % 16384 % partitions


class Spread(Fleet):
    """A fleet of five channels in any number of partitions."""

    partitions = 1

    def __init__(self):
        super().__init__(["mastodon"], channel=UNPACED)

    def __enter__(self):
        super().__enter__()
        self.nodes = [self.redis]
        for account in ACCOUNTS[1:]:
            url = self.add_fake(account, "mastodon", f"mastodon/{account}", f"tok-{account}")
            self.add_channel(f"mastodon/{account}", f"tok-{account}", {"instance": url}, pace=UNPACED["mastodon"]["pace"])
        return self

    def point_to(self, cluster):
        self.nodes = cluster.nodes
        self.config_extra = {"redis": {"url": "redis://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)}}
        self.write_config()

    def spread(self, partitions):
        """Processes that start from now on."""
        self.partitions = partitions
        self.config_extra = {**self.config_extra, "partitions": partitions}
        self.write_config()

    @staticmethod
    def of(partition):
        return {"LANDFALL_PARTITION": str(partition)}

    def command(self, *words, partition=0, code=0, **options):
        process = self.start("landfall", *words, "--config", self.config_path, env=self.of(partition), **options)
        assert process.wait(60) == code, (words, process.stdout() + process.stderr())
        return process.stdout() + process.stderr()

    def submit(self, channel, *ids, words=()):
        """The last line of what landfall says."""
        path = os.path.join(self.dir, "items.ndjson")
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(json.dumps(self.item(f"{channel.split('/')[1]}-{one}")) for one in ids))
        return self.command("submit", path, "--to", channel, *words, partition=home(channel, self.partitions))

    def keys(self):
        """Every key that belongs to a channel: name without the partition -> content; and where it lives."""
        content, places = {}, {}
        for node in self.nodes:
            db = node.client()
            for key in db.keys("lf:*"):
                partition, _, name = key[4:].partition("}:")
                if name in OWN:
                    continue
                read = {"hash": db.hgetall, "set": db.smembers, "string": db.get, "stream": db.xrange,
                        "zset": lambda key: db.zrange(key, 0, -1, withscores=True)}[db.type(key)](key)
                if name in ("channels", "counts", "agenda"):
                    content.setdefault(name, []).extend(sorted(read.items() if isinstance(read, dict) else read))
                    content[name].sort()
                else:
                    content[name] = read
                    places[name] = int(partition)
        return content, places

    def work(self, *deliveries):
        """A worker and a reconciler for each partition, until the deliveries are published; then they end."""
        running = [start(env=self.of(p)) for p in range(self.partitions) for start in (self.start_worker, self.start_reconciler)]
        wait_for(lambda: all(self.seen(one) == "published" for one in deliveries), 60,
                 what=lambda: f"{[(one, self.seen(one)) for one in deliveries]}\n{self.output()}")
        for process in running:
            process.stop()
        for node in self.nodes:  # as if the half minute were over for which a process shows
            db = node.client()
            for key in db.keys("lf:*:worker:*"):
                db.delete(key)

    def seen(self, delivery):
        key = f"lf:{{{home('/'.join(delivery.split('/')[:2]), self.partitions)}}}:delivery:{delivery}"
        return self.node(key).client().hget(key, "state")

    def node(self, key):
        return self.nodes[0] if len(self.nodes) == 1 else self.cluster.node_of(key)

    def commits(self):
        return {name: seen["commits"] for name, seen in self.sim.report()["deliveries"].items()}

    def sound(self):
        """What doctor says of each partition's ledger."""
        for p in range(self.partitions):
            process = self.start("landfall", "doctor", "--json", "--config", self.config_path, env=self.of(p))
            process.wait(60)
            findings = {one["check"]: one for one in json.loads(process.stdout())["findings"]}
            assert {findings[check]["severity"] for check in ("counts", "places", "rows", "agenda")} == {"ok"}, findings
            assert findings["partitions"]["severity"] in ("ok", "note"), findings["partitions"]


def delivery(channel, one):
    return f"{channel}/{channel.split('/')[1]}-{one}"


def fill(fleet, *others):
    """One published on each channel, one scheduled, one held, a paused channel; nothing runs any more. What was published."""
    for channel in CHANNELS:
        fleet.submit(channel, 1)
        fleet.submit(channel, 2, words=("--at", "2100-01-01T00:00:00Z"))
        fleet.submit(channel, 3, words=("--hold",))
    published = [*others, *(delivery(channel, 1) for channel in CHANNELS)]
    fleet.work(*published)
    fleet.command("pause", CHANNELS[1], "--why", "test", partition=home(CHANNELS[1], fleet.partitions))
    return published


def change(fleet, to, *points):
    """Killed at each of the points, then to its end. Until then nobody starts, afterwards only with the new number."""
    before, _ = fleet.keys()
    for point in points:
        process = fleet.start("landfall", "partitions", str(to), *WHY, "--config", fleet.config_path, crash_at=point)
        process.wait_killed()
        if "finish" not in point:
            assert f"being changed to {to}" in fleet.command("status", code=1)
            assert f"being changed to {to}" in fleet.command("submit", "--text", "x", "--to", CHANNELS[0], code=1,
                                                             partition=home(CHANNELS[0], fleet.partitions))
    assert f"{fleet.partitions} partitions become {to}" in fleet.command("partitions", str(to), *WHY)
    after, places = fleet.keys()
    assert after == before
    assert {name: place for name, place in places.items()
            if place != home("/".join(name.split(":", 1)[1].split("/")[:2]), to)} == {}
    assert f"was started with {to} partitions" in fleet.command("status", code=1)
    fleet.spread(to)
    fleet.sound()


def nothing_twice(fleet, published):
    """The same items are brought again, and what was scheduled goes out."""
    for channel in CHANNELS:
        assert "0 new, 1 same" in fleet.submit(channel, 1)
    fleet.command("resume", CHANNELS[1], "--why", "test", partition=home(CHANNELS[1], fleet.partitions))
    for channel in CHANNELS:
        fleet.submit(channel, 4)
    fleet.work(*published, *(delivery(channel, 4) for channel in CHANNELS))
    assert fleet.commits() == {delivery(channel, one): 1 for channel in CHANNELS for one in (1, 4)}


@together.test
def test_more_partitions_and_fewer_and_nothing_is_published_again():
    with Spread() as fleet:
        published = fill(fleet)
        change(fleet, 3, *POINTS)
        nothing_twice(fleet, published)
        change(fleet, 2, "after_partitions_drop_batch:2", "after_partitions_finish")
        entries = [fields for _, fields in fleet.redis.client().xrange("lf:{0}:audit") if fields["act"] == "partitions"]
        assert [*dict.fromkeys((one["from"], one["to"], one["why"]) for one in entries)] == [
            ("1 partitions", "3 partitions", "more nodes"), ("3 partitions", "2 partitions", "more nodes")]


@together.test
def test_partitions_on_the_nodes_of_a_cluster():
    """Each served by its own processes; one of them is killed in mid-send. Then there are four."""
    with Spread() as fleet, Cluster() as cluster:
        fleet.cluster = cluster
        fleet.point_to(cluster)
        cluster.move_slot("lf:{2}:epoch", cluster.nodes[0])
        fleet.spread(3)
        assert len({cluster.node_of(f"lf:{{{p}}}:epoch").port for p in range(3)}) == 3
        assert {home(channel, 3) for channel in CHANNELS} == {0, 1, 2}
        first, elsewhere = CHANNELS[0], (home(CHANNELS[0], 3) + 1) % 3
        refused = fleet.command("submit", "--text", "x", "--to", first, partition=elsewhere, code=1)
        assert f"set LANDFALL_PARTITION={home(first, 3)}" in refused
        fleet.submit(first, 9)
        fleet.start_worker(crash_at="after_last_byte", env=fleet.of(home(first, 3))).wait_killed()
        published = fill(fleet, delivery(first, 9))
        change(fleet, 4, "after_partitions_copy", "after_partitions_drop_batch")
        fleet.work(*published)
        assert fleet.commits() == {one: 1 for one in published}


# ---- what is in the way

@pytest.fixture
def cli(tmp_path):
    with Cli(tmp_path) as one:
        yield one


def refusal(cli, *words, code=3):
    """--dry-run and --yes say the same, and nothing has changed."""
    before = cli.dump()
    said = [cli.json("partitions", "3", *how, *words, code=code) for how in (("--dry-run",), WHY)]
    assert cli.dump() == before and said[0]["not_at_rest"] == said[1]["not_at_rest"] and not said[1]["acted"]
    return said[0]["not_at_rest"]


def test_a_fleet_that_is_not_at_rest(cli):
    moving = next(channel for channel in ("blog/brand", "news/brand", "blog/x", "blog/y") if home(channel, 3) != 0)
    cli.row(f"{moving}/1", state="published", reason="confirmed")
    for kind, suffix in (("worker", "w-1"), ("lease", f"{moving}/1"), ("walk", moving), ("login", moving)):
        cli.client.set(cli.key(kind, suffix), "w-1 1 t")
        assert f"there is {kind}:{suffix}" in refusal(cli)
        cli.client.delete(cli.key(kind, suffix))
    cli.client.xadd(cli.key("queue"), {"channel": moving, "item": "{}"})
    assert "holds 1 entries" in refusal(cli)
    cli.client.delete(cli.key("queue"))
    for state in ("uncertain", "claimed"):
        cli.client.hset(cli.key("delivery", f"{moving}/1"), "state", state)
        assert f"{moving}/1 is {state}" in refusal(cli)
    cli.client.hset(cli.key("delivery", f"{moving}/1"), "state", "nonsense")
    assert "cannot be read" in refusal(cli)


def test_words_that_are_refused(cli):
    for words, says in ((("0",), "1 to 256"), (("257",), "1 to 256"), (("3x",), "1 to 256"), (("1",), "another one"),
                        (("3", "--yes"), "--why"), (("3", *WHY, "--dry-run"), "one of the two")):
        done = cli.run("partitions", *words)
        assert done.code == 1 and says in done.err, (words, done)
    assert "say --yes" in cli.run("partitions", "3").out
    cli.client.hset(cli.key("epoch"), mapping={"partitions": 2})
    done = cli.run("partitions", "3", *WHY)
    assert done.code == 1 and "was started with 2 partitions" in done.err


def test_a_change_that_was_cut_off_is_ended_as_it_began(cli):
    assert cli.run("partitions", "3", *WHY, env={"LANDFALL_CRASH_AT": "after_partitions_mark"}).code == -9
    assert "end it first, landfall partitions 3" in cli.run("partitions", "4", *WHY).err
    cli.config(partitions=2)
    assert "set partitions to 1 until it is" in cli.run("partitions", "3", *WHY).err
    cli.config()
    assert cli.json("partitions", "3", *WHY)["acted"] and not cli.json("partitions", "3", *WHY)["acted"]


def test_what_a_redis_may_have_forgotten_is_remembered_where_the_rows_go(cli):
    moving = next(f"blog/{n}" for n in range(9) if home(f"blog/{n}", 2) == 1)
    cli.row(f"{moving}/1", state="approved", reason="paused", since=1)
    cli.client.hset(cli.key("epoch"), mapping={"environment": "test", "run_id": "0" * 40, "rewound_at": 500, "born_at": 7,
                                               "no_absence_before": 900})
    assert cli.json("partitions", "2", *WHY)["deliveries"] == 1
    there = cli.client.hgetall("lf:{1}:epoch")
    assert (there["run_id"], there["rewound_at"], there["no_absence_before"], there["born_at"]) == ("0" * 40, "500", "900", "7")
