# SPDX-License-Identifier: MIT
"""The judge: what each write meant, what the ledger said when it arrived, and how often something was published.

For every write it names the deliveries (channel/item id) from the content alone, and reads their rows from Redis before
any byte of an answer leaves. It believes no client. Kinds of violation:

    O1                  more than one commit for one delivery of an at-most-once instance
    O2                  a write arrived while its row was missing or not `claimed`
    same_attempt_twice  two writes under one attempt number: something below landfall's claims sent again. A
                        repeat after an answer that only refused the credential is no violation.
    unknown_delivery    a write whose content names no delivery
    row_unreadable      Redis could not be asked, so nothing is proven
    simulator_error     the simulator itself failed; the test proves nothing
"""
import collections
import hashlib
import threading
import time
import unicodedata

from .redis_row import RowUnreadable
from .texts import item_id_in

LOG_MAX = 5000
LOG_WAIT_S = 0.3  # a held request is not waited for any longer
VIOLATIONS_MAX = 1000
WRITES_KEPT_MAX = 100
STATE_FIELD, ATTEMPT_FIELD, CLAIMED = "state", "attempt", "claimed"
COUNTERS = ("requests", "reads", "writes", "logins", "unrouted", "commits", "on_reused_connection")
COUNTER_OF_KIND = {"read": "reads", "write": "writes", "login": "logins", "unrouted": "unrouted"}


class Write:
    """One write request for one delivery. `finished` is the status of the answer once all of it was sent."""

    def __init__(self, number, request, state, attempt):
        self.number = number
        self.at_ms = time.time_ns() // 1_000_000
        self.state = state
        self.attempt = attempt
        self.connection = request.connection_number
        self.reused = request.number_on_connection > 1
        self.key = request.header("idempotency-key") or request.header("webhook-id")
        self.body_sha256 = hashlib.sha256(request.body).hexdigest()
        self.finished = None
        self.credential_refused = False

    def json(self):
        return {"number": self.number, "at_ms": self.at_ms, "state": self.state, "attempt": self.attempt,
                "connection": self.connection, "reused_connection": self.reused, "key": self.key,
                "body_sha256": self.body_sha256, "answered": self.finished}


class Delivery:
    def __init__(self, instance):
        self.instance = instance
        self.write_count = 0
        self.writes = []
        self.commits = 0
        self.external_ids = []

    def json(self):
        return {"instance": self.instance, "writes": self.write_count, "commits": self.commits,
                "external_ids": self.external_ids, "row_states": [write.state for write in self.writes],
                "attempts": [write.attempt for write in self.writes],
                "requests": [write.json() for write in self.writes]}


