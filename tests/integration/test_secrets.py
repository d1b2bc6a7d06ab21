# SPDX-License-Identifier: MIT
"""Planted secrets are found nowhere but in their file and on the wire to their own platform, whatever goes wrong."""
import base64
import hashlib
import json
import os
import re
import signal
import socket
import threading

import pytest

from lib.canary import Monitor, everything, forms, found
from lib.fleet import UNPACED, Fleet
from lib.procs import free_port, wait_for

# Characters that JSON, URLs and base64 write in other ways; IndexNow takes letters, digits and - only.
CANARIES = {
    "mastodon": 'Zq7mastodon/7f3a+%41?&"x', "forem": "Zq7forem/81be+22=%25", "bluesky": 'Zq7bluesky "90/cd+ & x',
    "indexnow": "Zq7indexnow-55aa91-Zz", "redis": 'Zq7redis/"04+%20', "path": "Zq7path-12345:AAbb_cc",
    "basic": 'Zq7basic/+"&=',
    "hook key": "Zq7hook-signing-key-0123", "listen": "Zq7dns/90+ab?",
}
HOOK_SECRET = "whsec_" + base64.b64encode(CANARIES["hook key"].encode()).decode()
TOKENS = {**{name: CANARIES[name] for name in ("mastodon", "forem", "bluesky", "indexnow")}, "webhook": HOOK_SECRET}


def descriptor(name, auth, request):
    return {"platform": name, "title": name, "docs": ["https://example.org"], "instance": "instance",
            "settings": {"instance": {"type": "origin", "required": True, "help": "Where it is."}},
            "auth": auth, "tier": "ping", "repeats": "harmless",
            "write": {"request": {"method": "POST", **request}, "limit_ms": 5000, "gives_id": False},
            "accept": [{"status": [200], "outcome": "committed"}]}


PATHY = descriptor("pathy", {"kind": "path"}, {
    "url": '.settings.instance + "/bot" + .hole.secret + "/send?token=" + .hole.secret',
    "body": {"form": "{text: .item.title, key: .hole.secret}"}})
BASICS = descriptor("basics", {"kind": "basic"}, {
    "url": '.settings.instance + "/send"', "body": {"json": "{text: .item.title}"}})


