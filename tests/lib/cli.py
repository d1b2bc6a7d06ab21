# SPDX-License-Identifier: MIT
"""The command landfall for tests: a folder with a configuration and descriptors of two made-up platforms, and a Redis.

    with Cli(tmp_path) as cli:
        assert cli.run("submit", "-", "--to", "blog/brand", stdin=b'{"id": "1", ...}').code == 0
        assert cli.json("status")["queue"] == 1

Rows that no verb makes are written as the contract has them: cli.row("blog/brand/1", state="uncertain", ...).
"""
import json
import os
import subprocess
from typing import NamedTuple

from lib.redis_server import RedisServer
from lib.tree import program

BLOG = {
    "platform": "blog", "title": "Blog",
    "settings": {"origin": {"type": "origin", "required": True, "help": "Where it is."}},
    "instance": "origin", "auth": {"kind": "bearer"},
    "item": {"needs": [["content_text"]], "limits": [{"what": ".text", "unit": "graphemes", "max": 20}]},
    "text": ".item.content_text", "tier": "key", "repeats": "harmful",
    "key": {"format": "plain", "max_length": 64, "window_s": 3600},
    "write": {"gives_id": True, "request": {"method": "POST", "url": ".settings.origin + \"/posts\"",
                                            "body": {"json": "{text: .text}"}}},
    "accept": [{"status": [200, 201], "outcome": "committed", "id": ".answer.body.id"}],
}
SECRET = "planted-secret-0123456789"


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Cli:
    def __init__(self, folder):
        self.folder = os.fspath(folder)
        self.redis = RedisServer()
        self.env = {**os.environ, "BLOG_TOKEN": SECRET}

    def __enter__(self):
        self.redis.__enter__()
        self.client = self.redis.client()
        os.makedirs(os.path.join(self.folder, "descriptors"), exist_ok=True)
        for name in ("blog", "news"):
            self.write(f"descriptors/{name}.json", {**BLOG, "platform": name})
        self.config()
        return self

    def __exit__(self, *exc):
        self.redis.close()

    def config(self, **more):
        channel = {"settings": {"origin": "https://blog.example"}, "credential": {"env": "BLOG_TOKEN"}}
        channels = {name: {"platform": name.split("/")[0], **channel} for name in ("blog/brand", "news/brand")}
        redis = {"url": self.redis.url}
        self.write("landfall.json", {"environment": "test", "redis": redis, "channels": channels, **more})

    def write(self, name, content):
        """Bytes or text as they are, anything else as JSON."""
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def run(self, *words, stdin=b"", timeout_s=60, env=None):
        done = subprocess.run([program("landfall"), *words], input=stdin, capture_output=True, cwd=self.folder,
                              env={**self.env, **(env or {})}, timeout=timeout_s)
        result = Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
        assert SECRET not in result.out + result.err
        assert "Sanitizer" not in result.err, result.err
        return result

    def json(self, *words, code=0, **options):
        """Runs with --json, insists on the exit code and on one document, and returns it."""
        done = self.run(*words, "--json", **options)
        assert done.code == code, done
        return json.loads(done.out)

    def key(self, kind, name=""):
        return f"lf:{{0}}:{kind}" + (f":{name}" if name else "")

    def row(self, delivery, **fields):
        """Writes a row, its count, and where it belongs by its state."""
        channel = "/".join(delivery.split("/")[:2])
        self.client.sadd(self.key("channels"), channel)
        self.client.hincrby(self.key("counts"), f"{channel} {fields['state']}", 1)
        self.client.hset(self.key("delivery", delivery), mapping={"rev": 1, "content": "0" * 32, "gen": 0, **fields})
        if fields["state"] == "uncertain":
            doubt = {"delivery": delivery, "attempt": 1, "reason": fields["reason"], "since": 1}
            entry = self.client.xadd(self.key("journal"), doubt)
            self.client.hset(self.key("delivery", delivery), "journal", entry)
            self.client.zadd(self.key("uncertain", channel), {delivery: fields["since"]})

    def now_ms(self):
        seconds, us = self.client.time()
        return seconds * 1000 + us // 1000

    def dump(self):
        """All keys and what they hold, to compare."""
        raw = self.redis.client(decode_responses=False)
        return {key: raw.dump(key) for key in raw.keys("*")}
