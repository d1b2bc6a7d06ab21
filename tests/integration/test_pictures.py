# SPDX-License-Identifier: MIT
"""Pictures among an item's attachments: fetched, uploaded with their descriptions, and published with the post, once."""
import hashlib

import pytest

from lib.fleet import CHANNELS, Fleet
from lib.stepped import shipped
from lib.tiers import wait_row
from platform_sim.files import picture

CREDENTIALS = ("tok-masto-7f3a9c", "app-pass-blue-90cd")


class PictureFleet(Fleet):
    """A fleet with a web server that has pictures, on this machine, which items may name."""

    def __init__(self, platforms, allow="127.0.0.0/8", **more):
        super().__init__(platforms, config={"fetch": {"allow": allow}}, **more)

    def __enter__(self):
        super().__enter__()
        self.files = self.add_fake("files", "files", "files/nobody", "unused-token-31d7")
        return self

    def attachment(self, path, title=None, mime_type="image/png"):
        return {"url": f"{self.files}/{path}", "mime_type": mime_type, **({"title": title} if title is not None else {})}

    def published(self, platform):
        """Of the account's only post: (type, description, hash) of each picture; on Bluesky the hash is in the name."""
        post, = self.sim.get("posts", instance=platform)["posts"]
        if platform == "mastodon":
            return [(one["type"], one["description"], one["sha256"]) for one in post["pictures"]]
        embed = post.get("embed", {})
        return [(one["image"]["mimeType"], one["alt"], one["image"]["ref"]["$link"].removeprefix("bafkrei"))
                for one in embed.get("images", [])]


def sha256(name):
    return hashlib.sha256(picture(name)).hexdigest()


@pytest.mark.parametrize("platform", ["mastodon", "bluesky"])
def test_pictures_are_published_with_their_descriptions(platform):
    channel = CHANNELS[platform]
    with PictureFleet([platform]) as fleet:
        attachments = [fleet.attachment("pictures/cat.png", 'A "cat" \u00fcber\r\nall'), fleet.attachment("pages/sound", mime_type="audio/mpeg"),
                       fleet.attachment("pictures/dog.jpg", mime_type="image/jpeg")]
        fleet.add(channel, fleet.item("it-1", attachments=attachments))
        assert fleet.run_worker() == 0, fleet.output()
        fleet.check_judge(**{f"{channel}/it-1": 1})
        assert fleet.published(platform) == [("image/png", 'A "cat" \u00fcber\r\nall', sha256("cat")), ("image/jpeg", "", sha256("dog"))]
        asked = fleet.sim.report()["instances"]["files"]
        assert asked["reads"] == 2 and asked["unrouted"] == 0


@pytest.mark.parametrize("platform", ["gotosocial", "pleroma", "snac"])
def test_pictures_on_software_with_the_same_api(platform):
    channel, token = f"{platform}/brand", "tok-same-api-77e1"
    with PictureFleet([]) as fleet:
        url = fleet.add_fake("mastodon", "mastodon", channel, token, honour_keys=False)
        fleet.add_channel(channel, token, {"instance": url})
        attachments = [fleet.attachment("pictures/cat.png", "A cat"), fleet.attachment("pictures/dog.jpg", mime_type="image/jpeg")]
        fleet.add(channel, fleet.item("it-1", attachments=attachments))
        assert fleet.run_worker() == 0, fleet.output()
        fleet.check_judge(**{f"{channel}/it-1": 1})
        assert fleet.published("mastodon") == [("image/png", "A cat", sha256("cat")), ("image/jpeg", "", sha256("dog"))]


def test_pictures_that_are_still_being_converted_are_waited_for():
    """An upload that is answered 202 is asked for until it is ready: a post that names it before would be refused."""
    channel = CHANNELS["mastodon"]
    with PictureFleet(["mastodon"]) as fleet:
        fleet.sim.post("settings", instance="mastodon", media_polls=2)
        attachments = [fleet.attachment("pictures/cat.png", "A cat"), fleet.attachment("pictures/dog.jpg", mime_type="image/jpeg")]
        fleet.add(channel, fleet.item("it-1", attachments=attachments))
        assert fleet.run_worker() == 0, fleet.output()
        fleet.check_judge(**{f"{channel}/it-1": 1})
        assert [hashed for _, _, hashed in fleet.published("mastodon")] == [sha256("cat"), sha256("dog")]
        assert fleet.row(f"{channel}/it-1")["attempt"] == "1"
        asked = fleet.sim.report()["instances"]["mastodon"]
        assert asked["reads"] == 2 + 2 * 3 and asked["writes"] == 1, "two uploads, each asked for until its third answer"


def impatient_mastodon():
    """The shipped descriptor, asking for uploads quickly and four times more."""
    descriptor = shipped("mastodon")
    descriptor["prepare"][2]["again"].update(after_ms=100, times=4)
    return descriptor


