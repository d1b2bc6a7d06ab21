# SPDX-License-Identifier: MIT
"""A long outage: one walk over an account's history settles all its uncertain deliveries, with as many reads as the history
has pages, in bounded memory; and reconcilers that share the channels lose nothing when one of them dies.

$LANDFALL_SCALE is the number of uncertain deliveries; 10000 is the size that is promised, with 25,000 posts of history.
"""
import json
import os

from lib.procs import wait_for
from lib.tree import PRESET
from reconciler_kit import Scene, channel

TOOTS, FOREM = channel("mastodon"), channel("forem")
SCALE = int(os.environ.get("LANDFALL_SCALE", "2000"))
HISTORY = SCALE * 5 // 2
PAGE = 40
RSS_BASE_KB, RSS_EACH_KB = 24 * 1024, 8
LIMIT_S = 30 + SCALE // 20
OURS = "Text of it-{n} https://blog.example/p/it-{n}"


def plant_history(scene, found):
    """The first `found` deliveries stand there, a few milliseconds apart; before the floor of the walk lies the rest."""
    scene.sim.post("posts", instance="mastodon", op="plant", count=found, text=OURS, newest_age_ms=0, step_ms=5)
    scene.sim.post("posts", instance="mastodon", op="plant", count=HISTORY - found, newest_age_ms=3600000, step_ms=1000)


def peak_kb(process):
    """The most memory that the process has held; 0 when it is gone."""
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def states(scene, names):
    pipe = scene.db.pipeline(transaction=False)
    for name in names:
        pipe.hmget(scene.ledger.key("delivery", name), "state", "reason")
    return pipe.execute()


def drain_watched(scene, *args):
    """Drains to the end; (lines, the most memory it held)."""
    process, peak = scene.run("drain", "--json", *args, name=f"watched-{len(scene.processes)}"), [0]

    def over():
        peak[0] = max(peak[0], peak_kb(process))
        return not process.running
    wait_for(over, LIMIT_S, what=process.tail)
    process.wait_exit(0)
    return [json.loads(line) for line in process.stdout().splitlines()], peak[0]


def test_one_walk_settles_the_whole_account():
    with Scene(["mastodon"], times={"key_window_ms": 0}) as scene:
        names = scene.uncertain_many(TOOTS, [f"it-{n}" for n in range(SCALE)])
        found = SCALE // 2
        plant_history(scene, found)
        lines, peak = drain_watched(scene)
        assert states(scene, names) == [["published", "confirmed"]] * found + [["approved", "absent"]] * (SCALE - found)
        # Pages down to the first entry below the floor, and one request that asks for the account's own id.
        pages = (found + PAGE) // PAGE
        assert scene.saw("mastodon", "reads") == pages + 1
        assert lines[-1]["after"]["published"] == found and lines[-1]["deliveries"] == SCALE
        assert peak > 0 and (PRESET == "asan" or peak < RSS_BASE_KB + SCALE * RSS_EACH_KB), f"{peak} KB for {SCALE} deliveries"
        assert scene.ledger.journal() == []
        scene.nothing_was_written()


def long_listing(descriptor):
    descriptor["reads"]["listing"]["pages_max"] = 2000


def test_memory_hardly_grows_with_the_history():
    peaks = []
    for posts in (PAGE, HISTORY):  # all of them above the floor
        with Scene(["mastodon"], times={"key_window_ms": 0}, change={"mastodon": long_listing}) as scene:
            scene.uncertain_many(TOOTS, [f"it-{n}" for n in range(50)])
            scene.sim.post("posts", instance="mastodon", op="plant", count=posts, newest_age_ms=0, step_ms=5)
            peaks.append(drain_watched(scene)[1])
            assert scene.saw("mastodon", "reads") == posts // PAGE + 2  # a full page is not yet the end; and the account's id
    # 16 bytes an entry of the history, and what the allocator makes of that.
    assert PRESET == "asan" or peaks[1] < peaks[0] + 2048 + HISTORY * 64 // 1024, peaks


def test_two_share_the_channels_and_one_dies_in_mid_walk():
    count = max(SCALE // 4, 150)
    with Scene(["mastodon", "forem"], times={"key_window_ms": 0}) as scene:
        names = {name: scene.uncertain_many(name, [f"it-{n}" for n in range(count)]) for name in (TOOTS, FOREM)}
        scene.sim.post("posts", instance="mastodon", op="plant", count=count // 2, text=OURS, newest_age_ms=0, step_ms=5)
        scene.sim.post("posts", instance="forem", op="plant", count=count // 2, newest_age_ms=0, step_ms=5, text="Text of it-{n}",
                       canonical_url="https://blog.example/p/it-{n}")
        dying = scene.run(name="dying", crash_at="after_page:3")
        dying.wait_killed()
        held = [name for name in names if scene.db.get(scene.ledger.key("walk", name))]
        assert held, "it died under a walk lease"
        assert all(state == "uncertain" for name in held for state, _ in states(scene, names[name]))
        for name in held:  # nobody waits here for as long as a dead walk's lease lasts
            scene.db.delete(scene.ledger.key("walk", name))
            scene.make_walk_due(name)
        with scene.running(name="one"), scene.running(name="two"):
            for name in names:
                wait_for(lambda name=name: scene.ledger.count(name, "uncertain") == 0, 60, what=scene.output)
        for name in names:
            assert states(scene, names[name]) == [["published", "confirmed"]] * (count // 2) + \
                [["approved", "absent"]] * (count - count // 2)
        assert scene.ledger.journal() == []
        told = [fields["delivery"] for _, fields in scene.db.xrange(scene.ledger.key("outcomes"))]
        assert len(told) == len(set(told)) == 2 * (count // 2)
        scene.nothing_was_written()
