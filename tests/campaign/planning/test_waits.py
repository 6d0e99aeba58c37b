"""Who is waited for."""

import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.planning.waits import waits
from support.campaigns import Clock, answer_next, invite_people


def answer_all(store, person, choice="left"):
    while (lease := leases.next_pair(store, person)) is not None:
        leases.answer(store, person, lease.token, choice)


def test_it_says_how_many_pairs_wait_for_whom(target, make):
    clock = Clock()
    store = make(target, n=5, k=4, answers_per_pair=3, clock=clock)
    assert waits(store) == ""
    anna, ben = invite_people(store, 2)
    answer_next(store, "left", anna)
    assert waits(store) == "1 pair waits for a second or third person: p1 could answer them."
    answer_all(store, anna)
    answer_all(store, ben)
    assert waits(store) == "4 pairs wait for a third person: nobody else is invited."
    for name in ("carla", "dora", "emil", "fred"):
        people.invite(store, name)
    assert waits(store) == "4 pairs wait for a third person: carla, dora, emil and 1 more could answer them."
    people.revoke(store, "p1")
    answer_next(store, "left", people.person_of(store, people.invite(store, "gina"), "rater"))
    assert waits(store) == ""  # she is at work, and can answer the other three; the first is complete
    clock.now += 3601
    assert planning.plan_round(store)
    answer_next(store, "left", anna)
    assert waits(store).startswith("4 pairs wait for a second or third person: carla")  # gina went home


def test_what_everybody_skipped_waits_for_another(target, make):
    store = make(target, n=5, k=3)
    (anna,) = invite_people(store, 1)
    answer_all(store, anna, "skip")
    assert waits(store) == "3 pairs wait for another person: nobody else is invited."


@pytest.mark.parametrize("repeats", [False, True])
def test_in_a_crowd_nothing_waits(target, make, repeats):
    store = make(target, n=8, k=10, answers_per_pair=2, repeats=repeats)
    for person in invite_people(store, 3):
        answer_next(store, "left", person)
    assert waits(store) == ""
