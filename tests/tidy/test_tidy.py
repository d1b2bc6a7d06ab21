# SPDX-License-Identifier: MIT
"""clang-tidy over all C of the three programs; .clang-tidy says what is looked for and what is not, and why."""
import glob
import json
import os
import subprocess

import pytest

from lib.tree import BUILD, TOP

FOLDERS = ("runtime", "keys", "core", "ledger", "platforms", "session", "worker", "reconciler", "cli")


@pytest.mark.parametrize("folder", FOLDERS)
def test_tidy_finds_nothing(folder):
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as stream:
        built = {command["file"] for command in json.load(stream)}  # what this system lacks a library for is not
    files = sorted(built & set(glob.glob(os.path.join(TOP, folder, "*.c"))))
    assert files
    halves = [subprocess.Popen(["clang-tidy", "-p", BUILD, "--quiet", *part], cwd=TOP, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
              for part in (files[::2], files[1::2]) if part]
    outputs = [half.communicate()[0] for half in halves]
    assert all(half.returncode == 0 for half in halves), "\n".join(outputs)[-8000:]
