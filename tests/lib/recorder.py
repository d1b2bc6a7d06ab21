# SPDX-License-Identifier: MIT
"""A web server for tests that keeps what it is asked and answers every request alike.

    with Recorder({"id": "1"}) as recorder:
        ... recorder.url, recorder.requests: (method, path, headers, body)
"""
import http.server
import json
import threading


class Recorder(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer, headers=None, status=200, address=("127.0.0.1", 0)):
        super().__init__(address, Handler)
        self.status, self.head, self.answer = status, headers or {}, json.dumps(answer).encode()
        self.requests = []
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self):
        return f"http://{self.server_address[0]}:{self.server_address[1]}"

    def handle_error(self, *_):
        """A worker that is killed leaves its connections."""

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.shutdown()
        self.server_close()
        self.thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, dict(self.headers.items()), body))
        self.send_response(self.server.status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(self.server.answer)), **self.server.head}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    def log_message(self, *_):
        pass
