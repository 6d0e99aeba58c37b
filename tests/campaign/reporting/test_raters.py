"""The table of raters, from simulated ones."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.reporting import raters
from pairsmith.campaign.reporting.raters import rate
from pairsmith.campaign.store.schema import CHANGED
from pairsmith.campaign.store.snapshot import CampaignSnapshot


def simulated(seed, chances, each, n=30):
    """Answers of so many each, about n items; `chances` has each rater's P(left), given f_left - f_right."""
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


def table(snapshot, told=np.nan):
    foretold = np.full(len(snapshot.answers), told)
    return {row["name"]: row for row in rate(snapshot, fit_model(snapshot), foretold)}


@pytest.mark.slow
def test_who_answers_at_random_or_by_side_is_flagged_and_others_are_not():
    """200 answers each, slopes from a half to twice: in five campaigns nobody honest, and everybody else."""
    for seed in range(5):
        people = {"anna": honest(0.5), "ben": honest(1.0), "eve": honest(2.0)}
        found = table(simulated(seed, people | {"dice": lambda gap: 0.5, "lefty": lambda gap: 0.95}, each=200))
        assert [found[name]["flags"] for name in people] == [[], [], []]
        assert found["dice"]["flags"][0].startswith("looks random: ")
        (sided,) = [flag for flag in found["lefty"]["flags"] if flag.startswith("looks one-sided: ")]
        assert f"{found['lefty']['share_left']:.0%} of 200 answers are for what was shown left" in sided
        assert found["dice"]["slope"][0] < 0.5 < found["ben"]["slope"][0]
        assert found["lefty"]["bias"][0] > 1


@pytest.mark.slow
def test_a_few_answers_flag_nobody_and_honest_ones_hardly_ever():
    """Twelve campaigns of four honest raters with 15 answers each."""
    flagged = 0
    for seed in range(12):
        slopes = np.exp(0.5 * np.random.default_rng(seed).standard_normal(4))
        found = table(simulated(100 + seed, {f"p{at}": honest(slope) for at, slope in enumerate(slopes)}, each=15))
        flagged += sum(bool(row["flags"]) for row in found.values())
    assert flagged <= 1  # of 48; the bound of each is 1 in 20


def test_agreement_on_repeated_pairs_counts_a_pair_once():
    """By hand: anna on (0, 1) agrees with one of two others, on (2, 3) with the one other; (4, 5) is hers alone."""
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
    wilson = binomtest(3, 4).proportion_ci(0.9, "wilson")  # 0.75 of 4; of 2 it is wider, and has the same middle
    share, low, high = found["anna"]["agrees_on_repeated"]
    assert share == 0.75
    assert low < wilson.low < wilson.high < high
    assert found["eve"]["agrees_on_repeated"][0] == 0
    assert (found["anna"]["answers"], found["anna"]["seconds"]) == (3, 3.0)
    assert found["anna"]["share_left"] is None  # two answers would be 100%
    assert found["eve"]["seconds"] is found["eve"]["share_left"] is None  # made elsewhere, so of no known side


def test_a_tie_of_both_sides_agrees_and_disagrees_with_nobody():
    rows = [(0, 1, 1, "anna", ""), (0, 1, 0, "bot", CHANGED), (2, 3, 0, "anna", ""), (2, 3, 0, "bot", "")]
    given = pd.DataFrame(rows, columns=["first", "second", "outcome", "rater", "comment"])
    assert raters._agreement_on_repeated(given).tolist() == pytest.approx([np.nan, np.nan, 1, 1], nan_ok=True)


@pytest.mark.parametrize(("same", "count"), [(0, 5), (3, 4), (20, 20), (55, 100)])
def test_the_interval_is_wilsons(same, count):
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
def test_a_side_is_flagged_where_it_is_far_from_half_and_no_chance(left, total, count, flagged):
    """By sums of the binomial distribution against 60%."""
    from math import comb

    most = max(left, total - left)
    tail = sum(comb(total, at) * 0.6**at * 0.4 ** (total - at) for at in range(most, total + 1))
    assert raters._one_sided(left, total, count) == (tail < 0.025 / count) == flagged


