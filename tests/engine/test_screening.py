"""Attacks on the float32 bound: a screen returns every pair that reaches the floor, and no bound is below its gain."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine.scan import Scan
from pairsmith.engine.threads import thread_team
from support.scans import enumerated


def assert_no_pair_is_missed(X, ridge, floors, scores=None):
    """Assert that the screen returns every pair that reaches the floor; floors allow for rounding in float64."""
    n = len(X)
    i, j, gains = enumerated(X, ridge, scores)
    design = Design(X, ridge, scores=scores)
    remaining = Remaining(ps.AllPairs().rows(n), np.zeros(0, int), np.full(n, 9**9))
    with thread_team(1) as team:
        scan = Scan(design, remaining, team, {"tiles": 0}, lambda doing: None, 1 << 30)
        whitened = scan.whiten()
        for floor in floors:
            hits, floor_after = scan.screened(whitened, float(floor), 10**6)
            assert floor_after == floor
            bound = np.full((n, n), -np.inf)
            bound[hits.i, hits.j] = hits.gain
            reach = gains >= floor
            assert np.all(bound[i[reach], j[reach]] >= gains[reach] * (1 - 1e-9))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-30, 0.0), (1e30, 0.0), (1.0, 1e3)])
def test_no_pair_that_reaches_the_floor_is_missed(scale, offset, weighted):
    """Columns have all sizes, with scales near the limits of float32, far from the origin, and scores of any spread."""
    rng = np.random.default_rng(0)
    for d in (1, 3, 40, 300):
        X = (rng.standard_normal((200, d)) * 10.0 ** rng.uniform(-4, 0, d) + offset) * scale
        for spread in (0.1, 3.0, 60.0) if weighted else (None,):
            scores = None if spread is None else spread * rng.standard_normal(200)
            gains = enumerated(X, scale**2, scores)[2]
            assert_no_pair_is_missed(X, scale**2, np.quantile(gains, [0.0, 0.5, 0.99, 1.0]) * (1 - 1e-9), scores)


def pairs_of_equal_gain(rng, d, away, weighted):
    """Return features of 200 pairs of equal gain, `away` times as far from the origin as apart, and scores.

    The bound is tight for such pairs.
    """
    scores = 2 * rng.standard_normal(400) if weighted else None
    apart = np.ones(200)
    if scores is not None:
        t = np.abs(scores[:200] - scores[200:])
        apart = np.sqrt(2 + np.exp(t) + np.exp(-t))
    direction = rng.standard_normal((200, d))
    half = direction / np.linalg.norm(direction, axis=1)[:, None] * apart[:, None] / 2
    # Numbers just above a power of two have the largest rounding error.
    middle = away * rng.choice([-1, 1], (200, d)) * (1 + 0.01 * rng.random((200, d)))
    return np.vstack([middle + half, middle - half]), scores


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("away", [0.0, 1.0, 32.0, 1024.0])
def test_pairs_exactly_on_the_floor_are_not_missed(away, weighted):
    """Rounding moves their products to either side of the floor, most if |z|^2 is far larger than the floor.

    The test fails if the constants of the bound are divided by 12 (without weights) or by 16 (with weights). The proof
    must allow for the worst order of summation, and BLAS, which keeps several partial sums, does far better.
    """
    rng = np.random.default_rng(1)
    for d, times in ((1, 12), (2, 6), (5, 3), (150, 2)):
        for _ in range(times):
            X, scores = pairs_of_equal_gain(rng, d, away, weighted)
            i, j, gains = enumerated(X, 1.0, scores)
            assert_no_pair_is_missed(X, 1.0, [gains[j == i + 200].min() * (1 - 1e-9)], scores)
