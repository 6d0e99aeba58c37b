"""Pruning by lengths is safe: no pair has a larger gain than its two lengths allow. Pairs that are gone are masked."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine.scan import Scan
from pairsmith.engine.threads import thread_team
from support.scans import enumerated, whitened


def assert_lengths_allow(X, scores):
    """Assert that each pair's pruning norms span at least the minimum for its gain; return the whitened items."""
    items = whitened(X, 1.0, scores)
    i, j, gains = enumerated(X, 1.0, scores)
    squared_span = (np.sqrt(items.pruning_norms[i]) + np.sqrt(items.pruning_norms[j])) ** 2
    assert np.all(squared_span >= items.min_squared_span(gains) * (1 - 1e-6))
    return items


def test_lengths_allow_all_gains_without_scores():
    assert_lengths_allow(np.random.default_rng(0).standard_normal((200, 5)), None)


@pytest.mark.parametrize("steep", [0.3, 1.0, 3.0, 30.0])
def test_lengths_allow_all_gains_without_the_component_along_the_score(steep):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)) * [30, 1, 1, 0.3, 0.1]
    assert assert_lengths_allow(X, steep * X[:, 0]).score_slope == pytest.approx(steep)


@pytest.mark.parametrize("q", [0.0, 0.1, 0.7, 1.5, 3.0, 3.9, 4.1, 9.0, 100.0])
def test_the_table_of_largest_weighted_gains_is_a_tight_bound(q):
    """Opposite points are sqrt(q) apart across the score and t along it; for one of these t, the bound is attained."""
    t = np.linspace(0, 8, 400)
    along, across = np.concatenate([t, -t]) / 2, np.repeat([0.5, -0.5], 400) * np.sqrt(q)
    X = np.column_stack([along, across, np.zeros(800)])
    # Two points far out along the score make it worth leaving out; their pairs have hardly any weight.
    X = np.vstack([X, [[300.0, 0.0, 0.0], [-300.0, 0.0, 0.0]]])
    items = assert_lengths_allow(X, X[:, 0].copy())
    assert items.score_slope == pytest.approx(1)
    # The bound is tight: a gain 1% larger would not be allowed.
    i, j, gains = enumerated(X, 1.0, X[:, 0])
    best = np.argmax(np.where(j == i + 400, gains, 0.0))
    squared_span = (np.sqrt(items.pruning_norms[i[best]]) + np.sqrt(items.pruning_norms[j[best]])) ** 2
    assert squared_span < items.min_squared_span(1.01 * gains[best])


def test_gone_masks_taken_pairs_and_pairs_of_full_items():
    X = np.random.default_rng(0).standard_normal((30, 3))
    rows = ps.AllPairs().rows(30)
    room = np.full(30, 2)
    remaining = Remaining(rows, rows.numbers(np.array([[0, 1], [4, 9]])), room)
    remaining.take(5, 6)
    remaining.take(5, 7)
    with thread_team(1) as team:
        items = Scan(Design(X, 1.0), remaining, team, {"tiles": 0}, lambda doing: None, 1 << 30).whiten()
    i, j = np.triu_indices(30, 1)
    gone = (
        {(0, 1), (4, 9)} | {pair for pair in zip(i.tolist(), j.tolist(), strict=True) if 5 in pair} | {(5, 6), (5, 7)}
    )
    assert {(i[at], j[at]) for at in np.flatnonzero(items.gone(i, j))} == gone
