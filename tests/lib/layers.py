# SPDX-License-Identifier: MIT
"""The layers that tests/run runs, one after the other, and the count over all of them.

A layer is a list of commands; each leaves a JUnit file that is counted (C tests by their cmocka functions). A command
that crashes, runs out of time or leaves processes behind is a failure of its own. Python files run three at a time (they
mostly wait, so two cores are enough); each is its own pytest, so they share nothing.
"""
import concurrent.futures
import ctypes
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib.tree import BUILD, PRESET, TOP  # noqa: E402

COMMAND_LIMIT_S = 540
FILES_AT_ONCE = 3
# Images are built in there, servers of others installed, faults injected for minutes.
SLOW_LIMIT_S = 3600
SLOW = ("compose", "faults", "mutations", "real", "peers")
# Their figures are what they are run for.
TOLD = ("peers",)
PR_SET_CHILD_SUBREAPER = 36

# name -> (kind, what). The first group runs by default, the second with `all`; what has no tests yet is passed over.
DEFAULT_LAYERS = {
    "unit": ("ctest", ["--label-exclude", "golden"]),
    "golden": ("ctest", ["--label-regex", "golden"]),
    "lint": ("lint", "house"),
    "scripts": ("pytest", "scripts"),
    "simulator": ("pytest", "platform_sim"),
    "sim": ("pytest", "sim"),
    "integration": ("pytest", "integration"),
}
MORE_LAYERS = {
    "mutations": ("pytest", "mutations"),
    "fuzz": ("pytest", "fuzz"),
    "valgrind": ("pytest", "valgrind"),
    "tidy": ("pytest", "tidy"),
    "compose": ("pytest", "compose"),
    "faults": ("pytest", "faults"),
}
# Only when they are named: they download and install what others have written.
NAMED_LAYERS = {
    "real": ("pytest", "real"),
    "peers": ("pytest", "peers"),
}
LAYERS = {**DEFAULT_LAYERS, **MORE_LAYERS, **NAMED_LAYERS}


class Count:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __add__(self, other):
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def run(argv, env=None, capture=False, limit_s=COMMAND_LIMIT_S):
    """Runs a command to its end and returns (exit code, output or None); out of time, its process group is killed.

    The output goes through a file: a process that is left behind cannot keep us waiting, as it could with a pipe."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(argv, cwd=TOP, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                 stdout=out if capture else None, stderr=subprocess.STDOUT if capture else None,
                                 start_new_session=True)
        try:
            code = child.wait(limit_s)
        except BaseException as error:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            code = f"no end after {limit_s} s"
        out.seek(0)
        return code, out.read().decode("utf-8", "replace") if capture else None


def count_cmocka(output):
    """Counts the functions of one cmocka program from what it printed; None if it printed nothing of the kind."""
    started = len(re.findall(r"^\[ RUN      \] ", output, re.M))
    passed = len(re.findall(r"^\[       OK \] ", output, re.M))
    # A skipped function is reported at its end and listed once more below. What started and did not end has failed.
    skipped = len(re.findall(r"^\[  SKIPPED \] (?!.*listed below)", output, re.M)) // 2
    return Count(passed, started - passed - skipped, skipped) if started else None


def count_junit(path, cmocka=False):
    """Counts a JUnit file. A test case that failed counts at least one failure, whatever its program printed."""
    total = Count()
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        failed = case.get("status") == "fail" or any(case.find(tag) is not None for tag in ("failure", "error"))
        skipped = case.get("status") in ("disabled", "notrun") or case.find("skipped") is not None
        count = count_cmocka(case.findtext("system-out") or "") if cmocka and not skipped else None
        if count is None:
            count = Count(failed=1) if failed else Count(skipped=1) if skipped else Count(passed=1)
        elif failed and not count.failed:
            count.failed = 1
        total += count
    return total


def judge(what, code, junit, good_codes, cmocka=False):
    """The count of one command: its JUnit file, and one failure if the command's end says what the file does not."""
    try:
        count = count_junit(junit, cmocka)
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"{what}: no readable result ({error}), exit {code}", flush=True)
        return Count(failed=1)
    if code not in good_codes and not count.failed:
        print(f"{what}: ended with {code}", flush=True)
        count.failed += 1
    return count


def run_ctest(name, selection, scratch):
    if not os.path.exists(os.path.join(BUILD, "CTestTestfile.cmake")):
        return Count()
    junit = os.path.join(scratch, f"{name}.xml")
    code, _ = run(["ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=ignore", "--parallel", "2",
                   "--timeout", "120", "--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000",
                   "--output-junit", junit, *selection])
    return judge(name, code, junit, (0,), cmocka=True)


