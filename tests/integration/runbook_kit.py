# SPDX-License-Identifier: MIT
"""The situations of docs/runbook.md, made with real programs, and what is the same in two outputs of one command.

A situation is a generator: it prepares a fleet, yields it, and goes on when the page says that something has happened
meanwhile: a comment <!-- then: words --> on the page is the next step of the generator, which yields the same words.
"""
import contextlib
import getpass
import os
import re
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from ledger_calls import Ledger  # noqa: E402
from lib.fleet import SECRETS, TIMES, Fleet  # noqa: E402
from lib.stepped import shipped  # noqa: E402
from lib.tiers import NOTICES, NOTICES_TOKEN  # noqa: E402
from lib.tree import program  # noqa: E402

MASTODON, FOREM, NOTES = "mastodon/brand", "forem/brand", "notices/brand"
LAUNCH = f"{MASTODON}/launch"
# Long leases: none ends while a page is being read.
SLOW = {"times": {**TIMES, "lease_ms": 60000}, "write_limit_ms": 20000, "pace": {"spacing_ms": 0, "burst": 1}}


@contextlib.contextmanager
def fleet(platforms=("mastodon",), notes=False, times=None, more_descriptors=(), **more):
    channel = {platform: {**SLOW, "times": {**SLOW["times"], **(times or {})}} for platform in platforms}
    with Fleet(platforms, channel=channel, descriptors=[NOTICES, *more_descriptors], config={"worker": {"spool_dir": "spool"}}, **more) as one:
        os.mkdir(os.path.join(one.dir, "spool"))
        if notes:
            url = one.add_fake("notices", "notices", NOTES, NOTICES_TOKEN)
            one.add_channel(NOTES, NOTICES_TOKEN, {"instance": url})
        one.ledger = Ledger(one.db, run_id=one.db.info("server")["run_id"])
        bin_folder = os.path.join(one.dir, "bin")
        os.mkdir(bin_folder)
        wrapper = os.path.join(bin_folder, "redis-cli")
        with open(wrapper, "w", encoding="utf-8") as out:
            out.write(f'#!/bin/sh\nexec /usr/bin/redis-cli -s {one.redis.socket_path} "$@"\n')
        os.chmod(wrapper, 0o755)
        one.shell_env = {"PATH": f"{bin_folder}:{os.path.dirname(program('landfall'))}:/usr/bin:/bin", "HOME": one.dir}
        yield one


def work(one, name="worker-1", **kwargs):
    """A worker until nothing is due. Its heartbeat goes with it: a page shows who lives, not who lived a moment ago."""
    process = one.start_worker("--until-idle", env={"LANDFALL_WORKER_NAME": name}, **kwargs)
    process.wait()
    forget_processes(one)
    return process


def forget_processes(one):
    for key in one.db.keys("lf:{0}:worker:*"):
        one.db.delete(key)


def reconcile_until(one, delivery, state):
    with one.start_reconciler():
        one.wait_state(delivery, state)
    forget_processes(one)


def uncertain(one, channel, item_id, key="key-1"):
    """A write that had no answer, as a worker leaves it."""
    delivery = f"{channel}/{item_id}"
    token = one.ledger.token()
    answer = one.ledger.claim(delivery, token=token, entry=one.add(channel, one.item(item_id)), key=key, lease=60000, late_commit=300)
    assert answer[0] == "granted", answer
    one.ledger.settle(delivery, "uncertain", "no_answer", place="walk", token=token, commit_cap=1,
                      fields={"in_doubt": f"1:{token[:8]}", "tries": "1"})
    return delivery


# ---- the situations, by the heading of their section

def worker_killed():
    with fleet() as one:
        one.add(MASTODON, one.item("launch"))
        one.start_worker(crash_at="after_last_byte", env={"LANDFALL_WORKER_NAME": "worker-1"}).wait_killed()
        forget_processes(one)
        yield one
        one.db.delete(f"lf:{{0}}:lease:{LAUNCH}")  # as if its time had passed
        one.hurry(LAUNCH)
        work(one, "worker-2")
        one.wait_state(LAUNCH, "uncertain")
        yield "the lease has ended, and another worker has looked"


