import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from pairsmith.model.logistic import auc, auc_of_comparisons, average, minimise


@pytest.mark.parametrize("levels", [3, 1000])
def test_auc_matches_scikit_learn(levels):
    rng = np.random.default_rng(levels)
    y, scores, weights = rng.choice([-1.0, 1.0], 60), rng.integers(levels, size=60) / 7, rng.random(60)
    assert auc(y, scores, weights) == pytest.approx(roc_auc_score(y, scores, sample_weight=weights), abs=1e-13)


def test_auc_of_comparisons_ignores_the_order_within_pairs():
    rng = np.random.default_rng(0)
    outcomes, gaps, weights = rng.choice([-1.0, 1.0], 40), rng.integers(-5, 6, 40) / 3, rng.random(40)
    both = np.concatenate([outcomes, -outcomes]), np.concatenate([gaps, -gaps])
    expected = roc_auc_score(*both, sample_weight=np.tile(weights, 2))
    assert auc_of_comparisons(outcomes, gaps, weights) == pytest.approx(expected, abs=1e-13)
    turned = np.where(np.arange(40) % 3, 1, -1)
    assert auc_of_comparisons(turned * outcomes, turned * gaps, weights) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("mean", [0.0, 0.3, -2.0, 8.0])
@pytest.mark.parametrize("deviation", [0.0, 0.01, 0.39, 0.41, 1.0, 30.0])
def test_averaged_probability_matches_numerical_integration(mean, deviation):
    def density(t):
        return expit(mean + deviation * t) * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)

    step = [-mean / deviation] if deviation else [0.0]
    expected = quad(density, -12, 12, points=np.clip(step, -11, 11), epsabs=1e-13, limit=500)[0]
    assert average(np.array([mean]), np.array([deviation]))[0] == pytest.approx(expected, abs=1e-9)


def test_minimum_does_not_depend_on_the_start():
    rng = np.random.default_rng(0)
    rows, weights = rng.standard_normal((50, 3)), rng.random(50) * (np.arange(50) % 5 > 0)
    y = np.where(rng.random(50) < expit(rows @ [1, -2, 0.5]), 1.0, -1.0)
    beta, factor = minimise(rows, y, weights, 0.3)
    far, _ = minimise(rows, y, weights, 0.3, start=np.array([300.0, 200.0, -400.0]))
    np.testing.assert_allclose(far, beta, rtol=1e-8)
    p = expit(rows @ beta)
    hessian = 0.6 * np.eye(3) + (rows.T * (weights * p * (1 - p))) @ rows
    np.testing.assert_allclose(factor.T @ factor, hessian, rtol=1e-6)  # it may be that of the step before
    np.testing.assert_array_equal(factor, np.triu(factor))


def test_both_factorizations_agree():
    """Large data use another factorization, block by block, and the last block is not always full."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30_001, 90))
    y = np.where(rng.random(len(rows)) < expit(rows[:, 0]), 1.0, -1.0)
    beta, factor = minimise(rows, y, np.ones(len(rows)), 1.0)
    p = expit(rows @ beta)
    hessian = 2 * np.eye(90) + (rows.T * (p * (1 - p))) @ rows
    np.testing.assert_allclose(factor.T @ factor, hessian, rtol=1e-6, atol=1e-6 * hessian.max())


def test_minimise_without_data_returns_the_prior():
    beta, factor = minimise(np.ones((2, 3)), np.ones(2), np.zeros(2), 0.5)
    np.testing.assert_array_equal(beta, np.zeros(3))
    np.testing.assert_allclose(factor, np.eye(3))
