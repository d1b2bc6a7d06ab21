# SPDX-License-Identifier: MIT
"""A fleet with a channel of every tier, and what must be true of a delivery in each state.

    with TierFleet() as fleet:
        fleet.start_worker()
        fleet.add(BLIND, fleet.item("it-1"))
        check_row(fleet, BLIND + "/it-1", "published", "confirmed")

Nothing is tried again within a test: the first pause is a minute long, so that rows can be looked at where they stand.
"""
import re

from lib.fleet import Fleet, SECRETS, TIMES, WRITE_LIMIT_MS
from lib.procs import wait_for

NOTICES_TOKEN = "tok-notices-51c0"
PING, KEPT, INDEXNOW = "webhook/brand", "webhook/keeper", "indexnow/brand"
MASTODON, FOREM, BLUESKY = "mastodon/brand", "forem/brand", "bluesky/brand"
BLIND, RETRACT, POKE = "notices/brand", "retract/brand", "poke/brand"
TIERS = (PING, INDEXNOW, KEPT, MASTODON, FOREM, BLUESKY, BLIND)
BODILESS = (RETRACT, POKE)
FAKE_OF = {KEPT: "keeper"}
QUICK = {"pace": {"spacing_ms": 0}}


def blind(platform, method, path, body=None):
    """A descriptor for a service that can only be written to."""
    request = {"method": method, "url": f".settings.instance + {path}", **({"body": {"json": body}} if body else {})}
    return {
        "platform": platform, "title": platform, "docs": ["https://notices.example/api"],
        "settings": {"instance": {"type": "origin", "required": True, "help": "The service."}}, "instance": "instance",
        "auth": {"kind": "bearer"}, "item": {"needs": [["content_text"]]}, "tier": "blind", "repeats": "harmful",
        "write": {"request": request, "limit_ms": 1500},
        "accept": [{"status": [200], "outcome": "committed", "id": ".answer.body.id? // null"}],
        "limits": [{"status": [429], "header": "retry-after", "form": "seconds_or_date"}],
    }


NOTICES = blind("notices", "POST", '"/notices"', "{id: .item.id, text: .item.content_text}")
WITHOUT_BODY = [blind(name, method, '"/notices/" + (.item.id | @uri)')
                for name, method in (("retract", "DELETE"), ("poke", "POST"))]


def harmless(channel):
    return channel.startswith(("webhook/", "indexnow/")) and channel != KEPT


def gives_id(channel):
    return not channel.startswith(("webhook/", "indexnow/"))


def fake_of(channel):
    """Name of the fake that a channel publishes to."""
    return FAKE_OF.get(channel, channel.split("/")[0])


class TierFleet(Fleet):
    """One channel of each tier; `without_body` adds two whose writes have none."""

    def __init__(self, without_body=False, backoff_ms=60_000, **more):
        self.without_body = without_body
        config = {"delivery": {"backoff_base_ms": backoff_ms, "backoff_cap_ms": backoff_ms}, **more.pop("config", {})}
        platforms = ("webhook", "indexnow", "mastodon", "forem", "bluesky")
        super().__init__(platforms, channel=dict.fromkeys(platforms, QUICK), config=config,
                         descriptors=[NOTICES, *WITHOUT_BODY], **more)

    def __enter__(self):
        super().__enter__()
        keeper = self.add_fake("keeper", "webhook", KEPT, SECRETS["webhook"], at_most_once=True)
        self.add_channel(KEPT, SECRETS["webhook"], {"url": keeper, "receiver_keeps_ids_s": 300})
        for channel in (BLIND, *(BODILESS if self.without_body else ())):
            url = self.add_fake(fake_of(channel), "notices", channel, NOTICES_TOKEN)
            self.add_channel(channel, NOTICES_TOKEN, {"instance": url})
        return self

    def deliver(self, channels, item_id, **members):
        """The same item on several channels; gives the deliveries by channel."""
        for channel in channels:
            self.add(channel, self.item(item_id, **members))
        return {channel: f"{channel}/{item_id}" for channel in channels}


def wait_row(fleet, delivery, state, reason, timeout_s):
    def there():
        row = fleet.row(delivery)
        return (row.get("state"), row.get("reason")) == (state, reason) and row
    return wait_for(there, timeout_s, lambda: f"{delivery} {state} {reason}; it is {fleet.row(delivery)}\n"
                                              f"{fleet.output()}")


