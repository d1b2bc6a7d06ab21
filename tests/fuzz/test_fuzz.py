# SPDX-License-Identifier: MIT
"""Runs every fuzzer from its kept corpus and the seeds, two at a time. An input that does not end well is a failure, and
its bytes are printed: put them into tests/fuzz/corpus/<name>/, where every build runs them again.

$LANDFALL_FUZZ_S: seconds for each (60). $LANDFALL_FUZZ_KEEP: a folder for what is found that reaches new code.
"""
import concurrent.futures
import glob
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, "build", "fuzz")
SECONDS = int(os.environ.get("LANDFALL_FUZZ_S", "60"))
# Inputs longer than these are none that anybody sends; whole descriptors and pages of a history fit.
LENGTH_MAX = 65536
NAMES = sorted(os.path.basename(path)[len("fuzz_"):-2] for path in glob.glob(os.path.join(HERE, "fuzz_*.c")))


def build():
    for argv in (["cmake", "--preset", "fuzz"], ["cmake", "--build", "--preset", "fuzz"]):
        done = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def fuzz(name, scratch):
    """(exit code, what was printed) of one fuzzer."""
    found = os.path.join(os.environ.get("LANDFALL_FUZZ_KEEP", scratch), name)
    os.makedirs(found, exist_ok=True)
    argv = [os.path.join(BUILD, "bin", f"fuzz_{name}"), f"-max_total_time={SECONDS}", "-timeout=10", "-rss_limit_mb=2048", f"-max_len={LENGTH_MAX}",
            f"-artifact_prefix={scratch}/{name}-", "-print_final_stats=1", found, os.path.join(HERE, "corpus", name), os.path.join(scratch, "seeds", name)]
    done = subprocess.run(argv, cwd=scratch, capture_output=True, text=True, errors="replace", timeout=SECONDS + 120, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    build()
    scratch = str(tmp_path_factory.mktemp("fuzz"))
    subprocess.run([sys.executable, "-B", os.path.join(HERE, "seeds.py"), os.path.join(scratch, "seeds")], check=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(fuzz, name, scratch) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_input_ends_well(results, name):
    code, output = results[name].result()
    assert code == 0, output[-6000:]
    ran = [line.split()[-1] for line in output.splitlines() if "number_of_executed_units" in line]
    print(f"{name}: {ran[0]} inputs in {SECONDS} s")
    assert int(ran[0]) > 0
