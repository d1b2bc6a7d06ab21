# SPDX-License-Identifier: MIT
"""landfall and BullMQ under one schedule of faults; the table is printed. Of BullMQ nothing is asked but that it was measured.

$LANDFALL_PEERS=quick takes a tenth of the posts, and short times; $LANDFALL_PEERS_SEED other moments for the kills."""
import dataclasses
import os

import pytest

from lib.npm import NotToBeHad
from peers.beside_bullmq import FULL, QUICK, SEED, Figures, install, measure, table

SCHEDULE = QUICK if os.environ.get("LANDFALL_PEERS") == "quick" else FULL


class CountedPlatform:
    """What the platform tells at the end, without a platform."""

    def __init__(self, commits):
        self.commits = commits

    def report(self):
        deliveries = {f"mastodon/brand/{item}": {"commits": count} for item, count in self.commits.items()}
        return {"deliveries": deliveries, "violation_counts": {}, "totals": {"writes": sum(self.commits.values())}}

    def get(self, endpoint):
        return {"faults": [{"do": "commit_slowly", "fired": 5}, {"do": "commit_then_close", "fired": 2}]}


def test_what_is_counted():
    shown = {"a": "done", "b": "done", "c": "failed", "d": "failed", "e": "held: unseen", "f": "open: uncertain unseen", "g": "done"}
    one = Figures.of(CountedPlatform({"a": 1, "b": 3, "c": 1, "d": 0, "e": 0, "f": 2}), shown, 12.5)
    assert (one.posts, one.requests, one.lost_answers, one.settled_s) == (7, 7, 2, 12.5)
    assert one.duplicates == 3, "two more of b, one more of f"
    assert one.lost == 2, "d failed and g is said to be done; neither was published, and nobody will"
    assert (one.shown_as_failed, one.held, one.unsettled) == (1, 1, 1)
    assert one.why == {"held: unseen": 1, "open: uncertain unseen": 1}


def test_under_the_same_faults(tell):
    try:
        install()
    except NotToBeHad as error:
        pytest.skip(f"there is no BullMQ here: {error}")
    seed = int(os.environ.get("LANDFALL_PEERS_SEED", SEED))
    figures = measure(dataclasses.replace(SCHEDULE, seed=seed), say=tell)
    tell(table(figures))
    for name, one in figures.items():
        assert one.posts == SCHEDULE.posts and one.lost_answers == one.requests // SCHEDULE.lost_every > 0, name
    ours = figures["landfall"]
    assert (ours.duplicates, ours.lost, ours.shown_as_failed, ours.unsettled, ours.violations) == (0, 0, 0, 0, ()), ours
