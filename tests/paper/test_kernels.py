"""Compare the inner loops of the paper's algorithms with their definitions; test_greedy.py tests the algorithms."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.paper import kernels

N, D = 12, 3
X = np.random.default_rng(0).standard_normal((N, D))
ROWS = ps.AllPairs().rows(N)
ARRAYS = ROWS.partner, ROWS.first, ROWS.count, ROWS.start
FIRST, SECOND = np.triu_indices(N, 1)


def test_codes_number_the_pairs_of_some_rows():
    code = np.full(len(ROWS), -1)
    kernels.fill_codes(code, *ARRAYS, 2, 9)
    own = (FIRST >= 2) & (FIRST < 9)
    np.testing.assert_array_equal(code, np.where(own, FIRST * N + SECOND, -1))


def test_subtract_squares_updates_the_gains_of_some_rows():
    rho, gains = X[:, 0], np.arange(len(FIRST), dtype=float)
    own = slice(ROWS.start[3], ROWS.start[8])
    updated = gains[own].copy()
    kernels.subtract_squares(updated, rho, rho[ROWS.partner], *ARRAYS[1:], 3, 8)
    np.testing.assert_allclose(updated, gains[own] - (rho[FIRST[own]] - rho[SECOND[own]]) ** 2)


@pytest.mark.parametrize("size", [1, 2, 5, 6, 66])
def test_every_parent_in_a_heap_comes_before_its_children(size):
    rng = np.random.default_rng(size)
    gain, code = rng.integers(0, 5, size).astype(float), rng.permutation(size)
    pairs = set(zip(gain.tolist(), code.tolist(), strict=True))
    kernels.heapify(gain, code)
    assert set(zip(gain.tolist(), code.tolist(), strict=True)) == pairs
    for child in range(1, size):
        parent = (child - 1) // 4
        assert (-gain[parent], code[parent]) < (-gain[child], code[child])


@pytest.mark.parametrize("rule", [kernels.NAIVE, kernels.FACTORIZATION, kernels.SCALAR])
def test_the_lazy_maximum_yields_pairs_by_their_updated_gains(rule):
    """A is I before step 1 and I + x x' after it, so the stale gains are upper bounds."""
    full = np.zeros(N, dtype=bool)
    full[4] = True
    gain, code = np.sum((X[FIRST] - X[SECOND]) ** 2, axis=1), FIRST * N + SECOND
    kernels.heapify(gain, code)
    x = X[0] - X[5]
    inverse = np.linalg.inv(np.eye(D) + np.outer(x, x))
    v = x / np.sqrt(1 + x @ x)
    scalar = rule == kernels.SCALAR
    heap = kernels.Heap(
        gain, code, np.zeros(len(gain), np.int32), gain.astype(np.float32) if scalar else np.zeros(0, np.float32)
    )
    sources = kernels.GainSources(
        X,
        np.linalg.cholesky(inverse),
        np.zeros((N, D)),
        np.zeros(N, np.int32),
        v[None, :],
        np.full((N, 1), np.nan),
    )
    true = {
        (i, j): (X[i] - X[j]) @ inverse @ (X[i] - X[j]) for i, j in zip(FIRST, SECOND, strict=True) if 4 not in (i, j)
    }
    size, order = len(gain), []
    while True:
        pair, size, evaluations = kernels.lazy_maximum(heap, size, 1, full, rule, sources, 7)
        assert evaluations <= 7
        assert pair >= 0 or pair in (kernels.NO_PAIR, kernels.UNFINISHED)
        if pair >= 0:
            order.append((pair // N, pair % N))
        elif pair == kernels.NO_PAIR:
            break
    assert size == 0
    assert order == sorted(true, key=lambda pair: -true[pair])
