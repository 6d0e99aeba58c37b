"""Answers still to be given, and how fast people give them."""

import numpy as np
import pandas as pd
import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import pace
from pairsmith.campaign.store.answers import add_answers
from support.campaigns import Clock


def test_what_is_skipped_does_not_keep_the_next_round_from_being_planned(target, make):
    store = make(target, n=8, k=8)
    for _ in range(8):
        leases.answer(
            store, people.local_person(store), leases.next_pair(store, people.local_person(store)).token, "skip"
        )
    assert pace.waiting(store)[:2] == (0, 8)
    assert leases.progress(store, people.local_person(store))["wanted"] == 8  # others may answer them
    lease = leases.undo(store, people.local_person(store), leases.progress(store, people.local_person(store))["undo"])
    assert pace.waiting(store)[:2] == (0, 8)  # it is shown again
    leases.answer(store, people.local_person(store), lease.token, "left")
    assert pace.waiting(store)[:2] == (0, 8)


def test_the_rate_is_that_of_people_at_work(target, make):
    clock = Clock()
    store = make(target, n=20, k=80, clock=clock)
    assert pace.rate(store) == 0
    add_answers(store, pd.DataFrame({"first": 0, "second": range(1, 9), "outcome": 1, "left": 0, "rater": "x",
                             "seconds": np.nan, "at": np.nan}))  # fmt: skip
    assert pace.rate(store) == 0
    rng = np.random.default_rng(0)
    for turn in range(60):
        leases.answer(
            store, people.local_person(store), leases.next_pair(store, people.local_person(store)).token, "left"
        )
        clock.now += rng.exponential(1 / 5)
        if turn % 10 == 0:
            clock.now += 5  # there was no pair for a while
    assert pace.rate(store) == pytest.approx(5, rel=0.3)
    clock.now += 60
    assert pace.rate(store) == 0
