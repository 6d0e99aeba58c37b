from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

import pairsmith as ps
from pairsmith.model import fitting, prior
from pairsmith.model.evidence import Answers
from pairsmith.model.fitting import THRESHOLD_VARIANCE, _sample_answers, fit_gp, sample_scores
from pairsmith.model.posterior import WeightSpacePosterior
from pairsmith.model.prior import PARTS, FeatureMap
from pairsmith.model.variances import INITIAL_VARIANCES, Evaluation
from support.simulate import scored_answers

imagined = pytest.mark.filterwarnings("ignore:the answers leave")

N, D = 25, 3
X = np.random.default_rng(0).standard_normal((N, D))
MAP = FeatureMap.fit(X, N, np.random.default_rng(0))
LINEAR = MAP.linear(X)
FIXED = {"linear": 1.5, "smooth": 0.8, "items": 0.4}


def answers_of(pairs, seed=0):
    won = (np.random.default_rng(seed).random(len(pairs)) < 0.6).astype(float)
    return Answers(*np.asarray(pairs).T, won, 1 - won, np.ones(len(pairs)), np.zeros(len(pairs)))


def fit(answers, threshold=False, previous=None):
    return fit_gp(LINEAR, MAP, answers, threshold, FIXED, np.random.default_rng(0), previous)


def test_fit_warns_if_propagation_has_not_converged(monkeypatch):
    answers = answers_of([np.random.default_rng(seed).choice(N, 2, replace=False) for seed in range(60)])
    fit(answers)  # without a warning, which would be an error
    monkeypatch.setattr(prior, "propagate", partial(prior.propagate, sweeps=1))
    with pytest.warns(ConvergenceWarning, match="has not settled: a difference of two scores still moves by 0"):
        fit(answers)


def test_posterior_of_any_items_matches_the_dense_formula():
    """The items are compared, not compared or new, and the threshold comes last."""
    rng = np.random.default_rng(1)
    pairs = [*(rng.choice(15, 2, replace=False) for _ in range(30)), (3, N), (7, N)]
    fitted = fit(answers_of(pairs), threshold=True)
    new = MAP.linear(rng.standard_normal((4, D)))
    linear, number = np.vstack([LINEAR[[3, 20, 7]], new]), np.array([3, 20, 7, -1, -1, -1, -1])
    posterior = fitted.joint(fitted.coordinates(linear), number)

    everyone = np.vstack([LINEAR, new])
    smooth = MAP.smooth(everyone, fitted.scale)
    K = FIXED["linear"] * everyone @ everyone.T + FIXED["smooth"] * smooth @ smooth.T
    K += FIXED["items"] * np.eye(len(everyone))
    K = np.block([[K, np.zeros((len(K), 1))], [np.zeros((1, len(K))), np.array([[THRESHOLD_VARIANCE]])]])
    place = np.append(fitted.items, len(K) - 1)
    B = np.zeros((len(fitted.answers), len(K)))
    B[np.arange(len(B)), place[fitted.answers.first]] = 1
    B[np.arange(len(B)), place[fitted.answers.second]] = -1
    L = B.T @ np.diag(fitted.sites.tau) @ B
    covariance = np.linalg.solve(np.eye(len(K)) + K @ L, K)
    mean = covariance @ B.T @ fitted.sites.nu
    wanted = np.array([3, 20, 7, N, N + 1, N + 2, N + 3, N + 4])
    np.testing.assert_allclose(posterior.mean, mean[wanted], atol=1e-8)
    every = np.arange(8)
    np.testing.assert_allclose(posterior.covariance(every, every), covariance[np.ix_(wanted, wanted)], atol=1e-8)


def test_warm_and_cold_fits_agree():
    rng = np.random.default_rng(2)
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(60)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    first, both = answers_of(pairs[:30]), answers_of(pairs)
    both.won[:30], both.lost[:30] = first.won, first.lost
    again = fit(both, previous=fit(first))
    cold = fit(both)
    np.testing.assert_allclose(again.posterior.mean, cold.posterior.mean, atol=2e-3)
    assert again.evidence == pytest.approx(cold.evidence, abs=1e-3)


