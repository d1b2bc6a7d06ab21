# SPDX-License-Identifier: MIT
"""A small fleet for tests: a private Redis, the fake platforms, a configuration, and the real programs.

    with Fleet(["mastodon", "webhook"]) as fleet:
        fleet.add("mastodon/brand", fleet.item("it-1"))
        fleet.run_worker()                       # --until-idle, waits for its end
        fleet.row("mastodon/brand/it-1")["state"]

Times are short, so that leases end and settle windows pass within a test; they are the channel's own `times`.
"""
import collections
import http.client
import json
import os
import re
import shutil
import tempfile

from lib.procs import Process, free_port, wait_for
from lib.redis_proxy import RedisProxy
from lib.redis_server import RedisServer
from lib.tree import TOP, program
from platform_sim.client import SimulatorProcess

# Lease 6.5 s: a write of at most 1.5 s, and the 5 s that a round trip may take.
TIMES = {"lease_ms": 6500, "late_commit_ms": 300, "visibility_lag_ms": 300, "margin_ms": 100, "clean_misses": 2}
WRITE_LIMIT_MS = 1500
SECRETS = {
    "mastodon": "tok-masto-7f3a9c", "webhook": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "forem": "key-forem-81be22",
    "indexnow": "k3y-indexnow-55aa91", "bluesky": "app-pass-blue-90cd",
}
CHANNELS = {name: f"{name}/brand" for name in SECRETS}
# For channel=: no pause between posts, so that dozens of deliveries go through at once.
UNPACED = {name: {"pace": {"spacing_ms": 0, "burst": 1}} for name in SECRETS}
STATES_SETTLED = ("published", "rejected")


