# SPDX-License-Identifier: MIT
"""What stands in deploy/: that it is valid by the tools of its own field, and that it agrees with the programs and the docs.

A tool that is not installed here is named in the reason why its test is skipped.
"""
import json
import os
import re
import shutil
import subprocess

import pytest

from lib.tree import BUILD, TOP

DEPLOY = os.path.join(TOP, "deploy")


def text_of(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def needs(program, package):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed here (Debian: {package})")


def run(*argv, **kwargs):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, cwd=TOP, **kwargs)
    assert done.returncode == 0, f"{' '.join(argv)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


# ---- Prometheus and Grafana

def documented_metrics():
    return set(re.findall(r"^\| `(landfall_\w+)` \|", text_of("docs", "contract.md"), re.M))


def base_name(metric):
    return re.sub(r"_(bucket|sum|count)$", "", metric)


@pytest.mark.parametrize("path", ["prometheus/landfall.rules.yml", "grafana/dashboards/landfall.json"])
def test_alerts_and_dashboard_use_metrics_that_exist(path):
    used = {base_name(name) for name in re.findall(r"\blandfall_[a-z_]+", text_of("deploy", path))}
    assert used and used <= documented_metrics(), used - documented_metrics()


def test_every_alert_names_a_page_of_the_runbook_and_is_made_true_once():
    rules = text_of("deploy", "prometheus", "landfall.rules.yml")
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
               for title in re.findall(r"^## (.*)$", text_of("docs", "runbook.md"), re.M)}
    alerts = re.findall(r"- alert: (\w+)", rules)
    pages = re.findall(r"runbook: docs/runbook\.md#(\S+)", rules)
    assert len(pages) == len(alerts) == len(re.findall(r"reason: \S", rules)) and set(pages) <= anchors, set(pages) - anchors
    tried = text_of("deploy", "prometheus", "landfall.test.yml")
    assert all(f'alertname="{alert}"' in tried for alert in alerts)


@needs("promtool", "prometheus")
def test_prometheus_takes_the_rules_and_they_fire_when_they_should():
    folder = os.path.join(DEPLOY, "prometheus")
    run("promtool", "check", "rules", os.path.join(folder, "landfall.rules.yml"))
    run("promtool", "check", "config", "--syntax-only", os.path.join(folder, "prometheus.yml"))
    run("promtool", "test", "rules", os.path.join(folder, "landfall.test.yml"))


def test_the_dashboard_begins_with_the_three_questions_of_the_night():
    dashboard = json.loads(text_of("deploy", "grafana", "dashboards", "landfall.json"))
    first = dashboard["panels"][0]
    assert first["type"] == "row" and first["title"] == "Is it publishing? What is in doubt? Who waits for what?"
    assert all(panel["description"] and panel["targets"] for panel in dashboard["panels"] if panel["type"] != "row")


# ---- systemd and the package

@needs("systemd-analyze", "systemd")
@pytest.mark.parametrize("unit", ["landfall-worker", "landfall-reconciler"])
def test_systemd_takes_the_units_and_calls_them_safe(unit):
    path = os.path.join(BUILD, "deploy", "systemd", f"{unit}.service")
    said = run("systemd-analyze", "security", "--offline=true", "--no-pager", path)
    exposure = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", said)[1])
    assert exposure <= 2.0, said[-400:]
    known = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, timeout=60)
    wrong = [line for line in known.stderr.splitlines() if unit in line and "is not executable" not in line]
    assert not wrong, wrong


@needs("file", "file")
@needs("dpkg-shlibdeps", "dpkg-dev")
@needs("dpkg-deb", "dpkg")
@needs("cpack", "cmake")
def test_the_package_has_programs_descriptors_units_pages_and_a_user(tmp_path):
    run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", str(tmp_path))
    package, = [name for name in os.listdir(tmp_path) if name.endswith(".deb")]
    assert re.fullmatch(r"landfall_[\d.]+_\w+\.deb", package)
    files = run("dpkg-deb", "--contents", str(tmp_path / package))
    for path in ("bin/landfall", "bin/landfall-worker", "bin/landfall-reconciler", "descriptors/mastodon.json",
                 "systemd/system/landfall-worker.service", "systemd/system/landfall-reconciler.service", "sysusers.d/landfall.conf",
                 "man1/landfall.1", "bash-completion/completions/landfall"):
        assert re.search(rf"/{re.escape(path)}(\.gz)?\n", files), path
    depends = run("dpkg-deb", "--field", str(tmp_path / package), "Depends")
    assert all(library in depends for library in ("libhiredis", "libcurl", "libjq", "ca-certificates", "passwd")), depends


