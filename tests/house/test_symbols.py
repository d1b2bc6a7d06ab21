# SPDX-License-Identifier: MIT
"""The rules about symbols fail on a build that breaks them: small libraries and programs with a CMake of their own."""
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
add_library(landfall_platforms_write STATIC write.c request.c)
add_library(landfall_transfer STATIC transfer.c)
add_subdirectory(worker)
add_executable(landfall-reconciler reconciler.c)
target_link_libraries(landfall-reconciler landfall_core landfall_platforms_read landfall_platforms_write)
add_executable(landfall cli.c)
target_link_libraries(landfall landfall_core landfall_platforms_write)
"""
WORKER = """add_executable(landfall-worker main.c send.c)
target_link_libraries(landfall-worker landfall_core landfall_platforms_write landfall_platforms_read landfall_transfer)
"""
GOOD = {
    "keys.c": "int keys_hash(int x) { return x; }\n",
    "delivery.c": "int delivery_step(int x) { return x + 1; }\n",
    "backoff.c": "int delivery_step(int); int backoff_next(int x) { return delivery_step(x); }\n",
    "read.c": "int read_page(int x) { return x; }\n",
    "write.c": "int write_send(int x) { return x; }\n",
    "request.c": "int request_check(int x) { return x; }\n",
    "transfer.c": "int transfer_start(int x) { return x; }\n",
    "worker/main.c": "int delivery_step(int); int send_begin(int);\n"
                     "int main(void) { return delivery_step(send_begin(0)); }\n",
    "worker/send.c": "int transfer_start(int); int write_send(int);\n"
                     "int send_begin(int x) { return transfer_start(write_send(x)); }\n",
    "worker/CMakeLists.txt": WORKER,
    "CMakeLists.txt": CMAKE,
    "reconciler.c": "int read_page(int); int main(void) { return read_page(0); }\n",
    "cli.c": "int request_check(int); int main(void) { return request_check(0); }\n",
}


@pytest.fixture
def build(tmp_path):
    """build({file: text, ...}): writes the good tree with these changes, builds it, returns the build folder."""
    def make(changes=None):
        (tmp_path / "worker").mkdir()
        for name, text in {**GOOD, **(changes or {})}.items():
            (tmp_path / name).write_text(text)
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


@pytest.mark.parametrize("name, target, symbol", [
    ("reconciler.c", "landfall-reconciler", "write_send"), ("reconciler.c", "landfall-reconciler", "request_check"),
    ("cli.c", "landfall", "write_send"),
])
def test_who_must_not_write_and_carries_the_write_half_is_found(build, expect, name, target, symbol):
    folder = build({name: f"int {symbol}(int); int main(void) {{ return {symbol}(0); }}\n"})
    expect(symbols.check(folder), os.path.join(folder, "bin", target), 1, f"holds {symbol} of landfall_platforms_write")


def test_a_second_place_that_sends_is_found(build, expect):
    folder = build({"worker/main.c": GOOD["worker/main.c"].replace("return ", "return transfer_start(0) + ")
                    .replace("int main", "int transfer_start(int); int main")})
    path = os.path.join(folder, "worker", "CMakeFiles", "landfall-worker.dir", "main.c.o")
    expect(symbols.check(folder), path, 1, "calls transfer_start()")


@pytest.mark.parametrize("name, library, body, call", [
    ("keys.c", "landfall_keys", "#include <time.h>\nlong keys_hash(int x) { return x + time(0); }\n", "time()"),
    ("backoff.c", "landfall_core", "#include <sys/socket.h>\nint backoff_next(int x) { return socket(x, x, x); }\n",
     "socket()"),
    ("delivery.c", "landfall_core", "int redisOpen(void); int delivery_step(int x) { return redisOpen() + x; }\n",
     "redisOpen()"),
])
def test_a_pure_library_that_reaches_out_is_found(build, expect, name, library, body, call):
    changes = {name: body}
    if name == "delivery.c":
        changes["worker/main.c"] = "int redisOpen(void) { return 0; }\n" + GOOD["worker/main.c"]
    folder = build(changes)
    expect(symbols.check(folder), symbols.library(folder, library), 1, f"calls {call}")


def test_a_worker_that_decides_by_itself_is_found(build, expect):
    folder = build({"worker/main.c": "int send_begin(int); int main(void) { return send_begin(0); }\n"})
    expect(symbols.check(folder), os.path.join(folder, "bin", "landfall-worker"), 1, "links without delivery.c.o")


def test_this_build_does_not_link_the_worker_without_the_decision():
    archive, target = symbols.library(BUILD, "landfall_core"), symbols.program(BUILD, "landfall-worker")
    if not archive or not target:
        pytest.skip("no worker in this build")
    assert symbols.links(BUILD, "bin/landfall-worker", archive) == (True, "")
    done, errors = symbols.links(BUILD, "bin/landfall-worker", archive, without="delivery.c.o")
    assert not done and "delivery_step" in errors
