# SPDX-License-Identifier: MIT
"""landfall doctor for tests: its findings by check, and rows where their states say they must be."""
import json

import pytest

from lib.cli import Cli

D = "blog/brand/one"
SEEN = {}  # check -> severities, of all calls of this process


@pytest.fixture
def cli(tmp_path):
    with Cli(tmp_path) as one:
        one.client.config_set("appendonly", "yes")
        yield one


def doctor(cli, *words, **options):
    """check -> finding, and the whole document; the exit code agrees with the worst finding."""
    done = cli.run("doctor", *words, "--json", **options)
    document = json.loads(done.out)
    found = {finding["check"]: finding for finding in document["findings"]}
    worst = {finding["severity"] for finding in found.values()}
    for check, finding in found.items():
        SEEN.setdefault(check, set()).add(finding["severity"])
    assert done.code == document["exit"] == (4 if "unsafe" in worst else 3 if "risk" in worst else 0), found
    for finding in found.values():
        assert bool(finding["cost"]) == bool(finding["todo"]) == (finding["severity"] != "ok"), finding
    return found, document


def severity(cli, check, *words, **options):
    return doctor(cli, *words, **options)[0][check]["severity"]


def place(cli, delivery, **fields):
    """A row where its state says it must be."""
    now = cli.now_ms()
    cli.row(delivery, **{"reason": "new", "since": now, "attempt": 1, **fields})
    if fields["state"] in ("approved", "claimed"):
        cli.client.zadd(cli.key("agenda"), {f"delivery:{delivery}": now + 60000})
    if fields["state"] == "uncertain":
        cli.client.zadd(cli.key("agenda"), {f"walk:{'/'.join(delivery.split('/')[:2])}": now + 60000})


def waiting(cli, name, after, age_s=3600):
    """A delivery of blog/brand that waits for another one, as a claim leaves it."""
    place(cli, f"blog/brand/{name}", state="approved", reason="predecessor", since=cli.now_ms() - age_s * 1000)
    item = {"id": name, "content_text": "x", "landfall": {"channels": {"blog/brand": {"after": after}}}}
    cli.client.hset(cli.key("request", f"blog/brand/{name}"), "content", json.dumps(item))
