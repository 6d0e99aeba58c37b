import numpy as np
import pytest
from scipy.special import expit

import pairsmith as ps
from pairsmith.model.evidence import Answers
from pairsmith.model.raters import fit_slopes_and_biases

rng = np.random.default_rng(0)
N, COUNT = 60, 900
SCORES = 1.5 * rng.standard_normal(N)
PAIRS = np.array([rng.choice(N, 2, replace=False) for _ in range(COUNT)])
RATER = rng.integers(4, size=COUNT)
SLOPES, BIASES = np.array([1.0, 1.6, 0.6, 0.0]), np.array([0.0, 0.7, 0.0, 0.0])  # the last answers at random
GAPS = SCORES[PAIRS[:, 0]] - SCORES[PAIRS[:, 1]]
OUTCOMES = np.where(rng.random(COUNT) < expit(SLOPES[RATER] * GAPS + BIASES[RATER]), 1, -1)


def in_order(scores):
    i, j = np.triu_indices(N, 1)
    return np.mean((scores[i] > scores[j]) == (SCORES[i] > SCORES[j]))


def test_slopes_and_biases_are_recovered_from_known_scores():
    won = (OUTCOMES > 0).astype(float)
    answers = Answers(*PAIRS.T, won, 1 - won, np.ones(COUNT), np.zeros(COUNT))
    estimates, errors = fit_slopes_and_biases(answers, RATER, 4, GAPS, np.full(COUNT, 1e-12), np.ones(COUNT))
    assert np.all(np.abs(np.exp(estimates[:3, 0]) - SLOPES[:3]) < 3 * np.exp(estimates[:3, 0]) * errors[:3, 0])
    assert np.all(np.abs(estimates[:, 1] - BIASES) < 3 * errors[:, 1])
    assert np.exp(estimates[3, 0]) < 0.3
    # The slope of what is maximised is 0: compare with the definition, by small steps.
    for rater in range(4):
        own = rater == RATER

        def value(log_slope, bias, own=own):
            p = expit(np.exp(log_slope) * GAPS[own] + bias)
            likely = won[own] * np.log(p) + (1 - won[own]) * np.log1p(-p)
            return likely.sum() - 0.5 * log_slope**2 - 0.5 * (bias / 0.5) ** 2

        for step in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
            assert value(*(estimates[rater] + step)) < value(*estimates[rater])


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_random_rater_does_not_change_the_ranking():
    names = np.array(["anna", "ben", "cleo", "dice"])[RATER]
    with_raters = ps.BradleyTerryGP().fit(
        n_items=N, comparisons=PAIRS, outcomes=OUTCOMES, raters=names, shown_first=PAIRS[:, 0]
    )
    without_raters = ps.BradleyTerryGP().fit(n_items=N, comparisons=PAIRS, outcomes=OUTCOMES)
    without_dice = ps.BradleyTerryGP().fit(n_items=N, comparisons=PAIRS[RATER < 3], outcomes=OUTCOMES[RATER < 3])
    right = [in_order(model.decision_function()) for model in (with_raters, without_raters, without_dice)]
    assert right[0] > right[1]
    assert right[0] > right[2] - 0.01
    table = with_raters.raters_
    assert sorted(table.index) == ["anna", "ben", "cleo", "dice"]
    assert table["slope"].idxmin() == "dice"
    assert table.loc["dice", "slope"] < 0.4
    assert table.loc["dice", "agreement"] == pytest.approx(0.5, abs=0.1)
    assert table.loc["ben", "agreement"] > 0.65
    assert table["bias"].idxmax() == "ben"
    assert abs(table.loc["ben", "bias"] - 0.7) < 3 * table.loc["ben", "bias_error"]
    assert table["answers"].sum() == COUNT
    assert np.all(np.abs(table["infit"] - 1) < 0.25)


