# SPDX-License-Identifier: MIT
"""A random walk: thousands of calls in any order, and after each of them nothing is lost, counted twice or sendable twice.

A failing walk names its seed and step; LANDFALL_WALK_SEEDS="7 8" runs these instead."""
import os
import random

import pytest

from ledger_calls import HOUR, STATES

SEEDS = [int(seed) for seed in os.environ.get("LANDFALL_WALK_SEEDS", "1 2 3 4").split()]
STEPS = int(os.environ.get("LANDFALL_WALK_STEPS", "700"))
CHANNELS = {"blog/read": {"window": 0}, "blog/key": {"window": HOUR}, "ping/all": {"window": 0, "harmless": True}}
NAMES = [f"{channel}/{n}" for channel in CHANNELS for n in range(4)]
UNSETTLED = ("approved", "claimed", "uncertain")


def channel_of(name):
    return name.rsplit("/", 1)[0]


class Walk:
    """Plays worker, reconciler, operator, time and crash. Remembers what was granted, to know what may not be granted."""

    def __init__(self, ledger, seed):
        self.ledger, self.random = ledger, random.Random(seed)
        self.granted = []      # (name, attempt, token) whose worker has not reported
        self.open = {name: set() for name in NAMES}  # attempts that may have committed, as the whole world knows
        self.closed = set()    # deliveries whose key the platform has forgotten
        self.kept = []         # decisions that were made for rows as they were some time ago
        self.last = {}         # name -> (attempt, rev), which never go back
        self.published = set()

    def policy(self, name):
        return {**CHANNELS[channel_of(name)], "max_attempts": 6, "lease": 60000}

    # ---- what happens

    def step(self):
        acts = [self.new, self.new, self.take, self.take, self.take, self.again, self.report, self.report, self.report,
                self.evidence, self.evidence, self.operator, self.channel, self.lease_ends, self.time_passes, self.renew,
                self.restart, self.submit, self.crash, self.late_decision]
        act = self.random.choice(acts)
        act()
        return act.__name__

    def note_claim(self, name, answer, token, waived):
        if answer[0] != "granted" or (name, int(answer[1]), token) in self.granted:
            return
        policy = self.policy(name)
        if not policy.get("harmless") and not waived and (not policy["window"] or name in self.closed):
            assert not self.open[name], f"{name} is granted although {self.open[name]} may have committed"
        assert name not in self.published, f"{name} is granted although it is published"
        self.granted.append((name, int(answer[1]), token))
        self.open[name].add(token)

    def claim(self, name, entry="", **values):
        waived, token = self.ledger.row(name).get("waived"), self.ledger.token()
        if self.random.random() < 0.1:
            values["hold_back"] = self.random.choice(["channel_full", "unknown_channel"])
        if self.random.random() < 0.1:
            values["not_before"] = self.ledger.now() + 50000
        if self.random.random() < 0.2:
            values["spacing"], values["burst"] = 1000, 2
        block = self.ledger.claim_block(name, token=token, entry=entry, **{**self.policy(name), **values})
        answer = self.ledger.claims([block])[0]
        self.note_claim(name, answer, token, waived)
        if self.random.random() < 0.2:
            self.note_claim(name, self.ledger.claims([block])[0], token, waived)

    def new(self):
        name = self.random.choice(NAMES)
        row = self.ledger.row(name)
        self.claim(name, entry=self.ledger.add(name), **({"approved_at": row["approved_at"]} if "approved_at" in row else {}))

    def submit(self):
        self.ledger.submit(self.random.choice(NAMES), hold=self.random.random() < 0.3)

    def take(self):
        channel = self.random.choice(list(CHANNELS))
        members = [(name, "waiting", None) for name in self.ledger.waiting(channel)]
        members += [(name, "agenda", None) for name in NAMES if channel_of(name) == channel and self.ledger.due("delivery:" + name)]
        answers = self.ledger.takes(members, harmless=CHANNELS[channel].get("harmless", False), channels=[channel],
                                    room=self.random.choice([-1, 0, 1, 4]))
        for (name, _, _), answer in zip(members, answers):
            if answer[0] == "work" and self.random.random() < 0.8:
                self.claim(name)

    def again(self):
        """A worker whose answer was lost asks again."""
        if self.granted:
            name, attempt, token = self.random.choice(self.granted)
            answer = self.ledger.claim(name, token=token, **self.policy(name))
            assert answer[0] in ("already", "granted", "busy") or attempt < int(self.ledger.row(name).get("attempt", 0)) \
                or answer[0] in ("held", "uncertain", "wait")
            if answer[0] == "granted" and int(answer[1]) != attempt:
                self.note_claim(name, answer, token, True)

    def report(self):
        if not self.granted:
            return
        name, attempt, token = self.granted.pop(self.random.randrange(len(self.granted)))
        row, outcome = self.ledger.row(name), self.random.choice(["committed", "unknown", "refused", "not_sent", "wait"])
        entry = f"{attempt}:{token[:8]}"
        doubt = [one for one in row.get("in_doubt", "").split() if one != entry]
        harmless, current = self.policy(name).get("harmless"), row.get("state") == "claimed" and row["token"] == token
        if outcome == "committed":
            if row.get("state") != "published":
                answer = self.ledger.settle(name, "published", "confirmed", token=token,
                                            fields={"ext_id": f"{name} {token}", "source": "response"})
                assert answer[0] == "ok"
                self.published.add(name)
        elif outcome == "unknown":
            if current:
                self.ledger.settle(name, "uncertain", "no_answer", place="walk", due=self.ledger.now() + 5000, token=token,
                                   commit_cap=30000, fields={} if harmless else {"in_doubt": " ".join([*doubt, entry])})
        else:
            self.open[name].discard(token)
            if current:
                self.negative(name, token, outcome, doubt)
            elif row.get("state") == "uncertain" and entry in row.get("in_doubt", "").split():
                self.ledger.settle(name, "uncertain", row["reason"], place="walk" if not doubt else "-",
                                   fields={"in_doubt": " ".join(doubt)})

    def negative(self, name, token, outcome, doubt):
        fields, due = {"in_doubt": " ".join(doubt)}, self.ledger.now() + self.random.randrange(3000)
        if doubt:
            state, reason, place = "uncertain", "refused_in_doubt", "walk"
        elif outcome == "refused":
            state, reason, place = "rejected", "refused", "-"
        else:
            state, reason, place = ("approved", "retry", "agenda") if outcome == "not_sent" else ("approved", "blocked", "waiting")
        assert self.ledger.settle(name, state, reason, place=place, due=due, token=token, fields=fields)[0] == "ok"

    def evidence(self):
        uncertain = [name for name in NAMES if self.ledger.row(name).get("state") == "uncertain"]
        if not uncertain:
            return
        name = self.random.choice(uncertain)
        found = self.random.choice(["found", "absent", "unseen", "nothing", "replay"])
        row = self.ledger.row(name)
        if found == "found":
            self.ledger.resolve(name, "published", "confirmed", fields={"ext_id": f"{name} read", "source": "read_back"})
            self.published.add(name)
        elif found == "absent":
            searched = self.ledger.now()
            answer = self.ledger.resolve(name, "approved", "absent", place="agenda", searched_from=searched, lag=1000,
                                         fields={"in_doubt": "", "cleared_at": "now"})
            assert (answer[0] == "ok") == (searched >= int(row.get("commit_by", 0)) + 1000 and not self.no_absence())
            if answer[0] == "ok":
                self.open[name].clear()
                self.granted = [one for one in self.granted if one[0] != name]  # a worker this late has been killed
        elif found == "replay" and self.policy(name)["window"]:
            self.ledger.resolve(name, "approved", "replay", place="agenda")
        elif found == "unseen" and not row.get("in_doubt") and not self.policy(name).get("harmless") and row.get("commit_by") == "1":
            self.ledger.resolve(name, "approved", "absent", place="agenda")  # nothing is in doubt any more
        elif found == "nothing":
            self.ledger.resolve(name, "held", "no_evidence")
        else:
            self.ledger.resolve(name, "uncertain", row["reason"], place="walk", due=self.ledger.now() + 9000)

    def no_absence(self):
        return int(self.ledger.client.hget(self.ledger.key("epoch"), "no_absence_before") or 0) > self.ledger.now()

    def operator(self):
        name = self.random.choice(NAMES)
        row = self.ledger.row(name)
        if row.get("state") in ("held", "rejected"):
            self.ledger.operate(name, "approved", "operator", place="agenda", fields={"waived": "1", "tries": ""})
        elif row.get("state") in ("approved", "uncertain") and self.random.random() < 0.3:
            self.ledger.operate(name, "rejected", "operator", act="cancel")

    def channel(self):
        channel, now = self.random.choice(list(CHANNELS)), self.ledger.now()
        op = self.random.choice([("pause", "why", "", ""), ("resume", "", "", ""), ("resume", "", "", ""), ("block", now + 2000, "429"),
                                 ("fail",), ("walk_begin", "r1", 1000),
                                 ("walk_end", "r1", now + 5000, 1)])
        self.ledger.channel(channel, *op)

    def lease_ends(self):
        for name in self.random.sample(NAMES, 2):
            self.ledger.client.delete(self.ledger.key("lease", name))

    def time_passes(self):
        """Everything is due, blocks and paces are over, attempts can no longer commit."""
        ledger, client = self.ledger, self.ledger.client
        for key in [ledger.key("agenda"), *(ledger.key("waiting", channel) for channel in CHANNELS)]:
            for member in client.zrange(key, 0, -1):
                client.zadd(key, {member: self.random.randrange(1, 1000)})
        for name in NAMES:
            if ledger.row(name).get("commit_by") and ledger.row(name)["state"] != "claimed":
                client.hset(ledger.key("delivery", name), "commit_by", 1)
        for name in NAMES:
            row = ledger.row(name)
            if self.policy(name)["window"] and row.get("first_send") and row["state"] != "claimed" and self.random.random() < 0.3:
                client.hset(ledger.key("delivery", name), "first_send", 1)
                self.closed.add(name)
        for channel in CHANNELS:
            for field in ("next_at", "blocked_until"):
                if client.hexists(ledger.key("channel", channel), field):
                    client.hset(ledger.key("channel", channel), field, 1)
            ledger.takes([], channels=[channel], room=0)
        if client.exists(ledger.key("epoch")):
            client.hset(ledger.key("epoch"), mapping={"doubt_until": 0, "no_absence_before": 0})

    def renew(self):
        if self.granted:
            name, _, token = self.random.choice(self.granted)
            self.ledger.renew(name, token, window=self.policy(name)["window"])

    def restart(self):
        if self.random.random() < 0.2:
            self.ledger.run_id = f"{self.random.randrange(10 ** 9):040}"

    def crash(self):
        """A worker dies: its attempt stays open for the world, nobody reports it."""
        if self.granted and self.random.random() < 0.5:
            self.granted.pop(self.random.randrange(len(self.granted)))

    def late_decision(self):
        """A decision reaches a row that has changed meanwhile, or has not."""
        name = self.random.choice(NAMES)
        row = self.ledger.row(name)
        if row.get("state") in ("approved", "uncertain", "held"):
            self.kept.append((name, row["rev"], self.ledger.decision(name, "held", "no_evidence")))
        if len(self.kept) > 3:
            name, rev, block = self.kept.pop(0)
            same = self.ledger.row(name).get("rev") == rev
            assert self.ledger.call("settle", [], [block])[0][0] == ("ok" if same else "stale")

    # ---- what must hold

    def look(self):
        """Everything that is to be checked, in one round trip."""
        key, pipe = self.ledger.key, self.ledger.client.pipeline(transaction=False)
        for name in NAMES:
            pipe.hgetall(key("delivery", name)).object("encoding", key("delivery", name)).hget(key("request", name), "content")
            pipe.pttl(key("request", name)).pttl(key("lease", name))
        for channel in CHANNELS:
            pipe.zrange(key("waiting", channel), 0, -1, withscores=True).zrange(key("uncertain", channel), 0, -1)
            pipe.hgetall(key("channel", channel))
        pipe.zrange(key("agenda"), 0, -1, withscores=True).hgetall(key("counts")).xrange(key("journal"))
        found = iter(pipe.execute(raise_on_error=False))
        self.rows = {name: [next(found) for _ in range(5)] for name in NAMES}
        self.channels = {channel: [next(found) for _ in range(3)] for channel in CHANNELS}
        self.agenda, self.counts, self.journal = dict(next(found)), next(found), dict(next(found))

    def check(self):
        self.look()
        counted = dict.fromkeys((f"{channel} {state}" for channel in CHANNELS for state in STATES), 0)
        for name, (row, encoding, content, request_ends, lease_ends) in self.rows.items():
            assert lease_ends != -1, f"{name}: the lease has no end"
            if row:
                counted[f"{channel_of(name)} {row['state']}"] += 1
                self.check_place(name, row)
                self.check_content(name, row, content, request_ends)
                assert len(row.get("in_doubt", "")) > 64 or encoding == "listpack"
        assert {field: int(self.counts.get(field, 0)) for field in counted} == counted
        assert len(self.journal) == sum(count for field, count in counted.items() if field.endswith(" uncertain"))
        for channel in CHANNELS:
            self.check_channel(channel)

    def check_place(self, name, row):
        state, (waiting, uncertain, _) = row["state"], self.channels[channel_of(name)]
        on_agenda, waits = "delivery:" + name in self.agenda, name in dict(waiting)
        expected = {"approved": on_agenda != waits, "claimed": on_agenda and not waits}.get(state, not on_agenda and not waits)
        assert expected, f"{name} is {state}: agenda {on_agenda}, waiting {waits}"
        assert (name in uncertain) == (row.get("journal") in self.journal) == (state == "uncertain"), f"{name} is {state}"

    def check_content(self, name, row, content, request_ends):
        state = row["state"]
        if state in UNSETTLED:
            assert content == f"item of {name}" and request_ends == -1
        assert name not in self.published or state == "published"
        assert state != "published" or content is None
        now, before = (int(row.get("attempt", 0)), int(row["rev"])), self.last.get(name, (0, 0))
        assert now[0] >= before[0] and now[1] >= before[1], f"{name} went back"
        self.last[name] = now

    def check_channel(self, channel):
        waiting, uncertain, facts = self.channels[channel]
        due = self.agenda.get("channel:" + channel)
        assert (due is not None) == (bool(waiting) and "paused" not in facts), f"{channel}: due {due}, {waiting}, {facts}"
        if due is not None:
            assert due >= max(waiting[0][1], int(facts.get("next_at", 0)), int(facts.get("blocked_until", 0)))
        assert ("walk:" + channel in self.agenda) == bool(uncertain)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_walk(ledger, seed):
    walk, done = Walk(ledger, seed), []
    seen = dict.fromkeys(STATES, 0)
    for step in range(STEPS):
        try:
            done.append(walk.step())
            walk.check()
        except AssertionError as error:
            pytest.fail(f"seed {seed}, step {step} ({done[-5:]}): {error}")
        for row, *_ in walk.rows.values():
            if row:
                seen[row["state"]] += 1
        if len(walk.published) > len(NAMES) // 2:  # begin anew, so that the walk does not run dry
            ledger.client.flushall()
            ledger.client.xgroup_create(ledger.key("queue"), "workers", "0", mkstream=True)
            walk.__init__(ledger, seed * 100000 + step)
    assert all(seen.values()), seen
