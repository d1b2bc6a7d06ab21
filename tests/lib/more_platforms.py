# SPDX-License-Identifier: MIT
"""Channels of the smaller fakes, as data: what each needs in its configuration and in an item, and how its doubt ends.

    with MoreFleet() as fleet:
        fleet.add(fleet.channel("slack"), fleet.made("slack", "it-1"))
"""
import collections

from lib.fleet import Fleet

GHOST_KEY = "6650a1b2c3d4e5f60718293a:" + "5ec7e7" * 10 + "abcd"
QUICK = {"pace": {"spacing_ms": 0, "burst": 1}}

# token, settings (`{url}`: the fake's address), members that an item needs besides the usual ones (`{id}`: its id), and
# who ends a doubt: "read" (only reading), "key" (or the same again), "person" (nobody else)
More = collections.namedtuple("More", "token settings item ends")
MORE = {
    "wordpress": More("wp app pass word 71aa", {"instance": "{url}"}, {}, "read"),
    "ghost": More(GHOST_KEY, {"instance": "{url}"}, {}, "read"),
    "hashnode": More("tok-hashnode-2b7c", {"endpoint": "{url}", "publication": "p1"}, {}, "read"),
    "slack": More("xoxb-slack-19f0c2", {"instance": "{url}", "channel_id": "C0123"}, {}, "read"),
    "postmark": More("tok-postmark-77e1", {"instance": "{url}", "from": "lf@blog.example", "to": "list@blog.example"}, {}, "read"),
    "github-releases": More("tok-github-c04d", {"api": "{url}", "repository": "owner/name"}, {"_tag": "v-{id}"}, "read"),
    "misskey": More("tok-misskey-5f20", {"instance": "{url}"}, {}, "read"),
    "lemmy": More("lemmy-password-e83a", {"instance": "{url}", "community_id": 7}, {}, "read"),
    "matrix": More("tok-matrix-8a55", {"instance": "{url}", "room_id": "!room:m.example"}, {}, "key"),
    "keyed-api": More("tok-keyed-3d1e", {"endpoint": "{url}/v1/posts"}, {}, "key"),
    "telegram": More("123456:telegram-token-0b", {"instance": "{url}", "chat_id": "-100123"}, {}, "person"),
}


class MoreFleet(Fleet):
    """A channel `<platform>/brand` for each of them. members: platform -> more members of its channel."""

    def __init__(self, platforms=tuple(MORE), members=None, **more):
        super().__init__([], **more)
        self.more, self.members = platforms, members or {}

    def __enter__(self):
        super().__enter__()
        for name in self.more:
            self.add_fake(name, name, self.channel(name), MORE[name].token)
            self.configure(name)
        return self

    def configure(self, name, **members):
        settings = {key: value.replace("{url}", self.sim.urls[name]) if isinstance(value, str) else value
                    for key, value in MORE[name].settings.items()}
        self.add_channel(self.channel(name), MORE[name].token, settings, **{**QUICK, **self.members.get(name, {}), **members})

    def _channel(self, channel, token, settings, members):
        made = super()._channel(channel, token, settings, members)
        if channel.split("/")[0] in ("wordpress", "lemmy"):
            made["credentials"] = {"user": {"file": self.write_secret("user", "lf")}, "password": made.pop("credential")}
        return made

    @staticmethod
    def channel(name):
        return f"{name}/brand"

    def made(self, name, item_id, **members):
        own = {key: value.replace("{id}", item_id) for key, value in MORE[name].item.items()}
        return self.item(item_id, **{**own, **members})

    def posts(self, name):
        return self.sim.get("posts", instance=name)["posts"]
