# SPDX-License-Identifier: MIT
"""The verbs of an operator on rows as the contract has them: answers, audit stream, bulk acts, exit codes."""
import getpass
import json
import socket

import pytest

from lib.cli import BLOG, Cli

D = "blog/brand/one"
WHY = ("--why", "asked the editors")
BLIND = {**{name: value for name, value in BLOG.items() if name != "key"}, "tier": "blind", "platform": "blind"}


@pytest.fixture
def cli(tmp_path):
    with Cli(tmp_path) as one:
        yield one


def held(cli, delivery, reason="no_evidence", content=True, **fields):
    cli.row(delivery, **{"state": "held", "reason": reason, "since": cli.now_ms() - 5000, **fields})
    if content:
        cli.client.hset(cli.key("request", delivery), "content", '{"id": "x", "content_text": "x"}')


def approved(cli, delivery, **fields):
    cli.row(delivery, **{"state": "approved", "reason": "new", "since": cli.now_ms(), **fields})
    cli.client.zadd(cli.key("agenda"), {f"delivery:{delivery}": cli.now_ms() + 60000})


def state(cli, delivery):
    return tuple(cli.client.hmget(cli.key("delivery", delivery), "state", "reason"))


def audit(cli):
    return [fields for _, fields in cli.client.xrange(cli.key("audit"))]


def one(cli, *words, code=0):
    """The answer about the only delivery of an act."""
    document = cli.json(*words, *WHY, code=code)
    assert len(document["deliveries"]) == 1
    return document["deliveries"][0]


# ---- why, who, what

@pytest.mark.parametrize("verb", ["retry", "approve", "cancel", "reject"])
def test_nothing_is_done_without_a_reason(cli, verb):
    held(cli, D, "approval")
    before = cli.dump()
    for words in ([verb, D], [verb, D, "--why", ""], [verb, D, "--why", " \t"], [verb, D, "--why", "x" * 1001]):
        done = cli.run(*words)
        assert done.code == 1 and "--why" in done.err
    assert cli.run("confirm", D, "--id", "1").code == 1 and cli.run("pause", "blog/brand").code == 1
    assert cli.dump() == before


def test_an_act_is_audited_with_who_where_and_why(cli):
    held(cli, D, "approval")
    assert one(cli, "approve", D)["answer"] == "done"
    assert audit(cli) == [{"delivery": D, "act": "approve", "user": getpass.getuser(), "host": socket.gethostname(),
                           "why": WHY[1], "from": "held", "to": "approved"}]
    assert one(cli, "approve", D)["answer"] == "already" and len(audit(cli)) == 1


def test_how_deliveries_are_named(cli):
    assert cli.run("retry", *WHY).code == 1
    both = cli.run("retry", D, "--channel", "blog/brand", *WHY)
    assert both.code == 1 and "one of the two" in both.err
    assert cli.run("retry", "nonsense", *WHY).code == 1
    assert cli.run("retry", "--state", "lost", *WHY).code == 1 and cli.run("retry", "--reason", "lost", *WHY).code == 1
    missing = cli.json("retry", D, *WHY, code=5)
    assert missing["missing"] == 1 and missing["deliveries"][0]["answer"] == "missing"
    held(cli, D)
    assert cli.json("retry", D, D, *WHY)["picked"] == 1
    cli.client.set(cli.key("delivery", "blog/brand/hand"), "somebody's")
    assert "cannot be read" in one(cli, "retry", "blog/brand/hand", code=1)["text"]


# ---- retry

def test_retry_takes_back_what_is_held_or_rejected(cli):
    held(cli, D, tries=5, attempt=5, not_after=1)
    answer = one(cli, "retry", D)
    assert answer["from"] == {"state": "held", "reason": "no_evidence"}
    assert answer["to"] == {"state": "approved", "reason": "operator"}
    row = cli.client.hgetall(cli.key("delivery", D))
    assert row["waived"] == "1" and "tries" not in row and "not_after" not in row and row["attempt"] == "5"
    assert cli.client.zscore(cli.key("agenda"), f"delivery:{D}")
    cli.row("blog/brand/r", state="rejected", reason="refused", since=1)
    assert one(cli, "retry", "blog/brand/r", code=1)["text"].startswith("its content is not kept")
    cli.client.hset(cli.key("request", "blog/brand/r"), "content", "{}")
    assert one(cli, "retry", "blog/brand/r")["answer"] == "done"