class Echo(threading.Thread):
    """A server that answers every request with all that it got; the path's last part of the item says how."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.requests, self.answer = self.socket.getsockname()[1], [], "401 Unauthorized"

    def run(self):
        while True:
            try:
                link, _ = self.socket.accept()
            except OSError:
                return
            with link:
                link.settimeout(2)
                request = b""
                try:
                    while b"\r\n\r\n" not in request or len(request.split(b"\r\n\r\n", 1)[1]) < self._length(request):
                        part = link.recv(65536)
                        if not part:
                            break
                        request += part
                except OSError:
                    continue
                self.requests.append(request)
                path = request.split(b" ")[1] if b" " in request else b"/"
                body = json.dumps({"error": request.decode("latin-1")}).encode()
                link.sendall(b"HTTP/1.1 %s\r\nLocation: http://127.0.0.1:1%s\r\nX-Echo: %s\r\nConnection: close\r\n"
                             b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                             % (self.answer.encode(), path, path, len(body)) + body)

    @staticmethod
    def _length(request):
        match = re.search(rb"(?i)content-length: (\d+)", request)
        return int(match.group(1)) if match else 0

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


HOLES = ('hole {{secret}} @hole .hole.secret \\u0001 {"hole":"secret"} ${secret} {"hole":"secret","as":"json"} '
         '%hole% hole.session.token')


ENVIRONMENT = {"LF_MASTODON": CANARIES["mastodon"], "LF_BASIC": CANARIES["basic"],
               "LANDFALL_REDIS_PASSWORD": CANARIES["redis"], "LANDFALL_LOG_LEVEL": "debug"}


class Story:
    """One fleet with all kinds of channels, through every error path; what it left behind is collected at its end."""

    def __init__(self, fleet, echo):
        self.fleet, self.echo, self.pages, self.places = fleet, echo, [], {}
        fleet.add_channel("webhook/dns", TOKENS["webhook"], {"url": "http://no-such-host.invalid/hook"})
        fleet.add_channel("webhook/tls", TOKENS["webhook"], {"url": f"https://127.0.0.1:{echo.port}/hook"})
        fleet.add_channel("pathy/echo", CANARIES["path"], {"instance": f"http://127.0.0.1:{echo.port}"})
        fleet.add_channel("pathy/dns", CANARIES["path"], {"instance": "http://no-such-host.invalid"})
        fleet.add_channel("pathy/tls", CANARIES["path"], {"instance": f"https://127.0.0.1:{echo.port}"})
        fleet.add_channel("basics/echo", "", {"instance": f"http://127.0.0.1:{echo.port}"})
        member = fleet.channels_added["basics/echo"]
        del member["credential"]
        member["credentials"] = {"user": {"file": fleet.write_secret("user", "lf")}, "password": {"env": "LF_BASIC"}}
        fleet.write_config()

    def start(self, name):
        """A worker whose credentials come from files and from its environment; Redis's password from there too."""
        return self.fleet.start_worker(name=name, env=ENVIRONMENT)

    def look(self, process):
        """What anybody on the machine can see of a process that runs, and its own pages."""
        for name in ("cmdline", "environ"):
            try:
                with open(f"/proc/{process.pid}/{name}", "rb") as file:
                    self.places[f"{process.name}/{name}"] = file.read()
            except PermissionError:  # a process that cannot be dumped shows its environment to root only
                assert name == "environ" and os.geteuid() != 0
        for path in ("/metrics", "/live", "/ready", "/"):
            self.pages.append(self.fleet.get(path)[1].encode())

    def add(self, channel, item_id, **members):
        """An item that says all that a template could be taken in by."""
        text = f"{HOLES} https://blog.example/p/{item_id}"
        self.fleet.add(channel, self.fleet.item(item_id, title=HOLES, content_text=text, **members))

    def settled(self, delivery, *states):
        self.fleet.wait_state(delivery, *(states or ("published", "rejected", "uncertain", "held")))

    def waits(self, delivery):
        wait_for(lambda: self.fleet.state(delivery) in ("approved", "uncertain", "held", "rejected") and
                 self.fleet.row(delivery).get("attempt"), 20,
                 what=lambda: f"an attempt of {delivery}\n{self.fleet.output()}")

    def works(self):
        worker = self.start("worker-works")
        for platform in TOKENS:
            self.add(f"{platform}/brand", "fine")
        for platform in TOKENS:
            self.settled(f"{platform}/brand/fine", "published")
        self.look(worker)
        return worker

    def fails(self):
        fleet, leaky = self.fleet, json.dumps({"error": "you sent " + CANARIES["mastodon"]})
        fleet.sim.fault("status", "mastodon", status=422, body=leaky)
        self.add("mastodon/brand", "refused")
        self.settled("mastodon/brand/refused", "rejected")
        cut = "x" * 495 + CANARIES["mastodon"]
        fleet.sim.fault("status", "mastodon", status=422, body=json.dumps({"error": cut}),
                        headers={"X-Token": CANARIES["mastodon"]})
        self.add("mastodon/brand", "refused-cut")
        self.settled("mastodon/brand/refused-cut", "rejected")
        for number, (form, needle) in enumerate(forms(CANARIES["forem"]).items()):
            if "base64" in form or "percent" in form or form == "JSON":
                fleet.sim.fault("status", "forem", status=422, body='{"error": "%s"}' % needle.decode())
                self.add("forem/brand", f"form-{number}", url=f"https://blog.example/p/form-{number}")
                self.settled(f"forem/brand/form-{number}")
        where = "http://127.0.0.1:1/?access_token=" + forms(CANARIES["forem"])["percent"].decode()
        fleet.sim.fault("redirect", "forem", status=307, location=where)
        self.add("forem/brand", "redirected")
        self.settled("forem/brand/redirected")
        fleet.sim.fault("commit_then_close", "mastodon")
        self.add("mastodon/brand", "doubtful")
        self.settled("mastodon/brand/doubtful", "uncertain")
        for channel in ("webhook/dns", "webhook/tls", "pathy/dns", "pathy/tls"):
            self.add(channel, "unreachable")
            self.waits(f"{channel}/unreachable")
        for answer in ("422 Unprocessable", "302 Found", "500 Oops", "401 Unauthorized"):
            self.echo.answer = answer
            for channel in ("pathy/echo", "basics/echo"):
                self.add(channel, f"echo-{answer[:3]}")
                self.waits(f"{channel}/echo-{answer[:3]}")

    def reads_back(self):
        env = {**ENVIRONMENT, "LANDFALL_METRICS_LISTEN": f"127.0.0.1:{free_port()}"}
        del env["LANDFALL_REDIS_PASSWORD"]  # this one reads it from the file
        reconciler = self.fleet.start_reconciler("run", name="reconciler", env=env)
        self.settled("mastodon/brand/doubtful", "published")
        self.look(reconciler)
        self.fleet.sim.fault("status", "mastodon", on={"kind": "read"}, times=-1, status=401,
                             body="no: {request_header:authorization}")
        self.fleet.sim.fault("commit_then_close", "mastodon", on={"kind": "write"})
        self.add("mastodon/brand", "unreadable")
        self.settled("mastodon/brand/unreadable", "uncertain")
        wait_for(lambda: any(r["kind"] != "write" and r["fault"] == "status" for r in
                             self.fleet.sim.get("requests", instance="mastodon", limit=50)["requests"]), 20,
                 what="a read that is refused")
        return reconciler

    def refuses_credentials(self, worker):
        fleet = self.fleet
        fleet.sim.clear_faults()
        assert worker.stop() == 0
        fleet.sim.post("posts", instance="bluesky", op="revoke_sessions")  # else the fleet goes on with the one it has
        wrong = {"error": "AuthenticationRequired", "message": "wrong: " + CANARIES["bluesky"]}
        fleet.sim.fault("status", "bluesky", on={"kind": "login"}, times=-1, status=401, body=json.dumps(wrong))
        fleet.sim.fault("status", "mastodon", times=-1, status=401, body="no: {request_header:authorization}")
        fleet.sim.fault("status", "forem", times=-1, status=401, body='{"error": "{request_header:api-key}"}')
        fleet.sim.fault("status", "webhook", times=-1, status=401, body="{request_header:webhook-signature}")
        worker = self.start("worker-refused")
        for platform in ("bluesky", "mastodon", "forem", "webhook"):
            self.add(f"{platform}/brand", "refused-credential")
        for platform in ("bluesky", "mastodon", "forem", "webhook"):
            wait_for(lambda channel=f"{platform}/brand": fleet.db.hget(f"lf:{{0}}:channel:{channel}", "paused"), 20,
                     what=lambda: f"a pause of {platform}\n{fleet.output()}")
        for bad in (CANARIES["forem"] + "\nsecond", CANARIES["forem"] + "\0", ""):
            path = fleet.write_secret("forem", bad)
            worker.send_signal(signal.SIGHUP)
        worker.wait_output(path)
        self.look(worker)
        return worker

    def asks(self):
        for number, words in enumerate((
                ["status"], ["status", "--json"], ["show", "mastodon/brand/refused"], ["report", "--json"], ["config"],
                ["show", "pathy/echo/echo-422", "--json"], ["show", "bluesky/brand/refused-credential"])):
            process = self.fleet.start("landfall", *words, "--config", self.fleet.config_path, name=f"cli-{number}",
                                       env=ENVIRONMENT)
            process.wait(20)
            assert process.stdout(), (words, process.stderr())

    def collect(self, monitor):
        fleet = self.fleet
        for name in os.listdir(fleet.dir):
            if name.endswith((".out", ".err")):
                with open(os.path.join(fleet.dir, name), "rb") as file:
                    self.places[name] = file.read()
        self.places["pages"] = b"\n".join(self.pages)
        self.places["monitor"] = monitor.bytes()
        client = fleet.redis.client(password=fleet.redis_password, decode_responses=False)
        self.places.update(everything(client))
        assert b"confirmed" in self.places["redis lf:{0}:delivery:webhook/brand/fine"]


