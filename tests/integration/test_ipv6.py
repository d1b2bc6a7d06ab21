# SPDX-License-Identifier: MIT
"""Redis and platforms that are reached by addresses of the sixth version."""
import contextlib
import socket
import threading
import urllib.parse

import pytest

from lib.fleet import SECRETS, UNPACED, Fleet


def loopback_has_it():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


pytestmark = pytest.mark.skipif(not loopback_has_it(), reason="no ::1 on this machine")


class Relay:
    """What comes to a port of ::1 goes on to a port of 127.0.0.1."""

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.connections += 1
                server = socket.create_connection(self.target)
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.close()


def test_redis_and_a_platform_by_their_addresses_in_brackets():
    with Fleet(["mastodon", "webhook"], channel=UNPACED) as fleet:
        redis, platform = Relay(fleet.redis.port), Relay(urllib.parse.urlsplit(fleet.sim.urls["mastodon"]).port)
        path = urllib.parse.urlsplit(fleet.sim.urls["mastodon"]).path
        fleet.config_extra = {"redis": {"url": f"redis://[::1]:{redis.port}"}}
        fleet.add_channel("mastodon/brand", SECRETS["mastodon"], {"instance": f"http://[::1]:{platform.port}{path}"})
        fleet.platforms.remove("mastodon")
        fleet.write_config()
        fleet.sim.fault("commit_then_close", "mastodon")
        deliveries = fleet.add_many("mastodon/brand", ["it-1", "it-2"])
        worker, reconciler = fleet.start_worker(), fleet.start_reconciler()
        fleet.wait_states(deliveries, "published", timeout_s=60)
        fleet.check_judge(**dict.fromkeys(deliveries, 1))
        assert redis.connections >= 2 and platform.connections >= 3
        assert [worker.stop(), reconciler.stop()] == [0, 0]
        redis.close()
        platform.close()
