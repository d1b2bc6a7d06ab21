# SPDX-License-Identifier: MIT
"""docker-compose.yml for real: built, started, scaled, killed, cut off, updated, stopped; the fake platforms count.

One engine and one set of images for all tests of this file. Runs with `tests/run compose`.
"""
import json
import os
import shutil
import time

import pytest

from lib.containers import BASE, Engine, Missing, Project
from lib.procs import wait_for
from lib.tree import TOP
from platform_sim.client import Admin

LEASE_MS = 6500
TIMES = {"lease_ms": LEASE_MS, "late_commit_ms": 300, "visibility_lag_ms": 300, "margin_ms": 100}
ITEMS = 75
CHANNELS = ("webhook/partner", "mastodon/brand", "bluesky/brand", "forem/brand")
SETTLED_LIMIT_S = 180


@pytest.fixture(scope="module")
def engine():
    try:
        with Engine() as engine:
            engine.build("landfall")
            engine.build("landfall-redis", "redis")
            engine.build("landfall-platforms", "platforms")
            yield engine
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def config(tmp_path):
    """The demo's channels with short times and without pauses between posts, for the fleet itself."""
    demo = os.path.join(TOP, "deploy", "compose", "demo")
    with open(os.path.join(demo, "landfall.json"), encoding="utf-8") as file:
        config = json.load(file)
    config["environment"] = "production"
    for channel in config["channels"].values():
        channel.update(times=dict(TIMES), write_limit_ms=1500, pace={"spacing_ms": 0, "burst": 1})
    for name in ("demo-secret", "webhook-secret"):
        shutil.copy(os.path.join(demo, name), tmp_path / name)
    (tmp_path / "landfall.json").write_text(json.dumps(config))
    items = [{"id": f"it-{n:03}", "url": f"https://blog.example/p/{n}", "title": f"Post {n}",
              "content_text": f"Text {n} https://blog.example/p/{n}"} for n in range(ITEMS)]
    (tmp_path / "feed.json").write_text(json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": items}))
    for path in (tmp_path, *tmp_path.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return str(tmp_path)


def started(project, workers=3):
    project.compose("up", "--detach", "--scale", f"worker={workers}", "redis", "worker", "reconciler", "platforms")
    for container in project.containers("worker") + project.containers("reconciler"):
        project.wait_health(container)
    platforms, = project.containers("platforms")
    return Admin(project.address(platforms), 8080)


def submit(project):
    return project.landfall("submit", "/etc/landfall/feed.json", "--to", *CHANNELS)


def counts(project):
    """How many deliveries are in which state, over all channels."""
    said = json.loads(project.landfall("status", "--json", check=False).stdout)
    total = {}
    for channel in said["channels"]:
        for state, number in channel["counts"].items():
            total[state] = total.get(state, 0) + number
    return {state: number for state, number in total.items() if number}


def check_nothing_twice_nothing_lost(project, admin):
    wait_for(lambda: counts(project).get("published", 0) == ITEMS * len(CHANNELS), SETTLED_LIMIT_S,
             what=lambda: f"everything to be published: {counts(project)}\n{project.compose('logs', '--tail', '30').stdout[-6000:]}")
    seen = admin.report()["deliveries"]
    assert len(seen) == ITEMS * len(CHANNELS)
    harmful = {name: facts["commits"] for name, facts in seen.items() if facts["commits"] != 1 and not name.startswith("webhook/")}
    assert harmful == {}
    assert all(facts["commits"] >= 1 for facts in seen.values())


def test_the_demo_publishes_each_article_once_and_ends(engine):
    with Project(engine, "demo") as project:
        project.compose("up", "--detach")
        producer, = project.containers("demo-producer")
        wait_for(lambda: project.state(producer)["Status"] == "exited", 120, what="the demo's producer to end")
        assert project.state(producer)["ExitCode"] == 0, engine.call("logs", producer).stdout
        assert "12 published, 0 rejected, 0 held" in engine.call("logs", producer).stdout
        # The fleet itself has no channels in a clean checkout: it waits, says what for, and is not started over and over.
        worker, = project.containers("worker")
        said = engine.call("logs", worker)
        assert "landfall.json" in said.stdout + said.stderr and "not ready" in said.stdout + said.stderr
        assert project.state(worker)["Running"] and engine.inspect(worker)["RestartCount"] == 0
        project.wait_health(worker, "unhealthy")


def test_containers_are_killed_cut_off_restarted_and_updated_and_nothing_is_lost_or_doubled(engine, config):
    with Project(engine, "demo", LANDFALL_CONFIG_DIR=config) as project:
        admin = started(project)
        for platform in ("social", "sky", "community", "partner"):
            admin.fault("commit_slowly", platform, times=10_000, delay_ms=400)
        submit(project)
        for container in project.containers("worker"):
            time.sleep(1)
            engine.call("kill", container)
            engine.call("start", container)
        cut = project.containers("worker")[0]
        for network in ("ledger", "outside"):
            engine.call("network", "disconnect", project.network(network), cut)
        time.sleep(LEASE_MS / 1000 + 1)
        for network in ("ledger", "outside"):
            engine.call("network", "connect", project.network(network), cut)
        project.compose("restart", "redis")
        update(engine, project)
        check_nothing_twice_nothing_lost(project, admin)
        drained = project.landfall("drain")
        assert drained.returncode == 0, drained.stdout
        assert project.landfall("report", "--since", "1h", "--expect", str(ITEMS * len(CHANNELS))).returncode == 0


def update(engine, project):
    """A second version, one container after the other; the program is the same, the image is another."""
    with_label = "FROM landfall\nLABEL org.opencontainers.image.version=next\n"
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), project.env["COMPOSE_PROJECT_NAME"])
    os.makedirs(folder)
    try:
        with open(os.path.join(folder, "Dockerfile"), "w", encoding="utf-8") as out:
            out.write(with_label)
        engine.call("build", "--tag", "landfall:next", folder)
    finally:
        shutil.rmtree(folder)
    project.env["LANDFALL_IMAGE"] = "landfall:next"
    project.compose("up", "--detach", "--no-deps", "--scale", "worker=3", "worker", "reconciler")
    for container in project.containers("worker"):
        assert engine.inspect(container)["Config"]["Labels"]["org.opencontainers.image.version"] == "next"


