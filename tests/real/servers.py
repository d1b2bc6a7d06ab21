# SPDX-License-Identifier: MIT
"""Real servers for tests: each on 127.0.0.1 with data of its own, ended by process id when its block is left.

    with WordPress(folder) as server:
        server.origin, server.credentials, server.posts()

tests/real/install has put the programs under build/real; a server that is not there skips the test with the reason that
stands there. posts() asks the server with its own API, past landfall: what is really there.
"""
import base64
import contextlib
import datetime
import glob
import json
import os
import random
import re
import secrets
import socket
import sqlite3
import urllib.error
import urllib.parse
import urllib.request

import pytest

from lib.procs import Process, wait_for
from lib.tree import TOP

PLACE = os.path.join(TOP, "build", "real")
HERE = os.path.dirname(os.path.abspath(__file__))
START_TIMEOUT_S = 120
REQUEST_TIMEOUT_S = 60


def quiet_port():
    """A free port below those that the kernel gives away, so that nobody is given it while a server gets ready."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Answer:
    def __init__(self, status, headers, text):
        self.status, self.headers, self.text = status, headers, text

    @property
    def json(self):
        return json.loads(self.text)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


def ask(method, url, body=None, headers=None, form=False):
    """One request; body is sent as JSON, or as a form."""
    data = None if body is None else urllib.parse.urlencode(body).encode() if form else json.dumps(body).encode()
    headers = {**({} if form or body is None else {"Content-Type": "application/json"}), **(headers or {})}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=REQUEST_TIMEOUT_S) as answer:
            return Answer(answer.status, answer.headers, answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read().decode("utf-8", "replace"))


def had(server):
    """Skips the test if the server cannot be had here, with the reason."""
    missing = os.path.join(PLACE, server + ".missing")
    if os.path.exists(missing):
        with open(missing, encoding="utf-8") as why:
            pytest.skip(f"{server}: {why.read().strip()}")
    if not os.path.isdir(os.path.join(PLACE, server)):
        pytest.skip(f"{server}: not installed; tests/run real does it, or tests/real/install")


class Server:
    platform = None  # the descriptor's name
    package = None  # the folder under build/real
    write = None  # method and part of the path of its write request

    def __init__(self, folder):
        had(self.package)
        self.folder, self.processes = os.fspath(folder), []
        self.place = os.path.join(PLACE, self.package)
        self.port = quiet_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.credentials, self.wrong_credentials = None, None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(15)
            with contextlib.suppress(AssertionError):
                process.wait(20)
            process.kill()

    def run(self, argv, name, env=None, stdin=None):
        """A program that belongs to the server and ends; gives what it printed, on its standard output first."""
        with Process(argv, self.folder, name=name, env=env, stdin=stdin) as process:
            process.wait_exit(0, START_TIMEOUT_S)
            return process.stdout() + process.stderr()

    def keep(self, argv, name, env=None, cwd=None):
        process = Process(argv, self.folder, name=name, env=env, cwd=cwd)
        self.processes.append(process)
        return process

    def wait_answers(self, url, status=200):
        def answers():
            assert self.processes[-1].running, self.processes[-1].tail()
            with contextlib.suppress(OSError):
                return ask("GET", url).status == status
        wait_for(answers, START_TIMEOUT_S, lambda: f"{url} answers {status}\n{self.processes[-1].tail()}")

    def settings(self, origin):
        """The channel's settings where the server is reached under this origin."""
        return {"instance": origin}


