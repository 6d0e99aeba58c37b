"""Pairs that are asked again, where the design may do so, and people who come late."""

from collections import Counter
from itertools import combinations

import numpy as np
import sqlalchemy as sa

import pairsmith as ps
from pairsmith.campaign import learning
from pairsmith.campaign.answering import corrections, goals, leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.planning import rounds
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import Clock, answer_next, answers_of, invite_people


def answer_all(store, person, choice="left"):
    """Until there is nothing left for this person; how many answers that was."""
    count = 0
    while (lease := leases.next_pair(store, person)) is not None:
        leases.answer(store, person, lease.token, choice)
        count += 1
    return count


def rows(store):
    with store.reading() as connection:
        found = connection.execute(sa.select(schema.pairs).order_by(schema.pairs.c.id)).all()
    return {(row.first, row.second): row for row in found}


def test_the_design_may_ask_a_pair_again_but_of_somebody_else(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, ben = invite_people(store, 2)
    leases.answer(store, ben, leases.next_pair(store, ben).token, "right")
    assert answer_all(store, anna) == 5  # all there are
    assert goals.ending(store, ben) is None  # more may come
    before = rows(store)
    assert planning.plan_round(store)
    after = rows(store)
    assert after.keys() == before.keys()
    assert {(row.why, row.wanted, row.round) for row in after.values()} == {("repeated", 1, 2)}
    assert answer_all(store, anna) == 1
    assert answer_all(store, ben, "right") == 5
    assert take_snapshot(store).answers["why"].tolist().count("repeated") == 6
    assert not planning.plan_round(store)  # both of them answered everything
    assert goals.ending(store, ben) == "exhausted"


def test_a_single_person_is_not_asked_again_unless_told_so(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, _ = invite_people(store, 2)
    assert answer_all(store, anna) == 6
    assert not planning.plan_round(store)


def test_what_waits_unanswered_is_not_asked_again(target, make):
    store = make(target, n=5, k=4, answers_per_pair="auto", repeats=True, random_share=0)
    (anna,) = invite_people(store, 1)
    for _ in range(2):
        leases.answer(store, anna, leases.next_pair(store, anna).token, "left")
    known = take_snapshot(store)
    assert known.repeatable.tolist() == known.planned[:2].tolist()
    chosen = rounds.next_round(known, store.settings, 100)
    waiting = set(map(tuple, known.planned[2:].tolist()))
    assert set(map(tuple, chosen.pairs.tolist())) == set(combinations(range(5), 2)) - waiting
    again = {tuple(pair) for pair, why in zip(chosen.pairs.tolist(), chosen.why, strict=True) if why == "repeated"}
    assert again == set(map(tuple, known.planned[:2].tolist()))


def test_a_pair_is_asked_again_where_that_tells_most(tmp_path, make):
    """The round is that of the criterion over all pairs, whatever was answered, by brute force over its candidates."""
    store = make(str(tmp_path / "t.db"), n=7, k=10, answers_per_pair="auto", repeats=True, random_share=0)
    for person in invite_people(store, 2):
        for _ in range(5):
            leases.answer(store, person, leases.next_pair(store, person).token, "left")
    known = take_snapshot(store)
    model = learning.fit_or_prior(known)
    chosen = rounds.next_round(known, store.settings, 15, model)
    every = np.array(list(combinations(range(7), 2)))
    gains = {
        tuple(pair): ps.select(known.features.reset_index(drop=True), 1, model=model, candidates=[pair]).gains[0]
        for pair in every.tolist()
    }
    assert tuple(chosen.pairs[0].tolist()) == max(gains, key=gains.get)
    assert {"designed", "repeated"} == set(chosen.why)


def test_rounds_of_repeats_keep_their_share_of_random_pairs(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=20, k=5, answers_per_pair="auto", repeats=True, random_share=0.2)
    (anna,) = invite_people(store, 1)
    for _ in range(12):
        answer_all(store, anna)
        planning.plan_round(store)
    answer_all(store, anna)
    why = Counter(take_snapshot(store).answers["why"])
    assert sum(why.values()) == 65
    assert why["random"] == 13  # 0.2 of 65


def test_asking_again_respects_the_cap_and_another_planner(target, make):
    store = make(target, n=6, k=6, answers_per_pair="auto", repeats=True, max_per_item=2, random_share=0.2)
    (anna,) = invite_people(store, 1)
    for _ in range(4):
        answer_all(store, anna)
        known = take_snapshot(store)
        chosen = rounds.next_round(known, store.settings)
        assert np.bincount(chosen.pairs.ravel()).max() <= 2
        assert len(set(map(tuple, chosen.pairs.tolist()))) == len(chosen.pairs)
        assert planning.add_round(store, chosen, known)
        assert not planning.add_round(store, chosen, known)
    assert "repeated" in chosen.why


def test_gold_pairs_and_people_who_left_are_not_asked_again(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, ben = invite_people(store, 2)
    leases.answer(store, ben, leases.next_pair(store, ben).token, "left")
    assert answer_all(store, anna) == 5
    with store.writing() as connection:
        connection.execute(schema.pairs.update().where(schema.pairs.c.id == 2).values(gold=1))
    known = take_snapshot(store)
    assert known.repeatable.tolist() == np.delete(known.planned, 1, axis=0).tolist()
    people.revoke(store, "p1")
    assert take_snapshot(store).repeatable.tolist() == known.planned[:1].tolist()  # which ben had answered


def test_more_answers_than_wanted_do_not_keep_a_pair_from_being_asked(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto", repeats=True)
    (anna,) = invite_people(store, 1)
    answer_all(store, anna)
    add_answers(store, answers_of([(0, 1), (0, 1)], rater=["x", "y"]))
    assert rows(store)[0, 1].wanted == -2
    assert planning.plan_round(store)
    assert rows(store)[0, 1].wanted == 1


def test_whoever_begins_late_is_asked_what_others_answered(target, make):
    clock = Clock()
    store = make(target, n=4, k=6, answers_per_pair="auto", clock=clock)
    anna, ben = invite_people(store, 2)
    keep_ahead = planning.Planner(store, clock)
    for _ in range(5):
        answer_next(store, "left", anna)
    keep_ahead()  # there is nothing to plan
    answer_next(store, "left", ben)
    keep_ahead()
    assert answer_all(store, ben) == 5


def test_whoever_is_left_alone_with_repeats_goes_on_with_new_pairs(target, make):
    """Ben leaves when pairs that only he can answer again are planned: anna is not made to wait for him."""
    clock = Clock()
    store = make(target, n=12, k=4, answers_per_pair="auto", clock=clock)
    anna, ben = invite_people(store, 2)
    keep_ahead = planning.Planner(store, clock)
    answer_next(store, "right", ben)
    for _ in range(30):
        clock.now += 10
        answer_next(store, "left", anna)
        keep_ahead()
    assert len(take_snapshot(store).answers) == 31


def test_a_newcomer_is_asked_again_where_every_pair_was_answered(target, make):
    """Ben comes when nothing is left. His first pair is drawn from all; once he takes part, rounds ask him the rest."""
    clock = Clock()
    store = make(target, n=4, k=6, answers_per_pair="auto", clock=clock)
    anna, ben, carla = invite_people(store, 3)
    assert answer_all(store, anna) == 6
    keep_ahead = planning.Planner(store, clock)
    keep_ahead()
    assert goals.ending(store, anna) == "exhausted"
    assert goals.ending(store, ben) is None
    first = leases.next_pair(store, ben)
    assert leases.next_pair(store, ben).token == first.token  # the page was loaded again
    assert goals.ending(store, ben) is None
    assert leases.answer(store, ben, first.token, "left")
    assert take_snapshot(store).answers["why"].tolist().count("repeated") == 1
    assert leases.next_pair(store, ben) is None  # the design decides
    keep_ahead()
    assert answer_all(store, ben) == 5
    keep_ahead()
    assert goals.ending(store, ben) == goals.ending(store, anna) == "exhausted"
    assert sorted(row.wanted for row in rows(store).values()) == [-1, 0, 0, 0, 0, 0]
    corrections.exclude(store, "p2")  # what carla says does not count, so she is asked nothing twice
    assert leases.next_pair(store, carla) is None
    assert goals.ending(store, carla) == "exhausted"


def test_newcomers_who_only_skip_see_each_pair_once(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, ben = invite_people(store, 2)
    answer_all(store, anna)
    seen = set()
    while (lease := leases.next_pair(store, ben)) is not None:
        leases.answer(store, ben, lease.token, "skip")
        seen.add(frozenset((lease.left, lease.right)))
    assert len(seen) == 6
    assert goals.ending(store, ben) == "exhausted"
    assert {row.wanted for row in rows(store).values()} == {0}


def test_whose_answers_were_imported_is_a_newcomer_here(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, ben = invite_people(store, 2)
    answer_all(store, anna)
    add_answers(store, answers_of([(0, 1)], rater="p1"))
    lease = leases.next_pair(store, ben)
    assert {lease.left, lease.right} != {0, 1}
