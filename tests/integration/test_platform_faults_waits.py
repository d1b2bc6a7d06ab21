# SPDX-License-Identifier: MIT
"""What a platform asks a channel to wait for: rate limits in each form, refused credentials, sessions that end.

A wait belongs to the channel and to the whole fleet. It uses up no attempt, holds no lease, and hinders nobody else.
"""
import base64
import time

import pytest

from lib.fleet import Fleet
from lib.procs import wait_for
from lib.tiers import NOTICES, NOTICES_TOKEN, check_row, outcomes_of, places_of

WAIT_S = 3
BACKOFF_MS = 1000  # pauses of a delivery that was told nothing: between half of this and this, doubled
HOUR_MS = 3_600_000
CLOCK_MS = 1300    # HTTP dates have whole seconds, and two answers are not one moment
QUICK = {"pace": {"spacing_ms": 0, "burst": 1000}}

# account -> (platform, fault's form or the headers of a plain 429, how long it is to wait in ms; None: told nothing)
TOLD, NOTHING = WAIT_S * 1000, None
FORMS = {
    "m-native": ("mastodon", "native", TOLD),
    "m-offset": ("mastodon", "reset_iso_offset", TOLD),
    "m-epoch": ("mastodon", "reset_epoch", TOLD),
    "m-epoch-ms": ("mastodon", "reset_epoch_ms", TOLD),
    "m-epoch-fraction": ("mastodon", "reset_epoch_fraction", TOLD),
    "m-delta": ("mastodon", "reset_delta", TOLD),
    "m-none": ("mastodon", "none", NOTHING),
    "m-past": ("mastodon", {"X-RateLimit-Reset": "{epoch:-30}"}, NOTHING),
    "m-foreign": ("mastodon", "retry_after_seconds", NOTHING),
    "b-native": ("bluesky", "native", TOLD),
    "b-reset": ("bluesky", "ratelimit_reset_epoch", TOLD),
    "b-date": ("bluesky", "retry_after_http_date", TOLD),
    "f-native": ("forem", "native", TOLD),
    "f-plain": ("forem", "native_plain", TOLD),
    "i-seconds": ("indexnow", "retry_after_seconds", TOLD),
    "i-native": ("indexnow", "native", NOTHING),
    "n-native": ("notices", "native", TOLD),
    "w-seconds": ("webhook", "retry_after_seconds", TOLD),
    "w-date": ("webhook", "retry_after_http_date", TOLD),
    "w-rfc850": ("webhook", "retry_after_rfc850", TOLD),
    "w-word": ("webhook", "retry_after_word", NOTHING),
    "w-past": ("webhook", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, NOTHING),
    "w-long-past": ("webhook", {"Retry-After": "Sunday, 06-Nov-94 08:49:37 GMT"}, NOTHING),
    "w-negative": ("webhook", {"Retry-After": "-5"}, NOTHING),
    "w-zero": ("webhook", {"Retry-After": "0"}, NOTHING),
    "w-two-hours": ("webhook", {"Retry-After": "7200"}, HOUR_MS),
    "w-healthy": ("webhook", None, None),
}


def token_of(platform, account):
    if platform == "webhook":
        return "whsec_" + base64.b64encode(account.ljust(32, "=").encode()).decode()
    return f"token-of-{account}"


def add_account(fleet, platform, account, **members):
    """One more account on the platform's fake, and its channel; gives the channel's name."""
    channel, token = f"{platform}/{account}", token_of(platform, account)
    if platform not in fleet.sim.urls:
        fleet.add_fake(platform, platform, channel, token, username=account)
    else:
        fleet.sim.post("accounts", instance=platform, channel=channel, token=token, username=account)
    url = fleet.sim.urls[platform]
    settings = {"url": url} if platform == "webhook" else {"instance": url}
    if platform == "bluesky":
        settings["identifier"] = f"{account}.example"
    fleet.add_channel(channel, token, settings, **{**QUICK, **members})
    return channel


@pytest.fixture
def fleet():
    backoff = {"delivery": {"backoff_base_ms": BACKOFF_MS, "backoff_cap_ms": BACKOFF_MS}}
    with Fleet([], config=backoff, descriptors=[NOTICES]) as fleet:
        yield fleet
        fleet.check_judge()


def channel_hash(fleet, channel):
    return fleet.db.hgetall("lf:{0}:channel:" + channel)


def writes_of(fleet, delivery):
    return (fleet.sim.delivery(delivery) or {"requests": []})["requests"]


