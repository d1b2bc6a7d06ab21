# SPDX-License-Identifier: MIT
"""What all fake platforms have in common: accounts, settings, stored posts, request windows and one table of routes.

A write has two halves, because real servers have: receive() checks it (who, what, which key), and the commit that it
returns stores it and makes the answer. Faults put time between the halves. The table of routes says of each request
whether it can create anything, so that the judge and the handler cannot disagree.
"""
import bisect
import re
import threading
import time

from .wire import Answer


def now_ms():
    return time.time_ns() // 1_000_000


class SettingError(ValueError):
    """A setting that does not exist or has a value of the wrong kind; the text is for the person who set it."""


class Account:
    """One account on an instance; `channel` is the channel of landfall that publishes to it."""

    def __init__(self, number, channel, token, name="lf"):
        self.id = str(109_000_000_000_000_000 + number)
        self.number = number
        self.channel = channel
        self.token = token
        self.name = name


class Post:
    """A stored post. `visible_ms` is the time from which reads show it."""

    def __init__(self, post_id, account, created_ms, visible_ms, data):
        self.id = post_id
        self.account = account
        self.created_ms = created_ms
        self.visible_ms = visible_ms
        self.data = data
        self.boost = False
        self.pinned = False

    def shown(self):
        return self.visible_ms <= now_ms()


class Posts:
    """Posts ordered by id, newest last. `version` grows with every change. The owner's lock protects it."""

    def __init__(self):
        self.version = 0
        self._by_id = {}
        self._ids = []

    def __len__(self):
        return len(self._ids)

    def add(self, post):
        bisect.insort(self._ids, post.id)
        self._by_id[post.id] = post
        self.version += 1

    def get(self, post_id):
        return self._by_id.get(post_id)

    def remove(self, post_id):
        post = self._by_id.pop(post_id, None)
        if post is not None:
            del self._ids[bisect.bisect_left(self._ids, post_id)]
            self.version += 1
        return post

    def newest_first(self, below=None):
        """Yields posts from the newest (or from the one next below an id) to the oldest."""
        start = len(self._ids) if below is None else bisect.bisect_left(self._ids, below)
        for position in range(start - 1, -1, -1):
            yield self._by_id[self._ids[position]]

    def oldest_first(self, above=None):
        start = 0 if above is None else bisect.bisect_right(self._ids, above)
        for position in range(start, len(self._ids)):
            yield self._by_id[self._ids[position]]


class Window:
    """A budget per fixed window of time. A limit of 0 means: counted, never refused."""

    def __init__(self):
        self._windows = {}

    def take(self, name, limit, window_ms, cost=1):
        """Takes from the budget of `name`: (granted, remaining, end of the window in ms)."""
        now = now_ms()
        end, used = self._windows.get(name, (0, 0))
        if now >= end:
            end, used = now + window_ms, 0
        if limit and used + cost > limit:
            self._windows[name] = (end, used)
            return False, max(0, limit - used), end
        self._windows[name] = (end, used + cost)
        return True, max(0, limit - used - cost), end


def typed(name, value, default):
    """A setting's value as the kind that its default has; accepts the text forms of a command line."""
    if isinstance(default, bool):
        if value in (True, "true", "1", "yes"):
            return True
        if value in (False, "false", "0", "no"):
            return False
    elif isinstance(default, int) and not isinstance(value, bool):
        try:
            return int(value)
        except (TypeError, ValueError):
            pass
    elif isinstance(default, str) and isinstance(value, str):
        return value
    raise SettingError(f"setting {name}: {value!r} is not a {type(default).__name__}")