@pytest.fixture(scope="module")
def story():
    echo = Echo()
    echo.start()
    extra = {**UNPACED, "mastodon": {**UNPACED["mastodon"], "credential": {"env": "LF_MASTODON"}}}
    with Fleet(list(TOKENS), secrets=TOKENS, redis_password=CANARIES["redis"], metrics=True, channel=extra,
               descriptors=[PATHY, BASICS]) as fleet, Monitor(fleet.redis.socket_path, CANARIES["redis"]) as monitor:
        told = Story(fleet, echo)
        first = told.works()
        told.fails()
        reconciler = told.reads_back()
        second = told.refuses_credentials(first)
        told.asks()
        assert second.stop() == 0 and reconciler.stop() == 0
        told.collect(monitor)
        told.posts = {platform: fleet.sim.get("posts", instance=platform)
                      for platform in ("mastodon", "forem", "webhook", "bluesky")}
        yield told
    echo.close()


def test_planted_secrets_are_found_nowhere(story):
    hits = found({**CANARIES, "hook secret": HOOK_SECRET[len("whsec_"):]}, story.places)
    assert hits == [], hits[:5]


def test_sessions_are_found_nowhere(story):
    assert [place for place, content in story.places.items() if b"eyJhbGciOi" in content] == []


def test_the_search_would_find_them(story):
    """The collected is not empty, all secrets were used, and what is planted for a test is found."""
    places = story.places
    assert b"XREADGROUP" in places["monitor"] and b"webhook/brand/fine" in places["monitor"]
    assert b"landfall_rounds_total" in places["pages"]
    assert b"LF_MASTODON" in places.get("worker-works/environ", b"") or os.geteuid() != 0
    for program in ("worker-works.err", "worker-refused.err", "reconciler.err"):
        assert len(places[program]) > 500, program
    for use in (b"/bot" + forms(CANARIES["path"])["percent"], base64.b64encode(b"lf:" + CANARIES["basic"].encode())):
        assert any(use in request for request in story.echo.requests), use
    for name, secret in CANARIES.items():
        for form, needle in forms(secret).items():
            assert found({name: secret}, {"planted": b"..." + needle + b"..."}), (name, form)
    for before in range(4):
        text = base64.b64encode(b"a" * before + CANARIES["mastodon"].encode() + b"bc")
        assert found({"mastodon": CANARIES["mastodon"]}, {"planted": text}), before


