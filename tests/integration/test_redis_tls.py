# SPDX-License-Identifier: MIT
"""TLS to Redis: always verified, by authority and by name; and what a build without it says."""
import subprocess

import pytest

from lib.fleet import Fleet
from lib.procs import free_port
from lib.redis_topology import Certificates, tls_options
from lib.tree import program

BUILT_IN = "with TLS" in subprocess.run([program("landfall-worker"), "--version"], capture_output=True, text=True, check=True).stdout
needs_tls = pytest.mark.skipif(not BUILT_IN, reason="this build has no TLS to Redis: the hiredis of this system has none")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(str(tmp_path_factory.mktemp("tls")))


class TlsFleet(Fleet):
    def __init__(self, certificates, name="server", clients="no"):
        self.tls_port = free_port()
        super().__init__(["mastodon"], redis_options={"tls_port": self.tls_port, **tls_options(certificates, name, clients)})

    def check(self, host="127.0.0.1", **redis):
        """Exit code and words of landfall-worker --check by way of the TLS port."""
        self.config_extra = {"redis": {"url": f"rediss://{host}:{self.tls_port}", **redis}}
        self.write_config()
        process = self.start_worker("--check")
        return process.wait(20), process.stdout() + process.stderr()


@pytest.mark.skipif(BUILT_IN, reason="this build has TLS to Redis")
def test_a_build_without_tls_says_so_and_does_not_fall_back_to_plain_text():
    with Fleet(["mastodon"]) as fleet:
        fleet.config_extra = {"redis": {"url": f"rediss://127.0.0.1:{fleet.redis.port}"}}
        fleet.write_config()
        check = fleet.start_worker("--check")
        assert check.wait(20) == 2 and "TLS is asked for and not built in" in check.stderr(), check.stderr()


@needs_tls
def test_a_delivery_is_published_over_tls_with_names_and_with_addresses(certificates):
    with TlsFleet(certificates) as fleet:
        for number, host in enumerate(("localhost", "127.0.0.1")):
            code, words = fleet.check(host, ca_file=certificates.path("ca.crt"))
            assert code == 0, words
            deliveries = fleet.add_many("mastodon/brand", [f"it-{number}"])
            assert fleet.run_worker() == 0
            assert fleet.states(deliveries) == {"published": 1}
        fleet.check_judge()


@needs_tls
def test_a_certificate_of_an_unknown_authority_is_refused(certificates):
    with TlsFleet(certificates) as fleet:
        code, words = fleet.check()
        assert code == 2 and "is not believed" in words and "redis.ca_file" in words, words


@needs_tls
def test_a_certificate_for_another_name_is_refused(certificates):
    with TlsFleet(certificates, name="other") as fleet:
        code, words = fleet.check(ca_file=certificates.path("ca.crt"))
        assert code == 2 and "is not believed" in words and "mismatch" in words, words


@needs_tls
def test_a_redis_that_wants_a_client_certificate(certificates):
    with TlsFleet(certificates, clients="yes") as fleet:
        code, words = fleet.check(ca_file=certificates.path("ca.crt"))
        assert code == 2, words
        code, words = fleet.check(ca_file=certificates.path("ca.crt"), cert_file=certificates.path("client.crt"),
                                  key_file=certificates.path("client.key"))
        assert code == 0, words
        code, words = fleet.check(ca_file=certificates.path("ca.crt"), cert_file=certificates.path("client.crt"),
                                  key_file=certificates.path("server.key"))
        assert code == 2 and "redis.key_file" in words, words


@needs_tls
def test_a_server_that_speaks_no_tls_and_a_file_that_is_missing(certificates):
    with TlsFleet(certificates) as fleet:
        fleet.tls_port, right = fleet.redis.port, fleet.tls_port
        code, words = fleet.check(ca_file=certificates.path("ca.crt"))
        assert code == 2 and "TLS" in words, words
        fleet.tls_port = right
        code, words = fleet.check(ca_file=certificates.path("nothing.crt"))
        assert code == 2 and "redis.ca_file" in words and "nothing.crt" in words, words


@needs_tls
def test_a_worker_over_tls_survives_a_restart_of_redis(certificates):
    with TlsFleet(certificates) as fleet:
        assert fleet.check(ca_file=certificates.path("ca.crt"))[0] == 0
        worker, _ = fleet.start_worker(), fleet.start_reconciler()
        deliveries = fleet.add_many("mastodon/brand", ["it-1"])
        fleet.wait_states(deliveries, "published")
        fleet.redis.options["appendonly"] = "no"
        fleet.redis.restart()
        deliveries = fleet.add_many("mastodon/brand", ["it-2"])
        fleet.wait_states(deliveries, "published", timeout_s=60)
        assert worker.running
