"""The certificate against the true optimum, which is found by trying every set of k pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairsmith as ps
from support.oracle import all_pairs


def optimum(X, k, ridge, candidates, labeled=(), compared=()):
    """Return the largest f(S) - f(empty) over all sets of k candidates that have not been compared."""
    A = ridge * np.eye(X.shape[1]) + X[list(labeled)].T @ X[list(labeled)]
    for i, j in compared:
        A += np.outer(X[i] - X[j], X[i] - X[j])
    outer = {(i, j): np.outer(X[i] - X[j], X[i] - X[j]) for i, j in candidates}
    for pair in compared:
        outer.pop(tuple(pair), None)
    best = max(np.linalg.slogdet(A + sum(chosen))[1] for chosen in combinations(outer.values(), k))
    return best - np.linalg.slogdet(A)[1]


CASES = {
    "all pairs": {},
    "labelled": {"labeled": [0, 2]},
    "compared": {"comparisons": [(0, 1), (2, 5)]},
    "groups": {"candidates": ps.WithinGroups([0, 0, 0, 0, 1, 1])},
    "a list": {"candidates": [(0, 1), (0, 2), (1, 5), (3, 4), (2, 3), (4, 5)]},
}


def candidate_pairs(n, options):
    allowed = options.get("candidates")
    if isinstance(allowed, ps.WithinGroups):
        return [(i, j) for i, j in all_pairs(n) if allowed.codes[i] == allowed.codes[j]]
    return all_pairs(n) if allowed is None else allowed


@pytest.mark.parametrize("refinements", [True, 1, 8])
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("case", CASES)
def test_the_bound_is_never_below_the_optimum(case, k, refinements):
    options = CASES[case]
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal((6, 1 + seed))
        true = optimum(
            X, k, 0.3, candidate_pairs(6, options), options.get("labeled", ()), options.get("comparisons", ())
        )
        selection = ps.select(X, k, ridge=0.3, certify=refinements, **options)
        assert selection.bound >= true
        assert selection.gains.sum() <= true + 1e-9
        assert selection.optimality == pytest.approx(selection.gains.sum() / selection.bound)
        assert 1 - np.exp(-1) <= selection.optimality <= 1


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 4),
    k=st.integers(1, 4),
    exponent=st.integers(-8, 4),
    refinements=st.sampled_from([True, 3]),
)
def test_the_bound_is_never_below_the_optimum_with_ties(seed, d, k, exponent, refinements):
    X = np.random.default_rng(seed).integers(-1, 2, (5, d)).astype(float)
    selection = ps.select(X, k, ridge=10.0**exponent, certify=refinements)
    assert selection.bound >= optimum(X, k, 10.0**exponent, all_pairs(5)) * (1 - 1e-12)


@pytest.mark.parametrize("options", [{"objective": "random", "random_state": 0}, {"max_per_item": 1}])
def test_the_bound_holds_for_picks_that_are_not_greedy(options):
    X = np.random.default_rng(3).standard_normal((6, 3))
    selection = ps.select(X, 3, ridge=0.1, certify=5, **options)
    assert selection.bound >= optimum(X, 3, 0.1, all_pairs(6))


def test_all_algorithms_get_the_same_bound():
    X = np.random.default_rng(0).standard_normal((40, 5))
    bounds = [ps.select(X, 20, certify=True, algorithm=name).bound for name in ("engine", "naive", "scalar-lazy")]
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-6)


def test_refinements_tighten_a_tight_bound():
    X = np.random.default_rng(0).standard_normal((1500, 10))
    once, more = (ps.select(X, 50, certify=certify) for certify in (True, 20))
    assert once.optimality > 0.97
    assert more.optimality > max(once.optimality, 0.99)
    assert ps.select(X, 50).bound is None


@pytest.mark.parametrize("certify", [-1, 1.5, "yes", None])
def test_certify_must_be_a_number_of_refinements(certify):
    with pytest.raises(ValueError, match="certify must be True, False or a number of refinements"):
        ps.select(np.eye(3), 1, certify=certify)


def test_the_bound_holds_with_duplicate_items_and_with_all_pairs():
    """Gains are 0, which rounding could make negative, and k is up to all candidates."""
    X = np.random.default_rng(0).standard_normal((5, 3))[[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]
    for k in (10, 30, 45):
        for certify in (True, 3):
            selection = ps.select(X, k, ridge=1.0, certify=certify)
            assert 0.6 < selection.optimality <= 1
    assert ps.select(X, 45, ridge=1.0, certify=True).optimality == pytest.approx(1)
    X = np.random.default_rng(1).integers(0, 2, (6, 3)).astype(float)
    for k in (2, 3, 12):
        assert ps.select(X, k, ridge=0.1, certify=2).bound >= optimum(X, k, 0.1, all_pairs(6))


def test_optimality_is_1_if_no_pair_adds_anything():
    assert ps.select(np.ones((4, 2)), 2, ridge=1.0, certify=True).optimality == 1
    assert ps.select(np.eye(4), 2, ridge=1e10, certify=True).optimality > 0.99