def test_masks_stand_where_they_were(story):
    """What a platform said is still told, without the secret."""
    detail = story.places["redis lf:{0}:request:mastodon/brand/refused"]
    assert b"you sent ***" in detail, detail
    assert b"reload.refused" in story.places["worker-refused.err"]
    assert b"Could not resolve host" in story.places["worker-works.err"]


def test_texts_that_look_like_holes_are_texts(story):
    for platform, posts in story.posts.items():
        whole = json.dumps(posts, ensure_ascii=False)
        assert not [hit for hit in found(CANARIES, {platform: whole.encode()})], platform
    body = json.loads(story.posts["webhook"]["posts"][0]["body"])["data"]
    assert body["title"] == HOLES and body["content_text"].startswith(HOLES)
    texts = [post.get("text") for post in story.posts["bluesky"]["posts"]]
    assert f"{HOLES} https://blog.example/p/fine" in texts


# ---- files and configurations that are wrong

TOKEN = "Zq7token/ab+cd=="


def check(fleet, env=None):
    process = fleet.start_worker("--check", env=env, name=f"check-{len(fleet.processes)}")
    return process.wait(10), process.stdout() + process.stderr()


def test_secret_files_that_are_malformed():
    with Fleet(["mastodon"], secrets={"mastodon": TOKEN}) as fleet:
        good = [b"\n", b"\r\n", b"  \n", b"\t", b""]
        for tail in good:
            fleet.write_secret("mastodon", TOKEN.encode() + tail)
            assert check(fleet)[0] == 0, tail
        fleet.write_secret("mastodon", b"\xef\xbb\xbf" + TOKEN.encode() + b"\n")
        assert check(fleet)[0] == 0, "a byte order mark"
        fleet.add("mastodon/brand", fleet.item("bom"))
        assert fleet.run_worker() == 0, "and it is the token that is sent"
        bad = {"a line more": TOKEN + "\nX-Evil: 1", "NUL": TOKEN[:5] + "\0" + TOKEN[5:], "escape": TOKEN + "\x1b[0m",
               "nothing": "", "white space": " \n", "too long": TOKEN * 2000}
        for name, content in bad.items():
            path = fleet.write_secret("mastodon", content)
            code, text = check(fleet)
            assert code == 1 and path in text, name
            assert not found({"token": TOKEN}, {name: text.encode()}), (name, text)
        os.unlink(path)
        code, text = check(fleet)
        assert code == 1 and '$.channels.mastodon/brand.credential' in text and "no such file" in text


