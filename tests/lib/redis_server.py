# SPDX-License-Identifier: MIT
"""A private redis-server for tests: own folder, unix socket and TCP port on 127.0.0.1, gone when its block is left.

    with RedisServer() as redis:
        redis.client().set("a", 1)
        start_program(redis.url)

Nothing is persisted unless asked for: RedisServer(appendonly="yes", appendfsync="always"). Option names are those of
redis.conf with "-" written "_"; a list gives the option several times. $LANDFALL_REDIS_SERVER names another server
program (valkey-server). restart() keeps folder, port and socket, so that clients find it again.
"""
import os
import re
import shutil
import socket
import subprocess
import tempfile

from lib.procs import Process, WaitTimeout, free_port, wait_for

START_TIMEOUT_S = 20.0
PORT_TRIES = 5


def newer_server(version=(7, 2)):
    """A server program of at least this version: $LANDFALL_REDIS_SERVER, redis-server or valkey-server; None where there is none."""
    for name in (os.environ.get("LANDFALL_REDIS_SERVER"), "redis-server", "valkey-server"):
        found = shutil.which(name) if name else None
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout if found else ""
        numbers = re.search(r" v=(\d+)\.(\d+)", said)
        if numbers and tuple(map(int, numbers.groups())) >= version:
            return found
    return None


class RedisServer:
    def __init__(self, **options):
        self.program = os.environ.get("LANDFALL_REDIS_SERVER", "redis-server")
        self.options = {"save": "", "appendonly": "no"}
        self.options.update({name.replace("_", "-"): value for name, value in options.items()})
        # Short on purpose: the path of a unix socket has at most 107 bytes.
        self.dir = tempfile.mkdtemp(prefix="landfall-redis-")
        self.socket_path = os.path.join(self.dir, "redis.sock")
        self.port = None
        self.process = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc):
        self.close()

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        return self.process is not None and self.process.running

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def client(self, **kwargs):
        """A new python3-redis client over the unix socket; answers are text unless decode_responses=False is given.

        It shows every error to the test: since its version 6 (Debian 13) python3-redis asks again by itself."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
        once = Retry(NoBackoff(), 0)
        return redis.Redis(unix_socket_path=self.socket_path, **{"decode_responses": True, "retry": once, **kwargs})

    def start(self):
        """Starts and waits until it answers. The port stays the same once it has been chosen."""
        assert not self.running
        tries = 1 if self.port else PORT_TRIES
        for attempt in range(1, tries + 1):
            port = self.port or free_port()
            self.process = Process(self._argv(port), self.dir, name="redis")
            try:
                wait_for(self._answers, START_TIMEOUT_S, "redis-server answers")
            except (RuntimeError, WaitTimeout) as error:
                self.process.kill()
                if attempt == tries or isinstance(error, WaitTimeout):
                    raise AssertionError(f"{self.program} did not start: {error}\n{self.process.tail()}") from None
                continue
            self.port = port
            return self

    def stop(self):
        """SIGTERM: an orderly end, with the persistence that was configured. Does nothing if it is not running."""
        if self.running:
            self.process.resume()
            self.process.stop()

    def kill(self):
        """SIGKILL: what was not on disk is lost."""
        if self.process is not None:
            self.process.kill()

    def restart(self):
        self.stop()
        return self.start()

    def pause(self):
        """SIGSTOP: connections stay open and nothing is answered."""
        self.process.pause()

    def resume(self):
        self.process.resume()

    def close(self):
        """Ends the server if it runs and removes its folder."""
        self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def log(self):
        return self.process.stdout() + self.process.stderr()

    def _argv(self, port):
        argv = [self.program, "--port", str(port), "--bind", "127.0.0.1", "--unixsocket", self.socket_path,
                "--dir", self.dir, "--daemonize", "no"]
        for name, value in self.options.items():
            for one in value if isinstance(value, (list, tuple)) else [value]:
                argv += [f"--{name}", str(one)]
        return argv

    def _answers(self):
        """True once it answers a PING; a refusal for want of a password is an answer, "loading" is not yet one."""
        if not self.process.running:
            raise RuntimeError(f"ended with {self.process.returncode}")
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(2)
                link.connect(self.socket_path)
                link.sendall(b"PING\r\n")
                answer = link.recv(64)
        except OSError:
            return False
        return answer.startswith((b"+PONG", b"-NOAUTH", b"-NOPERM"))
