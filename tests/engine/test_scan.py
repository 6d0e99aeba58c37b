"""Scans against enumeration: they return every remaining candidate that reaches the floor."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairsmith.engine import scan as scan_module
from support.scans import CANDIDATES, N, X, by_pair, remaining_gains, scan_of


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("candidates", CANDIDATES)
def test_exact_returns_the_pairs_that_reach_the_floor_and_no_others(candidates, weighted):
    scores = 2 * X[:, 1] if weighted else None
    with scan_of(X, candidates, scores) as scan:
        whitened, expected = scan.whiten(), remaining_gains(scan.remaining, scores)
        floor = float(np.quantile(list(expected.values()), 0.8)) * (1 - 1e-9)
        hits, floor_after = scan.exact(whitened, floor, 10**6)
        assert floor_after == floor
        assert by_pair(hits) == pytest.approx({pair: gain for pair, gain in expected.items() if gain >= floor})
        assert by_pair(scan.enumerate_pairs(whitened)) == pytest.approx(expected)


@pytest.mark.parametrize("candidates", ["all", "groups"])
def test_a_scan_over_capacity_keeps_the_largest_gains_and_bounds_the_others(candidates):
    with scan_of(X, candidates) as scan:
        whitened, expected = scan.whiten(), remaining_gains(scan.remaining)
        largest = sorted(expected, key=expected.get)[-40:]
        for scan_pairs in (scan.exact, scan.screened):
            hits, floor_after = scan_pairs(whitened, 0.0, 40)
            gains = by_pair(hits)
            assert gains == pytest.approx({pair: expected[pair] for pair in largest})
            assert max(gain for pair, gain in expected.items() if pair not in gains) <= floor_after * (1 + 1e-9)
            assert floor_after <= min(gains.values())


def test_exact_keeps_the_smaller_pairs_of_equal_gains():
    """Picks would otherwise depend on the order in which threads finish their blocks."""
    whole = np.random.default_rng(2).integers(0, 2, (N, 3)).astype(float)
    with scan_of(whole, threads=2) as scan:
        expected = remaining_gains(scan.remaining, X=whole)
        hits, _ = scan.exact(scan.whiten(), 1.0, 500)
    assert sorted(by_pair(hits)) == sorted(sorted(expected, key=lambda pair: (-round(expected[pair]), pair))[:500])


def test_a_screen_of_few_columns_misses_no_pair(monkeypatch):
    """If a few columns hold nearly all of the energy, their products rule out nearly all pairs."""
    monkeypatch.setattr(scan_module, "_MIN_PRODUCTS_TO_SAVE", 0)
    wide = np.random.default_rng(3).standard_normal((N, 40)) * np.where(np.arange(40) < 10, 1.0, 0.05)
    floors = {}
    for memory in (1 << 30, 0):  # without Z in memory there is no second look, so all columns are multiplied
        with scan_of(wide, memory=memory) as scan:
            expected = remaining_gains(scan.remaining, X=wide)
            floor = floors.setdefault("floor", float(np.quantile(list(expected.values()), 0.999)))
            hits, floor_after = scan.screened(scan.whiten(), floor, 10**6)
            assert (scan.columns_used < 1) == (memory > 0)
            assert floor_after == floor
            assert by_pair(hits).keys() >= {pair for pair, gain in expected.items() if gain >= floor * (1 + 1e-9)}


def test_no_tile_is_multiplied_if_lengths_rule_out_every_pair():
    with scan_of(X) as scan:
        whitened = scan.whiten()
        floor = 5 * float(whitened.squared_norms.max())
        hits, floor_after = scan.screened(whitened, floor, 100)
        assert (len(hits.i), floor_after, scan.diagnostics["tiles"]) == (0, floor, 0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 4, 64]))
def test_strips_hold_each_pair_that_may_be_far_enough_apart_once(seed, height):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 30, rng.integers(1, 6))
    groups = np.concatenate([[0], np.cumsum(sizes)])
    lengths = np.concatenate([-np.sort(-rng.exponential(size=size)) for size in sizes])
    needed = float(rng.exponential())
    times = np.zeros((len(lengths), len(lengths)), dtype=int)
    strips = scan_module._strips(lengths, groups, height, needed)
    assert np.all(np.diff(strips[:, 0]) > 0)
    for a, a_end, b, b_end in strips:
        times[a:a_end, b:b_end] += 1
    for begin, end in pairwise(groups):
        for i in range(begin, end):
            for j in range(i + 1, end):
                assert times[i, j] == 1 or (times[i, j] == 0 and lengths[i] + lengths[j] < needed)
    within = np.equal.outer(np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.arange(len(sizes)), sizes))
    assert not np.any(times[~within])