LETTERS = "Zq" + "tokenofletters" * 2


def wrong_places(path):
    """Where people write a secret by mistake: what is right, and what stands in its place."""
    right = f'"file": "{path}"'
    return {
        "in place of the credential": ('"credential": {', f'"credential": "{TOKEN}", "settings": {{'),
        "as the file's name": (right, f'"file": "{TOKEN}"'),
        "as the variable's name": (right, f'"env": "{TOKEN}"'),
        "as the variable's name, a plain one": (right, f'"env": "{LETTERS}"'),
        "as a member of the credential": (right, f'"secret": "{TOKEN}"'),
        "as a member of the channel": ('"write_limit_ms"', f'"token": "{TOKEN}", "write_limit_ms"'),
        "as a setting": ('"settings": {', f'"settings": {{"token": "{TOKEN}", '),
        "in the address": ('"instance": "http://', f'"instance": "http://lf:{TOKEN}@'),
        "without quotes": (right, f'"file": {TOKEN}'),
        "letters without quotes": (right, f'"file": {LETTERS}'),
        "without its end": (right, f'"file": "{TOKEN}'),
        "with a bad escape": (right, f'"file": "{TOKEN}\\x"'),
        "as a member's name, twice": (right, f'"{TOKEN}": 1, "{TOKEN}": 1'),
        "in the password of Redis": ('"url": "unix://', f'"url": "redis://user:{TOKEN}@127.0.0.1", "x": "unix://'),
        "beside the password of Redis": ('"url": "unix://', f'"password": "{TOKEN}", "url": "unix://'),
        "as the file of the password of Redis": ('"url": "unix://', f'"password_file": "{TOKEN}", "url": "unix://'),
        "as the pace": ('"write_limit_ms"', f'"pace": "{TOKEN}", "write_limit_ms"'),
    }


def test_a_secret_in_the_wrong_place_of_the_configuration_is_not_repeated():
    with Fleet(["mastodon"], secrets={"mastodon": TOKEN}) as fleet:
        with open(fleet.config_path, encoding="utf-8") as file:
            document = json.load(file)
        document.pop("metrics", None)
        right = json.dumps(document, indent=1)
        path = document["channels"]["mastodon/brand"]["credential"]["file"]
        for name, (old, new) in wrong_places(path).items():
            assert old in right, name
            with open(fleet.config_path, "w", encoding="utf-8") as file:
                file.write(right.replace(old, new))
            code, text = check(fleet)
            assert code == 1, (name, text)
            assert not found({"token": TOKEN}, {name: text.encode()}) and "Zq" not in text, (name, text)
            assert "landfall.json" in text or fleet.dir in text, (name, text)


