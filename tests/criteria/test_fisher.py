"""The Fisher information ratio against its definition, by enumeration and in rational arithmetic."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairsmith as ps
from support.definitions import (
    SETTINGS,
    assert_attains_the_maximum,
    assert_attains_the_maximum_on_ties,
    problem,
    weight,
)
from support.oracle import all_pairs


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_pick_attains_the_maximum(setting):
    assert_attains_the_maximum("fisher", setting)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 3))
@settings(max_examples=20)
def test_every_pick_attains_the_maximum_with_ties(seed, d):
    assert_attains_the_maximum_on_ties("fisher", seed, d)


def exact_ratio(X, weights, pairs, candidates, ridge):
    """Return the Fisher information ratio by its definition, in rational arithmetic."""
    d = X.shape[1]
    rows = [[Fraction(float(value)) for value in row] for row in X]
    vector = {(i, j): [a - b for a, b in zip(rows[i], rows[j], strict=True)] for i, j in candidates}

    def mean(some):
        return [
            [
                sum(Fraction(weights[e]) * vector[e][r] * vector[e][c] for e in some) / len(some)
                + Fraction(ridge) * (r == c)
                for c in range(d)
            ]
            for r in range(d)
        ]

    I_q, I_p = mean(pairs), mean(candidates)
    for p in range(d):  # I_q^-1 I_p by elimination
        for r in range(d):
            if r != p:
                ratio = I_q[r][p] / I_q[p][p]
                I_q[r] = [a - ratio * b for a, b in zip(I_q[r], I_q[p], strict=True)]
                I_p[r] = [a - ratio * b for a, b in zip(I_p[r], I_p[p], strict=True)]
    return -sum(I_p[p][p] / I_q[p][p] for p in range(d))


@pytest.mark.parametrize("scales", [[1.0, 1.0, 1.0], [1.0, 1.0, 1e4], [1e-4, 1.0, 1e4], [1e-6, 1e3, 1e6]])
@pytest.mark.parametrize("ridge", [1e-2, 1e-8])
def test_gains_are_accurate_with_columns_of_any_scale(scales, ridge):
    X, model = problem(4, n=6)
    X = X * scales
    model.coef_ = model.coef_ / scales
    selection = ps.select(X, 3, ridge=ridge, objective="fisher", model=model)
    candidates = all_pairs(6)
    weights = {pair: float(weight(X, model, *pair)) for pair in candidates}
    picked, total = [], 0
    for pair, gain in zip(map(tuple, selection.pairs.tolist()), selection.gains, strict=True):
        ratios = {
            other: exact_ratio(X, weights, [*picked, other], candidates, ridge)
            for other in candidates
            if other not in picked
        }
        assert float(ratios[pair] / max(ratios.values())) == pytest.approx(1, rel=1e-6)
        if picked:
            assert gain == pytest.approx(float(ratios[pair] - total), rel=1e-6)
        picked.append(pair)
        total = ratios[pair]
