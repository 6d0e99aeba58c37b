import numpy as np
import pytest

from pairsmith.model.joint import Joint


@pytest.fixture
def joint():
    """Seven items, of which four were compared."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4))
    compared = np.array([0, 2, 3, 6])
    own = np.full(7, 0.6)
    own[compared] = 0
    return Joint(rng.standard_normal(7), 0.7 * rng.standard_normal((7, 3)), own, compared, 0.3 * root @ root.T)


def dense(joint):
    covariance = joint.spread @ joint.spread.T + np.diag(joint.own)
    covariance[np.ix_(joint.compared, joint.compared)] += joint.effects
    return covariance


def drawn(joint, count=400_000):
    return np.random.default_rng(1).multivariate_normal(joint.mean, dense(joint), size=count)


def test_variances_and_covariances_are_those_written_out(joint):
    covariance = dense(joint)
    np.testing.assert_allclose(joint.variance(), np.diag(covariance))
    rows, columns = np.array([1, 2, 6]), np.array([6, 2, 0, 1])
    np.testing.assert_allclose(joint.covariance(rows, columns), covariance[np.ix_(rows, columns)])
    i, j = np.triu_indices(7, 1)
    mean, variance = joint.gaps(i, j)
    np.testing.assert_allclose(mean, joint.mean[i] - joint.mean[j])
    np.testing.assert_allclose(variance, np.diag(covariance)[i] + np.diag(covariance)[j] - 2 * covariance[i, j])


def test_draws_have_that_covariance(joint):
    scores = joint.draws(np.random.default_rng(2), 200_000)
    np.testing.assert_allclose(scores.mean(axis=0), joint.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(scores.T), dense(joint), atol=0.04)


def test_doubt_is_how_often_two_items_stand_in_the_wrong_order(joint):
    scores = drawn(joint)
    i, j = np.triu_indices(7, 1)
    wrong = (scores[:, i] > scores[:, j]) != (joint.mean[i] > joint.mean[j])
    assert joint.doubt(np.random.default_rng(0)) == pytest.approx(wrong.mean(), abs=0.002)


def test_doubt_of_many_items_is_that_of_some(joint):
    n = 4000
    rng = np.random.default_rng(3)
    many = Joint(rng.standard_normal(n), np.zeros((n, 1)), np.full(n, 0.5), np.zeros(0, dtype=int), np.zeros((0, 0)))
    i, j = rng.integers(n, size=(2, 400_000))
    noisy = many.mean + np.sqrt(0.5) * rng.standard_normal((1, n))
    i, j = i[i != j], j[i != j]
    wrong = np.mean((noisy[0, i] > noisy[0, j]) != (many.mean[i] > many.mean[j]))
    assert many.doubt(np.random.default_rng(0)) == pytest.approx(wrong, abs=0.02)


def test_reliability_is_the_squared_correlation_that_the_posterior_expects(joint):
    scores = drawn(joint)
    centred = scores - scores.mean(axis=1, keepdims=True)
    known = np.var(joint.mean)
    left_open = np.mean((centred - (joint.mean - joint.mean.mean())) ** 2)
    assert joint.reliability() == pytest.approx(known / (known + left_open), abs=0.002)


def test_ranks_and_the_top_are_counted_in_the_joint_posterior(joint):
    low, high, among = joint.ranks(np.random.default_rng(4), 0.9, 2)
    ranks = (-drawn(joint)).argsort(axis=1).argsort(axis=1) + 1
    np.testing.assert_allclose(among, (ranks <= 2).mean(axis=0), atol=0.04)
    for item in range(7):
        inside = np.mean((ranks[:, item] >= low[item]) & (ranks[:, item] <= high[item]))
        assert inside > 0.85
    assert joint.ranks(np.random.default_rng(4), 0.9, None)[2] is None


def test_without_its_last_item(joint):
    np.testing.assert_allclose(dense(joint.without_last()), dense(joint)[:6, :6])
