# SPDX-License-Identifier: MIT
"""The C tests under valgrind: no read of what was never written, none beyond a block, nothing lost."""
import json
import os
import subprocess

import pytest

from lib.tree import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
# Programs whose tests wait for times that valgrind stretches, or that run thousands of histories: (name, why).
PASSED_OVER = {
    "platforms_transfer": "its servers and limits are timed in milliseconds",
    "platforms_transfer_answer": "as platforms_transfer",
}


def programs():
    """(name, command) of the C tests of this build, without what other programs drive."""
    listed = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, check=True).stdout
    for test in json.loads(listed)["tests"]:
        command = test.get("command", ["-"])
        labels = [label for one in test["properties"] if one["name"] == "LABELS" for label in one["value"]]
        if command[0].startswith(BUILD) and not {"golden", "sim"} & set(labels) and not test["name"].startswith(("fuzz_", "sim_")):
            yield pytest.param(command, test, id=test["name"])


@pytest.mark.parametrize("command, test", programs())
def test_valgrind_finds_nothing(command, test):
    if test["name"] in PASSED_OVER:
        pytest.skip(PASSED_OVER[test["name"]])
    env = dict(os.environ)
    for one in test["properties"]:
        if one["name"] == "ENVIRONMENT":
            env.update(pair.split("=", 1) for pair in one["value"])
    done = subprocess.run(["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect",
                           "--child-silent-after-fork=yes", f"--suppressions={HERE}/suppressions", *command],
                          capture_output=True, text=True, errors="replace", env=env, timeout=400, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
