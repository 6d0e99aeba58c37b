"""What lengths rule out: no pair may have a larger gain than its two lengths allow."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine.scan import Scan
from pairsmith.engine.threads import team_of
from test_screening import enumerated


def whitened(X, ridge, scores=None):
    n = len(X)
    remaining = Remaining(ps.AllPairs().rows(n), np.zeros(0, int), np.full(n, 9**9))
    with team_of(1) as team:
        scan = Scan(Design(X, ridge, scores=scores), remaining, team, {"tiles": 0}, lambda doing: None, 1 << 30)
        return scan.whiten()


def assert_lengths_allow(X, scores):
    """(sqrt(reach_i) + sqrt(reach_j))^2 is at least what is needed for the gain that the pair has."""
    found = whitened(X, 1.0, scores)
    i, j, gains = enumerated(X, 1.0, scores)
    together = (np.sqrt(found.pruning_norms[i]) + np.sqrt(found.pruning_norms[j])) ** 2
    assert np.all(together >= found.min_squared_span(gains) * (1 - 1e-6))
    return found


def test_without_scores():
    assert_lengths_allow(np.random.default_rng(0).standard_normal((200, 5)), None)


@pytest.mark.parametrize("steep", [0.3, 1.0, 3.0, 30.0])
def test_with_scores_that_are_set_aside(steep):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)) * [30, 1, 1, 0.3, 0.1]
    assert assert_lengths_allow(X, steep * X[:, 0]).score_slope == pytest.approx(steep)


@pytest.mark.parametrize("q", [0.0, 0.1, 0.7, 1.5, 3.0, 3.9, 4.1, 9.0, 100.0])
def test_the_table_of_the_largest_weighted_gain(q):
    """Opposite points, sqrt(q) apart across the score and t along it: for one of these t, lengths allow no more."""
    t = np.linspace(0, 8, 400)
    along, across = np.concatenate([t, -t]) / 2, np.repeat([0.5, -0.5], 400) * np.sqrt(q)
    X = np.column_stack([along, across, np.zeros(800)])
    # Two far out along the score, so that it is worth setting aside; they weigh nothing.
    X = np.vstack([X, [[300.0, 0.0, 0.0], [-300.0, 0.0, 0.0]]])
    found = assert_lengths_allow(X, X[:, 0].copy())
    assert found.score_slope == pytest.approx(1)
    # And the table is tight: a gain that is 1% larger would not be allowed.
    i, j, gains = enumerated(X, 1.0, X[:, 0])
    best = np.argmax(np.where(j == i + 400, gains, 0.0))
    together = (np.sqrt(found.pruning_norms[i[best]]) + np.sqrt(found.pruning_norms[j[best]])) ** 2
    assert together < found.min_squared_span(1.01 * gains[best])


def test_pairs_that_are_gone():
    X = np.random.default_rng(0).standard_normal((30, 3))
    rows = ps.AllPairs().rows(30)
    room = np.full(30, 2)
    remaining = Remaining(rows, rows.numbers(np.array([[0, 1], [4, 9]])), room)
    remaining.take(5, 6)
    remaining.take(5, 7)
    with team_of(1) as team:
        found = Scan(Design(X, 1.0), remaining, team, {"tiles": 0}, lambda doing: None, 1 << 30).whiten()
    i, j = np.triu_indices(30, 1)
    gone = (
        {(0, 1), (4, 9)} | {pair for pair in zip(i.tolist(), j.tolist(), strict=True) if 5 in pair} | {(5, 6), (5, 7)}
    )
    assert {(i[at], j[at]) for at in np.flatnonzero(found.gone(i, j))} == gone
