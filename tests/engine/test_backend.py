"""The thread backend returns the same with and without memory for Z, in one thread and in several."""

import numpy as np
import pytest

from pairsmith.engine import backend
from pairsmith.engine.backend import pairs_above_floor
from pairsmith.engine.top_pairs import TopPairs, join
from support.scans import CANDIDATES, N, X, by_pair, enumerated, remaining_gains, scan_of

THREADS_AND_MEMORY = [(1, 1 << 30), (1, 0), (3, 1 << 30), (3, 0)]  # memory for Z, in bytes


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut every pass into many blocks."""
    monkeypatch.setattr(backend, "_NUMBERS_PER_TASK", 100)
    monkeypatch.setattr(backend, "PAIRS_AT_ONCE", 700)


@pytest.mark.parametrize(("threads", "memory"), THREADS_AND_MEMORY)
def test_measure_returns_the_squared_norms_of_items_and_columns(threads, memory):
    """A is the identity, so Z is X up to its origin and a rotation."""
    with scan_of(X, threads=threads, memory=memory) as scan:
        norms, energy, Z = scan.backend.measure(scan.design.whitener())
        assert (Z is not None) == scan.backend.second_look == (memory > 0)
        np.testing.assert_allclose(norms, np.sum((X - np.median(X, axis=0)) ** 2, axis=1))
        assert energy.sum() == pytest.approx(norms.sum())
        if Z is not None:
            np.testing.assert_allclose(energy, np.sum(Z**2, axis=0))
            np.testing.assert_allclose(Z @ Z[0] - norms[0], (X - X[0]) @ (X[0] - np.median(X, axis=0)), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("threads", "memory"), THREADS_AND_MEMORY)
def test_both_passes_return_the_pairs_that_reach_the_floor(threads, memory, weighted):
    scores = 2 * X[:, 1] if weighted else None
    messages = []
    with scan_of(X, scores=scores, threads=threads, memory=memory) as scan:
        scan.backend.tell = messages.append
        whitened, all_gains = scan.whiten(), remaining_gains(scan.remaining, scores)
        floor = float(np.quantile(list(all_gains.values()), 0.9)) * (1 - 1e-9)
        expected = {pair: gain for pair, gain in all_gains.items() if gain >= floor}
        top = TopPairs(floor, 10**6)
        scan.backend.exact(whitened, top)
        assert by_pair(join(top.hits)) == pytest.approx(expected)
        assert messages[-1] == "scanning 1.1e+04 pairs in float64, 100%"
        top = TopPairs(floor, 10**6)
        scan.backend.screen(whitened, scan._plan(whitened, floor), top)
        hits = join(top.hits)
        bound = np.full((N, N), -np.inf)
        bound[np.minimum(hits.i, hits.j), np.maximum(hits.i, hits.j)] = hits.gain
        assert all(bound[pair] >= gain * (1 - 1e-9) for pair, gain in expected.items())
        assert len(hits.i) < 2 * len(expected)  # the screen rules out most pairs


@pytest.mark.parametrize("scores", [None, np.linspace(-3, 3, N)], ids=["plain", "weighted"])
@pytest.mark.parametrize("candidates", CANDIDATES)
def test_pairs_of_some_rows_that_reach_the_floor(candidates, scores):
    rows = CANDIDATES[candidates].rows(N)
    low, high, floor = 20, 90, 4.0 if scores is None else 0.8
    hits = pairs_above_floor(X, (rows.partner, rows.first, rows.count, rows.start), scores, None, low, high, floor)
    i, j, gains = enumerated(X, 1.0, scores)
    expected = (i >= low) & (i < high) & (gains >= floor) & (rows.numbers(np.column_stack([i, j])) >= 0)
    assert expected.sum() > 50
    np.testing.assert_array_equal(np.column_stack([hits.i, hits.j]), np.column_stack([i[expected], j[expected]]))
    np.testing.assert_allclose(hits.gain, gains[expected])