def test_the_package_makes_its_user_also_where_there_is_no_systemd(tmp_path):
    """A machine that has a shell, and of the programs that make users only useradd: it says what it was called with."""
    for name, text in (("getent", "exit 2"), ("useradd", f'echo "$@" >>{tmp_path}/called')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    postinst = ["/bin/sh", os.path.join(TOP, "deploy", "systemd", "postinst"), "configure"]
    subprocess.run(postinst, env={"PATH": str(tmp_path)}, check=True, timeout=30, capture_output=True)
    (tmp_path / "getent").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    subprocess.run(postinst, env={"PATH": str(tmp_path)}, check=True, timeout=30, capture_output=True)
    with open(os.path.join(TOP, "deploy", "systemd", "landfall.sysusers"), encoding="utf-8") as file:
        home = file.read().split()[-1]
    called = (tmp_path / "called").read_text(encoding="utf-8").splitlines()
    assert len(called) == 1 and called[0].endswith(" landfall") and f"--home-dir {home} " in called[0], called


# ---- containers

@pytest.fixture(scope="module")
def compose():
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed here")
    return yaml.safe_load(text_of("docker-compose.yml"))


def test_containers_have_no_more_rights_than_they_need(compose):
    for name, service in compose["services"].items():
        if "profiles" in service and service["profiles"] == ["observability"] or name == "platforms":
            continue
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
    assert compose["networks"]["ledger"]["internal"], "nothing from outside reaches Redis"
    assert "ports" not in compose["services"]["redis"]


def test_no_password_stands_in_the_compose_file(compose):
    text = json.dumps(compose["services"])
    assert "PASSWORD\"" not in text and not re.search(r"redis://\w+:", text)


# ---- Kubernetes

def kubernetes():
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed here")
    if shutil.which("kubectl"):
        text = run("kubectl", "kustomize", os.path.join(DEPLOY, "kubernetes", "base"))
        return list(yaml.safe_load_all(text))
    folder = os.path.join(DEPLOY, "kubernetes", "base")
    listed = yaml.safe_load(text_of("deploy", "kubernetes", "base", "kustomization.yaml"))["resources"]
    return [one for name in listed for one in yaml.safe_load_all(text_of(folder, name))]


def test_manifests_agree_with_the_image_and_the_configuration():
    objects = kubernetes()
    deployments = [one for one in objects if one["kind"] == "Deployment"]
    assert {one["metadata"]["name"] for one in deployments} == {"landfall-worker", "landfall-reconciler"}
    variables = set(re.findall(r'"x-variable": "(LANDFALL_\w+)"', text_of("docs", "config.schema.json")))
    dockerfile = text_of("Dockerfile")
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        container, = pod["containers"]
        assert f"EXPOSE {container['ports'][0]['containerPort']}" in dockerfile
        assert f"--uid {pod['securityContext']['runAsUser']}" in dockerfile
        assert {entry["name"] for entry in container["env"]} <= variables
        assert container["livenessProbe"]["httpGet"]["path"] == "/live" and container["readinessProbe"]["httpGet"]["path"] == "/ready"
        assert container["args"][0] == deployment["metadata"]["name"], "the program has the name of its deployment"
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] and pod["securityContext"]["runAsNonRoot"]
        grace = next((int(e["value"]) for e in container["env"] if e["name"] == "LANDFALL_WORKER_GRACE_MS"), 10000)
        assert pod["terminationGracePeriodSeconds"] * 1000 > grace + 5000, "the last round with Redis needs its time"
    selectors = [one["spec"]["selector"]["matchLabels"] for one in objects if one["kind"] == "PodDisruptionBudget"]
    assert len(selectors) == 2


@needs("kubectl", "kubernetes-client")
@pytest.mark.parametrize("folder", ["kubernetes/base", "kubernetes/keda"])
def test_kustomize_builds_the_manifests(folder):
    assert "kind: Deployment" in run("kubectl", "kustomize", os.path.join(DEPLOY, folder))
