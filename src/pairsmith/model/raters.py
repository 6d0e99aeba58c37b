"""Models of the raters: how well each tells items apart, and whether they prefer the item shown first.

A rater's answer to (i, j), with i shown first, has the probability sigma(slope (f_i - f_j) + bias). Where it is unknown
which item was shown first there is no bias, because the order in which a pair is named may depend on the answer. Slopes
have a log-normal prior around 1, biases a normal prior around 0. Both are MAP estimates, computed alternately with the
scores: given the posterior of the scores, slopes and biases maximise the expected log likelihood of the rater's
answers; given slopes and biases, the scores are fitted again. A rater who answers at random gets a slope near 0, and
then hardly counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtr, roots_hermitenorm

from pairsmith.data.arrays import Floats, Ints
from pairsmith.model.evidence import Answers, MergedAnswers, summed
from pairsmith.model.fitting import FittedGP
from pairsmith.model.logistic import average

if TYPE_CHECKING:
    import pandas as pd

LOG_SLOPE_DEVIATION = 1.0  # prior standard deviation: most slopes are between a third and three
BIAS_DEVIATION = 0.5  # prior standard deviation: most raters prefer a side in fewer than 62 of 100 pairs of equals
_NODES, _WEIGHTS = roots_hermitenorm(20)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MAX_NEWTON_STEPS = 25
_MAX_ALTERNATIONS = 12  # between raters and scores
_MAX_SETTLED_CHANGE = 0.02  # of any log slope or bias, to stop the alternation


def fit_raters(
    fitted: FittedGP, merged: MergedAnswers, fit_again: Callable[..., FittedGP], relearn_variances: bool
) -> tuple[FittedGP, pd.DataFrame]:
    """Fit slopes and biases of the raters alternately with the scores; return the fit and the table of raters.

    `fitted` takes all raters for equal. `fit_again(answers=..., previous=...)` fits the scores with the variances of
    `previous`, or learns the variances if `previous` is None.
    """
    before = np.zeros((len(merged.rater_names), 2))
    for alternation in range(_MAX_ALTERNATIONS):
        of_raters = np.flatnonzero(merged.rater >= 0)
        mean, variance = fitted.posterior.gaps(fitted.answers)
        estimates, errors = fit_slopes_and_biases(
            merged.answers.part(of_raters),
            merged.rater[of_raters],
            len(merged.rater_names),
            mean[of_raters],
            variance[of_raters],
            merged.side[of_raters],
        )
        # The variances were learned as if all raters were equal. Learn them again once the raters are roughly known.
        previous = None if alternation == 2 and relearn_variances else fitted
        fitted = fit_again(answers=with_slopes_and_biases(merged, estimates), previous=previous)
        change = float(np.max(np.abs(estimates - before)))
        before = estimates
        if alternation > 2 and change < _MAX_SETTLED_CHANGE:
            break
    return fitted, rater_table(merged, fitted, estimates, errors)


def fit_slopes_and_biases(
    answers: Answers, rater: Ints, count: int, mean: Floats, variance: Floats, side: Floats
) -> tuple[Floats, Floats]:
    """Return each rater's log slope and bias, (count, 2), and their standard errors.

    `mean` and `variance` are the posterior of the gap g = f_i - f_j of each entry; `side` is 1 where i was shown first.
    """
    dh_dbias = side[:, None]  # for h = slope g + bias side
    g = mean[:, None] + np.sqrt(variance)[:, None] * _NODES
    won, total = answers.won[:, None], (answers.won + answers.lost)[:, None]
    estimates = np.zeros((count, 2))
    curvature = np.zeros((count, 3))
    for _ in range(_MAX_NEWTON_STEPS):
        slope, bias = np.exp(estimates[rater, 0])[:, None], estimates[rater, 1][:, None]
        p = expit(slope * g + bias * dh_dbias)
        residual, weight = won - total * p, total * p * (1 - p)
        dh_dlog_slope = slope * g
        gradient = (
            np.column_stack([np.bincount(rater, (dh * residual) @ _WEIGHTS, count) for dh in (dh_dlog_slope, dh_dbias)])
            - estimates / np.array([LOG_SLOPE_DEVIATION, BIAS_DEVIATION]) ** 2
        )
        # The Gauss-Newton curvature is always positive, so every step leads up.
        curvature = np.column_stack(
            [
                np.bincount(rater, (dh_dlog_slope * dh_dlog_slope * weight) @ _WEIGHTS, count)
                + LOG_SLOPE_DEVIATION**-2,
                np.bincount(rater, (dh_dlog_slope * dh_dbias * weight) @ _WEIGHTS, count),
                np.bincount(rater, (dh_dbias * weight) @ _WEIGHTS, count) + BIAS_DEVIATION**-2,
            ]
        )
        a, b, c = curvature.T
        step = np.column_stack([c * gradient[:, 0] - b * gradient[:, 1], a * gradient[:, 1] - b * gradient[:, 0]])
        step = np.clip(step / (a * c - b * b)[:, None], -1.0, 1.0)
        estimates = estimates + step
        if np.max(np.abs(step)) < 1e-6:
            break
    a, b, c = curvature.T
    return estimates, np.sqrt(np.column_stack([c, a]) / (a * c - b * b)[:, None])


def with_slopes_and_biases(merged: MergedAnswers, estimates: Floats) -> Answers:
    """Return the answers with their raters' slopes and biases; labels, which have no rater, stay as they are."""
    answers, rater = merged.answers, merged.rater
    of_raters = rater >= 0
    slope, shift = answers.slope.copy(), answers.shift.copy()
    slope[of_raters] = np.exp(estimates[rater[of_raters], 0])
    shift[of_raters] = estimates[rater[of_raters], 1] * merged.side[of_raters]
    return replace(answers, slope=slope, shift=shift)


def rater_table(merged: MergedAnswers, fitted: FittedGP, estimates: Floats, errors: Floats) -> pd.DataFrame:
    """Return one row per rater: answers, slope and bias with their errors, infit, and agreement with all others.

    The bias is NaN if it is unknown, for every answer of the rater, which item was shown first. The errors take the
    posterior of the scores for given, although the rater's own answers contributed to it. Infit and agreement use the
    cavity, to which the rater's answers to the pair do not contribute. `infit` is the mean squared residual over its
    expectation: 1 is expected, more is erratic, less is more regular than the model allows.
    """
    import pandas as pd

    rater, names = merged.rater, merged.rater_names
    answers, result, count = fitted.answers, fitted.propagated, len(names)
    total = answers.won + answers.lost
    mean = answers.slope * result.cavity_mean + answers.shift
    p = average(mean, answers.slope * np.sqrt(result.cavity_variance))
    squared_residual = answers.won * (1 - p) ** 2 + answers.lost * p**2
    expected = total * p * (1 - p)
    p_first_better = ndtr(result.cavity_mean / np.sqrt(result.cavity_variance))
    agreeing = np.where(p_first_better > 0.5, answers.won, answers.lost)

    def by_rater(values: Floats) -> Floats:
        return summed(rater[rater >= 0], values[rater >= 0], count)

    has_side = by_rater(merged.side * total) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return pd.DataFrame(
            {
                "answers": by_rater(total),
                "slope": np.exp(estimates[:, 0]),
                "slope_error": np.exp(estimates[:, 0]) * errors[:, 0],
                "bias": np.where(has_side, estimates[:, 1], np.nan),
                "bias_error": np.where(has_side, errors[:, 1], np.nan),
                "infit": by_rater(squared_residual) / by_rater(expected),
                "agreement": by_rater(agreeing) / by_rater(total),
            },
            index=pd.Index(names, name="rater"),
        )
