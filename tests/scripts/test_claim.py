# SPDX-License-Identifier: MIT
"""claim: who may send, who waits and for what."""
import pytest

from ledger_calls import HOUR, POLICY
from rows import CH, D, put, put_in_doubt

# What an attempt that starts now may take at most, in the default policy.
SPAN = POLICY["lease"] + POLICY["late_commit"] + POLICY["margin"]


# ---- granted

def test_granted_writes_row_lease_agenda_and_acknowledges(ledger):
    entry = ledger.add(D)
    ledger.client.xreadgroup("workers", "w1", {ledger.key("queue"): ">"})
    answer = ledger.claim(D, token="t" * 16, entry=entry)
    at = ledger.answered_at
    assert answer == ["granted", "1", str(at + 90000), str(at + 60000), "", "1", "1", str(at)]
    row = ledger.row(D)
    assert (row["state"], row["reason"], row["attempt"], row["tries"], row["token"], row["worker"]) == (
        "claimed", "sending", "1", "1", "t" * 16, "w1")
    assert (row["claimed_at"], row["first_send"], row["commit_by"]) == (str(at), str(at), str(at + 90000))
    assert (row["key"], row["body_hash"], row["content"], row["approved_at"]) == ("key-1", "b" * 32, "c" * 32, entry.split("-")[0])
    assert ledger.request(D) == {"content": f"item of {D}", "frozen": "frozen"}
    assert ledger.lease(D) == "w1 1 " + "t" * 16 and 59000 < ledger.client.pttl(ledger.key("lease", D)) <= 60000
    assert ledger.due("delivery:" + D) == at + 60000
    assert ledger.client.xlen(ledger.key("queue")) == 0
    assert ledger.client.xpending(ledger.key("queue"), "workers")["pending"] == 0
    assert ledger.client.smembers(ledger.key("channels")) == {CH} and ledger.count(CH, "claimed") == 1


def test_the_same_token_is_granted_again_and_changes_nothing(ledger):
    entry = ledger.add(D)
    first = ledger.claim(D, token="t" * 16, entry=entry)
    before = ledger.dump()
    assert ledger.claim(D, token="t" * 16, entry=entry) == first
    assert ledger.claim(D, token="t" * 16, entry=entry, expires=-1) == first, "asked again too late it is still told"
    assert ledger.dump() == before


def test_another_token_is_busy_whoever_asks(ledger):
    entry = ledger.add(D)
    ledger.claim(D, entry=entry)
    again = ledger.add(D)
    for worker in ("w1", "w2"):
        answer = ledger.claim(D, entry=again, worker=worker)
        assert answer[:2] == ["busy", "w1"] and abs(int(answer[2]) - ledger.answered_at - 60000) < 1000
    assert ledger.client.xlen(ledger.key("queue")) == 0, "the agenda has it"


def test_a_token_that_was_handed_back_is_never_granted_again(ledger):
    put(ledger)
    ledger.claim(D, token="t" * 16)
    ledger.settle(D, "approved", "not_sent", place="agenda", token="t" * 16)
    assert ledger.claim(D, token="t" * 16)[:2] == ["already", "approved"]


def test_a_late_claim_refuses_itself(ledger):
    entry = ledger.add(D)
    before = ledger.dump()
    assert ledger.claim(D, entry=entry, expires=-1) == ["late"]
    assert ledger.dump() == before


@pytest.mark.parametrize("state", ["published", "rejected", "uncertain", "held"])
def test_settled_held_and_uncertain_are_answered_already(ledger, state):
    put(ledger)
    ledger.settle(D, state, "confirmed")
    before = ledger.dump(without=["queue"])
    assert ledger.claim(D, entry=ledger.add(D)) == ["already", state, ledger.row(D)["since"]]
    assert ledger.dump(without=["queue"]) == before and ledger.client.xlen(ledger.key("queue")) == 0