class WordPress(Server):
    platform = package = "wordpress"
    write = ("POST", "/wp-json/wp/v2/posts")

    def start(self):
        data, link = os.path.join(self.folder, "db"), os.path.join(self.folder, "db.sock")
        www = os.path.join(self.place, "usr", "share", "wordpress")
        sbin = {"PATH": os.environ["PATH"] + ":/usr/sbin"}
        user = ["--user=root"] if os.getuid() == 0 else []
        self.run(["mariadb-install-db", "--no-defaults", *user, f"--datadir={data}", "--skip-test-db", "--skip-name-resolve",
                  "--auth-root-authentication-method=normal"], "db-install", env=sbin)
        self.keep(["/usr/sbin/mariadbd", "--no-defaults", *user, f"--datadir={data}", f"--socket={link}", "--skip-networking",
                   f"--pid-file={self.folder}/db.pid", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=2"], "db")
        wait_for(lambda: os.path.exists(link), START_TIMEOUT_S, lambda: self.processes[-1].tail())
        self.run(["mariadb", "--no-defaults", "-uroot", "-S", link, "-e", "CREATE DATABASE wordpress"], "db-make")
        env = {"LANDFALL_DB_SOCKET": link, "LANDFALL_ORIGIN": self.origin}
        install = os.path.join(HERE, "wordpress", "install.php")
        self.passwords = json.loads(self.run(["php", install, www], "install", env=env).splitlines()[0])
        self.credentials = {"user": "brand", "password": self.passwords["brand"]}
        self.wrong_credentials = {"user": "brand", "password": "xxxx xxxx xxxx xxxx xxxx xxxx"}
        self.keep(["php", "-S", f"127.0.0.1:{self.port}", "-t", www, os.path.join(HERE, "wordpress", "router.php")], "php", env=env)
        self.wait_answers(self.origin + "/wp-json/")

    def ask(self, method, path, body=None):
        pair = base64.b64encode(":".join(self.credentials.values()).encode()).decode()
        return ask(method, f"{self.origin}/wp-json/wp/v2/{path}", body, {"Authorization": "Basic " + pair})

    def posts(self, word=""):
        """Every post whose title has the word: {id, url, slug}, whatever became of it."""
        found = self.ask("GET", "posts?per_page=100&context=edit&status=publish,future,draft,pending,private,trash").json
        return [{"id": str(one["id"]), "url": one["link"], "slug": one["slug"]} for one in found if word in one["title"]["raw"]]


class Pds(Server):
    platform, package = "bluesky", "pds"
    write = ("POST", "/xrpc/com.atproto.repo.putRecord")
    handle = "brand.test"
    limits = False  # thirty logins in five minutes are fewer than all tests make

    def start(self):
        env = {"LANDFALL_PDS_JWT": secrets.token_hex(16), "LANDFALL_PDS_KEY": secrets.token_hex(32), "LOG_ENABLED": "false",
               "LANDFALL_PDS_LIMITS": str(self.limits).lower()}
        directory_port = quiet_port()
        self.keep(["node", os.path.join(HERE, "pds", "run.cjs"), self.folder, str(self.port), str(directory_port)], "pds",
                  env=env, cwd=self.place)
        self.wait_answers(self.origin + "/xrpc/_health")
        account = self.call("createAccount", {"handle": self.handle, "email": "brand@blog.example", "password": secrets.token_hex(12)})
        self.did, token = account["did"], account["accessJwt"]
        app = self.call("createAppPassword", {"name": "landfall"}, token)
        self.credentials, self.wrong_credentials = app["password"], "aaaa-bbbb-cccc-dddd"

    def call(self, name, body, token=None):
        answer = ask("POST", f"{self.origin}/xrpc/com.atproto.server.{name}", body, {"Authorization": "Bearer " + token} if token else {})
        assert answer.status == 200, (name, answer.status, answer.text)
        return answer.json

    def settings(self, origin):
        return {"instance": origin, "identifier": self.handle}

    def token_life(self, seconds):
        """Access tokens that are made from now on last so long; None: as long as the server's own."""
        path = os.path.join(self.folder, "token_s")
        if seconds is None:
            os.remove(path)
        else:
            with open(path, "w", encoding="ascii") as out:
                out.write(str(seconds))

    def posts(self, word=""):
        found, cursor = [], ""
        while True:
            page = ask("GET", f"{self.origin}/xrpc/com.atproto.repo.listRecords?repo={self.did}&collection=app.bsky.feed.post&limit=100"
                              f"&cursor={urllib.parse.quote(cursor)}").json
            found += page["records"]
            cursor = page.get("cursor", "")
            if not page["records"] or not cursor:
                break
        return [{"id": one["uri"], "url": f"https://bsky.app/profile/{self.did}/post/{one['uri'].split('/')[-1]}"}
                for one in found if word in one["value"]["text"]]


    def record(self, uri):
        """What the repository holds under the address."""
        answer = ask("GET", f"{self.origin}/xrpc/com.atproto.repo.getRecord?repo={self.did}&collection=app.bsky.feed.post"
                            f"&rkey={uri.split('/')[-1]}")
        return answer.json["value"]

    def blob(self, cid):
        with urllib.request.urlopen(f"{self.origin}/xrpc/com.atproto.sync.getBlob?did={self.did}&cid={cid}", timeout=REQUEST_TIMEOUT_S) as answer:
            return answer.read()


class LimitedPds(Pds):
    limits = True


class Snac(Server):
    platform = package = "snac"
    write = ("POST", "/api/v1/statuses")
    user = "brand"

    def start(self):
        program, data = os.path.join(self.place, "usr", "bin", "snac"), os.path.join(self.folder, "data")
        # The address, the port, the host name in addresses, a path before them, an e-mail address.
        answers = f"127.0.0.1\n{self.port}\n127.0.0.1:{self.port}\n\nbrand@blog.example\n"
        self.run([program, "init", data], "init", stdin=answers.encode())
        path = os.path.join(data, "server.json")
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**config, "protocol": "http", "num_threads": 32}, file)  # it follows links that lead nowhere
        self.run([program, "adduser", data, self.user], "adduser")
        password = self.run([program, "resetpwd", data, self.user], "resetpwd").split()[-1]
        self.keep([program, "httpd", data], "snac")
        self.wait_answers(self.origin + "/api/v1/instance")
        self.credentials, self.wrong_credentials = self.token(password), secrets.token_hex(16)
        self.data = data

    def token(self, password):
        """As an app gets it: registered, the user's login, a code, the token."""
        nowhere = "urn:ietf:wg:oauth:2.0:oob"
        app = ask("POST", self.origin + "/api/v1/apps", {"client_name": "landfall", "redirect_uris": nowhere, "scopes": "read write"}, form=True).json
        page = ask("POST", self.origin + "/oauth/x-snac-login", {"login": self.user, "passwd": password, "redir": nowhere, "cid": app["client_id"],
                                                                 "state": ""}, form=True)
        code = re.findall(r"[0-9a-f]{32}", page.text + (page.headers.get("location") or ""))[-1]
        return ask("POST", self.origin + "/oauth/token", {
            "grant_type": "authorization_code", "client_id": app["client_id"], "client_secret": app["client_secret"],
            "redirect_uri": nowhere, "code": code}, form=True).json["access_token"]

    def ask(self, method, path, body=None):
        return ask(method, self.origin + path, body, {"Authorization": "Bearer " + self.credentials})

    def posts(self, word=""):
        account = self.ask("GET", "/api/v1/accounts/verify_credentials").json["id"]
        found = {}
        cursor = None
        while True:
            page = self.ask("GET", f"/api/v1/accounts/{account}/statuses?limit=40" + (f"&max_id={cursor}" if cursor else "")).json
            new = [one for one in page if one["id"] not in found]
            found.update({one["id"]: one for one in new})
            if not new:
                break
            cursor = page[-1]["id"]
        return [{"id": one["id"], "url": one["url"]} for one in found.values() if word in one["text"]]

    def pages(self):
        """Whether this release pages through an account's posts at all."""
        account = self.ask("GET", "/api/v1/accounts/verify_credentials").json["id"]
        return len(self.ask("GET", f"/api/v1/accounts/{account}/statuses?limit=1").json) == 1

    def age_all_posts(self, seconds):
        """As if they had been published so long ago."""
        for path in glob.glob(os.path.join(self.data, "object", "*", "*.json")):
            with open(path, encoding="utf-8") as file:
                note = json.load(file)
            if "published" in note:
                at = datetime.datetime.fromisoformat(note["published"]) - datetime.timedelta(seconds=seconds)
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({**note, "published": at.strftime("%Y-%m-%dT%H:%M:%SZ")}, file)


