# SPDX-License-Identifier: MIT
"""One measured run: a private Redis with the settings that are shipped, a sink, and the processes that are measured.

The processes are started and warmed up with some deliveries, stopped (SIGSTOP) while the queue is filled, and let go.
What is measured lies between that moment and the last delivery's end. CPU time is what the kernel counted for all
threads of a process; a run whose sink did not see each delivery exactly once gives no figure.
"""
import contextlib
import dataclasses
import glob
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from bench import nginx
from lib.authority import can_trust, trusting
from lib.procs import Process, wait_for
from lib.redis_server import RedisServer
from lib.redis_topology import Certificates
from lib.tree import TOP, program

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
WARM_UP = 512
RUN_LIMIT_S = 300
OURS_ALONE = ("aclfile", "port", "dir", "protected-mode")  # each run has its own
QUEUE = "lf:{0}:queue"


class NoFigure(Exception):
    """The run happened, and counts for nothing; says why."""


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    slots: int = 256
    wait_ms: int = 0
    body_bytes: int = 1024
    fsync: str = "everysec"
    workers: int = 1
    channels: int = 1
    tls: str = ""  # what a server in front of the sink offers: "http/1.1", "h2" (and then HTTP/1.1, too)
    deliveries: int = 6000  # the bare loop gets four times as many: its runs would be too short
    subjects: tuple = ("product", "bare")


def redis_settings(fsync):
    """What stands in deploy/redis/redis.conf, as options of a server."""
    options = {}
    with open(os.path.join(TOP, "deploy", "redis", "redis.conf"), encoding="utf-8") as conf:
        for words in (line.split(None, 1) for line in conf if line.strip() and not line.startswith("#")):
            if words[0] not in OURS_ALONE:
                options[words[0]] = words[1].strip().strip('"')
    return {**options, "appendfsync": fsync}


# ---- what the kernel and Redis have counted

