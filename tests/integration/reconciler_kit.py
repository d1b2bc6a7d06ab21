# SPDX-License-Identifier: MIT
"""A fleet whose deliveries are already uncertain: claimed and settled as unknown through the real scripts, as a worker does
whose request had no answer. What the platform has of them is planted, so every write that the fake platforms see is a fault.
"""
import contextlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from ledger_calls import Ledger, channel_of  # noqa: E402
from lib.fleet import CHANNELS, TIMES, Fleet  # noqa: E402
from lib.procs import wait_for  # noqa: E402
from lib.tree import TOP  # noqa: E402

# A platform that can neither be read nor asked twice; none of the shipped ones is so.
BLIND = {
    "platform": "blind", "title": "A platform without eyes", "docs": ["https://blind.example/"],
    "settings": {"instance": {"type": "origin", "required": True, "help": "Where it is."}}, "instance": "instance",
    "auth": {"kind": "bearer"}, "text": ".item.content_text", "tier": "blind", "repeats": "harmful",
    "write": {"request": {"method": "POST", "url": ".settings.instance", "body": {"json": "{text: .text}"}}, "limit_ms": 1000},
    "accept": [{"status": [200], "outcome": "committed", "id": ".answer.body.id"}],
}

# A look at once, a search that counts at once; tests that need windows set their own.
QUICK = {"late_commit_ms": 1, "visibility_lag_ms": 1, "clean_misses": 1}


