# SPDX-License-Identifier: MIT
"""The typed calls of ledger/ on a real Redis: built by CMake, run here because a server is needed."""
import os

import pytest

from lib.procs import Processes
from lib.redis_server import RedisServer
from lib.tree import BUILD

COURSE = os.path.join(BUILD, "bin", "ledger_course")


@pytest.mark.parametrize("server", ["as it is", "without the script cache"])
def test_from_submit_to_leave(tmp_path, server):
    if not os.path.exists(COURSE):
        pytest.fail(f"{COURSE} is not built")
    with RedisServer() as redis, Processes(tmp_path) as procs:
        if server == "without the script cache":
            redis.client().script_flush()
        procs.run([COURSE, redis.socket_path])
        client = redis.client()
        assert client.xinfo_consumers("lf:{3}:queue", "workers") == [], "both left"
        assert client.client_list()[-1]["name"] in ("", "course")