def test_raters_of_the_wrong_length_or_missing_are_refused():
    fit = ps.BradleyTerryGP().fit
    with pytest.raises(ValueError, match="raters names 2 people for 3 comparisons"):
        fit(n_items=3, comparisons=[(0, 1), (1, 2), (0, 2)], outcomes=[1, 1, 1], raters=["a", "b"])
    with pytest.raises(ValueError, match="answer number 1 has none"):
        fit(n_items=3, comparisons=[(0, 1), (1, 2), (0, 2)], outcomes=[1, 1, 1], raters=["a", None, "b"])


def simulate_session(seed=1):
    """Return pairs, outcomes, raters and the item shown first, by two good raters without a bias."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(20, 2, replace=False) for _ in range(400)])
    gap = 3.0 * (pairs[:, 0] - pairs[:, 1]) / 6
    outcomes = np.where(rng.random(400) < expit(gap), 1, -1)
    return (
        pairs,
        outcomes,
        np.array(["anna", "ben"])[rng.integers(2, size=400)],
        pairs[np.arange(400), rng.integers(2, size=400)],
    )


def test_writing_winners_first_creates_no_bias():
    pairs, outcomes, names, _ = simulate_session()
    winners_first = np.where(outcomes[:, None] > 0, pairs, pairs[:, ::-1])
    plain = ps.BradleyTerryGP().fit(n_items=20, comparisons=pairs, outcomes=outcomes)
    with_raters = ps.BradleyTerryGP().fit(n_items=20, comparisons=winners_first, outcomes=np.ones(400), raters=names)
    assert with_raters.reliability_ == pytest.approx(plain.reliability_, abs=0.02)
    assert with_raters.raters_[["bias", "bias_error"]].isna().all(axis=None)
    assert with_raters.raters_.drop(columns=["bias", "bias_error"]).notna().all(axis=None)


@pytest.mark.parametrize("sides", ["none", "all", "some"])
def test_fit_ignores_the_order_of_answers_and_within_pairs(sides):
    pairs, outcomes, names, shown = simulate_session()
    shown = {"none": np.full(400, -1), "all": shown, "some": np.where(np.arange(400) % 3, shown, -1)}[sides]
    first = ps.BradleyTerryGP().fit(n_items=20, comparisons=pairs, outcomes=outcomes, raters=names, shown_first=shown)
    rng = np.random.default_rng(2)
    order, swapped = rng.permutation(400), rng.random(400) < 0.5
    pairs = np.where(swapped[:, None], pairs[:, ::-1], pairs)[order]
    outcomes = np.where(swapped, -outcomes, outcomes)[order]
    again = ps.BradleyTerryGP().fit(
        n_items=20, comparisons=pairs, outcomes=outcomes, raters=names[order], shown_first=shown[order]
    )
    np.testing.assert_allclose(again.decision_function(), first.decision_function(), atol=1e-9)
    np.testing.assert_allclose(again.raters_.loc[first.raters_.index], first.raters_, atol=1e-9)
    assert again.evidence_ == pytest.approx(first.evidence_, abs=1e-9)
    p, p_again = first.leave_one_out_["p"].to_numpy()[order], again.leave_one_out_["p"].to_numpy()
    np.testing.assert_allclose(np.where(swapped[order], 1 - p, p), p_again, atol=1e-9)


def test_bias_uses_only_answers_with_a_known_side():
    """Ben always takes the item shown first. Anna's sides are unknown, and half of Cleo's are."""
    pairs, outcomes, _, shown = simulate_session()
    names = np.array(["anna", "ben", "cleo"])[np.arange(400) % 3]
    outcomes = np.where(names == "ben", np.where(shown == pairs[:, 0], 1, -1), outcomes)
    shown = np.where((names == "anna") | ((names == "cleo") & (np.arange(400) % 2 == 0)), -1, shown)
    table = (
        ps.BradleyTerryGP()
        .fit(n_items=20, comparisons=pairs, outcomes=outcomes, raters=names, shown_first=shown)
        .raters_
    )
    assert np.isnan(table.loc["anna", "bias"])
    assert table.loc["ben", "bias"] > 1
    assert abs(table.loc["cleo", "bias"]) < 3 * table.loc["cleo", "bias_error"]
    assert table.loc["ben", "slope"] < 0.5 < table.loc["anna", "slope"]