def test_docker_stop_ends_a_worker_within_its_ten_seconds_and_leaves_nothing_to_reconcile(engine, config):
    with Project(engine, "demo", LANDFALL_CONFIG_DIR=config) as project:
        admin = started(project, workers=1)
        worker, = project.containers("worker")
        admin.fault("commit_slowly", "social", delay_ms=1000)
        project.landfall("submit", "--text", "Stopped in the middle", "--id", "stopped", "--to", "mastodon/brand")
        admin.wait("writes", 1, instance="social", timeout_ms=30_000)
        engine.call("stop", worker)
        state = project.state(worker)
        assert state["ExitCode"] == 0 and not state["OOMKilled"], (state, engine.call("logs", worker).stdout)
        assert counts(project) == {"published": 1}
        # The answer does not come within the grace time, and nobody reconciles: the row says that nobody knows.
        project.compose("stop", "reconciler")
        engine.call("start", worker)
        admin.fault("hold", "social", limit_ms=120_000)
        project.landfall("submit", "--text", "Stopped too late", "--id", "late", "--to", "mastodon/brand", check=False)
        admin.wait("holding", timeout_ms=60_000)
        engine.call("stop", worker)
        assert counts(project) == {"published": 1, "uncertain": 1}


def test_the_image_runs_without_root_and_without_a_writable_file_system(engine):
    facts = engine.inspect("landfall")
    assert facts["Config"]["User"] == "landfall" and facts["Config"]["Healthcheck"]["Test"][1:] == ["landfall-worker", "--check=ready"]
    plain = ("run", "--rm", "--read-only", "--cap-drop", "ALL", "--network", "none", "landfall")
    assert "with TLS to Redis" in engine.call(*plain, "landfall-worker", "--version").stdout
    assert engine.call(*plain, "id", "-u").stdout == "10001\n"
    for program in ("landfall", "landfall-worker", "landfall-reconciler"):
        assert engine.call(*plain, program, "--help").stdout
    added = facts["Size"] - engine.inspect(BASE)["Size"]
    print(f"the image adds {added / 1e6:.0f} MB to {BASE}")
    assert added < 60e6
