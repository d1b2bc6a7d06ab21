# SPDX-License-Identifier: MIT
"""deploy/demo.py as a reader starts it: twelve deliveries published once, nothing left, also when it is stopped."""
import glob
import json
import os
import re
import signal
import sys
import tempfile
import types

import pytest

from lib.procs import Process
from lib.tree import TOP

sys.path.insert(0, os.path.join(TOP, "deploy"))
import demo  # noqa: E402

LINE = re.compile(r"^ +(\S+) +(\S+/\S+) +published +(response|replay|read_back) +(\S+) +(\S+)$", re.M)


def in_session(session):
    """Processes of a session that still run, as "pid (name"."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                head, rest = file.read().rsplit(") ", 1)
        except OSError:
            continue
        state, _, _, its_session = rest.split()[:4]
        if int(its_session) == session and state != "Z":
            found.append(head)
    return found


@pytest.fixture
def running(tmp_path):
    """The demo, started as a session of its own, with a folder of its own for temporary files."""
    # Not below tmp_path: the path of a unix socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="lf-demo-") as folder:
        process = Process(["/usr/bin/setsid", "/usr/bin/python3", os.path.join(TOP, "deploy", "demo.py")], tmp_path,
                          name="demo", env={"TMPDIR": folder}, cwd=folder)
        try:
            yield process
            assert in_session(process.pid) == []
            assert os.listdir(folder) == []
        finally:
            process.kill()
            for head in in_session(process.pid):
                os.kill(int(head.split()[0]), signal.SIGKILL)


def example(name):
    with open(os.path.join(TOP, "deploy", "example", name), encoding="utf-8") as file:
        return json.load(file)


def test_every_article_stands_once_on_every_channel(running):
    running.wait_exit(0, timeout_s=60)
    output = running.stdout()
    lines = {f"{channel}/{item}": (source, external_id, url) for item, channel, source, external_id, url in
             LINE.findall(output)}
    items, channels = [item["id"] for item in example("feed.json")["items"]], list(example("landfall.json")["channels"])
    assert len(items) * len(channels) == 12
    assert sorted(lines) == sorted(f"{channel}/{item}" for channel in channels for item in items), output
    killed = re.search(r"Number 7 is (\S+):", output).group(1)
    assert lines[killed][0] in ("replay", "read_back"), output
    assert all(url.startswith("http") for name, (_, _, url) in lines.items() if not name.startswith("webhook/")), output
    assert "12 commits, no duplicate." in output


def test_stopped_half_way_it_leaves_nothing(running):
    running.wait_output("kill -KILL", timeout_s=30)
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 128 + signal.SIGTERM


def report(commits, violations=()):
    deliveries = {name: {"writes": count, "commits": count} for name, count in commits.items()}
    return {"deliveries": deliveries, "violations": list(violations), "totals": {
        "deliveries": len(commits), "commits": sum(commits.values()),
        "duplicates": sum(max(0, count - 1) for count in commits.values())}}


def judged(found):
    demo.judge(types.SimpleNamespace(deliveries=["a/x/1", "a/x/2"], sim=types.SimpleNamespace(report=lambda: found)))


@pytest.mark.parametrize("found, words", [
    (report({"a/x/1": 1, "a/x/2": 2}), "a/x/2 was published 2 times"),
    (report({"a/x/1": 1}), "a/x/2 was published 0 times"),
    (report({"a/x/1": 1, "a/x/2": 1, "a/x/3": 1}), "expected 2 commits"),
    (report({"a/x/1": 1, "a/x/2": 1}, [{"kind": "O2", "text": "its row was missing"}]), "its row was missing"),
])
def test_the_platforms_count_decides(found, words):
    with pytest.raises(demo.DemoFailed, match=words):
        judged(found)


def test_the_right_count_is_taken():
    judged(report({"a/x/1": 1, "a/x/2": 1}))