def cpu_us(pid):
    """CPU time of all threads that live."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as stat:
            total += int(stat.read().split()[0])
    return total / 1000


def peak_rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def snapshot(redis, db, pids):
    info = db.info("stats")
    calls = {name[8:]: one["calls"] for name, one in db.info("commandstats").items()}
    return {"worker_us": sum(cpu_us(pid) for pid in pids), "redis_us": cpu_us(redis.pid), "calls": calls,
            "commands": sum(calls.values()), "in": info["total_net_input_bytes"], "out": info["total_net_output_bytes"]}


class Sink:
    def __init__(self, wait_ms, check):
        """check: called while an answer is waited for; raises when there will be none."""
        self.check = check
        self.popen = subprocess.Popen([program("bench_sink"), "--secret", SECRET, "--wait-ms", str(wait_ms)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.rest = b""
        self.port = int(self._line())

    def _line(self):
        end = time.monotonic() + RUN_LIMIT_S
        while b"\n" not in self.rest:
            if select.select([self.popen.stdout], [], [], 0.5)[0]:
                self.rest += os.read(self.popen.stdout.fileno(), 4096) or self._ended()
            self.check()
            if time.monotonic() > end:
                raise NoFigure(f"the sink did not see all deliveries within {RUN_LIMIT_S} s")
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def _ended(self):
        raise NoFigure(f"the sink ended with {self.popen.wait()}")

    def ask(self, words):
        self.popen.stdin.write(words.encode() + b"\n")
        return self._line()

    def report(self):
        posts, keys, items, bad = map(int, self.ask("report").split()[1:])
        return {"posts": posts, "keys": keys, "items": items, "bad": bad}

    def close(self):
        self.popen.stdin.close()
        self.popen.stdout.close()
        self.popen.kill()
        self.popen.wait()


class TlsFront:
    """nginx between the processes that are measured and the sink, and an authority of our own that they verify it by."""

    def __init__(self, folder, port, http2):
        if nginx.MISSING:
            raise NoFigure(nginx.MISSING)
        certificates = Certificates(folder)
        self.authority = certificates.path("ca.crt")
        if not can_trust(self.authority):
            raise NoFigure("no mount namespace may be made here, so nobody can be made to trust our authority")
        self.server = nginx.tls(folder, certificates, port, http2)
        self.url = f"https://localhost:{self.server.port}/hook"

    def close(self):
        self.server.close()


class Rig:
    """Redis, sink, folder. Subjects (subjects.py) put their processes into it."""

    def __init__(self, case):
        self.case, self.filled, self.processes = case, 0, []
        self.dir = tempfile.mkdtemp(prefix="landfall-bench-")
        self.redis = RedisServer(**redis_settings(case.fsync))
        self.sink = self.front = None

    def __enter__(self):
        try:
            self.redis.start()
            self.db = self.redis.client()
            self.sink = Sink(self.case.wait_ms, self.check_alive)
            self.url = f"http://127.0.0.1:{self.sink.port}/hook"
            if self.case.tls:
                self.front = TlsFront(self.dir, self.sink.port, self.case.tls == "h2")
                self.url = self.front.url
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        self.end_processes()
        if self.front:
            self.front.close()
        if self.sink:
            self.sink.close()
        self.redis.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self, argv, env=None, cwd=None):
        if self.front:
            argv = trusting(self.front.authority, argv)
        self.processes.append(Process(argv, self.dir, name=f"worker-{len(self.processes)}", env=env, cwd=cwd))

    def end_processes(self):
        for process in self.processes:
            process.kill()
        self.processes = []

    def check_alive(self):
        for process in self.processes:
            if not process.running:
                raise NoFigure(f"{process!r}: {process.tail()[-300:].strip()}")

    def await_settled(self, subject):
        def settled():
            self.check_alive()
            return subject.settled(self, self.filled)
        wait_for(settled, RUN_LIMIT_S, what=lambda: f"all to be settled\n{self.tail()}")

    def tail(self):
        return "\n".join(process.tail() for process in self.processes)

    def channel(self, number):
        return f"webhook/bench-{number % self.case.channels}"

    def content(self):
        return "x" * max(16, self.case.body_bytes - 160)  # the rest of the item and its envelope

    def fill_stream(self, first, count):
        """Adds to the queue as any producer would."""
        text = self.content()
        for start in range(first, first + count, 500):
            pipe = self.db.pipeline(transaction=False)
            for number in range(start, min(start + 500, first + count)):
                item = {"id": f"item-{number}", "url": f"https://blog.example/p/item-{number}",
                        "title": f"Title of item-{number}", "content_text": text}
                pipe.xadd(QUEUE, {"channel": self.channel(number), "item": json.dumps(item, separators=(",", ":"))})
            pipe.execute()


def push(rig, subject, count):
    """Brings so many deliveries to their end, unmeasured."""
    rig.sink.ask("reset")
    subject.fill(rig, rig.filled, count)
    rig.filled += count
    if rig.sink.ask(f"until {count}") != f"reached {count}":
        raise NoFigure("the sink lost count")
    rig.await_settled(subject)


def measured(rig, subject, count):
    pids = [process.pid for process in rig.processes]
    rig.sink.ask("reset")
    for process in rig.processes:
        process.pause()
    subject.fill(rig, rig.filled, count)
    rig.filled += count
    before = snapshot(rig.redis, rig.db, pids)
    started = time.monotonic()
    for process in rig.processes:
        process.send_signal(signal.SIGCONT)
    rig.sink.ask(f"until {count}")
    rig.await_settled(subject)
    took_s = time.monotonic() - started
    after = snapshot(rig.redis, rig.db, pids)
    seen = rig.sink.report()
    if seen != {"posts": count, "keys": count, "items": count, "bad": 0}:
        raise NoFigure(f"the sink did not see each of {count} once: {seen}")
    calls = {name: round((n - before["calls"].get(name, 0)) / count, 3) for name, n in after["calls"].items()}
    return {
        "deliveries": count, "rate": count / took_s,
        "worker_us": (after["worker_us"] - before["worker_us"]) / count,
        "redis_us": (after["redis_us"] - before["redis_us"]) / count,
        "rss_mib": sum(peak_rss_kib(pid) for pid in pids) / 1024,
        "redis_commands": (after["commands"] - before["commands"]) / count,
        "redis_in": (after["in"] - before["in"]) / count, "redis_out": (after["out"] - before["out"]) / count,
        "calls": {name: n for name, n in sorted(calls.items()) if n >= 0.005},
    }


def run_once(case, subject, deliveries=None):
    """A whole run in a Redis of its own; its figures."""
    with Rig(case) as rig:
        subject.start(rig)
        push(rig, subject, WARM_UP)
        return measured(rig, subject, (deliveries or case.deliveries) * subject.runs_longer)
