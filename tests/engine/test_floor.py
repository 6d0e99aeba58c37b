"""The floor of a scan is a guess. These tests check what makes it a good one."""

import numpy as np
import pytest

from pairsmith.engine.floor import _SHARES_OF_BEST, FloorPolicy, _count_pairs_examined
from support.scans import enumerated, whitened

X = np.random.default_rng(0).standard_normal((1200, 6))


@pytest.fixture(scope="module")
def snapshot():
    return whitened(X, 1.0)


@pytest.fixture(scope="module")
def gains():
    return np.sort(enumerated(X, 1.0)[2])


def test_some_pairs_reach_the_floor_and_they_fit_the_pool(snapshot, gains):
    for capacity in (10_000, 100_000, 10**7):
        floor = FloorPolicy().choose(snapshot, -np.inf, capacity, 10**6, 1.0)
        assert gains[-1] / 21 < floor < gains[-1]
        assert 0 < np.sum(gains >= floor) <= capacity


def test_a_smaller_pool_has_a_higher_floor(snapshot):
    floors = [FloorPolicy().choose(snapshot, -np.inf, capacity, 10**6, 1.0) for capacity in (5000, 50_000, 500_000)]
    assert floors[0] > floors[1] > floors[2]


def test_a_known_gain_raises_the_floor(snapshot, gains):
    policy = FloorPolicy()
    floor = policy.choose(snapshot, 100 * gains[-1], 10**6, 10**6, 1.0)
    assert floor > gains[-1]
    assert policy.last_share == pytest.approx(floor / (100 * gains[-1]))


def test_the_floor_is_higher_if_few_picks_are_left(snapshot):
    """Gains fell by a factor e in ten picks. A floor for one more pick need not last for a thousand."""
    floors = []
    for picks_left in (1, 1000):
        policy = FloorPolicy()
        policy.record(10, np.e, 1.0)
        assert policy.picks_per_fold == pytest.approx(10)
        floors.append(policy.choose(snapshot, -np.inf, 10**7, picks_left, 1.0))
    assert floors[0] > floors[1]


def test_gains_that_vanish_or_do_not_fall_are_recorded_safely():
    policy = FloorPolicy()
    policy.record(5, 2.0, 0.0)
    assert policy.picks_per_fold == 0
    policy.record(5, 2.0, 2.0)  # gains did not fall: many picks per fold, and no division by zero
    assert 5 < policy.picks_per_fold < np.inf


def test_the_floor_is_zero_if_every_gain_is_zero():
    assert FloorPolicy().choose(whitened(np.ones((50, 2)), 1.0), -np.inf, 100, 10, 1.0) == 0


def test_the_pairs_examined_are_those_whose_lengths_add_up():
    """With few items, no length is interpolated. The count includes half a pair of each item with itself."""
    few = whitened(X[:60], 1.0)
    best = float(enumerated(X[:60], 1.0)[2].max())
    lengths = np.sqrt(few.squared_norms)
    i, j = np.triu_indices(60)
    for share, examined in zip(_SHARES_OF_BEST, _count_pairs_examined(few, _SHARES_OF_BEST * best), strict=True):
        long_enough = lengths[i] + lengths[j] >= np.sqrt(share * best)
        assert examined == pytest.approx(np.sum(np.where(i == j, 0.5, 1.0)[long_enough]))
