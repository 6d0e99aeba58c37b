import numpy as np
import pytest
from scipy.special import expit

import pairsmith as ps
from pairsmith.model.posterior import Answers
from pairsmith.model.raters import as_shown, habits

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


def test_known_scores_tell_slopes_and_biases():
    won = (OUTCOMES > 0).astype(float)
    answers = Answers(*PAIRS.T, won, 1 - won, np.ones(COUNT), np.zeros(COUNT))
    found, errors = habits(answers, RATER, 4, GAPS, np.full(COUNT, 1e-12))
    assert np.all(np.abs(np.exp(found[:3, 0]) - SLOPES[:3]) < 3 * np.exp(found[:3, 0]) * errors[:3, 0])
    assert np.all(np.abs(found[:, 1] - BIASES) < 3 * errors[:, 1])
    assert np.exp(found[3, 0]) < 0.3
    # The slope of what is maximised is 0: compare with the definition, by small steps.
    for rater in range(4):
        own = rater == RATER

        def value(log_slope, bias, own=own):
            p = expit(np.exp(log_slope) * GAPS[own] + bias)
            likely = won[own] * np.log(p) + (1 - won[own]) * np.log1p(-p)
            return likely.sum() - 0.5 * log_slope**2 - 0.5 * (bias / 0.5) ** 2

        for step in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
            assert value(*(found[rater] + step)) < value(*found[rater])


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_a_rater_who_answers_at_random_does_not_move_the_ranking():
    names = np.array(["anna", "ben", "cleo", "dice"])[RATER]
    told = ps.BradleyTerryGP().fit(n_items=N, comparisons=PAIRS, outcomes=OUTCOMES, raters=names)
    untold = ps.BradleyTerryGP().fit(n_items=N, comparisons=PAIRS, outcomes=OUTCOMES)
    without = ps.BradleyTerryGP().fit(n_items=N, comparisons=PAIRS[RATER < 3], outcomes=OUTCOMES[RATER < 3])
    right = [in_order(model.decision_function()) for model in (told, untold, without)]
    assert right[0] > right[1]
    assert right[0] > right[2] - 0.01
    table = told.raters_
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


def test_pairs_as_they_were_shown():
    pairs, outcomes = np.array([(0, 1), (0, 1), (5, 2)] + 200 * [(3, 7)]), np.array([1.0, 1.0, -1.0] + 200 * [1.0])
    left = np.array([0, 1, 5] + 200 * [-1])
    shown, won = as_shown(pairs, outcomes, left)
    assert shown[:3].tolist() == [[0, 1], [1, 0], [5, 2]]
    assert won[:3].tolist() == [1, -1, -1]
    turned = shown[3:, 0] == 7
    assert 70 < turned.sum() < 130  # by lot: an order of the table's own says nothing of sides
    np.testing.assert_array_equal(won[3:], np.where(turned, -1, 1))
    np.testing.assert_array_equal(as_shown(pairs[:50], outcomes[:50], left[:50])[0], shown[:50])  # more change nothing
