# SPDX-License-Identifier: MIT
"""How it ends: deliveries whose write met a fault, with workers and a reconciler, up to the state where they stay.

On channels whose repeats harm there is one commit, whatever happened. Where nothing can be read, a person is asked.
"""
import pytest

from lib.fleet import Fleet, SECRETS
from lib.tiers import (BLIND, BLUESKY, BODILESS, FOREM, KEPT, MASTODON, QUICK, TIERS, TierFleet, harmless, journal_of,
                       places_of)

ALL = (*TIERS, *BODILESS)
HTML = "<html><body><h1>503</h1></body></html>"

# item -> what its first write meets; whether that committed
MEETS = {
    "closed": ("commit_then_close", {}, 1),
    "reset": ("commit_then_close", {"how": "rst"}, 1),
    "proxy": ("commit_then_status", {"status": 504, "body": HTML}, 1),
    "cut": ("truncated_answer", {}, 1),
    "late": ("commit_late", {"after_ms": 50}, 1),
    "empty": ("commit_then_status", {"status": 200, "body": ""}, 1),
    "never": ("accept_and_never_answer", {}, 0),
    "refused": ("close_before_commit", {}, 0),
    "broken": ("status", {"status": 500, "body": {"error": "boom"}}, 0),
    "said-ok": ("status", {"status": 200, "body": {"errors": ["title is too long"]}}, 0),
    "odd-400": ("status", {"status": 400, "body": ""}, 0),
}


@pytest.fixture(scope="module")
def ended():
    """All of it at once, until nothing moves any more."""
    with TierFleet(without_body=True, backoff_ms=200) as fleet:
        for channel in ALL:
            for item, (do, params, _) in MEETS.items():
                fleet.sim.fault(do, on={"delivery": f"{channel}/{item}"}, **params)
                fleet.add(channel, fleet.item(item))
        fleet.start_worker()
        fleet.start_reconciler()
        for channel in ALL:
            for item in MEETS:
                fleet.wait_state(f"{channel}/{item}", "published", "held", "rejected", timeout_s=60)
        yield fleet


def test_one_commit_and_no_more(ended):
    report = ended.check_judge()
    for channel in (MASTODON, FOREM, BLUESKY):
        for item in MEETS:
            assert report["deliveries"][f"{channel}/{item}"]["commits"] == 1, (channel, item, report["deliveries"])


@pytest.mark.parametrize("item", MEETS)
def test_what_can_be_read_or_repeated_is_published(ended, item):
    for channel in (MASTODON, FOREM, BLUESKY):
        delivery = f"{channel}/{item}"
        row, seen = ended.row(delivery), ended.sim.delivery(delivery)
        assert (row["state"], row["reason"]) == ("published", "confirmed"), row
        ext_id = row.get("ext_id") or ended.db.hget(f"lf:{{0}}:request:{delivery}", "ext_id")
        assert [str(made) for made in seen["external_ids"]] == [ext_id], row
        assert len({(write["key"], write["body_sha256"]) for write in seen["requests"]}) == 1, seen
        assert row["source"] in ("read_back", "replay") if MEETS[item][2] else seen["writes"] == 2, (row, seen)
        assert "in_doubt" not in row and journal_of(ended, delivery) == [] and places_of(ended, delivery) == set()


@pytest.mark.parametrize("item", MEETS)
def test_what_can_only_be_written_is_sent_once_and_then_a_persons(ended, item):
    for channel in (BLIND, *BODILESS):
        delivery = f"{channel}/{item}"
        row, seen = ended.row(delivery), ended.sim.delivery(delivery)
        assert (row["state"], row["reason"]) == ("held", "no_evidence"), row
        assert row["in_doubt"] == f"1:{row['token'][:8]}", row
        assert (seen["writes"], seen["commits"]) == (1, MEETS[item][2]), seen
        assert journal_of(ended, delivery) == [] and places_of(ended, delivery) == set()


@pytest.mark.parametrize("item", MEETS)
def test_pings_and_keepers_of_ids_get_it_again(ended, item):
    for channel in (channel for channel in TIERS if harmless(channel) or channel == KEPT):
        delivery = f"{channel}/{item}"
        row, seen = ended.row(delivery), ended.sim.delivery(delivery)
        if channel.startswith("indexnow/") and item == "odd-400":
            assert row["state"] == "rejected"  # it says so of addresses that it will never take
            continue
        assert row["state"] == "published" and seen["writes"] <= 2, (row, seen)
        assert seen["commits"] == 1 or harmless(channel) or item == "said-ok", seen
        assert len({(write["key"], write["body_sha256"]) for write in seen["requests"]}) == 1, seen


# ---- five accounts of one platform