def test_few_new_answers_update_the_earlier_posterior(monkeypatch):
    rng = np.random.default_rng(3)
    pairs = rng.permutation(np.column_stack(np.triu_indices(N, 1)))
    pairs = np.vstack([pairs[(pairs != 4).all(axis=1)], [[4, 9]]])  # only the last answer is about item 4
    updates = []
    monkeypatch.setattr(fitting, "cheapest_form", lambda parts, _answers: parts)  # as it is where items are many
    monkeypatch.setattr(
        WeightSpacePosterior,
        "updated",
        lambda self, *given, move=WeightSpacePosterior.updated: updates.append(move(self, *given)) or updates[-1],
    )
    both = answers_of(pairs)
    first = both.part(np.arange(len(pairs) - 2))
    label = answers_of([(0, N)])
    for before, after in ((first, both), (first.joined(label), both.joined(label))):
        threshold = len(after) > len(both)
        previous = fit(before, threshold)
        updates.clear()
        again, cold = fit(after, threshold, previous), fit(after, threshold)
        assert updates
        np.testing.assert_allclose(again.posterior.mean, cold.posterior.mean, atol=2e-3)
        np.testing.assert_allclose(again.posterior.effects, cold.posterior.effects, atol=2e-3)
        assert again.evidence == pytest.approx(cold.evidence, abs=1e-3)
        # Where answers are gone, there is no posterior to go on from.
        updates.clear()
        fewer = before.part(np.arange(5, len(before)))
        again, cold = fit(fewer, threshold, previous), fit(fewer, threshold)
        assert not updates
        np.testing.assert_allclose(again.posterior.mean, cold.posterior.mean, atol=2e-3)


@pytest.mark.parametrize(
    ("n", "count", "items", "answers"),
    [
        (2000, 20_000, (1000, 1000), (4500, 5500)),  # 1,000 items have answers enough
        (5000, 10_000, (1100, 1200), (1000, 1010)),  # it takes more items to have 1,000 answers
        (300, 20_000, (205, 220), (10_000, 10_200)),  # few items that gave too many
    ],
)
def test_sample_of_answers_keeps_items_that_meet_often(n, count, items, answers):
    rng = np.random.default_rng(3)
    first = rng.integers(n, size=count)
    pairs = np.column_stack([first, (first + rng.integers(1, n, size=count)) % n])
    linear, some, threshold = _sample_answers(np.zeros((n, 1)), answers_of(pairs), False, rng)
    assert items[0] <= len(linear) <= items[1]
    assert answers[0] <= len(some) <= answers[1]
    assert not threshold
    often = np.bincount(np.concatenate([some.first, some.second]))
    assert len(often) == len(linear)
    assert often.mean() > 2 * len(some) / n  # so often an item would be in as many answers drawn at random


def test_variances_use_all_answers_about_few_items():
    """Without features only a sample would depend on the random numbers."""
    rng = np.random.default_rng(4)
    first = rng.integers(80, size=1500)
    pairs = np.column_stack([first, (first + rng.integers(1, 80, size=1500)) % 80])
    outcomes = rng.choice([-1, 1], 1500)
    one, other = (
        ps.BradleyTerryGP(random_state=seed).fit(n_items=80, comparisons=pairs, outcomes=outcomes) for seed in (0, 1)
    )
    assert one.variances_ == other.variances_


def test_doubt_is_calibrated_after_thousands_of_designed_answers():
    """Designed answers make sense together with the earlier ones; in a sample they look like noise."""
    n, claimed, wrong = 100, [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = 1.5 * rng.standard_normal(n)
        model = ps.BradleyTerryGP(warm_start=True)
        pairs, outcomes = np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int)
        while len(pairs) < 2000:
            model.fit(n_items=n, **({"comparisons": pairs, "outcomes": outcomes} if len(pairs) else {}))
            more = ps.select(None, 100, model=model, comparisons=pairs).pairs
            gaps = scores[more[:, 0]] - scores[more[:, 1]]
            pairs = np.vstack([pairs, more])
            outcomes = np.append(outcomes, np.where(rng.random(100) < expit(gaps), 1, -1))
        model.fit(n_items=n, comparisons=pairs, outcomes=outcomes)
        found, i, j = model.decision_function(), *np.triu_indices(n, 1)
        claimed.append(model.doubt_)
        wrong.append(np.mean((found[i] - found[j]) * (scores[i] - scores[j]) < 0))
    assert np.mean(claimed) == pytest.approx(np.mean(wrong), rel=0.15)


def test_search_escapes_a_length_scale_that_takes_curved_scores_for_noise(monkeypatch):
    """The pairs have close scores, so at all but the right length scale their answers look like coin flips."""
    n, count, near, rng = 100, 200, 40, np.random.default_rng(9)
    X = rng.uniform(-3, 3, (n, 2))
    scores = 3 * np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    order, low = np.argsort(scores), rng.integers(0, n - near, count)
    pairs = np.column_stack([order[low], order[low + rng.integers(1, near + 1, count)]])
    turned = rng.random(count) < 0.5
    pairs[turned] = pairs[turned][:, ::-1]
    outcomes = np.where(rng.random(count) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), 1, -1)

    def evidence(**start):
        monkeypatch.setattr(fitting, "INITIAL_VARIANCES", start or INITIAL_VARIANCES)
        return ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes).evidence_

    assert evidence() > evidence(linear=0.6, smooth=25.0, items=0.4) - 0.5


