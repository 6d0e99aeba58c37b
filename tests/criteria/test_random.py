"""Random pairs: uniform, repeatable, and no more of them listed than must be."""

from collections import Counter

import numpy as np
import pytest

import pairsmith as ps
from support.oracle import all_pairs, logdet

X = np.random.default_rng(0).standard_normal((10, 3))


@pytest.mark.slow
def test_pairs_are_uniform_and_repeatable():
    pairs = [tuple(ps.select(X[:5], 1, objective="random", random_state=seed).pairs[0]) for seed in range(2000)]
    counts = Counter(pairs)
    assert sorted(counts) == all_pairs(5)
    # 2000 draws over 10 pairs: chi-squared with 9 degrees of freedom stays below 27.9 in 999 of 1000 cases
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 27.9
    one, two = (ps.select(X, 20, objective="random", random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.pairs, two.pairs)
    assert one.algorithm == "random"
    assert one.logdet[-1] == pytest.approx(logdet(X, one.ridge, pairs=one.pairs))


def test_honours_candidates_exclusions_and_caps():
    everything = ps.select(X, 42, comparisons=[[0, 1], [2, 3], [2, 3], [8, 9]], objective="random", random_state=0)
    assert sorted(map(tuple, everything.pairs.tolist())) == [
        pair for pair in all_pairs(10) if pair not in [(0, 1), (2, 3), (8, 9)]
    ]
    groups = np.arange(10) % 3
    grouped = ps.select(X, 12, candidates=ps.WithinGroups(groups), objective="random", random_state=0)
    assert all(groups[i] == groups[j] for i, j in grouped.pairs)
    for seed in range(20):
        capped = ps.select(X, 8, max_per_item=2, objective="random", random_state=seed)
        assert np.bincount(capped.pairs.ravel()).max() <= 2
        assert len({tuple(pair) for pair in capped.pairs.tolist()}) == 8


def test_draws_from_a_million_items_without_listing_pairs():
    items = np.random.default_rng(0).standard_normal((1_000_000, 2))
    selection = ps.select(items, 1000, objective="random", random_state=0, max_per_item=1)
    assert len(np.unique(selection.pairs)) == 2000


def test_with_a_cap_that_fills_every_item():
    items = np.random.default_rng(0).standard_normal((200, 2))
    selection = ps.select(items, 100, objective="random", random_state=1, max_per_item=1)
    assert sorted(selection.pairs.ravel().tolist()) == list(range(200))