class Judge:
    def __init__(self, rows, changed):
        self._rows = rows
        self._changed = changed
        self._lock = threading.Lock()
        self._expected = collections.defaultdict(list)
        self._generation = 0
        self.clear()

    def clear(self):
        with self._lock:
            self._generation += 1
            self._deliveries = {}
            self._violations = collections.deque(maxlen=VIOLATIONS_MAX)
            self._violation_counts = collections.Counter()
            self._counts = collections.defaultdict(lambda: dict.fromkeys(COUNTERS, 0))
            self._log = collections.deque(maxlen=LOG_MAX)
            self._numbers = 0
            self._unlogged = set()
            self._expected.clear()

    def expect(self, instance, needle, delivery):
        """From now on a write on the instance whose content has the needle is for the delivery (or item id)."""
        with self._lock:
            self._expected[instance].append((needle, delivery))

    # -- one request --------------------------------------------------------------------------------------------

    def arrived(self, instance, request, kind):
        """Counts a request that was read in full; for a write names its deliveries and asks for their rows."""
        deliveries = []
        if kind == "write":
            with instance.lock:
                deliveries = self._names(instance, request)
        rows = {delivery: self._row(delivery) for delivery in deliveries}
        with self._lock:
            generation = self._generation
            self._numbers += 1
            number = self._numbers
            self._unlogged.add(number)
            counts = self._counts[instance.name]
            counts["requests"] += 1
            counts[COUNTER_OF_KIND[kind]] += 1
            counts["on_reused_connection"] += request.number_on_connection > 1
            if kind == "write" and not deliveries:
                self._violation("unknown_delivery", instance.name, None, "the content of a write names no delivery")
            writes = [self._record(instance, request, number, delivery, *rows[delivery]) for delivery in deliveries]
        request.deliveries = deliveries
        request.on_commit = lambda external_id: self._committed(generation, instance, deliveries, external_id)
        self._changed()
        return number, writes

    def _names(self, instance, request):
        account = instance.account_of(request)
        if account is None and instance.accounts:
            account = instance.accounts[0]
        if account is None:
            return []
        content = instance.content(request)
        named = self._expected_in(instance.name, content + [request.body.decode("utf-8", "replace")])
        own_ids = [item_id for item_id in instance.own_ids(request) if item_id]
        ids = [named] if named and len(own_ids) < 2 else own_ids or [item_id_in(content)]
        prefix = account.channel + "/"
        full = [item_id if item_id.startswith(prefix) else prefix + unicodedata.normalize("NFC", item_id)
                for item_id in ids if item_id]
        return list(dict.fromkeys(full))

    def _expected_in(self, instance, texts):
        """The delivery of the longest needle that occurs in a text, or None."""
        with self._lock:
            found = [(len(needle), delivery) for needle, delivery in self._expected.get(instance, ())
                     if any(needle in text for text in texts)]
        return max(found)[1] if found else None

    def _row(self, delivery):
        """(state, attempt, complaint): complaint is the kind and text of what is wrong, or None."""
        if self._rows is None:
            return None, None, None
        try:
            row = self._rows.read(delivery)
        except RowUnreadable as error:
            return None, None, ("row_unreadable", str(error))
        if not row:
            return "missing", None, ("O2", "a write arrived and its row was missing")
        state, attempt = row.get(STATE_FIELD), row.get(ATTEMPT_FIELD)
        if state != CLAIMED:
            return state, attempt, ("O2", f"a write arrived and its row was {state!r}, not {CLAIMED!r}")
        return state, attempt, None

    def _record(self, instance, request, number, name, state, attempt, complaint):
        delivery = self._deliveries.setdefault(name, Delivery(instance.name))
        write = Write(number, request, state, attempt)
        if complaint:
            self._violation(complaint[0], instance.name, name, complaint[1], write)
        if attempt is not None:
            earlier = next((other for other in reversed(delivery.writes) if other.attempt == attempt), None)
            if earlier is not None and not earlier.credential_refused:
                self._violation("same_attempt_twice", instance.name, name,
                                f"two writes under attempt {attempt}", write, earlier)
        delivery.write_count += 1
        if len(delivery.writes) < WRITES_KEPT_MAX:
            delivery.writes.append(write)
        return write

    def _violation(self, kind, instance, delivery, text, write=None, earlier=None):
        self._violation_counts[kind] += 1
        self._violations.append({"kind": kind, "instance": instance, "delivery": delivery, "text": text,
                                 "write": write.json() if write else None,
                                 "earlier": earlier.json() if earlier else None})

    def _committed(self, generation, instance, deliveries, external_id):
        with self._lock:
            if generation != self._generation:
                return  # a request from before clear(): it belongs to a test that has ended
            self._counts[instance.name]["commits"] += 1
            for name in deliveries:
                delivery = self._deliveries[name]
                delivery.commits += 1
                if len(delivery.external_ids) < WRITES_KEPT_MAX:
                    delivery.external_ids.append(external_id)
                if delivery.commits > 1 and instance.settings["at_most_once"]:
                    last = delivery.writes[-1] if delivery.writes else None
                    self._violation("O1", instance.name, name, f"commit number {delivery.commits}", last)
        self._changed()

    def simulator_failed(self, instance, text):
        with self._lock:
            self._violation("simulator_error", instance.name, None, text)

    def answered(self, writes, answer):
        """All of an answer was handed to the network."""
        for write in writes:
            write.finished = answer.status
            write.credential_refused = answer.credential_refused

    def log(self, number, instance, request, kind, target, fault, end):
        """Keeps a line on a request for whoever debugs a test. `target` has no secrets; `end` says how it ended."""
        with self._lock:
            self._unlogged.discard(number)
            self._log.append({
                "number": number, "at_ms": time.time_ns() // 1_000_000, "instance": instance.name,
                "method": request.method, "target": target, "kind": kind, "deliveries": request.deliveries,
                "fault": fault, "end": end, "connection": request.connection_number,
                "number_on_connection": request.number_on_connection, "user_agent": request.header("user-agent")})

    # -- what is told -------------------------------------------------------------------------------------------

    def count(self, what, instance=None):
        with self._lock:
            return sum(counts[what] for name, counts in self._counts.items() if instance in (None, name))

    def requests(self, instance=None, limit=LOG_MAX):
        """The log. A client may ask for it with its answer in hand and the line not yet written: that moment is waited for."""
        deadline = time.monotonic() + LOG_WAIT_S
        while self._unlogged and time.monotonic() < deadline:
            time.sleep(0.005)
        with self._lock:
            chosen = [line for line in self._log if instance in (None, line["instance"])]
        return chosen[-limit:]

    def report(self):
        with self._lock:
            totals = {what: sum(counts[what] for counts in self._counts.values()) for what in COUNTERS}
            totals["deliveries"] = len(self._deliveries)
            totals["duplicates"] = sum(max(0, delivery.commits - 1) for delivery in self._deliveries.values())
            return {"deliveries": {name: delivery.json() for name, delivery in sorted(self._deliveries.items())},
                    "violations": list(self._violations), "violation_counts": dict(self._violation_counts),
                    "instances": {name: dict(counts) for name, counts in sorted(self._counts.items())},
                    "totals": totals}
