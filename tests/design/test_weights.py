import numpy as np
import pytest
from scipy.special import expit

from pairsmith.design.effects import Effects
from pairsmith.design.weights import AveragedWeights, logistic_weight


def test_the_logistic_weight_is_the_variance_of_an_answer():
    rng = np.random.default_rng(0)
    for score in (-3.0, -0.5, 0.0, 1.0):
        answers = rng.random(400_000) < 1 / (1 + np.exp(-score))
        assert float(logistic_weight(score)) == pytest.approx(answers.var(), abs=0.002)
    assert float(logistic_weight(0.0)) == 0.25


def test_the_logistic_weight_neither_overflows_nor_vanishes_early():
    weights = logistic_weight(np.array([-700.0, 700.0, -5000.0]))
    np.testing.assert_allclose(weights[:2], np.exp(-700.0), rtol=1e-12)
    assert weights[2] == 0


@pytest.fixture
def averaged():
    """Return averaged weights of forty items, three of which are touched."""
    rng = np.random.default_rng(0)
    covariance = np.array([[0.9, 0.3, 0.0], [0.3, 0.8, 0.1], [0.0, 0.1, 0.5]])
    effects = Effects.from_covariance(2.0, 40, np.array([4, 7, 20]), covariance, np.zeros((3, 3)))
    return AveragedWeights(3 * rng.standard_normal(40), rng.standard_normal((40, 3)), effects)


def test_averaged_weights_approximate_the_mean_variance_of_an_answer(averaged):
    """Compare with E p (1 - p) by quadrature, where the variance of a pair is computed by its definition."""
    i, j = np.triu_indices(40, 1)
    variance = np.sum((averaged.Z[i] - averaged.Z[j]) ** 2, axis=1) + averaged.effects.difference_variances(i, j)
    four_seven = np.flatnonzero((i == 4) & (j == 7))[0]
    assert variance[four_seven] == pytest.approx(np.sum((averaged.Z[4] - averaged.Z[7]) ** 2) + 0.9 + 0.8 - 0.6)
    at, chance = np.polynomial.hermite_e.hermegauss(80)
    p = expit((averaged.mean[i] - averaged.mean[j])[:, None] + np.sqrt(variance)[:, None] * at)
    expected = (p * (1 - p)) @ (chance / chance.sum())
    assert np.abs(averaged.of(i, j) - expected).max() < 0.015  # MacKay's approximation
    plain = logistic_weight(averaged.mean[i] - averaged.mean[j])
    assert np.abs(plain - expected).max() > 0.1
    assert averaged.of(4, 7) == averaged.of(np.array([4]), np.array([7]))[0]


@pytest.mark.parametrize("fraction", [1.0, 0.4, 0.01])
def test_weights_by_scores_bound_averaged_gains_from_above(averaged, fraction):
    """Also when d_ij has fallen to a fraction of the variance, a scan by the scores reaches the floor of each gain."""
    i, j = np.triu_indices(40, 1)
    d = fraction * (np.sum((averaged.Z[i] - averaged.Z[j]) ** 2, axis=1) + averaged.effects.difference_variances(i, j))
    gains = averaged.of(i, j) * d
    by_scores = logistic_weight(averaged.scores[i] - averaged.scores[j]) * d
    assert np.all(by_scores >= averaged.min_product(gains))
    np.testing.assert_allclose(averaged.max_gain(averaged.min_product(gains)), gains)
