# SPDX-License-Identifier: MIT
"""Faults by script: rules that say which request gets which fault, and one function per fault.

An *action* takes over from the moment the judge has seen the request: it decides whether and when the platform commits
and what happens on the wire. A *directive* asks the platform itself to behave differently for this request; several may
meet in one request, and together with one action. Of several actions that match, the first rule wins.
"""
import re
import struct
import threading
import zlib

from .base import SettingError, now_ms, typed
from .texts import http_date, iso_ms, iso_offset, iso_us, rfc850_date
from .wire import Answer

ACTIONS, DIRECTIVES, DEFAULTS, DEFAULT_KIND = {}, {}, {}, {}
CONDITIONS = ("method", "path", "kind", "delivery", "nth", "nth_write", "nth_request", "reused")
KINDS = ("write", "read", "login", "list", "any")
LISTINGS = ("list", "list_records")
GIVE_UP_MS = 120_000
CHOICES = {"how": lambda: ("fin", "rst"), "close": lambda: ("none", "fin", "rst"),
           "form": lambda: ("native", "native_plain", *RATE_FORMS)}


def action(kind="write", **defaults):
    return _register(ACTIONS, kind, defaults)


def directive(kind="write", **defaults):
    return _register(DIRECTIVES, kind, defaults)


def _register(table, kind, defaults):
    def register(function):
        table[function.__name__] = function
        DEFAULTS[function.__name__] = defaults
        DEFAULT_KIND[function.__name__] = kind
        return function
    return register


class Rule:
    """One fault that waits for its request. Raises SettingError for a specification that cannot be meant."""

    def __init__(self, number, spec):
        unknown = set(spec) - {"instance", "on", "do", "params", "times"}
        if unknown:
            raise SettingError(f"a fault has no field {sorted(unknown)[0]!r}; it has instance, on, do, params, times")
        self.number = number
        self.instance = spec.get("instance", "*")
        self.name = spec.get("do")
        if self.name not in DEFAULTS:
            raise SettingError(f"there is no fault {self.name!r}; there are {', '.join(sorted(DEFAULTS))}")
        self.params = self._params(spec.get("params", {}))
        self.remaining = typed("times", spec.get("times", 1), 1)
        self.on = dict(spec.get("on", {}))
        unknown = set(self.on) - set(CONDITIONS)
        if unknown:
            raise SettingError(f"a fault's `on` has no {sorted(unknown)[0]!r}; it has {', '.join(CONDITIONS)}")
        self.kind = self.on.get("kind") or ("write" if "nth_write" in self.on else None)
        if self.kind is None:
            named = {"method", "path", "nth_request"} & set(self.on)
            self.kind = "any" if named else DEFAULT_KIND[self.name]
        if self.kind not in KINDS:
            raise SettingError(f"a fault's `on.kind` is one of {', '.join(KINDS)}")
        nth = next((self.on[name] for name in ("nth", "nth_write", "nth_request") if name in self.on), None)
        self.nth = None if nth is None else nth if isinstance(nth, list) else [nth]
        self.matched = 0
        self.fired = 0
        self.state = {}

    def _params(self, given):
        defaults = DEFAULTS[self.name]
        for name in given:
            if name not in defaults:
                known = ", ".join(sorted(defaults)) or "none"
                raise SettingError(f"fault {self.name} has no param {name!r}; it has {known}")
            if name in CHOICES and given[name] not in CHOICES[name]():
                raise SettingError(f"fault {self.name}: param {name} is one of {', '.join(CHOICES[name]())}")
        return {name: typed(name, given[name], default) if name in given and isinstance(default, (bool, int))
                else given.get(name, default) for name, default in defaults.items()}

    def matches(self, instance, request, kind, handler):
        on = self.on
        return (self.remaining != 0 and self.instance in ("*", instance.name)
                and (self.kind in ("any", kind) or (self.kind == "list" and handler in LISTINGS))
                and on.get("method", request.method) == request.method
                and on.get("path", "") in request.target
                and ("reused" not in on or on["reused"] == (request.number_on_connection > 1))
                and ("delivery" not in on or any(name == on["delivery"] or name.endswith("/" + on["delivery"])
                                                 for name in request.deliveries)))

    def due(self):
        """Counts a match; True if this is one of those that get the fault."""
        self.matched += 1
        return self.nth is None or self.matched in self.nth

    def fire(self):
        self.fired += 1
        if self.remaining > 0:
            self.remaining -= 1

    def json(self):
        return {"id": self.number, "instance": self.instance, "on": self.on, "do": self.name, "params": self.params,
                "remaining": self.remaining, "matched": self.matched, "fired": self.fired}