def test_retry_waits_until_the_last_attempt_cannot_commit_any_more(cli):
    until = cli.now_ms() + 60000
    held(cli, D, attempt=2, commit_by=until)
    answer = one(cli, "retry", D, code=3)
    assert answer["answer"] == "busy" and answer["until_ms"] == until and "attempt 2 may still be executed" in answer["text"]
    people = cli.run("retry", D, *WHY)
    assert people.code == 3 and "busy: blog/brand/one" in people.out and ", until in " in people.out
    assert state(cli, D) == ("held", "no_evidence") and audit(cli) == []


def test_what_is_being_sent_is_busy_until_its_lease_ends(cli):
    cli.row(D, state="claimed", reason="sending", since=1, attempt=1, token="abcdef0123456789")
    cli.client.set(cli.key("lease", D), "w-1 1 abcdef0123456789", px=40000)
    for verb in ("retry", "approve", "cancel", "reject"):
        answer = one(cli, verb, D, code=3)
        assert answer["answer"] == "busy" and 0 < answer["until_ms"] - cli.now_ms() <= 40000
    assert one(cli, "confirm", D, "--id", "1", code=3)["answer"] == "busy" and audit(cli) == []


def test_retry_leaves_the_word_to_the_reconciler_and_says_what_it_will_do(cli):
    cli.row(D, state="uncertain", reason="no_answer", since=cli.now_ms(), attempt=1, in_doubt="1:abcdef01", first_send=1)
    cli.client.zadd(cli.key("agenda"), {"walk:blog/brand": cli.now_ms() + 5000})
    answer = one(cli, "retry", D, code=3)
    assert answer["answer"] == "open" and "reads the platform" in answer["text"]
    assert any("looks again" in line for line in answer["next"])
    assert "next: the reconciler looks again" in cli.run("retry", D, *WHY).out
    assert state(cli, D) == ("uncertain", "no_answer") and audit(cli) == []


@pytest.mark.parametrize("fields, words, says", [
    ({"in_doubt": "2:abcdef01", "attempt": 2, "first_send": 1}, [], "attempt 2 may have committed; a second post is possible"),
    ({"in_doubt": "1:aa 2:bb rewound", "attempt": 2}, [],
     "attempts 1, 2 and one that the ledger has forgotten may have committed; a second post is possible"),
    ({"in_doubt": "1:aa", "attempt": 1, "first_send": None}, ["--new-key"], "under a new key"),
    ({"in_doubt": "1:aa", "attempt": 1, "first_send": None}, [], None),  # the same request under the same key
    ({"reason": "gone", "ext_id": "77"}, [], "published once as 77; it is posted again"),
    ({}, [], None),
])
def test_the_risk_is_named(cli, fields, words, says):
    if "first_send" in fields and fields["first_send"] is None:
        fields = {**fields, "first_send": cli.now_ms() - 1000}
    held(cli, D, **{"commit_by": 1, **fields})
    if says is not None:  # it is asked for first, and nothing is done
        answer, before = one(cli, "retry", D, *words, code=1), cli.dump()
        assert answer["answer"] == "refused" and says in answer["risk"] and "--yes" in answer["text"] and cli.dump() == before
    answer = one(cli, "retry", D, *words, *(["--yes"] if says else []))
    assert answer["answer"] == "done"
    assert answer["risk"] is None if says is None else says in answer["risk"]
    assert cli.client.hget(cli.key("delivery", D), "gen") == ("1" if words else "0")


