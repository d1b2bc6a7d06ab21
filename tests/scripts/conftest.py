# SPDX-License-Identifier: MIT
import pytest

from ledger_calls import Ledger
from lib.redis_server import RedisServer


@pytest.fixture(scope="module")
def redis_server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def ledger(redis_server):
    """An empty database, with the consumer group of the queue."""
    client = redis_server.client()
    client.flushall()
    made = Ledger(client)
    client.xgroup_create(made.key("queue"), "workers", "0", mkstream=True)
    return made
