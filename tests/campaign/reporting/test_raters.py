"""Tests of the rows and flags of simulated raters."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.reporting import raters
from pairsmith.campaign.reporting.raters import rate_raters
from pairsmith.campaign.store.schema import CHANGED
from pairsmith.campaign.store.snapshot import CampaignSnapshot


def simulated(seed, chances, each, n=30):
    """Simulate `each` answers per rater about n items; `chances` maps a rater to P(left) given f_left - f_right."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    scores = X @ rng.standard_normal(3) + rng.standard_normal(n)
    rows = []
    for name, chance in chances.items():
        for _ in range(each):
            left, right = rng.choice(n, 2, replace=False)
            won = left if rng.random() < chance(scores[left] - scores[right]) else right
            first, second = sorted((left, right))
            rows.append((first, second, 1 if won == first else -1, left, name))
    given = pd.DataFrame(rows, columns=["first", "second", "outcome", "left", "rater"])
    given = given.assign(elsewhere=False, strength="", comment="", why="designed", seconds=1.5, at=range(len(given)))
    features = pd.DataFrame(X, index=[str(row) for row in range(n)])
    nothing = np.zeros(0, dtype=np.int64)
    return CampaignSnapshot(features, None, nothing, nothing, nothing.reshape(0, 2), 0, given)


def honest(slope=1.0):
    return lambda gap: 1 / (1 + np.exp(-slope * gap))


def table(snapshot, prediction=np.nan):
    predictions = np.full(len(snapshot.answers), prediction)
    return {row["name"]: row for row in rate_raters(snapshot, fit_model(snapshot), predictions)}


@pytest.mark.slow
def test_only_raters_who_answer_at_random_or_by_side_are_flagged():
    """In five campaigns with 200 answers per rater, and honest slopes from 0.5 to 2."""
    for seed in range(5):
        people = {"anna": honest(0.5), "ben": honest(1.0), "eve": honest(2.0)}
        found = table(simulated(seed, people | {"dice": lambda gap: 0.5, "lefty": lambda gap: 0.95}, each=200))
        assert [found[name]["flags"] for name in people] == [[], [], []]
        assert found["dice"]["flags"][0].startswith("looks random: ")
        (sided,) = [flag for flag in found["lefty"]["flags"] if flag.startswith("looks one-sided: ")]
        assert f"{found['lefty']['share_left']:.0%} of 200 answers are for the item shown left" in sided
        assert found["dice"]["slope"][0] < 0.5 < found["ben"]["slope"][0]
        assert found["lefty"]["bias"][0] > 1


@pytest.mark.slow
def test_honest_raters_are_hardly_ever_flagged():
    """Twelve campaigns of four honest raters with 15 answers each."""
    flagged = 0
    for seed in range(12):
        slopes = np.exp(0.5 * np.random.default_rng(seed).standard_normal(4))
        found = table(simulated(100 + seed, {f"p{at}": honest(slope) for at, slope in enumerate(slopes)}, each=15))
        flagged += sum(bool(row["flags"]) for row in found.values())
    assert flagged <= 1  # of 48; the bound for each is 1 in 20


def test_agreement_on_repeated_pairs_counts_a_pair_once():
    """By hand: anna agrees with one of two others on (0, 1) and with the other one on (2, 3); only she has (4, 5)."""
    rows = [
        (0, 1, 1, "anna"),
        (0, 1, 1, "ben"),
        (0, 1, -1, "eve"),
        (2, 3, 0, "anna"),
        (2, 3, 0, "ben"),
        (4, 5, 1, "anna"),
    ]
    snapshot = simulated(0, {}, 0)
    given = pd.DataFrame(rows, columns=["first", "second", "outcome", "rater"])
    given = given.assign(left=given["first"], elsewhere=[False, False, True, False, True, False], strength="",
                         why="designed", comment="", seconds=[1.0, 2.0, np.nan, 3.0, np.nan, 8.0],
                         at=range(6))  # fmt: skip
    found = table(type(snapshot)(**{**vars(snapshot), "answers": given}))
    wilson = binomtest(3, 4).proportion_ci(0.9, "wilson")  # 0.75 of 4 trials; 2 trials make it wider
    share, low, high = found["anna"]["agrees_on_repeated"]
    assert share == 0.75
    assert low < wilson.low < wilson.high < high
    assert found["eve"]["agrees_on_repeated"][0] == 0
    assert (found["anna"]["answers"], found["anna"]["seconds"]) == (3, 3.0)
    assert found["anna"]["share_left"] is None  # two answers would be 100%
    assert found["eve"]["seconds"] is found["eve"]["share_left"] is None  # imported, so the side is unknown


def test_ties_from_contradictory_sides_count_for_nobody():
    rows = [(0, 1, 1, "anna", ""), (0, 1, 0, "bot", CHANGED), (2, 3, 0, "anna", ""), (2, 3, 0, "bot", "")]
    given = pd.DataFrame(rows, columns=["first", "second", "outcome", "rater", "comment"])
    assert raters._agreement_on_repeated(given).tolist() == pytest.approx([np.nan, np.nan, 1, 1], nan_ok=True)


@pytest.mark.parametrize(("same", "count"), [(0, 5), (3, 4), (20, 20), (55, 100)])
def test_interval_is_the_wilson_interval(same, count):
    share, low, high = raters._interval(same, count)
    expected = binomtest(same, count).proportion_ci(0.9, "wilson")
    assert (share, low, high) == pytest.approx((same / count, expected.low, expected.high), abs=5e-4)
    assert raters._interval(0.0, 0) is None


