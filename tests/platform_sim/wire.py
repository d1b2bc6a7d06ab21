# SPDX-License-Identifier: MIT
"""HTTP/1.1 on raw sockets: requests are read and answers written byte by byte under our own control.

This file owns sockets. It knows nothing of platforms, faults or deliveries. It is not built on http.server, because
a fault must be exact on the wire: which segment is the last one, whether a connection ends with FIN or RST, how many
requests it carried before. One thread serves one connection.
"""
import email
import email.policy
import json
import select
import socket
import struct
import threading
import time
import urllib.parse
from email.utils import formatdate
from http import HTTPStatus

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 32 * 1024 * 1024
BACKLOG = 512
LOOPBACK = "127.0.0.1"
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class BadRequest(Exception):
    """The peer did not speak HTTP/1.x; the text says what was wrong."""


class Answer:
    """A complete answer. Content-Length, Date and Connection are added when it is written.

    credential_refused: the request was refused for its credential alone, before any effect.
    """

    def __init__(self, status, body=b"", headers=None, content_type=None):
        self.status = status
        self.body = body.encode() if isinstance(body, str) else body
        self.headers = list((headers or {}).items())
        self.credential_refused = status == 401
        if content_type:
            self.headers.append(("Content-Type", content_type))

    @classmethod
    def of_json(cls, status, value, headers=None):
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        return cls(status, body, headers, "application/json; charset=utf-8")

    def head(self, framing, keep_alive=True):
        """The status line and all header lines; framing is the line that says where the body ends."""
        try:
            reason = HTTPStatus(self.status).phrase
        except ValueError:
            reason = "Unassigned"
        lines = [f"HTTP/1.1 {self.status} {reason}", f"Date: {formatdate(usegmt=True)}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += framing if isinstance(framing, list) else [framing]
        lines.append("Connection: keep-alive" if keep_alive else "Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")


class Request:
    """One request as it came. `path` is below the instance; `directives` is what faults ask of the platform."""

    def __init__(self, method, target, headers):
        self.method = method
        self.target = target
        self.headers = headers
        parts = urllib.parse.urlsplit(target)
        self.path = parts.path
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        self.body = b""
        self.connection_number = 0
        self.number_on_connection = 0
        self.directives = {}
        self.deliveries = []
        self.on_commit = lambda external_id: None

    def header(self, name, default=None):
        return self.headers.get(name.lower(), default)

    @property
    def media_type(self):
        return self.header("content-type", "").split(";")[0].strip().lower()

    @property
    def expects_continue(self):
        return self.header("expect", "").lower() == "100-continue"

    @property
    def keep_alive(self):
        return self.header("connection", "").lower() != "close"

    def json(self):
        """The body as JSON, or None if it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def parts(self):
        """The parts of a multipart/form-data body: name -> (content type or None, bytes); empty if it is none."""
        declared = f"Content-Type: {self.header('content-type', '')}\r\n\r\n".encode()
        if self.media_type != "multipart/form-data":
            return {}
        message = email.message_from_bytes(declared + self.body, policy=email.policy.HTTP)
        return {part.get_param("name", header="content-disposition"):
                (part.get_content_type() if part.get_filename() else None, part.get_payload(decode=True))
                for part in message.iter_parts()}

    def fields(self):
        """The body's fields, from JSON or from a form; an empty dict if it is neither."""
        if self.media_type == "application/json":
            value = self.json()
            return value if isinstance(value, dict) else {}
        text = self.body.decode("utf-8", "replace")
        return dict(urllib.parse.parse_qsl(text, keep_blank_values=True))


class Connection:
    """An accepted socket. close() may be called from any thread, and more than once."""

    def __init__(self, sock, number):
        self.sock = sock
        self.number = number
        self.requests = 0
        self._buffer = b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read_head(self):
        """The next request without its body, or None when the peer has gone."""
        while b"\r\n\r\n" not in self._buffer:
            if len(self._buffer) > HEAD_BYTES_MAX:
                raise BadRequest("header too long")
            data = self.sock.recv(65536)
            if not data:
                return None
            self._buffer += data
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        try:
            method, target, version = lines[0].split(" ")
        except ValueError as error:
            raise BadRequest("bad request line") from error
        if not version.startswith("HTTP/1."):
            raise BadRequest("not HTTP/1.x")
        headers = {}
        for line in lines[1:]:
            name, separator, value = line.partition(":")
            if not separator:
                raise BadRequest("bad header line")
            headers[name.strip().lower()] = value.strip()
        self.requests += 1
        request = Request(method, target, headers)
        request.connection_number = self.number
        request.number_on_connection = self.requests
        return request

    def read_body(self, request):
        """Reads the body into the request; False when the peer went away before its end."""
        if request.header("transfer-encoding", "").lower() == "chunked":
            return self._read_chunks(request)
        try:
            length = int(request.header("content-length", "0"))
        except ValueError as error:
            raise BadRequest("bad Content-Length") from error
        if not 0 <= length <= BODY_BYTES_MAX:
            raise BadRequest("bad Content-Length")
        request.body = self._read_exactly(length)
        return request.body is not None

    def _read_exactly(self, count):
        parts = [self._buffer]
        missing = count - len(self._buffer)
        while missing > 0:
            data = self.sock.recv(min(missing, 1 << 20) if missing > 65536 else 65536)
            if not data:
                return None
            parts.append(data)
            missing -= len(data)
        data = b"".join(parts)
        self._buffer = data[count:]
        return data[:count]

    def _read_line(self):
        while b"\r\n" not in self._buffer:
            data = self.sock.recv(65536)
            if not data:
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line

    def _read_chunks(self, request):
        body = b""
        while True:
            line = self._read_line()
            if line is None:
                return False
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError as error:
                raise BadRequest("bad chunk size") from error
            if len(body) + size > BODY_BYTES_MAX:
                raise BadRequest("body too long")
            data = self._read_exactly(size + 2)
            if data is None:
                return False
            body += data[:size]
            if size == 0:
                request.body = body
                return True

    def send_continue(self):
        self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    def send(self, answer, request):
        """Writes the whole answer. No body where HTTP forbids one (HEAD, 204, 304)."""
        bodiless = request.method == "HEAD" or answer.status in (204, 304)
        framing = [] if answer.status == 204 else f"Content-Length: {len(answer.body)}"
        head = answer.head(framing, request.keep_alive)
        self.sock.sendall(head if bodiless else head + answer.body)

    def send_bytes(self, data):
        self.sock.sendall(data)

    def wait_gone(self, timeout_ms):
        """Waits until the peer has closed or reset the connection; False if it has not."""
        poller = select.poll()
        try:
            poller.register(self.sock, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
            return bool(poller.poll(timeout_ms))
        except (OSError, ValueError):
            return True

    def close(self, how="fin"):
        """Ends the connection: "fin" in order, "rst" by a reset."""
        try:
            if how == "rst":
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            else:
                self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()

    def abandon(self):
        """Wakes the thread that serves the connection, whatever it waits for on the socket."""
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Listener:
    """A listening socket and the thread that accepts. It keeps its port over pause()."""

    def __init__(self, port, serve, address=LOOPBACK):
        self._address = address
        self._serve = serve
        self._sock = None
        self._closed = False
        self._lock = threading.Lock()
        self.port = port
        self._open()

    def _open(self):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((self._address, self.port))
            sock.listen(BACKLOG)
        except OSError:
            sock.close()
            raise
        self.port = sock.getsockname()[1]
        self._sock = sock
        threading.Thread(target=self._accept, args=(sock,), daemon=True).start()

    def _accept(self, sock):
        while True:
            try:
                peer, _ = sock.accept()
            except ConnectionError:
                continue
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer, self), daemon=True).start()

    def _shut(self):
        if self._sock is not None:
            self._sock.shutdown(socket.SHUT_RDWR)
            self._sock.close()
            self._sock = None

    def pause(self, pause_ms):
        """From now on connections are refused; after pause_ms the same port listens again."""
        with self._lock:
            self._shut()
        threading.Thread(target=self._reopen, args=(pause_ms,), daemon=True).start()

    def _reopen(self, pause_ms):
        time.sleep(pause_ms / 1000)
        for _ in range(100):
            with self._lock:
                if self._closed or self._sock is not None:
                    return
                try:
                    self._open()
                    return
                except OSError:
                    pass
            time.sleep(0.05)

    def close(self):
        with self._lock:
            self._closed = True
            self._shut()
