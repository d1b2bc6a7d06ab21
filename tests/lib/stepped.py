# SPDX-License-Identifier: MIT
"""Shipped platforms, changed so that each write needs steps before it: what they give goes out with the post.

    Fleet(["mastodon"], descriptors=[stepped("mastodon")])
"""
import json
import os

from lib.tree import TOP

# platform: address of a harmless request, what is kept of its answer, where that goes in the write
STEPS = {
    "mastodon": ('.settings.instance + "/api/v1/accounts/verify_credentials"', ".answer.body.id? // null",
                 "{status: .text,", "{spoiler_text: .prepared.step1, status: .text,"),
    "bluesky": ('.settings.instance + "/xrpc/com.atproto.server.getSession"', ".answer.body.did? // null",
                "text: .text,", "text: .text, via: .prepared.step1,"),
}


def shipped(platform):
    with open(os.path.join(TOP, "platforms", "descriptors", platform + ".json"), encoding="utf-8") as text:
        return json.load(text)


def stepped(platform, steps=1, url=None, keep=None):
    """url and keep replace those of the last step."""
    own_url, own_keep, place, with_result = STEPS[platform]
    descriptor = shipped(platform)
    descriptor["prepare"] = [{"name": f"step{n}", "request": {"method": "GET", "url": own_url}, "keep": own_keep}
                             for n in range(1, steps + 1)]
    descriptor["prepare"][-1]["request"]["url"] = url or own_url
    descriptor["prepare"][-1]["keep"] = keep or own_keep
    body = descriptor["write"]["request"]["body"]
    assert place in body["json"]
    body["json"] = body["json"].replace(place, with_result)
    return descriptor
