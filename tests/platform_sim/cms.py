# SPDX-License-Identifier: MIT
"""Publishing systems in which a post has a name in its address. Behaviours played:

 1. A name that is taken is never refused: the second post gets the same with -2. Nothing else betrays a repeat.
 2. WordPress: Basic with an application password; users/me says who that is, 401 `rest_not_logged_in` to nobody, whose
    search is a 400. 201 with a numeric id, slug and link. Search by `slug=a,b` with X-WP-Total; 404 `rest_post_invalid_id`.
 3. Ghost: `Authorization: Ghost <jwt>`, HS256 with the key's secret, for at most five minutes; 401 INVALID_JWT. Filters
    `slug:[a,b],canonical_url:'..'` (either), `meta.pagination` with total, page, pages and next.
 4. Hashnode: one address and GraphQL: nearly everything is answered with 200, refusals as `errors` with a code beside
    `data: null`. The operation's name in the query says what is asked.
"""
import base64
import hashlib
import hmac
import json
import re
import time

from .simple import Simple
from .texts import iso_ms
from .wire import Answer

JWT_LIFETIME_MAX_S = 300


class WordPress(Simple):
    NAME = "wordpress"
    ROUTES = (
        ("POST", r"/wp-json/wp/v2/posts", "write", "create"),
        ("GET", r"/wp-json/wp/v2/posts", "read", "list"),
        ("GET", r"/wp-json/wp/v2/posts/(\d+)", "read", "show"),
        ("GET", r"/wp-json/wp/v2/users/me", "read", "me"),
    )

    def new_id(self, number):
        return 100 + number

    def account_of(self, request):
        kind, _, encoded = request.header("authorization", "").partition(" ")
        try:
            user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except ValueError:
            return None
        return next((account for account in self.accounts if kind == "Basic" and (account.name, account.token) == (user, password)),
                    None)

    def _post(self, post):
        data = post.data
        return {"id": data["id"], "slug": data["slug"], "status": data["status"], "date_gmt": iso_ms(post.created_ms)[:19],
                "link": f"{self.base_url}/{data['slug']}/", "title": {"raw": data["title"]}, "content": {"raw": data["content"]}}

    def _refused(self, status, code):
        return Answer.of_json(status, {"code": code, "message": code, "data": {"status": status}})

    def create(self, request):
        account, given = self.account_of(request), request.fields()
        if account is None:
            return self._refused(401, "rest_not_logged_in")
        if not given.get("title") and not given.get("content"):
            return self._refused(400, "empty_content")
        data = {"title": given.get("title", ""), "content": self.as_stored(request, given.get("content", "")),
                "status": given.get("status", "draft"), "slug": self.free_name(given.get("slug") or "post", "slug")}
        return self.commit(request, account, data, lambda post: Answer.of_json(201, self._post(post)))

    def list(self, request):
        if self.account_of(request) is None:
            return self._refused(400, "rest_invalid_param")
        slugs, states = request.query.get("slug", "").split(","), request.query.get("status", "publish").split(",")
        found = [post for post in reversed(self.shown()) if post.data["slug"] in slugs and post.data["status"] in states]
        return Answer.of_json(200, [self._post(post) for post in found], {"X-WP-Total": str(len(found))})

    def show(self, request, post_id):
        post = self.by_id(post_id)
        return Answer.of_json(200, self._post(post)) if post else self._refused(404, "rest_post_invalid_id")


    def me(self, request):
        account = self.account_of(request)
        return Answer.of_json(200, {"id": account.number}) if account else self._refused(401, "rest_not_logged_in")


