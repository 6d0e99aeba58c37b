import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import pairsmith as ps
from pairsmith.data.outcomes import as_outcomes, as_words

X = np.random.default_rng(0).standard_normal((6, 2))
PAIRS = [(0, 1), (1, 3), (4, 3), (0, 5), (2, 1)]
WITHOUT_LOSSES = [1, 0, 1, 0, 1]
MODEL = ps.BradleyTerryGP().fit(X, comparisons=PAIRS, outcomes=[1, -1, 1, -1, 1])

ENTRY_POINTS = {
    "BradleyTerryGP": lambda outcomes: ps.BradleyTerryGP().fit(X, comparisons=PAIRS, outcomes=outcomes),
    "BradleyTerry": lambda outcomes: ps.BradleyTerry().fit(X, comparisons=PAIRS, outcomes=outcomes),
    "BradleyTerryCV": lambda outcomes: ps.BradleyTerryCV([1.0]).fit(X, comparisons=PAIRS, outcomes=outcomes),
    "with_answers": lambda outcomes: MODEL.with_answers(X, PAIRS, outcomes),
    "select": lambda outcomes: ps.select(X, 2, comparisons=PAIRS, outcomes=outcomes, objective="entropy"),
    "calibration": lambda outcomes: ps.plot.calibration(MODEL, X, PAIRS, outcomes, ax=Figure().subplots()),
}


@pytest.mark.parametrize("pass_outcomes", ENTRY_POINTS.values(), ids=ENTRY_POINTS)
@pytest.mark.parametrize(
    "outcomes", [WITHOUT_LOSSES, np.array(WITHOUT_LOSSES, dtype=np.uint8), pd.Series(WITHOUT_LOSSES, dtype=float)]
)
def test_outcomes_with_0_and_1_but_no_losses_are_refused(pass_outcomes, outcomes):
    with pytest.raises(ValueError, match=r"0 and 1 but no -1.*use 2 \* outcomes - 1 if 0 means that the second was"):
        pass_outcomes(outcomes)


@pytest.mark.parametrize("pass_outcomes", ENTRY_POINTS.values(), ids=ENTRY_POINTS)
@pytest.mark.parametrize(
    "outcomes",
    [[1] * 5, [0] * 5, [-1, 0, -1, 0, 0], [1, 0, -1, 1, 1], ["first", "tie", "first", "tie", "first"]],
)
@pytest.mark.filterwarnings("ignore:the answers leave")
def test_unambiguous_outcomes_are_accepted(pass_outcomes, outcomes):
    pass_outcomes(outcomes)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, lambda words: np.array(words, dtype=object)])
def test_words_and_numbers_have_the_same_meaning(kind):
    wins = np.array([1.0, -1.0, 0.0, 1.0])
    assert as_outcomes(kind(["first", "second", "tie", "first"]), 4).tolist() == wins.tolist()
    assert as_words(wins).tolist() == ["first", "second", "tie", "first"]
    assert as_outcomes(as_words(wins[:0]), 0).tolist() == []


@pytest.mark.parametrize(
    "outcomes", [["first", "left"], ["first", 1], [True, False], [1, "tie"], [[1], [1, 2]], [1, 2]]
)
def test_other_values_are_refused(outcomes):
    with pytest.raises(ValueError, match="outcomes must be"):
        as_outcomes(outcomes, 2)
