"""Local and averaged D-optimality: weights of answers against their definition."""

import numpy as np
import pytest
from scipy.special import expit

import pairsmith as ps
from pairsmith.criteria import weighted_d_optimal
from pairsmith.criteria.problem import ModelEstimate
from pairsmith.data.features import from_array
from support.definitions import RIDGE, SETTINGS, assert_attains_the_maximum, problem
from support.oracle import all_pairs


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_pick_attains_the_maximum(setting):
    assert_attains_the_maximum("local-d-optimal", setting)


@pytest.mark.slow
@pytest.mark.parametrize("pool_size", [None, 1, 30, 3000])
@pytest.mark.parametrize("steep", [0.0, 1.0, 30.0])
def test_local_d_optimal_at_the_engines_scale(pool_size, steep):
    """Weighted gains, screened: the largest of all pairs in float64, at every step."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 6)) + 5
    model = ps.BradleyTerry(1.0).fit(X, np.where(X @ rng.standard_normal(6) > 0, 1, -1))
    model.coef_ = model.coef_ * steep
    selection = ps.select(
        X, 40, ridge=1e-3, labeled=[3, 7], comparisons=[(0, 1)], objective="local-d-optimal", model=model,
        pool_size=pool_size,
    )  # fmt: skip
    s = X @ model.coef_
    w = expit(s[:, None] - s[None, :]) * expit(s[None, :] - s[:, None])
    own = expit(s) * expit(-s)
    A = 1e-3 * np.eye(6) + (X[[3, 7]].T * own[[3, 7]]) @ X[[3, 7]]
    A += w[0, 1] * np.outer(X[0] - X[1], X[0] - X[1])
    free = np.triu(np.ones((400, 400), dtype=bool), 1)
    free[0, 1] = False
    for (i, j), gain in zip(selection.pairs, selection.gains, strict=True):
        inverse = np.linalg.inv(A)
        r = np.einsum("ia,ab,ib->i", X, inverse, X)
        gains = np.where(free, w * (r[:, None] + r[None, :] - 2 * X @ inverse @ X.T), -np.inf)
        assert gains[i, j] >= gains.max() * (1 - 1e-6)
        assert gain == pytest.approx(np.log1p(gains[i, j]), rel=1e-6)
        A += w[i, j] * np.outer(X[i] - X[j], X[i] - X[j])
        free[i, j] = False


def test_without_a_slope_local_d_optimal_is_d_optimal_with_a_quarter_of_the_weight():
    X, model = problem(0, n=60, d=5, steep=0.0)
    local = ps.select(X, 30, ridge=RIDGE, objective="local-d-optimal", model=model)
    np.testing.assert_array_equal(local.pairs, ps.select(X, 30, ridge=4 * RIDGE).pairs)


def test_averaged_scores_give_the_probabilities_that_the_posterior_gives_on_average():
    """E p over a normal score, by quadrature; its variance by simulation, over pairs of items drawn at random."""
    rng = np.random.default_rng(0)
    X, model = problem(0, n=60, d=5, steep=3.0)
    model.covariance_root_ = 2 * model.covariance_root_
    betas = model.coef_ + rng.standard_normal((4000, 5)) @ model.covariance_root_.T
    drawn = rng.integers(60, size=(3000, 2))
    variance = np.var((X[drawn[:, 0]] - X[drawn[:, 1]]) @ betas.T, axis=1).mean()
    assert variance > 2  # enough for shrinking to matter
    i, j = np.array(all_pairs(60)).T
    gap = (X[i] - X[j]) @ model.coef_
    at, chance = np.polynomial.hermite_e.hermegauss(60)
    averaged = expit(gap[:, None] + np.sqrt(variance) * at) @ (chance / chance.sum())
    scores = weighted_d_optimal.averaged(
        from_array(X), ModelEstimate(model.coef_, model.covariance_root_, X @ model.coef_)
    )
    assert np.abs(expit(scores[i] - scores[j]) - averaged).max() < 0.02  # MacKay's approximation, and the simulation
    assert np.abs(expit(gap) - averaged).max() > 0.05  # without it


def test_averaged_d_optimal_is_local_d_optimal_by_its_scores():
    X, model = problem(0, n=60, d=5)
    estimate = ModelEstimate(model.coef_, model.covariance_root_, X @ model.coef_)
    shrunk = ps.BradleyTerry().fit(X, np.sign(X[:, 0]))
    shrunk.coef_ = np.linalg.lstsq(X, weighted_d_optimal.averaged(from_array(X), estimate))[0]
    averaged = ps.select(X, 30, ridge=RIDGE, objective="averaged-d-optimal", model=model)
    local = ps.select(X, 30, ridge=RIDGE, objective="local-d-optimal", model=shrunk)
    np.testing.assert_array_equal(averaged.pairs, local.pairs)
    np.testing.assert_allclose(averaged.gains, local.gains, rtol=1e-9)


def test_local_d_optimal_is_certified_and_resumed(tmp_path):
    X, model = problem(0, n=60, d=5)
    options = {"ridge": RIDGE, "objective": "local-d-optimal", "model": model}
    whole = ps.select(X, 30, certify=10, **options)
    assert 0.9 < whole.optimality <= 1
    ps.select(X, 11, checkpoint=tmp_path / "run.json", **options)
    went_on = ps.select(X, 30, checkpoint=tmp_path / "run.json", **options)
    np.testing.assert_array_equal(went_on.pairs, whole.pairs)
    with pytest.raises(ValueError, match="model differs"):
        ps.select(X, 30, checkpoint=tmp_path / "run.json", **{**options, "model": problem(1, n=60, d=5)[1]})
    with pytest.raises(ValueError, match="objective differs"):
        ps.select(X, 30, ridge=RIDGE, checkpoint=tmp_path / "run.json")
