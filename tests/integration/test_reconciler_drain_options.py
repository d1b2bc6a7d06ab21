# SPDX-License-Identifier: MIT
"""Which deliveries a drain takes, what a dry run says and leaves alone, and what a person sees of its progress."""
import os
import re
import resource
import subprocess
import threading

import pytest

from lib.procs import wait_for
from lib.terminal import open_terminal
from lib.tree import TOP, program
from reconciler_kit import Scene, channel

FOREM, TOOTS = channel("forem"), channel("mastodon")


def by_name(lines):
    return {line["delivery"]: line for line in lines["delivery"]}


def uncertain_since(scene, delivery, ago_ms):
    """As if it had become uncertain so long ago."""
    name, since = "/".join(delivery.split("/")[:2]), scene.ledger.now() - ago_ms
    scene.db.zadd(scene.ledger.key("uncertain", name), {delivery: since})
    scene.db.hset(scene.ledger.key("delivery", delivery), "since", since)


# ---- which


@pytest.mark.parametrize("args, taken", [
    (["--since", "30m"], ["young"]),
    (["--since", "3h"], ["middle", "young"]),
    (["--older-than", "30m"], ["old", "middle"]),
    (["--since", "3h", "--older-than", "30m"], ["middle"]),
    (["--limit", "1"], ["old"]),
    (["--limit", "2"], ["old", "middle"]),
    (["--limit", "9"], ["old", "middle", "young"]),
    (["--older-than", "7d"], []),
])
def test_only_what_was_asked_for(args, taken):
    with Scene(["forem"]) as scene:
        names = {item: scene.uncertain(FOREM, item) for item in ("young", "old", "middle")}
        for item, ago_ms in (("old", 86400000), ("middle", 7200000), ("young", 60000)):
            uncertain_since(scene, names[item], ago_ms)
        lines = scene.drain(*args)
        assert set(by_name(lines)) == {names[item] for item in taken}
        assert lines["plan"][0]["uncertain"] == len(taken)
        assert lines["plan"][0]["passed_over"] == lines["summary"][0]["passed_over"] == 3 - len(taken)
        for item, name in names.items():
            assert scene.ledger.state(name) == (("approved", "absent") if item in taken else ("uncertain", "no_answer"))
        left = len(names) - len(taken)
        assert scene.db.zcard(scene.ledger.key("uncertain", FOREM)) == len(scene.ledger.journal()) == left
        assert (scene.ledger.due("walk:" + FOREM) is not None) == (left > 0), "what is left stays on the agenda"
        assert taken or scene.saw("forem", "requests") == 0
        scene.nothing_was_written()


def test_since_takes_a_moment_too():
    with Scene(["forem"]) as scene:
        scene.uncertain(FOREM, "it-1")
        assert scene.drain("--since", "2038-01-01T00:00:00Z")["plan"][0]["passed_over"] == 1
        assert scene.drain("--since", "2026-01-01T00:00:00+02:00")["plan"][0]["passed_over"] == 0


def test_the_oldest_of_all_channels_come_first():
    with Scene(["forem", "mastodon"], times={"key_window_ms": 0}) as scene:
        names = [scene.uncertain((FOREM, TOOTS)[n % 2], f"it-{n}") for n in range(6)]
        for n, name in enumerate(names):
            uncertain_since(scene, name, 3600000 - n * 1000)
        assert set(by_name(scene.drain("--limit", "3"))) == set(names[:3])


def test_the_verb_passes_its_flags_through():
    with Scene(["forem"]) as scene:
        scene.uncertain(FOREM, "it-1")
        process = scene.start("landfall", "drain", "--limit", "1", "--dry-run", "--config", scene.config_path, name="verb")
        process.wait_exit(0)
        assert "Dry run: nothing is changed" in process.stdout()


# ---- a dry run


class Monitor:
    """What clients other than our own sent to Redis: lists of words."""

    def __init__(self, scene):
        self.commands, self.ended = [], threading.Event()
        self.client = scene.redis.client(encoding_errors="replace")
        self.thread = threading.Thread(target=self.read, daemon=True)

    def read(self):
        with self.client.monitor() as monitor:
            self.ready.set()
            for command in monitor.listen():
                words = command["command"].split()
                self.commands.append(words)
                if words[:2] == ["ECHO", "enough"]:
                    self.ended.set()
                    return

    def __enter__(self):
        self.ready = threading.Event()
        self.thread.start()
        assert self.ready.wait(5)
        return self

    def __exit__(self, *exc):
        pass

    def end(self, db):
        db.echo("enough")
        assert self.ended.wait(5)
        return self.commands[:-1]


