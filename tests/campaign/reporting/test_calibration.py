"""Whether the model's figures are true, against what is known."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap, norm, wilcoxon

from pairsmith.campaign.reporting import calibration as yardstick
from pairsmith.campaign.reporting.calibration import (
    Measured,
    SharedPairs,
    Yardstick,
    auc,
    consistency,
    measure,
    measure_shared,
    share,
)


def test_of_random_pairs_only_and_of_none_that_is_undecided():
    foretold = np.array([0.9, 0.2, 0.6, 0.5, np.nan, 0.7] * 10)
    outcomes = np.array([1, 1, 0, 1, 1, -1] * 10, dtype=float)
    random = np.ones(60, dtype=bool)
    found = measure(foretold, outcomes, random)
    assert found.agreement.number == 30  # of each six: two that are decided and foretold, and one more
    assert found.agreement.value == pytest.approx(1 / 3)
    assert found.expected == pytest.approx((0.9 + 0.8 + 0.7) / 3)
    random[:36] = False
    assert measure(foretold, outcomes, random) == Yardstick(Measured(12), None, Measured(12))


def test_raters_are_compared_with_the_first_of_a_pair():
    """By hand: of the pairs that anna answered first ben contradicts her on one in four; zoe agrees with her."""
    rows = []
    for pair in range(10):
        first = 1 if pair % 2 else -1
        rows += [(pair, 20, first, "anna", np.nan), (pair, 20, first, "anna", 0.9), (pair, 20, 0, "eve", 0.9)]
        rows += [(pair, 20, -first if pair % 4 == 0 else first, "ben", 0.8), (pair, 20, first, "zoe", 0.6)]
        rows += [(pair, 21, 1, "anna", 0.9), (pair, 22, 1, "ben", 0.9), (pair, 22, 1, "anna", np.nan)]
    given = pd.DataFrame(rows, columns=["first", "second", "outcome", "rater", "foretold"])
    foretold = given.pop("foretold").to_numpy()
    found = measure_shared(given, foretold)
    assert found.agreement == share(17, 20)
    assert found.expected == pytest.approx((0.8 + 0.2 + 0.6 + 0.4) / 4)
    few = given["first"] < 9
    assert measure_shared(given[few], foretold[few]) == SharedPairs(Measured(18), None)


def test_the_interval_of_a_share_is_wilsons():
    found = share(30, 40)
    z = norm.ppf(0.975)
    centre, width = (0.75 + z**2 / 80) / (1 + z**2 / 40), z / (1 + z**2 / 40) * np.sqrt(0.75 * 0.25 / 40 + z**2 / 6400)
    assert (found.low, found.high) == (pytest.approx(centre - width), pytest.approx(centre + width))


def test_the_auc_is_a_signed_rank_statistic():
    rng = np.random.default_rng(0)
    gaps, outcomes = rng.standard_normal(40) + 0.3, np.where(rng.random(40) < 0.5, 1.0, -1.0)
    ranks = wilcoxon(gaps * outcomes, alternative="greater").statistic  # of sums of two, each once, that are positive
    sums = 2 * ranks - np.sum(gaps * outcomes > 0)
    assert auc(gaps, outcomes).value == pytest.approx(sums / 40**2)


@pytest.mark.parametrize(("shift", "n"), [(0.0, 30), (0.8, 30), (2.0, 25), (0.8, 200)])
def test_the_interval_of_an_auc_covers_it(shift, n):
    """Gaps of the preferred item are N(shift, 1): then the AUC is P(sum of two > 0)."""
    rng = np.random.default_rng(1)
    truth = norm.cdf(shift * np.sqrt(2))
    found = [auc(rng.standard_normal(n) + shift, np.ones(n)) for _ in range(400)]
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in found)


def test_the_interval_of_an_auc_is_about_that_of_the_bootstrap():
    gaps = np.random.default_rng(2).standard_normal(150) + 0.5
    found = auc(gaps, np.ones(150))

    def value(sample):
        return auc(sample, np.ones(len(sample))).value

    ends = bootstrap(
        (gaps,), value, n_resamples=300, vectorized=False, rng=np.random.default_rng(3)
    ).confidence_interval
    assert (found.low, found.high) == (pytest.approx(ends.low, abs=0.03), pytest.approx(ends.high, abs=0.03))


def test_all_right_is_not_certainty():
    found = auc(np.ones(25) + np.arange(25), np.ones(25))
    assert (found.value, found.high) == (1.0, 1.0)
    assert 0.8 < found.low < 1


def answered(count, spread, seed, n=60, linear=0.0):
    """Answers to random pairs of items with five features: scores have this standard deviation, and people err."""
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


NOTHING = Yardstick(Measured(0), None, Measured(0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_coin_flips_are_told_and_honest_answers_are_not(seed):
    assert consistency(answered(400, 0.0, seed), NOTHING) == "coins"
    assert consistency(answered(400, 1.0, seed), NOTHING) == "fine"
    assert consistency(answered(400, 0.0, seed, linear=1.0), NOTHING) == "fine"


def test_few_answers_prove_nothing(monkeypatch):
    assert consistency(answered(99, 0.0, 0), NOTHING) == "fine"
    monkeypatch.setattr(yardstick, "BradleyTerryGP", None)  # no model is needed where random pairs were foretold
    proved = Yardstick(Measured(40, 0.8, 0.65, 0.9), 0.8, Measured(40, 0.8, 0.65, 0.9))
    assert consistency(answered(400, 0.0, 0), proved) == "fine"


@pytest.mark.slow
def test_what_does_not_show_yet_is_open():
    """A hundred answers about 60 items tell neither."""
    assert consistency(answered(100, 0.0, 0), NOTHING) == consistency(answered(100, 0.5, 0), NOTHING) == "open"
