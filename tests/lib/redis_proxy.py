# SPDX-License-Identifier: MIT
"""A TCP proxy before Redis that counts round trips and breaks connections in the ways networks do.

    with RedisProxy(redis.socket_path) as proxy:
        start_program(proxy.url)
        proxy.cut_after("granted", 20)      # the connection dies before the 21st of them is delivered
        proxy.round_trips                   # of all connections so far

What a client has sent reaches Redis before anything is cut, so Redis runs all of it and only answers are lost. A round
trip is a burst of the client followed by a burst of the server. Two threads for each connection; standard library only.
"""
import contextlib
import socket
import threading
import time

from lib.procs import free_port

CHUNK_BYTES = 65536
ACCEPT_TICK_S = 0.05


class _Cut:
    """Once, on whichever connection it happens: lets `count` of the needle through and cuts before the next."""

    def __init__(self, needle, count):
        self.needle, self.left = needle, count
        self.done = threading.Event()


class _Connection:
    def __init__(self, proxy, client, server):
        self.proxy, self.client, self.server = proxy, client, server
        self.asked = self.abandoned = False
        self.round_trips = 0
        self.tail = b""
        for work, source, target in ((self._requests, client, server), (self._answers, server, client)):
            threading.Thread(target=self._pump, args=(work, source, target), daemon=True).start()

    def _pump(self, work, source, target):
        try:
            while True:
                data = source.recv(CHUNK_BYTES)
                if not data:
                    break
                self.proxy.flows.wait()
                if self.abandoned:
                    continue
                if not work(data, target):
                    break
        except OSError:
            pass
        self.close()

    def _requests(self, data, target):
        self.asked = True
        target.sendall(data)
        return True

    def _answers(self, data, target):
        if self.asked:
            self.asked = False
            self.round_trips += 1
        if self.proxy.delay_s:
            time.sleep(self.proxy.delay_s)
        at = self._cut_at(data)
        target.sendall(data if at is None else data[:at])
        return at is None

    def _cut_at(self, data):
        """Where in `data` the connection is to die; None: nowhere. A needle may begin in the data before."""
        with self.proxy.lock:
            cut = self.proxy.cut
            if cut is None:
                return None
            seen, start = self.tail + data, 0
            while (found := seen.find(cut.needle, start)) >= 0:
                if cut.left == 0:
                    self.proxy.cut = None
                    cut.done.set()
                    return max(found - len(self.tail), 0)
                cut.left -= 1
                start = found + len(cut.needle)
            self.tail = seen[max(start, len(seen) - len(cut.needle) + 1):]
            return None

    def close(self):
        for sock in (self.client, self.server):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self.proxy.forget(self)


class RedisProxy:
    def __init__(self, socket_path):
        self.socket_path = socket_path
        self.lock = threading.Lock()
        self.flows = threading.Event()  # cleared: everything stands still and nothing is closed
        self.flows.set()
        self.delay_s = 0.0
        self.cut = None
        self.accepted = 0
        self.connections = set()
        self.counted = 0  # round trips of connections that are gone
        self.port = None
        self.listener, self.listening = None, False
        self.ended = False

    def __enter__(self):
        self.accept()
        return self

    def __exit__(self, *exc):
        self.ended = True
        self.refuse()
        self.listener.close()
        self.flows.set()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    @property
    def round_trips(self):
        with self.lock:
            return self.counted + sum(connection.round_trips for connection in self.connections)

    # ---- faults

    def cut_after(self, word, count=0):
        """Delivers `count` answers that have the word, and cuts the connection before the next. Returns an event: done."""
        needle = f"${len(word)}\r\n{word}\r\n".encode()
        with self.lock:
            self.cut = _Cut(needle, count)
            return self.cut.done

    def freeze(self):
        """Half-open: nothing is forwarded and nothing is closed, new connections included."""
        self.flows.clear()

    def thaw(self):
        """Goes on; what was on its way arrives late."""
        self.flows.set()

    def abandon(self):
        """As a NAT that forgot them: what is open now carries nothing any more and is not closed. New connections work."""
        with self.lock:
            for connection in self.connections:
                connection.abandoned = True

    def refuse(self):
        """Closes all connections and refuses new ones, until accept(). The port stays ours meanwhile."""
        if self.listening:
            self.listening = False
            self.listener.shutdown(socket.SHUT_RDWR)
        self.drop_all()

    def accept(self):
        if self.listener is None:
            self.port = free_port()  # one that the kernel chooses in bind() would be given up with shutdown()
            self.listener = socket.socket()
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.listener.bind(("127.0.0.1", self.port))
            self.listener.settimeout(ACCEPT_TICK_S)
        self.listener.listen(128)
        self.listening = True
        threading.Thread(target=self._accept_loop, daemon=True).start()

    def drop_all(self):
        with self.lock:
            connections = list(self.connections)
        for connection in connections:
            connection.close()

    # ---- inside

    def _accept_loop(self):
        while self.listening:
            try:
                client, _ = self.listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self._connect(client)

    def _connect(self, client):
        self.accepted += 1
        server = socket.socket(socket.AF_UNIX)
        try:
            client.settimeout(None)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.connect(self.socket_path)
        except OSError:
            client.close()
            server.close()
            return
        with self.lock:
            self.connections.add(_Connection(self, client, server))

    def forget(self, connection):
        with self.lock:
            if connection in self.connections:
                self.connections.discard(connection)
                self.counted += connection.round_trips
