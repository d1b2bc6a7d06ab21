# SPDX-License-Identifier: MIT
"""A small HTTP client for the simulator's tests: it never follows, never repeats, and shows the bytes if asked to."""
import http.client
import json
import socket
import time
import urllib.parse

TIMEOUT_S = 20
EVENTUALLY_S = 10


def eventually(condition):
    """Waits, within a bound, until condition() is true."""
    end = time.monotonic() + EVENTUALLY_S
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def call(method, url, headers=None, body=None, connection=None, timeout_s=TIMEOUT_S):
    """One request; a dict or list as body is sent as JSON."""
    parts = urllib.parse.urlsplit(url)
    headers = dict(headers or {})
    if isinstance(body, (dict, list)):
        headers.setdefault("Content-Type", "application/json")
        body = json.dumps(body).encode()
    own = connection is None
    connection = connection or http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
    try:
        connection.request(method, parts.path + ("?" + parts.query if parts.query else ""), body, headers)
        answer = connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read())
    finally:
        if own:
            connection.close()


class Account:
    """Calls below one instance, with the credential's header."""

    def __init__(self, base_url, headers=None):
        self.base_url, self.headers = base_url, headers or {}

    def get(self, path, **headers):
        return call("GET", self.base_url + path, {**self.headers, **headers})

    def post(self, path, body, connection=None, timeout_s=TIMEOUT_S, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return call("POST", self.base_url + path, {**self.headers, **named}, body, connection, timeout_s)

    def connect(self):
        parts = urllib.parse.urlsplit(self.base_url)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_S)


def raw(base_url, path, body=b"{}", headers=(), method="POST"):
    """Sends one request and returns the socket, so that a test can watch the connection itself."""
    parts = urllib.parse.urlsplit(base_url)
    sock = socket.create_connection((parts.hostname, parts.port), TIMEOUT_S)
    send(sock, base_url, path, body, headers, method)
    return sock


def send(sock, base_url, path, body=b"{}", headers=(), method="POST"):
    parts = urllib.parse.urlsplit(base_url)
    lines = [f"{method} {parts.path}{path} HTTP/1.1", "Host: sim", f"Content-Length: {len(body)}", *headers]
    sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def read_all(sock, limit=1 << 24):
    """(bytes, how) until the peer ends: how is "fin", "rst" or "limit"."""
    data = b""
    while len(data) < limit:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            return data, "rst"
        if not piece:
            return data, "fin"
        data += piece
    return data, "limit"
