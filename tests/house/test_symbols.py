# SPDX-License-Identifier: MIT
"""The rules about symbols fail on a build that breaks them: small libraries and programs, built by a CMake of their own."""
import os
import shutil
import subprocess

import pytest

from lib.tree import BUILD
from lint import symbols

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_library(landfall_keys STATIC keys.c)
add_library(landfall_core STATIC delivery.c backoff.c)
add_library(landfall_platforms_read STATIC read.c)
add_library(landfall_platforms_write STATIC write.c)
add_executable(landfall-worker worker.c)
target_link_libraries(landfall-worker landfall_core landfall_platforms_write landfall_platforms_read)
add_executable(landfall-reconciler reconciler.c)
target_link_libraries(landfall-reconciler landfall_core landfall_platforms_read landfall_platforms_write)
add_executable(landfall cli.c)
target_link_libraries(landfall landfall_core)
"""
GOOD = {
    "keys.c": "int keys_hash(int x) { return x; }\n",
    "delivery.c": "int delivery_step(int x) { return x + 1; }\n",
    "backoff.c": "int delivery_step(int); int backoff_next(int x) { return delivery_step(x); }\n",
    "read.c": "int read_page(int x) { return x; }\n",
    "write.c": "int write_send(int x) { return x; }\n",
    "worker.c": "int delivery_step(int); int write_send(int); int main(void) { return delivery_step(write_send(0)); }\n",
    "reconciler.c": "int read_page(int); int main(void) { return read_page(0); }\n",
    "cli.c": "int main(void) { return 0; }\n",
}


@pytest.fixture
def build(tmp_path):
    """build(file=text, ...): writes the good tree with these changes, builds it, returns the build folder."""
    def make(**changes):
        for name, text in {**GOOD, **{f"{name}.c": text for name, text in changes.items()}}.items():
            (tmp_path / name).write_text(text)
        (tmp_path / "CMakeLists.txt").write_text(CMAKE)
        folder = str(tmp_path / "out")
        for argv in (["cmake", "-G", "Ninja", "-S", str(tmp_path), "-B", folder], ["cmake", "--build", folder]):
            done = subprocess.run(argv, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        return folder
    return make


def test_a_good_build_passes(build):
    folder = build()
    assert symbols.check(folder) == []
    shutil.rmtree(folder)
    assert "no build" in symbols.check(folder)[0].text


@pytest.mark.parametrize("name, target", [("reconciler", "landfall-reconciler"), ("cli", "landfall")])
def test_who_only_reads_and_carries_the_write_half_is_found(build, expect, name, target):
    definition = "" if name == "reconciler" else "int write_send(int x) { return x; }"
    folder = build(**{name: f"int write_send(int); {definition} int main(void) {{ return write_send(0); }}\n"})
    expect(symbols.check(folder), os.path.join(folder, "bin", target), 1, "holds write_send of landfall_platforms_write")


@pytest.mark.parametrize("name, library, body, call", [
    ("keys", "landfall_keys", "#include <time.h>\nlong keys_hash(int x) { return x + time(0); }\n", "time()"),
    ("backoff", "landfall_core", "#include <sys/socket.h>\nint backoff_next(int x) { return socket(x, x, x); }\n", "socket()"),
    ("delivery", "landfall_core", "void *redisConnect(void); int delivery_step(int x) { return redisConnect() ? x : 0; }\n",
     "redisConnect()"),
])
def test_a_pure_library_that_reaches_out_is_found(build, expect, name, library, body, call):
    changes = {name: body}
    if name == "delivery":
        changes["worker"] = "void *redisConnect(void) { return 0; }\n" + GOOD["worker.c"]
    folder = build(**changes)
    expect(symbols.check(folder), symbols.library(folder, library), 1, f"calls {call}")


def test_a_worker_that_decides_by_itself_is_found(build, expect):
    folder = build(worker="int write_send(int); int main(void) { return write_send(0); }\n")
    expect(symbols.check(folder), os.path.join(folder, "bin", "landfall-worker"), 1, "links without delivery.c.o")


def test_this_build_does_not_link_the_worker_without_the_decision():
    archive, target = symbols.library(BUILD, "landfall_core"), symbols.program(BUILD, "landfall-worker")
    if not archive or not target:
        pytest.skip("no worker in this build")
    assert symbols.links(BUILD, "bin/landfall-worker", archive) == (True, "")
    done, errors = symbols.links(BUILD, "bin/landfall-worker", archive, without="delivery.c.o")
    assert not done and "delivery_step" in errors