class Ghost(Simple):
    NAME = "ghost"
    ROUTES = (
        ("POST", r"/ghost/api/admin/posts/", "write", "create"),
        ("GET", r"/ghost/api/admin/posts/", "read", "list"),
        ("GET", r"/ghost/api/admin/posts/([0-9a-f]{24})/", "read", "show"),
    )

    def new_id(self, number):
        return f"6650c0ffee{number:014x}"

    def account_of(self, request):
        kind, _, token = request.header("authorization", "").partition(" ")
        try:
            head, claims, signature = token.split(".")
            said, asked = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, claims))
            given = base64.urlsafe_b64decode(signature + "==")
        except ValueError:
            return None
        for account in self.accounts:
            key_id, _, secret = account.token.partition(":")
            made = hmac.new(bytes.fromhex(secret), f"{head}.{claims}".encode(), hashlib.sha256).digest()
            alive = 0 <= asked["exp"] - time.time() <= JWT_LIFETIME_MAX_S + 5 and asked["aud"] == "/admin/"
            if kind == "Ghost" and said["kid"] == key_id and said["alg"] == "HS256" and alive and hmac.compare_digest(made, given):
                return account
        return None

    def secrets(self):
        return [account.token.partition(":")[2] for account in self.accounts]

    def _refused(self, status, kind, code):
        return Answer.of_json(status, {"errors": [{"message": code, "type": kind, "code": code}]})

    def _post(self, post):
        data = post.data
        return {"id": data["id"], "slug": data["slug"], "title": data["title"], "canonical_url": data.get("canonical_url"),
                "url": f"{self.base_url}/{data['slug']}/", "created_at": iso_ms(post.created_ms)}

    def create(self, request):
        account = self.account_of(request)
        given = (request.fields().get("posts") or [{}])[0]
        if account is None:
            return self._refused(401, "UnauthorizedError", "INVALID_JWT")
        if not given.get("title"):
            return self._refused(422, "ValidationError", None)
        data = {"title": given["title"], "html": self.as_stored(request, given.get("html", "")),
                "canonical_url": given.get("canonical_url"), "slug": self.free_name(given.get("slug") or "post", "slug")}
        return self.commit(request, account, data, lambda post: Answer.of_json(201, {"posts": [self._post(post)]}))

    def list(self, request):
        if self.account_of(request) is None:
            return self._refused(401, "UnauthorizedError", "INVALID_JWT")
        wanted = request.query.get("filter", "")
        slugs = re.search(r"slug:\[([^\]]*)\]", wanted)
        address = re.search(r"canonical_url:'([^']*)'", wanted)
        found = [post for post in reversed(self.shown()) if not wanted or (slugs and post.data["slug"] in slugs.group(1).split(","))
                 or (address and post.data.get("canonical_url") == address.group(1))]
        page, limit = int(request.query.get("page", 1)), int(request.query.get("limit", 15))
        pages = max(1, -(-len(found) // limit))
        about = {"page": page, "limit": limit, "pages": pages, "total": len(found), "next": page + 1 if page < pages else None}
        chosen = found[(page - 1) * limit:page * limit]
        return Answer.of_json(200, {"posts": [self._post(post) for post in chosen], "meta": {"pagination": about}})

    def show(self, request, post_id):
        post = self.by_id(post_id)
        return Answer.of_json(200, {"posts": [self._post(post)]}) if post else self._refused(404, "NotFoundError", None)


class Hashnode(Simple):
    NAME = "hashnode"
    ROUTES = (("POST", r"/", "write", "publish"),)
    QUERIES = {"ById": "by_post_id", "BySlug": "by_slug", "Posts": "list"}

    def new_id(self, number):
        return f"66f0{number:020x}"

    def route(self, request):
        """Reads and writes have one address; the operation's name tells them apart."""
        kind, handler, match = super().route(request)
        asked = re.match(r"(query|mutation)\s+(\w+)", str(request.fields().get("query")))
        if kind != "write" or not asked:
            return kind, handler, match
        return ("write" if asked.group(1) == "mutation" else "read"), self.QUERIES.get(asked.group(2), handler), match

    def account_of(self, request):
        return self.account_by_token(self.bearer(request))

    @staticmethod
    def errors(code, **data):
        answer = Answer.of_json(200, {"errors": [{"message": code, "extensions": {"code": code}}], "data": data or None})
        answer.credential_refused = code == "UNAUTHENTICATED"
        return answer

    def _post(self, post):
        data = post.data
        return {"id": data["id"], "slug": data["slug"], "url": f"{self.base_url}/{data['slug']}",
                "canonicalUrl": data.get("originalArticleURL"), "publishedAt": iso_ms(post.created_ms)}

    def publish(self, request):
        account = self.account_of(request)
        if account is None:
            return self.errors("UNAUTHENTICATED")
        given = request.fields().get("variables", {}).get("input", {})
        if len(given.get("title", "")) < 6:
            return self.errors("BAD_USER_INPUT")
        data = {**given, "slug": self.free_name(given.get("slug") or "post", "slug")}
        return self.commit(request, account, data,
                           lambda post: Answer.of_json(200, {"data": {"publishPost": {"post": self._post(post)}}}))

    def _answer(self, request, data):
        if self.account_of(request) is None:
            return self.errors("UNAUTHENTICATED")
        return Answer.of_json(200, {"data": data})

    def by_post_id(self, request):
        post = self.by_id(str(request.fields()["variables"].get("id")))
        return self._answer(request, {"post": self._post(post) if post else None})

    def by_slug(self, request):
        slug = request.fields()["variables"].get("slug")
        post = next((post for post in self.shown() if post.data["slug"] == slug), None)
        return self._answer(request, {"publication": {"id": "p1", "post": self._post(post) if post else None}})

    def list(self, request):
        nodes = [{"node": self._post(post)} for post in self.shown()]
        return self._answer(request, {"publication": {"posts": {"edges": nodes, "pageInfo": {"hasNextPage": False, "endCursor": None}}}})
