# SPDX-License-Identifier: MIT
"""Walks that are disturbed: their lease runs out under them, their pages come in pieces, there are more doubts than one walk
takes, and who sent the request comes back while somebody else decides."""
import json

from lib.procs import wait_for
from reconciler_kit import Scene, channel

FOREM, TOOTS = channel("forem"), channel("mastodon")
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


def test_a_walk_that_is_cut_told_to_wait_and_refused_goes_on_where_it_stood():
    with Scene(["mastodon"], times={"key_window_ms": 0}) as scene:
        delivery = scene.uncertain(TOOTS, "it-1")
        scene.plant("mastodon", count=200, newest_age_ms=0, step_ms=1)
        scene.sim.post("posts", instance="mastodon", op="plant", newest_age_ms=400, text=scene.item("it-1")["content_text"])
        # The third page: in pieces, then a limit, then an error of the server; then it comes.
        faults = [("truncated_page", {}), ("rate_limited", {"wait_s": 1}), ("status", {"status": 500})]
        for nth, (fault, params) in enumerate(faults, 3):
            scene.sim.fault(fault, "mastodon", on={"kind": "list", "nth": nth}, **params)
        with scene.running() as reconciler:
            scene.wait_state(delivery, "published")
            reconciler.wait_output("walk.ended")
        assert [walk["result"] for walk in walks(scene, reconciler)] == ["complete"]
        log = scene.sim.get("requests", instance="mastodon", limit=1000)["requests"]
        pages = [line for line in log if line["kind"] == "read" and "max_id" in line["target"]]
        targets = [line["target"] for line in pages]
        assert len(targets) - len(set(targets)) == 3, "only the page that did not come was asked for again"
        assert scene.row(delivery)["source"] == "read_back"
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


def test_a_worker_that_comes_back_with_a_refusal_after_the_post_was_found_changes_nothing():
    """It stood still past its lease. The platform had committed and a proxy has answered 503 to it."""
    with Scene(["forem"]) as scene:
        delivery = f"{FOREM}/it-1"
        scene.sim.fault("commit_then_status", "forem", status=503, delay_ms=1200)
        scene.add(FOREM, scene.item("it-1"))
        slow = scene.start_worker(name="slow")
        wait_for(lambda: scene.sim.report()["deliveries"].get(delivery, {}).get("commits"), 20, what=scene.output)
        slow.pause()
        scene.db.delete(scene.ledger.key("lease", delivery))
        scene.hurry(delivery)
        other = scene.start_worker(name="other")
        scene.wait_reason(delivery, "uncertain", "lease_lost")
        with scene.running():
            row = scene.wait_state(delivery, "published")
        slow.resume()
        assert slow.stop(20) == 0 and other.stop(20) == 0
        assert scene.row(delivery) == row and row["source"] == "read_back"
        scene.check_judge(**{delivery: 1})
