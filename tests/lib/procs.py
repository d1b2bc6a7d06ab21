# SPDX-License-Identifier: MIT
"""Processes for tests: start, stop, kill, and waits that end.

Process owns one child and the files its output goes to; Processes owns several and ends them all when its block is
left, whatever happened inside. Nothing here sleeps for a fixed time: wait_for() looks every 10 ms until the time is up.
A child is only ever signalled by the id that we hold and have not yet waited for, so no other process can be hit.
"""
import contextlib
import os
import signal
import socket
import subprocess
import time

POLL_S = 0.01
TAIL_BYTES = 4000


class WaitTimeout(AssertionError):
    """What was waited for did not happen in time."""


def cpu_s(process):
    """Seconds of CPU that a running process has used."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(condition, timeout_s=10.0, what="condition"):
    """Calls condition() every 10 ms until it returns something true, and returns that.

    `what` may be a text or a function that makes one (called only when the time is up)."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise WaitTimeout(f"not within {timeout_s:g} s: {what() if callable(what) else what}")
        time.sleep(POLL_S)


def free_port():
    """A TCP port of 127.0.0.1 that was free a moment ago. Whoever uses it must cope with it being taken since."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """One child process. Its output goes to `<out_dir>/<name>.out` and `.err`, appended when the name is used again.

    env: added to the environment of this process, None as a value removes the variable; env_only=True starts from an
    empty environment instead. Standard input is empty unless `stdin` is given (bytes)."""

    def __init__(self, argv, out_dir, name=None, env=None, env_only=False, cwd=None, stdin=None):
        self.argv = [os.fspath(arg) for arg in argv]
        self.name = name or os.path.basename(self.argv[0])
        self.out_path = os.path.join(out_dir, f"{self.name}.out")
        self.err_path = os.path.join(out_dir, f"{self.name}.err")
        full_env = {} if env_only else dict(os.environ)
        full_env.update({key: str(value) for key, value in (env or {}).items() if value is not None})
        for key in (key for key, value in (env or {}).items() if value is None):
            full_env.pop(key, None)
        with open(self.out_path, "ab") as out, open(self.err_path, "ab") as err:
            self.out_start, self.err_start = out.tell(), err.tell()
            self.popen = subprocess.Popen(self.argv, stdout=out, stderr=err, env=full_env, cwd=cwd,
                                          stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL)
        if stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.popen.stdin.write(stdin)
            with contextlib.suppress(BrokenPipeError):
                self.popen.stdin.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.kill()

    def __repr__(self):
        return f"<{self.name} pid {self.pid} {'running' if self.running else f'exit {self.returncode}'}>"

    @property
    def pid(self):
        return self.popen.pid

    @property
    def running(self):
        return self.popen.poll() is None

    @property
    def returncode(self):
        """None while it runs; minus the signal's number if a signal ended it."""
        return self.popen.poll()

    def send_signal(self, number):
        if self.running:
            self.popen.send_signal(number)

    def pause(self):
        self.send_signal(signal.SIGSTOP)

    def resume(self):
        self.send_signal(signal.SIGCONT)

    def wait(self, timeout_s=30.0):
        """Waits for its end and returns its exit code; WaitTimeout (with the end of its output) if it runs on."""
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise WaitTimeout(f"{self.name} (pid {self.pid}) still runs after {timeout_s:g} s\n{self.tail()}") from None

    def wait_exit(self, code=0, timeout_s=30.0):
        """Waits for its end and insists on the exit code; the end of its output is in the failure's text."""
        got = self.wait(timeout_s)
        assert got == code, f"{self.name} ended with {got}, expected {code}\n{self.tail()}"

    def wait_killed(self, number=signal.SIGKILL, timeout_s=30.0):
        """Waits until a signal has ended it (a crash point, for instance)."""
        self.wait_exit(-number, timeout_s)

    def stop(self, timeout_s=10.0):
        """SIGTERM, then the exit code; SIGKILL and WaitTimeout if it does not go."""
        self.send_signal(signal.SIGTERM)
        try:
            return self.wait(timeout_s)
        except WaitTimeout:
            self.kill()
            raise

    def kill(self):
        """SIGKILL (it may be stopped or gone already) and wait."""
        if self.running:
            self.popen.kill()
        self.popen.wait()

    def stdout(self):
        return self._read(self.out_path, self.out_start)

    def stderr(self):
        return self._read(self.err_path, self.err_start)

    def wait_output(self, text, timeout_s=10.0):
        """Waits until `text` stands in what it has written (either stream); fails at once if it ends before."""
        def seen():
            ended = not self.running
            found = text in self.stdout() or text in self.stderr()
            if ended and not found:
                raise AssertionError(f"{self.name} ended with {self.returncode} before {text!r}\n{self.tail()}")
            return found
        wait_for(seen, timeout_s, lambda: f"{text!r} from {self.name}\n{self.tail()}")

    def tail(self):
        """The end of both streams, for failure texts."""
        out, err = self.stdout()[-TAIL_BYTES:], self.stderr()[-TAIL_BYTES:]
        return f"--- {self.name} stdout\n{out}\n--- {self.name} stderr\n{err}"

    @staticmethod
    def _read(path, start):
        with open(path, "rb") as stream:
            stream.seek(start)
            return stream.read().decode("utf-8", "replace")


class Processes:
    """Several processes that share an output folder and end together: `with Processes(tmp_path) as procs:`."""

    def __init__(self, out_dir, env=None):
        self.out_dir = os.fspath(out_dir)
        self.env = dict(env or {})
        self.all = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.kill_all()

    def start(self, argv, name=None, env=None, **kwargs):
        process = Process(argv, self.out_dir, name=name, env={**self.env, **(env or {})}, **kwargs)
        self.all.append(process)
        return process

    def run(self, argv, code=0, timeout_s=30.0, **kwargs):
        """Starts, waits, insists on the exit code (None: any), returns the ended process."""
        process = self.start(argv, **kwargs)
        if code is None:
            process.wait(timeout_s)
        else:
            process.wait_exit(code, timeout_s)
        return process

    def kill_all(self):
        for process in reversed(self.all):
            process.kill()
