import numpy as np
import pytest
from scipy.spatial.distance import cdist

import pairsmith as ps
from pairsmith.design import kernels
from support.oracle import exact_solve

CANDIDATES = {
    "all": ps.AllPairs(),
    "groups": ps.WithinGroups(np.random.default_rng(1).integers(0, 3, 90)),
    "list": ps.PairList([(3, 4), (3, 5), (3, 89), (0, 2), (88, 89), (40, 3), (41, 7)]),
}


@pytest.fixture(params=CANDIDATES)
def rows(request):
    return CANDIDATES[request.param].rows(90)


def arrays_of(rows):
    return rows.partner, rows.first, rows.count, rows.start


@pytest.mark.parametrize(("low", "high"), [(0, 90), (3, 4), (37, 89)])
def test_distances_are_the_squared_distances_of_the_pairs_of_some_rows(rows, low, high):
    Z = np.random.default_rng(0).standard_normal((90, 5))
    numbers = np.arange(rows.start[low], rows.start[high])
    i, j = rows.pairs(numbers).T
    out = np.full(len(numbers) + 1, np.nan)
    kernels.distances(Z, *arrays_of(rows), low, high, out)
    np.testing.assert_allclose(out[:-1], cdist(Z, Z, "sqeuclidean")[i, j])
    assert np.isnan(out[-1])  # nothing is written behind the last pair
    by_pair = np.empty(len(i))
    kernels.pair_distances(Z, Z, i.astype(np.int32), j.astype(np.int32), by_pair)
    np.testing.assert_allclose(by_pair, out[:-1])


def test_equal_pairs_have_equal_distances(rows):
    """They must be equal to the last bit, wherever the pairs stand, because ties depend on it."""
    Z = np.repeat(np.random.default_rng(0).standard_normal((2, 7)), 45, axis=0)
    out = np.empty(len(rows))
    kernels.distances(Z, *arrays_of(rows), 0, 90, out)
    assert len(np.unique(out)) == 2


def test_the_largest_gain_skips_full_items_and_taken_pairs_and_is_the_first_of_equals(rows):
    rng = np.random.default_rng(2)
    for _ in range(20):
        gains, full = rng.integers(0, 3, len(rows)).astype(float), rng.random(90) < 0.3
        taken = np.flatnonzero(rng.random(len(rows)) < 0.3)
        i, j = rows.pairs(np.arange(len(rows))).T
        is_open = ~full[i] & ~full[j] & ~np.isin(np.arange(len(rows)), taken) & (i >= 2) & (i < 60)
        value, number = kernels.largest_gain(gains[rows.start[2] :], *arrays_of(rows), 2, 60, full, taken)
        if is_open.any():
            assert value == gains[is_open].max()
            assert number == np.flatnonzero(is_open & (gains == value))[0]
        else:
            assert (value, number) == (-np.inf, -1)


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e12])
def test_updating_the_root_adds_a_term_to_the_matrix_without_loss_of_digits(size):
    """Compare with exact arithmetic, also for a direction whose variance falls by many orders of magnitude."""
    X = np.random.default_rng(3).standard_normal((6, 4))
    X[:2] *= size
    root, pairs = np.eye(4) / 2, []  # A = 4 I
    for i, j in ((0, 1), (2, 3), (0, 2)):
        x = X[i] - X[j]
        solved = exact_solve(X, 4.0, [], pairs, i, j)
        u, v = x @ root, np.empty(4)
        kernels.update_root(root, u, float(u @ u), v)
        np.testing.assert_allclose(v, solved / np.sqrt(1 + x @ solved), rtol=1e-9, atol=1e-12 / max(1, size))
        pairs.append((i, j))
    np.testing.assert_allclose(root @ (root.T @ (X[4] - X[5])), exact_solve(X, 4.0, [], pairs, 4, 5), rtol=1e-9)
