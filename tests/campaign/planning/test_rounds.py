"""Tests of the pairs of a round, designed and random."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import sqlalchemy as sa
from scipy.stats import chisquare

import pairsmith as ps
from pairsmith.campaign import learning
from pairsmith.campaign.answering import leases
from pairsmith.campaign.planning import planner, rounds
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next, create_campaign, invite_people, items_of
from support.oracle import assert_greedy


def test_rounds_are_greedy_given_all_planned_pairs(target, make):
    store = make(target, n=10, d=3, k=5, objective="d-optimal", random_share=0)
    assert planner.plan_round(store)
    known = take_snapshot(store)
    X = known.features.to_numpy()
    assert len(known.planned) == 10
    first, second = known.planned[:5], known.planned[5:]
    every = np.column_stack(np.triu_indices(10, 1))
    ridge = ps.select(X, 1).ridge
    for done, chosen in ((np.zeros((0, 2), int), first), (first, second)):
        left = [tuple(pair) for pair in every if tuple(pair) not in set(map(tuple, done))]
        picked = ps.select(X, 5, comparisons=done, ridge=ridge)
        assert [tuple(pair) for pair in chosen] == [tuple(pair) for pair in picked.pairs]
        assert_greedy(picked, X, left, ridge, [], [tuple(pair) for pair in done])


def test_rounds_are_designed_under_the_model_until_no_pair_is_left(target, make):
    store = make(target, n=6, k=10)
    (anna,) = invite_people(store, 1)
    while (lease := leases.next_pair(store, anna)) is not None:
        leases.answer(store, anna, lease.token, "left" if lease.left < lease.right else "right")
    known = take_snapshot(store)
    chosen = rounds.next_pairs(known, 3, "averaged-d-optimal")
    assert chosen.objective == "averaged-d-optimal"
    expected = ps.select(
        known.features.to_numpy(),
        3,
        objective="averaged-d-optimal",
        model=learning.fit_linear(known),
        comparisons=known.planned,
    )
    assert np.array_equal(chosen.pairs, expected.pairs)
    assert planner.plan_round(store)
    assert len(take_snapshot(store).planned) == 15
    assert not planner.plan_round(store)


def test_every_round_respects_groups_caps_and_labels(target):
    items = items_of(12)
    groups = np.array(["a", "b", "c"] * 4, dtype=object)
    grouped = type(items)(items.path, items.features, groups)
    labels = np.array([0, 1, 2]), np.array([1, -1, 1])
    shown = [[("text", "x")]] * 12
    create_campaign(target, grouped, shown, question="?", k=4, labels=labels, max_per_item=1)
    store = Store(target)
    planner.plan_round(store)
    known = take_snapshot(store)
    assert known.labeled.tolist() == [0, 1, 2]
    assert known.labels.tolist() == [1, -1, 1]
    assert len(known.planned) == 8
    assert all(groups[i] == groups[j] for i, j in known.planned)
    for batch in (known.planned[:4], known.planned[4:]):
        assert max(Counter(batch.ravel().tolist()).values()) == 1
    planner.plan_round(store, 50)  # as if raters were fast: the cap still holds
    everything = take_snapshot(store).planned
    batch, free = everything[8:], set(range(12)) - set(everything[8:].ravel().tolist())
    left = {(i, j) for i in free for j in free if i < j and groups[i] == groups[j]}
    assert 4 <= len(batch) <= 6
    assert left <= set(map(tuple, everything.tolist()))  # there was no room for more
    assert all(groups[i] == groups[j] for i, j in batch)
    assert max(Counter(batch.ravel().tolist()).values()) == 1
    store.close()


@pytest.mark.parametrize("max_per_item", [None, 1, 2, 5])
@pytest.mark.parametrize("grouped", [False, True])
def test_count_possible_is_the_bound_counted_pair_by_pair(tmp_path, make, grouped, max_per_item):
    """With a cap, the bound is half the sum of what the cap allows each item."""
    store = make(str(tmp_path / "t.db"), n=9, k=7)
    groups = np.array(list("aabbbcccc"), dtype=object) if grouped else None
    snapshot = replace(take_snapshot(store), groups=groups)
    planned = set(map(tuple, snapshot.planned.tolist()))
    free = [
        (i, j)
        for i, j in combinations(range(9), 2)
        if (i, j) not in planned and (groups is None or groups[i] == groups[j])
    ]
    expected = len(free)
    if max_per_item is not None:
        times = Counter(item for pair in free for item in pair)
        expected = sum(min(times[item], max_per_item) for item in range(9)) // 2
    assert rounds.count_possible(snapshot, max_per_item) == expected


def test_linear_criteria_give_way_to_d_optimal_before_the_first_answer(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    assert rounds.next_pairs(take_snapshot(store), 2, "entropy").objective == "d-optimal"
    answer_next(store)
    assert rounds.next_pairs(take_snapshot(store), 2, "entropy").objective == "entropy"
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        rounds.next_pairs(take_snapshot(store), 0, "entropy")


def reasons(store):
    """Return why each pair is asked, in the order of the pairs."""
    with store.reading() as connection:
        return list(connection.execute(sa.select(schema.pairs.c.why).order_by(schema.pairs.c.id)).scalars())


def test_one_pair_in_ten_is_random_even_in_small_rounds(target, make):
    store = make(target, n=40, k=5)
    for _ in range(19):
        planner.plan_round(store)
    found = reasons(store)
    assert len(found) == 100
    assert Counter(found) == {"random": 10, "designed": 90}
    places = {at % 5 for at, why in enumerate(found) if why == "random"}
    assert len(places) >= 3  # within a round: neither always its end nor always its beginning
    assert len(set(map(tuple, take_snapshot(store).planned.tolist()))) == 100


@pytest.mark.parametrize("share", [0.0, 0.07, 0.1, 1 / 3, 0.5, 1.0])
def test_random_share_is_kept_over_rounds_of_any_size(share):
    sizes = np.random.default_rng(0).integers(1, 30, size=200).tolist()
    asked = found = 0
    for size in sizes:
        count = rounds.count_random(share, asked, size)
        assert 0 <= count <= size
        found, asked = found + count, asked + size
        assert abs(found - share * asked) <= 0.5 + 1e-9


def test_random_share_counts_pairs_not_answers(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=40, k=5, answers_per_pair=3)
    answer_next(store)
    for _ in range(7):
        planner.plan_round(store)
    assert Counter(reasons(store)) == {"random": 4, "designed": 36}


def test_random_pairs_are_uniform_among_the_candidates(tmp_path, make):
    """Draw from the same candidates many times: groups of five and four items, three of whose pairs are planned."""
    store = make(str(tmp_path / "t.db"), n=9, k=3)
    known = take_snapshot(store)
    groups, planned = np.array(list("aaaaabbbb"), dtype=object), np.array([[0, 1], [2, 3], [5, 8]])
    known = replace(known, groups=groups, planned=planned)
    settings = replace(store.settings, random_share=1, max_per_item=1)
    drawn = Counter()
    for number in range(600):
        drawn[tuple(rounds.next_round(replace(known, last_round=number), settings, 1).pairs[0].tolist())] += 1
    allowed = [pair for pair in combinations(range(9), 2) if groups[pair[0]] == groups[pair[1]]]
    allowed = [pair for pair in allowed if list(pair) not in planned.tolist()]
    assert sorted(drawn) == allowed
    assert chisquare(list(drawn.values())).pvalue > 0.001


@pytest.mark.parametrize("cap", [1, 2])
def test_random_and_designed_pairs_together_respect_the_cap(tmp_path, make, cap):
    store = make(str(tmp_path / "t.db"), n=30, k=12, max_per_item=cap, random_share=0.4)
    for _ in range(3):
        planner.plan_round(store)
    planned, why = take_snapshot(store).planned, np.array(reasons(store))
    assert len(planned) == 48
    assert (why == "random").sum() == 19  # 0.4 of 48, rounded
    for at in range(0, 48, 12):
        assert np.bincount(planned[at : at + 12].ravel()).max() <= cap


def test_pairs_are_designed_given_the_random_pairs_of_the_round(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=10, k=8, objective="d-optimal", random_share=0.25)
    known, why = take_snapshot(store), np.array(reasons(store))
    drawn, designed = known.planned[why == "random"], known.planned[why == "designed"]
    assert (len(drawn), len(designed)) == (2, 6)
    expected = ps.select(known.features.to_numpy(), 6, comparisons=drawn)
    assert np.array_equal(designed, expected.pairs)


def test_rounds_are_reproducible_and_differ_from_the_last(target, make):
    store = make(target, n=12, k=20, random_share=0.5)
    known = take_snapshot(store)
    one, two = (rounds.next_round(known, store.settings) for _ in range(2))
    assert np.array_equal(one.pairs, two.pairs)
    assert one.why == two.why
    other = rounds.next_round(replace(known, last_round=known.last_round + 1), store.settings)
    assert not np.array_equal(one.pairs, other.pairs)


def test_pairs_of_the_random_objective_are_marked_as_random(tmp_path, make):
    store = make(str(tmp_path / "t.db"), objective="random")
    planner.plan_round(store)
    assert Counter(reasons(store)) == {"random": 20}


def test_without_features_pairs_are_designed_for_item_effects(tmp_path):
    items, shown = replace(items_of(8), features=items_of(8).features.iloc[:, :0]), [[("text", "x")]] * 8
    create_campaign(str(tmp_path / "t.db"), items, shown, question="?", objective="random", k=5)
    with Store(str(tmp_path / "t.db")) as store:
        known = take_snapshot(store)
    known = replace(known, planned=known.planned[:4])
    for objective in ("random", "d-optimal"):
        for effects in ({}, {"item_effects": 2.0}):
            found = rounds.next_pairs(known, 3, objective, random_state=0, **effects)
            how = {"item_effects": 1.0, "comparisons": known.planned, "objective": objective, "random_state": 0}
            expected = ps.select(None, 3, n_items=8, **(how | effects))
            np.testing.assert_array_equal(found.pairs, expected.pairs)
            np.testing.assert_allclose(found.gains, expected.gains)


def test_last_round_has_the_pairs_that_are_left(target, make):
    store = make(target, n=6, k=4, random_share=0.3)
    sizes = [4]
    while planner.plan_round(store):
        sizes.append(len(take_snapshot(store).planned))
    assert sizes == [4, 8, 12, 15]
    assert Counter(reasons(store))["random"] == 5  # 0.3 of 15, rounded
