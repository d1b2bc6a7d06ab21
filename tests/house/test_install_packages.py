# SPDX-License-Identifier: MIT
"""deploy/install-packages with stand-ins for dpkg-query, apt-get, id and sudo: what it asks of them, and when."""
import os
import shutil
import subprocess

import pytest

from lib.tree import TOP

SCRIPT = os.path.join(TOP, "deploy", "install-packages")
TOOLS = ("bash", "cat", "chmod", "env", "rm", "tee")


class Machine:
    """A folder that is all of PATH: stand-ins that write down how they were called."""

    def __init__(self, path):
        self.bin, self.calls, self.policy = path / "bin", path / "calls", path / "policy-rc.d"
        self.installed = path / "installed"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.stand_in("dpkg-query", f'''
            while read -r p; do [ "$p" = "$3" ] && printf installed; done <{self.installed}; true''')
        self.stand_in("apt-get", f'''
            echo "apt-get $* policy=$(test -x {self.policy} && {self.policy}; echo $?)" >>{self.calls}
            exit ${{APT_EXIT:-0}}''')
        self.become(0)

    def stand_in(self, name, body):
        target = self.bin / name
        target.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        target.chmod(0o755)

    def become(self, uid):
        self.stand_in("id", f"echo {uid}")

    def has(self, *packages):
        self.installed.write_text("".join(f"{package}\n" for package in packages))

    def run(self, *args, **env):
        self.calls.write_text("")
        return subprocess.run([SCRIPT, *args], env={"PATH": str(self.bin), "POLICY_RC_D": str(self.policy), **env},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)

    def called(self):
        return self.calls.read_text().splitlines()


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def packages(machine, purpose):
    """What it wants of a machine that has nothing, as it says before it installs."""
    machine.has()
    said = machine.run("--for", purpose).stdout
    return [line.strip() for line in said.splitlines() if line.startswith("    ")]


def test_nothing_missing_needs_neither_root_nor_apt(machine):
    machine.has(*packages(machine, "ci"))
    machine.become(1000)
    done = machine.run("--for", "ci")
    assert (done.returncode, done.stdout, done.stderr, machine.called()) == (0, "", "", [])


def test_it_says_what_is_missing_and_installs_just_that(machine):
    wanted = packages(machine, "test")
    assert {"gcc", "redis-server", "libhiredis-dev", "libcmocka-dev", "python3-pytest"} <= set(wanted)
    machine.has(*(set(wanted) - {"libjq-dev", "lua5.1"}))
    done = machine.run("--for", "test", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("landfall needs these Debian packages")
    assert "    libjq-dev\n    lua5.1\n" in done.stdout
    update, install = machine.called()
    assert " update " in update and install.split(" policy=")[0].endswith("--no-install-recommends libjq-dev lua5.1")


def test_the_other_curl_will_do(machine):
    machine.has(*(set(packages(machine, "build")) - {"libcurl4-openssl-dev"}), "libcurl4-gnutls-dev")
    assert machine.run().returncode == 0 and machine.called() == []


def test_purposes_grow(machine):
    build, package, test, ci, bench = (set(packages(machine, purpose)) for purpose in ("build", "package", "test", "ci", "bench"))
    assert build < test < ci and build < package < ci and test < bench
    assert "clang" in ci - test and "libcmocka-dev" in test - build and package - build == {"dpkg-dev", "file"}


def test_services_do_not_start_and_the_policy_goes_again(machine):
    machine.has()
    machine.run("--yes")
    assert machine.called()[1].endswith("policy=101") and not machine.policy.exists()
    assert machine.run("--yes", APT_EXIT="7").returncode == 7 and not machine.policy.exists()


def test_the_owners_policy_stays(machine):
    machine.has()
    machine.policy.write_text("#!/bin/sh\nexit 42\n")
    machine.policy.chmod(0o755)
    machine.run("--yes")
    assert machine.called()[1].endswith("policy=42") and machine.policy.read_text().endswith("exit 42\n")


def test_without_root_it_asks_sudo_or_says_what_to_do(machine):
    machine.has()
    machine.become(1000)
    done = machine.run("--yes")
    assert done.returncode == 1 and "As root: apt-get install redis-server" in done.stderr and machine.called() == []
    machine.stand_in("sudo", 'exec "$@"')
    assert machine.run("--yes").returncode == 0 and len(machine.called()) == 2 and not machine.policy.exists()


@pytest.mark.parametrize("args", [["--for", "everything"], ["--for"], ["--frobnicate"]])
def test_wrong_use_is_an_error(machine, args):
    machine.has()
    assert machine.run(*args).returncode == 1 and machine.called() == []
