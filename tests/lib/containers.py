# SPDX-License-Identifier: MIT
"""A container engine and the images for the tests, as far as this machine can have them.

A running engine is used as it is. Where dockerd is installed and not running, one is started with a folder and a socket of its
own, and ended with the tests. The base image is pulled, or made with debootstrap where no registry of images is in reach.
What is missing is said in words; the tests are then skipped.
"""
import json
import os
import shutil
import subprocess
import tempfile
import uuid

from lib.procs import Process, WaitTimeout, wait_for
from lib.tree import TOP

BASE = "debian:trixie-slim"
STEP_LIMIT_S = 1500
ENGINE_OPTIONS = ["--storage-driver", "vfs", "--iptables=false", "--ip-masq=false"]


class Missing(Exception):
    """What this machine would need to have."""


class Engine:
    def __enter__(self):
        for program in ("docker", "docker-compose"):
            if not shutil.which(program):
                raise Missing(f"there is no {program} (Debian: docker.io docker-compose)")
        self.dir, self.daemon = None, None
        self.env = {**os.environ, "DOCKER_BUILDKIT": "0", "COMPOSE_PROJECT_NAME": f"landfall-test-{uuid.uuid4().hex[:8]}"}
        try:
            if not self._answers():
                self._start()
            self._base()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        if self.daemon:
            self.daemon.stop(60)
        if self.dir:
            shutil.rmtree(self.dir, ignore_errors=True)

    def _answers(self):
        return subprocess.run(["docker", "version"], env=self.env, capture_output=True, timeout=60).returncode == 0

    def _start(self):
        dockerd = shutil.which("dockerd")
        if not dockerd or os.geteuid() != 0:
            raise Missing("no engine answers, and none can be started (dockerd, as root)")
        self.dir = tempfile.mkdtemp(prefix="landfall-engine-")
        socket = f"unix://{self.dir}/docker.sock"
        self.env["DOCKER_HOST"] = socket
        self.daemon = Process([dockerd, "--data-root", f"{self.dir}/data", "--exec-root", f"{self.dir}/exec", "--host", socket,
                               "--pidfile", f"{self.dir}/pid", *ENGINE_OPTIONS], self.dir, name="dockerd")
        try:
            wait_for(lambda: self._answers() or not self.daemon.running, 60, what="dockerd to answer")
        except WaitTimeout as error:
            raise Missing(f"dockerd does not start here: {error}") from None
        if not self.daemon.running:
            raise Missing(f"dockerd does not start here:\n{self.daemon.tail()}")

    def _base(self):
        if self.call("image", "inspect", BASE, check=False).returncode == 0:
            return
        if self.call("pull", BASE, check=False).returncode == 0:
            return
        if not shutil.which("debootstrap"):
            raise Missing(f"{BASE} cannot be pulled, and there is no debootstrap to make it with")
        with tempfile.TemporaryDirectory(prefix="landfall-base-") as folder:
            os.chmod(folder, 0o755)  # it becomes the image's root, into which everybody has to see
            made = subprocess.run(["debootstrap", "--variant=minbase", "trixie", folder], capture_output=True, text=True,
                                  timeout=STEP_LIMIT_S)
            if made.returncode:
                raise Missing(f"debootstrap cannot make {BASE}: {made.stdout[-500:]}")
            tar = subprocess.Popen(["tar", "-C", folder, "-c", "--exclude=./var/cache/apt/archives/*.deb", "."], stdout=subprocess.PIPE)
            subprocess.run(["docker", "import", "-", BASE], env=self.env, stdin=tar.stdout, check=True, capture_output=True)
            assert tar.wait() == 0

    def call(self, *words, check=True):
        """The docker command; its output is in the error where it fails."""
        return run(["docker", *words], self.env, check)

    def build(self, tag, target=None):
        self.call("build", "--network", "host", "--tag", tag, *(["--target", target] if target else []), TOP)

    def inspect(self, name):
        return json.loads(self.call("inspect", name).stdout)[0]


def run(argv, env, check=True):
    done = subprocess.run(argv, env=env, cwd=TOP, capture_output=True, text=True, timeout=STEP_LIMIT_S)
    assert not check or done.returncode == 0, f"{' '.join(argv)}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


class Project:
    """docker-compose.yml, started under a name of its own; everything of it is gone afterwards."""

    def __init__(self, engine, *profiles, **variables):
        self.engine = engine
        self.env = {**engine.env, **variables}
        self.profiles = [word for profile in profiles for word in ("--profile", profile)]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.compose("down", "--volumes", "--timeout", "20", check=False)

    def compose(self, *words, check=True):
        return run(["docker-compose", *self.profiles, *words], self.env, check)

    def landfall(self, *words, check=True):
        """The command, as the page says it: docker-compose run."""
        return self.compose("run", "--rm", "-T", "landfall", *words, check=check)

    def containers(self, service):
        return self.compose("ps", "--quiet", service).stdout.split()

    def address(self, container, network="ledger"):
        networks = self.engine.inspect(container)["NetworkSettings"]["Networks"]
        return next(value["IPAddress"] for name, value in networks.items() if name.endswith("_" + network))

    def network(self, name):
        return f"{self.env['COMPOSE_PROJECT_NAME']}_{name}"

    def state(self, container):
        return self.engine.inspect(container)["State"]

    def health(self, container):
        return self.state(container).get("Health", {}).get("Status")

    def wait_health(self, container, wanted="healthy"):
        wait_for(lambda: self.health(container) == wanted, 90, what=lambda: f"{container} to be {wanted}: {self.state(container)}")