def test_other_content_under_the_same_name_is_a_conflict(ledger):
    put(ledger)
    before = ledger.dump(without=["queue"])
    answer = ledger.claim(D, entry=ledger.add(D), content_hash="d" * 32)
    assert answer == ["conflict", "approved", ledger.row(D)["since"], "c" * 32]
    assert ledger.dump(without=["queue"]) == before and ledger.client.xlen(ledger.key("queue")) == 0


def test_rendered_for_another_approval_or_generation(ledger):
    put(ledger)
    entry = ledger.add(D)
    before = ledger.dump()
    approved_at = ledger.row(D)["approved_at"]
    assert ledger.claim(D, entry=entry, approved_at=1) == ["rerender", approved_at, "0"]
    assert ledger.claim(D, entry=entry, approved_at=approved_at, gen=1) == ["rerender", approved_at, "0"]
    assert ledger.dump() == before, "the entry stays pending"


def test_the_content_is_copied_from_the_entry_or_asked_for(ledger):
    assert ledger.claim(D, entry="5-5", approved_at=5) == ["no_content"]
    assert ledger.row(D) == {}
    assert ledger.claim(D, entry="5-5", approved_at=5, content="sent along")[0] == "granted"
    assert ledger.request(D)["content"] == "sent along"


def test_binary_content_survives(ledger):
    item = "%s\x00\n" + "\N{SNOWMAN}" * 50000
    assert ledger.claim(D, entry=ledger.add(D, item), hold_back="channel_full")[0] == "wait"
    assert ledger.request(D)["content"] == item


# ---- the environment and the epoch

def test_another_environment_is_refused_for_the_whole_call(ledger):
    ledger.claim("blog/main/x", entry=ledger.add("blog/main/x"))
    blocks = [ledger.claim_block(name, entry=ledger.add(name)) for name in (D, "blog/main/b")]
    before = ledger.dump()
    assert ledger.claims(blocks, environment="staging") == [["environment", "test"]] * 2
    assert ledger.dump() == before


def rewind(ledger, seconds_ago=120):
    """A restart that the fleet has seen `seconds_ago`."""
    ledger.claim("blog/other/x", entry=ledger.add("blog/other/x"))
    ledger.run_id = "2" * 40
    ledger.claim("blog/other/y", entry=ledger.add("blog/other/y"))
    epoch = ledger.client.hgetall(ledger.key("epoch"))
    assert int(epoch["no_absence_before"]) == int(epoch["rewound_at"]) + 24 * HOUR
    assert int(epoch["doubt_until"]) == int(epoch["rewound_at"]) + 10000 and epoch["run_id"] == "2" * 40
    ledger.client.hincrby(ledger.key("epoch"), "rewound_at", -1000 * seconds_ago)
    ledger.client.hincrby(ledger.key("epoch"), "doubt_until", -1000 * seconds_ago)


def test_the_first_run_id_rewinds_nothing(ledger):
    ledger.claim(D, entry=ledger.add(D))
    assert set(ledger.client.hgetall(ledger.key("epoch"))) == {"environment", "run_id", "server_ms"}


def test_a_queue_that_is_older_than_the_server_and_no_epoch(ledger):
    """The dump may be older than the first claim: then the epoch is forgotten together with the claims."""
    entry = ledger.add(D, entry=f"{ledger.now() - HOUR}-1")
    assert ledger.claim(D, entry=entry, window=0) == ["uncertain", "ledger_rewound"]
    epoch = ledger.client.hgetall(ledger.key("epoch"))
    started_at = ledger.now() - 1000 * ledger.client.info("server")["uptime_in_seconds"]
    assert started_at - 2500 <= int(epoch["rewound_at"]) <= started_at
    assert int(epoch["no_absence_before"]) == int(epoch["rewound_at"]) + 24 * HOUR
    assert ledger.claim("blog/main/new", entry=ledger.add("blog/main/new"), window=0)[0] == "granted"