class Platform:
    """One instance of a platform. Subclasses set NAME, AT_MOST_ONCE, SETTINGS and ROUTES."""

    NAME = ""
    AT_MOST_ONCE = True
    SETTINGS = {}
    # (method, regular expression for the path, kind, handler name); kind is "read", "write" or "login"
    ROUTES = ()

    def __init__(self, name, settings=None):
        self.name = name
        self.base_url = ""
        self.lock = threading.RLock()
        self.accounts = []
        self.posts = Posts()
        self.window = Window()
        self.settings = {"at_most_once": self.AT_MOST_ONCE, "visibility_delay_ms": 0, **self.SETTINGS}
        self._routes = [(method, re.compile(pattern + r"\Z"), kind, handler)
                        for method, pattern, kind, handler in self.ROUTES]
        self.configure(settings or {})

    def configure(self, settings):
        with self.lock:
            for name, value in settings.items():
                if name not in self.settings:
                    known = ", ".join(sorted(self.settings))
                    raise SettingError(f"{self.NAME} has no setting {name!r}; it has {known}")
                self.settings[name] = typed(name, value, self.settings[name])

    def add_account(self, channel, token, name="lf"):
        with self.lock:
            account = Account(len(self.accounts) + 1, channel, token, name)
            self.accounts.append(account)
            return account

    def route(self, request):
        """(kind, handler name, match) of a request; kind "unrouted" if the platform has no such endpoint."""
        for method, pattern, kind, handler in self._routes:
            if method == request.method or (method == "GET" and request.method == "HEAD"):
                match = pattern.match(request.path)
                if match:
                    return kind, handler, match
        return "unrouted", "not_found", None

    def receive(self, request):
        """First half: an Answer when all is said, or the commit to call for it."""
        _, handler, match = self.route(request)
        with self.lock:
            return getattr(self, handler)(request, *(match.groups() if match else ()))

    def not_found(self, request):
        return Answer.of_json(404, {"error": "Not found"})

    def account_by_token(self, token):
        return next((account for account in self.accounts if account.token == token), None)

    def bearer(self, request):
        kind, _, token = request.header("authorization", "").partition(" ")
        return token.strip() if kind.lower() == "bearer" else None

    def account_of(self, request):
        """The account that a request acts for, or None. Has no effect."""
        return self.account_by_token(self.bearer(request))

    def content(self, request):
        """The texts of a write in which the item's link or needle is looked for, the strongest first."""
        raise NotImplementedError

    def own_ids(self, request):
        """Item ids that a write states outright, where the platform's payload has them."""
        return []

    def visible_from(self, request):
        delay_ms = request.directives.get("visibility_delay_ms", self.settings["visibility_delay_ms"])
        return now_ms() + delay_ms

    def as_stored(self, request, text):
        """The text as the platform stores it: cut, if a fault says so."""
        cut = request.directives.get("text_cut")
        return text if cut is None else text[:cut]

    def rate_limited(self, wait_ms):
        """The platform's own 429, as its clients know it."""
        raise NotImplementedError

    def secrets(self):
        return [account.token for account in self.accounts if account.token]

    def operate(self, op, params):
        """An act of the outside world on the instance (admin API); gives a JSON value."""
        handler = getattr(self, f"op_{op}", None)
        if handler is None:
            known = ", ".join(sorted(name[3:] for name in dir(self) if name.startswith("op_")))
            raise SettingError(f"{self.NAME} has no operation {op!r}; it has {known}")
        with self.lock:
            return handler(**params)

    def account_named(self, channel=None):
        if channel is None:
            return self.accounts[0]
        account = next((account for account in self.accounts if account.channel == channel), None)
        if account is None:
            raise SettingError(f"instance {self.name} has no account for channel {channel!r}")
        return account


def page_as_sent(directive, given, items, following, cursor_before):
    """(items, next cursor) of a page after what a fault makes of it; unchanged if directive is None.

    given: the cursor of the request; following: the honest next cursor, None at the end; cursor_before(item): a cursor
    whose page begins with that item and that differs from the one just used.
    """
    kind = directive["kind"] if directive else None
    if kind == "empty_page" and items:
        return [], cursor_before(items[0])
    if kind == "short_page" and len(items) > directive["items"]:
        return items[:directive["items"]], cursor_before(items[directive["items"]])
    if kind == "repeated_cursor":
        return items, following if given is None else given
    if kind == "cyclic_cursors":
        seen = directive["state"].setdefault("cursors", [])
        if len(seen) < directive["length"] and following is not None and following not in seen:
            seen.append(following)
            return items, following
        turn = directive["state"]["turn"] = directive["state"].get("turn", -1) + 1
        return items, seen[turn % len(seen)] if seen else following
    return items, following
