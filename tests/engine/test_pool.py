import numpy as np
import pytest

from pairsmith.design.information import Design
from pairsmith.engine.pool import Pool, Updates
from pairsmith.engine.threads import thread_team
from pairsmith.engine.top_pairs import Hits
from support.pools import D, N, X, gains_of


@pytest.fixture(params=["plain", "weighted", "few items"])
def problem(request):
    scores = np.random.default_rng(1).standard_normal(N) if request.param == "weighted" else None
    design = Design(X, 0.5, scores=scores)
    i, j = np.triu_indices(10 if request.param == "few items" else N, 1)
    gains = gains_of(design, i, j, design.weight(i, j))
    pool = Pool.from_hits(design, Hits(i.astype(np.int32), j.astype(np.int32), gains.copy()), 0.0, exact=True)
    return design, pool, i, j


def pick(design, updates, i, j):
    """Include a pair in the design and record its v in the updates, as the kernels do."""
    row = updates.reserve(1)
    _, v = design.add(i, j)
    row[0] = v
    updates.count += 1


def test_tightened_bounds_equal_the_current_gains(problem):
    design, pool, i, j = problem
    updates = Updates(D)
    for e in (3, 17, 40):
        pick(design, updates, int(i[e]), int(j[e]))
    with thread_team(2) as team:
        pool.project_updates(design, updates, team)
        outside = pool.tighten_largest(len(i), updates.count, team)
    assert outside == -np.inf
    np.testing.assert_allclose(pool.arrays.bound, gains_of(design, i, j, design.weight(i, j)), rtol=1e-9)
    assert np.all(pool.arrays.applied == 3)
    np.testing.assert_array_equal(pool.items[pool.arrays.i], i)
    np.testing.assert_array_equal(pool.items[pool.arrays.j], j)


def test_only_the_largest_bounds_are_tightened_and_no_other_is_larger(problem):
    design, pool, i, j = problem
    updates = Updates(D)
    pick(design, updates, int(i[5]), int(j[5]))
    with thread_team(1) as team:
        pool.project_updates(design, updates, team)
        outside = pool.tighten_largest(8, updates.count, team)
    current = gains_of(design, i, j, design.weight(i, j))
    tightened = pool.arrays.applied == 1
    np.testing.assert_allclose(pool.arrays.bound[tightened], current[tightened], rtol=1e-9)
    assert np.all(current <= pool.arrays.bound * (1 + 1e-9))
    assert np.sum(pool.arrays.bound >= outside) >= 8
    assert np.all(tightened[pool.arrays.bound >= outside])


def test_dropped_pairs_are_excluded_and_gains_can_be_set(problem):
    _, pool, i, j = problem
    full = np.zeros(N, dtype=bool)
    full[i[0]] = True
    pool.drop_full(full)
    assert np.all(np.isneginf(pool.arrays.bound) == ((i == i[0]) | (j == i[0])))
    pool.drop(np.array([len(i) - 1]))
    assert np.isneginf(pool.arrays.bound[-1])
    pool.set_gains(np.array([1, 2]), np.array([0.5, 0.25]), 9)
    assert pool.arrays.bound[[1, 2]].tolist() == [0.5, 0.25]
    assert pool.arrays.applied[[1, 2]].tolist() == [9, 9]


def test_updates_grow_beyond_their_first_allocation():
    updates = Updates(3)
    for pick_number in range(200):
        updates.reserve(1)[0] = pick_number
        updates.count += 1
    np.testing.assert_array_equal(updates.V[:200, 0], np.arange(200))