def test_a_submission_that_is_older_than_the_server_and_no_epoch(ledger):
    """What is scheduled has no entry in the queue. The dump may be older than the first claim all the same."""
    ledger.submit(D, not_before=ledger.now() + HOUR)
    born_at = int(ledger.client.hget(ledger.key("epoch"), "born_at"))
    assert abs(born_at - ledger.now()) < 5000
    ledger.client.hset(ledger.key("epoch"), "born_at", born_at - HOUR)
    ledger.client.hset(ledger.key("delivery", D), "approved_at", born_at - HOUR)
    assert ledger.claim(D, window=0) == ["uncertain", "ledger_rewound"]
    ledger.submit("blog/main/b")
    assert ledger.client.hget(ledger.key("epoch"), "born_at") == str(born_at - HOUR), "only the first one counts"


def test_after_a_new_run_id_nobody_sends_until_the_workers_had_time_to_report(ledger):
    rewind(ledger, seconds_ago=0)
    answer = ledger.claim(D, entry=ledger.add(D))
    assert answer == ["wait", "ledger_rewound", ledger.client.hget(ledger.key("epoch"), "doubt_until")]
    assert ledger.claim("blog/main/ping", entry=ledger.add("blog/main/ping"), harmless=True)[0] == "granted"


def test_what_was_approved_before_is_sent_only_where_it_cannot_double(ledger):
    rewind(ledger)
    old = ledger.now() - HOUR
    cases = [("key", {"window": 24 * HOUR}, "granted"), ("upsert", {"window": -1}, "granted"),
             ("ping", {"harmless": True, "window": 0}, "granted"), ("read", {"window": 0}, "uncertain"),
             ("window over", {"window": HOUR + SPAN - 1}, "uncertain")]
    for name, policy, expected in cases:
        delivery = "blog/main/" + name
        answer = ledger.claim(delivery, entry=ledger.add(delivery), approved_at=old, **policy)
        assert answer[0] == expected, name
    for name, doubt in (("key", "rewound"), ("upsert", "rewound"), ("ping", None)):
        assert ledger.row("blog/main/" + name).get("in_doubt") == doubt, "a refusal must not end what may be out already"
    assert ledger.row("blog/main/key")["first_send"] == str(old), "the window may have begun as early"
    row = ledger.row("blog/main/read")
    assert (row["state"], row["reason"], row["in_doubt"], row["key"]) == ("uncertain", "ledger_rewound", "rewound", "key-1")


@pytest.mark.parametrize("row, policy", [({"not_after": 5}, {}), ({"dated": 5}, {"max_age": 1000}), ({"tries": 5}, {})])
def test_what_would_be_held_may_be_out_already(ledger, row, policy):
    """Held, it would be shown as missed; but an attempt that Redis has forgotten may have posted it."""
    rewind(ledger)
    put(ledger, D, approved_at=ledger.now() - HOUR, **row)
    assert ledger.claim(D, window=0, **policy) == ["uncertain", "ledger_rewound"]
    assert ledger.row(D)["in_doubt"] == "rewound"
    put(ledger, "blog/main/b", approved_at=ledger.now() - HOUR, cleared_at=ledger.now(), **row)
    assert ledger.claim("blog/main/b", window=0, **policy)[0] == "held", "proven absent since"
    put(ledger, "blog/main/c", approved_at=ledger.now() - HOUR, **row)
    assert ledger.claim("blog/main/c", harmless=True, window=0, **policy)[0] == "held"


def test_proven_absent_or_let_through_after_the_rewind_is_sent(ledger):
    rewind(ledger)
    old = ledger.now() - HOUR
    put(ledger, D, approved_at=old, cleared_at=ledger.now())
    assert ledger.claim(D, window=0)[0] == "granted"
    put(ledger, "blog/main/b", approved_at=old, waived=1, since=ledger.now())
    assert ledger.claim("blog/main/b", window=0)[0] == "granted"
    assert "waived" not in ledger.row("blog/main/b")


@pytest.mark.parametrize("in_doubt", ["", "1:9f2c01d4"])
def test_what_an_operator_said_before_the_rewind_may_have_been_used(ledger, in_doubt):
    rewind(ledger)
    old = ledger.now() - HOUR
    put(ledger, D, approved_at=old, waived=1, since=old, **({"in_doubt": in_doubt, "attempt": 1} if in_doubt else {}))
    assert ledger.claim(D, window=0) == ["uncertain", "ledger_rewound"]
    assert "waived" not in ledger.row(D)