def write_commands(db, commands):
    """Those that can change something: by the server's own flags, and every script."""
    flags = {}
    for words in commands:
        name = words[0].lower()
        if name not in flags:
            info = db.execute_command("COMMAND INFO", name)
            flags[name] = set(info[name]["flags"]) if isinstance(info, dict) and name in info else set(info[0][2])
    scripts = {"eval", "evalsha", "fcall", "script", "function"}
    return [words for words in commands if "write" in flags[words[0].lower()] or words[0].lower() in scripts]


def test_a_dry_run_says_what_would_happen_and_sends_redis_no_write():
    with Scene(["forem", "mastodon"], blind=True, times={"visibility_lag_ms": 1, "key_window_ms": 0}) as scene:
        there, absent = scene.uncertain(FOREM, "it-1"), scene.uncertain(FOREM, "it-2")
        early = scene.uncertain(FOREM, "it-3", commit_cap=3600000)
        unread, blind = scene.uncertain(TOOTS, "it-4"), scene.uncertain("blind/brand", "it-5")
        post = scene.plant("forem", "it-1")
        scene.sim.fault("status", "mastodon", on={"kind": "read"}, times=-1, status=401)
        scene.sim.fault("status", "mastodon", on={"kind": "list"}, times=-1, status=401)
        before = scene.ledger.dump()
        with Monitor(scene) as monitor:
            lines = scene.drain("--dry-run", code=3)
            commands = monitor.end(scene.db)
        assert len(commands) > 5 and write_commands(scene.db, commands) == []
        assert write_commands(scene.db, [["HSET"], ["EVALSHA"], ["HGETALL"]]) == [["HSET"], ["EVALSHA"]]
        assert scene.ledger.dump() == before
        told = by_name(lines)
        assert lines["plan"][0]["dry_run"] is True and lines["plan"][0]["uncertain"] == 5
        assert (lines["plan"][0]["now"], lines["plan"][0]["later"]) == (4, 1)
        assert told[there]["evidence"]["ext_id"] == post
        expected = {there: ("published", "confirmed", "the platform has it"),
                    absent: ("approved", "absent", "a complete history without it"),
                    early: ("uncertain", "no_answer", "may still commit"), unread: ("uncertain", "no_answer", "credential"),
                    blind: ("held", "no_evidence", "neither be read nor asked twice")}
        for delivery, (state, reason, why) in expected.items():
            assert (told[delivery]["after"]["state"], told[delivery]["after"]["reason"]) == (state, reason), told[delivery]
            assert why in told[delivery]["why"], told[delivery]
        assert scene.saw("forem", "reads") >= 1
        scene.nothing_was_written()
        # And so it happens.
        done = by_name(scene.drain(code=3))
        assert {name: line["after"]["state"] for name, line in done.items()} == {name: e[0] for name, e in expected.items()}


def test_a_dry_run_does_not_keep_anybody_out():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(FOREM, "it-1")
        scene.db.set(scene.ledger.key("walk", FOREM), "somebody-else", px=60000)
        process = scene.run("drain", "--dry-run", name="words")
        process.wait_exit(0)
        lines = process.stdout().splitlines()
        assert lines[0] == f"1 uncertain delivery: {FOREM} 1. 1 can be settled now. Dry run: nothing is changed"
        assert lines[1] == (f"{delivery}  uncertain no_answer -> absent by listing -> would be approved absent: "
                            "a complete history without it, read when nothing could still arrive")
        assert lines[-1] == "1 delivery would be: 1 approved."
        assert scene.db.get(scene.ledger.key("walk", FOREM)) == "somebody-else"


# ---- what is left, and progress


def documented():
    """Of each line of docs/contract.md's section on drain, the words that stand in code type there."""
    with open(os.path.join(TOP, "docs", "contract.md"), encoding="utf-8") as page:
        section = page.read().split("## 12. What drain prints, and read")[1].split("\n## ")[0]
    return {words[0]: set(words[1:]) for row in section.splitlines() if (words := re.findall(r"`(\w+)`", row)) and row[0] == "|"}


