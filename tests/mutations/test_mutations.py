# SPDX-License-Identifier: MIT
"""The simulation can fail: each patch in tests/sim/mutations is a mistake in a real file, and is found.

The patches are applied, one after the other, to a copy of the tree that is kept in build/mutations, so that only what a
patch touches is built again. `tests/run mutations` takes some minutes; the patches apply to the tree of today, says
tests/sim/test_sim.py.
"""
import glob
import os
import re
import shutil
import subprocess

import pytest

from lib.tree import TOP

SEEDS = 40000  # within so many each is to be found
PLACE = os.path.join(TOP, "build", "mutations")
TREE, BUILD = os.path.join(PLACE, "tree"), os.path.join(PLACE, "build")
FOLDER = os.path.join(TOP, "tests", "sim", "mutations")
# What the simulation has not met in 60,000 seeds: a worker that holds a refusal while another one publishes the delivery and
# Redis goes back behind that. The program is the test that finds it.
RARE = {"refusal_told_to_a_ledger_that_was_set_back": "test_core_delivery"}
PATCHES = [name for name in sorted(os.path.basename(path)[:-6] for path in glob.glob(os.path.join(FOLDER, "*.patch"))) if name not in RARE]


def run(*argv, cwd=TREE, limit_s=900):
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=limit_s)
    assert done.returncode == 0, f"{' '.join(argv)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def copy_tree():
    """What git knows of; a file that has not changed keeps its time, so that it is not built again."""
    names = run("git", "ls-files", cwd=TOP).splitlines()
    for name in names:
        source, target = os.path.join(TOP, name), os.path.join(TREE, name)
        if not os.path.exists(source):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(source, "rb") as stream:
            wanted = stream.read()
        if os.path.exists(target):
            with open(target, "rb") as stream:
                if stream.read() == wanted:
                    continue
        shutil.copy(source, target)


def play():
    done = subprocess.run([os.path.join(BUILD, "bin", "landfall_sim"), "--seeds", str(SEEDS)], capture_output=True, text=True,
                          timeout=900)
    seeds = re.search(r"(\d+) seeds, ", done.stdout)
    return done.returncode, int(seeds[1]) if seeds else 0, done.stdout + done.stderr


def explore():
    """All states of one delivery on a platform that is read back, in which the second post is to be found."""
    done = subprocess.run([os.path.join(BUILD, "bin", "landfall_states"), "--case", "read", "--faults", "0", "--depth", "16"],
                          capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def apply(patch):
    run("git", "apply", "--unsafe-paths", "--directory", os.path.relpath(TREE, TOP), os.path.join(FOLDER, f"{patch}.patch"), cwd=TOP)


@pytest.fixture(scope="module")
def tree():
    os.makedirs(TREE, exist_ok=True)
    copy_tree()
    run("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    return TREE


@pytest.mark.parametrize("patch", PATCHES)
def test_a_mistake_is_found(tree, patch):
    copy_tree()
    apply(patch)
    run("ninja", "-C", BUILD, "landfall_sim")
    code, seeds, said = play()
    print(f"{patch}: seed {seeds}: {said.splitlines()[0] if said else ''}")
    assert code == 1 and seeds < SEEDS, f"not found in {SEEDS} seeds\n{said[-500:]}"


@pytest.mark.parametrize("patch, program", RARE.items())
def test_a_rare_mistake_is_found_by_a_test_of_its_own(tree, patch, program):
    copy_tree()
    run("ninja", "-C", BUILD, program)
    run(os.path.join(BUILD, "bin", program))
    apply(patch)
    run("ninja", "-C", BUILD, program)
    assert subprocess.run([os.path.join(BUILD, "bin", program)], capture_output=True, check=False, timeout=300).returncode != 0


@pytest.mark.parametrize("patch", ["settle_window_off", "settle_window_counted_from_the_claim"])
def test_the_walk_through_all_states_finds_the_second_post(tree, patch):
    copy_tree()
    run("ninja", "-C", BUILD, "landfall_states")
    code, said = explore()
    assert code == 0, said[-2000:]
    apply(patch)
    run("ninja", "-C", BUILD, "landfall_states")
    code, said = explore()
    print(said)
    assert code == 1 and said.startswith("read: it is posted twice"), said[-2000:]
