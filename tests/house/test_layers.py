# SPDX-License-Identifier: MIT
"""tests/run counts what failed, whatever way it failed: a small tree with its own tests, and the real layers.py."""
import os
import shutil
import signal
import sys

import pytest

from lib.layers import count_cmocka, count_junit
from lib.procs import Processes, wait_for
from lib.tree import TOP

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES C)
enable_testing()
add_executable(unit unit.c)
target_link_libraries(unit cmocka)
add_test(NAME unit COMMAND unit)
add_executable(printed golden.c)
add_test(NAME printed COMMAND printed)
set_tests_properties(printed PROPERTIES LABELS golden)
"""
PRESETS = """{"version": 6,
"configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}],
"buildPresets": [{"name": "release", "configurePreset": "release"}]}
"""
UNIT = """#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
static void good(void **state) { (void)state; }
static void absent(void **state) { (void)state; skip(); }
static void other(void **state) { (void)state; %s }
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(absent), cmocka_unit_test(other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
"""
ENDS_EARLY = "import os\ndef test_a():\n    os._exit(0)\n"
LEFT_RUNNING = """import subprocess, sys
def test_a():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
"""


@pytest.fixture
def start(tmp_path):
    """start(layer, ..., files={...}): the layers of the small tree, started."""
    with Processes(tmp_path, env={"LANDFALL_PRESET": None, "PYTHONUNBUFFERED": "1"}) as procs:
        def go(*layers, unit="", golden="int main(void) { return 0; }\n", files=None):
            good = {"CMakeLists.txt": CMAKE, "CMakePresets.json": PRESETS, "unit.c": UNIT % unit, "golden.c": golden}
            for path, text in {**good, **(files or {})}.items():
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_text(text)
            shutil.copytree(os.path.join(TOP, "tests", "lib"), tmp_path / "tests" / "lib", dirs_exist_ok=True)
            return procs.start([sys.executable, tmp_path / "tests" / "lib" / "layers.py", *layers], name="layers")
        yield go


@pytest.fixture
def run(start):
    """run(layer, ..., files={...}): (exit code, last line, output) of the layers of the small tree."""
    def go(*layers, **tree):
        process = start(*layers, **tree)
        code = process.wait(60)
        output = process.stderr() + process.stdout()
        return code, output.splitlines()[-1], output
    return go


def test_good_layers_are_summed(run):
    files = {"tests/integration/test_a.py": "def test_a():\n    pass\n", "tests/integration/test_b.py": "x = 1\n"}
    code, last, output = run("unit", "golden", "integration", files=files)
    assert (code, last) == (0, "4 passed, 0 failed, 1 skipped"), output


@pytest.mark.parametrize("broken, last", [
    ({"unit": "assert_true(0);"}, "2 passed, 1 failed, 1 skipped"),
    ({"unit": "*(volatile int *)0 = 1;"}, "2 passed, 1 failed, 1 skipped"),
    ({"golden": "int main(void) { return 3; }\n"}, "2 passed, 1 failed, 1 skipped"),
    ({"golden": "int main(void) { return nothing; }\n"}, "0 passed, 1 failed, 0 skipped"),
    ({"files": {"tests/sim/test_a.py": "def test_a():\n    assert 0\n"}}, "3 passed, 1 failed, 1 skipped"),
    ({"files": {"tests/sim/test_a.py": "import nothing_of_the_kind\n"}}, "3 passed, 1 failed, 1 skipped"),
    ({"files": {"tests/sim/test_a.py": ENDS_EARLY}}, "3 passed, 1 failed, 1 skipped"),
    ({"files": {"tests/sim/test_a.py": LEFT_RUNNING}}, "4 passed, 1 failed, 1 skipped"),
], ids=["assertion", "crash", "golden", "build", "pytest", "import", "pytest ends", "left running"])
def test_what_is_broken_is_counted(run, broken, last):
    code, said, output = run("unit", "golden", "sim", **broken)
    assert (code, said) == (1, last), output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_at_once_and_leaves_nothing(start, tmp_path, number):
    text = f"import os, time\ndef test_a():\n    open('{tmp_path}/{{}}', 'w').write(str(os.getpid()))\n    time.sleep(300)\n"
    layers = start("sim", files={f"tests/sim/test_{name}.py": text.format(name) for name in ("a", "b")})
    pids = [wait_for(lambda: (tmp_path / name).exists() and (tmp_path / name).read_text(), 30) for name in ("a", "b")]
    layers.send_signal(number)
    assert layers.wait(20) != 0
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 5, "both tests have ended")


def test_an_unknown_layer_is_refused(run):
    code, last, _ = run("untie")
    assert code == 2 and "no layer untie" in last


def test_a_program_that_fails_after_its_tests_counts_as_one_failure(tmp_path):
    printed = "[ RUN      ] a\n[       OK ] a\n"
    assert str(count_cmocka(printed)) == "1 passed, 0 failed, 0 skipped" and count_cmocka("hello\n") is None
    path = tmp_path / "a.xml"
    path.write_text(f'<testsuite><testcase name="a" status="fail"><failure/><system-out>{printed}'
                    '</system-out></testcase></testsuite>')
    assert str(count_junit(path, cmocka=True)) == "1 passed, 1 failed, 0 skipped"
