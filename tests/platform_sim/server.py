# SPDX-License-Identifier: MIT
"""The simulator: instances, listeners, and the way of one request through judge, faults and platform.

Order for each request: read in full, judged (with the row from Redis), given its fault, answered. Nothing of an answer
leaves before the judge has seen the request.
"""
import sys
import threading
import traceback

from . import admin
from .base import SettingError
from .bluesky import Bluesky
from .chat import Matrix, Slack, Telegram
from .cms import Ghost, Hashnode, WordPress
from .communities import Lemmy, Misskey
from .faults import ACTIONS, Faults, Holds
from .files import Files
from .forem import Forem
from .grants import Grants
from .indexnow import IndexNow
from .judge import Judge
from .mastodon import Mastodon
from .mediawiki import MediaWiki
from .notices import Notices
from .services import GitHubReleases, KeyedApi, Postmark
from .webhook import Webhook
from .wire import LOOPBACK, Answer, BadRequest, Connection, Listener

PLATFORMS = {platform.NAME: platform for platform in (
    IndexNow, Mastodon, Forem, Bluesky, Webhook, Notices, Files, WordPress, Ghost, Hashnode, Slack, Matrix, Telegram, Postmark,
    GitHubReleases, KeyedApi, MediaWiki, Grants, Misskey, Lemmy)}
THREAD_STACK_BYTES = 512 * 1024
SECRET_CHARACTERS_MIN = 4


class Exchange:
    """One request on its way: what a fault may do with it. `over`: the connection has ended."""

    def __init__(self, simulator, listener, connection, instance, request, writes):
        self.simulator = simulator
        self.listener = listener
        self.connection = connection
        self.instance = instance
        self.request = request
        self.over = False
        self.end = "open"
        self._writes = writes
        self._step = None
        self._answer = None

    def receive(self):
        """Lets the platform check the request; what it commits is still to come."""
        if self._step is None:
            self._step = self.instance.receive(self.request)

    def answer(self):
        """Lets the platform finish the request, once, and gives its answer."""
        if self._answer is None:
            self.receive()
            self._answer = self._step if isinstance(self._step, Answer) else self._step()
        return self._answer

    def send(self, answer):
        if self.over:
            return
        # Before the bytes leave: whoever reads the answer may look at the report at once.
        self.simulator.judge.answered(self._writes, answer)
        try:
            self.connection.send(answer, self.request)
            self.end = str(answer.status)
        except OSError:
            self._gone()

    def send_bytes(self, data):
        if self.over:
            return
        try:
            self.connection.send_bytes(data)
            self.end = "cut"
        except OSError:
            self._gone()

    def _gone(self):
        self.connection.close()
        self.over, self.end = True, "client gone"

    def close(self, how):
        if not self.over:
            self.connection.close(how)
            self.over, self.end = True, how if self.end == "open" else f"{self.end}, {how}"

    def sleep(self, sleep_ms):
        self.simulator.stopping.wait(sleep_ms / 1000)


