# SPDX-License-Identifier: MIT
"""tests/real/install with stand-ins for apt, dpkg-deb, node and npm: what it gets, and what it says of what it cannot get."""
import os
import shutil
import subprocess

import pytest

from lib.tree import TOP

TOOLS = ("bash", "cat", "cmp", "cp", "dirname", "env", "grep", "head", "ldd", "mkdir", "mktemp", "mv", "readlink", "rm", "sed", "tail", "touch")
FILES = ("tests/real/install", "tests/real/wordpress/wp-config.php", "tests/real/pds/package.json")
SERVERS = {"wordpress", "mediawiki", "snac", "snac-next", "pds"}


class Machine:
    """A small tree with the script, and a folder that is all of PATH; the stand-ins write down how they were called."""

    def __init__(self, path):
        self.top, self.bin, self.calls = path / "tree", path / "bin", path / "calls"
        for name in FILES:
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.join(TOP, name), self.top / name)
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.top / "deploy").mkdir()
        self.program(self.top / "deploy" / "install-packages", "exit 0")
        self.stand_in("apt-get", '''
            case $* in
                *" download "*) for p in "$@"; do [[ $p = [a-z]* ]] && [ $p != download ] && echo >$p.deb; done; exit ${DOWNLOAD_EXIT:-0} ;;
                *indextargets*) echo "mirror bookworm-security"; echo "mirror bookworm" ;;
            esac''')
        self.stand_in("apt-cache", '[ "$1" = depends ] && printf "  Depends: libjs-x\\n  Depends: apache2\\n"; true')
        self.stand_in("dpkg-deb", f'''
            mkdir -p "$3/usr/bin" "$3/usr/share/wordpress"
            case $2 in *snac2*) printf "#!{shutil.which('bash')}\\necho 'snac 2.75'\\n" >$3/usr/bin/snac; /bin/chmod +x $3/usr/bin/snac ;; esac''')
        for name in ("php", "mariadbd", "npm"):
            self.stand_in(name, "exit ${NPM_EXIT:-0}")
        self.stand_in("node", "echo ${NODE:-v20.20.2}")

    @staticmethod
    def program(path, body):
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(0o755)

    def stand_in(self, name, body):
        self.program(self.bin / name, f'echo "{name} $*" >>{self.calls}\n{body}')

    def run(self, **env):
        self.calls.write_text("")
        return subprocess.run([self.top / "tests" / "real" / "install"], env={"PATH": str(self.bin), **env}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=30, check=False)

    def place(self, name):
        return self.top / "build" / "real" / name

    def missing(self):
        return {path.name.removesuffix(".missing"): path.read_text().strip() for path in self.place("").glob("*.missing")}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_it_gets_each_server_and_the_second_time_nothing(machine):
    done = machine.run()
    assert (done.returncode, done.stdout, done.stderr, machine.missing()) == (0, "", "", {})
    assert all(machine.place(name).is_dir() for name in SERVERS)
    calls = machine.calls.read_text()
    assert "download wordpress libjs-x\n" in calls and "apache2" not in calls
    assert machine.place("apt/bookworm-backports/sources.list").read_text() == "deb mirror bookworm-backports main\n"
    assert machine.place("apt/trixie-backports/sources.list").read_text() == "deb mirror trixie-backports main\n"
    assert machine.run().returncode == 0
    assert "download" not in machine.calls.read_text() and "npm" not in machine.calls.read_text()


def test_a_release_that_has_snac_needs_no_backports(machine):
    machine.stand_in("apt-cache", "echo snac2:")
    assert machine.run(LANDFALL_REAL="snac").returncode == 0 and machine.place("snac").is_dir()
    assert "update" not in machine.calls.read_text()


def test_what_cannot_be_had_is_said_and_the_rest_is_there(machine):
    done = machine.run(DOWNLOAD_EXIT="100")
    assert done.returncode == 0 and set(machine.missing()) == SERVERS - {"pds"}
    for name, why in machine.missing().items():
        assert f"tests/run real: {name} is skipped: {why}\n" in done.stdout
    assert machine.run().returncode == 0 and machine.missing() == {}


@pytest.mark.parametrize("env, why", [({"NODE": "v18.19.0"}, "it needs Node 20 with npm; here is Node 18"),
                                      ({"NPM_EXIT": "1"}, "npm could not install what tests/real/pds/package.json names")])
def test_a_pds_that_cannot_be_had(machine, env, why):
    done = machine.run(LANDFALL_REAL="pds snac", **env)
    assert done.returncode == 0 and machine.missing() == {"pds": why} and why in done.stdout


def test_without_any_server_it_fails(machine):
    done = machine.run(LANDFALL_REAL="pds", NODE="v18.19.0")
    assert done.returncode == 1 and "none of its servers can be had" in done.stderr
    assert machine.run(LANDFALL_REAL="ghost").returncode == 1
