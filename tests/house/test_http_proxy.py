# SPDX-License-Identifier: MIT
"""lib/http_proxy: what is lost is lost on the right side of the server, once, and everything else arrives as it was sent."""
import http.client
import http.server
import threading

import pytest

from lib.http_proxy import HttpProxy


@pytest.fixture
def server():
    """Answers with what it was asked; `asked` is the list of it."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            asked.append((self.path, self.headers["host"], self.headers["x-mine"], body))
            self.send_response(409 if b"no" in body else 201)
            self.send_header("X-Number", str(len(asked)))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass
    one = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.asked, one.origin = asked, f"http://127.0.0.1:{one.server_address[1]}"
    threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield one
    one.shutdown()
    one.server_close()


@pytest.fixture
def proxy(server):
    with HttpProxy(server.origin) as one:
        yield one


def post(proxy, path, body):
    """(status, number, body), or None where no answer came."""
    link = http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=20)
    try:
        link.request("POST", path, body, {"X-Mine": "mine"})
        answer = link.getresponse()
        return answer.status, answer.headers["x-number"], answer.read()
    except http.client.RemoteDisconnected:
        return None
    finally:
        link.close()


def test_it_passes_on_what_it_is_given(server, proxy):
    assert post(proxy, "/a?b=c", b"\x00yes") == (201, "1", b"\x00yes")
    assert post(proxy, "/a", b"no") == (409, "2", b"no")
    host = server.origin.removeprefix("http://")
    assert server.asked == [("/a?b=c", host, "mine", b"\x00yes"), ("/a", host, "mine", b"no")]
    assert [one.status for one in proxy.exchanges("POST", "/a")] == [201, 409] and proxy.exchanges("GET") == []


def test_an_answer_is_lost_once_and_after_the_server_gave_it(server, proxy):
    proxy.lose_answer("POST", "/posts")
    assert post(proxy, "/other", b"x") == (201, "1", b"x")
    assert post(proxy, "/posts", b"y") is None
    assert [body for *_, body in server.asked] == [b"x", b"y"] and proxy.exchanges("POST", "/posts")[0].answer == b"y"
    assert post(proxy, "/posts", b"y") == (201, "3", b"y")


def test_a_request_is_lost_once_and_before_the_server_hears_of_it(server, proxy):
    proxy.lose_request("POST", "/posts")
    assert post(proxy, "/posts", b"x") is None and server.asked == []
    assert proxy.exchanges("POST")[0].status is None
    assert post(proxy, "/posts", b"x") == (201, "1", b"x")


def test_a_repeat_is_the_same_request(server, proxy):
    post(proxy, "/posts", b"x")
    again = proxy.repeat(proxy.exchanges("POST")[0])
    assert again.status == 201 and server.asked[0] == server.asked[1] and len(proxy.exchanges("POST")) == 1
