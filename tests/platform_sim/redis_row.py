# SPDX-License-Identifier: MIT
"""Reads delivery rows from Redis: the smallest RESP client that can do it, with a pool that any thread may use.

This file only ever reads. It is separate from every client that landfall uses, so that the judge shares no code with
what it judges. A row that cannot be read is RowUnreadable, never "missing".
"""
import os
import queue
import socket

POOL_SIZE = 8
TIMEOUT_S = 3.0
PASSWORD_VARIABLE = "PLATFORM_SIM_REDIS_PASSWORD"


class RowUnreadable(Exception):
    """Redis did not answer, or answered with an error. The text says which."""


class Link:
    """One connection to Redis; an address is `unix:/path` or `host:port`."""

    def __init__(self, address):
        if address.startswith("unix:"):
            self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._sock.settimeout(TIMEOUT_S)
            self._sock.connect(address[len("unix:"):])
        else:
            host, _, port = address.rpartition(":")
            self._sock = socket.create_connection((host, int(port)), TIMEOUT_S)
        self._file = self._sock.makefile("rb")
        password = os.environ.get(PASSWORD_VARIABLE)
        if password:
            self.call("AUTH", password)

    def call(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            data = word.encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self._sock.sendall(b"".join(parts))
        return self._reply()

    def _reply(self):
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("connection to Redis ended")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RowUnreadable(rest.decode("utf-8", "replace"))
        if kind in (b"+", b":"):
            return rest.decode()
        count = int(rest)
        if kind == b"$":
            return None if count < 0 else self._bulk(count)
        if kind == b"*":
            return [self._reply() for _ in range(count)]
        raise RowUnreadable("not a Redis answer")

    def _bulk(self, count):
        data = self._file.read(count + 2)
        if len(data) != count + 2:
            raise OSError("connection to Redis ended")
        return data[:-2].decode("utf-8", "replace")

    def close(self):
        self._file.close()
        self._sock.close()


class RowReader:
    """read(delivery) gives the row as a dict of strings; an empty dict if there is no such row."""

    def __init__(self, address, prefix, partition):
        self._address = address
        self._key = f"{prefix}:{{{partition}}}:delivery:"
        self._idle = queue.LifoQueue(POOL_SIZE)

    def read(self, delivery):
        try:
            link = self._idle.get_nowait()
        except queue.Empty:
            link = None
        if link is not None:
            try:
                return self._read_with(link, delivery)
            except (OSError, ValueError):
                pass  # a pooled connection may have died with the Redis it spoke to; a new one decides
        try:
            return self._read_with(Link(self._address), delivery)
        except (OSError, ValueError) as error:
            raise RowUnreadable(f"no answer from Redis ({type(error).__name__})") from error

    def _read_with(self, link, delivery):
        try:
            flat = link.call("HGETALL", self._key + delivery)
        except RowUnreadable:
            self._give_back(link)
            raise
        except (OSError, ValueError):
            link.close()
            raise
        self._give_back(link)
        return dict(zip(flat[::2], flat[1::2]))

    def _give_back(self, link):
        try:
            self._idle.put_nowait(link)
        except queue.Full:
            link.close()
