"""The float32 bound, attacked: every pair at or above the floor is found, and no bound is below its gain."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine.scan import Scan
from pairsmith.engine.threads import team_of


def enumerated(X, ridge, scores=None):
    """All pairs and their gains by the definition: A = ridge I, so w_ij |x_i - x_j|^2 / ridge."""
    i, j = np.triu_indices(len(X), 1)
    gains = np.sum((X[i] - X[j]) ** 2, axis=1) / ridge
    if scores is not None:
        small = np.exp(-np.abs(scores[i] - scores[j]))
        gains = gains * small / (1 + small) ** 2  # p (1 - p)
    return i, j, gains


def assert_none_escapes(X, ridge, floors, scores=None):
    """Of the pairs whose gain reaches these floors, by more than float64 gets wrong in it."""
    n = len(X)
    i, j, gains = enumerated(X, ridge, scores)
    design = Design(X, ridge, scores=scores)
    everything = Remaining(ps.AllPairs().rows(n), np.zeros(0, int), np.full(n, 9**9))
    with team_of(1) as team:
        scan = Scan(design, everything, team, {"tiles": 0}, lambda doing: None, 1 << 30)
        whitened = scan.whiten()
        for floor in floors:
            hits, left_out = scan.screened(whitened, float(floor), 10**6)
            assert left_out == floor
            bound = np.full((n, n), -np.inf)
            bound[hits.i, hits.j] = hits.gain
            reach = gains >= floor
            assert np.all(bound[i[reach], j[reach]] >= gains[reach] * (1 - 1e-9))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-30, 0.0), (1e30, 0.0), (1.0, 1e3)])
def test_no_pair_that_reaches_the_floor_escapes(scale, offset, weighted):
    """Columns of all sizes, at scales near the ends of float32, far from the origin, with scores of any spread."""
    rng = np.random.default_rng(0)
    for d in (1, 3, 40, 300):
        X = (rng.standard_normal((200, d)) * 10.0 ** rng.uniform(-4, 0, d) + offset) * scale
        for spread in (0.1, 3.0, 60.0) if weighted else (None,):
            scores = None if spread is None else spread * rng.standard_normal(200)
            gains = enumerated(X, scale**2, scores)[2]
            assert_none_escapes(X, scale**2, np.quantile(gains, [0.0, 0.5, 0.99, 1.0]) * (1 - 1e-9), scores)


def on_the_floor(rng, d, away, weighted):
    """Two hundred pairs of equal gain, `away` times as far from the origin as apart: for these the bound is tight."""
    scores = 2 * rng.standard_normal(400) if weighted else None
    apart = np.ones(200)
    if scores is not None:
        t = np.abs(scores[:200] - scores[200:])
        apart = np.sqrt(2 + np.exp(t) + np.exp(-t))
    direction = rng.standard_normal((200, d))
    half = direction / np.linalg.norm(direction, axis=1)[:, None] * apart[:, None] / 2
    # Numbers just above a power of two lose most when they are rounded.
    middle = away * rng.choice([-1, 1], (200, d)) * (1 + 0.01 * rng.random((200, d)))
    return np.vstack([middle + half, middle - half]), scores


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("away", [0.0, 1.0, 32.0, 1024.0])
def test_pairs_exactly_on_the_floor_are_found(away, weighted):
    """Rounding moves their products to either side of it, most where |z|^2 is far larger than the floor.

    This fails when the constants of the bound are a twelfth (without weights) or a sixteenth (with) of what they are.
    The proof has to allow for the worst order of summation; that of a BLAS, in several sums at once, is far better.
    """
    rng = np.random.default_rng(1)
    for d, times in ((1, 12), (2, 6), (5, 3), (150, 2)):
        for _ in range(times):
            X, scores = on_the_floor(rng, d, away, weighted)
            i, j, gains = enumerated(X, 1.0, scores)
            assert_none_escapes(X, 1.0, [gains[j == i + 200].min() * (1 - 1e-9)], scores)