class Scene(Fleet):
    """times: the channels' own, over short ones. blind: a channel blind/brand besides the others. change: platform -> function
    that changes the shipped descriptor."""

    def __init__(self, platforms=("forem",), times=None, channel=None, blind=False, change=None, **kwargs):
        members = {p: {**(channel or {}), "times": {**TIMES, **QUICK, **(times or {})}} for p in platforms}
        super().__init__(platforms, channel=members, **kwargs)
        self.times = {**TIMES, **QUICK, **(times or {})}
        self.blind, self.change = blind, change or {}

    def write_config(self):
        super().write_config()
        with open(self.config_path, encoding="utf-8") as stream:
            config = json.load(stream)
        folder = os.path.join(self.dir, "descriptors")
        os.makedirs(folder, exist_ok=True)
        if self.blind:
            config["channels"]["blind/brand"] = {
                "platform": "blind", "settings": {"instance": "http://127.0.0.1:9"}, "times": self.times, "write_limit_ms": 1000,
                "credential": {"file": self.write("blind.secret", "tok-blind-1234")},
            }
            self.write("descriptors/blind.json", json.dumps(BLIND))
        for platform, change in self.change.items():
            with open(os.path.join(TOP, "platforms", "descriptors", platform + ".json"), encoding="utf-8") as stream:
                descriptor = json.load(stream)
            change(descriptor)
            self.write(f"descriptors/{platform}.json", json.dumps(descriptor))
        config["descriptors"].insert(0, folder)
        self.write("landfall.json", json.dumps(config, indent=1))

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def __enter__(self):
        super().__enter__()
        # The programs see the server's own run id; another one here would mean that Redis had been set back.
        self.ledger = Ledger(self.db, run_id=self.db.info("server")["run_id"])
        return self

    # ---- deliveries

    def uncertain(self, channel, item_id, key="key-1", commit_cap=1, reason="no_answer", attempts=1, harmless=False, **members):
        """One attempt went out and had no answer. commit_cap: it can commit for so long still. Gives the delivery's name."""
        delivery = f"{channel}/{item_id}"
        item = self.item(item_id, **members)
        token = self.ledger.token()
        policy = {"lease": self.times["lease_ms"], "late_commit": self.times["late_commit_ms"], "harmless": harmless}
        answer = self.ledger.claim(delivery, token=token, entry=self.add(channel, item), key=key, **policy)
        assert answer[0] == "granted", answer
        fields = {} if harmless else {"in_doubt": f"1:{token[:8]}"}
        fields["tries"] = str(attempts)
        answer = self.ledger.settle(delivery, "uncertain", reason, place="walk", token=token, commit_cap=commit_cap, fields=fields)
        assert answer[0] == "ok", answer
        return delivery

    def uncertain_many(self, channel, ids, commit_cap=1, **members):
        """As uncertain(), in bulk. Gives their names in the order of ids."""
        ids, policy = list(ids), {"lease": self.times["lease_ms"], "late_commit": self.times["late_commit_ms"]}
        for batch in (ids[n:n + 64] for n in range(0, len(ids), 64)):
            names = [f"{channel}/{item_id}" for item_id in batch]
            pipe = self.db.pipeline(transaction=False)
            for item_id in batch:
                pipe.xadd(self.ledger.key("queue"), {"channel": channel, "item": json.dumps(self.item(item_id, **members))})
            tokens = [self.ledger.token() for _ in batch]
            entries = zip(names, tokens, pipe.execute())
            answers = self.ledger.claims([self.ledger.claim_block(name, token=token, entry=entry, **policy)
                                          for name, token, entry in entries])
            assert all(answer[0] == "granted" for answer in answers), answers
            for name in names:
                pipe.hget(self.ledger.key("delivery", name), "rev")
            blocks = [self.ledger.decision(name, "uncertain", "no_answer", place="walk", token=token, commit_cap=commit_cap,
                                           fields={"in_doubt": f"1:{token[:8]}", "tries": "1"}, expect=("claimed", 1, rev))
                      for name, token, rev in zip(names, tokens, pipe.execute())]
            answers = self.ledger.call("settle", [], blocks)
            assert all(answer[0] == "ok" for answer in answers), answers
        return [f"{channel}/{item_id}" for item_id in ids]

    def make_walk_due(self, name):
        self.db.zadd(self.ledger.key("agenda"), {"walk:" + name: self.ledger.now() - 1})

    def plant(self, platform, item_id=None, **values):
        """A post that stands there, as the delivery `item_id` would have made it. Gives its id."""
        if item_id is not None:
            item = self.item(item_id)
            text = {"text": item["content_text"], "newest_age_ms": 0}
            values = {**text, **({"canonical_url": item["url"]} if platform == "forem" else {}), **values}
        return self.sim.post("posts", instance=platform, op="plant", **values)["ids"][0]

    # ---- the program

    def run(self, *args, **kwargs):
        return self.start_reconciler(*args, **kwargs)

    def drain(self, *args, code=0, timeout_s=30):
        """Drains to the end and gives what --json said: a dict of lists by kind of line."""
        process = self.start("landfall-reconciler", "drain", "--json", "--config", self.config_path, *args, name=f"drain-{len(self.processes)}")
        process.wait(timeout_s) if code is None else process.wait_exit(code, timeout_s)
        lines = {"plan": [], "delivery": [], "progress": [], "wait": [], "busy": [], "summary": []}
        for text in process.stdout().splitlines():
            line = json.loads(text)
            lines[line["line"]].append(line)
        assert len(lines["plan"]) == 1 and len(lines["summary"]) == 1, process.stdout()
        return lines

    @contextlib.contextmanager
    def running(self, name="reconciler", **kwargs):
        """The program runs, and ends in order when the block is left."""
        process = self.run(name=name, **kwargs)
        yield process
        assert process.stop() == 0, process.tail()

    # ---- looking

    def wait_reason(self, delivery, state, reason, timeout_s=20):
        return wait_for(lambda: self.ledger.state(delivery) == (state, reason) and self.row(delivery), timeout_s,
                        what=lambda: f"{delivery} to become {state} {reason}; it is {self.row(delivery)}\n{self.output()}")

    def wait_channel(self, name, field, value=None, timeout_s=20):
        """Waits for a field of the channel's hash, and for a value where one is given."""
        key = self.ledger.key("channel", name)
        return wait_for(lambda: (found := self.db.hget(key, field)) and value in (None, found) and found, timeout_s,
                        what=lambda: f"{name} {field}; it is {self.db.hgetall(key)}\n{self.output()}")

    def saw(self, platform, what):
        """How many "requests", "reads", "writes" or "logins" the fake platform has seen."""
        return self.sim.report()["instances"].get(platform, {}).get(what, 0)

    def nothing_was_written(self):
        """What holds whatever happened: the reconciler reads, and never writes."""
        for name, seen in self.sim.report()["instances"].items():
            assert seen["writes"] == 0, (name, seen)

    def events(self, process, name):
        """Log lines of one event."""
        return [line for line in process.stderr().splitlines() if f"event={name} " in line]


def channel(platform):
    return CHANNELS[platform]


__all__ = ["Scene", "channel", "channel_of", "wait_for"]
