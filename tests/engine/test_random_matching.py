"""Without features, untouched items are matched at random; picks are checked by enumeration, as in test_effects."""

import numpy as np
import pytest

import pairsmith as ps
from support.effects import assert_greedy, closed_pairs, extended, information, largest_gains
from support.oracle import all_pairs, pairs_within

THIRDS = [row % 3 for row in range(16)]
SOME = [pair for pair in all_pairs(16) if sum(pair) % 3]
WITHOUT_FEATURES = {
    "all pairs": ({}, all_pairs(16)),
    "groups": ({"candidates": ps.WithinGroups(THIRDS)}, pairs_within(THIRDS)),
    "a list": ({"candidates": SOME}, SOME),
    "capped": ({"max_per_item": 3}, all_pairs(16)),
}


@pytest.mark.parametrize("pool_size", [None, 1, 12])
@pytest.mark.parametrize("kind", WITHOUT_FEATURES)
def test_untouched_items_are_matched_before_greedy_picks(kind, pool_size):
    """Pairs of untouched items come first, in a random order, and then the best of the others."""
    options, candidates = WITHOUT_FEATURES[kind]
    for compared in ([], [(0, 1), (1, 2), (4, 9)]):
        selection = ps.select(
            None, 18, n_items=16, item_effects=2.0, comparisons=compared, pool_size=pool_size, **options
        )
        at_random = selection.diagnostics["paired_at_random"]
        untouched = set(range(16)) - {item for pair in compared for item in pair}
        assert len(np.unique(selection.pairs[:at_random])) == 2 * at_random
        assert set(selection.pairs[:at_random].ravel().tolist()) <= untouched
        assert at_random >= len(untouched) // 2 - 2
        A = information(np.zeros((16, 0)), 1.0, 2.0, (), compared)
        weights, cap = np.ones((16, 16)), options.get("max_per_item")
        assert_greedy(selection, extended(np.zeros((16, 0)), 2.0), A, weights, candidates, compared, cap)


def test_the_matching_depends_on_the_seed_only(tmp_path):
    options = {"n_items": 50, "item_effects": 1.0}
    first, again = (ps.select(None, 30, **options).pairs for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = ps.select(None, 30, **options, random_state=1).pairs
    assert not np.array_equal(other, first)
    ps.select(None, 9, **options, checkpoint=tmp_path / "run.json")
    np.testing.assert_array_equal(ps.select(None, 30, **options, checkpoint=tmp_path / "run.json").pairs, first)


def test_many_untouched_items_are_matched_without_a_scan():
    selection = ps.select(None, 1000, n_items=100_000, item_effects=1.0)
    assert len(np.unique(selection.pairs)) == 2000
    assert selection.diagnostics["paired_at_random"] == 1000
    assert "scans" not in selection.diagnostics
    np.testing.assert_allclose(selection.gains, np.log(3))
    assert abs(selection.pairs.mean() / 50_000 - 1) < 0.1  # items come from the whole table


def test_picks_attain_the_maximum_if_all_items_are_touched_and_most_gains_tie():
    rng = np.random.default_rng(0)
    compared = np.unique(np.sort(rng.permutation(90)[:80].reshape(40, 2), axis=1), axis=0)
    selection = ps.select(None, 70, n_items=90, item_effects=3.0, comparisons=compared, pool_size=300)
    nothing = np.zeros((90, 0))
    A = information(nothing, 1.0, 3.0, (), compared)
    mine, best = largest_gains(
        extended(nothing, 3.0), A, np.ones((90, 90)), selection.pairs, closed_pairs(90, compared)
    )
    np.testing.assert_allclose(mine, best, rtol=1e-9)