def test_each_form_of_a_wait(fleet):
    channels = {account: add_account(fleet, platform, account) for account, (platform, _, _) in FORMS.items()}
    for account, (platform, form, _) in FORMS.items():
        if isinstance(form, str):
            fleet.sim.fault("rate_limited", platform, on={"delivery": channels[account] + "/first"}, form=form,
                            wait_s=WAIT_S)
        elif form:
            fleet.sim.fault("status", platform, on={"delivery": channels[account] + "/first"}, status=429, headers=form)
        fleet.add(channels[account], fleet.item("first", url=f"https://blog.example/{account}/p/first"))
    fleet.start_worker(env={"TZ": "America/Los_Angeles"})
    told = {account: wait_ms for account, (_, _, wait_ms) in FORMS.items() if wait_ms}
    for account in told:
        check_blocked(fleet, channels[account], told[account])
    fleet.add(channels["w-healthy"], fleet.item("second"))
    check_row(fleet, channels["w-healthy"] + "/second", "published", "confirmed", timeout_s=1)
    for account, (_, _, wait_ms) in FORMS.items():
        if wait_ms != HOUR_MS:
            check_published_after(fleet, channels[account], wait_ms, refused=FORMS[account][1] is not None)
    assert len(writes_of(fleet, channels["w-two-hours"] + "/first")) == 1


def check_blocked(fleet, channel, wait_ms):
    row = check_row(fleet, channel + "/first", "approved", "blocked", tries=0)
    blocked = channel_hash(fleet, channel)
    asked_ms = int(blocked["blocked_until"]) - int(row["since"])
    assert wait_ms - CLOCK_MS <= asked_ms <= wait_ms + CLOCK_MS, (channel, asked_ms)
    assert blocked["blocked_why"] == "rate limit" and blocked["ramp"] == "1", blocked
    assert fleet.db.zscore("lf:{0}:agenda", "channel:" + channel) >= int(blocked["blocked_until"])


def check_published_after(fleet, channel, wait_ms, refused):
    delivery = channel + "/first"
    check_row(fleet, delivery, "published", "confirmed", attempt=2 if refused else 1)
    writes = writes_of(fleet, delivery)
    assert [write["attempt"] for write in writes] == (["1", "2"] if refused else ["1"]), (delivery, writes)
    assert len({(write["key"], write["body_sha256"]) for write in writes}) == 1, "the same bytes under the same key"
    if refused:
        paused_ms = writes[1]["at_ms"] - writes[0]["at_ms"]
        least_ms = wait_ms - CLOCK_MS if wait_ms else BACKOFF_MS / 2
        assert least_ms <= paused_ms < (wait_ms or BACKOFF_MS) + 2500, (delivery, paused_ms)


def test_a_long_wait_parks_one_channel(fleet):
    """One slot: what waits for an hour must not hold it."""
    fleet.config_extra["worker"] = {"slots": 1}
    parked, *others = [add_account(fleet, platform, "a") for platform in ("mastodon", "webhook", "notices")]
    fleet.sim.fault("status", "mastodon", status=429, headers={"X-RateLimit-Reset": "3600"}, times=-1)
    for number in range(5):
        fleet.add(parked, fleet.item(f"parked-{number}"))
    worker = fleet.start_worker()
    check_row(fleet, parked + "/parked-0", "approved", "blocked", tries=0)
    for channel in others:
        fleet.add(channel, fleet.item("goes-on"))
        check_row(fleet, channel + "/goes-on", "published", "confirmed", timeout_s=1)
    for number in range(1, 5):
        check_row(fleet, f"{parked}/parked-{number}", "approved", "blocked", tries=0, attempt=0)
    due_ms = fleet.db.zscore("lf:{0}:agenda", "channel:" + parked)
    assert 3_590_000 < due_ms - time.time() * 1000 < 3_601_000
    assert worker.stop() == 0
    fleet.run_worker()  # another one knows it, too
    assert fleet.sim.report()["instances"]["mastodon"]["writes"] == 1

    # The hour is over: one goes first, and finds out that it is not over for good.
    fleet.db.hset("lf:{0}:channel:" + parked, "blocked_until", int(time.time() * 1000) - 1000)
    fleet.db.zadd("lf:{0}:agenda", {"channel:" + parked: 1}, xx=True)
    fleet.run_worker()
    assert fleet.sim.report()["instances"]["mastodon"]["writes"] == 2
    assert int(channel_hash(fleet, parked)["blocked_until"]) - time.time() * 1000 > 3_590_000
    assert {fleet.row(f"{parked}/parked-{number}").get("tries", "0") for number in range(5)} == {"0"}


