"""Picks from a front where items have effects of their own, against gains of the design as it then is."""

import numpy as np
import pytest

from pairsmith.design.information import Design
from pairsmith.engine import picking
from pairsmith.engine.front import Front
from pairsmith.engine.pool import Epoch, Pool
from pairsmith.engine.top_pairs import Hits

X = np.random.default_rng(0).standard_normal((30, 4))
COMPARED = np.array([(0, 1), (1, 2), (5, 9)])


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def problem(request):
    """A design, and a front of all pairs whose values are bounds: a little above the gains."""
    scores = np.random.default_rng(2).standard_normal(30) if request.param else None
    design = Design(X, 0.5, comparisons=COMPARED, scores=scores, item_effects=0.7)
    i, j = (items.astype(np.int32) for items in np.triu_indices(30, 1))
    bounds = design.gains(i, j) * (1 + 1e-10)
    return design, Front.drawn(Pool.filled(design, Hits(i, j, bounds), 0.0, exact=False), -np.inf, design, afresh=False)


def now(design):
    """Gains of all pairs, from the root and what is known of effects."""
    return design.gains(*np.triu_indices(30, 1))


def test_the_best_and_what_is_near_are_exact(problem):
    design, front = problem
    right = now(design)
    top, close = picking.near(front.arrays, front.items, design)
    assert top == pytest.approx(right.max(), rel=1e-13)
    np.testing.assert_allclose(front.arrays.value[close], right[close], rtol=1e-13)
    np.testing.assert_array_equal(close, np.flatnonzero(right >= right.max() * (1 - picking.NEAR)))


def test_picks_are_the_best_and_the_others_fall_as_they_should(problem):
    design, front = problem
    front.limit, epoch = 0.0, Epoch(4)
    for _ in range(6):
        right = now(design)
        right[front.arrays.value == -np.inf] = -np.inf
        place, d, _ = front.pick(design, epoch, 1)
        assert right[place[0]] == pytest.approx(right.max(), rel=1e-12)
        assert d[0] == pytest.approx(right.max(), rel=1e-12)
        left = front.arrays.value > -np.inf
        np.testing.assert_allclose(front.arrays.value[left], now(design)[left], rtol=1e-8)
    assert epoch.picks == len(epoch.r) == 6


def test_of_equal_gains_the_first_is_picked():
    design = Design(np.zeros((6, 1)), 1.0, item_effects=2.0)
    i, j = (items.astype(np.int32) for items in np.triu_indices(6, 1))
    pool = Pool.filled(design, Hits(i, j, np.full(15, 4.0)), 0.0, exact=True)
    front = Front.drawn(pool, -np.inf, design, afresh=False)
    front.limit = 0.0
    place, d, _ = front.pick(design, Epoch(1), 3)
    assert front.pairs(place) == ([0, 2, 4], [1, 3, 5])
    np.testing.assert_allclose(d, 4.0)


def test_picking_ends_where_a_pair_outside_may_be_better(problem):
    design, front = problem
    front.limit = 2 * now(design).max()
    place, _, _ = front.pick(design, Epoch(4), 5)
    assert len(place) == 0