def run_pytest_file(path, scratch):
    """One test file in its own pytest with its own temporary folder; its output where a count does not say it all."""
    name = os.path.relpath(path, os.path.join(TOP, "tests")).replace(os.sep, ".")
    junit = os.path.join(scratch, f"{name}.xml")
    layer = name.split(".")[0]
    slow = layer in SLOW
    started = time.monotonic()
    patience = ["-o", "faulthandler_timeout=0"] if slow else []
    code, output = run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *patience, "-qq", "-rs", "--junitxml", junit,
                        "--basetemp", os.path.join(scratch, f"{name}.tmp"), path],
                       env={"PYTHONDONTWRITEBYTECODE": "1"}, capture=True,
                       limit_s=SLOW_LIMIT_S if slow else COMMAND_LIMIT_S)
    # 5: the file has no tests in it (yet).
    count = Count() if code == 5 else judge(name, code, junit, (0,))
    more = output if count.failed or count.skipped or layer in TOLD else ""
    print(f"--- {name}: {count} in {time.monotonic() - started:.1f} s\n{more}", end="", flush=True)
    return count


def run_pytest(name, folder, scratch):
    files = sorted(glob.glob(os.path.join(TOP, "tests", folder, "**", "test_*.py"), recursive=True))
    pool = concurrent.futures.ThreadPoolExecutor(FILES_AT_ONCE)
    try:
        return sum(pool.map(lambda path: run_pytest_file(path, scratch), files), Count())
    except BaseException:  # interrupted: the threads wait for processes that nobody else would end
        pool.shutdown(wait=False, cancel_futures=True)
        end_leftovers(name)
        raise
    finally:
        pool.shutdown()


def run_lint(name, folder, scratch):
    """The rules on this tree, one test each, and then the tests of the rules."""
    code, _ = run([sys.executable, os.path.join("tests", "lint", "run"), "--junit", os.path.join(scratch, "lint.xml")])
    return judge(name, code, os.path.join(scratch, "lint.xml"), (0,)) + run_pytest(name, folder, scratch)


KINDS = {"ctest": run_ctest, "pytest": run_pytest, "lint": run_lint}


def build():
    """Configures and builds the preset; the count is empty if that went well."""
    for argv in (["cmake", "--preset", PRESET], ["cmake", "--build", "--preset", PRESET]):
        code, output = run(argv, capture=True)
        if code != 0:
            print(output)
            print(f"{' '.join(argv)}: exit {code}", flush=True)
            return Count(failed=1)
    return Count()


def descendants():
    """Ids of all processes below this one. As the subreaper we are also the parent of those whose parent has gone."""
    children = {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="utf-8", errors="replace") as stream:
                pid, rest = stream.read().split(" (", 1)
        except OSError:
            continue
        state, parent = rest.rsplit(") ", 1)[1].split()[:2]
        if state != "Z":
            children.setdefault(int(parent), []).append(int(pid))
    found, queue = [], [os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def end_leftovers(name):
    """Kills what the layer left running; leaving something is a failure."""
    left = descendants()
    for pid in left:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                words = stream.read().replace(b"\0", b" ").decode("utf-8", "replace")
            print(f"{name}: left running: {pid} {words[:200]}", flush=True)
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    return Count(failed=1) if left else Count()


def run_layer(name, scratch):
    kind, what = LAYERS[name]
    print(f"=== {name}", flush=True)
    started = time.monotonic()
    try:
        count = KINDS[kind](name, what, scratch)
    except Exception as error:  # a broken layer must not hide the others' results
        print(f"{name}: {type(error).__name__}: {error}", flush=True)
        count = Count(failed=1)
    count += end_leftovers(name)
    print(f"=== {name}: {count} in {time.monotonic() - started:.0f} s", flush=True)
    return count


def main(args):
    names = [*DEFAULT_LAYERS, *MORE_LAYERS] if args == ["all"] else args or list(DEFAULT_LAYERS)
    unknown = [name for name in names if name not in LAYERS]
    if unknown:
        print(f"tests/run: no layer {', '.join(unknown)}; there are: all {' '.join(LAYERS)}", file=sys.stderr)
        return 2
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored, as su does
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    scratch = tempfile.mkdtemp(prefix="landfall-tests-")
    try:
        total = build()
        if not total.failed:
            total = sum((run_layer(name, scratch) for name in names), Count())
    finally:
        end_leftovers("tests/run")
        shutil.rmtree(scratch, ignore_errors=True)
    print(total, flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