def test_a_repeat_waits_until_what_was_forgotten_can_have_committed(ledger):
    """Many platforms keep a key when they are done, not when they begin."""
    rewind(ledger, seconds_ago=20)
    rewound_at = int(ledger.client.hget(ledger.key("epoch"), "rewound_at"))
    due = str(rewound_at + POLICY["lease"] + POLICY["late_commit"])
    for name, window in (("key", 24 * HOUR), ("upsert", -1)):
        delivery = "blog/main/" + name
        answer = ledger.claim(delivery, entry=ledger.add(delivery), approved_at=ledger.now() - HOUR, window=window)
        assert answer == ["wait", "ledger_rewound", due]


def test_a_clock_that_went_back_is_a_leap(ledger):
    ledger.claim("blog/other/x", entry=ledger.add("blog/other/x"))
    ahead = ledger.now() + 10 * 60000
    ledger.client.hset(ledger.key("epoch"), "server_ms", ahead)
    put_in_doubt(ledger)
    assert int(ledger.client.hget(ledger.key("epoch"), "leap_until")) == ahead + 24 * HOUR
    assert ledger.claim(D) == ["uncertain", "window_closed"]


# ---- expiry, budget

@pytest.mark.parametrize("in_doubt", [False, True])
@pytest.mark.parametrize("fields, policy, held, uncertain", [
    ({"not_after": 1}, {}, "expired", "expired_in_doubt"),
    ({"dated": 1}, {"max_age": 1000}, "backfill", "expired_in_doubt"),
    ({"tries": 5}, {}, "spent", "spent_in_doubt")])
def test_what_must_not_go_out_is_held_or_looked_for(ledger, in_doubt, fields, policy, held, uncertain):
    (put_in_doubt if in_doubt else put)(ledger)
    ledger.client.hset(ledger.key("delivery", D), mapping=fields)
    answer = ledger.claim(D, **policy)
    assert answer == (["uncertain", uncertain] if in_doubt else ["held", held])
    assert ledger.state(D) == tuple(answer) and ledger.due("delivery:" + D) is None
    assert len(ledger.journal()) == in_doubt
    assert ledger.request(D)["content"] == f"item of {D}", "a person may want it after all"


def test_a_new_entry_past_its_time_is_held(ledger):
    assert ledger.claim(D, entry=ledger.add(D), not_after=ledger.now() - 1) == ["held", "expired"]
    assert ledger.client.xlen(ledger.key("queue")) == 0
    assert ledger.client.xrange(ledger.key("outcomes"))[0][1]["reason"] == "expired"


def test_an_operator_lifts_the_budget_once(ledger):
    put(ledger, tries=9, waived=1)
    assert ledger.claim(D)[0] == "granted"


# ---- doubt

def test_in_doubt_the_frozen_bytes_go_out(ledger):
    put_in_doubt(ledger)
    answer = ledger.claim(D, approved_at=1, gen=7, frozen="other bytes")
    assert answer[0] == "granted" and answer[4] == "1:ffffffff"
    assert answer[8:] == ["old-key", "0" * 32, "old bytes", "", "", ""]
    assert ledger.request(D)["frozen"] == "old bytes" and ledger.row(D)["key"] == "old-key"
    assert ledger.row(D)["in_doubt"] == "1:ffffffff", "the doubt stays"


@pytest.mark.parametrize("inside", [True, False])
def test_the_window_must_outlast_the_whole_attempt(ledger, inside):
    put_in_doubt(ledger)
    slack = 1000 if inside else -1
    ledger.client.hset(ledger.key("delivery", D), "first_send", ledger.now() + SPAN - HOUR + slack)
    answer = ledger.claim(D, window=HOUR)
    assert answer[0] == "granted" if inside else answer == ["uncertain", "window_closed"]


