# SPDX-License-Identifier: MIT
"""Every command of docs/redis-cli.md runs, and those about a delivery in flight show it."""
import os
import re
import subprocess

from ledger_calls import TOP

D = "mastodon/brand/launch"


def commands():
    with open(os.path.join(TOP, "docs", "redis-cli.md"), encoding="utf-8") as page:
        return [line for block in re.findall(r"```sh\n(.*?)```", page.read(), re.S) for line in block.splitlines()]


def ask(redis_server, line):
    assert line.startswith("redis-cli ")
    line = line.replace("redis-cli", f"redis-cli -s {redis_server.socket_path}", 1)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, timeout=10).stdout


def test_every_command_runs(ledger, redis_server):
    assert len(commands()) > 20
    for line in commands():
        answer = ask(redis_server, line)
        assert not re.match(r"\(?(error|ERR|WRONGTYPE|NOGROUP)", answer), (line, answer)


def test_a_delivery_in_flight_is_seen(ledger, redis_server):
    ledger.claim(D, token="t" * 16, entry=ledger.add(D))
    shown = {line: ask(redis_server, line) for line in commands()}

    def one(start):
        return next(answer for line, answer in shown.items() if line.startswith("redis-cli " + start))
    assert "claimed" in one("HGETALL 'lf:{0}:delivery:") and one("GET 'lf:{0}:lease:") == f"w1 1 {'t' * 16}\n"
    assert 50000 < int(one("PTTL 'lf:{0}:lease:")) <= 60000
    assert int(one("ZSCORE 'lf:{0}:agenda' 'delivery:")) == ledger.due("delivery:" + D)
    assert one("HGET 'lf:{0}:request:mastodon/brand/launch' frozen") == "frozen\n"
    ledger.settle(D, "uncertain", "no_answer", place="walk", token="t" * 16)
    assert ask(redis_server, "redis-cli XRANGE 'lf:{0}:journal' - +").startswith(ledger.row(D)["journal"])
