"""A-optimality against its definition, by enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairsmith as ps
from support.definitions import (
    SETTINGS,
    assert_attains_the_maximum,
    assert_attains_the_maximum_on_ties,
    information,
    problem,
)
from support.oracle import all_pairs


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_pick_attains_the_maximum(setting):
    assert_attains_the_maximum("a-optimal", setting)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 3))
@settings(max_examples=20)
def test_every_pick_attains_the_maximum_with_ties(seed, d):
    assert_attains_the_maximum_on_ties("a-optimal", seed, d)


def test_gains_are_accurate_after_they_collapse():
    """With k > d and a small ridge, n_e falls by 1e14: subtraction alone would leave no digit."""
    X = problem(0, n=12, d=4)[0]
    selection = ps.select(X, 20, ridge=1e-7, objective="a-optimal")
    chosen = []
    for i, j in selection.pairs.tolist():
        A = information(X, chosen, np.ones(len(chosen)), 1e-7)
        inverse = np.linalg.inv(A)
        gains = {
            (a, b): np.sum((inverse @ (X[a] - X[b])) ** 2) / (1 + (X[a] - X[b]) @ inverse @ (X[a] - X[b]))
            for a, b in all_pairs(12) if (a, b) not in chosen
        }  # fmt: skip
        assert gains[i, j] >= max(gains.values()) * (1 - 1e-5)
        chosen.append((i, j))


def test_a_resumed_run_has_the_gains_of_a_whole_run(tmp_path):
    X = np.random.default_rng(2).standard_normal((30, 4))
    path, options = tmp_path / "run.json", {"objective": "a-optimal", "ridge": 1e-3, "labeled": [1, 2]}
    whole = ps.select(X, 8, **options)
    ps.select(X, 3, checkpoint=path, **options)
    resumed = ps.select(X, 8, checkpoint=path, **options)
    np.testing.assert_array_equal(resumed.pairs, whole.pairs)
    np.testing.assert_allclose(resumed.gains, whole.gains, rtol=1e-6)


def test_too_many_pairs_are_refused_before_any_work():
    X = np.random.default_rng(0).standard_normal((1_000_000, 2))
    with pytest.raises(ValueError, match="objective='a-optimal' needs 8000 GB"):
        ps.select(X, 3, objective="a-optimal")
