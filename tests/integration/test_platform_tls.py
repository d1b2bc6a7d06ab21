# SPDX-License-Identifier: MIT
"""Certificates of platforms are verified always, by authority and by name: nothing is sent to whoever cannot prove who it is.

The programs trust what the system trusts; lib/authority.py puts an authority of our own in its place, for one program."""
import http.server
import ssl
import threading

import pytest

from lib.authority import can_trust, trusting
from lib.fleet import CHANNELS, Fleet
from lib.procs import Process, wait_for
from lib.redis_topology import Certificates
from lib.tree import program

CHANNEL = CHANNELS["webhook"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(str(tmp_path_factory.mktemp("tls")))


class Receiver:
    """A webhook's receiver behind TLS; counts what arrives after the handshake."""

    def __init__(self, certificates, name):
        self.bodies, self.handshakes, self.protocols = [], 0, []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                receiver.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def finish_request(self, request, client_address):
                receiver.handshakes += 1
                try:
                    with context.wrap_socket(request, server_side=True) as connection:
                        receiver.protocols.append(connection.selected_alpn_protocol())
                        Handler(connection, client_address, self)
                except (ssl.SSLError, OSError):
                    pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2", "http/1.1"])
        context.load_cert_chain(certificates.path(f"{name}.crt"), certificates.path(f"{name}.key"))
        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def url(self, host="localhost"):
        return f"https://{host}:{self.server.server_address[1]}/hook"


def start_worker(fleet, authority=None):
    if authority is None:
        return fleet.start_worker()
    argv = trusting(authority, [program("landfall-worker"), "--config", fleet.config_path])
    process = Process(argv, fleet.dir, name="trusting-worker", env={"HOME": fleet.dir, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, env_only=True, cwd=fleet.dir)
    fleet.processes.append(process)
    return process


def deliver(receiver, authority=None, host="localhost"):
    """The row of a delivery to the receiver, after it was sent or could not be, and what the worker said."""
    with Fleet(["webhook"], channel={"webhook": {"settings_extra": {"url": receiver.url(host)}}}) as fleet:
        fleet.add(CHANNEL, fleet.item("it-1"))
        start_worker(fleet, authority)
        row = wait_for(lambda: (row := fleet.row(f"{CHANNEL}/it-1")).get("reason") in ("not_sent", "confirmed") and row, 30,
                       what=lambda: f"an attempt: {fleet.row(f'{CHANNEL}/it-1')}\n{fleet.output()}")
        return row, fleet.db.hget(f"lf:{{0}}:request:{CHANNEL}/it-1", "detail") or ""


def test_an_authority_that_the_system_does_not_trust(certificates):
    with Receiver(certificates, "server") as receiver:
        row, detail = deliver(receiver)
        assert row["state"] == "approved" and "certificate" in detail, (row, detail)
        assert receiver.handshakes > 0 and receiver.bodies == []


def test_a_certificate_that_signs_itself(certificates):
    with Receiver(certificates, "ca") as receiver:
        row, detail = deliver(receiver)
        assert row["state"] == "approved" and "certificate" in detail, (row, detail)
        assert receiver.handshakes > 0 and receiver.bodies == []


def test_the_name_counts_too(certificates):
    if not can_trust(certificates.path("ca.crt")):
        pytest.skip("no mount namespace may be made here")
    authority = certificates.path("ca.crt")
    with Receiver(certificates, "server") as receiver:
        row, _ = deliver(receiver, authority)
        assert row["state"] == "published" and len(receiver.bodies) == 1 and b"it-1" in receiver.bodies[0]
    with Receiver(certificates, "other") as receiver:
        row, detail = deliver(receiver, authority)
        assert row["state"] == "approved" and "localhost" in detail, (row, detail)
        assert receiver.handshakes > 0 and receiver.bodies == []


def test_http_2_is_not_spoken_where_a_server_prefers_it(certificates):
    """A stream that is reset there may or may not have been processed, and the library does not tell which."""
    if not can_trust(certificates.path("ca.crt")):
        pytest.skip("no mount namespace may be made here")
    with Receiver(certificates, "server") as receiver:
        assert deliver(receiver, certificates.path("ca.crt"))[0]["state"] == "published"
        assert receiver.protocols and "h2" not in receiver.protocols, receiver.protocols
