# SPDX-License-Identifier: MIT
"""The simulation: a fixed set of seeds, and that the same seed plays the same story.

$LANDFALL_SIM_SEEDS plays more: LANDFALL_SIM_SEEDS=300000 tests/run sim. One seed with its story:
build/release/bin/landfall_sim --seed N --story.
"""
import os
import re
import subprocess

from lib.tree import program

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