def redis_down():
    """The answer of one request comes while Redis is away, and its worker is killed before Redis is back."""
    with fleet(redis_options={"appendonly": "yes", "appendfsync": "always"}) as one:
        one.sim.fault("hold", "mastodon")
        one.add(MASTODON, one.item("launch"))
        worker = one.start_worker(env={"LANDFALL_WORKER_NAME": "worker-1"})
        one.sim.wait("holding")
        one.add(MASTODON, one.item("next"))
        one.wait_state(f"{MASTODON}/next", "published")
        one.redis.stop()
        one.sim.release()
        worker.wait_output("event=spool.kept", 20)
        worker.kill()
        yield one
        one.redis.start()
        forget_processes(one)
        yield "Redis is back"
        work(one)
        yield "a worker runs again"


def set_back():
    with fleet(["forem"], redis_options={"appendonly": "yes", "appendfsync": "always"}) as one:
        one.add(FOREM, one.item("first"))
        work(one)
        assert one.state(f"{FOREM}/first") == "published"
        one.add(FOREM, one.item("launch"))
        one.redis.restart()
        work(one)
        one.db.hset("lf:{0}:epoch", "doubt_until", 1)  # as if its ten seconds had passed
        one.hurry(f"{FOREM}/launch")
        work(one)
        one.wait_state(f"{FOREM}/launch", "uncertain")
        yield one


def credential_refused():
    with fleet(secrets={"mastodon": "not-the-token"}, instances={"mastodon": {"token": SECRETS["mastodon"]}}) as one:
        one.add(MASTODON, one.item("launch"))
        work(one)
        yield one
        one.write_secret("mastodon", SECRETS["mastodon"] + "\n")
        yield "the new token stands in its file"
        work(one)
        yield "the workers have read it"


def platform_down():
    with fleet() as one:
        one.sim.fault("refuse_connections", "mastodon", for_ms=60000, commit=False)
        one.add(MASTODON, one.item("launch"))
        work(one)
        one.add(MASTODON, one.item("second"))
        work(one)
        # As after some more tries: how many it were, and how long it rests, depends on this machine's pace.
        one.db.hset(f"lf:{{0}}:channel:{MASTODON}", mapping={"failures": 8, "blocked_until": one.ledger.now() + 120000, "blocked_why": "breaker"})
        one.hurry(f"{MASTODON}/second")
        work(one)
        yield one


def rate_limited():
    with fleet() as one:
        one.sim.fault("rate_limited", "mastodon", wait_s=600)
        one.add(MASTODON, one.item("launch"))
        work(one)
        yield one


def duplicate():
    with fleet(["forem"]) as one:
        delivery = uncertain(one, FOREM, "launch")
        url = one.item("launch")["url"]
        for age_ms in (5000, 0):
            one.sim.post("posts", instance="forem", op="plant", text=one.item("launch")["content_text"], canonical_url=url, newest_age_ms=age_ms)
        reconcile_until(one, delivery, "published")
        yield one


def says_yes():
    verified = {**shipped("mastodon"), "verify_after_publish": True}
    with fleet(more_descriptors=[verified]) as one:
        one.sim.fault("text_cut", "mastodon", on={"delivery": "cut"}, characters=60)
        text = "https://blog.example/p/cut " + "and more than the platform keeps, " * 3
        one.add(MASTODON, one.item("cut", content_text=text))
        work(one)
        reconcile_until(one, f"{MASTODON}/cut", "published")
        one.sim.fault("ghost_id", "mastodon", times=-1)
        for number in range(1, 4):
            one.add(MASTODON, one.item(f"gone-{number}"))
            work(one)
        reconcile_until(one, f"{MASTODON}/gone-3", "held")
        yield one


def held():
    with fleet(notes=True) as one:
        one.sim.fault("close_before_commit", "notices")
        one.add(NOTES, one.item("lost"))
        work(one)
        reconcile_until(one, f"{NOTES}/lost", "held")
        one.sim.fault("commit_then_close", "notices")
        one.add(NOTES, one.item("seen"))
        work(one)
        reconcile_until(one, f"{NOTES}/seen", "held")
        for name in ("a", "b", "c"):
            one.ledger.submit(f"{MASTODON}/draft-{name}", hold=True)
        yield one


