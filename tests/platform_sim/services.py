# SPDX-License-Identifier: MIT
"""Services with an interface of their own. Behaviours played:

 1. Postmark: header X-Postmark-Server-Token; 401 ErrorCode 10. 200 with MessageID and ErrorCode 0; errors inside 200 and
    422. Sent mails are searched by their metadata, newest first, with TotalCount.
 2. GitHub releases: a tag has one release; a repeat is 422 already_exists. Read by tag, by id and in pages.
 3. A keyed interface: Idempotency-Key per account. The same again is answered as the first time with idempotent-replayed;
    other bytes are refused as `mismatch` says: 400 (idempotency_error), 409 or 422 with a text that speaks of the key.
    `has_more` and starting_after.
"""
import urllib.parse

from .simple import Simple
from .texts import iso_ms
from .wire import Answer


class Postmark(Simple):
    NAME = "postmark"
    ROUTES = (
        ("POST", r"/email", "write", "send"),
        ("GET", r"/messages/outbound", "read", "list"),
        ("GET", r"/messages/outbound/([^/]+)/details", "read", "show"),
    )

    def new_id(self, number):
        return f"b7bc2f4a-e38e-4336-af7d-{number:012x}"

    def account_of(self, request):
        return self.account_by_token(request.header("x-postmark-server-token"))

    @staticmethod
    def refused(status, code):
        return Answer.of_json(status, {"ErrorCode": code, "Message": f"error {code}"})

    def send(self, request):
        account, given = self.account_of(request), request.fields()
        if account is None:
            return self.refused(401, 10)
        if not given.get("TextBody") and not given.get("HtmlBody"):
            return self.refused(422, 300)
        data = {"Metadata": given.get("Metadata", {}), "Subject": given.get("Subject"), "TextBody": given.get("TextBody")}
        return self.commit(request, account, data, lambda post: Answer.of_json(200, {
            "To": given.get("To"), "SubmittedAt": iso_ms(post.created_ms), "MessageID": post.data["id"], "ErrorCode": 0, "Message": "OK"}))

    def list(self, request):
        if self.account_of(request) is None:
            return self.refused(401, 10)
        key = request.query.get("metadata_lf_key")
        found = [post for post in self.shown() if key in (None, post.data["Metadata"].get("lf_key"))]
        return Answer.of_json(200, {"TotalCount": len(found), "Messages": [
            {"MessageID": post.data["id"], "Metadata": post.data["Metadata"], "Status": "Sent"} for post in found]})

    def show(self, request, message_id):
        post = self.by_id(message_id)
        return Answer.of_json(200, {"MessageID": message_id}) if post else self.refused(422, 701)


class GitHubReleases(Simple):
    NAME = "github-releases"
    REPOSITORY = r"/repos/[^/]+/[^/]+"
    ROUTES = (
        ("POST", REPOSITORY + r"/releases", "write", "create"),
        ("GET", REPOSITORY, "read", "repository"),
        ("GET", REPOSITORY + r"/releases", "read", "list"),
        ("GET", REPOSITORY + r"/releases/tags/([^/]+)", "read", "by_tag"),
        ("GET", REPOSITORY + r"/releases/(\d+)", "read", "show"),
    )

    def new_id(self, number):
        return 9_007_199_254_740_993 + number

    @staticmethod
    def refused(status, message, **more):
        return Answer.of_json(status, {"message": message, **more})

    def _release(self, post):
        return {"id": post.data["id"], "tag_name": post.data["tag_name"], "name": post.data.get("name"), "draft": False,
                "html_url": f"{self.base_url}/releases/tag/{post.data['tag_name']}", "published_at": iso_ms(post.created_ms)[:19] + "Z"}

    def _of_tag(self, tag):
        return next((post for post in self.shown() if post.data["tag_name"] == tag), None)

    def create(self, request):
        account, given = self.account_of(request), request.fields()
        if account is None:
            return self.refused(401, "Bad credentials")
        if self._of_tag(given.get("tag_name")):
            return self.refused(422, "Validation Failed", errors=[{"resource": "Release", "code": "already_exists", "field": "tag_name"}])
        data = {"tag_name": given.get("tag_name"), "name": given.get("name"), "body": given.get("body")}
        return self.commit(request, account, data, lambda post: Answer.of_json(201, self._release(post)))

    def repository(self, request):
        if self.account_of(request) is None:
            return self.refused(401, "Bad credentials")
        return Answer.of_json(200, {"full_name": request.path.removeprefix("/repos/"), "permissions": {"push": True}})

    def list(self, request):
        return Answer.of_json(200, [self._release(post) for post in self.shown()])

    def by_tag(self, request, tag):
        post = self._of_tag(urllib.parse.unquote(tag))
        return Answer.of_json(200, self._release(post)) if post else self.refused(404, "Not Found")

    def show(self, request, release_id):
        post = self.by_id(release_id)
        return Answer.of_json(200, self._release(post)) if post else self.refused(404, "Not Found")


class KeyedApi(Simple):
    NAME = "keyed-api"
    SETTINGS = {"mismatch": 400}
    ROUTES = (
        ("POST", r"/v1/posts", "write", "create"),
        ("GET", r"/v1/posts", "read", "list"),
        ("GET", r"/v1/posts/([^/]+)", "read", "show"),
    )
    MISMATCHES = {
        400: {"error": {"type": "idempotency_error", "message": "Keys can only be used with the same parameters"}},
        409: {"type": "https://example.com/idempotency-key-reused", "title": "The idempotency key was used with another payload"},
        422: {"title": "Idempotency-Key is already used", "detail": "This operation is idempotent and it requires correct usage"},
    }

    def new_id(self, number):
        return f"post_{number:04d}"

    @staticmethod
    def refused(status, code):
        return Answer.of_json(status, {"error": {"type": "invalid_request_error", "code": code}})

    def create(self, request):
        account, key = self.account_of(request), request.header("idempotency-key")
        if account is None:
            return self.refused(401, "unauthenticated")
        first = next((post for post in self.posts.newest_first() if key and post.data.get("key") == key), None)
        if first and first.data.get("sent") != request.body.decode():
            return Answer.of_json(self.settings["mismatch"], self.MISMATCHES[self.settings["mismatch"]])
        if first:
            return Answer.of_json(200, self._object(first), {"Idempotent-Replayed": "true"})
        data = {"key": key, "sent": request.body.decode(), "metadata": request.fields().get("metadata", {})}
        return self.commit(request, account, data, lambda post: Answer.of_json(201, self._object(post)))

    def _object(self, post):
        return {"id": post.data["id"], "url": f"{self.base_url}/v1/posts/{post.data['id']}", "created": post.created_ms // 1000,
                "metadata": post.data.get("metadata", {})}

    def list(self, request):
        if self.account_of(request) is None:
            return self.refused(401, "unauthenticated")
        found, after = self.shown(), request.query.get("starting_after")
        if after:
            found = found[[post.data["id"] for post in found].index(after) + 1:]
        limit = int(request.query.get("limit", 10))
        return Answer.of_json(200, {"data": [self._object(post) for post in found[:limit]], "has_more": len(found) > limit})

    def show(self, request, post_id):
        post = self.by_id(post_id)
        return Answer.of_json(200, self._object(post)) if post else self.refused(404, "resource_missing")
