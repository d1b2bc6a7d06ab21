# SPDX-License-Identifier: MIT
"""Starts the simulator as a process and speaks to its admin API. For tests and the demo; landfall never uses it."""
import http.client
import json
import os
import subprocess
import sys
import urllib.parse

from .redis_row import PASSWORD_VARIABLE

TESTS_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STOP_TIMEOUT_S = 10


class AdminError(Exception):
    """The simulator refused an admin request; the text is its own."""


class Admin:
    """The admin API of a simulator that runs anywhere."""

    def __init__(self, host, port):
        self.host, self.port = host, port

    def call(self, method, endpoint, body=None, timeout_s=150, **query):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        try:
            target = f"/_admin/{endpoint}" + ("?" + urllib.parse.urlencode(query) if query else "")
            connection.request(method, target, None if body is None else json.dumps(body), {"Connection": "close"})
            answer = connection.getresponse()
            value = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status != 200:
            raise AdminError(value.get("error", str(answer.status)))
        return value

    def get(self, endpoint, /, **query):
        return self.call("GET", endpoint, **query)

    def post(self, endpoint, /, **body):
        return self.call("POST", endpoint, body)

    def fault(self, do, instance="*", on=None, times=1, **params):
        """Sets a fault; gives the rule."""
        return self.post("faults", instance=instance, on=on or {}, do=do, times=times, params=params)

    def clear_faults(self):
        return self.call("DELETE", "faults")

    def wait(self, what, count=1, instance=None, timeout_ms=10_000):
        """Waits for "holding", "gone" or a counter ("commits", "writes" ...); AdminError when it does not come."""
        return self.post("wait", **{"for": what, "count": count, "instance": instance, "timeout_ms": timeout_ms})

    def release(self, then="answer", **which):
        return self.post("release", then=then, **which)["released"]

    def report(self):
        return self.get("report")

    def delivery(self, name):
        """What the report says of one delivery (channel/item id); None if no write for it came."""
        return self.report()["deliveries"].get(name)

    def reset(self):
        return self.post("reset")


class SimulatorProcess(Admin):
    """A running simulator, as a context manager.

    instances: dicts as for POST /_admin/instances. redis: unix:/path or host:port, or None. It ends with this process,
    however that ends.
    """

    def __init__(self, instances=(), redis=None, prefix="lf", partition="0", port=0, redis_password=None):
        command = [sys.executable, "-m", "platform_sim", "--port", str(port), "--prefix", prefix,
                   "--partition", str(partition), "--exit-with-stdin"]
        if redis:
            command += ["--redis", redis]
        password = {PASSWORD_VARIABLE: redis_password} if redis_password else {}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "PYTHONPATH": TESTS_FOLDER, **password})
        line = self.process.stdout.readline()
        if not line:
            raise AdminError(f"the simulator did not start (exit code {self.process.wait(STOP_TIMEOUT_S)})")
        super().__init__("127.0.0.1", int(line))
        self.urls = {spec["name"]: self.post("instances", **spec)["base_url"] for spec in instances}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def stop(self):
        """Ends the process; gives its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        return code
