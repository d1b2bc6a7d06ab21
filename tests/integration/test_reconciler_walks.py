# SPDX-License-Identifier: MIT
"""Walks whose lease runs out under them, and more doubts than one walk takes."""
import json

from lib.procs import wait_for
from reconciler_kit import Scene, channel

FOREM = channel("forem")
HOUR_MS = 3600000
WALK_MAX = 10000  # deliveries that one walk takes


def walks(scene, process):
    """What its walks said of themselves at their end."""
    return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in scene.events(process, "walk.ended")]


def test_a_walk_whose_lease_ran_out_is_taken_over_and_its_reconciler_changes_nothing_afterwards():
    with Scene(["forem"]) as scene:
        there, absent = scene.uncertain(FOREM, "it-1"), scene.uncertain(FOREM, "it-2")
        post, key = scene.plant("forem", "it-1"), scene.ledger.key("walk", FOREM)
        scene.sim.fault("hold", "forem", on={"kind": "list"}, commit=False)
        first = scene.run(name="first")
        scene.sim.wait("holding")
        first.pause()
        scene.db.pexpire(key, 300)  # so long did it stand still
        scene.make_walk_due(FOREM)
        with scene.running(name="second"):
            scene.wait_reason(absent, "approved", "absent")
            assert scene.wait_state(there, "published")["ext_id"] == post
        rows = {name: scene.row(name) for name in (there, absent)}
        scene.sim.release()
        first.resume()
        first.wait_output("event=walk.", timeout_s=20)  # ended with nothing to write, or lost
        assert first.stop() == 0
        assert {name: scene.row(name) for name in rows} == rows
        told = [fields["delivery"] for _, fields in scene.db.xrange(scene.ledger.key("outcomes"))]
        assert told == [there] and scene.ledger.journal() == [] and scene.db.get(key) is None
        scene.nothing_was_written()


def many_uncertain(scene, count):
    """As scene.uncertain() makes them, copied by hand: so many would take the scripts a while. Gives their names."""
    template = scene.uncertain(FOREM, "template")
    row, pipe = scene.row(template), scene.db.pipeline(transaction=False)
    since = int(row["since"])
    names = [f"{FOREM}/it-{n}" for n in range(count)]
    for n, name in enumerate(names):
        pipe.hset(scene.ledger.key("delivery", name), mapping={field: row[field] for field in row if field != "journal"})
        pipe.hset(scene.ledger.key("request", name), "content", json.dumps(scene.item(f"it-{n}")))
        pipe.zadd(scene.ledger.key("uncertain", FOREM), {name: since + 1 + n})
        if len(pipe) >= 3000:
            pipe.execute()
    pipe.hincrby(scene.ledger.key("counts"), f"{FOREM} uncertain", count)
    pipe.execute()
    return names


def test_doubts_beyond_the_number_of_one_walk_get_their_turn():
    """Those before them stay uncertain, and must not keep the others from being looked at for ever."""
    with Scene(["forem"], times={"visibility_lag_ms": HOUR_MS}) as scene:
        names = many_uncertain(scene, WALK_MAX + 20)
        posts = {name: scene.plant("forem", name.split("/")[-1]) for name in (names[0], names[-1])}
        with scene.running() as reconciler:
            for name, post in posts.items():
                assert scene.wait_state(name, "published", timeout_s=60)["ext_id"] == post
            wait_for(lambda: len(walks(scene, reconciler)) >= 2, 60, what=scene.output)
        first, second = walks(scene, reconciler)[:2]
        assert int(first["deliveries"]) == WALK_MAX and int(second["deliveries"]) <= 21
        assert scene.ledger.count(FOREM, "uncertain") == WALK_MAX + 21 - 2
        scene.nothing_was_written()