def journal_of(fleet, delivery):
    return [(entry, fields) for entry, fields in fleet.db.xrange("lf:{0}:journal") if fields["delivery"] == delivery]


def outcomes_of(fleet, delivery):
    return [fields for _, fields in fleet.db.xrange("lf:{0}:outcomes") if fields["delivery"] == delivery]


def places_of(fleet, delivery):
    """Where a delivery stands, so that it is not forgotten: a set of words."""
    channel = delivery.rsplit("/", 1)[0]
    key = "lf:{0}:"
    return {place for place, member_key, member in (
        ("agenda", key + "agenda", "delivery:" + delivery), ("waiting", key + "waiting:" + channel, delivery),
        ("uncertain", key + "uncertain:" + channel, delivery))
        if fleet.db.zscore(member_key, member) is not None}


def check_row(fleet, delivery, state, reason, tries=1, attempt=1, timeout_s=15):
    """Waits for the state and checks everything that the contract says goes with it; gives the row."""
    row = wait_row(fleet, delivery, state, reason, timeout_s)
    channel = delivery.rsplit("/", 1)[0]
    assert row.get("attempt", "0") == str(attempt), row
    assert fleet.db.get(f"lf:{{0}}:lease:{delivery}") is None, "a lease without a claim"
    {"published": _published, "rejected": _rejected, "uncertain": _uncertain, "approved": _approved}[state](
        fleet, channel, delivery, row)
    if state != "published":
        assert row.get("tries", "0") == str(tries), row
    return row


def _published(fleet, channel, delivery, row):
    assert row["source"] in ("response", "replay") and "in_doubt" not in row and "journal" not in row, row
    assert places_of(fleet, delivery) == set() and journal_of(fleet, delivery) == []
    request = fleet.db.hgetall(f"lf:{{0}}:request:{delivery}")
    assert not {"content", "frozen", "prepared"} & set(request), sorted(request)
    ext_id = row.get("ext_id") or request.get("ext_id")
    made = [str(made_id) for made_id in fleet.sim.delivery(delivery)["external_ids"] if made_id is not None]
    if gives_id(channel):
        assert [ext_id] == made, (row, made)
        assert fleet.db.hget(f"lf:{{0}}:posts:{channel}", ext_id) == delivery
    assert [o["state"] for o in outcomes_of(fleet, delivery)] == ["published"]


def _rejected(fleet, channel, delivery, row):
    assert "in_doubt" not in row and "journal" not in row, row
    assert places_of(fleet, delivery) == set() and journal_of(fleet, delivery) == []
    assert [o["state"] for o in outcomes_of(fleet, delivery)] == ["rejected"]


def _uncertain(fleet, channel, delivery, row):
    doubt = "" if harmless(channel) else f"{row['attempt']}:{row['token'][:8]}"
    assert row.get("in_doubt", "") == doubt, row
    entries = journal_of(fleet, delivery)
    assert [entry for entry, _ in entries] == [row["journal"]], (row, entries)
    assert {name: entries[0][1][name] for name in ("attempt", "reason", "since")} == {
        "attempt": row["attempt"], "reason": row["reason"], "since": row["since"]}
    assert places_of(fleet, delivery) == {"uncertain"}
    assert fleet.db.zscore("lf:{0}:agenda", "walk:" + channel) is not None, "nobody will look"
    assert int(row["commit_by"]) <= int(row["since"]) + TIMES["late_commit_ms"], row
    assert int(row["since"]) - int(row["claimed_at"]) < WRITE_LIMIT_MS + 3000, row
    assert outcomes_of(fleet, delivery) == []


def _approved(fleet, channel, delivery, row):
    waits = row["reason"] in ("blocked", "credential", "paused", "paced", "channel_full")
    assert places_of(fleet, delivery) == {"waiting" if waits else "agenda"}
    assert "in_doubt" not in row and "journal" not in row and journal_of(fleet, delivery) == [], row
    assert "attempt" not in row or re.fullmatch("[0-9a-f]{32}", row["body_hash"]), row
    assert outcomes_of(fleet, delivery) == []
