"""Mutual information against its definition, by enumerating all outcomes, or their number if pairs are alike."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, norm

import pairsmith as ps
from pairsmith.criteria import mutual_information as information
from support.oracle import all_pairs


def problem(seed, n, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, ps.BradleyTerry(1.0).fit(X, np.where(X @ rng.standard_normal(d) > 0, 1, -1))


def mutual_information(pairs, scores):
    """Return I(beta; Y_S) by enumerating all outcomes, with beta uniform over the columns of scores."""
    p = np.array([expit(scores[i] - scores[j]) for i, j in pairs])
    total = 0.0
    for outcome in product([0, 1], repeat=len(pairs)):
        each = np.prod(np.where(np.array(outcome)[:, None] == 1, p, 1 - p), axis=0)
        total -= each.mean() * np.log(each.mean())
    return total + np.mean(np.sum(p * np.log(p) + (1 - p) * np.log(1 - p), axis=0))


@pytest.mark.parametrize("options", [{}, {"max_per_item": 1}, {"candidates": ps.WithinGroups([0, 1, 0, 1, 0, 1, 1])}])
def test_gains_match_the_enumeration_of_all_outcomes(options, monkeypatch):
    monkeypatch.setattr(information, "_POSTERIOR_SAMPLES", 200)
    X, model = problem(0, n=7)
    kept = {}
    draw = information._sample_scores

    def samples(*given):
        kept.setdefault("scores", draw(*given))
        return kept["scores"]

    monkeypatch.setattr(information, "_sample_scores", samples)
    selection = ps.select(X, 3, objective="mutual-information", model=model, random_state=0, **options)
    centred = kept["scores"]
    groups, cap = options.get("candidates"), options.get("max_per_item")
    chosen = []
    for (i, j), gain in zip(selection.pairs.tolist(), selection.gains, strict=True):
        used = [item for pair in chosen for item in pair]
        gains = {
            pair: mutual_information([*chosen, pair], centred) - (mutual_information(chosen, centred) if chosen else 0)
            for pair in all_pairs(7)
            if pair not in chosen
            and (groups is None or groups.codes[pair[0]] == groups.codes[pair[1]])
            and (cap is None or not set(pair) & set(used))
        }
        assert gains[i, j] >= max(gains.values()) - 1e-10
        assert gain == pytest.approx(gains[i, j], abs=1e-10)
        chosen.append((i, j))
    assert selection.diagnostics["objective"] == pytest.approx(selection.gains.sum(), abs=1e-9)


def test_the_simulated_objective_matches_the_enumeration(monkeypatch):
    """Simulated worlds give the objective within its Monte Carlo error."""
    X, model = problem(0, n=12, d=4)
    exact = ps.select(X, 8, objective="mutual-information", model=model, random_state=0)
    monkeypatch.setattr(information, "_MAX_OUTCOMES", 16)
    drawn = ps.select(X, 8, objective="mutual-information", model=model, random_state=0)
    scores = information._sample_scores(X, model.coef_, model.covariance_root_, 4000, np.random.default_rng(5))
    for selection in (exact, drawn):
        objective, error = selection.diagnostics["objective"], selection.diagnostics["objective_error"]
        assert 0 < error < 0.1
        assert abs(objective - mutual_information(selection.pairs, scores)) < 5 * error + 0.02
    again = ps.select(X, 8, objective="mutual-information", model=model, random_state=0)
    np.testing.assert_array_equal(again.pairs, drawn.pairs)


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (0.5, 4.0), (-2.0, 20.0)])
def test_many_answers_to_the_same_question_match_the_binomial_distribution(mean, deviation):
    """With six items at 0 and seven at 1, 42 pairs ask the same, so only the number of wins matters."""
    X = np.repeat([[0.0], [1.0]], [6, 7], axis=0)
    model = ps.BradleyTerry().fit(X, comparisons=[(0, 8)], outcomes=[1])
    model.coef_, model.covariance_root_ = np.array([mean]), np.array([[deviation]])
    k = 40
    selection = ps.select(X, k, objective="mutual-information", model=model, random_state=0)
    assert np.all(X[selection.pairs[:, 0], 0] != X[selection.pairs[:, 1], 0])  # other pairs give no information
    beta = mean + deviation * np.linspace(-8, 8, 20001)
    prior = norm.pdf(beta, mean, deviation) * (beta[1] - beta[0])
    chance = binom.pmf(np.arange(k + 1)[:, None], k, expit(beta))
    marginal = chance @ prior
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.where(chance > 0, chance * np.log(chance / marginal[:, None]), 0)
    exact = float((kept @ prior).sum())
    objective, error = selection.diagnostics["objective"], selection.diagnostics["objective_error"]
    assert abs(objective - exact) < 4 * error + 0.01
    assert 0 < error < 0.05 * exact
    assert selection.gains.sum() == pytest.approx(exact, rel=0.1)


@pytest.mark.slow
def test_the_objective_may_exceed_what_samples_can_distinguish():
    """1024 samples have an entropy of log 1024 nats, and 50 answers about 20 coefficients give more."""
    X = np.random.default_rng(0).standard_normal((25, 20))
    model = ps.BradleyTerry(0.05).fit(X, comparisons=[(0, 1)], outcomes=[1])
    some = ps.PairList(all_pairs(25)[::5])
    selection = ps.select(X, 50, objective="mutual-information", model=model, candidates=some, random_state=0)
    assert selection.diagnostics["objective"] > 1.5 * np.log(1024)
    # No answer gives more than one with Gaussian noise and the largest weight, 1/4.
    Z = (X[selection.pairs[:, 0]] - X[selection.pairs[:, 1]]) @ model.covariance_root_
    assert selection.diagnostics["objective"] < np.linalg.slogdet(np.eye(20) + Z.T @ Z / 4)[1] / 2
    assert np.all(np.diff(selection.gains.reshape(-1, 10).mean(axis=1)) < 0.02)  # they fall, except for noise


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e5, 1e10, 1e100])
def test_scores_of_any_size_are_handled_with_a_warning(scale):
    """With features of 1e10 Hessians have no Cholesky factor, and with 1e100 Newton's method does not converge."""
    X = np.random.default_rng(0).standard_normal((10, 3)) * scale
    model = ps.BradleyTerry(1.0).fit(X, comparisons=[(0, 1), (2, 3)], outcomes=[1, -1])
    model.coef_, model.covariance_root_ = np.zeros(3), np.eye(3)
    with pytest.warns(UserWarning, match="the model leaves scores open by"):
        selection = ps.select(X, 15, objective="mutual-information", model=model)
    assert len(np.unique(selection.pairs, axis=0)) == 15
    assert np.all(np.isfinite(selection.gains))
    assert selection.gains[0] == pytest.approx(np.log(2), abs=1e-3)  # one bit: nothing is known about the answer


def test_without_a_seed_the_result_is_repeatable():
    X = np.random.default_rng(1).standard_normal((40, 3))
    model = ps.BradleyTerry(1.0).fit(X, comparisons=[(0, 1), (2, 3)], outcomes=[1, -1])
    one, two = (ps.select(X, 6, objective="mutual-information", model=model) for _ in range(2))
    np.testing.assert_array_equal(one.pairs, two.pairs)
    np.testing.assert_array_equal(one.gains, two.gains)