def test_search_restarts_at_every_length_scale_if_all_looks_like_noise(monkeypatch):
    """The densities are from 800 designed answers that a fit took for noise, also at the right scale, 0.1."""
    noise, right = dict.fromkeys(PARTS, 0.003), {"linear": 0.5, "smooth": 7.0, "items": 0.04}

    def evaluated(scale, _answers, variances, _sites=None):
        worth = -553.6 if variances == right else -559.2 if variances == noise else -559.5 if scale == 0.1 else -579.0
        return Evaluation(variances, SimpleNamespace(evidence=worth + 4.5, sites=None), worth)

    def maximise_evidence(scale, answers, start, _free, sites=None):
        return evaluated(scale, answers, right if (scale, start) == (0.1, INITIAL_VARIANCES) else noise)

    monkeypatch.setattr(fitting, "weight_space_parts", lambda *arguments: arguments[-1])
    monkeypatch.setattr(fitting, "cheapest_form", lambda scale, _answers: scale)
    monkeypatch.setattr(fitting, "evaluate", evaluated)
    monkeypatch.setattr(fitting, "maximise_evidence", maximise_evidence)
    answers = answers_of(np.random.default_rng(0).integers(0, N, (800, 2)))
    found, scale, _ = fitting._learn_variances(LINEAR, MAP, answers, False, {}, np.random.default_rng(0))
    assert (found, scale) == (right, 0.1)


def test_doubt_stays_large_if_designed_answers_are_coin_flips():
    """Either answer to a designed pair is about equally likely, so the prior decides how much scores vary."""
    doubts = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        features, pairs, outcomes = rng.standard_normal((60, 4)), np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int)
        gp = ps.BradleyTerryGP(warm_start=True).fit(features)
        for _ in range(6):
            asked = {"comparisons": pairs} if len(pairs) else {}
            pairs = np.vstack([pairs, ps.select(features, 20, model=gp, **asked).pairs])
            outcomes = np.append(outcomes, rng.choice([-1, 1], 20))
            gp.fit(features, comparisons=pairs, outcomes=outcomes)
        doubts.append(gp.doubt_)
    # The truth is a half. It is 0.30, and was 0.20 when each part had a prior of its own.
    assert np.mean(doubts) > 0.27


def test_length_scale_changes_only_with_enough_answers():
    """Twelve answers hardly inform the length scale; 600 show that the function is rougher than usual."""
    rng = np.random.default_rng(0)
    features = np.sort(rng.uniform(0, 1, (60, 1)), axis=0)
    scores = 4 * np.sin(20 * features[:, 0])
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(600)])
    outcomes = np.where(rng.random(600) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), 1, -1)
    for count, scale in ((12, 0.3), (600, 0.1)):
        model = ps.BradleyTerryGP(warm_start=True)  # so that nothing is said of islands
        model.fit(features, comparisons=pairs[:count], outcomes=outcomes[:count])
        assert model.variances_["scale"] == scale


@imagined
def test_sampled_scores_follow_the_posterior_if_variances_are_fixed():
    X, _, pairs, outcomes = scored_answers(0, n=8, count=40)
    model = ps.BradleyTerryGP(linear=2.0, smooth=False, items=1.0).fit(X, comparisons=pairs, outcomes=outcomes)
    scores = model.imagined(X, np.random.default_rng(0), 20_000)
    mean, error = model.rank(X).sort_index()[["score", "error"]].to_numpy().T
    np.testing.assert_allclose(scores.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(scores.std(axis=0), error, rtol=0.03)
    linear, number, _ = model.placed(X)
    posterior = model.fitted_.joint(model.fitted_.coordinates(linear), number)
    _, variance = posterior.gaps(np.array([0]), np.array([1]))  # together, not each for itself
    assert np.std(scores[:, 0] - scores[:, 1]) == pytest.approx(np.sqrt(variance[0]), rel=0.03)


@imagined
def test_unknown_variances_widen_the_sampled_scores():
    """The spread of the scores varies more between draws than with known variances."""
    _, _, pairs, outcomes = scored_answers(2, n=30, count=60, linear=0.0, items=2.0)
    model = ps.BradleyTerryGP().fit(n_items=30, comparisons=pairs, outcomes=outcomes)
    linear = model.placed()[0]
    apart = [
        np.std(np.log(sample_scores(model.fitted_, linear, free, np.random.default_rng(0), 40).std(axis=1)))
        for free in (("items",), ())
    ]
    assert apart[0] > 1.2 * apart[1]
