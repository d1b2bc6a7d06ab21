# SPDX-License-Identifier: MIT
"""Names that are resolved slowly or not at all, and addresses of the sixth version."""
import contextlib
import itertools
import json
import socket
import threading
import time
import urllib.parse

from lib import namespaces
from lib.fleet import CHANNELS, UNPACED, Fleet
from lib.namespaces import OwnNetwork, alone
from lib.procs import wait_for
from lib.recorder import Recorder
from lib.redis_server import RedisServer

pytestmark = namespaces.needed()
WEBHOOK, MASTODON = CHANNELS["webhook"], CHANNELS["mastodon"]
DNS_PORT = 53


class NameServer:
    """Answers every question for an address of version 4 with `address`, `delay_s` late; with `delay_s` None never."""

    def __init__(self, delay_s):
        self.delay_s, self.questions, self.address = delay_s, 0, "127.0.0.1"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", DNS_PORT))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                question, who = self.socket.recvfrom(512)
                self.questions += 1
                if self.delay_s is not None:
                    threading.Timer(self.delay_s, self._answer, (question, who)).start()

    def _answer(self, question, who):
        end = question.index(b"\0", 12) + 5
        is_a = question[end - 4:end - 2] == b"\0\1"
        head = question[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x01\0\4" + socket.inet_aton(self.address)
        with contextlib.suppress(OSError):
            self.socket.sendto(head + question[12:end] + (record if is_a else b""), who)

    def close(self):
        self.socket.close()


@contextlib.contextmanager
def resolving(delay_s, *platforms, **kwargs):
    """A fleet in a network of its own, whose only name server is this one; what it names stands below .lf-test.example."""
    with OwnNetwork() as network, Fleet(platforms, channel=UNPACED, **kwargs) as fleet:
        names = NameServer(delay_s)
        network.put_over(fleet.write_secret("resolv", "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n"), "/etc/resolv.conf")
        try:
            yield fleet, names
        finally:
            names.close()


@alone
def test_names_of_platforms_that_nobody_resolves_hold_up_no_other_channel():
    """Not resolved is not sent: the delivery waits with a reason, the others go on, and the end comes within the grace time."""
    with resolving(None, "webhook") as (fleet, names):
        fleet.add_channel("webhook/far", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
                          {"url": "https://far.lf-test.example/hook"})
        far, = fleet.add_many("webhook/far", ["it-0"])
        worker = fleet.start_worker()
        wait_for(lambda: names.questions > 0, 20, lambda: f"the name to be asked for\n{fleet.output()}")
        fleet.wait_states(fleet.add_many(WEBHOOK, [f"it-{n}" for n in range(20)]), "published")
        row = fleet.wait_state(far, "approved", "uncertain", timeout_s=60)
        assert "in_doubt" not in row, row
        started = time.monotonic()
        assert worker.stop(60) == 0
        print(f"ended after {time.monotonic() - started:.1f} s")


@alone
def test_the_name_of_redis_is_not_resolved_and_then_is():
    with resolving(None, "mastodon") as (fleet, names):
        fleet.config_extra = {"redis": {"url": f"redis://ledger.lf-test.example:{fleet.redis.port}"}}
        fleet.write_config()
        deliveries = fleet.add_many(MASTODON, ["it-0"])
        worker = fleet.start_worker()
        worker.wait_output("cannot connect", timeout_s=90)
        assert worker.running and fleet.sim.report()["totals"]["writes"] == 0
        names.delay_s = 0.0
        fleet.wait_states(deliveries, "published", timeout_s=120)
        fleet.check_judge(**{deliveries[0]: 1})
        assert worker.stop(60) == 0


@alone
def test_the_name_of_redis_is_resolved_slowly():
    with resolving(1.5, "mastodon") as (fleet, names):
        fleet.config_extra = {"redis": {"url": f"redis://ledger.lf-test.example:{fleet.redis.port}"}}
        fleet.write_config()
        deliveries = fleet.add_many(MASTODON, [f"it-{n}" for n in range(5)])
        worker = fleet.start_worker()
        fleet.wait_states(deliveries, "published", timeout_s=90)
        fleet.redis.client().client_kill_filter(skipme=True, _type="normal")
        fleet.wait_states(fleet.add_many(MASTODON, ["later"]), "published", timeout_s=90)
        assert names.questions >= 2 and worker.stop(60) == 0


@alone
def test_the_name_of_redis_leads_to_another_server_after_a_failover():
    """The old master still answers, as a replica that takes no writes: the connection is given up and the name asked for again."""
    with resolving(0.0, "mastodon") as (fleet, names):
        fleet.config_extra = {"redis": {"url": f"redis://ledger.lf-test.example:{fleet.redis.port}"}}
        fleet.write_config()
        second = RedisServer(bind="127.0.0.2", replicaof=f"127.0.0.1 {fleet.redis.port}")
        second.port = fleet.redis.port
        with second:
            worker = fleet.start_worker()
            fleet.wait_states(fleet.add_many(MASTODON, ["it-0"]), "published")
            heir = second.client()
            wait_for(lambda: heir.hget(f"lf:{{0}}:delivery:{MASTODON}/it-0", "state") == "published", 20, "the replica to have it")
            heir.replicaof("no", "one")
            names.address = "127.0.0.2"
            fleet.db.replicaof("127.0.0.2", second.port)
            heir.xadd("lf:{0}:queue", {"channel": MASTODON, "item": json.dumps(fleet.item("it-1"))})
            wait_for(lambda: heir.hget(f"lf:{{0}}:delivery:{MASTODON}/it-1", "state") == "published", 90, fleet.output)
            assert "READONLY" in worker.stderr() and [fleet.sim.delivery(f"{MASTODON}/it-{n}")["writes"] for n in (0, 1)] == [1, 1]
            assert worker.running and worker.stop(60) == 0


@alone
def test_a_platform_that_moves_to_another_address_is_followed():
    """The old address goes on taking what is sent there: connections are kept for a minute at most, however busy they are."""
    with resolving(0.0, "webhook") as (fleet, names):
        port = urllib.parse.urlsplit(fleet.sim.urls["webhook"]).port
        path = urllib.parse.urlsplit(fleet.sim.urls["webhook"]).path
        fleet.channel_extra = {"webhook": {"pace": {"spacing_ms": 250, "burst": 1},
                                           "settings_extra": {"url": f"http://hooks.lf-test.example:{port}{path}"}}}
        fleet.write_config()
        names.address = "127.0.0.2"
        numbers = itertools.count()

        def arrives():
            name, = fleet.add_many(WEBHOOK, [f"it-{next(numbers)}"])
            fleet.wait_state(name, "published")
            return fleet.sim.delivery(name)
        with Recorder({}, address=("127.0.0.2", port)) as old:
            worker = fleet.start_worker()
            assert not arrives() and len(old.requests) == 1
            names.address = "127.0.0.1"
            wait_for(arrives, 120, lambda: f"anything to arrive at the new address; the old one has {len(old.requests)}")
            before = len(old.requests)
            assert all(arrives() for _ in range(10)) and len(old.requests) == before, "and nothing goes back"
            print(f"the old address had {before} of {next(numbers)}")
        assert worker.stop(60) == 0