def test_variables_are_wiped_and_bad_ones_not_repeated():
    with Fleet(["mastodon"], channel={"mastodon": {"credential": {"env": "LF_TOKEN"}}}) as fleet:
        for value in (f"{TOKEN}\nX-Evil: 1", "", f"{TOKEN}\x1b"):
            code, text = check(fleet, {"LF_TOKEN": value})
            assert code == 1 and TOKEN not in text
            assert ("LF_TOKEN" if value else "mastodon/brand.credential") in text
        code, text = check(fleet, {"LF_TOKEN": TOKEN, "LANDFALL_REDIS_URL": f"redis://:{TOKEN}@127.0.0.1"})
        assert code == 1 and TOKEN not in text


# ---- rows that somebody's hand has been in

def hash_of(frozen):
    return hashlib.blake2b(frozen.encode(), digest_size=16).hexdigest()


def test_a_frozen_request_that_goes_elsewhere_is_not_sent():
    """Who can write to Redis gets no token by changing where a request goes, or where the token stands in it."""
    listener = socket.create_server(("127.0.0.1", 0))
    elsewhere = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with Fleet(["mastodon"], secrets={"mastodon": TOKEN}) as fleet:
        def redirected(frozen):
            return frozen.replace(fleet.sim.urls["mastodon"].rsplit("/", 1)[0], elsewhere)

        def told(frozen):
            request = json.loads(frozen)
            at = next(n for n, part in enumerate(request["body"]) if isinstance(part, str) and "Text of" in part)
            part = request["body"][at]
            cut = part.index("Text of")
            request["body"][at:at + 1] = [part[:cut], {"as": "json", "hole": "secret"}, part[cut:]]
            return json.dumps(request, separators=(",", ":"), ensure_ascii=False)

        def other_method(frozen):
            return frozen.replace('"POST"', '"PUT"')

        fleet.sim.fault("close_before_commit", "mastodon", times=4)
        changes = {"elsewhere": redirected, "told": told, "method": other_method, "untouched": lambda frozen: frozen}
        for item_id in changes:
            fleet.add("mastodon/brand", fleet.item(item_id))
        assert fleet.run_worker(name="first") == 3
        for item_id, change in changes.items():
            name = f"mastodon/brand/{item_id}"
            assert fleet.state(name) == "uncertain"
            frozen = fleet.db.hget(f"lf:{{0}}:request:{name}", "frozen")
            changed = change(frozen)
            assert (changed == frozen) == (item_id == "untouched"), frozen
            assert hash_of(frozen) == fleet.row(name)["body_hash"]
            fleet.db.hset(f"lf:{{0}}:request:{name}", "frozen", changed)
            fleet.db.hset(f"lf:{{0}}:delivery:{name}", "body_hash", hash_of(changed))
        reconciler = fleet.start_reconciler()
        for item_id in changes:
            fleet.wait_state(f"mastodon/brand/{item_id}", "approved")
        assert reconciler.stop() == 0
        writes = fleet.sim.report()["instances"]["mastodon"]["writes"]
        worker = fleet.start_worker(name="second")
        fleet.wait_state("mastodon/brand/untouched", "published")
        for item_id in ("elsewhere", "told", "method"):
            wait_for(lambda item_id=item_id: f"mastodon/brand/{item_id} why=" in worker.stderr().replace('"', ""), 15,
                     what=lambda: f"a word about {item_id}\n{worker.tail()}")
            assert fleet.state(f"mastodon/brand/{item_id}") != "published"
        assert fleet.sim.report()["instances"]["mastodon"]["writes"] == writes + 1, "only what nobody has touched"
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()
        worker.stop()
        assert not found({"token": TOKEN}, {"worker": worker.stderr().encode()})
    listener.close()


def test_no_process_leaves_a_core():
    with Fleet(["mastodon"]) as fleet:
        for process in (fleet.start_worker(), fleet.start_reconciler()):
            def limits(pid=process.pid):
                with open(f"/proc/{pid}/limits", encoding="utf-8") as stream:
                    return re.search(r"^Max core file size +(\d+|unlimited) +(\d+|unlimited)", stream.read(), re.M).groups()
            wait_for(lambda: limits() == ("0", "0"), 20, what=lambda: f"a limit of 0 for cores, not {limits()}")