@pytest.mark.parametrize(
    ("left", "total", "count", "flagged"),
    [
        (5, 5, 1, False),
        (12, 12, 5, True),
        (0, 12, 5, True),
        (550, 1000, 1, False),
        (700, 1000, 50, True),
        (60, 100, 1, False),
    ],
)
def test_one_sided_flag_needs_a_share_beyond_chance_and_tolerance(left, total, count, flagged):
    """Compare with sums of the binomial distribution at 60%."""
    from math import comb

    most = max(left, total - left)
    tail = sum(comb(total, at) * 0.6**at * 0.4 ** (total - at) for at in range(most, total + 1))
    assert raters._is_one_sided(left, total, count) == (tail < 0.025 / count) == flagged


def test_one_rater_has_no_slope(tmp_path):
    (row,) = table(simulated(0, {"anna": honest()}, 20)).values()
    assert row["slope"] is None
    assert row["flags"] == []


def test_predictions_count_on_random_pairs_only():
    """By hand: three of anna's random pairs were predicted and not tied, two of them right; ben has none."""
    snapshot = simulated(0, {"anna": honest(), "ben": honest()}, 8)
    why = ["random"] * 6 + ["designed"] * 10
    outcome = [1, -1, 1, 0, 1, 1] + [1] * 10
    predictions = np.array([0.9, 0.2, 0.4, 0.9, 0.5, np.nan] + [0.9] * 10)
    given = snapshot.answers.assign(why=why, outcome=outcome)
    snapshot = type(snapshot)(**{**vars(snapshot), "answers": given})
    found = {row["name"]: row for row in rate_raters(snapshot, fit_model(snapshot), predictions)}
    ends = binomtest(2, 3).proportion_ci(0.9, "wilson")
    assert found["anna"]["foretold"] == pytest.approx([2 / 3, ends.low, ends.high], abs=5e-4)
    assert found["ben"]["foretold"] is None


def test_share_of_left_needs_six_answers():
    for count, share in ((5, None), (6, 1.0)):
        snapshot = simulated(0, {"anna": lambda _: 1.0}, count)
        assert table(snapshot)["anna"]["share_left"] == share


@pytest.mark.parametrize(("count", "said"), [(1, False), (19, False), (20, True)])
def test_random_flag_cites_random_pairs_if_there_are_enough(monkeypatch, count, said):
    monkeypatch.setattr(raters, "_looks_random", lambda *_: True)
    snapshot = simulated(0, {"anna": honest(), "ben": honest()}, 30)
    why = np.where(np.arange(60) % 30 < count, "random", "designed")
    snapshot = type(snapshot)(**{**vars(snapshot), "answers": snapshot.answers.assign(why=why)})
    (flag,) = table(snapshot, prediction=0.9)["anna"]["flags"]
    assert flag.startswith("looks random: the answers depend on the items as little as coin flips")
    assert (f" of {count} random pairs were predicted right; a coin has half)" in flag) == said


def test_both_likelihoods_sum_to_one_over_all_possible_answers():
    """So the mean of their ratio is 1. There are 16 ways to answer four pairs."""
    rng = np.random.default_rng(0)
    gap, error = 2 * rng.standard_normal(4), rng.random(4)
    ways = np.array(list(product([0.0, 1.0], repeat=4)))
    assert sum(np.exp(raters._log_likelihood_by_side(won)) for won in ways) == pytest.approx(1)
    assert sum(np.exp(raters._log_likelihood_by_items(won, gap, error, 0.3)) for won in ways) == pytest.approx(1)


def test_random_answers_are_flagged_when_items_are_far_apart():
    """At a gap of 60, one answer is certain and the other practically impossible."""
    gap = np.where(np.arange(40) % 3, 60.0, -60.0)
    own = pd.DataFrame({"gap": gap, "error": 1.0, "elsewhere": False, "shown": np.where(np.arange(40) % 2, 1, -1)})
    assert raters._looks_random(own, 0.0, 1.0)
    assert not raters._looks_random(own.assign(shown=np.sign(gap)), 0.0, 1.0)


def test_random_answers_are_flagged_relative_to_the_slopes_of_others():
    """If some raters flip coins, the others have slopes far above 1, so gaps are large for them."""
    gap = np.where(np.arange(60) % 4 < 2, 0.5, -0.5)
    own = pd.DataFrame({"gap": gap, "error": 0.1, "elsewhere": False, "shown": np.where(np.arange(60) % 2, 1, -1)})
    assert not raters._looks_random(own, 0.0, 1.0)
    assert raters._looks_random(own, 0.0, raters._usual_slope(pd.Series([3.0, 0.1, 3.5])))
    assert raters._usual_slope(pd.Series([0.1])) == 1.0


def test_imported_answers_have_no_side():
    """Their order is the order of the table's rows, here sorted by quality, and says nothing about sides."""
    snapshot = simulated(0, {"anna": honest(2.0), "ben": honest(2.0)}, 100)
    answers = snapshot.answers.assign(elsewhere=True)
    answers[["first", "second"]] = np.where(
        answers[["outcome"]] > 0, answers[["first", "second"]], answers[["second", "first"]]
    )
    snapshot = type(snapshot)(**{**vars(snapshot), "answers": answers.assign(outcome=1, left=answers["first"])})
    for row in table(snapshot).values():
        assert row["flags"] == []
        assert row["bias"] is row["share_left"] is None
        assert row["slope"][0] > 0.5
