# SPDX-License-Identifier: MIT
"""What the smaller fakes share: posts in the order in which they came, each with an id that its platform makes, kept as
plain data. A fake of this kind plays of its platform what publishing and reading back meet; the rest answers 404."""
import itertools

from .base import Platform, Post, SettingError, now_ms
from .texts import strings_in
from .wire import Answer


class Simple(Platform):
    """Subclasses name routes and settings, and say with new_id() what their ids look like."""

    def content(self, request):
        return list(strings_in(request.json()))

    def rate_limited(self, wait_ms):
        return Answer.of_json(429, {"error": "Too many requests"}, {"Retry-After": str(max(1, -(-wait_ms // 1000)))})

    def new_id(self, number):
        raise NotImplementedError

    def add(self, account, data, created_ms=None, visible_ms=0):
        """Stores a post; data gets its `id`. The caller holds the lock."""
        number = len(self.posts) + 1
        while self.posts.get(number) is not None:
            number += 1
        data["id"] = self.new_id(number)
        post = Post(number, account, created_ms or now_ms(), visible_ms, data)
        self.posts.add(post)
        return post

    def commit(self, request, account, data, answer):
        """The second half of a write: stores it and answers with answer(post)."""
        def run():
            with self.lock:
                post = self.add(account, data, visible_ms=self.visible_from(request))
                request.on_commit(str(post.data["id"]))
                return answer(post)
        return run

    def shown(self, account=None):
        """What reads show, newest first."""
        return [post for post in self.posts.newest_first() if post.shown() and account in (None, post.account)]

    def by_id(self, post_id):
        return next((post for post in self.shown() if str(post.data["id"]) == post_id), None)

    def free_name(self, name, member):
        """The name, or with -2, -3 .. where it is taken: nobody is refused for it."""
        taken = {post.data.get(member) for post in self.posts.newest_first()}
        return next(free for free in itertools.chain([name], (f"{name}-{n}" for n in itertools.count(2))) if free not in taken)

    # -- the outside world --------------------------------------------------------------------------------------

    def op_plant(self, channel=None, newest_age_ms=0, **data):
        """A post that landfall did not make."""
        return {"ids": [str(self.add(self.account_named(channel), data, now_ms() - newest_age_ms).data["id"])]}

    def op_delete(self, id):
        post = self.by_id(id)
        if post is None:
            raise SettingError(f"{self.NAME} has no post {id!r}")
        return {"deleted": self.posts.remove(post.id) is not None}

    def op_list(self, limit=100, channel=None):
        own = self.shown(self.account_named(channel))
        return {"count": len(own), "posts": [post.data for post in own[:limit]]}
