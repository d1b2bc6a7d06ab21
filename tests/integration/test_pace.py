# SPDX-License-Identifier: MIT
"""When deliveries go out: schedules, predecessors, age, and the pace of a channel, which holds up nobody else."""
import datetime
import time

import pytest

from lib.fleet import UNPACED, Fleet
from lib.procs import wait_for

HOOK, TOOTS = "webhook/brand", "mastodon/brand"
SLOW = {"spacing_ms": 75000, "burst": 1}


def in_s(seconds):
    """An RFC 3339 time so many seconds from now, in another time zone."""
    zone = datetime.timezone(datetime.timedelta(hours=2))
    return (datetime.datetime.now(zone) + datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def writes(fleet, instance):
    """Ids of the deliveries whose write requests came, in their order."""
    log = fleet.sim.get("requests", instance=instance, limit=1000)["requests"]
    return [name.split("/", 2)[2] for line in log if line["kind"] == "write" for name in line["deliveries"]]


def channel(fleet, name):
    return fleet.db.hgetall(f"lf:{{0}}:channel:{name}")


def waiting(fleet, name):
    return [delivery.split("/", 2)[2] for delivery in fleet.db.zrange(f"lf:{{0}}:waiting:{name}", 0, -1)]


def now_ms(fleet):
    seconds, micros = fleet.db.time()
    return seconds * 1000 + micros // 1000


# ---- schedules

@pytest.fixture(scope="module")
def fleet():
    year_ms = 365 * 86400000
    extra = {**UNPACED, "forem": {**UNPACED["forem"], "max_age_ms": year_ms // 12}}
    with Fleet(["webhook", "mastodon", "forem"], channel=extra) as running:
        running.start_worker()
        yield running


def test_not_before_is_waited_for(fleet):
    due = in_s(1.5)
    due_ms = int(datetime.datetime.fromisoformat(due).timestamp() * 1000)
    fleet.add(HOOK, fleet.item("early", landfall={"not_before": due}))
    own = {"not_before": in_s(3600), "channels": {HOOK: {"not_before": due}}}
    fleet.add(HOOK, fleet.item("own-time", landfall=own))
    fleet.add(HOOK, fleet.item("any-time", landfall={"not_before": in_s(-5)}))
    fleet.wait_state("webhook/brand/any-time", "published")
    row = wait_for(lambda: fleet.row("webhook/brand/early"), what="a row")
    assert (row["state"], row["reason"]) == ("approved", "scheduled")
    assert fleet.db.zscore("lf:{0}:agenda", "delivery:webhook/brand/early") == due_ms == int(row["not_before"])
    assert writes(fleet, "webhook") == ["any-time"]
    for name in ("early", "own-time"):
        assert int(fleet.wait_state(f"webhook/brand/{name}", "published")["since"]) >= due_ms
    fleet.check_judge(**{"webhook/brand/early": 1, "webhook/brand/own-time": 1})


def test_after_not_after_it_is_held(fleet):
    fleet.add(HOOK, fleet.item("too-late", landfall={"not_after": in_s(-1)}))
    fleet.add(HOOK, fleet.item("long-ago", landfall={"not_after": "1970-01-01T00:00:00Z"}))
    fleet.add(HOOK, fleet.item("waited", landfall={"not_after": in_s(0.5), "after": "nobody"}))
    never = fleet.add(HOOK, fleet.item("never", landfall={"not_before": in_s(1), "not_after": in_s(0.5)}))
    fleet.add(HOOK, fleet.item("in-time", landfall={"not_after": in_s(600)}))
    assert fleet.wait_state("webhook/brand/too-late", "held")["reason"] == "expired"
    assert fleet.wait_state("webhook/brand/long-ago", "held")["reason"] == "expired"
    fleet.wait_state("webhook/brand/in-time", "published")
    assert fleet.row("webhook/brand/waited")["reason"] == "predecessor"
    time.sleep(0.6)
    fleet.hurry("webhook/brand/waited")
    assert fleet.wait_state("webhook/brand/waited", "held")["reason"] == "expired"
    assert "nothing could ever be sent" in fleet.refused()[never]
    assert not {"too-late", "long-ago", "waited", "never"} & set(writes(fleet, "webhook"))


def test_parts_go_out_in_their_order(fleet):
    """They come in the wrong order. The wait for a predecessor is ten seconds; its time is made to come here."""
    parts = ["part-1", "part-2", "part-3"]
    for part, before in (("part-3", "part-2"), ("part-2", "part-1")):
        fleet.add(TOOTS, fleet.item(part, landfall={"after": before}))
    for part in parts[1:]:
        wait_for(lambda part=part: fleet.row(f"mastodon/brand/{part}").get("reason") == "predecessor",
                 what=f"{part} waits")
    assert writes(fleet, "mastodon") == []
    fleet.add(TOOTS, fleet.item("part-1"))
    fleet.wait_state("mastodon/brand/part-1", "published")
    for part in parts[1:]:
        fleet.hurry(*(f"mastodon/brand/{later}" for later in parts[1:]))
        fleet.wait_state(f"mastodon/brand/{part}", "published")
    assert writes(fleet, "mastodon") == parts


def test_later_parts_stay_where_the_first_one_did_not_go_out(fleet):
    before = len(writes(fleet, "mastodon"))
    fleet.sim.fault("status", "mastodon", status=422, body='{"error": "Validation failed"}')
    fleet.add(TOOTS, fleet.item("head"))
    fleet.add(TOOTS, fleet.item("tail", landfall={"after": "head"}))
    fleet.wait_state("mastodon/brand/head", "rejected")
    assert fleet.wait_state("mastodon/brand/tail", "held")["reason"] == "predecessor"
    assert writes(fleet, "mastodon")[before:] == ["head"]


def test_a_backlog_is_held_and_what_is_new_goes_out(fleet):
    """The first run with an empty ledger: old entries must not flood the account."""
    now = datetime.datetime.now(datetime.timezone.utc)
    old = [f"old-{number}" for number in range(36)]
    for number, name in enumerate(old):
        dated = (now - datetime.timedelta(days=31 * (number + 1))).isoformat(timespec="seconds")
        fleet.add("forem/brand", fleet.item(name, date_published=dated))
    old.append("before-1970")
    fleet.add("forem/brand", fleet.item("before-1970", date_published="1965-03-01T00:00:00Z"))
    fleet.add("forem/brand", fleet.item("today", date_published=now.isoformat(timespec="seconds")))
    fleet.add("forem/brand", fleet.item("undated"))
    fleet.wait_states([f"forem/brand/{name}" for name in old], "held")
    assert {fleet.row(f"forem/brand/{name}")["reason"] for name in old} == {"backfill"}
    fleet.wait_states(["forem/brand/today", "forem/brand/undated"], "published")
    assert sorted(writes(fleet, "forem")) == ["today", "undated"]


# ---- the pace of a channel

def test_a_slow_channel_holds_up_nobody_and_holds_no_slot():
    extra = {"mastodon": {"pace": SLOW}, "webhook": UNPACED["webhook"], "forem": {"pace": {**SLOW, "burst": 3}}}
    with Fleet(["webhook", "mastodon", "forem"], channel=extra, config={"worker": {"slots": 4}}, metrics=True) as fleet:
        toots = [f"toot-{number}" for number in range(10)]
        for name in toots:
            fleet.add(TOOTS, fleet.item(name))
            fleet.add("forem/brand", fleet.item(name))
        hooks = fleet.add_many(HOOK, [f"hook-{number}" for number in range(30)])
        began = time.monotonic()
        worker = fleet.start_worker()
        fleet.wait_states(hooks, "published", timeout_s=20)
        assert time.monotonic() - began < 12, "they were behind twenty deliveries that wait for a minute and more"
        wait_for(lambda: len(waiting(fleet, TOOTS)) == 9 and len(waiting(fleet, "forem/brand")) == 7, what="the rest")

        assert fleet.state("mastodon/brand/toot-0") == "published" and waiting(fleet, TOOTS) == toots[1:]
        assert waiting(fleet, "forem/brand") == toots[3:], "a burst of three went out at once"
        assert fleet.row("mastodon/brand/toot-1")["reason"] in ("paced", "queued")
        next_at = int(channel(fleet, TOOTS)["next_at"])
        assert 60000 < next_at - now_ms(fleet) <= 75000
        assert fleet.db.zscore("lf:{0}:agenda", f"channel:{TOOTS}") == next_at
        assert fleet.metric("landfall_in_flight") == 0 and fleet.db.keys("lf:{0}:lease:*") == []
        assert fleet.metric("landfall_waits_total", channel=TOOTS) >= 9

        # Its time comes: one goes, the one that has waited for longest, and the next is due a spacing later.
        fleet.db.hset(f"lf:{{0}}:channel:{TOOTS}", "next_at", now_ms(fleet))
        fleet.db.zadd("lf:{0}:agenda", {f"channel:{TOOTS}": 1}, xx=True)
        fleet.wait_state("mastodon/brand/toot-1", "published")
        wait_for(lambda: fleet.db.zscore("lf:{0}:agenda", f"channel:{TOOTS}") > now_ms(fleet) + 60000,
                 what="the next time")
        assert writes(fleet, "mastodon") == toots[:2] and waiting(fleet, TOOTS) == toots[2:]

        # The pace is the fleet's: another worker does not begin anew.
        worker.kill()
        fleet.add(TOOTS, fleet.item("toot-late"))
        assert fleet.run_worker(name="second") == 3
        assert writes(fleet, "mastodon") == toots[:2] and waiting(fleet, TOOTS) == [*toots[2:], "toot-late"]
        fleet.check_judge(**{f"mastodon/brand/{name}": 1 for name in toots[:2]})


def test_a_platform_that_never_answers_takes_its_share_of_the_slots_and_no_more():
    config = {"worker": {"slots": 8, "max_in_flight_per_channel": 2}}
    with Fleet(["webhook", "mastodon", "indexnow"], channel=UNPACED, config=config, metrics=True) as fleet:
        fleet.sim.fault("accept_and_never_answer", "mastodon", times=-1)
        dead = fleet.add_many(TOOTS, [f"dead-{number}" for number in range(20)])
        alive = [*fleet.add_many(HOOK, [f"hook-{number}" for number in range(40)]),
                 *fleet.add_many("indexnow/brand", [f"ping-{number}" for number in range(40)])]
        fleet.start_worker()
        most = 0

        def all_alive_done():
            nonlocal most
            most = max(most, sum(1 for name in fleet.db.keys("lf:{0}:lease:mastodon/*")))
            return fleet.states(alive) == {"published": len(alive)}
        wait_for(all_alive_done, 20, what=lambda: f"{fleet.states(alive)}\n{fleet.output()}")
        assert 1 <= most <= 2
        assert fleet.states(dead).get("approved", 0) >= 10, "most of them wait outside of the slots"
        assert {fleet.row(name)["reason"] for name in dead if fleet.state(name) == "approved"} <= {
            "channel_full", "queued", "blocked", "ramp"}
        wait_for(lambda: channel(fleet, TOOTS).get("blocked_why") == "breaker", 15, what="the breaker")
        fleet.check_judge(**{name: 1 for name in alive})


def test_after_a_block_one_request_goes_first_and_each_success_doubles_it():
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        fleet.sim.fault("rate_limited", "mastodon", form="native", wait_s=1)
        names = fleet.add_many(TOOTS, [f"it-{number}" for number in range(16)])
        fleet.start_worker()
        wait_for(lambda: channel(fleet, TOOTS).get("ramp"), what="a block")
        fleet.wait_states(names, "published")
        assert int(channel(fleet, TOOTS).get("ramp", 64)) > 1
        fleet.check_judge(**{name: 1 for name in names})

        fleet.sim.fault("rate_limited", "mastodon", form="native", wait_s=1)
        first = fleet.add_many(TOOTS, ["probe"])[0]
        wait_for(lambda: channel(fleet, TOOTS).get("ramp") == "1", what="a second block")
        fleet.sim.fault("hold", "mastodon", times=-1)
        rest = fleet.add_many(TOOTS, [f"rest-{number}" for number in range(6)])
        fleet.sim.wait("holding")
        wait_for(lambda: len(waiting(fleet, TOOTS)) == 6, what="the others wait")
        time.sleep(0.5)  # time enough for a second request to come
        assert len(fleet.sim.wait("holding")["holding"]) == 1, "one alone finds out whether it is over"
        fleet.sim.release()
        assert fleet.sim.wait("holding", 2)["value"] == 2, "and then two"
        fleet.sim.clear_faults()
        fleet.sim.release()
        fleet.wait_states([first, *rest], "published")
        fleet.check_judge(**{name: 1 for name in (first, *rest)})


def test_a_backlog_goes_out_as_fast_as_its_slots_come_free():
    """A slot that comes free goes to the next one that waits for the channel, not at the next look at the agenda."""
    with Fleet(["webhook"], channel=UNPACED, config={"worker": {"slots": 4}}) as fleet:
        names = fleet.add_many(HOOK, [f"it-{number}" for number in range(40)])
        began = time.monotonic()
        fleet.start_worker()
        fleet.wait_states(names, "published")
        assert time.monotonic() - began < 10, "half a second for each of them would be twenty"
        fleet.check_judge(**{name: 1 for name in names})
