import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import pairsmith as ps
from pairsmith.data.outcomes import as_outcomes, as_words

X = np.random.default_rng(0).standard_normal((6, 2))
PAIRS = [(0, 1), (1, 3), (4, 3), (0, 5), (2, 1)]
CODED = [1, 0, 1, 0, 1]
MODEL = ps.BradleyTerryGP().fit(X, comparisons=PAIRS, outcomes=[1, -1, 1, -1, 1])

DOORS = {
    "BradleyTerryGP": lambda outcomes: ps.BradleyTerryGP().fit(X, comparisons=PAIRS, outcomes=outcomes),
    "BradleyTerry": lambda outcomes: ps.BradleyTerry().fit(X, comparisons=PAIRS, outcomes=outcomes),
    "BradleyTerryCV": lambda outcomes: ps.BradleyTerryCV([1.0]).fit(X, comparisons=PAIRS, outcomes=outcomes),
    "with_answers": lambda outcomes: MODEL.with_answers(X, PAIRS, outcomes),
    "select": lambda outcomes: ps.select(X, 2, comparisons=PAIRS, outcomes=outcomes, objective="entropy"),
    "calibration": lambda outcomes: ps.plot.calibration(MODEL, X, PAIRS, outcomes, ax=Figure().subplots()),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("outcomes", [CODED, np.array(CODED, dtype=np.uint8), pd.Series(CODED, dtype=float)])
def test_zeros_that_are_probably_losses_are_refused(door, outcomes):
    with pytest.raises(ValueError, match=r"0 and 1 but no -1.*use 2 \* outcomes - 1 if 0 means that the second was"):
        door(outcomes)


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(
    "outcomes",
    [[1] * 5, [0] * 5, [-1, 0, -1, 0, 0], [1, 0, -1, 1, 1], ["first", "tie", "first", "tie", "first"]],
)
@pytest.mark.filterwarnings("ignore:the answers leave")
def test_what_can_only_be_meant_as_it_is_said_is_taken(door, outcomes):
    door(outcomes)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, lambda words: np.array(words, dtype=object)])
def test_words_and_numbers_say_the_same(kind):
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