def test_the_risk_on_a_channel_that_can_neither_be_read_nor_replayed(cli):
    cli.write("descriptors/blind.json", BLIND)
    cli.config(channels={"blind/brand": {"platform": "blind", "settings": {"origin": "https://b.example"},
                                         "credential": {"env": "BLOG_TOKEN"}}})
    held(cli, "blind/brand/a", in_doubt="1:aa", attempt=1)
    held(cli, "blind/brand/b", "approval")
    held(cli, "other/brand/c", in_doubt="1:aa", attempt=1)
    assert "a second post is possible, for this channel can neither be read nor replayed" in one(cli, "retry", "blind/brand/a", "--yes")["risk"]
    assert "if the next attempt has no answer" in one(cli, "approve", "blind/brand/b")["risk"]
    assert "not configured here" in one(cli, "retry", "other/brand/c", "--yes")["risk"]
    cli.row("blind/brand/d", state="held", reason="no_evidence", since=1, in_doubt="1:aa", attempt=1)
    risk = "  risk: attempt 1 may have committed; a second post is possible"
    refused = cli.run("retry", "blind/brand/d", *WHY)
    assert refused.code == 1 and refused.out.startswith("refused: blind/brand/d: a second post is possible; --yes") and risk in refused.out
    bulk = cli.run("retry", "--channel", "blind/brand", *WHY)
    assert bulk.code == 1 and "note: blind/brand held no_evidence cannot be read: where an attempt" in bulk.out
    done = cli.run("retry", "blind/brand/d", "--yes", *WHY)
    assert done.code == 0 and risk in done.out


# ---- approve, confirm, cancel, reject

def test_approve(cli):
    cli.write("items.ndjson", '{"id": "one", "content_text": "Hello"}\n')
    assert cli.run("submit", "items.ndjson", "--to", "blog/brand", "--hold").code == 0
    assert state(cli, D) == ("held", "approval")
    assert one(cli, "approve", D)["to"]["state"] == "approved"
    cli.row("blog/brand/r", state="rejected", reason="operator", since=1)
    assert "retry takes it back" in one(cli, "approve", "blog/brand/r", code=1)["text"]


def test_confirm(cli):
    held(cli, D, in_doubt="1:aa", attempt=1)
    assert one(cli, "confirm", D, "--id", "77", "--url", "https://blog.example/77")["to"]["state"] == "published"
    row = cli.client.hgetall(cli.key("delivery", D))
    assert (row["state"], row["source"], row["ext_id"], row["url"]) == ("published", "operator", "77", "https://blog.example/77")
    assert cli.client.hget(cli.key("posts", "blog/brand"), "77") == D
    assert one(cli, "confirm", D, "--id", "77")["answer"] == "already"
    assert "published as 77" in one(cli, "confirm", D, "--id", "78", code=1)["text"]
    held(cli, "blog/brand/two")
    assert "that id belongs to blog/brand/one" in one(cli, "confirm", "blog/brand/two", "--id", "77", code=1)["text"]
    assert state(cli, "blog/brand/two") == ("held", "no_evidence") and len(audit(cli)) == 1
    approved(cli, "blog/brand/three")
    assert "held or uncertain can be confirmed" in one(cli, "confirm", "blog/brand/three", "--id", "1", code=1)["text"]
    for words in (["--id", ""], ["--id", "a\nb"], ["--id", "1", "--url", "ftp://x"], ["--id", "1", "--url", "https://x y"], []):
        assert cli.run("confirm", "blog/brand/two", *words, *WHY).code == 1


def test_confirm_ends_the_doubt_of_an_uncertain_delivery(cli):
    cli.row(D, state="uncertain", reason="no_answer", since=1, attempt=1, in_doubt="1:abcdef01", commit_by=cli.now_ms() + 60000)
    assert one(cli, "confirm", D, "--id", "5")["answer"] == "done"
    assert cli.client.xlen(cli.key("journal")) == 0 and cli.client.zcard(cli.key("uncertain", "blog/brand")) == 0
    outcome = cli.client.xrevrange(cli.key("outcomes"), count=1)[0][1]
    assert (outcome["state"], outcome["source"], outcome["ext_id"]) == ("published", "operator", "5")


def test_cancel(cli):
    approved(cli, D)
    assert one(cli, "cancel", D)["to"] == {"state": "rejected", "reason": "operator"}
    assert cli.client.zscore(cli.key("agenda"), f"delivery:{D}") is None
    assert one(cli, "cancel", D)["answer"] == "already"
    cli.row("blog/brand/p", state="published", reason="confirmed", since=1)
    assert "deletes nothing" in one(cli, "cancel", "blog/brand/p", code=1)["text"]


