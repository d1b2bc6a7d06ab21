# SPDX-License-Identifier: MIT
"""The simulator as a process: start, stop, many connections, bad HTTP, and what it costs."""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from platform_sim.client import TESTS_FOLDER, SimulatorProcess
from simhttp import Account, call, eventually, raw, read_all

CONNECTIONS = 256


def start(*arguments, **options):
    return subprocess.Popen([sys.executable, "-m", "platform_sim", *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": TESTS_FOLDER}, **options)


def test_ready_file_and_first_line_say_the_port(tmp_path):
    ready = tmp_path / "ready"
    process = start("--ready-file", str(ready), "--instance",
                    "x=webhook:channel=webhook/a,token=whsec_AAAA,success_status=202")
    port = int(process.stdout.readline())
    while not ready.exists():
        time.sleep(0.01)
    assert ready.read_text() == f"{port}\n" and os.listdir(tmp_path) == ["ready"]
    state = call("GET", f"http://127.0.0.1:{port}/_admin/state").json
    assert state["instances"]["x"]["settings"]["success_status"] == 202
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 0 and process.communicate() == (b"", b"")


def test_instances_from_a_file(tmp_path):
    path = tmp_path / "instances.json"
    path.write_text('[{"name": "w", "platform": "webhook", "channel": "webhook/a", "token": "whsec_AAAA", "gone": true}]')
    process = start("--instances", str(path))
    port = int(process.stdout.readline())
    assert call("POST", f"http://127.0.0.1:{port}/w", body={"id": "1"}).status == 410
    process.terminate()
    assert process.wait(5) == 0
    process.communicate()


def test_what_is_left_of_a_test_does_not_count_in_the_next(sim):
    sim.fault("commit_late", "m", after_ms=150, close="fin")
    sock = raw(sim.urls["m"], "/api/v1/statuses", b'{"status":"https://blog.example/p/1"}',
               ("Authorization: Bearer mastodon-token-1", "Content-Type: application/json"))
    assert read_all(sock) == (b"", "fin")
    sim.reset()
    eventually(lambda: sim.get("state")["connections"] <= 1)
    report = sim.report()
    assert (report["totals"]["commits"], report["deliveries"], report["violations"]) == (0, {}, [])


def test_starts_quickly():
    """Measured in processor time, so that a busy machine does not matter."""
    with SimulatorProcess() as own, open(f"/proc/{own.process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
        assert (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") < 0.3


def test_bad_arguments_say_what_is_wrong():
    for arguments, words in ((["--instance", "x=teletext:channel=a/b,token=t"], b"there is no platform 'teletext'"),
                             (["--instance", "x=mastodon:channel=a/b"], b"needs channel and token"),
                             (["--instance", "x=mastodon:channel=a/b,token=t,speed=1"], b"has no setting 'speed'"),
                             (["--instance", "x=mastodon:channel=a/b,token=t,ghost=perhaps"], b"is not a bool")):
        process = start(*arguments)
        assert words in process.communicate(timeout=10)[1] and process.returncode == 1


def test_ends_with_the_process_that_started_it():
    process = start("--exit-with-stdin", stdin=subprocess.PIPE)
    process.stdout.readline()
    process.stdin.close()
    assert process.wait(5) == 0
    process.stdout.close()
    process.stderr.close()


def test_stops_while_connections_are_held():
    spec = {"name": "m", "platform": "mastodon", "channel": "mastodon/brand", "token": "token-1"}
    with SimulatorProcess([spec]) as own:
        own.fault("hold", "m", times=-1)
        socks = [raw(own.urls["m"], "/api/v1/statuses", b'{"status":"https://blog.example/p/1"}',
                     ("Authorization: Bearer token-1", "Content-Type: application/json")) for _ in range(4)]
        idle = socket.create_connection(("127.0.0.1", own.port), 5)
        own.wait("holding", 4)
        begin = time.monotonic()
        assert own.stop() == 0 and time.monotonic() - begin < 2
        for sock in [*socks, idle]:
            sock.close()


def test_many_connections_at_once(sim):
    """All of them commit, none is lost, none is counted twice."""
    replies = []

    def one(number):
        account = Account(sim.urls["m"], {"Authorization": "Bearer mastodon-token-1"})
        body = {"status": f"https://blog.example/p/{number}"}
        replies.append(account.post("/api/v1/statuses", body, timeout_s=60).status)

    sim.fault("hold", "m", times=-1)
    threads = [threading.Thread(target=one, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    sim.wait("holding", CONNECTIONS, timeout_ms=60_000)
    assert sim.get("state")["connections"] >= CONNECTIONS
    assert sim.release() == CONNECTIONS
    for thread in threads:
        thread.join()
    assert replies == [200] * CONNECTIONS
    report = sim.report()
    assert report["totals"]["commits"] == report["totals"]["deliveries"] == CONNECTIONS and report["violations"] == []


def test_one_connection_carries_many_requests(sim, mastodon):
    connection = mastodon.connect()
    for number in range(20):
        body = {"status": f"https://blog.example/p/{number}"}
        assert mastodon.post("/api/v1/statuses", body, connection).status == 200
    connection.close()
    assert sim.report()["instances"]["m"]["on_reused_connection"] == 19


def test_chunked_request(sim, mastodon):
    body = b'{"status":"https://blog.example/p/1"}'
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:10], body[10:])) + b"0\r\n\r\n"
    sock = socket.create_connection(("127.0.0.1", sim.port), 5)
    sock.sendall(b"POST /m/api/v1/statuses HTTP/1.1\r\nAuthorization: Bearer mastodon-token-1\r\n"
                 b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks)
    assert read_all(sock)[0].startswith(b"HTTP/1.1 200") and sim.delivery("mastodon/brand/1")["commits"] == 1


def test_what_is_not_http(sim):
    for data in (b"nonsense\r\n\r\n", b"GET / SPDY/3\r\n\r\n", b"POST /m/x HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                 b"GET / HTTP/1.1\r\nno colon\r\n\r\n"):
        sock = socket.create_connection(("127.0.0.1", sim.port), 5)
        sock.sendall(data)
        assert read_all(sock)[0].startswith(b"HTTP/1.1 400 ")


def test_a_body_that_never_comes_is_no_write(sim):
    sock = socket.create_connection(("127.0.0.1", sim.port), 5)
    sock.sendall(b"POST /m/api/v1/statuses HTTP/1.1\r\nContent-Length: 50\r\n\r\n{")
    sock.close()
    assert call("GET", f"http://127.0.0.1:{sim.port}/nobody/x").status == 404
    assert sim.report()["totals"]["requests"] == 0


def test_nothing_listens_outside_this_machine(sim):
    with open("/proc/net/tcp", encoding="ascii") as table:
        lines = [line.split()[1] for line in table.readlines()[1:]]
    assert {line.split(":")[0] for line in lines if int(line.split(":")[1], 16) == sim.port} == {"0100007F"}