class Simulator:
    """rows: a RowReader, or None where no ledger is asked. Listens as soon as it exists."""

    def __init__(self, port=0, rows=None, host=LOOPBACK):
        self.host = host
        threading.stack_size(THREAD_STACK_BYTES)
        self.stopping = threading.Event()
        self.changes = threading.Condition()
        self.judge = Judge(rows, self.changed)
        self.faults = Faults()
        self.holds = Holds(self.changed)
        self.instances = {}
        self._specs = {}
        self._listeners = {}
        self._connections = {}
        self._connection_numbers = 0
        self._lock = threading.Lock()
        self._main = Listener(port, self._serve, self._address())

    @property
    def port(self):
        return self._main.port

    def _address(self):
        return LOOPBACK if self.host == LOOPBACK else "0.0.0.0"

    def changed(self):
        with self.changes:
            self.changes.notify_all()

    # -- instances ----------------------------------------------------------------------------------------------

    def add_instance(self, name, platform, channel=None, token=None, username="lf", own_port=False, **settings):
        """Makes an instance with one account; more by add_account. own_port: it listens on a port of its own too."""
        if platform not in PLATFORMS:
            raise SettingError(f"there is no platform {platform!r}; there are {', '.join(sorted(PLATFORMS))}")
        if not name or "/" in name or name.startswith("_"):
            raise SettingError(f"{name!r} cannot be an instance's name: it is the first part of its path")
        if not channel or not token:
            raise SettingError(f"instance {name} needs channel and token")
        instance = PLATFORMS[platform](name, settings)
        instance.add_account(channel, token, username)
        port = self.port
        if own_port in (True, "true", "1"):
            with self._lock:
                if name not in self._listeners:
                    self._listeners[name] = Listener(0, self._serve, self._address())
                port = self._listeners[name].port
        instance.base_url = f"http://{self.host}:{port}/{name}"
        with self._lock:
            self.instances[name] = instance
            self._specs[name] = {"name": name, "platform": platform, "channel": channel, "token": token,
                                 "username": username, "own_port": own_port, **settings}
        return instance

    def instance(self, name):
        if name not in self.instances:
            known = ", ".join(sorted(self.instances)) or "none"
            raise SettingError(f"there is no instance {name!r}; there are {known}")
        return self.instances[name]

    def has_own_port(self, name):
        return name in self._listeners

    def reset(self):
        """Forgets posts, faults, counts and settings made later; the instances stay as they were first made."""
        self.faults.clear()
        self.holds.release("close")
        for spec in list(self._specs.values()):
            self.add_instance(**spec)
        self.judge.clear()

    def without_secrets(self, text):
        secrets = [secret for instance in self.instances.values() for secret in instance.secrets()]
        for secret in secrets:
            if len(secret) >= SECRET_CHARACTERS_MIN:
                text = text.replace(secret, "***")
        return text

    # -- connections --------------------------------------------------------------------------------------------

    def connection_count(self):
        with self._lock:
            return len(self._connections)

    def abandon_connections(self, listener, but):
        """Ends all connections that came by a listener, except one."""
        with self._lock:
            chosen = [connection for connection, came_by in self._connections.items()
                      if came_by is listener and connection is not but]
        for connection in chosen:
            connection.abandon()

    def _serve(self, sock, listener):
        with self._lock:
            self._connection_numbers += 1
            connection = Connection(sock, self._connection_numbers)
            self._connections[connection] = listener
        try:
            while self._serve_one(connection, listener):
                pass
        except BadRequest as error:
            try:
                connection.send_bytes(Answer(400).head("Content-Length: 0", keep_alive=False))
            except OSError:
                pass
            print(f"platform_sim: {error}", file=sys.stderr, flush=True)
        except OSError:
            pass
        finally:
            with self._lock:
                del self._connections[connection]
            connection.close()

    def _serve_one(self, connection, listener):
        """Serves one request; True if the connection may carry another."""
        request = connection.read_head()
        if request is None:
            return False
        name = request.path.split("/")[1] if request.path.startswith("/") else ""
        if name == "_admin":
            if connection.read_body(request):
                connection.send(admin.handle(self, request), request)
            return request.keep_alive
        instance = self.instances.get(name)
        if instance is None:
            connection.send(Answer(404, f"no instance {name!r}\n", content_type="text/plain"), request)
            return False
        request.path = request.path[len(name) + 1:] or "/"
        request.target = request.target[len(name) + 1:] or "/"
        kind, handler, _ = instance.route(request)
        if request.expects_continue and not self._expectation(connection, listener, instance, request, kind, handler):
            return False
        if not connection.read_body(request):
            return False
        kind, handler, _ = instance.route(request)  # where reads and writes share an address, the body tells
        return self._judged(connection, listener, instance, request, kind, handler)

    def _expectation(self, connection, listener, instance, request, kind, handler):
        """Answers `Expect: 100-continue`; False if that was the last word."""
        rule = self.faults.take(instance, request, kind, handler, at_head=True)
        if rule is None:
            connection.send_continue()
            return True
        if rule.params["status"] == 0:
            return True
        ACTIONS[rule.name](Exchange(self, listener, connection, instance, request, []), **rule.params)
        return False

    def _judged(self, connection, listener, instance, request, kind, handler):
        number, writes = self.judge.arrived(instance, request, kind)
        rule = self.faults.take(instance, request, kind, handler)
        exchange = Exchange(self, listener, connection, instance, request, writes)
        names = request.directives.get("names", []) + ([rule.name] if rule else [])
        try:
            if rule is None:
                exchange.send(exchange.answer())
            else:
                ACTIONS[rule.name](exchange, **rule.params)
        except Exception:  # a fault of the simulator must fail the test that met it, and end with a clear report
            trace = self.without_secrets(traceback.format_exc())
            print(trace, file=sys.stderr, flush=True)
            self.judge.simulator_failed(instance, trace.strip().splitlines()[-1])
            exchange.close("rst")
        target = self.without_secrets(request.target)
        self.judge.log(number, instance, request, kind, target, "+".join(names) or None, exchange.end)
        return not exchange.over and request.keep_alive

    def stop(self):
        self.stopping.set()
        self.holds.release("close")
        with self._lock:
            connections = list(self._connections)
            listeners = [self._main, *self._listeners.values()]
        for listener in listeners:
            listener.close()
        for connection in connections:
            connection.abandon()