class Fleet:
    def __init__(self, platforms=("mastodon",), environment="test", channel=None, config=None, redis_options=None, instances=None,
                 secrets=None, redis_password=None, metrics=False, proxied=False, descriptors=()):
        """channel: platform -> members of its channel; config: members of the file; instances: platform -> settings of its
        fake; secrets: other ones than SECRETS; metrics: the worker's page, see get() and metric(); proxied: programs reach
        Redis through self.proxy (the fake platforms do not); descriptors: more of them than are shipped, or others under their
        names."""
        self.dir = tempfile.mkdtemp(prefix="landfall-fleet-")
        self.secrets, self.redis_password = {**SECRETS, **(secrets or {})}, redis_password
        self.metrics_port = free_port() if metrics else None
        self.redis = RedisServer(**({"requirepass": redis_password} if redis_password else {}), **(redis_options or {}))
        self.platforms, self.environment = list(platforms), environment
        self.channel_extra, self.config_extra, self.instances = channel or {}, config or {}, instances or {}
        self.descriptors, self.channels_added = list(descriptors), {}
        self.processes, self.sim = [], None
        self.proxy = RedisProxy(self.redis.socket_path) if proxied else None

    def __enter__(self):
        self.redis.__enter__()
        if self.proxy:
            self.proxy.__enter__()
        self.db = self.redis.client(password=self.redis_password, encoding_errors="replace")
        self.sim = SimulatorProcess([self._instance(p) for p in self.platforms], redis=f"unix:{self.redis.socket_path}",
                                    redis_password=self.redis_password)
        self.config_path = os.path.join(self.dir, "landfall.json")
        self.write_config()
        return self

    def __exit__(self, *exc):
        for process in self.processes:
            if process.running:
                process.kill()
        if self.sim:
            self.sim.stop()
        if self.proxy:
            self.proxy.__exit__(*exc)
        self.redis.__exit__(*exc)
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- configuration

    def _instance(self, platform):
        spec = {"name": platform, "platform": platform, "channel": CHANNELS[platform], "token": self.secrets[platform], "own_port": True}
        return {**spec, **self.instances.get(platform, {})}

    @property
    def redis_url(self):
        return self.proxy.url if self.proxy else f"unix://{self.redis.socket_path}"

    def settings(self, platform):
        url = self.sim.urls[platform]
        if platform == "webhook":
            return {"url": url}
        return {"instance": url, **({"identifier": "lf.example"} if platform == "bluesky" else {})}

    def _channel(self, channel, token, settings, members):
        secret = self.write_secret(channel.replace("/", "."), token + "\n")
        return {"platform": channel.split("/")[0], "settings": settings, "credential": {"file": secret},
                "times": dict(TIMES), "write_limit_ms": WRITE_LIMIT_MS, **members}

    def _descriptor_folders(self):
        folders = [os.path.join(TOP, "platforms", "descriptors")]
        if self.descriptors:
            folders.insert(0, os.path.join(self.dir, "descriptors"))
            os.makedirs(folders[0], exist_ok=True)
        for descriptor in self.descriptors:
            with open(os.path.join(folders[0], descriptor["platform"] + ".json"), "w", encoding="utf-8") as out:
                json.dump(descriptor, out)
        return folders

    def write_config(self):
        channels = dict(self.channels_added)
        for platform in self.platforms:
            extra = dict(self.channel_extra.get(platform, {}))
            settings = {**self.settings(platform), **extra.pop("settings_extra", {})}
            channels[CHANNELS[platform]] = {
                "platform": platform, "settings": settings,
                "credential": {"file": self.write_secret(platform, self.secrets[platform] + "\n")}, "times": dict(TIMES),
                "write_limit_ms": WRITE_LIMIT_MS, **extra,
            }
        config = {
            "environment": self.environment, "redis": {"url": self.redis_url}, "channels": channels,
            "descriptors": self._descriptor_folders(),
            "worker": {"reclaim_idle_ms": 300, "grace_ms": 5000}, "delivery": {"backoff_base_ms": 200, "backoff_cap_ms": 1000,
                         "handed_back_per_minute": 6000},
        }
        if self.redis_password:
            config["redis"]["password_file"] = self.write_secret("redis", self.redis_password + "\n")
        config["metrics"] = {"listen": f"127.0.0.1:{self.metrics_port}" if self.metrics_port else "off"}
        for section, members in self.config_extra.items():
            config[section] = {**config.get(section, {}), **members} if isinstance(members, dict) else members
        with open(self.config_path, "w", encoding="utf-8") as out:
            json.dump(config, out, indent=1)

    def write_secret(self, name, content):
        """The file that a credential comes from; gives its path."""
        path = os.path.join(self.dir, name + ".secret")
        with open(path, "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        return path

    def add_fake(self, name, platform, channel, token, **settings):
        """One more fake instance, on a port of its own, with one account; gives its base URL."""
        spec = {"name": name, "platform": platform, "channel": channel, "token": token, "own_port": True}
        self.sim.urls[name] = self.sim.post("instances", **{**spec, **settings})["base_url"]
        return self.sim.urls[name]

    def add_channel(self, channel, token, settings, **members):
        """One more channel in the configuration, for processes that start from now on."""
        self.channels_added[channel] = self._channel(channel, token, settings, members)
        self.write_config()

    # ---- input

    @staticmethod
    def item(item_id, **members):
        url = f"https://blog.example/p/{item_id}"
        return {"id": item_id, "url": url, "title": f"Title of {item_id}", "content_text": f"Text of {item_id} {url}", **members}

    def add(self, channel, item):
        """XADD, as any producer would do it."""
        return self.db.xadd("lf:{0}:queue", {"channel": channel, "item": json.dumps(item)})

    def add_many(self, channel, ids):
        """One item of each id; the names of the deliveries."""
        pipe = self.db.pipeline(transaction=False)
        for item_id in ids:
            pipe.xadd("lf:{0}:queue", {"channel": channel, "item": json.dumps(self.item(item_id))})
        pipe.execute()
        return [f"{channel}/{item_id}" for item_id in ids]

    # ---- processes

    def start(self, program_name, *args, crash_at=None, env=None, name=None, stdin=None):
        environment = {"HOME": self.dir, "PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "detect_leaks=0", **(env or {})}
        if crash_at:
            environment["LANDFALL_CRASH_AT"] = crash_at
        argv = [program(program_name), *args]
        name = name or f"{program_name}-{len(self.processes) + 1}"
        process = Process(argv, self.dir, name=name, env=environment, env_only=True, cwd=self.dir, stdin=stdin)
        self.processes.append(process)
        return process

    def start_worker(self, *args, **kwargs):
        return self.start("landfall-worker", "--config", self.config_path, *args, **kwargs)

    def start_reconciler(self, *args, **kwargs):
        return self.start("landfall-reconciler", *(args or ("run",)), "--config", self.config_path, **kwargs)

    def run_worker(self, *args, timeout_s=30, **kwargs):
        """Works until nothing is due; gives the exit code."""
        return self.start_worker("--until-idle", *args, **kwargs).wait(timeout_s)

    # ---- looking

    def get(self, path="/metrics"):
        """(status, text) of the worker's own page; (0, "") while nobody answers there."""
        link = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=5)
        try:
            link.request("GET", path)
            answer = link.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            link.close()

    def ready(self, status):
        """The words of /ready if it answers with this status, else None."""
        answer = self.get("/ready")
        return answer[1] if answer[0] == status else None

    def metric(self, name, **labels):
        """Sum of the series of a metric that carry these labels; None where there is none."""
        return metric_of(self.get()[1], name, **labels)

    def refused(self):
        """Input that never became a delivery: entry id -> why."""
        return {fields["entry"]: fields["why"] for _, fields in self.db.xrange("lf:{0}:refused")}

    def hurry(self, *deliveries):
        """Their time has come: what waits on the agenda is due now. The ledger asks all conditions again."""
        for delivery in deliveries:
            self.db.zadd("lf:{0}:agenda", {f"delivery:{delivery}": 1}, xx=True)

    def row(self, delivery):
        return self.db.hgetall(f"lf:{{0}}:delivery:{delivery}")

    def state(self, delivery):
        return self.row(delivery).get("state")

    def wait_state(self, delivery, *states, timeout_s=30):
        return wait_for(lambda: self.state(delivery) in states and self.row(delivery), timeout_s,
                        what=lambda: f"{delivery} to become {'/'.join(states)}; it is {self.row(delivery)}\n{self.output()}")

    def states(self, deliveries):
        """How many of the deliveries are in which state; None: no row."""
        pipe = self.db.pipeline(transaction=False)
        for delivery in deliveries:
            pipe.hget(f"lf:{{0}}:delivery:{delivery}", "state")
        return dict(collections.Counter(pipe.execute()))

    def wait_states(self, deliveries, state, timeout_s=30):
        """Until all of them are in the state."""
        wait_for(lambda: self.states(deliveries) == {state: len(deliveries)}, timeout_s,
                 what=lambda: f"{len(deliveries)} deliveries to become {state}: {self.states(deliveries)}\n{self.output()}")

    def output(self):
        return "\n".join(f"--- {p.name}\n{p.tail()}" for p in self.processes)

    def check_judge(self, **commits):
        """What the fake platforms saw: no violation, and so many commits of each delivery (0 or 1 where none is said)."""
        report = self.sim.report()
        assert report["violations"] == [], report["violations"]
        for delivery, seen in report["deliveries"].items():
            assert seen["commits"] <= 1 or not self._harmful(seen["instance"]), (delivery, seen)
        for delivery, count in commits.items():
            assert report["deliveries"].get(delivery, {}).get("commits", 0) == count, report["deliveries"]
        return report

    @staticmethod
    def _harmful(instance):
        return instance not in ("indexnow", "webhook")


def metric_of(page, name, **labels):
    """Sum of the series of a metric that carry these labels; None where there is none."""
    found = [float(value) for series, value in re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", page, re.M)
             if all(f'{label}="{wanted}"' in series.split(",") for label, wanted in labels.items())]
    return sum(found) if found else None
