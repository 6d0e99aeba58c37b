"""Who answered: how well each rater tells items apart, and whether one side of the page is preferred.

A rater's answer to (i, j) has the probability sigma(slope (f_i - f_j) + bias) if i was shown first. If nobody knows
what was, it has no bias: which item is named first may depend on the answer. Slopes have a log-normal prior around 1,
biases a normal one around 0. Both are found by MAP beside the scores: given the posterior of the scores, the expected
log likelihood of a rater's answers is maximised; given slopes and biases, scores are learned again. A rater who answers
at random gets a slope near 0, and then hardly counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtr, roots_hermitenorm

from pairsmith.data.arrays import Floats, Ints
from pairsmith.model.evidence import Answers, Merged
from pairsmith.model.evidence import summed as sum_of
from pairsmith.model.fitting import Learned
from pairsmith.model.logistic import average

if TYPE_CHECKING:
    import pandas as pd

SLOPE_WIDTH = 1.0  # standard deviation of log slope beforehand: most people are within a third and three times
BIAS_WIDTH = 0.5  # of a bias: most people prefer a side in fewer than 62 of 100 pairs of equals
_NODES, _SHARES = roots_hermitenorm(20)
_SHARES = _SHARES / _SHARES.sum()
_STEPS = 25
_ROUNDS, _SETTLED = 12, 0.02  # of raters and scores in turn, until no log slope or bias moves by more


def weighed(
    learned: Learned, merged: Merged, learn_again: Callable[..., Learned], variances_too: bool
) -> tuple[Learned, pd.DataFrame]:
    """What answers say in the light of who gave them, and the table of raters.

    `learned` is what they say of raters who are all alike; `learn_again(answers=..., previous=...)` learns with the
    variances of `previous`, or where that is None, with the likeliest.
    """
    answers, rater, side, names, _ = merged
    before = np.zeros((len(names), 2))
    for round in range(_ROUNDS):
        asked = np.flatnonzero(rater >= 0)
        mean, variance = learned.posterior.gaps(learned.answers)
        own = answers.part(asked), rater[asked], len(names), mean[asked], variance[asked], side[asked]
        found, errors = habits(*own)
        # Variances are learned once more when the raters are roughly known: they were taken for equals before.
        previous = None if round == 2 and variances_too else learned
        learned = learn_again(answers=with_habits(merged, found), previous=previous)
        moved = float(np.max(np.abs(found - before)))
        before = found
        if round > 2 and moved < _SETTLED:
            break
    return learned, table(merged, learned, found, errors)


def habits(
    answers: Answers, rater: Ints, count: int, mean: Floats, variance: Floats, side: Floats
) -> tuple[Floats, Floats]:
    """(count, 2) log slope and bias of each rater, given the posterior of g = f_i - f_j, and their standard errors."""
    shown = side[:, None]  # dh / d bias
    g = mean[:, None] + np.sqrt(variance)[:, None] * _NODES
    won, total = answers.won[:, None], (answers.won + answers.lost)[:, None]
    found = np.zeros((count, 2))
    curvature = np.zeros((count, 3))
    for _ in range(_STEPS):
        slope, bias = np.exp(found[rater, 0])[:, None], found[rater, 1][:, None]
        p = expit(slope * g + bias * shown)
        surprise, weight = won - total * p, total * p * (1 - p)
        along = slope * g  # dh / d log slope
        gradient = (
            np.column_stack([np.bincount(rater, (part * surprise) @ _SHARES, count) for part in (along, shown)])
            - found / np.array([SLOPE_WIDTH, BIAS_WIDTH]) ** 2
        )
        # The Gauss-Newton part of the curvature: always positive, so every step leads up.
        curvature = np.column_stack(
            [
                np.bincount(rater, (along * along * weight) @ _SHARES, count) + SLOPE_WIDTH**-2,
                np.bincount(rater, (along * shown * weight) @ _SHARES, count),
                np.bincount(rater, (shown * weight) @ _SHARES, count) + BIAS_WIDTH**-2,
            ]
        )
        a, b, c = curvature.T
        step = np.column_stack([c * gradient[:, 0] - b * gradient[:, 1], a * gradient[:, 1] - b * gradient[:, 0]])
        step = np.clip(step / (a * c - b * b)[:, None], -1.0, 1.0)
        found = found + step
        if np.max(np.abs(step)) < 1e-6:
            break
    a, b, c = curvature.T
    return found, np.sqrt(np.column_stack([c, a]) / (a * c - b * b)[:, None])


def with_habits(merged: Merged, found: Floats) -> Answers:
    """The answers with their raters' slopes and biases; what has no rater (-1) is as it was."""
    answers, rater, side, *_ = merged
    asked = rater >= 0
    slope, shift = answers.slope.copy(), answers.shift.copy()
    slope[asked], shift[asked] = np.exp(found[rater[asked], 0]), found[rater[asked], 1] * side[asked]
    return replace(answers, slope=slope, shift=shift)


def table(merged: Merged, learned: Learned, found: Floats, errors: Floats) -> pd.DataFrame:
    """One row a rater: answers, slope and bias with their errors, infit, and agreement with what all others say.

    A bias is NaN for a rater if it is unknown what was shown first for each of the answers.
    The errors take the posterior of the scores for given, which the rater's own answers have a part in.
    Both of the last are by the cavity, in which a rater's answers to this pair have no part. `infit` is the mean
    squared surprise over the one expected: 1 is as it should be, more is erratic, less is more regular than the model
    allows.
    """
    import pandas as pd

    _, rater, side, names, _ = merged
    answers, result, count = learned.answers, learned.propagated, len(names)
    total = answers.won + answers.lost
    mean = answers.slope * result.cavity_mean + answers.shift
    p = average(mean, answers.slope * np.sqrt(result.cavity_variance))
    surprise = answers.won * (1 - p) ** 2 + answers.lost * p**2
    expected = total * p * (1 - p)
    sure = ndtr(result.cavity_mean / np.sqrt(result.cavity_variance))
    agrees = np.where(sure > 0.5, answers.won, answers.lost)

    def summed(values: Floats) -> Floats:
        return sum_of(rater[rater >= 0], values[rater >= 0], count)

    sided = summed(side * total) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return pd.DataFrame(
            {
                "answers": summed(total),
                "slope": np.exp(found[:, 0]),
                "slope_error": np.exp(found[:, 0]) * errors[:, 0],
                "bias": np.where(sided, found[:, 1], np.nan),
                "bias_error": np.where(sided, errors[:, 1], np.nan),
                "infit": summed(surprise) / summed(expected),
                "agreement": summed(agrees) / summed(total),
            },
            index=pd.Index(names, name="rater"),
        )
