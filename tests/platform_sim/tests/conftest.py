# SPDX-License-Identifier: MIT
"""A simulator with all five platforms, reset for each test, and a private Redis whose rows the tests write."""
import pytest

from lib.redis_server import RedisServer
from platform_sim.client import SimulatorProcess
from platform_sim.redis_row import Link
from simhttp import Account

WEBHOOK_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
INSTANCES = (
    {"name": "m", "platform": "mastodon", "channel": "mastodon/brand", "token": "mastodon-token-1", "own_port": True},
    {"name": "f", "platform": "forem", "channel": "forem/brand", "token": "forem-key-1"},
    {"name": "b", "platform": "bluesky", "channel": "bluesky/brand", "token": "app-password-1"},
    {"name": "i", "platform": "indexnow", "channel": "indexnow/blog", "token": "indexnow-key-1"},
    {"name": "w", "platform": "webhook", "channel": "webhook/partner", "token": WEBHOOK_SECRET},
)


@pytest.fixture(scope="session")
def redis():
    """A connection to a redis-server of this session's own."""
    with RedisServer() as server:
        link = Link("unix:" + server.socket_path)
        link.address = "unix:" + server.socket_path
        yield link
        link.close()


@pytest.fixture(scope="session")
def running():
    """One simulator without a ledger, for what only concerns platforms and faults."""
    with SimulatorProcess(INSTANCES) as simulator:
        yield simulator


@pytest.fixture
def sim(running):
    running.reset()
    yield running
    kinds = running.report()["violation_counts"]
    assert "simulator_error" not in kinds, running.report()["violations"]


@pytest.fixture(scope="session")
def running_with_ledger(redis):
    with SimulatorProcess(INSTANCES, redis=redis.address) as simulator:
        yield simulator


@pytest.fixture
def judged(running_with_ledger, redis):
    """A simulator that asks Redis; row(delivery, **fields) writes a row."""
    redis.call("FLUSHALL")
    running_with_ledger.reset()

    def row(delivery, **fields):
        redis.call("HSET", "lf:{0}:delivery:" + delivery, *[str(part) for pair in fields.items() for part in pair])

    running_with_ledger.row = row
    return running_with_ledger


@pytest.fixture
def mastodon(sim):
    return Account(sim.urls["m"], {"Authorization": "Bearer mastodon-token-1"})


@pytest.fixture
def forem(sim):
    return Account(sim.urls["f"], {"api-key": "forem-key-1"})


@pytest.fixture
def bluesky(sim):
    return Account(sim.urls["b"])
