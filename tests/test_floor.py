"""The floor of a scan is a guess; these hold what makes it a good one."""

import numpy as np
import pytest

from pairsmith.engine.floor import _SHARES_OF_BEST, FloorPolicy, _count_pairs_examined
from test_screening import enumerated
from test_whitening import whitened

X = np.random.default_rng(0).standard_normal((1200, 6))


@pytest.fixture(scope="module")
def moment():
    return whitened(X, 1.0)


@pytest.fixture(scope="module")
def gains():
    return np.sort(enumerated(X, 1.0)[2])


def test_there_are_pairs_above_it_and_they_fit_the_pool(moment, gains):
    for capacity in (10_000, 100_000, 10**7):
        floor = FloorPolicy().choose(moment, -np.inf, capacity, 10**6, 1.0)
        assert gains[-1] / 21 < floor < gains[-1]
        assert 0 < np.sum(gains >= floor) <= capacity


def test_a_smaller_pool_has_a_higher_floor(moment):
    floors = [FloorPolicy().choose(moment, -np.inf, capacity, 10**6, 1.0) for capacity in (5000, 50_000, 500_000)]
    assert floors[0] > floors[1] > floors[2]


def test_a_gain_that_is_known_to_be_there_counts(moment, gains):
    choice = FloorPolicy()
    floor = choice.choose(moment, 100 * gains[-1], 10**6, 10**6, 1.0)
    assert floor > gains[-1]
    assert choice.last_share == pytest.approx(floor / (100 * gains[-1]))


def test_for_a_few_picks_that_are_left_a_high_floor_will_do(moment):
    """Ten picks made gains fall by a factor e: a floor for one more pick need not be good for a thousand."""
    floors = []
    for picks_left in (1, 1000):
        choice = FloorPolicy()
        choice.record(10, np.e, 1.0)
        assert choice.picks_per_fold == pytest.approx(10)
        floors.append(choice.choose(moment, -np.inf, 10**7, picks_left, 1.0))
    assert floors[0] > floors[1]


def test_an_epoch_that_ended_with_nothing_to_gain_teaches_no_rate():
    choice = FloorPolicy()
    choice.record(5, 2.0, 0.0)
    assert choice.picks_per_fold == 0
    choice.record(5, 2.0, 2.0)  # no fall at all: many picks a fold, and no division by zero
    assert 5 < choice.picks_per_fold < np.inf


def test_without_anything_to_gain_the_floor_is_zero():
    assert FloorPolicy().choose(whitened(np.ones((50, 2)), 1.0), -np.inf, 100, 10, 1.0) == 0


def test_pairs_to_look_at_are_those_whose_lengths_add_up():
    """With few items every one stands for itself, and the count is that of pairs, and of half of each item's own."""
    few = whitened(X[:60], 1.0)
    best = float(enumerated(X[:60], 1.0)[2].max())
    lengths = np.sqrt(few.squared_norms)
    i, j = np.triu_indices(60)
    for share, seen in zip(_SHARES_OF_BEST, _count_pairs_examined(few, _SHARES_OF_BEST * best), strict=True):
        reaching = lengths[i] + lengths[j] >= np.sqrt(share * best)
        assert seen == pytest.approx(np.sum(np.where(i == j, 0.5, 1.0)[reaching]))