@pytest.mark.parametrize("fields", [{"state": "uncertain", "reason": "no_answer"}, {"state": "held", "reason": "no_evidence"}])
def test_what_may_have_been_executed_is_given_up_only_when_that_is_said(cli, fields):
    cli.row(D, since=1, attempt=1, in_doubt="1:abcdef01", **fields)
    answer = one(cli, "cancel", D, code=1)
    assert answer["answer"] == "refused" and "attempt 1 may have committed; --in-doubt" in answer["text"] and audit(cli) == []
    answer = one(cli, "cancel", D, "--in-doubt")
    assert answer["answer"] == "done" and "an alert is raised" in answer["risk"]
    assert state(cli, D) == ("rejected", "operator") and cli.client.xlen(cli.key("journal")) == 0


def test_reject_leaves_its_reason_with_the_delivery(cli):
    held(cli, D, "approval")
    assert one(cli, "reject", D)["to"]["state"] == "rejected"
    assert cli.json("show", D, code=4)["detail"] == WHY[1] and audit(cli)[0]["act"] == "reject"


# ---- bulk

def test_a_bulk_act_shows_the_number_and_wants_a_yes(cli):
    for i in range(70):
        held(cli, f"blog/brand/{i}", content=False)
    held(cli, "news/brand/n", "expired")
    held(cli, "blog/brand/a", "approval")
    approved(cli, "blog/brand/x")
    before = cli.dump()
    shown = cli.json("retry", "--channel", "blog/brand", "--reason", "no_evidence", *WHY, code=1)
    assert shown["acted"] is False and shown["picked"] == 70 and shown["deliveries"] == []
    assert shown["groups"] == [{"channel": "blog/brand", "state": "held", "reason": "no_evidence", "n": 70}]
    people = cli.run("retry", "--channel", "blog/brand", "--reason", "no_evidence", *WHY)
    assert people.out.startswith("70 deliveries to retry:\n") and "say --yes" in people.out and cli.dump() == before
    done = cli.json("retry", "--channel", "blog/brand", "--reason", "no_evidence", "--yes", *WHY)
    assert done["done"] == 70 and done["acted"] is True and len(audit(cli)) == 70
    assert {state(cli, f"blog/brand/{i}") for i in range(70)} == {("approved", "operator")}
    assert state(cli, "blog/brand/a") == ("held", "approval") and state(cli, "news/brand/n") == ("held", "expired")
    nothing = cli.run("retry", "--channel", "blog/brand", "--reason", "no_evidence", "--yes", *WHY)
    assert nothing.code == 0 and "nothing to do" in nothing.out and len(audit(cli)) == 70


def test_what_a_bulk_act_picks(cli):
    now = cli.now_ms()
    held(cli, "blog/brand/old", since=now - 7200000)
    held(cli, "blog/brand/new", since=now - 1000)
    held(cli, "blog/brand/draft", "approval", since=now - 7200000)
    approved(cli, "blog/brand/x", since=now - 7200000)
    cli.row("blog/brand/u", state="uncertain", reason="no_answer", since=now - 7200000, in_doubt="1:aa", attempt=1)
    cli.row("blog/brand/r", state="rejected", reason="refused", since=now - 7200000)

    def picked(*words):
        groups = cli.json(*words, *WHY, code=1)["groups"]
        return sorted(f"{group['state']} {group['reason']} {group['n']}" for group in groups)
    assert picked("retry", "--older-than", "1h") == ["held approval 1", "held no_evidence 1"]
    assert picked("retry", "--channel", "blog/brand") == ["held approval 1", "held no_evidence 2"]
    assert picked("retry", "--state", "rejected") == ["rejected refused 1"]
    assert picked("approve", "--channel", "blog/brand") == ["held approval 1"] == picked("reject", "--channel", "blog/brand")
    assert picked("cancel", "--older-than", "1h") == ["approved new 1", "held approval 1", "held no_evidence 1"]
    assert "uncertain no_answer 1" in picked("cancel", "--older-than", "1h", "--in-doubt")
    assert cli.json("retry", "--channel", "news/brand", *WHY)["picked"] == 0


