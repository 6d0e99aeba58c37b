"""Picks from a working set against gains recomputed from the design, without and with item effects."""

import numpy as np
import pytest

from pairsmith.design.information import Design
from pairsmith.engine import working_set
from pairsmith.engine.pool import Pool, Updates
from pairsmith.engine.top_pairs import Hits
from pairsmith.engine.working_set import WorkingSet
from support.pools import D, N, X, gains_of


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def problem(request):
    scores = np.random.default_rng(2).standard_normal(N) if request.param else None
    design = Design(X, 0.5, scores=scores)
    i, j = np.triu_indices(N, 1)
    order = np.random.default_rng(3).permutation(len(i))  # a pool is not sorted
    i, j = i[order].astype(np.int32), j[order].astype(np.int32)
    gains = gains_of(design, i, j, design.weight(i, j))
    return design, Pool.from_hits(design, Hits(i, j, gains), 0.0, exact=True), i, j


def test_a_working_set_holds_the_pairs_that_reach_the_bound_in_order(problem):
    design, pool, i, j = problem
    outside = float(np.sort(pool.arrays.bound)[-20])
    working = WorkingSet.from_pool(pool, outside, design, recompute=False)
    pairs = np.column_stack(working.pairs(np.arange(len(working.pool_places))))
    assert sorted(map(tuple, pairs.tolist())) == list(map(tuple, pairs.tolist()))
    assert len(pairs) == 20
    np.testing.assert_allclose(working.arrays.gain, pool.arrays.bound[working.pool_places])
    assert working.best_gain(design) == pytest.approx(gains_of(design, i, j, design.weight(i, j)).max())


def test_every_pick_of_a_burst_has_the_largest_gain_and_updates_the_root(problem):
    design, pool, i, j = problem
    working = WorkingSet.from_pool(pool, -np.inf, design, recompute=True)
    working.min_gain = 0.0
    updates = Updates(D)
    reference = Design(X, 0.5, scores=design.scores)
    places, gains, _ = working.pick(design, updates, 6, 0.0)
    assert len(places) == updates.count == 6
    for pair, gain, v in zip(zip(*working.pairs(places), strict=True), gains, updates.V, strict=False):
        expected = gains_of(reference, i, j, reference.weight(i, j))
        at = int(np.flatnonzero((i == pair[0]) & (j == pair[1]))[0])
        assert gain == pytest.approx(expected.max())
        assert expected[at] == pytest.approx(expected.max())
        np.testing.assert_allclose(reference.add(*pair)[1], v, rtol=1e-8, atol=1e-12)
        keep = np.arange(len(i)) != at
        i, j = i[keep], j[keep]
    np.testing.assert_allclose(design.root @ design.root.T, reference.root @ reference.root.T, rtol=1e-8, atol=1e-12)


def test_picking_stops_below_the_minimum_gain_and_skips_full_items(problem):
    design, pool, *_ = problem
    working = WorkingSet.from_pool(pool, -np.inf, design, recompute=False)
    working.min_gain = 2 * working.best_gain(design)
    assert len(working.pick(design, Updates(D), 3, 0.0)[0]) == 0
    working.min_gain = 0.0
    full = np.ones(N, dtype=bool)
    full[[4, 9]] = False
    working.drop_full(full)
    places, *_ = working.pick(design, Updates(D), 3, 0.0)
    assert list(zip(*working.pairs(places), strict=True)) == [(4, 9)]


COMPARED = np.array([(0, 1), (1, 2), (5, 9)])


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def problem_with_effects(request):
    """A design with item effects, and a working set of all pairs with bounds a little above the gains."""
    scores = np.random.default_rng(2).standard_normal(30) if request.param else None
    design = Design(X, 0.5, comparisons=COMPARED, scores=scores, item_effects=0.7)
    i, j = (items.astype(np.int32) for items in np.triu_indices(30, 1))
    bounds = design.gains(i, j) * (1 + 1e-10)
    return design, WorkingSet.from_pool(
        Pool.from_hits(design, Hits(i, j, bounds), 0.0, exact=False), -np.inf, design, recompute=False
    )


def current_gains(design):
    """Return the gains of all pairs, computed from the root and the effects."""
    return design.gains(*np.triu_indices(30, 1))


def test_with_effects_the_best_gain_and_gains_near_it_are_recomputed(problem_with_effects):
    design, working = problem_with_effects
    expected = current_gains(design)
    best, near = working.refresh_best_with_effects(design)
    assert best == pytest.approx(expected.max(), rel=1e-13)
    np.testing.assert_allclose(working.arrays.gain[near], expected[near], rtol=1e-13)
    np.testing.assert_array_equal(near, np.flatnonzero(expected >= expected.max() * (1 - working_set.NEAR_BEST)))


def test_with_effects_every_pick_is_the_best_and_lowers_the_others(problem_with_effects):
    design, working = problem_with_effects
    working.min_gain, updates = 0.0, Updates(4)
    for _ in range(6):
        expected = current_gains(design)
        expected[working.arrays.gain == -np.inf] = -np.inf
        place, d, _ = working.pick(design, updates, 1, 0.0)
        assert expected[place[0]] == pytest.approx(expected.max(), rel=1e-12)
        assert d[0] == pytest.approx(expected.max(), rel=1e-12)
        remaining = working.arrays.gain > -np.inf
        np.testing.assert_allclose(working.arrays.gain[remaining], current_gains(design)[remaining], rtol=1e-8)
    assert updates.count == len(updates.r) == 6


def test_with_effects_the_first_of_equal_gains_is_picked():
    design = Design(np.zeros((6, 1)), 1.0, item_effects=2.0)
    i, j = (items.astype(np.int32) for items in np.triu_indices(6, 1))
    pool = Pool.from_hits(design, Hits(i, j, np.full(15, 4.0)), 0.0, exact=True)
    working = WorkingSet.from_pool(pool, -np.inf, design, recompute=False)
    working.min_gain = 0.0
    place, d, _ = working.pick(design, Updates(1), 3, 0.0)
    assert working.pairs(place) == ([0, 2, 4], [1, 3, 5])
    np.testing.assert_allclose(d, 4.0)


def test_with_effects_picking_stops_below_the_minimum_gain(problem_with_effects):
    design, working = problem_with_effects
    working.min_gain = 2 * current_gains(design).max()
    place, _, _ = working.pick(design, Updates(4), 5, 0.0)
    assert len(place) == 0
