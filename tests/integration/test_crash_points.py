# SPDX-License-Identifier: MIT
"""A process dies at every point that docs/contract.md names, on every tier; new processes finish. The fake platforms judge."""
import collections
import time

from lib.fleet import CHANNELS, TIMES, Fleet
from lib.parallel import all_pass
from lib.stepped import stepped

WORKER_POINTS = ["after_read", "before_claim", "after_claim", "after_session", "after_prepare", "before_first_byte", "after_last_byte", "after_answer", "before_settle", "after_settle"]
RECONCILER_POINTS = ["after_walk_begin", "after_page", "before_resolve", "after_resolve"]
BETWEEN_COMMIT_AND_SETTLEMENT = ("after_last_byte", "after_answer", "before_settle")
SENT_AT = ("after_last_byte", "after_answer", "before_settle", "after_settle")
hit = collections.Counter()  # how often a worker died there while the platform had the post and the ledger not the outcome
LEASE_S = TIMES["lease_ms"] / 1000
KEYED_WEBHOOK = {"webhook": {"settings_extra": {"receiver_keeps_ids_s": 3600}}}

# name of the tier: platform, what its channel says, whether a second commit would do harm; "steps": the write needs some
TIERS = {
    "ping webhook": ("webhook", {}, False),
    "key webhook": ("webhook", KEYED_WEBHOOK, True),
    "key mastodon": ("mastodon", {}, True),
    "read mastodon": ("mastodon", {"mastodon": {"times": {**TIMES, "key_window_ms": 1000}}}, True),
    "held mastodon": ("mastodon", {"mastodon": {"on_absent": "hold", "times": {**TIMES, "key_window_ms": 1000}}}, True),
    "read forem": ("forem", {}, True),
    "upsert bluesky": ("bluesky", {}, True),
    "ping indexnow": ("indexnow", {}, False),
    "key with steps": ("mastodon", {}, True),
    "read with steps": ("mastodon", {"mastodon": {"times": {**TIMES, "key_window_ms": 1000}}}, True),
    "upsert with steps": ("bluesky", {}, True),
}


def has_steps(tier):
    return tier.endswith("with steps")


def settled(fleet, delivery, tier, killed_at):
    """Ends published; where absence is to be held, a delivery that never left is held."""
    row = fleet.wait_state(delivery, "published", "held", "rejected", timeout_s=45)
    may_be_held = tier.startswith("held") and killed_at not in SENT_AT
    assert row["state"] == "published" or (may_be_held and row["reason"] == "absent"), row
    return row


def killed_worker(case):
    tier, point = case
    platform, channel_says, harmful = TIERS[tier]
    delivery = f"{CHANNELS[platform]}/it-1"
    with Fleet([platform], channel=channel_says, descriptors=[stepped(platform)] if has_steps(tier) else []) as fleet:
        fleet.add(CHANNELS[platform], fleet.item("it-1"))
        fleet.start_worker(crash_at=point, name="first").wait_killed()
        if fleet.state(delivery) == "claimed" and (fleet.sim.delivery(delivery) or {}).get("commits"):
            hit[point] += 1
        fleet.start_reconciler(name="reconciler")
        fleet.start_worker(name="second")
        row = settled(fleet, delivery, tier, point)
        report = fleet.check_judge(**({delivery: 1 if row["state"] == "published" else 0} if harmful else {}))
        if row["state"] == "published":
            assert report["deliveries"][delivery]["commits"] >= 1
        if platform in ("mastodon", "forem") and row["state"] == "published":
            assert row["ext_id"] in [str(i) for i in report["deliveries"][delivery]["external_ids"]]
        assert fleet.db.xlen("lf:{0}:journal") == 0
        assert fleet.db.zcard("lf:{0}:agenda") == 0, fleet.db.zrange("lf:{0}:agenda", 0, -1, withscores=True)


def test_a_worker_killed_at_every_point_on_every_tier():
    all_pass(killed_worker, [(tier, point) for tier in TIERS for point in WORKER_POINTS
                             if (point != "after_prepare" or has_steps(tier)) and (point != "after_session" or "bluesky" in TIERS[tier])],
             at_once=16)
    print("killed between commit and settlement:", ", ".join(f"{point} {hit[point]}" for point in BETWEEN_COMMIT_AND_SETTLEMENT))
    assert all(hit[point] > 0 for point in BETWEEN_COMMIT_AND_SETTLEMENT), hit


def killed_reconciler(case):
    tier, point = case
    platform, channel_says, _ = TIERS[tier]
    delivery = f"{CHANNELS[platform]}/it-1"
    with Fleet([platform], channel=channel_says) as fleet:
        fleet.add(CHANNELS[platform], fleet.item("it-1"))
        fleet.start_worker(crash_at="after_answer", name="first").wait_killed()
        reconciler = fleet.start_reconciler(crash_at=point, name="reconciler-1")
        fleet.start_worker(name="second")
        reconciler.wait_killed(timeout_s=40)
        fleet.start_reconciler(name="reconciler-2")
        row = fleet.wait_state(delivery, "published", timeout_s=60)
        fleet.check_judge(**{delivery: 1})
        assert row["source"] in ("read_back", "replay"), row


def test_a_reconciler_killed_at_every_point_on_every_tier():
    tiers = ["key webhook", "key mastodon", "read forem", "upsert bluesky"]
    listed = ("key mastodon", "read forem")  # the others have no pages
    all_pass(killed_reconciler, [(tier, point) for tier in tiers for point in RECONCILER_POINTS if point != "after_page" or tier in listed], at_once=16)


def dead_claim(platform):
    channel = CHANNELS[platform]
    delivery = f"{channel}/it-1"
    with Fleet([platform]) as fleet:
        fleet.add(channel, fleet.item("it-1"))
        fleet.start_worker(crash_at="after_claim", name="first").wait_killed()
        assert fleet.state(delivery) == "claimed"
        started = time.monotonic()
        fleet.start_worker(name="second")
        row = fleet.wait_state(delivery, "uncertain", timeout_s=LEASE_S + 3)
        assert time.monotonic() - started < LEASE_S + 2
        assert row["reason"] == "lease_lost"
        assert row["in_doubt"].startswith("1:")
        assert fleet.db.xlen("lf:{0}:journal") == 1
        fleet.check_judge(**{delivery: 0})


def test_a_claim_without_its_lease_does_not_last():
    """No claim without a lease for longer than the lease time plus one tick."""
    all_pass(dead_claim, ["mastodon", "forem"])
