# SPDX-License-Identifier: MIT
"""The page of metrics as a contract: its text is one that every scraper reads, it holds exactly the names of docs/contract.md,
and it is there without anybody asking for it. Health checks ask it without a shell."""
import contextlib
import os
import re
import socket
import urllib.request

import pytest

from lib.exposition import promtool, read
from lib.fleet import Fleet
from lib.procs import free_port, wait_for
from lib.tree import TOP

DEFAULT_PORTS = {"landfall-worker": range(9464, 9480), "landfall-reconciler": range(9480, 9496)}
CANARY = "zz-canary"


def contract():
    """name -> (kind, labels, of whom) of the table in the contract."""
    with open(os.path.join(TOP, "docs", "contract.md"), encoding="utf-8") as page:
        section = page.read().split("\n## 9. Metrics\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(landfall_[a-z_]+)` \| (\w+) \|([^|]*)\| (\w+) \|", section, re.M)
    assert len(rows) > 20
    return {name: (kind, set(re.findall(r"`(\w+)`", labels)), who) for name, kind, labels, who in rows}


def page_at(address, path="/metrics"):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=5) as answer:
        return answer.read().decode()


def address_of(process):
    process.wait_output("metrics.listening")
    return re.search(r"metrics\.listening.* at=(\S+)", process.stderr())[1].strip('"')


@pytest.fixture(scope="module")
def pages():
    """The page of a worker and of a reconciler after one of everything: published, refused, uncertain and read back."""
    with Fleet(["mastodon", "webhook"], metrics=True) as fleet:
        fleet.add("webhook/brand", fleet.item("before"))  # the ledger is asked at the start, and then every 20 s
        assert fleet.run_worker(name="before") == 0
        fleet.sim.fault("commit_then_close", "mastodon")
        fleet.add("mastodon/brand", fleet.item("doubt", title=CANARY))
        fleet.add("webhook/brand", fleet.item("it", _note=CANARY))
        fleet.add("webhook/brand", {"title": "no id"})
        reconciler_port = free_port()
        fleet.start_worker(name="worker")
        fleet.start_reconciler(name="reconciler", env={"LANDFALL_METRICS_LISTEN": f"127.0.0.1:{reconciler_port}"})
        fleet.wait_state("mastodon/brand/doubt", "published")
        fleet.wait_state("webhook/brand/it", "published")
        told = {}
        for program, port in (("worker", fleet.metrics_port), ("reconciler", reconciler_port)):
            wait_for(lambda: 'landfall_deliveries{channel="webhook/brand"' in page_at(f"127.0.0.1:{port}"), what=program)
            told[program] = page_at(f"127.0.0.1:{port}")
        yield told


@pytest.mark.parametrize("program", ["worker", "reconciler"])
def test_the_text_is_what_scrapers_read(pages, program):
    families = read(pages[program])
    assert sum(len(family.samples) for family in families.values()) >= 15
    if promtool(pages[program]) is None:
        pytest.skip("promtool is not installed: only the test's own strict reading was done (Debian package prometheus)")
    assert promtool(pages[program]) == ""


@pytest.mark.parametrize("bad", [
    "landfall_a 1\n", "# HELP landfall_a x\n# TYPE landfall_a counter\nlandfall_a 1\n",
    "# HELP landfall_ms x\n# TYPE landfall_ms gauge\nlandfall_ms 1\n",
    "# HELP landfall_a x\n# TYPE landfall_a gauge\nlandfall_a{b=\"\\x\"} 1\n",
    "# HELP landfall_a x\n# TYPE landfall_a gauge\nlandfall_a{b=\"c\"} 1\nlandfall_a{b=\"c\"} 2\n",
    "# HELP landfall_a x\n# TYPE landfall_a gauge\nlandfall_a one\n", "# HELP landfall_a x\n# TYPE landfall_a gauge\nlandfall_a 1",
    "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n"])
def test_the_strict_reading_can_fail(bad):
    with pytest.raises(AssertionError):
        read(bad)


@pytest.mark.parametrize("program", ["worker", "reconciler"])
def test_the_page_has_the_names_of_the_contract_and_no_others(pages, program):
    promised = {name: (kind, labels) for name, (kind, labels, who) in contract().items() if who in (program, "both")}
    told = {name: family.kind for name, family in read(pages[program]).items()}
    assert told == {name: kind for name, (kind, _) in promised.items()}


def test_the_page_has_the_labels_of_the_contract(pages):
    seen = {}
    for text in pages.values():
        for name, family in read(text).items():
            for sample in family.samples:
                seen.setdefault(name, set()).add(frozenset(sample.labels) - {"le"})
    for name, (_, labels, _) in contract().items():
        assert seen.get(name, {frozenset(labels)}) == {frozenset(labels)}, name


def test_labels_hold_channels_and_words_and_nothing_of_an_item(pages):
    for text in pages.values():
        assert CANARY not in text and "blog.example" not in text
        for family in read(text).values():
            for sample in family.samples:
                for label, value in sample.labels.items():
                    pattern = r"(mastodon|webhook)/brand" if label == "channel" else r"[a-z_]+|[A-Z]+"
                    assert label == "le" or re.fullmatch(pattern, value), sample


# ---- where the page is

