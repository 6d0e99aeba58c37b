import numpy as np
import pytest

from pairsmith.model.evidence import Answers
from pairsmith.model.posterior import (
    GapSpacePosterior,
    Posterior,
    Prior,
    ScoreSpacePosterior,
    Sites,
    WeightSpacePosterior,
)


@pytest.mark.parametrize(("p", "effects"), [(0, 0.7), (0, 1e4), (3, 0.0), (3, 0.7), (3, 1e4)])
def test_the_posterior_of_sites_is_that_of_the_dense_formula(p, effects):
    rng = np.random.default_rng(1)
    n = 12
    variances = np.full(n, effects)
    variances[-1] = 4.0
    prior = Prior(rng.standard_normal((n, p)), variances)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(40)])
    answers = Answers(*pairs.T, *np.ones((3, 40)), np.zeros(40))
    sites = Sites(rng.uniform(0.01, 1, 40), rng.standard_normal(40))
    found = WeightSpacePosterior.from_sites(prior, answers, sites)
    B = np.zeros((40, n))
    B[np.arange(40), pairs[:, 0]], B[np.arange(40), pairs[:, 1]] = 1, -1
    K = prior.features @ prior.features.T + np.diag(variances)
    L = B.T @ np.diag(sites.tau) @ B
    covariance = np.linalg.solve(np.eye(n) + K @ L, K)
    np.testing.assert_allclose(found.effects + found.features @ found.features.T, covariance, atol=1e-8 * K.max())
    np.testing.assert_allclose(found.mean, covariance @ B.T @ sites.nu, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(K @ found.pull, found.mean, rtol=1e-6, atol=1e-6)
    assert found.logdet == pytest.approx(np.linalg.slogdet(np.eye(n) + K @ L)[1], rel=1e-9)
    mean, variance = found.gaps(answers)
    np.testing.assert_allclose(mean, B @ found.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(variance, np.einsum("ea,ab,eb->e", B, covariance, B), rtol=1e-6)
    gaps = GapSpacePosterior.from_sites(B @ K @ B.T, sites)
    np.testing.assert_allclose(gaps.mean, mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gaps.variance, variance, rtol=1e-6)
    np.testing.assert_allclose(B @ K @ B.T @ gaps.pull, mean, rtol=1e-6, atol=1e-6)
    assert gaps.logdet == pytest.approx(found.logdet, rel=1e-9)
    taken = np.linalg.inv(np.diag(1 / sites.tau) + B @ K @ B.T)
    np.testing.assert_allclose(gaps.downdate(), taken, atol=1e-9, rtol=1e-6)
    if effects:  # else K has no inverse
        scores = ScoreSpacePosterior.from_sites(np.linalg.inv(K), np.linalg.slogdet(K)[1], answers, sites)
        np.testing.assert_allclose(scores.covariance, covariance, atol=1e-8 * K.max())
        np.testing.assert_allclose(np.column_stack(scores.gaps(answers)), np.column_stack([mean, variance]), rtol=1e-6)
        np.testing.assert_allclose(K @ scores.pull, scores.mean, rtol=1e-6, atol=1e-6)
        assert scores.logdet == pytest.approx(found.logdet, rel=1e-9)
        np.testing.assert_allclose(scores.downdate(), B.T @ taken @ B, atol=1e-9, rtol=1e-6)


def test_sites_that_tell_hardly_anything_leave_the_variance_as_the_others_tell_it():
    rng = np.random.default_rng(2)
    half = rng.standard_normal((6, 8))
    G, tau = half @ half.T, np.array([1e-9, 0.5, 1e-8, 2.0, 0.1, 1.0])
    found = GapSpacePosterior.from_sites(G, Sites(tau, rng.standard_normal(6)))
    np.testing.assert_allclose(found.variance, np.diag(np.linalg.inv(np.linalg.inv(G) + np.diag(tau))), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 511, 1700])  # the last by eliminating items
def test_the_covariance_of_effects_is_symmetric_and_an_inverse(n):
    rng = np.random.default_rng(3)
    pairs = rng.integers(n, size=(2 * n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    answers = Answers(*pairs.T, *np.ones((3, len(pairs))), np.zeros(len(pairs)))
    sites = Sites(rng.uniform(0.1, 1, len(pairs)), np.zeros(len(pairs)))
    found = WeightSpacePosterior.from_sites(Prior(np.zeros((n, 0)), np.full(n, 2.0)), answers, sites).effects
    np.testing.assert_array_equal(found, found.T)
    precision = np.eye(n) / 2 + answers.laplacian(sites.tau, n).toarray()
    np.testing.assert_allclose(found @ precision, np.eye(n), atol=1e-10)


@pytest.mark.parametrize(("p", "effects"), [(0, 0.7), (3, 0.0), (3, 0.7), (3, 50.0)])
def test_the_posterior_of_a_few_other_sites_and_items_is_that_from_the_beginning(p, effects):
    rng = np.random.default_rng(4)
    n, kept = 14, np.array([0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 12, 13])  # items 3 and 10 are new
    prior = Prior(rng.standard_normal((n, p)), np.full(n, effects))
    few = np.array([rng.choice(len(kept), 2, replace=False) for _ in range(40)])
    before = Answers(*few.T, *np.ones((3, 40)), np.zeros(40))
    earlier = Sites(rng.uniform(0.1, 1, 40), rng.standard_normal(40))
    pairs = np.vstack([kept[few], [[3, 10], [3, 0], [5, 6]]])
    answers = Answers(*pairs.T, *np.ones((3, 43)), np.zeros(43))
    tau = np.append(earlier.tau, np.zeros(3))
    now = Sites(np.append(tau[:38], rng.uniform(0.1, 1, 5)), rng.standard_normal(43))  # two others have changed, too
    old = WeightSpacePosterior.from_sites(Prior(prior.features[kept], prior.effects[kept]), before, earlier)
    among = old.extended(kept, prior)
    for found, sites in (
        (among, Sites(tau, np.append(earlier.nu, np.zeros(3)))),
        (among.updated(prior, answers, tau, now), now),
        (among.updated(prior, answers, tau, now).updated(prior, answers, now.tau, now), now),
    ):
        expected = WeightSpacePosterior.from_sites(prior, answers, sites)
        for name in ("mean", "effects", "features", "root", "pull"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.graph.toarray(), expected.graph.toarray(), rtol=1e-12)
        assert found.logdet == pytest.approx(expected.logdet, rel=1e-9)


@pytest.fixture
def joint():
    """Seven items, of which four were compared."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4))
    compared = np.array([0, 2, 3, 6])
    own = np.full(7, 0.6)
    own[compared] = 0
    return Posterior(rng.standard_normal(7), 0.7 * rng.standard_normal((7, 3)), own, compared, 0.3 * root @ root.T)


def dense(joint):
    covariance = joint.root @ joint.root.T + np.diag(joint.unseen_variance)
    covariance[np.ix_(joint.compared, joint.compared)] += joint.compared_effects
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
    many = Posterior(
        rng.standard_normal(n), np.zeros((n, 1)), np.full(n, 0.5), np.zeros(0, dtype=int), np.zeros((0, 0))
    )
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
    low, high, among = joint.rank_intervals(np.random.default_rng(4), 0.9, 2)
    ranks = (-drawn(joint)).argsort(axis=1).argsort(axis=1) + 1
    np.testing.assert_allclose(among, (ranks <= 2).mean(axis=0), atol=0.04)
    for item in range(7):
        inside = np.mean((ranks[:, item] >= low[item]) & (ranks[:, item] <= high[item]))
        assert inside > 0.85
    assert joint.rank_intervals(np.random.default_rng(4), 0.9, None)[2] is None


def test_without_its_last_item(joint):
    np.testing.assert_allclose(dense(joint.without_last()), dense(joint)[:6, :6])
