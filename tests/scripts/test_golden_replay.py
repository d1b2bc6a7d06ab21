# SPDX-License-Identifier: MIT
"""Every line of the protocol's table, through the real scripts on a real Redis."""
import re

from lib.procs import Processes
from lib.redis_server import RedisServer
from lib.tree import program


def test_scripts_do_what_the_table_says(tmp_path):
    with RedisServer() as redis, Processes(tmp_path) as procs:
        replay = procs.run([program("golden_replay"), redis.socket_path], code=None, timeout_s=120)
        assert replay.returncode == 0, replay.stdout()
        lines, sent = re.search(r"(\d+) lines, (\d+) decisions sent, 0 differences", replay.stdout()).groups()
        assert int(lines) > 5000 and int(sent) > 2000
