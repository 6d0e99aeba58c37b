"""The entropy of answers against its definition, by enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairsmith as ps
from support.definitions import SETTINGS, assert_attains_the_maximum, assert_attains_the_maximum_on_ties


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_pick_attains_the_maximum(setting):
    assert_attains_the_maximum("entropy", setting)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 3))
@settings(max_examples=20)
def test_every_pick_attains_the_maximum_with_ties(seed, d):
    assert_attains_the_maximum_on_ties("entropy", seed, d)


def test_the_closest_pairs_of_200_000_items_are_picked_first():
    X = np.random.default_rng(0).standard_normal((200_000, 3))
    model = ps.BradleyTerry(1.0).fit(X[:50], np.where(X[:50, 0] > 0, 1, -1))
    selection = ps.select(X, 500, objective="entropy", model=model, max_per_item=3)
    s = np.sort(X @ model.coef_)
    gaps = np.abs((X[selection.pairs[:, 0]] - X[selection.pairs[:, 1]]) @ model.coef_)
    assert np.all(np.diff(gaps) >= -1e-15)
    assert gaps[0] == pytest.approx(np.diff(s).min(), abs=1e-15)
    assert np.bincount(selection.pairs.ravel()).max() <= 3
