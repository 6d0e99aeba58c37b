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
def test_all_three_forms_match_the_dense_formula(p, effects):
    rng = np.random.default_rng(1)
    n = 12
    variances = np.full(n, effects)
    variances[-1] = 4.0
    prior = Prior(rng.standard_normal((n, p)), variances)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(40)])
    answers = Answers(*pairs.T, *np.ones((3, 40)), np.zeros(40))
    sites = Sites(rng.uniform(0.01, 1, 40), rng.standard_normal(40))
    result = WeightSpacePosterior.from_sites(prior, answers, sites)
    B = np.zeros((40, n))
    B[np.arange(40), pairs[:, 0]], B[np.arange(40), pairs[:, 1]] = 1, -1
    K = prior.features @ prior.features.T + np.diag(variances)
    L = B.T @ np.diag(sites.tau) @ B
    covariance = np.linalg.solve(np.eye(n) + K @ L, K)
    np.testing.assert_allclose(result.effects + result.features @ result.features.T, covariance, atol=1e-8 * K.max())
    np.testing.assert_allclose(result.mean, covariance @ B.T @ sites.nu, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(K @ result.pull, result.mean, rtol=1e-6, atol=1e-6)
    assert result.logdet == pytest.approx(np.linalg.slogdet(np.eye(n) + K @ L)[1], rel=1e-9)
    mean, variance = result.gaps(answers)
    np.testing.assert_allclose(mean, B @ result.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(variance, np.einsum("ea,ab,eb->e", B, covariance, B), rtol=1e-6)
    gaps = GapSpacePosterior.from_sites(B @ K @ B.T, sites)
    np.testing.assert_allclose(gaps.mean, mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gaps.variance, variance, rtol=1e-6)
    np.testing.assert_allclose(B @ K @ B.T @ gaps.pull, mean, rtol=1e-6, atol=1e-6)
    assert gaps.logdet == pytest.approx(result.logdet, rel=1e-9)
    taken = np.linalg.inv(np.diag(1 / sites.tau) + B @ K @ B.T)
    np.testing.assert_allclose(gaps.downdate(), taken, atol=1e-9, rtol=1e-6)
    if effects:  # else K has no inverse
        scores = ScoreSpacePosterior.from_sites(np.linalg.inv(K), np.linalg.slogdet(K)[1], answers, sites)
        np.testing.assert_allclose(scores.covariance, covariance, atol=1e-8 * K.max())
        np.testing.assert_allclose(np.column_stack(scores.gaps(answers)), np.column_stack([mean, variance]), rtol=1e-6)
        np.testing.assert_allclose(K @ scores.pull, scores.mean, rtol=1e-6, atol=1e-6)
        assert scores.logdet == pytest.approx(result.logdet, rel=1e-9)
        np.testing.assert_allclose(scores.downdate(), B.T @ taken @ B, atol=1e-9, rtol=1e-6)


def test_gap_variances_are_accurate_for_tiny_sites():
    rng = np.random.default_rng(2)
    half = rng.standard_normal((6, 8))
    G, tau = half @ half.T, np.array([1e-9, 0.5, 1e-8, 2.0, 0.1, 1.0])
    result = GapSpacePosterior.from_sites(G, Sites(tau, rng.standard_normal(6)))
    np.testing.assert_allclose(result.variance, np.diag(np.linalg.inv(np.linalg.inv(G) + np.diag(tau))), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 511, 1700])  # the last by eliminating items
def test_effect_covariance_is_symmetric_and_an_inverse(n):
    rng = np.random.default_rng(3)
    pairs = rng.integers(n, size=(2 * n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    answers = Answers(*pairs.T, *np.ones((3, len(pairs))), np.zeros(len(pairs)))
    sites = Sites(rng.uniform(0.1, 1, len(pairs)), np.zeros(len(pairs)))
    result = WeightSpacePosterior.from_sites(Prior(np.zeros((n, 0)), np.full(n, 2.0)), answers, sites).effects
    np.testing.assert_array_equal(result, result.T)
    precision = np.eye(n) / 2 + answers.laplacian(sites.tau, n).toarray()
    np.testing.assert_allclose(result @ precision, np.eye(n), atol=1e-10)


@pytest.mark.parametrize(("p", "effects"), [(0, 0.7), (3, 0.0), (3, 0.7), (3, 50.0)])
def test_extended_and_updated_posteriors_match_new_ones(p, effects):
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
    for result, sites in (
        (among, Sites(tau, np.append(earlier.nu, np.zeros(3)))),
        (among.updated(prior, answers, tau, now), now),
        (among.updated(prior, answers, tau, now).updated(prior, answers, now.tau, now), now),
    ):
        expected = WeightSpacePosterior.from_sites(prior, answers, sites)
        for name in ("mean", "effects", "features", "root", "pull"):
            np.testing.assert_allclose(getattr(result, name), getattr(expected, name), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(result.graph.toarray(), expected.graph.toarray(), rtol=1e-12)
        assert result.logdet == pytest.approx(expected.logdet, rel=1e-9)


@pytest.fixture
def posterior():
    """Return the posterior of seven items, four of them compared."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4))
    compared = np.array([0, 2, 3, 6])
    own = np.full(7, 0.6)
    own[compared] = 0
    return Posterior(rng.standard_normal(7), 0.7 * rng.standard_normal((7, 3)), own, compared, 0.3 * root @ root.T)


def dense(posterior):
    covariance = posterior.root @ posterior.root.T + np.diag(posterior.unseen_variance)
    covariance[np.ix_(posterior.compared, posterior.compared)] += posterior.compared_effects
    return covariance


def draw_scores(posterior, count=400_000):
    return np.random.default_rng(1).multivariate_normal(posterior.mean, dense(posterior), size=count)


def test_variances_and_covariances_match_the_dense_matrix(posterior):
    covariance = dense(posterior)
    np.testing.assert_allclose(posterior.variance(), np.diag(covariance))
    rows, columns = np.array([1, 2, 6]), np.array([6, 2, 0, 1])
    np.testing.assert_allclose(posterior.covariance(rows, columns), covariance[np.ix_(rows, columns)])
    i, j = np.triu_indices(7, 1)
    mean, variance = posterior.gaps(i, j)
    np.testing.assert_allclose(mean, posterior.mean[i] - posterior.mean[j])
    np.testing.assert_allclose(variance, np.diag(covariance)[i] + np.diag(covariance)[j] - 2 * covariance[i, j])


def test_draws_have_the_mean_and_covariance(posterior):
    scores = posterior.draws(np.random.default_rng(2), 200_000)
    np.testing.assert_allclose(scores.mean(axis=0), posterior.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(scores.T), dense(posterior), atol=0.04)


def test_doubt_matches_the_share_of_wrong_pairs_in_draws(posterior):
    scores = draw_scores(posterior)
    i, j = np.triu_indices(7, 1)
    wrong = (scores[:, i] > scores[:, j]) != (posterior.mean[i] > posterior.mean[j])
    assert posterior.doubt(np.random.default_rng(0)) == pytest.approx(wrong.mean(), abs=0.002)


def test_doubt_of_many_items_is_estimated_from_a_sample(posterior):
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


def test_reliability_matches_the_known_share_of_variance_in_draws(posterior):
    scores = draw_scores(posterior)
    centred = scores - scores.mean(axis=1, keepdims=True)
    known = np.var(posterior.mean)
    left_open = np.mean((centred - (posterior.mean - posterior.mean.mean())) ** 2)
    assert posterior.reliability() == pytest.approx(known / (known + left_open), abs=0.002)


def test_rank_intervals_and_top_probabilities_match_draws(posterior):
    low, high, among = posterior.rank_intervals(np.random.default_rng(4), 0.9, 2)
    ranks = (-draw_scores(posterior)).argsort(axis=1).argsort(axis=1) + 1
    np.testing.assert_allclose(among, (ranks <= 2).mean(axis=0), atol=0.04)
    for item in range(7):
        inside = np.mean((ranks[:, item] >= low[item]) & (ranks[:, item] <= high[item]))
        assert inside > 0.85
    assert posterior.rank_intervals(np.random.default_rng(4), 0.9, None)[2] is None


def test_without_last_drops_the_last_item(posterior):
    np.testing.assert_allclose(dense(posterior.without_last()), dense(posterior)[:6, :6])
