import numpy as np
import pytest
from scipy.special import expit

from pairsmith.design.effects import Effects
from pairsmith.design.weights import Averaged, logistic_weight


def test_it_is_the_variance_of_an_answer():
    rng = np.random.default_rng(0)
    for score in (-3.0, -0.5, 0.0, 1.0):
        answers = rng.random(400_000) < 1 / (1 + np.exp(-score))
        assert float(logistic_weight(score)) == pytest.approx(answers.var(), abs=0.002)
    assert float(logistic_weight(0.0)) == 0.25


def test_it_neither_overflows_nor_vanishes_early():
    found = logistic_weight(np.array([-700.0, 700.0, -5000.0]))
    np.testing.assert_allclose(found[:2], np.exp(-700.0), rtol=1e-12)
    assert found[2] == 0


@pytest.fixture
def averaged():
    """Forty items, of which three have effects that something is known of."""
    rng = np.random.default_rng(0)
    covariance = np.array([[0.9, 0.3, 0.0], [0.3, 0.8, 0.1], [0.0, 0.1, 0.5]])
    effects = Effects.from_covariance(2.0, 40, np.array([4, 7, 20]), covariance, np.zeros((3, 3)))
    return Averaged(3 * rng.standard_normal(40), rng.standard_normal((40, 3)), effects)


def test_averaged_weights_are_about_the_mean_of_the_variance_of_an_answer(averaged):
    """E p (1 - p) by quadrature, the variance of a pair by its definition."""
    i, j = np.triu_indices(40, 1)
    variance = np.sum((averaged.Z[i] - averaged.Z[j]) ** 2, axis=1) + averaged.effects.between(i, j)
    four_seven = np.flatnonzero((i == 4) & (j == 7))[0]
    assert variance[four_seven] == pytest.approx(np.sum((averaged.Z[4] - averaged.Z[7]) ** 2) + 0.9 + 0.8 - 0.6)
    at, chance = np.polynomial.hermite_e.hermegauss(80)
    p = expit((averaged.mean[i] - averaged.mean[j])[:, None] + np.sqrt(variance)[:, None] * at)
    expected = (p * (1 - p)) @ (chance / chance.sum())
    assert np.abs(averaged.of(i, j) - expected).max() < 0.015  # MacKay's approximation
    plain = logistic_weight(averaged.mean[i] - averaged.mean[j])
    assert np.abs(plain - expected).max() > 0.1
    assert averaged.of(4, 7) == averaged.of(np.array([4]), np.array([7]))[0]


@pytest.mark.parametrize("left", [1.0, 0.4, 0.01])
def test_a_scan_by_scores_misses_no_averaged_gain(averaged, left):
    """Of d_ij that have fallen to a share of the variance, weighed by the scores, against the floor that is needed."""
    i, j = np.triu_indices(40, 1)
    d = left * (np.sum((averaged.Z[i] - averaged.Z[j]) ** 2, axis=1) + averaged.effects.between(i, j))
    gains = averaged.of(i, j) * d
    by_scores = logistic_weight(averaged.scores[i] - averaged.scores[j]) * d
    assert np.all(by_scores >= averaged.least_product(gains))
    np.testing.assert_allclose(averaged.most_gain(averaged.least_product(gains)), gains)