def test_a_mixed_bag_ends_with_the_gravest_code(cli):
    held(cli, D)
    held(cli, "blog/brand/soon", attempt=1, commit_by=cli.now_ms() + 60000)
    cli.row("blog/brand/r", state="rejected", reason="refused", since=1)
    done = cli.json("retry", D, "blog/brand/soon", "blog/brand/none", *WHY, code=5)
    assert (done["done"], done["busy"], done["missing"]) == (1, 1, 1)
    assert cli.json("retry", "blog/brand/soon", "blog/brand/r", *WHY, code=1)["refused"] == 1
    cli.redis.stop()
    assert cli.run("retry", D, *WHY).code == 2


# ---- pause, resume

def test_pause_and_resume(cli):
    cli.write("items.ndjson", '{"id": "one", "content_text": "Hello"}\n')
    cli.run("submit", "items.ndjson", "--to", "blog/brand")
    done = cli.json("pause", "blog/brand", *WHY)
    assert (done["answer"], done["was_paused"]) == ("done", False)
    assert cli.json("status")["channels"][0]["paused_why"] == WHY[1]
    assert cli.json("pause", "blog/brand", "--why", "another reason")["was_paused_why"] == WHY[1]
    assert cli.json("resume", "blog/brand", *WHY)["was_paused_why"] == "another reason"
    assert cli.json("resume", "blog/brand", *WHY)["answer"] == "already"
    assert [(a["act"], a["from"], a["to"], a["why"]) for a in audit(cli)] == [
        ("pause", "open", "paused", WHY[1]), ("pause", "paused", "paused", "another reason"),
        ("resume", "paused", "open", WHY[1])]
    assert cli.run("pause", "other/one", *WHY).code == 5 and cli.run("pause", "nonsense", *WHY).code == 1
    for word in ("credential", "configuration"):  # workers lift what they paused for these
        assert "say more" in cli.run("pause", "blog/brand", "--why", word).err
    people = cli.run("pause", "blog/brand", *WHY)
    assert people.code == 0 and people.out.startswith("done: blog/brand is paused\n")


# ---- leases, journal

def test_leases(cli):
    now = cli.now_ms()
    cli.row(D, state="claimed", reason="sending", since=now - 9000, claimed_at=now - 9000, attempt=2, token="abcdef0123456789")
    cli.client.set(cli.key("lease", D), "w-1 2 abcdef0123456789", px=40000)
    cli.row("blog/brand/lost", state="claimed", reason="sending", since=now, attempt=1)
    document = cli.json("leases")
    lease = document["leases"][0]
    assert (lease["delivery"], lease["worker"], lease["attempt"]) == (D, "w-1", 2)
    assert 9000 <= lease["age_ms"] < 19000 and 0 < lease["left_ms"] <= 40000
    assert document["notes"] == ["1 claimed without a lease: the next worker that looks makes them uncertain"]
    assert cli.json("leases", "--channel", "news/brand")["leases"] == []
    cli.client.set(cli.key("lease", "blog/brand/hand"), "by hand \x1b[2J")
    people = cli.run("leases")
    assert people.code == 0 and "no end" in people.out and "w-1" in people.out and "\x1b" not in people.out


def test_journal(cli):
    assert cli.json("journal")["uncertain"] == 0
    now = cli.now_ms()
    cli.row("blog/brand/b", state="uncertain", reason="no_answer", since=now - 60000, attempt=1, in_doubt="1:abcdef01")
    cli.row("blog/brand/a", state="uncertain", reason="lease_lost", since=now - 120000, attempt=2, in_doubt="1:aa 2:bb")
    cli.row("other/one/c", state="uncertain", reason="no_answer", since=now - 1000, attempt=1)
    cli.client.zadd(cli.key("agenda"), {"walk:blog/brand": now + 5000})
    document = cli.json("journal", code=3)
    assert [one["delivery"] for one in document["deliveries"]] == ["blog/brand/a", "blog/brand/b", "other/one/c"]
    first = document["deliveries"][0]
    assert (first["reason"], first["since_ms"], first["in_doubt"], first["next_look_ms"]) == ("lease_lost", now - 120000, "1:aa 2:bb", now + 5000)
    assert any("other/one is not configured here" in note for note in document["notes"])
    assert any("no reconciler has been seen" in note for note in document["notes"])
    assert cli.json("journal", "--channel", "blog/brand", "--older-than", "90s", code=3)["uncertain"] == 1
    people = cli.run("journal")
    assert people.code == 3 and "3 uncertain" in people.out and "blog/brand/a: lease_lost, 2 min ago" in people.out