class SnacNext(Snac):
    """The newest that Debian has, from the backports of a later release."""

    package = "snac-next"


class MediaWiki(Server):
    platform = package = "mediawiki"
    write = ("POST", "action=edit")
    user = "Brand"

    def start(self):
        self.www = os.path.join(self.place, "usr", "share", "mediawiki")
        self.env = {"MW_CONFIG_FILE": os.path.join(self.folder, "LocalSettings.php")}
        self.maintain("install", "--dbtype=sqlite", f"--dbpath={self.folder}/db", f"--confpath={self.folder}", f"--server={self.origin}",
                      "--scriptpath=", "--lang=en", f"--pass={secrets.token_hex(12)}", "Landfall", self.user)
        with open(self.env["MW_CONFIG_FILE"], "a", encoding="utf-8") as file:
            # Who is new is counted, which needs a cache; jobs would be run by a request to the server itself.
            file.write("\n$wgAutoConfirmAge = 86400;\n$wgMainCacheType = CACHE_DB;\n$wgJobRunRate = 0;\n")
        self.maintain("createAndPromote", "Guest", secrets.token_hex(12))
        self.guest = self.bot_password("Guest", "basic,editpage,createeditmovepage")
        self.credentials, self.wrong_credentials = self.bot_password(self.user, "basic,editpage,createeditmovepage,highvolume"), "0" * 32
        self.keep(["php", "-S", f"127.0.0.1:{self.port}", "-t", self.www], "php", env=self.env)
        self.wait_answers(self.origin + "/api.php?action=query&format=json")

    def maintain(self, script, *words):
        env = {} if script == "install" else self.env
        return self.run(["php", os.path.join(self.www, "maintenance", script + ".php"), *words], script, env=env)

    def bot_password(self, user, grants):
        password = secrets.token_hex(16)
        self.maintain("createBotPassword", "--grants", grants, "--appid", "landfall", user, password)
        return password

    def settings(self, origin):
        return {"instance": origin, "user": self.user + "@landfall"}

    def ask(self, **query):
        return ask("GET", self.origin + "/api.php?" + urllib.parse.urlencode({"format": "json", "formatversion": 2, **query})).json

    def posts(self, word=""):
        found, more = [], {}
        while more is not None:
            page = self.ask(action="query", generator="allpages", gaplimit=500, prop="info", inprop="url", **more)
            found += page.get("query", {}).get("pages", [])
            more = page.get("continue")
        return [{"id": str(one["pageid"]), "url": one["canonicalurl"]} for one in found if word in one["title"]]

    def make_pages(self, number):
        """So many pages of the user's, in one go."""
        pages = "".join(f"""<page><title>Filler {n}</title><ns>0</ns><revision><timestamp>2026-01-01T00:00:{n % 60:02}Z</timestamp>
            <contributor><username>{self.user}</username></contributor><comment>by hand</comment><model>wikitext</model>
            <format>text/x-wiki</format><text xml:space="preserve">Filler</text></revision></page>""" for n in range(number))
        path = os.path.join(self.folder, "pages.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">{pages}</mediawiki>')
        self.maintain("importDump", "--username-prefix=", "--no-updates", path)

    def end_sessions(self):
        """As if they had come to their end."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.folder, "db", "wikicache.sqlite"), timeout=20)) as db, db:
            return db.execute("DELETE FROM objectcache WHERE keyname LIKE '%MWSession%'").rowcount