def test_full_speed_into_the_limit(fleet):
    """The gate is the account's, whoever sends: where nothing is left nobody tries before the time has come. What was
    under way when the last one was let through is refused."""
    channel = add_account(fleet, "mastodon", "a", max_attempts=2)
    fleet.sim.post("settings", instance="mastodon", limit_posts=20, limit_window_ms=2000)
    items = [f"it-{number}" for number in range(55)]
    for item in items:
        fleet.add(channel, fleet.item(item))
    workers = [fleet.start_worker(name=f"worker-{number}") for number in range(2)]
    for item in items:
        fleet.wait_state(f"{channel}/{item}", "published")
    report = fleet.check_judge(**{f"{channel}/{item}": 1 for item in items})
    refused = sum(len(seen["requests"]) - 1 for seen in report["deliveries"].values())
    slots_of_a_channel = 64 // 4
    assert refused <= 2 * 2 * slots_of_a_channel, refused  # two windows end full
    assert "ramp" not in channel_hash(fleet, channel) or int(channel_hash(fleet, channel)["ramp"]) > 1
    assert [worker.stop() for worker in workers] == [0, 0]


def test_the_last_one_of_a_window_blocks_the_fleet(fleet):
    """Its answer says that nothing is left: the next is not sent to be refused, by nobody."""
    fleet.config_extra["worker"] = {"slots": 1}
    channel = add_account(fleet, "mastodon", "a")
    fleet.sim.post("settings", instance="mastodon", limit_posts=3, limit_window_ms=3000)
    items = [f"it-{number}" for number in range(7)]
    for item in items:
        fleet.add(channel, fleet.item(item))
    worker = fleet.start_worker(name="first")
    wait_for(lambda: channel_hash(fleet, channel).get("blocked_until"), 10, "a block")
    blocked = channel_hash(fleet, channel)
    assert blocked["blocked_why"] == "rate limit" and fleet.sim.report()["instances"]["mastodon"]["writes"] == 3
    assert worker.stop() == 0
    fleet.start_worker(name="second")
    for item in items:
        fleet.wait_state(f"{channel}/{item}", "published")
        assert [write["answered"] for write in writes_of(fleet, f"{channel}/{item}")] == [200], "nobody was refused"
    fourth = sorted(writes_of(fleet, f"{channel}/{item}")[0]["at_ms"] for item in items)[3]
    assert fourth >= int(blocked["blocked_until"]) - CLOCK_MS


# ---- credentials

REFUSALS = {
    "mastodon": (401, {"error": "The access token is invalid"}),
    "forem": (401, {"error": "unauthorized", "status": 401}),
    "webhook": (401, "No matching signature found"), "notices": (403, {"error": "not yours"}),
    "bluesky": (401, {"error": "AuthenticationRequired", "message": "who?"}),
}


def test_a_refused_credential_pauses_its_channel(fleet):
    channels = {platform: add_account(fleet, platform, "a") for platform in REFUSALS}
    healthy = add_account(fleet, "indexnow", "a")
    for platform, (status, body) in REFUSALS.items():
        on = {"kind": "login" if platform == "bluesky" else "write"}
        fleet.sim.fault("status", platform, on=on, status=status, body=body, times=-1)
    items = [f"it-{number}" for number in range(4)]
    for channel in channels.values():
        for item in items:
            fleet.add(channel, fleet.item(item))
    worker = fleet.start_worker()
    for channel in channels.values():
        for item in items:
            wait_for(lambda d=f"{channel}/{item}": places_of(fleet, d) == {"waiting"}, 10, f"{channel}/{item}")
            row = fleet.row(f"{channel}/{item}")
            assert row["state"] == "approved" and row["reason"] in ("credential", "paused", "blocked"), row
            assert row.get("tries", "0") == "0" and "in_doubt" not in row, row
        assert channel_hash(fleet, channel)["paused"] == "credential"
        assert fleet.db.zscore("lf:{0}:agenda", "channel:" + channel) is None, "a paused channel is not looked at"
        lines = [line for line in worker.stderr().splitlines() if "channel.paused" in line and channel in line]
        assert len(lines) == 1, lines
    fleet.sim.clear_faults()
    before = fleet.sim.report()["totals"]["writes"]
    for channel in (*channels.values(), healthy):
        fleet.add(channel, fleet.item("later"))
    check_row(fleet, healthy + "/later", "published", "confirmed", timeout_s=1)
    for channel in channels.values():
        check_row(fleet, channel + "/later", "approved", "paused", tries=0, attempt=0)
        assert outcomes_of(fleet, channel + "/later") == []
    assert fleet.sim.report()["totals"]["writes"] == before + 1


def test_a_ping_service_that_does_not_know_the_key_yet(fleet):
    """403 of IndexNow: the key file is often only not deployed yet. It waits, the channel stays open."""
    channel = add_account(fleet, "indexnow", "a")
    fleet.sim.fault("status", "indexnow", status=403, headers={"Retry-After": "2"})
    fleet.add(channel, fleet.item("it"))
    fleet.start_worker()
    check_row(fleet, channel + "/it", "approved", "credential", tries=0)
    assert "paused" not in channel_hash(fleet, channel)
    check_row(fleet, channel + "/it", "published", "confirmed", attempt=2)