class Faults:
    """The rules in the order they were set. times: how often a rule fires, -1 without end."""

    def __init__(self):
        self._lock = threading.Lock()
        self._rules = []
        self._numbers = 0

    def add(self, spec):
        with self._lock:
            self._numbers += 1
            rule = Rule(self._numbers, spec)
            self._rules.append(rule)
            return rule

    def clear(self):
        with self._lock:
            self._rules.clear()

    def remove(self, number):
        with self._lock:
            self._rules = [rule for rule in self._rules if rule.number != number]

    def json(self):
        with self._lock:
            return [rule.json() for rule in self._rules]

    def take(self, instance, request, kind, handler, at_head=False):
        """The Rule whose action a request gets, or None; directives are written into the request on the way."""
        chosen = None
        with self._lock:
            for rule in self._rules:
                if (rule.name == "expect") != at_head or not rule.matches(instance, request, kind, handler):
                    continue
                if not rule.due():
                    continue
                if rule.name in DIRECTIVES:
                    rule.fire()
                    request.directives.update(DIRECTIVES[rule.name](rule.state, **rule.params))
                    request.directives.setdefault("names", []).append(rule.name)
                elif chosen is None:
                    rule.fire()
                    chosen = rule
        return chosen


class Holds:
    """Answers that wait for POST /_admin/release."""

    def __init__(self, changed):
        self._changed = changed
        self._condition = threading.Condition()
        self._held = {}
        self._numbers = 0

    def wait(self, exchange, limit_ms):
        """Holds the calling thread; returns "answer" or "close"."""
        with self._condition:
            self._numbers += 1
            number = self._numbers
            self._held[number] = {"exchange": exchange, "then": None, "since_ms": now_ms()}
        self._changed()
        with self._condition:
            self._condition.wait_for(lambda: self._held[number]["then"], limit_ms / 1000)
            then = self._held.pop(number)["then"] or "close"
        self._changed()
        return then

    def release(self, then="answer", number=None, instance=None):
        """Lets go all that are meant; gives their number."""
        count = 0
        with self._condition:
            for held_number, held in self._held.items():
                if number in (None, held_number) and instance in (None, held["exchange"].instance.name):
                    held["then"] = then
                    count += 1
            self._condition.notify_all()
        return count

    def json(self):
        with self._condition:
            held = list(self._held.items())
        return [{"id": number, "instance": entry["exchange"].instance.name, "since_ms": entry["since_ms"],
                 "deliveries": entry["exchange"].request.deliveries, "method": entry["exchange"].request.method,
                 "client_connected": not entry["exchange"].connection.wait_gone(0)} for number, entry in held]


# -- actions: what happens between the request and the end of the exchange ------------------------------------------

PLACEHOLDER = re.compile(r"\{(http_date|rfc850|iso|iso_us|iso_offset|epoch|epoch_ms|epoch_fraction):(-?\d+)\}")
ECHO = re.compile(r"\{request_header:([\w-]+)\}")