def test_one_rater_has_no_slope(tmp_path):
    (row,) = table(simulated(0, {"anna": honest()}, 20)).values()
    assert row["slope"] is None
    assert row["flags"] == []


def test_what_was_foretold_counts_on_random_pairs_only():
    """By hand: of anna's random pairs three were foretold and not tied, two of them right; ben has none."""
    snapshot = simulated(0, {"anna": honest(), "ben": honest()}, 8)
    why = ["random"] * 6 + ["designed"] * 10
    outcome = [1, -1, 1, 0, 1, 1] + [1] * 10
    told = np.array([0.9, 0.2, 0.4, 0.9, 0.5, np.nan] + [0.9] * 10)
    given = snapshot.answers.assign(why=why, outcome=outcome)
    snapshot = type(snapshot)(**{**vars(snapshot), "answers": given})
    found = {row["name"]: row for row in rate(snapshot, fit_model(snapshot), told)}
    ends = binomtest(2, 3).proportion_ci(0.9, "wilson")
    assert found["anna"]["foretold"] == pytest.approx([2 / 3, ends.low, ends.high], abs=5e-4)
    assert found["ben"]["foretold"] is None


def test_a_share_of_left_is_of_six_answers_at_least():
    for count, share in ((5, None), (6, 1.0)):
        snapshot = simulated(0, {"anna": lambda _: 1.0}, count)
        assert table(snapshot)["anna"]["share_left"] == share


@pytest.mark.parametrize(("count", "said"), [(1, False), (19, False), (20, True)])
def test_a_flag_gives_random_pairs_for_evidence_where_there_are_enough(monkeypatch, count, said):
    monkeypatch.setattr(raters, "_at_random", lambda *_: True)
    snapshot = simulated(0, {"anna": honest(), "ben": honest()}, 30)
    why = np.where(np.arange(60) % 30 < count, "random", "designed")
    snapshot = type(snapshot)(**{**vars(snapshot), "answers": snapshot.answers.assign(why=why)})
    (flag,) = table(snapshot, told=0.9)["anna"]["flags"]
    assert flag.startswith("looks random: the answers have as little to do with the items as a coin")
    assert (f" of {count} random pairs came out as foretold; a coin has half)" in flag) == said


def test_both_likelihoods_are_of_all_answers_that_could_be():
    """Of four pairs: over all 16 ways to answer them, each adds up to 1, so that the mean of their ratio is 1."""
    rng = np.random.default_rng(0)
    gap, error = 2 * rng.standard_normal(4), rng.random(4)
    ways = np.array(list(product([0.0, 1.0], repeat=4)))
    assert sum(np.exp(raters._by_side(won)) for won in ways) == pytest.approx(1)
    assert sum(np.exp(raters._by_items(won, gap, error, 0.3)) for won in ways) == pytest.approx(1)


def test_dice_are_told_where_items_lie_far_apart():
    """By gaps of 60 one answer is certain, and the other as good as impossible."""
    gap = np.where(np.arange(40) % 3, 60.0, -60.0)
    own = pd.DataFrame({"gap": gap, "error": 1.0, "elsewhere": False, "shown": np.where(np.arange(40) % 2, 1, -1)})
    assert raters._at_random(own, 0.0, 1.0)
    assert not raters._at_random(own.assign(shown=np.sign(gap)), 0.0, 1.0)


def test_dice_are_told_beside_the_slopes_of_others():
    """Where some throw dice, slopes of those who do not are far above 1: by their measure gaps are large."""
    gap = np.where(np.arange(60) % 4 < 2, 0.5, -0.5)
    own = pd.DataFrame({"gap": gap, "error": 0.1, "elsewhere": False, "shown": np.where(np.arange(60) % 2, 1, -1)})
    assert not raters._at_random(own, 0.0, 1.0)
    assert raters._at_random(own, 0.0, raters._usual_slope(pd.Series([3.0, 0.1, 3.5])))
    assert raters._usual_slope(pd.Series([0.1])) == 1.0


def test_answers_from_elsewhere_have_no_side():
    """Their order is that of the table's rows, which are sorted by quality here: nobody went by it."""
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