def test_one_of_five_endpoints_that_refuses_for_a_while_hinders_no_other(fleet):
    """200, 202, 200, 403 three times, 429: five deliveries. The 403 has its own reason, pauses that grow no shorter, and is no
    end: the key's file may only not be deployed yet."""
    plain = [add_account(fleet, "webhook", name) for name in ("one", "two", "three")]
    strict, busy = add_account(fleet, "indexnow", "strict"), add_account(fleet, "webhook", "busy")
    fleet.sim.fault("commit_then_status", "webhook", on={"delivery": "webhook/two/it"}, status=202, body="")
    fleet.sim.fault("rate_limited", "webhook", on={"delivery": "webhook/busy/it"}, form="retry_after_seconds", wait_s=2)
    fleet.sim.fault("status", "indexnow", status=403, times=3)
    for channel in (*plain, strict, busy):
        fleet.add(channel, fleet.item("it"))
    fleet.start_worker()
    for channel in plain:
        check_row(fleet, channel + "/it", "published", "confirmed")
        assert len(writes_of(fleet, channel + "/it")) == 1
    check_row(fleet, strict + "/it", "approved", "credential", tries=0, attempt=int(fleet.row(strict + "/it")["attempt"]))
    assert "paused" not in channel_hash(fleet, strict)
    fleet.wait_state(busy + "/it", "published")
    fleet.wait_state(strict + "/it", "published")
    moments = [write["at_ms"] for write in writes_of(fleet, strict + "/it")]
    assert len(moments) == 4 and len(writes_of(fleet, busy + "/it")) == 2
    assert all(later - sooner >= BACKOFF_MS / 2 for sooner, later in zip(moments, moments[1:])), moments


# ---- sessions

def test_a_session_that_ends_is_renewed_once(fleet):
    """Refused for the session alone: the same bytes go out under a new one, in the same attempt."""
    channel = add_account(fleet, "bluesky", "a")
    fleet.start_worker()
    fleet.add(channel, fleet.item("first"))
    check_row(fleet, channel + "/first", "published", "confirmed")
    fleet.sim.post("posts", instance="bluesky", op="expire_access")
    fleet.add(channel, fleet.item("second"))
    check_row(fleet, channel + "/second", "published", "confirmed")
    writes = writes_of(fleet, channel + "/second")
    assert [(write["attempt"], write["answered"]) for write in writes] == [("1", 400), ("1", 200)], writes
    assert writes[0]["body_sha256"] == writes[1]["body_sha256"]
    assert fleet.sim.report()["instances"]["bluesky"]["logins"] == 2


def test_a_session_that_never_holds_pauses_the_channel(fleet):
    channel = add_account(fleet, "bluesky", "a")
    fleet.sim.post("settings", instance="bluesky", access_ms=0)
    fleet.add(channel, fleet.item("it"))
    fleet.start_worker()
    check_row(fleet, channel + "/it", "approved", "credential", tries=0)
    assert len(writes_of(fleet, channel + "/it")) == 2 and fleet.sim.report()["instances"]["bluesky"]["logins"] == 2


@pytest.mark.parametrize("do, params", [
    ("rate_limited", {"form": "native", "wait_s": 2}), ("close_before_commit", {})])
def test_a_failed_login_holds_no_slot(fleet, do, params):
    """Logins are few and are not repeated at once. Meanwhile deliveries wait off the slots, and no attempt is used up."""
    fleet.config_extra["worker"] = {"slots": 1}
    channel, other = add_account(fleet, "bluesky", "a"), add_account(fleet, "notices", "a")
    fleet.sim.fault(do, "bluesky", on={"kind": "login"}, times=-1, **params)
    for item in ("one", "two", "three"):
        fleet.add(channel, fleet.item(item))
    fleet.start_worker()
    blocked = wait_for(lambda: channel_hash(fleet, channel).get("blocked_until"), 10, "a block")
    for number in range(3):
        fleet.add(other, fleet.item(f"it-{number}"))
        check_row(fleet, f"{other}/it-{number}", "published", "confirmed", timeout_s=1)
    for item in ("one", "two", "three"):
        row = fleet.row(f"{channel}/{item}")
        assert row["state"] == "approved" and row.get("tries", "0") == "0", row
        place = "agenda" if row["reason"] == "not_sent" else "waiting"
        assert places_of(fleet, f"{channel}/{item}") == {place}, row
    assert int(blocked) - int(fleet.row(channel + "/one")["since"]) > 2000
    assert fleet.sim.report()["instances"]["bluesky"] == {
        **fleet.sim.report()["instances"]["bluesky"], "logins": 1, "writes": 0}
