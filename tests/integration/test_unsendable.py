# SPDX-License-Identifier: MIT
"""A row of which nothing can be made is not tried for ever: it is a person's, with the reason; and where an attempt may have
been executed, the platform is read."""
import json
import os
import subprocess

from lib.fleet import Fleet
from lib.procs import wait_for
from lib.tiers import NOTICES, NOTICES_TOKEN
from lib.tree import program
from reconciler_kit import Scene, channel

TOOTS, BLIND = channel("mastodon"), "notices/brand"
WHY = ("--why", "the descriptor is mended")


def landfall(fleet, *words, code=0):
    done = subprocess.run([program("landfall"), *words, "--config", fleet.config_path, "--json"], capture_output=True, text=True,
                          timeout=60, cwd=fleet.dir)
    assert done.returncode == code, done
    return json.loads(done.stdout)


def with_text(text):
    """The notices' descriptor, whose body is made by this program."""
    write = {**NOTICES["write"], "request": {**NOTICES["write"]["request"], "body": {"json": "{id: .item.id, text: (%s)}" % text}}}
    return {**NOTICES, "write": write}


def test_an_item_of_which_the_descriptor_makes_no_request_is_held_and_goes_out_once_that_is_mended():
    broken = with_text('.item.content_text | if test("odd") then error("cannot say it") else . end')
    with Fleet([], descriptors=[broken]) as fleet:
        fleet.add_channel(BLIND, NOTICES_TOKEN, {"instance": fleet.add_fake("notices", "notices", BLIND, NOTICES_TOKEN)})
        odd, even = f"{BLIND}/odd", f"{BLIND}/even"
        for item_id in ("odd", "even"):
            fleet.add(BLIND, fleet.item(item_id))
        assert fleet.run_worker() == 3
        row = fleet.row(odd)
        assert (row["state"], row["reason"], row.get("tries", "0")) == ("held", "unsendable", "0") and "in_doubt" not in row
        assert fleet.state(even) == "published"
        shown = landfall(fleet, "show", odd, code=3)
        assert "cannot say it" in shown["detail"] and "no request can be made of it" in shown["why"]
        for folder, _, files in os.walk(fleet.dir):
            if "notices.json" in files:
                with open(os.path.join(folder, "notices.json"), "w", encoding="utf-8") as out:
                    json.dump(NOTICES, out)
        assert landfall(fleet, "retry", "--reason", "unsendable", "--yes", *WHY)["done"] == 1
        assert fleet.run_worker() == 0
        fleet.check_judge(**{odd: 1, even: 1})


def test_a_frozen_request_that_somebody_changed_is_not_repeated_and_the_platform_is_read():
    with Scene(["mastodon"], times={"visibility_lag_ms": 600000}) as scene:
        delivery = f"{TOOTS}/it-1"
        scene.sim.fault("close_before_commit", "mastodon")
        scene.add(TOOTS, scene.item("it-1"))
        scene.run_worker()
        scene.wait_state(delivery, "uncertain")
        scene.db.hset(scene.ledger.key("request", delivery), "frozen", '{"v":1}')
        with scene.running() as reconciler:
            scene.wait_reason(delivery, "approved", "replay")
            worker = scene.start_worker(name="second")
            row = scene.wait_reason(delivery, "uncertain", "unsendable_in_doubt")
            assert row["in_doubt"].startswith("1:") and len(row["in_doubt"].split()) == 1 and row["tries"] == "1"
            walks = len(scene.events(reconciler, "walk.ended"))
            scene.make_walk_due(TOOTS)
            wait_for(lambda: len(scene.events(reconciler, "walk.ended")) > walks, 20, what=scene.output)
            assert scene.ledger.state(delivery) == ("uncertain", "unsendable_in_doubt"), "it is not handed out as a repetition"
            post = scene.plant("mastodon", "it-1")  # as if the first attempt had been executed late
            scene.make_walk_due(TOOTS)
            assert scene.wait_state(delivery, "published")["ext_id"] == post
        assert worker.stop() == 0
        assert scene.sim.report()["deliveries"][delivery]["writes"] == 1
