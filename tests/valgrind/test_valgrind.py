# SPDX-License-Identifier: MIT
"""The C tests under valgrind: no read of what was never written, none beyond a block, nothing lost."""
import concurrent.futures
import json
import os
import subprocess

import pytest

from lib.tree import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
# What is passed over, and why; ASan runs all of it.
TIMED = "its servers and limits are timed in milliseconds"
LONG = "compiles hundreds of programs, for minutes"
PASSED_OVER = {
    "platforms_transfer": TIMED, "platforms_transfer_answer": TIMED, "runtime_secret": "looks for what is left of a variable in /proc, where valgrind has a copy",
    "platforms_shipped": LONG, "platforms_shipped_odd": LONG, "platforms_shipped_verdict": LONG, "platforms_shipped_walk": LONG,
    "platforms_program": LONG, "platforms_search": LONG,
}


def programs():
    """(name, command) of the C tests of this build, without what other programs drive."""
    listed = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, check=True).stdout
    for test in json.loads(listed)["tests"]:
        command = test.get("command", ["-"])
        labels = [label for one in test["properties"] if one["name"] == "LABELS" for label in one["value"]]
        if command[0].startswith(BUILD) and not {"golden", "sim"} & set(labels) and not test["name"].startswith(("fuzz_", "sim_")):
            yield pytest.param(command, test, id=test["name"])


def check(command, test):
    env = dict(os.environ)
    for one in test["properties"]:
        if one["name"] == "ENVIRONMENT":
            env.update(pair.split("=", 1) for pair in one["value"])
    done = subprocess.run(["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect",
                           "--child-silent-after-fork=yes", f"--suppressions={HERE}/suppressions", *command],
                          capture_output=True, text=True, errors="replace", env=env, timeout=400, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def results():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {one.id: pool.submit(check, *one.values) for one in programs() if one.id not in PASSED_OVER}


@pytest.mark.parametrize("name", [one.id for one in programs()])
def test_valgrind_finds_nothing(results, name):
    if name in PASSED_OVER:
        pytest.skip(PASSED_OVER[name])
    code, output = results[name].result()
    assert code == 0, output[-6000:]