# ---- audit, export, report

def test_audit(cli):
    feed = [{"id": "out", "content_text": "x"}, {"id": "wait", "content_text": "x"}, {"id": "none", "content_text": "x"}]
    cli.write("feed.json", {"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": feed})
    cli.row("blog/brand/out", state="published", reason="confirmed", since=1)
    held(cli, "blog/brand/wait", "expired")
    before = cli.dump()
    document = cli.json("audit", "feed.json", "--to", "blog/brand", code=5)
    assert (document["items"], document["deliveries"], document["published"], document["missing"]) == (3, 3, 1, 1)
    assert [(gap["delivery"], gap["state"], gap["reason"]) for gap in document["gaps"]] == [
        ("blog/brand/wait", "held", "expired"), ("blog/brand/none", "none", None)]
    assert cli.json("audit", "feed.json", "--to", "blog/brand", "news/brand", code=5)["missing"] == 4
    one_item = cli.run("audit", "-", "--to", "blog/brand", stdin=b'{"id": "out", "content_text": "x"}')
    assert one_item.code == 0 and "1 published" in one_item.out
    people = cli.run("audit", "feed.json", "--to", "blog/brand")
    assert people.code == 5 and "blog/brand/none: no delivery\n" in people.out and "blog/brand/wait: held expired\n" in people.out
    assert cli.run("audit", "-", "--to", "blog/brand", stdin=b"").code == 5  # nothing selected is not green
    bad = cli.run("audit", "-", "--to", "blog/brand", stdin=b'{"id": "out", "content_text": "x"}\n{"title": 1}\n')
    assert bad.code == 1 and "-:2" in bad.err.replace("standard input", "-")
    assert cli.run("audit", "feed.json").code == 1 and cli.run("audit", "none.json", "--to", "blog/brand").code == 1
    assert cli.json("audit", "-", "--to", "blog/brand", "--map", "{id: .slug, content_text: .t}", stdin=b'{"slug": "out", "t": "x"}')["published"] == 1
    assert cli.dump() == before


def test_export_is_sorted_and_stays_the_same(cli):
    cli.row("news/brand/1", state="published", reason="confirmed", since=1788246000000, ext_id="9", url="https://b.example/9",
            source="response", attempt=1)
    approved(cli, "blog/brand/2", reason="paced", rev=4)
    approved(cli, "blog/brand/1")
    first = cli.run("export")
    lines = [json.loads(line) for line in first.out.splitlines()]
    assert [line["delivery"] for line in lines] == ["blog/brand/1", "blog/brand/2", "news/brand/1"]
    assert lines[2]["since"] == "2026-09-01T07:00:00.000Z" and lines[2]["url"] == "https://b.example/9"
    assert list(lines[2])[:4] == ["delivery", "state", "reason", "since"]
    cli.client.hset(cli.key("delivery", "blog/brand/2"), mapping={"reason": "blocked", "rev": 9, "taken": 2, "missed_at": 5})
    assert cli.run("export").out == first.out
    assert cli.json("export", "--channel", "blog/brand") == lines[:2]
    cli.client.set(cli.key("delivery", "blog/brand/0"), "x")
    done = cli.run("export")
    assert done.code == 3 and "unreadable" in json.loads(done.out.splitlines()[0])


def test_export_of_many(cli):
    with cli.client.pipeline(transaction=False) as pipe:
        for i in range(6000):
            pipe.hset(cli.key("delivery", f"blog/brand/{i}"), mapping={"state": "published", "reason": "confirmed", "since": 1, "rev": 1})
        pipe.execute()
    names = [json.loads(line)["delivery"] for line in cli.run("export").out.splitlines()]
    assert names == sorted(f"blog/brand/{i}" for i in range(6000))


def outcome(cli, delivery, word, entry="*", **more):
    return cli.client.xadd(cli.key("outcomes"), {"delivery": delivery, "state": word, "attempt": 1, **more}, id=entry)


