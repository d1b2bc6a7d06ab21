# SPDX-License-Identifier: MIT
"""A web server with pictures, for items that have some. Behaviours played:

 1. GET /pictures/<name>.png, .jpg, .gif, .webp: bytes that differ by name, with the type of the ending, for everybody.
 2. GET /pages/<name>: a page, whatever the name promises. GET /hidden/<name>: 403. Anything else: 404.
 3. A request with a credential is refused with 400: nobody here has asked for one.
"""
from .base import Platform
from .wire import Answer

TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


def picture(name):
    """The bytes behind a name: zeros, line ends and bytes that are no text among them."""
    return b"\x89PNG\r\n\x1a\n\x00\xff--" + name.encode() + b"\r\n--\x00" * 100


class Files(Platform):
    NAME = "files"
    ROUTES = (
        ("GET", r"/pictures/([^/]+)\.(png|jpg|gif|webp)", "read", "show"),
        ("GET", r"/pages/([^/]+)", "read", "page"),
        ("GET", r"/hidden/([^/]+)", "read", "hidden"),
    )

    def content(self, request):
        return []

    def show(self, request, name, ending):
        if request.header("authorization"):
            return Answer(400, "Your credential is none of our business")
        return Answer(200, picture(name), content_type=TYPES[ending])

    def page(self, request, name):
        return Answer(200, "<html><body>Nothing to see</body></html>", content_type="text/html")

    def hidden(self, request, name):
        return Answer(403, "Not for you", content_type="text/plain")
