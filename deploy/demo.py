# SPDX-License-Identifier: MIT
"""The demo: three articles, four channels, a worker that is killed when a platform has published and nobody heard it.

Everything real but the platforms: a private Redis, the programs of build/release, the configuration and the feed of
deploy/example. The platforms are the fake ones that the tests use; they hold the seventh write's answer back after they
committed it, and count at the end what was really published. Nothing here waits for time to pass: it waits for what
happens, and gives up after a minute. Leaves no process and no file behind, however it ends. Exit 0: every article
stands once on every channel; 1: it does not, or something failed, in words.
"""
import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # of the platforms' process too: nothing is left behind
sys.path.insert(0, os.path.join(TOP, "tests"))
from lib.procs import Processes, wait_for  # noqa: E402
from lib.redis_server import RedisServer  # noqa: E402
from lib.tree import program  # noqa: E402
from platform_sim.client import AdminError, SimulatorProcess  # noqa: E402
from platform_sim.redis_row import Link, RowUnreadable  # noqa: E402

EXAMPLE = os.path.join(TOP, "deploy", "example")
FEED = os.path.join(EXAMPLE, "feed.json")
KILLED_AT = 7
LIMIT_S = 60
# By default a lease lasts 60 s and a platform gets up to two minutes more: right for servers far away, long for a demo.
# A write ends within its limit, and the lease outlives that.
TIMES = {"lease_ms": 6000, "margin_ms": 500, "late_commit_ms": 500, "visibility_lag_ms": 500}
WRITE_LIMIT_MS = 4000
# What the fake platforms and landfall both have to know. It opens nothing; only webhooks ask for this form.
SECRET = "whsec_bm90LWEtc2VjcmV0LWp1c3QtZm9yLXRoZS1kZW1v"
ROW_SHOWN = ("state", "reason", "attempt", "worker", "claimed_at", "commit_by", "key")


class DemoFailed(Exception):
    """The demo did not show what it is there to show; the text says what happened instead."""


# ---- what is printed

COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def painted(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


def say(text=""):
    print(text, flush=True)


def heading(text):
    say(f"\n{painted('1', text)}\n")


def block(text):
    """The output of a command, set in."""
    for line in text.rstrip("\n").split("\n"):
        say(f"     {line}".rstrip())


def command(argv, comment=""):
    """A command as somebody would type it; the path of a program or a file of ours is left out."""
    words = [os.path.relpath(word, TOP) if word.startswith(EXAMPLE) else os.path.basename(word) if i == 0 else word
             for i, word in enumerate(argv)]
    line = "   $ " + " ".join(word if word == "&" or word.startswith("$") else shlex.quote(word) for word in words)
    say(painted("1", line) + (painted("2", f"   # {comment}") if comment else ""))


def cut(text, width):
    """Text of at most `width` characters: what is too long loses its middle."""
    if len(text) <= width:
        return text
    return text[:(width - 3) // 2] + "..." + text[len(text) - (width - 3 - (width - 3) // 2):]


# ---- the scene: Redis, platforms, configuration, processes

def instance_name(channel):
    return channel.replace("/", "-")


class Scene:
    def __init__(self, stack):
        self.killed_at = None
        self.dir = tempfile.mkdtemp(prefix="landfall-demo-")
        stack.callback(shutil.rmtree, self.dir, ignore_errors=True)
        self.redis = stack.enter_context(RedisServer(port="0"))
        self.link = Link(f"unix:{self.redis.socket_path}")
        with open(os.path.join(EXAMPLE, "landfall.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        with open(FEED, encoding="utf-8") as file:
            self.items = [item["id"] for item in json.load(file)["items"]]
        self.channels = list(self.config["channels"])
        self.deliveries = [f"{channel}/{item}" for item in self.items for channel in self.channels]
        self.sim = stack.enter_context(SimulatorProcess(
            [{"name": instance_name(channel), "platform": entry["platform"], "channel": channel,
              "token": SECRET, "username": channel.split("/")[1]}
             for channel, entry in self.config["channels"].items()], redis=f"unix:{self.redis.socket_path}"))
        self.environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.dir,
                            "LANDFALL_CONFIG": os.path.join(self.dir, "landfall.json"),
                            "LANDFALL_REDIS_URL": f"unix://{self.redis.socket_path}"}
        self._write_config()
        self.processes = stack.enter_context(Processes(self.dir))

    def _write_config(self):
        """The example as it stands, with the fakes' addresses, short times, and credentials where it looks for them."""
        for channel, entry in self.config["channels"].items():
            address = self.sim.urls[instance_name(channel)]
            entry["settings"] = {name: address if value.startswith("https://") else value
                                 for name, value in entry["settings"].items()}
            entry.update(times=TIMES, write_limit_ms=WRITE_LIMIT_MS)
            credential = entry["credential"]
            if "env" in credential:
                self.environment[credential["env"]] = SECRET
            else:
                path = os.path.join(self.dir, credential["file"])
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                    file.write(SECRET + "\n")
        self.config["descriptors"] = [os.path.join(TOP, "platforms", "descriptors")]
        with open(self.environment["LANDFALL_CONFIG"], "w", encoding="utf-8") as file:
            json.dump(self.config, file)

    def start(self, name, *arguments, **environment):
        return self.processes.start([program(name), *arguments], name=f"{name}-{len(self.processes.all)}",
                                    env={**self.environment, **environment}, env_only=True, cwd=self.dir)

    def redis_cli(self, *words):
        argv = ["redis-cli", "-s", self.redis.socket_path, *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=10).stdout

    def hash(self, kind, delivery):
        flat = self.link.call("HGETALL", f"lf:{{0}}:{kind}:{delivery}")
        return dict(zip(flat[::2], flat[1::2]))

    def state(self, delivery):
        """(state, reason, source) as the row says; None for what it does not."""
        return tuple(self.link.call("HMGET", f"lf:{{0}}:delivery:{delivery}", "state", "reason", "source"))

    def note(self, text):
        """A line with the time since the worker was killed."""
        say(f"     {time.monotonic() - self.killed_at:4.1f} s  {text}")


# ---- the acts

def introduce(scene):
    say(painted("1", f"{len(scene.items)} articles, {len(scene.channels)} channels, "
                f"and a worker that is killed when a platform has published and nobody has heard it."))
    say()
    say(f"   Redis       private, SOCK={scene.redis.socket_path}")
    say("   Platforms   the fake ones of tests/platform_sim, on 127.0.0.1; they count what is really published")
    say("   Channels    deploy/example/landfall.json with their addresses, and with short times: a lease of "
        f"{TIMES['lease_ms'] // 1000} s, not 60 s")


def submit(scene):
    heading("1. Submit")
    argv = [program("landfall"), "submit", FEED, "--to", *scene.channels]
    command(argv)
    process = scene.start("landfall", *argv[1:])
    process.wait_exit(0)
    block(process.stdout() + process.stderr())


def publish_and_kill(scene):
    """Starts a worker with one slot and kills it while the platform holds an answer back; gives the delivery's name."""
    heading(f"2. A worker publishes, and is killed at write {KILLED_AT}")
    scene.sim.fault("hold", "*", on={"nth_write": KILLED_AT})
    command(["LANDFALL_WORKER_NAME=worker-1", "LANDFALL_WORKER_SLOTS=1", "landfall-worker", "&"],
            "one slot: one delivery after the other")
    worker = scene.start("landfall-worker", LANDFALL_WORKER_NAME="worker-1", LANDFALL_WORKER_SLOTS="1")
    held = scene.sim.wait("holding", timeout_ms=20_000)["holding"][0]
    delivery = held["deliveries"][0]
    external_id = scene.sim.delivery(delivery)["external_ids"][0]
    say(f"     {KILLED_AT - 1} deliveries are published. Number {KILLED_AT} is {painted('1', delivery)}: "
        f"the platform has published it")
    say(f"     as {external_id}, and holds its answer back.")
    say()
    command(["kill", "-KILL", str(worker.pid)])
    worker.kill()
    scene.killed_at = time.monotonic()
    scene.sim.wait("gone", timeout_ms=10_000)
    scene.sim.release()
    say("     The worker is dead. The answer went to nobody.")
    return delivery


def look(scene, delivery):
    """What stands in Redis at this moment, as an operator reads it."""
    heading("3. What an operator sees now")

    def show(*words, comment=""):
        command(["redis-cli", "-s", "$SOCK", *words], comment)
        return scene.redis_cli(*words).splitlines()

    flat = show("HGETALL", f"lf:{{0}}:delivery:{delivery}", comment=f"{', '.join(ROW_SHOWN[:3])} ... of the row")
    row = dict(zip(flat[::2], flat[1::2]))
    block("\n".join(f"{name:<11} {row[name]}" for name in ROW_SHOWN if name in row)
          + f"\n(and {sum(name not in ROW_SHOWN for name in row)} fields more)")
    block("\n".join(show("GET", f"lf:{{0}}:lease:{delivery}", comment="worker, attempt, token")))
    block("\n".join(show("PTTL", f"lf:{{0}}:lease:{delivery}", comment="ms until it ends")))
    agenda = show("ZRANGE", "lf:{0}:agenda", "0", "-1", "WITHSCORES", comment="when it is looked at again")
    if f"delivery:{delivery}" not in agenda:
        raise DemoFailed(f"{delivery} is not on the agenda")
    position = agenda.index(f"delivery:{delivery}")
    block("\n".join(agenda[position:position + 2])
          + (f"\n(and {len(agenda) // 2 - 1} members more)" if len(agenda) > 2 else ""))
    say()
    say("   So it may have been published, and nobody may send it again before that is known.")


def recover(scene, delivery):
    """Another worker and the reconciler; what becomes of the delivery and of the others, and when."""
    heading("4. Another worker, and the reconciler")
    command(["LANDFALL_WORKER_NAME=worker-2", "landfall-worker", "&"])
    command(["landfall-reconciler", "run", "&"])
    running = [scene.start("landfall-worker", LANDFALL_WORKER_NAME="worker-2"),
               scene.start("landfall-reconciler", "run")]
    others = [name for name in scene.deliveries if name != delivery]
    seen = {delivery: None, "others": False}

    def all_published():
        state, others_done = scene.state(delivery), all(scene.state(name)[0] == "published" for name in others)
        if state != seen[delivery]:
            seen[delivery] = state
            scene.note(f"{delivery} is {words_of(state)}")
        if others_done and not seen["others"]:
            seen["others"] = True
            scene.note(f"the other {len(others)} are published")
        for process in running:
            if not process.running:
                raise DemoFailed(f"{process.name} ended by itself with {process.returncode}")
        return others_done and state[0] == "published"

    wait_for(all_published, LIMIT_S - 10, lambda: "; ".join(
        f"{name} is {words_of(scene.state(name))}" for name in scene.deliveries if scene.state(name)[0] != "published"))
    for process in running:
        if process.stop() != 0:
            raise DemoFailed(f"{process.name} did not end well: exit {process.returncode}")


def words_of(state):
    return painted("1", state[0] or "missing") + "".join(f", {word}" for word in state[1:] if word)


def print_table(scene):
    heading("5. What an on-call person wants to see")
    say(painted("2", f"   {'item':<12} {'channel':<16} {'state':<10} {'source':<10} {'external id':<20} url"))
    for delivery in scene.deliveries:
        platform, account, item = delivery.split("/", 2)
        row, long = scene.hash("delivery", delivery), scene.hash("request", delivery)
        state, source = row.get("state", "missing"), row.get("source", "-")
        external_id, url = (row.get(name) or long.get(name) or "-" for name in ("ext_id", "url"))
        marked = painted("1;32", f"{source:<10}") if source != "response" else f"{source:<10}"
        say(f"   {item:<12} {platform + '/' + account:<16} {state:<10} {marked} {cut(external_id, 20):<20} {url}")
        if state != "published":
            raise DemoFailed(f"{delivery} is {state}")


def judge(scene):
    """The platforms' own count against what must be."""
    report = scene.sim.report()
    writes = sum(entry["writes"] for entry in report["deliveries"].values())
    commits, duplicates = report["totals"]["commits"], report["totals"]["duplicates"]
    say()
    say(f"   The platforms counted {writes} write requests, {commits} commits, {duplicates or 'no'} duplicate"
        f"{'s' if duplicates > 1 else ''}.")
    wrong = [f"{name} was published {report['deliveries'].get(name, {}).get('commits', 0)} times"
             for name in scene.deliveries if report["deliveries"].get(name, {}).get("commits") != 1]
    wrong += [f"{violation['kind']}: {violation['text']}" for violation in report["violations"]]
    if (commits, duplicates) != (len(scene.deliveries), 0):
        wrong.append(f"expected {len(scene.deliveries)} commits and no duplicate")
    if wrong:
        raise DemoFailed("; ".join(wrong))
    say(painted("1;32", "   Each article once on each channel."))


def play(scene):
    introduce(scene)
    submit(scene)
    delivery = publish_and_kill(scene)
    look(scene, delivery)
    recover(scene, delivery)
    print_table(scene)
    judge(scene)


def on_signal(number, _frame):
    if number == signal.SIGALRM:
        raise DemoFailed(f"not done within {LIMIT_S} s")
    raise SystemExit(128 + number)


def main():
    signals = (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        signal.signal(number, on_signal)
    signal.alarm(LIMIT_S)
    with contextlib.ExitStack() as stack:
        scene = None
        try:
            scene = Scene(stack)
            play(scene)
        except (DemoFailed, AdminError, AssertionError, OSError, RowUnreadable, subprocess.SubprocessError) as error:
            say()
            say(painted("1;31", f"The demo failed: {error}"))
            for process in scene.processes.all if scene else ():
                print(process.tail(), file=sys.stderr)
            return 1
        finally:
            for number in signals:
                signal.signal(number, signal.SIG_IGN)  # from here on everything is ended and removed
    return 0


if __name__ == "__main__":
    sys.exit(main())
