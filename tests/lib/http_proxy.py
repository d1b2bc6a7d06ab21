# SPDX-License-Identifier: MIT
"""An HTTP proxy before one server that loses requests or answers, or repeats requests, and keeps what went through.

    with HttpProxy("http://127.0.0.1:8080") as proxy:
        proxy.lose_answer("POST", "/posts")    # the server has answered in full; the client hears nothing
        proxy.lose_request("POST", "/posts")   # the server never hears of it
        proxy.repeat_itself("POST", "/posts")  # the server gets it twice; the client hears the second answer
    proxy.exchanges("POST", "/posts")      # what the server was asked and answered, in order

A server can be sure of nothing here: it sees an ordinary client with its own name in Host. Each connection has a thread;
every answer ends its connection, so that no request is sent twice because a connection was old.
"""
import http.client
import http.server
import threading
import urllib.parse

TIMEOUT_S = 60
HOP_HEADERS = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "expect"}


class Exchange:
    """One request, and its answer; status None: the server never got it."""

    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.status, self.answer_headers, self.answer = None, [], b""

    def __repr__(self):
        return f"{self.method} {self.path} -> {self.status} {self.answer[:300]!r}"


class HttpProxy:
    def __init__(self, origin):
        self.upstream = urllib.parse.urlsplit(origin).netloc
        self.lock = threading.Lock()
        self.losses, self.seen = [], []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()

    # ---- faults

    def lose_answer(self, method, part=""):
        """Once: of the next such request whose path has this part."""
        self._lose("answer", method, part)

    def lose_request(self, method, part=""):
        self._lose("request", method, part)

    def repeat_itself(self, method, part=""):
        """Once, as proxies do that take a slow server for a dead one."""
        self._lose("nothing", method, part)

    def _lose(self, what, method, part):
        with self.lock:
            self.losses.append((what, method, part))

    # ---- looking

    def exchanges(self, method, part=""):
        with self.lock:
            return [one for one in self.seen if one.method == method and part in one.path]

    def repeat(self, exchange):
        """The same request once more, straight to the server, as somebody's hand could send it; gives the new one."""
        return self._forward(Exchange(exchange.method, exchange.path, exchange.headers, exchange.body))

    # ---- inside

    def take_loss(self, exchange):
        with self.lock:
            for loss in self.losses:
                if loss[1] == exchange.method and loss[2] in exchange.path:
                    self.losses.remove(loss)
                    return loss[0]
            return None

    def pass_on(self, exchange):
        with self.lock:
            self.seen.append(exchange)
        return self._forward(exchange)

    def _forward(self, exchange):
        link = http.client.HTTPConnection(self.upstream, timeout=TIMEOUT_S)
        try:
            link.putrequest(exchange.method, exchange.path, skip_accept_encoding=True)
            for name, value in exchange.headers:
                link.putheader(name, value)
            if exchange.body is not None:
                link.putheader("Content-Length", str(len(exchange.body)))
            link.endheaders(exchange.body)
            answer = link.getresponse()
            exchange.answer = answer.read()
            exchange.answer_headers, exchange.status = answer.getheaders(), answer.status
        finally:
            link.close()
        return exchange


class _Handler(http.server.BaseHTTPRequestHandler):
    proxy = None

    def handle_request(self):
        length = self.headers.get("content-length")
        body = self.rfile.read(int(length)) if length is not None else None
        headers = [(name, value) for name, value in self.headers.items() if name.lower() not in HOP_HEADERS]
        exchange = Exchange(self.command, self.path, headers, body)
        self.close_connection = True
        loss = self.proxy.take_loss(exchange)
        if loss == "request":
            with self.proxy.lock:
                self.proxy.seen.append(exchange)
            return
        self.proxy.pass_on(exchange)
        if loss == "nothing":
            exchange = self.proxy.repeat(exchange)
        if loss == "answer":
            return
        self.send_response_only(exchange.status)
        for name, value in exchange.answer_headers:
            if name.lower() not in HOP_HEADERS:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(exchange.answer)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(exchange.answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_request

    def log_message(self, *words):
        pass