def test_one_account_that_fails_costs_the_others_nothing():
    """The third fails twice, and the worker dies with an answer in its hand: each account gets the item once."""
    names = [f"mastodon/account-{number}" for number in range(1, 6)]
    with Fleet([]) as fleet:
        for number, channel in enumerate(names):
            token = f"{SECRETS['mastodon']}-{number}"
            if number == 0:
                fleet.add_fake("mastodon", "mastodon", channel, token)
            else:
                fleet.sim.post("accounts", instance="mastodon", channel=channel, token=token, username=f"lf{number}")
            fleet.add_channel(channel, token, {"instance": fleet.sim.urls["mastodon"]}, **QUICK)
            fleet.add(channel, fleet.item("news"))
        fleet.sim.fault("status", "mastodon", on={"delivery": names[2] + "/news"}, times=2, status=500)
        fleet.start_worker(crash_at="after_answer:2").wait_killed()
        fleet.start_worker(name="second")
        fleet.start_reconciler()
        for channel in names:
            fleet.wait_state(channel + "/news", "published")
        report = fleet.check_judge(**{channel + "/news": 1 for channel in names})
        writes = {channel: report["deliveries"][channel + "/news"]["requests"] for channel in names}
        assert len(writes[names[2]]) == 3, "two failures, then it is there"
        keys = {channel: {write["key"] for write in requests} for channel, requests in writes.items()}
        assert all(len(of_one) == 1 for of_one in keys.values())
        assert len(set().union(*keys.values())) == 5, "every account has a key of its own"


# ---- items that do not fit are rejected before anything is asked

FAMILY = "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466"  # one grapheme, 7 code points, 25 bytes
E_ACUTE = "e\u0301"                                                  # one grapheme, 2 code points, 3 bytes
LINK = "https://blog.example/p/link-counts-23?".ljust(90, "x")        # 90 characters; they count as 23


@pytest.fixture(scope="module")
def strict():
    with Fleet(["mastodon", "bluesky", "forem", "indexnow"],
               channel={"mastodon": {"settings": {}, **QUICK}, "bluesky": QUICK}) as fleet:
        fleet.channel_extra["mastodon"]["settings"] = {**fleet.settings("mastodon"), "max_characters": 300}
        fleet.write_config()
        fleet.sim.post("expect", instance="mastodon", needle=FAMILY * 299, delivery="families")
        fleet.start_worker()
        yield fleet
        fleet.check_judge()


FITS = {
    "families": (MASTODON, {"content_text": FAMILY * 300}),
    "link-counts-23": (MASTODON, {"content_text": FAMILY * 276 + " " + LINK, "url": LINK}),
    "accents": (BLUESKY, {"content_text": E_ACUTE * 300}),
    "bytes": (BLUESKY, {"content_text": FAMILY * 120}),
}


@pytest.mark.parametrize("item", FITS)
def test_what_fits_by_the_platforms_count_is_published(strict, item):
    channel, members = FITS[item]
    strict.add(channel, strict.item(item, **members))
    strict.wait_state(f"{channel}/{item}", "published")
    assert strict.sim.delivery(f"{channel}/{item}")["commits"] == 1


UNFIT = {
    "a grapheme more": (MASTODON, {"content_text": FAMILY * 301}, ["text", "301 graphemes", "300"]),
    "with a link": (MASTODON, {"content_text": FAMILY * 277 + " " + LINK}, ["text", "301 graphemes", "300"]),
    "accents": (BLUESKY, {"content_text": E_ACUTE * 301}, ["text", "301 graphemes", "300"]),
    "bytes": (BLUESKY, {"content_text": FAMILY * 121}, ["text", "3025 bytes", "3000"]),
    "no text": (BLUESKY, {"content_text": None, "title": None}, ["content_text", "title"]),
    "no title": (FOREM, {"title": None}, ["title"]),
    "no address": (FOREM, {"url": None}, ["url"]),
    "no address to ping": ("indexnow/brand", {"url": None}, ["url"]),
}


@pytest.mark.parametrize("what", UNFIT)
def test_what_does_not_fit_is_rejected_without_a_request(strict, what):
    channel, members, words = UNFIT[what]
    item = strict.item("unfit-" + what.replace(" ", "-"), **members)
    before = strict.sim.report()["instances"].get(channel.split("/")[0], {}).get("requests", 0)
    delivery = f"{channel}/{item['id']}"
    strict.add(channel, {name: value for name, value in item.items() if value is not None})
    row = strict.wait_state(delivery, "rejected", "published", "held")
    assert (row["state"], row["reason"]) == ("rejected", "refused") and "in_doubt" not in row, row
    detail = strict.db.hget(f"lf:{{0}}:request:{delivery}", "detail")
    assert all(word in detail for word in words), detail
    assert places_of(strict, delivery) == set() and journal_of(strict, delivery) == []
    assert strict.sim.report()["instances"].get(channel.split("/")[0], {}).get("requests", 0) == before