def test_every_member_of_the_json_lines_is_documented():
    with Scene(["forem"], blind=True, times={"visibility_lag_ms": 900, "clean_misses": 2}) as scene:
        scene.uncertain(FOREM, "it-1", commit_cap=500)
        scene.uncertain("blind/brand", "it-2")
        lines, known = scene.drain("--wait", code=3), documented()
        assert set(known) == set(lines)
        for kind, said in lines.items():
            for line in said:
                inner = [part for value in line.values() for part in (value if isinstance(value, list) else [value])
                         if isinstance(part, dict) and not set(part) & {FOREM, "uncertain"}]
                members = set(line).union(*inner) - {"line"}
                assert members <= known[kind], (kind, members - known[kind])
        assert all(lines[kind] for kind in ("plan", "delivery", "wait", "summary"))


def test_what_is_left_is_counted_with_its_reason():
    with Scene(["forem"], blind=True, times={"visibility_lag_ms": 3600000}) as scene:
        for n in range(3):
            scene.uncertain(FOREM, f"it-{n}")
        scene.uncertain("blind/brand", "it-9")
        lines = scene.drain("--channel", FOREM, code=3)
        assert lines["summary"][0]["left"] == [{
            "channel": FOREM, "state": "uncertain", "reason": "no_answer", "deliveries": 3,
            "why": "it is not there, and its last attempt may still commit or become visible"}]
        process = scene.run("drain", name="words")
        process.wait_exit(3)
        said = process.stdout().splitlines()
        assert "left: blind/brand 1 held no_evidence: this platform can neither be read nor asked twice" in said
        assert said[-1] == "4 deliveries: 3 uncertain, 1 held."


def test_a_ledger_that_was_set_back_is_why_they_wait():
    with Scene(["forem"]) as scene:
        scene.uncertain(FOREM, "it-1")
        scene.db.hset(scene.ledger.key("epoch"), "no_absence_before", scene.ledger.now() + 3600000)
        plan = scene.drain(code=3)["plan"][0]
        assert plan["later"] == 1 and "set back" in plan["later_why"]


def test_a_terminal_gets_a_bar_and_files_get_plain_lines():
    with Scene(["forem"]) as scene:
        scene.uncertain_many(FOREM, [f"it-{n}" for n in range(5)])
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        ours, theirs = open_terminal()
        drain = subprocess.Popen([program("landfall-reconciler"), "drain", "--config", scene.config_path],
                                 stdout=subprocess.PIPE, stderr=theirs, stdin=subprocess.DEVNULL)
        os.close(theirs)
        try:
            scene.sim.wait("holding")
            seen = b""
            while b"0 of 5 done" not in seen or b"page" not in seen:
                seen += os.read(ours, 4096)
            scene.sim.release()
            out = drain.communicate(timeout=20)[0].decode()
        finally:
            drain.kill()
            drain.wait()
            os.close(ours)
        assert b"\r\x1b[K[........................] 0 of 5 done, 0.0 a second; forem/brand: page 0" in seen
        assert "\x1b" not in out and "\r" not in out
        assert out.splitlines()[-1] == "5 deliveries: 5 approved."
        assert drain.returncode == 0


def test_a_long_wait_on_no_terminal_is_told_in_plain_lines():
    with Scene(["forem"], times={"visibility_lag_ms": 60000}) as scene:
        scene.uncertain(FOREM, "it-1")
        process = scene.run("drain", "--wait", "--timeout", "13", name="words")
        wait_for(lambda: "0 of 1 done, 0.0 a second" in process.stdout(), 13, what=process.tail)
        process.wait_exit(3)
        said = process.stdout().splitlines()
        assert "the time was up" in said[-1]
        assert any(line.startswith("left: forem/brand 1 uncertain no_answer: it is not there, and") for line in said)


def test_while_it_waits_for_a_platform_it_uses_no_cpu():
    late_ms = 2000
    with Scene(["forem"]) as scene:
        scene.uncertain(FOREM, "it-1")
        scene.sim.fault("commit_then_late_answer", "forem", on={"kind": "list"}, delay_ms=late_ms)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        scene.drain()
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_ms = 1000 * (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
        assert cpu_ms < late_ms / 2, f"{cpu_ms:.0f} ms of CPU"
        scene.nothing_was_written()
