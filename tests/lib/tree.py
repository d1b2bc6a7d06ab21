# SPDX-License-Identifier: MIT
"""Where things are: the top of the tree, the build that is tested, its programs.

$LANDFALL_PRESET names the build folder (build/release unless set), so that the same tests run against a sanitizer's
build.
"""
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRESET = os.environ.get("LANDFALL_PRESET", "release")
BUILD = os.path.join(TOP, "build", PRESET)


def program(name):
    """Path of a program of ours that has been built: program("landfall-worker")."""
    path = os.path.join(BUILD, "bin", name)
    assert os.path.exists(path), f"{path} is missing: cmake --preset {PRESET} && cmake --build --preset {PRESET}"
    return path
