"""A campaign at one moment."""

import numpy as np
import pandas as pd

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import answer_next, answers_of, items_of


def test_a_snapshot_has_the_items_and_labels_as_stored(target, make):
    store = make(target, labels=(np.array([1, 3]), np.array([1, -1])))
    snapshot = take_snapshot(store)
    pd.testing.assert_frame_equal(snapshot.features, items_of().features)
    assert snapshot.groups is None
    assert (snapshot.labeled.tolist(), snapshot.labels.tolist()) == ([1, 3], [1, -1])
    assert snapshot.planned.shape == (10, 2)
    assert len(snapshot.answers) == 0


def test_answers_count_until_they_are_taken_back(target, make):
    store = make(target)
    me = people.local_rater(store)
    before = take_snapshot(store)
    for choice in ("left", "skip", "tie", "right"):
        answer_next(store, choice)
    assert [abs(outcome) for outcome in take_snapshot(store).answers["outcome"]] == [1, 0, 1]
    leases.undo(store, me, leases.progress(store, me)["undo"])
    assert len(take_snapshot(store).answers) == 2
    assert len(before.answers) == 0  # it is of its moment


def test_pairs_are_in_planned_order_with_imported_ones_at_the_end(target, make):
    store = make(target, k=4)
    first = take_snapshot(store)
    asked = set(map(tuple, first.planned.tolist()))
    other = next((i, j) for i in range(12) for j in range(i + 1, 12) if (i, j) not in asked)
    add_answers(store, answers_of([other]))
    planning.plan_round(store)
    snapshot = take_snapshot(store)
    assert snapshot.planned[:4].tolist() == first.planned.tolist()
    assert tuple(snapshot.planned[4]) == other
    assert len(snapshot.planned) == 9
    assert snapshot.last_pair > first.last_pair
