# SPDX-License-Identifier: MIT
"""The admin API under /_admin: instances, faults, held answers, history, expectations, and what the judge found.

All of it is JSON over the simulator's own port. A request that cannot be meant is 400 with a text that says why.
"""
import time

from .base import SettingError
from .wire import Answer

WAIT_MS_MAX = 120_000
WAIT_COUNTS = ("requests", "reads", "writes", "logins", "commits", "on_reused_connection")


def get_state(simulator, body):
    instances = {}
    for name, instance in sorted(simulator.instances.items()):
        instances[name] = {
            "platform": instance.NAME, "base_url": instance.base_url, "settings": instance.settings,
            "accounts": [{"channel": account.channel, "username": account.name, "id": account.id}
                         for account in instance.accounts]}
    return {"port": simulator.port, "instances": instances, "holding": simulator.holds.json(),
            "faults": simulator.faults.json(), "connections": simulator.connection_count()}


def get_report(simulator, body):
    return simulator.judge.report()


def get_requests(simulator, body):
    limit = body.get("limit", 1000)
    return {"requests": simulator.judge.requests(body.get("instance"), int(limit))}


def post_instances(simulator, body):
    instance = simulator.add_instance(**body)
    return {"name": instance.name, "base_url": instance.base_url}


def post_accounts(simulator, body):
    instance = simulator.instance(body.get("instance"))
    if not body.get("channel") or not body.get("token"):
        raise SettingError("an account needs channel and token")
    account = instance.add_account(body["channel"], body["token"], body.get("username", "lf"))
    return {"id": account.id}


def post_settings(simulator, body):
    instance = simulator.instance(body.pop("instance", None))
    instance.configure(body)
    return {"settings": instance.settings}


def post_faults(simulator, body):
    name = body.get("instance", "*")
    if name != "*":
        simulator.instance(name)
    if body.get("do") == "refuse_connections" and not simulator.has_own_port(name):
        raise SettingError("refuse_connections closes a listener: give the instance own_port=true and name it")
    return simulator.faults.add(body).json()


def delete_faults(simulator, body):
    if "id" in body:
        simulator.faults.remove(int(body["id"]))
    else:
        simulator.faults.clear()
    return {"faults": simulator.faults.json()}


def post_release(simulator, body):
    then = body.get("then", "answer")
    if then not in ("answer", "close"):
        raise SettingError("release: then is answer or close")
    return {"released": simulator.holds.release(then, body.get("id"), body.get("instance"))}


def post_posts(simulator, body):
    instance = simulator.instance(body.pop("instance", None))
    return instance.operate(body.pop("op", "plant"), body)


def get_posts(simulator, body):
    instance = simulator.instance(body.get("instance"))
    params = {"limit": int(body.get("limit", 100))}
    if "channel" in body:
        params["channel"] = body["channel"]
    return instance.operate("list", params)


def post_expect(simulator, body):
    simulator.instance(body["instance"])
    simulator.judge.expect(body["instance"], body["needle"], body["delivery"])
    return {"expected": True}


def post_reset(simulator, body):
    simulator.reset()
    return {"reset": True}


def post_wait(simulator, body):
    """Waits until something has happened: for = holding, gone (a held answer's client has left), or a counter."""
    what, wanted, instance = body.get("for"), body.get("count", 1), body.get("instance")
    if what not in ("holding", "gone", *WAIT_COUNTS):
        raise SettingError(f"wait: for is one of holding, gone, {', '.join(WAIT_COUNTS)}")
    end = time.monotonic() + min(body.get("timeout_ms", 10_000), WAIT_MS_MAX) / 1000

    def value():
        if what in ("holding", "gone"):
            return sum(instance in (None, held["instance"]) and (what == "holding" or not held["client_connected"])
                       for held in simulator.holds.json())
        return simulator.judge.count(what, instance)

    with simulator.changes:
        while True:
            now = value()
            remaining = end - time.monotonic()
            if now >= wanted:
                return {"value": now, "holding": simulator.holds.json()}
            if remaining <= 0 or simulator.stopping.is_set():
                return Answer.of_json(408, {"error": f"waited for {wanted} {what}, there are {now}", "value": now})
            simulator.changes.wait(min(remaining, 0.05 if what == "gone" else 1))


ENDPOINTS = {
    ("GET", "state"): get_state, ("GET", "report"): get_report, ("GET", "requests"): get_requests,
    ("GET", "posts"): get_posts, ("POST", "instances"): post_instances, ("POST", "accounts"): post_accounts,
    ("POST", "settings"): post_settings, ("POST", "faults"): post_faults, ("DELETE", "faults"): delete_faults,
    ("POST", "release"): post_release, ("POST", "posts"): post_posts, ("POST", "expect"): post_expect,
    ("POST", "reset"): post_reset, ("POST", "wait"): post_wait,
}


def handle(simulator, request):
    """The answer to one admin request."""
    endpoint = ENDPOINTS.get((request.method, request.path.removeprefix("/_admin/")))
    if endpoint is None:
        known = ", ".join(f"{method} /_admin/{name}" for method, name in sorted(ENDPOINTS))
        return Answer.of_json(404, {"error": f"the admin API has {known}"})
    body = dict(request.query) if request.method != "POST" else request.json() if request.body else {}
    if not isinstance(body, dict):
        return Answer.of_json(400, {"error": "the body is not a JSON object"})
    try:
        result = endpoint(simulator, body)
    except (SettingError, ValueError) as error:
        return Answer.of_json(400, {"error": str(error)})
    except (KeyError, TypeError, AttributeError) as error:
        return Answer.of_json(400, {"error": f"{type(error).__name__}: {error}"})
    return result if isinstance(result, Answer) else Answer.of_json(200, result)