def test_pictures_that_are_never_ready_use_up_the_budget():
    """Bounded: nothing is published without its pictures, and a person is asked in the end."""
    channel = CHANNELS["mastodon"]
    with PictureFleet(["mastodon"], descriptors=[impatient_mastodon()],
                      channel={"mastodon": {"max_attempts": 2}}) as fleet:
        fleet.sim.post("settings", instance="mastodon", media_polls=-1)
        fleet.add(channel, fleet.item("it-1", attachments=[fleet.attachment("pictures/cat.png")]))
        fleet.start_worker()
        wait_row(fleet, f"{channel}/it-1", "held", "spent", timeout_s=20)
        asked = fleet.sim.report()["instances"]["mastodon"]
        assert asked["writes"] == 0 and asked["reads"] == 2 * (1 + 1 + 4), asked


@pytest.mark.parametrize("platform", ["mastodon", "bluesky"])
def test_an_item_without_pictures_needs_no_step(platform):
    channel = CHANNELS[platform]
    with PictureFleet([platform]) as fleet:
        fleet.add(channel, fleet.item("it-1"))
        fleet.start_worker(crash_at="after_claim").wait_killed()
        assert fleet.db.hexists(f"lf:{{0}}:request:{channel}/it-1", "frozen")


@pytest.mark.parametrize("platform, point", [("mastodon", "after_prepare"), ("mastodon", "after_last_byte"), ("bluesky", "after_last_byte")])
def test_a_kill_publishes_no_second_post(platform, point):
    """What was frozen names the uploads: a repeat uploads nothing again."""
    channel = CHANNELS[platform]
    delivery = f"{channel}/it-1"
    with PictureFleet([platform]) as fleet:
        fleet.add(channel, fleet.item("it-1", attachments=[fleet.attachment("pictures/cat.png", "A cat")]))
        fleet.start_worker(crash_at=point).wait_killed()
        frozen = fleet.db.hget(f"lf:{{0}}:request:{delivery}", "frozen")
        assert ("22348641" in frozen or sha256("cat") in frozen) if point != "after_prepare" else frozen is None
        fleet.start_reconciler()
        fleet.start_worker()
        fleet.wait_state(delivery, "published", timeout_s=45)
        fleet.check_judge(**{delivery: 1})
        assert fleet.published(platform) == [("image/png", "A cat", sha256("cat"))]


@pytest.mark.parametrize("url, words", [
    ("http://127.0.0.1:{port}/pictures/cat.png", "127.0.0.1 is at 127.0.0.1, which is no public address"),
    ("http://localhost:{port}/pictures/cat.png", "localhost is at "),
    ("http://[::ffff:7f00:1]:{port}/pictures/cat.png", "127.0.0.1, which is no public address"),
    ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is at 169.254.169.254, which is no public address"),
    ("file:///etc/passwd", "not an http or https address"),
    ("gopher://127.0.0.1:{port}/x", "not an http or https address"),
    ("http://someone@127.0.0.1:{port}/pictures/cat.png", "holds a user name"),
])
def test_a_picture_within_the_own_network_is_refused(url, words):
    """Who may name an address for us to fetch must not see with it what only this machine can reach."""
    channel = CHANNELS["mastodon"]
    with PictureFleet(["mastodon"], allow="") as fleet:
        port = fleet.files.split(":")[2].split("/")[0]
        fleet.add(channel, fleet.item("it-1", attachments=[{"url": url.format(port=port), "mime_type": "image/png"}]))
        assert fleet.run_worker() == 4, fleet.output()
        assert (fleet.row(f"{channel}/it-1")["state"], fleet.row(f"{channel}/it-1")["reason"]) == ("rejected", "refused")
        assert words in fleet.db.hget(f"lf:{{0}}:request:{channel}/it-1", "detail")
        assert f"{channel}/it-1" in fleet.output() and words in fleet.output()
        report = fleet.check_judge(**{f"{channel}/it-1": 0})
        assert "files" not in report["instances"], "it was asked for something"


@pytest.mark.parametrize("path, state, reason", [
    ("pictures/gone.bmp", "rejected", "refused"), ("hidden/cat", "rejected", "refused"), ("pages/cat", "held", "spent")])
def test_a_picture_that_cannot_be_had(path, state, reason):
    """Somebody else's server says no: that is about the item, not about the channel or its credential."""
    channel = CHANNELS["mastodon"]
    with PictureFleet(["mastodon"], channel={"mastodon": {"max_attempts": 2}}) as fleet:
        fleet.add(channel, fleet.item("it-1", attachments=[fleet.attachment(path)]))
        fleet.start_worker()
        wait_row(fleet, f"{channel}/it-1", state, reason, timeout_s=20)
        fleet.add(channel, fleet.item("it-2"))
        fleet.wait_state(f"{channel}/it-2", "published")
        fleet.check_judge(**{f"{channel}/it-1": 0, f"{channel}/it-2": 1})
        assert not any(secret in fleet.output() for secret in CREDENTIALS)
