# SPDX-License-Identifier: MIT
"""The simulation: a fixed set of seeds, and that the same seed plays the same story.

$LANDFALL_SIM_SEEDS plays more: LANDFALL_SIM_SEEDS=300000 tests/run sim. One seed with its story:
build/release/bin/landfall_sim --seed N --story. docs/simulation.md says what is real in it.
"""
import glob
import os
import re
import subprocess

import pytest

from lib.tree import TOP, program

SEEDS = int(os.environ.get("LANDFALL_SIM_SEEDS", "4000"))
LIMIT_S = 400 if SEEDS <= 10000 else SEEDS / 10


def play(*arguments):
    return subprocess.run([program("landfall_sim"), *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT_S)


def test_nothing_wrong_in_a_fixed_set_of_seeds():
    run = play("--seeds", SEEDS)
    print(run.stdout)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    seeds, scripts, faults = re.search(r"(\d+) seeds, nothing wrong; a seed has (\d+) scripts, .* ([\d.]+) faults", run.stdout).groups()
    assert int(seeds) == SEEDS and int(scripts) >= 10 and float(faults) >= 20, run.stdout


def test_a_seed_plays_the_same_story_again():
    first, second = play("--seed", 7, "--story"), play("--seed", 7, "--story")
    assert first.returncode == 0 and len(first.stdout.splitlines()) > 50

    def story(run):
        return [line for line in run.stdout.splitlines() if "seeds a minute" not in line]
    assert story(first) == story(second)


def test_no_single_fault_breaks_a_delivery():
    run = play("--explore", 1)
    assert run.returncode == 0, run.stdout[-2000:]
    runs, moments = map(int, re.search(r"(\d+) runs, (\d+) moments in a run: nothing wrong", run.stdout).groups())
    assert moments > 200 and runs > 8 * 200, run.stdout


@pytest.mark.parametrize("faults, depth", [(0, 18), (1, 12)])
def test_no_state_within_the_bound_is_wrong_or_without_an_end(faults, depth):
    run = subprocess.run([program("landfall_states"), "--faults", str(faults), "--depth", str(depth)], capture_output=True,
                         text=True, timeout=LIMIT_S)
    print(run.stdout)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    walked = re.findall(r"^(\w+): (\d+) states, (\d+) steps, (\d+) of them cut .*: nothing wrong$", run.stdout, re.M)
    assert {"key", "keyonly", "upsert", "read", "verified", "blind", "ping"} <= {case for case, *_ in walked}, run.stdout
    assert all(int(states) > 1000 and int(cut) > 1000 for _, states, _, cut in walked), run.stdout


PATCHES = sorted(glob.glob(os.path.join(TOP, "tests", "sim", "mutations", "*.patch")))


@pytest.mark.parametrize("patch", PATCHES, ids=[os.path.basename(patch)[:-6] for patch in PATCHES])
def test_a_mistake_can_still_be_made(patch):
    """tests/run mutations makes them and finds them; here they only apply, and are small."""
    with open(patch, encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    assert sum(line.startswith(("+", "-")) and not line.startswith(("+++", "---")) for line in lines) <= 10
    file, old = None, []
    for line in [*lines, "@@"]:
        if line.startswith("@@") and old:
            with open(os.path.join(TOP, file), encoding="utf-8") as stream:
                assert "\n".join(old) in stream.read(), f"{file}: renew the patch with the code that it is about"
        if line.startswith(("@@", "--- ", "diff ")):
            old = []
        if line.startswith("+++ b/"):
            file = line[6:]
        elif line[:1] in (" ", "-") and not line.startswith("--- "):
            old.append(line[1:])
