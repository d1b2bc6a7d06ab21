# SPDX-License-Identifier: MIT
"""Finds planted secrets: in every form in which one travels, in everything that programs leave behind.

    with Monitor(redis.socket_path, password) as monitor:
        ...
    found({"mastodon": TOKEN}, {"log": log, "monitor": monitor.bytes(), **everything(client)})   # [] or what is where
"""
import base64
import html
import json
import re
import socket
import threading
import urllib.parse

BEGINNING_BYTES = 12


def _base64_inside(secret, padding, encode):
    """What of the secret's base64 is the same whatever stands before and after it."""
    own = (padding + len(secret)) * 8 // 6  # characters that no byte behind it has a part in
    return encode(b"\0" * padding + secret)[(0, 2, 3)[padding]:own]


def forms(secret):
    """name -> bytes: the secret as it is, as JSON, URLs, forms, base64 and hex carry it, and its beginning alone."""
    plain = secret.encode()
    found = {
        "plain": plain, "beginning": plain[:BEGINNING_BYTES], "hex": plain.hex().encode(),
        "JSON": json.dumps(secret)[1:-1].encode(), "HTML": html.escape(secret).replace("&#x27;", "&#39;").encode(),
        "percent": urllib.parse.quote(secret, safe="").encode(), "form": urllib.parse.quote_plus(secret).encode(),
        "percent, slashes": urllib.parse.quote(secret).encode(),
    }
    found["percent, lower case"] = re.sub(rb"%..", lambda code: code.group().lower(), found["percent"])
    for padding in range(3):
        found[f"base64 at {padding}"] = _base64_inside(plain, padding, base64.b64encode)
        found[f"base64 for URLs at {padding}"] = _base64_inside(plain, padding, base64.urlsafe_b64encode)
    return found


def found(secrets, places):
    """[(name of the secret, form, place, excerpt)] of all that stands in places (name -> bytes)."""
    hits = []
    for name, secret in secrets.items():
        for form, needle in forms(secret).items():
            for place, content in places.items():
                at = content.find(needle)
                if at >= 0:
                    hits.append((name, form, place, content[max(0, at - 60):at + len(needle) + 20]))
    return hits


def everything(client):
    """All keys of a Redis (a client that does not decode) with all that they hold: name -> bytes."""
    readers = {
        b"string": lambda key: [client.get(key)],
        b"hash": lambda key: [part for pair in client.hgetall(key).items() for part in pair],
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1),
        b"list": lambda key: client.lrange(key, 0, -1),
        b"stream": lambda key: [part for entry in client.xrange(key) for pair in entry[1].items() for part in pair],
    }
    places = {}
    for key in client.scan_iter():
        places[f"redis {key.decode('utf-8', 'replace')}"] = b"\n".join([key, *readers[client.type(key)](key)])
    return places


class Monitor:
    """All commands that a Redis gets, as MONITOR shows them. Redis leaves AUTH out by itself."""

    def __init__(self, socket_path, password=None):
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(socket_path)
        self._seen = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        if password:
            self._ask(b"AUTH", password.encode())
        self._ask(b"MONITOR")

    def _ask(self, *words):
        parts = [b"*%d\r\n" % len(words)] + [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
        self._link.sendall(b"".join(parts))
        assert self._link.recv(64).startswith(b"+OK")

    def _read(self):
        while True:
            try:
                data = self._link.recv(1 << 16)
            except OSError:
                return
            if not data:
                return
            self._seen += data

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._link.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._link.close()

    def bytes(self):
        """What was seen, with the escapes of MONITOR taken back: quotes and backslashes."""
        return bytes(self._seen).replace(b'\\"', b'"').replace(b"\\\\", b"\\")
