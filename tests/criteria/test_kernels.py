"""Inner loops of the criterion `order`, against the same computations in NumPy."""

import numpy as np
import pytest
from scipy.special import ndtr

from pairsmith.criteria.kernels import importance, lower_and_find


def covariance(rng, n):
    A = rng.standard_normal((n, n))
    return A @ A.T


@pytest.mark.parametrize("seed", range(3))
def test_the_matrices_are_updated_and_the_largest_gain_is_found(seed):
    rng = np.random.default_rng(seed)
    n = 9
    M, C = covariance(rng, n), covariance(rng, n)
    c, b = 0.1 * rng.standard_normal((2, n))
    weights = np.where(rng.random((n, n)) < 0.4, -1.0, rng.random((n, n)))
    expected_M, expected_C = M - np.outer(c, b) - np.outer(b, c), C - np.outer(c, c)
    gains = np.full((n, n), -np.inf)
    for i in range(n):
        for j in range(i + 1, n):
            e = np.zeros(n)
            e[i], e[j] = 1, -1
            if weights[i, j] >= 0:
                gains[i, j] = 0.5 * (e @ expected_M @ e) * weights[i, j] / (1 + weights[i, j] * (e @ expected_C @ e))
    gain, i, j = lower_and_find(M, C, weights, c, b, np.empty(n))
    assert gain == pytest.approx(gains.max(), rel=1e-12)
    assert gains[i, j] == gains.max()
    above = np.triu_indices(n)
    np.testing.assert_allclose(M[above], expected_M[above])
    np.testing.assert_allclose(C[above], expected_C[above])


def test_the_first_of_equal_gains_is_found_and_none_without_candidates():
    zero, scratch = np.zeros(4), np.empty(4)
    weights = np.ones((4, 4))
    assert lower_and_find(np.eye(4), np.eye(4), weights, zero, zero, scratch)[1:] == (0, 1)
    weights[0] = -1
    assert lower_and_find(np.eye(4), np.eye(4), weights, zero, zero, scratch)[1:] == (1, 2)
    assert lower_and_find(np.eye(4), np.eye(4), np.full((4, 4), -1.0), zero, zero, scratch)[0] == -np.inf


def test_importance_matches_its_definition():
    rng = np.random.default_rng(0)
    mean, C = 3 * rng.standard_normal(6), covariance(rng, 6)
    omega = importance(mean, C)
    for k in range(6):
        for other in range(6):
            v = C[k, k] + C[other, other] - 2 * C[k, other]
            if k == other:
                assert omega[k, other] == 0
                continue
            z = (mean[k] - mean[other]) / np.sqrt(v)
            density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
            assert omega[k, other] == pytest.approx(density**2 / (ndtr(z) * ndtr(-z)) / v, rel=1e-12)
    # The order of two equal scores, or of two that are 40 deviations apart, has nothing left to learn.
    equal = importance(np.array([0.0, 1.0]), np.ones((2, 2)))
    far = importance(np.array([0.0, 40.0]), np.eye(2) / 2)
    assert not equal.any()
    assert 0 <= far.max() < 1e-200