def plain_fleet():
    """No metrics.listen at all: what somebody has who configured nothing."""
    return Fleet(["webhook"], config={"metrics": {"listen": "auto"}})


def test_every_process_has_a_page_by_default():
    with plain_fleet() as fleet:
        started = [fleet.start_worker(name="one"), fleet.start_worker(name="two"), fleet.start_reconciler(name="reads")]
        programs = ["landfall-worker", "landfall-worker", "landfall-reconciler"]
        addresses = [address_of(process) for process in started]
        assert len(set(addresses)) == 3
        for program, address in zip(programs, addresses):
            host, port = address.rsplit(":", 1)
            assert host == "127.0.0.1" and int(port) in DEFAULT_PORTS[program]
            assert page_at(address, "/live").startswith(f"{program}: the loop turned ")
        beats = wait_for(lambda: len(keys := fleet.db.keys("lf:{0}:worker:*")) == 3 and keys, what="three heartbeats")
        told = {re.search(r" metrics=(\S+)$", fleet.db.get(key))[1] for key in beats}
        assert told == set(addresses), "the heartbeat says where the page is"


@contextlib.contextmanager
def no_free_port():
    with contextlib.ExitStack() as held:
        for port in DEFAULT_PORTS["landfall-worker"]:
            taken = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                taken.bind(("127.0.0.1", port))
                taken.listen()
        yield


def test_without_a_free_port_it_works_all_the_same():
    with plain_fleet() as fleet, no_free_port():
        fleet.add("webhook/brand", fleet.item("it"))
        worker = fleet.start_worker()
        worker.wait_output("metrics.none")
        assert "LANDFALL_METRICS_LISTEN" in worker.stderr()
        fleet.wait_state("webhook/brand/it", "published")
        key, = wait_for(lambda: fleet.db.keys("lf:{0}:worker:*"), what="a heartbeat")
        assert fleet.db.get(key).endswith(" metrics=none")


def test_without_a_free_port_and_without_redis_it_says_both_and_waits():
    with plain_fleet() as fleet, no_free_port():
        fleet.add("webhook/brand", fleet.item("it"))
        fleet.redis.pause()  # connections are taken and nothing is answered
        worker = fleet.start_worker()
        worker.wait_output("metrics.none")
        worker.wait_output("ledger.away")
        fleet.redis.resume()
        fleet.wait_state("webhook/brand/it", "published")
        assert worker.stop() == 0


def test_an_address_that_is_taken_is_an_error_also_without_redis():
    """Whoever asked for that address asks there: a worker that nobody sees is not started."""
    with Fleet(["webhook"], metrics=True) as fleet, socket.socket() as taken:
        taken.bind(("127.0.0.1", fleet.metrics_port))
        taken.listen()
        fleet.redis.stop()
        worker = fleet.start_worker()
        assert worker.wait(20) == 1 and f"127.0.0.1:{fleet.metrics_port}" in worker.stderr(), worker.stderr()


def test_off_is_no_page():
    with Fleet(["webhook"]) as fleet:
        worker = fleet.start_worker()
        worker.wait_output("worker.started")
        key, = wait_for(lambda: fleet.db.keys("lf:{0}:worker:*"), what="a heartbeat")
        assert fleet.db.get(key).endswith(" metrics=none") and "metrics.none" not in worker.stderr()


# ---- health checks

def check(fleet, program, word, env=None):
    done = fleet.start(program, "--config", fleet.config_path, f"--check={word}", name=f"check-{word}", env=env)
    return done.wait(20), done.stdout(), done.stderr()


def test_check_asks_the_process_that_runs_here():
    with Fleet(["webhook"], metrics=True) as fleet:
        code, out, err = check(fleet, "landfall-worker", "live")
        assert code == 1 and out == "" and "no landfall-worker answers" in err
        fleet.db.config_set("maxmemory", 1)
        worker = fleet.start_worker(name="worker")
        wait_for(lambda: fleet.ready(503), what="red")
        assert check(fleet, "landfall-worker", "live")[0] == 0, "a worker that waits for Redis is not to be killed"
        code, out, err = check(fleet, "landfall-worker", "ready")
        assert code == 1 and out == "" and "no writes" in err
        fleet.db.config_set("maxmemory", 0)
        wait_for(lambda: fleet.ready(200), what="green")
        assert check(fleet, "landfall-worker", "ready")[:2] == (0, "landfall-worker: Redis takes writes\n")
        assert check(fleet, "landfall-reconciler", "live")[0] == 1, "what answers there is no reconciler"
        worker.pause()
        code, out, err = check(fleet, "landfall-worker", "live")
        assert code == 1 and "no landfall-worker answers" in err, "a loop that stands still answers nobody"
        worker.resume()


def test_check_needs_no_secret_and_no_redis_and_knows_two_words(tmp_path):
    with Fleet([], metrics=True) as fleet:
        fleet.config_extra = {"channels": {"webhook/brand": {"platform": "webhook", "settings": {"url": "https://hook.example"},
                                                             "credential": {"env": "NOT_THERE"}}}}
        fleet.write_config()
        fleet.redis.stop()
        code, _, err = check(fleet, "landfall-worker", "live")
        assert code == 1 and "answers" in err and "NOT_THERE" not in err
        code, _, err = check(fleet, "landfall-worker", "dead")
        assert code == 1 and "--check=ready" in err
        fleet.redis.start()
