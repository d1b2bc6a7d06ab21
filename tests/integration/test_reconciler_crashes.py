# SPDX-License-Identifier: MIT
"""The reconciler dies at every point that docs/contract.md names, and two of them work at once: the end is the same."""
import pytest

from lib.procs import wait_for
from reconciler_kit import Scene, channel

POINTS = ["after_walk_begin", "after_page", "before_resolve", "after_resolve"]
COUNT = 70  # more than one call of a script holds


def make(scene, platform):
    """Deliveries of which every second one stands on the platform; gives (all, those that are there)."""
    names = [scene.uncertain(channel(platform), f"it-{n}") for n in range(COUNT)]
    there = {names[n]: scene.plant(platform, f"it-{n}") for n in range(0, COUNT, 2)}
    return names, there


def wait_end(scene, platform, names, there):
    wait_for(lambda: scene.ledger.count(channel(platform), "uncertain") == 0, 60, what=lambda: scene.output())
    for name in names:
        row = scene.row(name)
        if name in there:
            assert (row["state"], row.get("ext_id"), row["source"]) == ("published", there[name], "read_back"), row
        else:
            assert (row["state"], row["reason"]) == ("approved", "absent"), row
    assert scene.ledger.journal() == []
    assert scene.db.zcard(scene.ledger.key("uncertain", channel(platform))) == 0
    wait_for(lambda: scene.ledger.due("walk:" + channel(platform)) is None, 10, "the account to leave the agenda")
    # Each was published once and told once.
    told = [fields["delivery"] for _, fields in scene.db.xrange(scene.ledger.key("outcomes"))]
    assert sorted(told) == sorted(there)
    scene.nothing_was_written()


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at(point, nth):
    with Scene(["forem"]) as scene:
        names, there = make(scene, "forem")
        first = scene.run(crash_at=f"{point}:{nth}", name="first")
        if point == "after_walk_begin" and nth == 2:
            wait_end(scene, "forem", names, there)  # one walk is enough: it never comes to a second one
            names.append(scene.uncertain(channel("forem"), "it-late"))
        first.wait_killed()
        # A walk lease of a dead process lasts a minute; nobody waits for it here.
        scene.db.delete(scene.ledger.key("walk", channel("forem")))
        scene.make_walk_due(channel("forem"))
        with scene.running(name="second"):
            wait_end(scene, "forem", names, there)


def test_the_lease_of_a_dead_walk_keeps_others_out_until_it_ends():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.run(crash_at="after_walk_begin", name="first").wait_killed()
        key = scene.ledger.key("walk", channel("forem"))
        assert 0 < scene.db.pttl(key) <= 60000
        scene.db.pexpire(key, 1500)
        scene.make_walk_due(channel("forem"))
        ends = scene.ledger.now() + 1500
        with scene.running(name="second"):
            row = scene.wait_reason(delivery, "approved", "absent")
        assert int(row["since"]) >= ends - 20


def test_two_at_once_and_a_drain_beside_them():
    with Scene(["mastodon", "forem"], times={"key_window_ms": 0}) as scene:
        made = {platform: make(scene, platform) for platform in ("mastodon", "forem")}
        with scene.running(name="one"), scene.running(name="two"):
            scene.drain(code=None)
            for platform, (names, there) in made.items():
                wait_for(lambda: scene.ledger.count(channel(platform), "uncertain") == 0, 60, what=lambda: scene.output())
                for name in names:
                    assert scene.ledger.state(name)[0] == ("published" if name in there else "approved")
        # No account was walked by two at once: nobody found a row changed under it that it had under its lease.
        assert scene.ledger.journal() == []
        scene.nothing_was_written()


def test_redis_that_goes_away_leaves_everything_as_it_was_and_is_found_again():
    with Scene(["forem"], redis_options={"appendonly": "yes", "appendfsync": "always"}) as scene:
        names, there = make(scene, "forem")
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        with scene.running(name="first") as reconciler:
            scene.sim.wait("holding")
            scene.redis.pause()
            scene.sim.release()
            reconciler.wait_output("ledger.lost", timeout_s=20)
            scene.redis.resume()
            wait_end(scene, "forem", names, there)


def test_it_ends_in_order_in_the_middle_of_a_page():
    with Scene(["forem"]) as scene:
        delivery = scene.uncertain(channel("forem"), "it-1")
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        with scene.running():
            scene.sim.wait("holding")
        assert scene.state(delivery) == "uncertain"
        assert scene.db.get(scene.ledger.key("walk", channel("forem"))) is None
        assert scene.ledger.due("walk:" + channel("forem")) <= scene.ledger.now()


def test_a_lease_that_somebody_else_has_meanwhile_is_left_to_them():
    with Scene(["forem"]) as scene:
        scene.uncertain(channel("forem"), "it-1")
        key = scene.ledger.key("walk", channel("forem"))
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        with scene.running() as reconciler:
            scene.sim.wait("holding")
            scene.db.set(key, "somebody-else", px=60000)
            scene.sim.release()
            reconciler.wait_output("walk.ended")
        assert scene.db.get(key) == "somebody-else"