@pytest.mark.parametrize("policy, fields, expected", [
    ({"window": 0}, {}, "uncertain"), ({"window": -1}, {}, "granted"), ({"window": HOUR}, {"ext_id": "42"}, "uncertain"),
    ({"harmless": True, "window": 0}, {}, "granted")])
def test_other_gates_of_a_replay(ledger, policy, fields, expected):
    put_in_doubt(ledger, **fields)
    assert ledger.claim(D, **policy)[0] == expected


def test_an_operator_lets_one_claim_through_the_doubt(ledger):
    put_in_doubt(ledger, waived=1)
    assert ledger.claim(D, window=0)[0] == "granted"
    row = ledger.row(D)
    assert "waived" not in row and row["in_doubt"] == "1:ffffffff"


def test_not_before_the_last_attempt_can_have_committed(ledger):
    put_in_doubt(ledger, waived=1)
    due = ledger.now() + 20000
    ledger.client.hset(ledger.key("delivery", D), "commit_by", due)
    assert ledger.claim(D, window=0)[2] == str(due)
    ledger.client.hset(ledger.key("delivery", D), "commit_by", 1)
    ledger.client.hset(ledger.key("epoch"), "no_absence_before", due)
    assert ledger.claim(D, window=0)[2] == str(due)
    assert ledger.row(D)["waived"] == "1" and ledger.due("delivery:" + D) == due


def test_a_claim_starts_the_count_of_clean_misses_anew(ledger):
    put_in_doubt(ledger, misses=1, missed_at=5)
    assert ledger.claim(D)[0] == "granted"
    assert not {"misses", "missed_at"} & set(ledger.row(D))


# ---- what waits

def test_scheduled(ledger):
    later = ledger.now() + HOUR
    assert ledger.claim(D, entry=ledger.add(D), not_before=later) == ["wait", "scheduled", str(later)]
    assert ledger.due("delivery:" + D) == later and ledger.row(D)["not_before"] == str(later)
    assert ledger.request(D) == {"content": f"item of {D}"} and ledger.client.xlen(ledger.key("queue")) == 0


def test_the_rows_own_schedule_wins(ledger):
    put(ledger)
    assert ledger.claim(D, not_before=ledger.now() + HOUR)[0] == "granted"


def channel_entry(ledger):
    return ledger.due("channel:" + CH)


def test_paused_waits_off_the_agenda(ledger):
    ledger.channel(CH, "pause", "maintenance", "", "")
    assert ledger.claim(D, entry=ledger.add(D))[:2] == ["wait", "paused"]
    assert ledger.waiting(CH) == [D] and ledger.due("delivery:" + D) is None and channel_entry(ledger) is None
    ledger.channel(CH, "resume", "", "", "")
    assert channel_entry(ledger) <= ledger.now()


def test_blocked_waits_until_the_block_ends_then_one_goes_first(ledger):
    until = ledger.now() + 400
    ledger.channel(CH, "block", until, "429")
    assert ledger.claim(D, entry=ledger.add(D)) == ["wait", "blocked", str(until)]
    assert channel_entry(ledger) == until
    ledger.client.hset(ledger.key("channel", CH), "blocked_until", 1)
    assert ledger.claim(D)[0] == "granted"
    assert ledger.claim("blog/main/b", entry=ledger.add("blog/main/b"))[:2] == ["wait", "ramp"]
    ledger.settle(D, "published", "confirmed", token=ledger.row(D)["token"])
    assert channel_entry(ledger) <= ledger.now(), "a slot is free: the channel is due at once"
    assert ledger.client.hget(ledger.key("channel", CH), "ramp") == "2"
    assert ledger.claim("blog/main/b")[0] == "granted"
    assert ledger.claim("blog/main/c", entry=ledger.add("blog/main/c"))[0] == "granted"
    assert ledger.claim("blog/main/d", entry=ledger.add("blog/main/d"))[:2] == ["wait", "ramp"]