def test_report_says_what_outcomes_cannot(cli):
    outcome(cli, "blog/brand/p", "published", source="response", ext_id="1", url="https://blog.example/1")
    approved(cli, "blog/brand/w")
    cli.row("news/brand/u", state="uncertain", reason="no_answer", since=1)
    cli.client.xadd(cli.key("refused"), {"entry": "1-1", "why": "no item"})
    document = cli.json("report", code=3)
    blog, news = document["channels"]
    assert (blog["channel"], blog["selected"], blog["published"], blog["waiting_now"]) == ("blog/brand", 2, 1, 1)
    assert (news["channel"], news["uncertain_now"], news["skipped"]) == ("news/brand", 1, None)
    assert document["refused_input"] == 1 and document["complete"] is True and document["kept_from_ms"] is None
    assert any("no worker has been seen" in note for note in document["notes"])
    only = cli.json("report", "--channel", "blog/brand")
    assert [channel["channel"] for channel in only["channels"]] == ["blog/brand"]


def test_report_says_where_it_cannot_look_back(cli):
    """What the stream of outcomes has lost counts, not how long it may be by today's configuration."""
    now = cli.now_ms()
    for i in range(10):
        outcome(cli, f"blog/brand/{i}", "published", entry=f"{now - 1000 + i}-0")
    assert cli.json("report", "--since", "1h")["complete"] is True
    cli.client.xtrim(cli.key("outcomes"), maxlen=4, approximate=False)
    document = cli.json("report", "--since", "1h")
    assert document["complete"] is False and document["kept_from_ms"] == now - 994 and document["published"] == 4
    assert "are not all kept: this report can be believed from then on" in cli.run("report", "--since", "1h").out
    assert cli.json("report", "--since", "2099-01-01T00:00:00Z")["complete"] is True
    cli.client.hset(cli.key("epoch"), mapping={"environment": "test", "rewound_at": now - 500})
    assert cli.json("report", "--since", "1h")["kept_from_ms"] == now - 500
    cli.client.xtrim(cli.key("outcomes"), maxlen=0, approximate=False)
    assert cli.json("report", "--since", "1h")["complete"] is False, "nothing is left at all"


def test_report_where_the_server_does_not_say_what_a_stream_has_lost(cli):
    """Then one that is as long as it may be counts as cut."""
    now = cli.now_ms()
    cli.client.execute_command("ACL", "SETUSER", "reads", "on", "nopass", "~lf:*", "+@all", "-xinfo")
    more = {"redis": {"url": cli.redis.url.replace("//", "//reads@")}, "retention": {"outcomes_entries": 100}}
    cli.config(**more)
    for i in range(99):
        outcome(cli, f"blog/brand/{i}", "published", entry=f"{now - 1000 + i}-0")
    words = ("report", "--since", "1h")
    assert cli.json(*words, env={"LANDFALL_REDIS_PASSWORD": "any"})["complete"] is True
    outcome(cli, "blog/brand/99", "published", entry=f"{now}-0")
    document = cli.json(*words, env={"LANDFALL_REDIS_PASSWORD": "any"})
    assert document["complete"] is False and document["kept_from_ms"] == now - 1000


def test_report_as_markdown(cli):
    outcome(cli, "blog/brand/p", "published", source="response", ext_id="1", url="https://blog.example/1")
    outcome(cli, "blog/brand/bad|`name` @all", "held", reason="spent")
    outcome(cli, "blog/brand/s", "published", source="response", ext_id="2", url="javascript:alert(1)")
    done = cli.run("report", "--format", "github", "--expect", "5")
    assert done.code == 5 and done.out.startswith("## landfall\n") and "**3 of 5 expected are missing.**" in done.out
    assert "| `blog/brand/p` | `response` | <https://blog.example/1> |" in done.out
    assert "| `blog/brand/bad\\|'name' @all` | `held` | `spent` |" in done.out and "javascript" not in done.out
    assert "| `blog/brand` | 3 | 2 | 0 | 1 | 0 | 0 | 0 |" in done.out
    assert json.loads(cli.run("report", "--format", "json").out)["published"] == 2
    assert cli.run("report", "--format", "html").code == 1
