"""Tests of open pairs, of the rate of answers, and of stuck pairs."""

import numpy as np
import pandas as pd
import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites
from pairsmith.campaign.planning import pace, planner
from pairsmith.campaign.store.answers import add_answers
from support.campaigns import Clock, answer_next, invite_people


def test_skipped_pairs_are_not_open_to_the_rater_who_skipped_them(target, make):
    store = make(target, n=8, k=8)
    for _ in range(8):
        leases.answer(
            store, invites.local_rater(store), leases.next_pair(store, invites.local_rater(store)).token, "skip"
        )
    assert pace.count_pairs(store)[:2] == (0, 8)
    assert leases.progress(store, invites.local_rater(store))["wanted"] == 8  # others may answer them
    lease = leases.undo(store, invites.local_rater(store), leases.progress(store, invites.local_rater(store))["undo"])
    assert pace.count_pairs(store)[:2] == (0, 8)  # it is shown again
    leases.answer(store, invites.local_rater(store), lease.token, "left")
    assert pace.count_pairs(store)[:2] == (0, 8)


def test_rate_ignores_imported_answers_and_pauses(target, make):
    clock = Clock()
    store = make(target, n=20, k=80, clock=clock)
    assert pace.answers_per_second(store) == 0
    add_answers(store, pd.DataFrame({"first": 0, "second": range(1, 9), "outcome": 1, "left": 0, "rater": "x",
                             "seconds": np.nan, "at": np.nan}))  # fmt: skip
    assert pace.answers_per_second(store) == 0
    rng = np.random.default_rng(0)
    for turn in range(60):
        leases.answer(
            store, invites.local_rater(store), leases.next_pair(store, invites.local_rater(store)).token, "left"
        )
        clock.now += rng.exponential(1 / 5)
        if turn % 10 == 0:
            clock.now += 5  # there was no pair for a while
    assert pace.answers_per_second(store) == pytest.approx(5, rel=0.3)
    clock.now += 60
    assert pace.answers_per_second(store) == 0


def answer_all(store, person, choice="left"):
    while (lease := leases.next_pair(store, person)) is not None:
        leases.answer(store, person, lease.token, choice)


def test_stuck_pairs_are_counted_and_helpers_named(target, make):
    clock = Clock()
    store = make(target, n=5, k=4, answers_per_pair=3, clock=clock)
    assert pace.describe_stuck_pairs(store) == ""
    anna, ben = invite_people(store, 2)
    answer_next(store, "left", anna)
    assert pace.describe_stuck_pairs(store) == "1 pair waits for a second or third person: p1 could answer them."
    answer_all(store, anna)
    answer_all(store, ben)
    assert pace.describe_stuck_pairs(store) == "4 pairs wait for a third person: nobody else is invited."
    for name in ("carla", "dora", "emil", "fred"):
        invites.invite(store, name)
    assert (
        pace.describe_stuck_pairs(store)
        == "4 pairs wait for a third person: carla, dora, emil and 1 more could answer them."
    )
    invites.revoke(store, "p1")
    answer_next(store, "left", invites.person_with_token(store, invites.invite(store, "gina"), "rater"))
    assert (
        pace.describe_stuck_pairs(store) == ""
    )  # she is at work, and can answer the other three; the first is complete
    clock.now += 3601
    assert planner.plan_round(store)
    answer_next(store, "left", anna)
    assert pace.describe_stuck_pairs(store).startswith(
        "4 pairs wait for a second or third person: carla"
    )  # gina went home


def test_pairs_that_everybody_skipped_wait_for_another_person(target, make):
    store = make(target, n=5, k=3)
    (anna,) = invite_people(store, 1)
    answer_all(store, anna, "skip")
    assert pace.describe_stuck_pairs(store) == "3 pairs wait for another person: nobody else is invited."


@pytest.mark.parametrize("repeats", [False, True])
def test_no_pair_is_stuck_while_others_can_answer_it(target, make, repeats):
    store = make(target, n=8, k=10, answers_per_pair=2, repeats=repeats)
    for person in invite_people(store, 3):
        answer_next(store, "left", person)
    assert pace.describe_stuck_pairs(store) == ""
