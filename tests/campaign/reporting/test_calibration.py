"""Tests of calibration, agreement on shared pairs, AUC intervals, and consistency."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap, norm, wilcoxon

from pairsmith.campaign.reporting import calibration
from pairsmith.campaign.reporting.calibration import (
    Calibration,
    Estimate,
    SharedPairs,
    auc,
    consistency,
    measure_calibration,
    measure_shared_pairs,
    share,
)


def test_calibration_uses_decided_predictions_of_random_pairs():
    predictions = np.array([0.9, 0.2, 0.6, 0.5, np.nan, 0.7] * 10)
    outcomes = np.array([1, 1, 0, 1, 1, -1] * 10, dtype=float)
    is_random = np.ones(60, dtype=bool)
    found = measure_calibration(predictions, outcomes, is_random)
    assert found.agreement.number == 30  # three of each six
    assert found.agreement.value == pytest.approx(1 / 3)
    assert found.expected == pytest.approx((0.9 + 0.8 + 0.7) / 3)
    is_random[:36] = False
    assert measure_calibration(predictions, outcomes, is_random) == Calibration(Estimate(12), None, Estimate(12))


def test_raters_are_compared_with_the_first_rater_of_a_pair():
    """By hand: ben contradicts anna on some of the pairs that she answered first, and zoe agrees with her."""
    rows = []
    for pair in range(10):
        first = 1 if pair % 2 else -1
        rows += [(pair, 20, first, "anna", np.nan), (pair, 20, first, "anna", 0.9), (pair, 20, 0, "eve", 0.9)]
        rows += [(pair, 20, -first if pair % 4 == 0 else first, "ben", 0.8), (pair, 20, first, "zoe", 0.6)]
        rows += [(pair, 21, 1, "anna", 0.9), (pair, 22, 1, "ben", 0.9), (pair, 22, 1, "anna", np.nan)]
    given = pd.DataFrame(rows, columns=["first", "second", "outcome", "rater", "predictions"])
    predictions = given.pop("predictions").to_numpy()
    found = measure_shared_pairs(given, predictions)
    assert found.agreement == share(17, 20)
    assert found.expected == pytest.approx((0.8 + 0.2 + 0.6 + 0.4) / 4)
    few = given["first"] < 9
    assert measure_shared_pairs(given[few], predictions[few]) == SharedPairs(Estimate(18), None)


def test_share_has_the_wilson_interval():
    found = share(30, 40)
    z = norm.ppf(0.975)
    centre, width = (0.75 + z**2 / 80) / (1 + z**2 / 40), z / (1 + z**2 / 40) * np.sqrt(0.75 * 0.25 / 40 + z**2 / 6400)
    assert (found.low, found.high) == (pytest.approx(centre - width), pytest.approx(centre + width))


def test_auc_equals_the_signed_rank_statistic():
    rng = np.random.default_rng(0)
    gaps, outcomes = rng.standard_normal(40) + 0.3, np.where(rng.random(40) < 0.5, 1.0, -1.0)
    ranks = wilcoxon(
        gaps * outcomes, alternative="greater"
    ).statistic  # counts the positive sums of two values, each once
    sums = 2 * ranks - np.sum(gaps * outcomes > 0)
    assert auc(gaps, outcomes).value == pytest.approx(sums / 40**2)


@pytest.mark.parametrize(("shift", "n"), [(0.0, 30), (0.8, 30), (2.0, 25), (0.8, 200)])
def test_auc_interval_covers_the_true_auc(shift, n):
    """If the gaps of preferred items are N(shift, 1), the AUC is P(sum of two > 0)."""
    rng = np.random.default_rng(1)
    truth = norm.cdf(shift * np.sqrt(2))
    found = [auc(rng.standard_normal(n) + shift, np.ones(n)) for _ in range(400)]
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in found)


def test_auc_interval_resembles_the_bootstrap_interval():
    gaps = np.random.default_rng(2).standard_normal(150) + 0.5
    found = auc(gaps, np.ones(150))

    def value(sample):
        return auc(sample, np.ones(len(sample))).value

    ends = bootstrap(
        (gaps,), value, n_resamples=300, vectorized=False, rng=np.random.default_rng(3)
    ).confidence_interval
    assert (found.low, found.high) == (pytest.approx(ends.low, abs=0.03), pytest.approx(ends.high, abs=0.03))


def test_auc_interval_of_perfect_predictions_is_not_a_point():
    found = auc(np.ones(25) + np.arange(25), np.ones(25))
    assert (found.value, found.high) == (1.0, 1.0)
    assert 0.8 < found.low < 1


def answered(count, spread, seed, n=60, linear=0.0):
    """Simulate noisy answers to random pairs of items with five features; `spread` is the scores' deviation."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    truth = spread * rng.standard_normal(n) + linear * X[:, 0]
    i, j = np.triu_indices(n, 1)
    some = rng.choice(len(i), count, replace=False)
    gap = truth[i[some]] - truth[j[some]]
    won = np.where(rng.random(count) < 1 / (1 + np.exp(-gap)), 1, -1)
    given = pd.DataFrame({"first": i[some], "second": j[some], "left": i[some], "outcome": won})
    given = given.assign(elsewhere=False, strength="", rater="a")
    return SimpleNamespace(answers=given, features=pd.DataFrame(X), labels=np.zeros(0), labeled=np.zeros(0, dtype=int))


NOTHING = Calibration(Estimate(0), None, Estimate(0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_coin_flips_are_told_from_honest_answers(seed):
    assert consistency(answered(400, 0.0, seed), NOTHING) == "coins"
    assert consistency(answered(400, 1.0, seed), NOTHING) == "fine"
    assert consistency(answered(400, 0.0, seed, linear=1.0), NOTHING) == "fine"


def test_consistency_needs_no_model_for_few_answers_or_good_predictions(monkeypatch):
    assert consistency(answered(99, 0.0, 0), NOTHING) == "fine"
    monkeypatch.setattr(calibration, "BradleyTerryGP", None)  # any fit would fail
    good = Calibration(Estimate(40, 0.8, 0.65, 0.9), 0.8, Estimate(40, 0.8, 0.65, 0.9))
    assert consistency(answered(400, 0.0, 0), good) == "fine"


@pytest.mark.slow
def test_consistency_is_undecided_when_nothing_shows_yet():
    """A hundred answers about 60 items are too few to tell."""
    assert consistency(answered(100, 0.0, 0), NOTHING) == consistency(answered(100, 0.5, 0), NOTHING) == "open"
