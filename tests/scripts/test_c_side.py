# SPDX-License-Identifier: MIT
"""The typed calls of ledger/ on a real Redis: built by CMake, run here because a server is needed."""
import threading

import pytest

from lib.procs import Processes
from lib.redis_server import RedisServer
from lib.tree import program


@pytest.mark.parametrize("cache", ["kept", "flushed all the time"])
def test_from_submit_to_leave(tmp_path, cache):
    with RedisServer() as redis, Processes(tmp_path) as procs:
        client, ended = redis.client(), threading.Event()

        def flush():
            while not ended.wait(0.002):
                redis.client().script_flush()
        flusher = threading.Thread(target=flush)
        if cache != "kept":
            flusher.start()
        try:
            procs.run([program("ledger_course"), redis.socket_path])
        finally:
            ended.set()
            if cache != "kept":
                flusher.join()
        assert client.xinfo_consumers("lf:{3}:queue", "workers") == [], "both left"
