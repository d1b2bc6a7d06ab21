# SPDX-License-Identifier: MIT
"""Parts of a thread: each goes out when the one before it is published, as a reply to it, however often workers are killed."""
from lib.fleet import CHANNELS, UNPACED, Fleet
from lib.parallel import all_pass
from lib.procs import wait_for

PARTS = ["part-1", "part-2", "part-3"]


def add_parts(fleet, channel, parts=PARTS):
    for part in parts:
        before = PARTS[PARTS.index(part) - 1] if part != PARTS[0] else None
        fleet.add(channel, fleet.item(part, **({"landfall": {"after": before}} if before else {})))
    return [f"{channel}/{part}" for part in PARTS]


def id_of(fleet, delivery):
    return fleet.row(delivery).get("ext_id") or fleet.db.hget(f"lf:{{0}}:request:{delivery}", "ext_id")


def replies_of(fleet, platform):
    """external id -> id of the post that it answers."""
    posts = fleet.sim.get("posts", instance=platform)["posts"]
    return {post["id"]: post.get("in_reply_to_id") or post.get("reply", {}).get("parent", {}).get("uri") for post in posts}


def check_thread(fleet, platform, deliveries):
    report = fleet.check_judge(**dict.fromkeys(deliveries, 1))
    ids = [id_of(fleet, delivery) for delivery in deliveries]
    assert replies_of(fleet, platform) == dict(zip(ids, [None, *ids[:-1]]))
    first_writes = [report["deliveries"][delivery]["requests"][0]["number"] for delivery in deliveries]
    assert first_writes == sorted(first_writes), "they came in their order"


def wait_published(fleet, deliveries):
    """The wait for a predecessor that nobody has yet is ten seconds. Its time is made to come here, again and again; the
    ledger decides each time whether it is over."""
    def done():
        fleet.hurry(*(name for name in deliveries if fleet.row(name).get("reason") == "predecessor"))
        return fleet.states(deliveries) == {"published": len(deliveries)}
    wait_for(done, 60, lambda: f"{fleet.states(deliveries)}\n{fleet.output()}")


def in_any_order(platform):
    channel = CHANNELS[platform]
    with Fleet([platform], channel=UNPACED) as fleet:
        deliveries = add_parts(fleet, channel, PARTS[::-1])  # the order of the queue does not count
        fleet.start_worker()
        wait_published(fleet, deliveries)
        check_thread(fleet, platform, deliveries)
        assert {fleet.row(delivery)["attempt"] for delivery in deliveries} == {"1"}, "waiting uses up no attempt"


def test_each_part_answers_the_one_before_it():
    all_pass(in_any_order, ["mastodon", "bluesky"])


def killed_between(case):
    platform, point = case
    channel = CHANNELS[platform]
    with Fleet([platform], channel=UNPACED) as fleet:
        deliveries = add_parts(fleet, channel)
        nth = 1 if point == "after_prepare" else 2  # the first part has no step
        fleet.start_worker(crash_at=f"{point}:{nth}", name="first").wait_killed(timeout_s=40)
        assert [fleet.state(delivery) for delivery in deliveries] == ["published", "claimed", "approved"]
        fleet.start_reconciler()
        fleet.start_worker(name="second")
        wait_published(fleet, deliveries)
        check_thread(fleet, platform, deliveries)
        assert fleet.row(deliveries[2])["attempt"] == "1"


def test_a_kill_between_parts_resumes_at_the_first_that_is_not_confirmed():
    all_pass(killed_between, [("mastodon", "after_last_byte"), ("mastodon", "before_first_byte"), ("bluesky", "after_answer"),
                              ("bluesky", "after_prepare")])


def test_a_duplicate_of_the_first_part_is_no_reason_to_leave_its_thread():
    """The first part is out, and nobody has heard of it: the later ones wait until it is read back, and answer it."""
    channel = CHANNELS["mastodon"]
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        fleet.sim.fault("commit_then_close", on={"delivery": "part-1"})
        deliveries = add_parts(fleet, channel)
        fleet.start_worker()
        fleet.wait_state(deliveries[0], "uncertain")
        fleet.hurry(*deliveries[1:])
        fleet.check_judge(**{deliveries[0]: 1, deliveries[1]: 0, deliveries[2]: 0})
        fleet.start_reconciler()
        wait_published(fleet, deliveries)
        check_thread(fleet, "mastodon", deliveries)


def test_later_parts_are_held_where_the_first_was_rejected():
    channel = CHANNELS["mastodon"]
    with Fleet(["mastodon"], channel=UNPACED) as fleet:
        fleet.sim.fault("status", on={"delivery": "part-1"}, status=422, body='{"error": "Validation failed"}')
        deliveries = add_parts(fleet, channel)
        fleet.start_worker()
        fleet.wait_state(deliveries[2], "held", timeout_s=40)
        assert [fleet.state(delivery) for delivery in deliveries] == ["rejected", "held", "held"]
        assert {fleet.row(delivery)["reason"] for delivery in deliveries[1:]} == {"predecessor"}
        fleet.check_judge(**dict.fromkeys(deliveries, 0))