def test_what_was_claimed_before_a_block_does_not_open_the_ramp(ledger):
    names = [f"blog/main/{n}" for n in range(8)]
    assert {answer[0] for answer in ledger.claims([ledger.claim_block(name, entry=ledger.add(name)) for name in names])} == {"granted"}
    ledger.channel(CH, "block", ledger.now() + 60000, "429")
    for name in names[:7]:
        ledger.settle(name, "published", "confirmed", token=ledger.row(name)["token"])
    assert ledger.client.hget(ledger.key("channel", CH), "ramp") == "1"


def test_pace_and_burst(ledger):
    names = [f"blog/main/{n}" for n in range(5)]
    answers = ledger.claims([ledger.claim_block(name, entry=ledger.add(name), spacing=60000, burst=3) for name in names])
    assert [answer[0] for answer in answers] == ["granted"] * 3 + ["wait"] * 2
    assert [answer[1] for answer in answers[3:]] == ["paced", "queued"]
    next_at = int(ledger.client.hget(ledger.key("channel", CH), "next_at"))
    assert abs(next_at - ledger.answered_at - 60000) <= 1000 and channel_entry(ledger) == next_at


def test_a_new_entry_queues_behind_those_that_wait(ledger):
    entry = ledger.add(D)
    assert ledger.claim(D, entry=entry, hold_back="channel_full")[:2] == ["wait", "channel_full"]
    assert ledger.claim(D, entry=entry)[0] == "granted", "it does not queue behind itself"
    for name in ("blog/main/b", "blog/main/c"):
        assert ledger.claim(name, entry=ledger.add(name), hold_back="channel_full")[0] == "wait"
    assert ledger.claim("blog/main/d", entry=ledger.add("blog/main/d"))[:2] == ["wait", "queued"]
    assert ledger.claim("blog/main/c")[0] == "granted", "what take hands out does not queue again"
    assert ledger.waiting(CH) == ["blog/main/b", "blog/main/d"]


def test_waiting_keeps_the_order_of_age(ledger):
    for number in (3, 1, 2):
        name = f"blog/main/{number}"
        ledger.claim(name, entry=ledger.add(name), approved_at=1000 + number, hold_back="channel_full")
    assert ledger.waiting(CH) == ["blog/main/1", "blog/main/2", "blog/main/3"]


def test_unknown_channel_waits_whatever_else_holds(ledger):
    assert ledger.claim(D, entry=ledger.add(D), hold_back="unknown_channel", not_after=1)[:2] == ["wait", "unknown_channel"]
    assert ledger.waiting(CH) == [D]


FIRST = "blog/main/first"


def put_first(ledger, state, **fields):
    put(ledger, FIRST)
    ledger.client.hset(ledger.key("delivery", FIRST), mapping={"state": state, **fields})


@pytest.mark.parametrize("state, wait_ms", [(None, 10000), ("uncertain", 10000), ("claimed", 1000)])
def test_a_successor_waits_until_its_predecessor_is_published(ledger, state, wait_ms):
    if state:
        put_first(ledger, state)
    answer = ledger.claim(D, entry=ledger.add(D), after=FIRST)
    assert answer[:2] == ["wait", "predecessor"] and ledger.due("delivery:" + D) == ledger.answered_at + wait_ms
    assert ledger.state(D) == ("approved", "predecessor") and ledger.lease(D) is None


@pytest.mark.parametrize("first_in_ms, wait_ms", [(-5000, 1000), (4000, 5000), (3600_000, 10000)])
def test_a_successor_looks_again_a_second_after_its_predecessor_is_due(ledger, first_in_ms, wait_ms):
    put_first(ledger, "approved")
    ledger.client.zadd(ledger.key("agenda"), {"delivery:" + FIRST: ledger.now() + first_in_ms})
    ledger.claim(D, entry=ledger.add(D), after=FIRST)
    assert abs(ledger.due("delivery:" + D) - ledger.answered_at - wait_ms) < 100