def journal_grows():
    with fleet(["forem"], times={"late_commit_ms": 1, "visibility_lag_ms": 1, "clean_misses": 1}) as one:
        for number in range(3):
            uncertain(one, FOREM, f"it-{number}", key=f"key-{number}")
        one.sim.post("posts", instance="forem", op="plant", text=one.item("it-0")["content_text"],
                     canonical_url=one.item("it-0")["url"], newest_age_ms=0)
        yield one


def does_not_fit():
    """Somebody's hand took a delivery off the agenda, and wrote into the counts."""
    with fleet(redis_options={"appendonly": "yes", "appendfsync": "always"}) as one:
        one.add(MASTODON, one.item("first"))
        soon = time.time() + 2
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(soon))
        one.add(MASTODON, one.item("launch", landfall={"not_before": when}))
        with one.start_worker():
            one.wait_state(f"{MASTODON}/first", "published")
            one.wait_state(LAUNCH, "approved")
            assert one.db.zrem("lf:{0}:agenda", f"delivery:{LAUNCH}") == 1
        one.db.hincrby("lf:{0}:counts", f"{MASTODON} claimed", 3)
        forget_processes(one)
        time.sleep(max(0.0, soon - time.time()))
        os.chmod(os.path.join(one.dir, "mastodon.secret"), 0o600)
        yield one
        work(one)
        yield "a worker runs again"


def fills_up():
    """Four posts; a hundred days pass for two of them, and one of these has no date that would hold it back."""
    day_ms = 86400000
    with fleet() as one:
        one.channel_extra["mastodon"]["max_age_ms"] = 30 * day_ms
        one.write_config()
        today = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime())
        for number in range(4):
            one.add(MASTODON, one.item(f"it-{number}", **({"date_published": today} if number != 1 else {})))
        work(one)
        for number in range(3):
            for field in ("since", "dated"):
                if one.db.hexists(f"lf:{{0}}:delivery:{MASTODON}/it-{number}", field):
                    one.db.hincrby(f"lf:{{0}}:delivery:{MASTODON}/it-{number}", field, -100 * day_ms)
        yield one


SITUATIONS = {
    "A worker was killed": worker_killed,
    "Redis was away": redis_down,
    "Redis was set back: failover, restored backup": set_back,
    "The credential is refused": credential_refused,
    "The platform is down": platform_down,
    "The platform limits the rate": rate_limited,
    "An alarm about a duplicate": duplicate,
    "The platform says yes and shows something else, or nothing": says_yes,
    "Deliveries are held": held,
    "The journal grows": journal_grows,
    "A delivery never moves": does_not_fit,
    "Redis is nearly full": fills_up,
}

# ---- values that differ from run to run

MASKS = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "<time>"),
    (r"\b\d{13}-\d+\b", "<entry>"),
    (r"\b\d{13}\b", "<ms>"),
    (r"\b\d{18,}\b", "<id>"),
    (r"(/title-of-\w+)-[0-9a-f]{4}\b", r"\1-<slug>"),
    (r"127\.0\.0\.1:\d+", "<address>"),
    (r"\b[0-9a-f]{32}\b", "<hash>"),
    (r"\b(\d+):[0-9a-f]{8}\b", r"\1:<token>"),
    (r"\b[0-9a-f]{16}\b", "<token>"),
    (r"\b\d+ (?:ms|s|min|h|d)(?: \d+ (?:ms|s|min|h))?(?! off)\b", "<span>"),
    (r"\bnow \(<time>\)|\bin <span> \(<time>\)|<span> ago \(<time>\)", "<when>"),
    (r"\bnow, by [\w.-]+", "<when>"),
    (r"\s+$", ""),
    (r"[ \t]+", " "),
]


def without_this_machine(text):
    """As it would stand on the page: whose machine it was and where its Redis was is of no interest."""
    for word, name in ((getpass.getuser(), "ann"), (socket.gethostname(), "desk")):
        text = re.sub(rf"(?<![\w/-]){re.escape(word)}(?![\w/-])", name, text)
    text = re.sub(r"(unix://)?/[\w/.-]*landfall-redis-\w+/redis\.sock", r"\1/run/redis/redis.sock", text)
    return re.sub(r"/[\w/.-]*landfall-fleet-\w+", "/var/lib/landfall", text)


def masked(line):
    for pattern, name in MASKS:
        line = re.sub(pattern, name, line)
    return line
