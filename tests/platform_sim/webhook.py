# SPDX-License-Identifier: MIT
"""A receiver of webhooks after the Standard Webhooks specification. Behaviours played:

 1. POST to any path below the instance. Headers webhook-id, webhook-timestamp, webhook-signature; 400 without them.
 2. The signature is HMAC-SHA-256 over `id.timestamp.body` with the account's secret (`whsec_` and base64), any of the
    space-separated `v1,` signatures counts; 401 if none fits, or if the timestamp is more than `tolerance_ms` away.
 3. Ids are remembered for `retention_ms`: a repeat is answered as the first time, and nothing happens. After that, or
    with `remember_ids=false`, it happens again. Two at the same time are both processed: the id is kept at the end.
 4. `mismatch_status` (409, 422, 400): a known id with another body is refused with a problem document; 0: not compared.
 5. Answers `success_status` (204) with an empty body; with `answer_id=true` 200 and `{"id": ...}`.
 6. `gone=true`: 410, the endpoint is switched off. 429 with Retry-After by `limit_requests` per `limit_window_ms`.
 7. Nothing to read. At-least-once unless the instance says otherwise (`at_most_once=true`).
"""
import base64
import binascii
import hashlib
import hmac

from .base import Platform, now_ms
from .texts import strings_in
from .wire import Answer


def signature(secret, webhook_id, timestamp, body):
    """The `v1,` signature of a message; the secret is `whsec_` and base64, or base64 alone."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


class Webhook(Platform):
    NAME = "webhook"
    AT_MOST_ONCE = False
    SETTINGS = {"tolerance_ms": 300_000, "retention_ms": 300_000, "remember_ids": True, "mismatch_status": 0,
                "success_status": 204, "answer_id": False, "gone": False, "limit_requests": 0,
                "limit_window_ms": 60_000}
    ROUTES = (("POST", r"/?.*", "write", "deliver"),)

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        self._seen = {}
        self.processed = []

    def account_of(self, request):
        """The account whose secret made the signature; a wrong signature has none."""
        offered = request.header("webhook-signature", "").split(" ")
        for account in self.accounts:
            try:
                expected = signature(account.token, request.header("webhook-id", ""),
                                     request.header("webhook-timestamp", ""), request.body)
            except binascii.Error:
                continue
            if any(hmac.compare_digest(expected.encode(), given.encode()) for given in offered):
                return account
        return None

    def content(self, request):
        return list(strings_in(request.json()))

    def own_ids(self, request):
        """The payload's item id: data.id, data.item.id, item.id or id, whichever is there first."""
        body = request.json()
        if not isinstance(body, dict):
            return []
        data = body.get("data") if isinstance(body.get("data"), dict) else {}
        for holder in (data, data.get("item"), body.get("item"), body):
            if isinstance(holder, dict) and isinstance(holder.get("id"), str):
                return [holder["id"]]
        return []

    def rate_limited(self, wait_ms):
        return Answer(429, headers={"Retry-After": str(max(1, -(-wait_ms // 1000)))})

    def deliver(self, request):
        if self.settings["gone"]:
            return Answer(410)
        webhook_id, timestamp = request.header("webhook-id"), request.header("webhook-timestamp")
        if not webhook_id or not timestamp or not request.header("webhook-signature"):
            return Answer(400, "Missing required headers", content_type="text/plain")
        if not timestamp.isdigit() or abs(int(timestamp) * 1000 - now_ms()) > self.settings["tolerance_ms"]:
            return Answer(401, "Message timestamp out of tolerance", content_type="text/plain")
        if self.account_of(request) is None:
            return Answer(401, "No matching signature found", content_type="text/plain")
        limit, window_ms = self.settings["limit_requests"], self.settings["limit_window_ms"]
        granted, _, end = self.window.take("requests", limit, window_ms)
        if not granted:
            return self.rate_limited(end - now_ms())
        digest = hashlib.sha256(request.body).hexdigest()
        until_ms, known_digest, number = self._seen.get(webhook_id, (0, None, None))
        if now_ms() < until_ms and self.settings["remember_ids"]:
            if digest != known_digest and self.settings["mismatch_status"]:
                return self._mismatch()
            return self._success(number)
        return lambda: self._commit(request, webhook_id, digest)

    def _mismatch(self):
        status = self.settings["mismatch_status"]
        problem = {"type": "https://webhooks.example/idempotency-key-reused", "title": "Idempotency key already used",
                   "detail": "this id came before with another payload", "status": status}
        answer = Answer.of_json(status, problem)
        answer.headers = [("Content-Type", "application/problem+json")]
        return answer

    def _commit(self, request, webhook_id, digest):
        with self.lock:
            self.processed.append((now_ms(), webhook_id, request.body))
            number = len(self.processed)
            self._seen[webhook_id] = (now_ms() + self.settings["retention_ms"], digest, number)
            request.on_commit(f"obj_{number}" if self.settings["answer_id"] else None)
            return self._success(number)

    def _success(self, number):
        if self.settings["answer_id"]:
            return Answer.of_json(200, {"id": f"obj_{number}"})
        return Answer(self.settings["success_status"])

    def op_forget_ids(self):
        self._seen.clear()
        return {"forgotten": True}

    def op_list(self, limit=100, channel=None):
        return {"count": len(self.processed), "posts": [
            {"id": f"obj_{number}", "webhook_id": webhook_id, "body": body.decode("utf-8", "replace")}
            for number, (_, webhook_id, body) in list(enumerate(self.processed, 1))[-limit:]]}