def test_a_successor_looks_again_soon_where_a_worker_has_its_predecessor(ledger):
    put_first(ledger, "approved", taken=1)
    ledger.client.zadd(ledger.key("agenda"), {"delivery:" + FIRST: ledger.now() + 30000})
    ledger.claim(D, entry=ledger.add(D), after=FIRST)
    assert ledger.due("delivery:" + D) == ledger.answered_at + 1000


@pytest.mark.parametrize("state", ["rejected", "held"])
@pytest.mark.parametrize("known", [False, True])
def test_a_successor_of_what_did_not_go_out_is_held(ledger, state, known):
    put_first(ledger, state)
    if known:
        put(ledger)
    assert ledger.claim(D, entry=ledger.add(D), approved_at=ledger.row(D).get("approved_at"), after=FIRST) == ["held", "predecessor"]
    assert ledger.state(D) == ("held", "predecessor") and ledger.due("delivery:" + D) is None
    assert ledger.lease(D) is None and "attempt" not in ledger.row(D)


def test_in_doubt_it_is_not_held_for_its_predecessor(ledger):
    """The frozen request was made when that one was published; without one somebody must still look."""
    put_first(ledger, "rejected")
    put_in_doubt(ledger)
    ledger.client.hdel(ledger.key("request", D), "frozen")
    row = ledger.row(D)
    answer = ledger.claim(D, approved_at=row.get("approved_at", 0), gen=row.get("gen", 0), after=FIRST)
    assert answer == ["uncertain", "not_sent_in_doubt"] and len(ledger.journal()) == 1


@pytest.mark.parametrize("ext_id", ["42", "at://did:plc:aaaabbbbccccddddeeeeffff/app.bsky.feed.post/3mvzvh4fs22sd"])
def test_a_successor_is_rendered_with_what_its_predecessor_is_known_by(ledger, ext_id):
    put_first(ledger, "claimed", token="t" * 32)
    ledger.settle(FIRST, "published", "confirmed", fields={"ext_id": ext_id, "url": "https://m.example/42"})
    entry = ledger.add(D)
    before = ledger.dump()
    assert ledger.claim(D, entry=entry, after=FIRST) == ["rerender", entry.split("-")[0], "0", ext_id, "https://m.example/42"]
    assert ledger.dump() == before, "nothing was claimed"
    assert ledger.claim(D, entry=entry, after=FIRST, after_id=ext_id)[0] == "granted"


def test_a_predecessor_that_is_published_without_an_id(ledger):
    put_first(ledger, "published")
    assert ledger.claim(D, entry=ledger.add(D), after=FIRST)[0] == "granted"


def test_in_doubt_what_the_predecessor_is_known_by_comes_with_the_frozen_bytes(ledger):
    put_first(ledger, "published", ext_id="42", url="https://m.example/42")
    put_in_doubt(ledger)
    assert ledger.claim(D, approved_at=1, gen=7, after=FIRST)[10:] == ["old bytes", "", "42", "https://m.example/42"]


def test_a_lease_of_somebody_else_is_respected(ledger):
    ledger.client.set(ledger.key("lease", D), "stranger 1 zzz", px=30000)
    answer = ledger.claim(D, entry=ledger.add(D))
    assert answer[:2] == ["busy", "stranger"] and ledger.state(D) == ("approved", "new")
    assert 29000 < ledger.due("delivery:" + D) - ledger.now() <= 30000
    ledger.client.set(ledger.key("lease", D), "stranger 1 zzz")
    assert ledger.claim(D)[0] == "busy" and ledger.due("delivery:" + D) > ledger.now() + 50000


def test_any_answer_to_a_claim_ends_the_count_of_takes(ledger):
    put(ledger, taken=4)
    assert ledger.claim(D, hold_back="channel_full")[0] == "wait"
    assert "taken" not in ledger.row(D)


def test_a_repeated_wait_changes_nothing(ledger):
    later = ledger.now() + HOUR
    entry = ledger.add(D)
    block = ledger.claim_block(D, entry=entry, not_before=later)
    first = ledger.claims([block])
    before = ledger.dump()
    assert ledger.claims([block]) == first and ledger.dump() == before
