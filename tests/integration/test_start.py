# SPDX-License-Identifier: MIT
"""What the worker refuses to start with, in words that name the channel."""
import json
import os

from lib.fleet import Fleet
from lib.tree import TOP


def test_steps_before_the_write_are_refused_not_left_out():
    with open(os.path.join(TOP, "platforms", "descriptors", "mastodon.json"), encoding="utf-8") as text:
        descriptor = json.load(text)
    descriptor["platform"] = "picturesite"
    descriptor["prepare"] = [{
        "name": "media", "request": {"method": "POST", "url": ".settings.instance + \"/api/v2/media\""}, "keep": ".answer.body.id"}]
    with Fleet([], descriptors=[descriptor]) as fleet:
        fleet.channels_added["picturesite/me"] = {
            "platform": "picturesite", "settings": {"instance": "https://pictures.example"},
            "credential": {"file": fleet.write_secret("picturesite", "token-of-pictures")}}
        fleet.write_config()
        worker = fleet.start_worker(name="worker")
        assert worker.wait() == 1
        assert "picturesite/me" in worker.stderr() and "prepare" in worker.stderr()