def filled(text, exchange):
    """Text with `{http_date:30}` and the like replaced by now + 30 s in that form, `{request_header:name}` by it."""
    def moment(match):
        at_ms = now_ms() + int(match.group(2)) * 1000
        return {"http_date": http_date, "rfc850": rfc850_date, "iso": iso_ms, "iso_us": iso_us,
                "iso_offset": lambda at: iso_offset(at, 2), "epoch": lambda at: str(-(-at // 1000)), "epoch_ms": str,
                "epoch_fraction": lambda at: f"{at / 1000:.3f}"}[match.group(1)](at_ms)
    return ECHO.sub(lambda match: exchange.request.header(match.group(1), ""), PLACEHOLDER.sub(moment, text))


def made(exchange, status, headers, body):
    """An answer out of a fault's params; a body that is not text is JSON."""
    headers = {name: filled(str(value), exchange) for name, value in headers.items()}
    answer = Answer(status, filled(body, exchange), headers) if isinstance(body, str) else \
        Answer.of_json(status, body, headers)
    if any(name.lower() == "content-type" for name in headers):
        answer.headers = [pair for pair in answer.headers if pair[0] != "Content-Type" or "Content-Type" in headers]
    elif isinstance(body, str) and body:
        answer.headers.append(("Content-Type", "text/html" if body.lstrip().startswith("<") else "text/plain"))
    return answer


@action(how="fin")
def commit_then_close(exchange, how):
    """Commits, then ends the connection (fin or rst) without a byte of answer."""
    exchange.answer()
    exchange.close(how)


@action(delay_ms=1000)
def commit_then_late_answer(exchange, delay_ms):
    """Commits at once, answers late."""
    answer = exchange.answer()
    exchange.sleep(delay_ms)
    exchange.send(answer)


@action(status=503, headers={}, body="<html><body><h1>503 Service Unavailable</h1></body></html>", delay_ms=0)
def commit_then_status(exchange, status, headers, body, delay_ms):
    """Commits, then answers something else, as a proxy in front would."""
    exchange.answer()
    exchange.sleep(delay_ms)
    exchange.send(made(exchange, status, headers, body))


@action(how="fin")
def close_before_commit(exchange, how):
    """Ends the connection; nothing is committed."""
    exchange.close(how)


@action(status=500, headers={}, body="", delay_ms=0)
def status(exchange, status, headers, body, delay_ms):
    """Answers this, commits nothing."""
    exchange.sleep(delay_ms)
    exchange.send(made(exchange, status, headers, body))


@action(status=302, location="")
def redirect(exchange, status, location):
    """Sends the client elsewhere, by default to where it came from; commits nothing."""
    here = exchange.instance.base_url + exchange.request.path + "?followed=1"
    exchange.send(Answer(status, headers={"Location": location or here}))


TOO_MANY = {"error": "Too many requests"}
# name -> headers and body for a wait of so many seconds
RATE_FORMS = {
    "retry_after_seconds": lambda s: ({"Retry-After": f"{s}"}, TOO_MANY),
    "retry_after_http_date": lambda s: ({"Retry-After": f"{{http_date:{s}}}"}, TOO_MANY),
    "retry_after_rfc850": lambda s: ({"Retry-After": f"{{rfc850:{s}}}"}, TOO_MANY),
    "retry_after_word": lambda s: ({"Retry-After": "soon"}, TOO_MANY),
    "reset_iso": lambda s: ({"X-RateLimit-Reset": f"{{iso_us:{s}}}"}, TOO_MANY),
    "reset_iso_offset": lambda s: ({"X-RateLimit-Reset": f"{{iso_offset:{s}}}"}, TOO_MANY),
    "reset_epoch": lambda s: ({"X-RateLimit-Reset": f"{{epoch:{s}}}"}, TOO_MANY),
    "reset_epoch_ms": lambda s: ({"X-RateLimit-Reset": f"{{epoch_ms:{s}}}"}, TOO_MANY),
    "reset_epoch_fraction": lambda s: ({"X-RateLimit-Reset": f"{{epoch_fraction:{s}}}"}, TOO_MANY),
    "reset_delta": lambda s: ({"X-RateLimit-Reset": f"{s}"}, TOO_MANY),
    "ratelimit_reset_epoch": lambda s: ({"RateLimit-Reset": f"{{epoch:{s}}}"}, TOO_MANY),
    "ratelimit_reset_delta": lambda s: ({"RateLimit-Reset": f"{s}"}, TOO_MANY),
    "body_retry_after": lambda s: ({}, {"message": "You are being rate limited.", "retry_after": s + 0.25}),
    "none": lambda s: ({}, TOO_MANY),
}


@action(form="native", wait_s=2)
def rate_limited(exchange, form, wait_s):
    """429 with the wait stated in the given form (`native`: the platform's own); commits nothing."""
    if form == "native":
        answer = exchange.instance.rate_limited(wait_s * 1000)
    elif form == "native_plain" and hasattr(exchange.instance, "rate_limited_plain"):
        answer = exchange.instance.rate_limited_plain(wait_s * 1000)
    else:
        answer = made(exchange, 429, *RATE_FORMS.get(form, RATE_FORMS["retry_after_seconds"])(wait_s))
    exchange.send(answer)


@action(delay_ms=1000)
def commit_slowly(exchange, delay_ms):
    """Looks keys up on arrival, commits and answers after delay_ms, whether somebody still listens or not."""
    exchange.receive()
    exchange.sleep(delay_ms)
    exchange.send(exchange.answer())


@action(after_ms=1000, close="none")
def commit_late(exchange, after_ms, close):
    """Waits until the client gives up (or closes: fin, rst), and commits after_ms later. Nobody hears of it."""
    exchange.receive()
    if close == "none":
        exchange.connection.wait_gone(GIVE_UP_MS)
    exchange.close("fin" if close == "none" else close)
    exchange.sleep(after_ms)
    exchange.answer()


@action(commit=True, limit_ms=GIVE_UP_MS)
def hold(exchange, commit, limit_ms):
    """Commits, then holds the answer until POST /_admin/release; GET /_admin/state says that it holds."""
    answer = exchange.answer() if commit else None
    if exchange.simulator.holds.wait(exchange, limit_ms) == "close":
        exchange.close("fin")
    else:
        exchange.send(answer or exchange.answer())


@action(commit=False)
def accept_and_never_answer(exchange, commit):
    """Reads the request and says nothing until the client goes."""
    if commit:
        exchange.answer()
    exchange.connection.wait_gone(GIVE_UP_MS)
    exchange.close("fin")


@action(for_ms=1000, commit=True, how="rst")
def refuse_connections(exchange, for_ms, commit, how):
    """Commits, stops listening, ends all connections, refuses new ones for for_ms. The instance has its own port."""
    if commit:
        exchange.answer()
    exchange.listener.pause(for_ms)
    exchange.simulator.abandon_connections(exchange.listener, exchange.connection)
    exchange.close(how)


def _cut_answer(exchange, sent_bytes, how):
    answer = exchange.answer()
    status = 200 if answer.status == 204 else answer.status
    stated = max(len(answer.body), sent_bytes + 36)
    head = Answer(status, headers=dict(answer.headers)).head(f"Content-Length: {stated}")
    exchange.send_bytes(head + answer.body[:min(sent_bytes, max(0, len(answer.body) - 1))])
    exchange.close(how)


@action(sent_bytes=24, how="fin")
def truncated_answer(exchange, sent_bytes, how):
    """Commits; the answer ends (fin or rst) after sent_bytes of its body, its Content-Length says more."""
    _cut_answer(exchange, sent_bytes, how)


@action(kind="list", sent_bytes=200, how="fin")
def truncated_page(exchange, sent_bytes, how):
    """A listing's page ends after sent_bytes, its Content-Length says more."""
    _cut_answer(exchange, sent_bytes, how)


@action(interval_ms=200, chunk_bytes=1, for_ever=False)
def slow_drip(exchange, interval_ms, chunk_bytes, for_ever):
    """Commits; the header at once, then chunk_bytes of the body every interval_ms; for_ever: blanks after its end."""
    answer = exchange.answer()
    body = answer.body
    status = 200 if answer.status == 204 else answer.status
    length = 1 << 40 if for_ever else len(body)
    exchange.send_bytes(Answer(status, headers=dict(answer.headers)).head(f"Content-Length: {length}"))
    position = 0
    while position < length and not exchange.over:
        chunk = body[position:position + chunk_bytes] or b" " * chunk_bytes
        exchange.send_bytes(chunk)
        position += len(chunk)
        if exchange.connection.wait_gone(interval_ms):
            exchange.close("fin")
    exchange.close("fin")


@action(max_bytes=2 << 30, chunked=True)
def endless_body(exchange, max_bytes, chunked):
    """Commits; the answer's body is followed by blanks until the client goes (or max_bytes)."""
    answer = exchange.answer()
    status = 200 if answer.status == 204 else answer.status
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {max_bytes * 2}"
    exchange.send_bytes(Answer(status, headers=dict(answer.headers)).head(framing))
    sent, piece = 0, answer.body or b" "
    while sent < max_bytes and not exchange.over:
        exchange.send_bytes(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        sent += len(piece)
        piece = b" " * 65536
    exchange.close("fin")


@action()
def false_gzip(exchange):
    """Commits; the answer says Content-Encoding: gzip and is plain text."""
    answer = exchange.answer()
    answer.status = 200 if answer.status == 204 else answer.status
    answer.body = answer.body or b"ok"
    answer.headers.append(("Content-Encoding", "gzip"))
    exchange.send(answer)


MEGABYTE = b" " * (1 << 20)


def gzip_of(body, megabytes):
    """gzip (RFC 1952) of the body and so many megabytes of blanks, each the same packed block again: that is quick."""
    def packed(data, flush):
        pack = zlib.compressobj(9, zlib.DEFLATED, -15)
        return pack.compress(data) + pack.flush(flush)
    checksum = zlib.crc32(body)
    for _ in range(megabytes):
        checksum = zlib.crc32(MEGABYTE, checksum)
    size = (len(body) + megabytes * len(MEGABYTE)) & 0xFFFFFFFF
    blocks = packed(body, zlib.Z_FULL_FLUSH) + megabytes * packed(MEGABYTE, zlib.Z_FULL_FLUSH) + packed(b"", zlib.Z_FINISH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + blocks + struct.pack("<II", checksum, size)


@action(megabytes=256)
def gzip_bomb(exchange, megabytes):
    """Commits; the answer is a small gzip body that unpacks to so many megabytes of blanks behind the real one."""
    answer = exchange.answer()
    answer.status = 200 if answer.status == 204 else answer.status
    answer.body = gzip_of(answer.body, megabytes)
    answer.headers.append(("Content-Encoding", "gzip"))
    exchange.send(answer)


@action(count=300, value_bytes=60)
def many_headers(exchange, count, value_bytes):
    """Commits; the answer has count more header lines."""
    answer = exchange.answer()
    answer.headers += [(f"X-Filler-{number}", "x" * value_bytes) for number in range(count)]
    exchange.send(answer)


@action(kind="any", status=417)
def expect(exchange, status):
    """For requests with `Expect: 100-continue`: answers before the body is sent; status 0: ignores the header."""
    exchange.send(Answer(status))
    exchange.close("fin")


# -- directives: what a platform does differently for one request ---------------------------------------------------

@directive(delay_ms=1000)
def visibility_delay(state, delay_ms):
    """What this write creates is shown by reads only after delay_ms."""
    return {"visibility_delay_ms": delay_ms}


@directive(characters=60)
def text_cut(state, characters):
    """The text is stored cut, without a word."""
    return {"text_cut": characters}


@directive()
def ghost_id(state):
    """Mastodon: 200 with an id, nothing stored."""
    return {"ghost": True}


@directive(kind="list")
def empty_page(state):
    """A page without items that still points on; the page after it has them (Forem: they are lost)."""
    return {"page": {"kind": "empty_page"}}


@directive(kind="list", items=1)
def short_page(state, items):
    """A page of fewer items than asked for that is not the end (Forem, use times=-1: the page size is capped)."""
    return {"page": {"kind": "short_page", "items": items}}


@directive(kind="list")
def repeated_cursor(state):
    """The page points to itself (Forem: page 1, whatever was asked)."""
    return {"page": {"kind": "repeated_cursor"}}


@directive(kind="list", length=2)
def cyclic_cursors(state, length):
    """Cursors a, b, a, b ...; use times=-1."""
    return {"page": {"kind": "cyclic_cursors", "length": length, "state": state}}


@directive(kind="list")
def paging_ignored(state):
    """The newest page, whatever page was asked for."""
    return {"page": {"kind": "paging_ignored"}}
