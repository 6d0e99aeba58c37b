"""How far the model's figures can be trusted: how well it predicted answers, and whether answers contradict each other.

Pairs that a design chooses are close, so that anybody errs on them, and they depend on earlier answers: the questions
asked after an answer give it away, even to a model that was not given the answer. So calibration is measured on the
pairs that were drawn at random, and each of them was predicted by a model of the answers before it (prequentially,
Dawid 1984). Then the number of right predictions is binomial if people answer by coin flips, whatever the design.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import binomtest

from pairsmith.campaign.learning import evidence
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Floats
from pairsmith.data.outcomes import as_words
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.model.logistic import auc_of_comparisons

INTERVAL_LEVEL = 0.95
# Random pairs for a figure. People agree with the true order on about 73% of all pairs, see `consistency`. With fewer
# pairs, the interval around a coin's 50% (33% to 67% of 20) would reach that far, and could not tell the two apart.
MIN_PAIRS = 20
MIN_ANSWERS_FOR_CONSISTENCY = 100
STRONG_EVIDENCE_NATS = np.log(20.0)  # twenty times as likely is strong evidence (Kass and Raftery 1995)
COIN_FLIPS, UNDECIDED, CONSISTENT = "coins", "open", "fine"  # the results of `consistency`


class Estimate(NamedTuple):
    """An estimate with its interval, from `number` observations; `value` is None if these are too few."""

    number: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


class Calibration(NamedTuple):
    """How well the model predicted the random pairs, and how well it expected to."""

    agreement: Estimate  # the share of right predictions
    expected: float | None  # the share that the model expected
    auc: Estimate


def measure_calibration(predictions: Floats, outcomes: Floats, is_random: npt.NDArray[np.bool_]) -> Calibration:
    """Measure how well answers to random pairs were predicted.

    Parameters
    ----------
    predictions : P(first preferred) of each answer before it was given; NaN where there was no model.
    outcomes : +1, -1, or 0 for a tie.
    is_random : which answers are to random pairs. Ties and undecided predictions are left out.
    """
    used = is_random & np.isfinite(predictions) & (predictions != 0.5) & (outcomes != 0)
    p, won = predictions[used], outcomes[used] > 0
    if len(p) < MIN_PAIRS:
        return Calibration(Estimate(len(p)), None, Estimate(len(p)))
    favourite = np.maximum(p, 1 - p)
    right = share(int(np.sum((p > 0.5) == won)), len(p))
    return Calibration(right, float(favourite.mean()), auc(p - 0.5, np.where(won, 1.0, -1.0)))


class SharedPairs(NamedTuple):
    """How often raters agree with the rater who answered a pair first."""

    agreement: Estimate
    expected: float | None  # the share of agreement that the model expected


def measure_shared_pairs(answers: pd.DataFrame, predictions: Floats) -> SharedPairs:
    """Measure how often raters agree with the first rater of a pair, and how often the model had expected it.

    `answers` has the columns of `load_answers`, in order. `predictions` has P(first preferred) of each answer
    before it was given (NaN: no prediction). Ties are left out. Which pairs are answered again may depend on earlier
    answers, but not on later ones. So if the model is right, the agreements less their expectations are a martingale
    whatever the design, and each agreement counts by itself. The model mostly knew the first answer. Where it did
    not, it expects too little agreement, which raises no alarm.
    """
    frame = answers.reset_index(drop=True).assign(prediction=predictions)
    frame = frame[frame["outcome"] != 0]
    first = frame.groupby(["first", "second"])[["outcome", "rater"]].transform("first")
    others = frame[(frame["rater"] != first["rater"]) & frame["prediction"].notna()]
    count = len(others)
    if count < MIN_PAIRS:
        return SharedPairs(Estimate(count), None)
    p, first_outcome = others["prediction"], first.loc[others.index, "outcome"]
    agreeing = int((others["outcome"] == first_outcome).sum())
    return SharedPairs(share(agreeing, count), float(np.where(first_outcome > 0, p, 1 - p).mean()))


def share(right: int, count: int) -> Estimate:
    """Estimate a share from counts, with Wilson's interval."""
    ends = binomtest(right, count).proportion_ci(INTERVAL_LEVEL, method="wilson")
    return Estimate(count, right / count, float(ends.low), float(ends.high))


def auc(gaps: Floats, outcomes: Floats) -> Estimate:
    """Estimate the AUC of comparisons and their mirror images, with the interval of Newcombe (2006, method 5).

    The ends of the interval are where |AUC - a| = z sqrt(V(a)), with the variance of Hanley and McNeil. A comparison
    and its mirror image are one observation, so n comparisons tell as much as n/2 of each kind would, and V(1/2) is
    about 1/(3n), the variance of the signed rank statistic.
    """
    count = len(gaps)
    value = auc_of_comparisons(outcomes, gaps, np.ones(count))
    half, z = count / 2, ndtri((1 + INTERVAL_LEVEL) / 2)

    def excess(a: float) -> float:
        variance = a * (1 - a) * (1 + (half - 1) * ((1 - a) / (2 - a) + a / (1 + a))) / half**2
        return float((value - a) ** 2 - z**2 * variance)

    # At 0 and 1 the variance is 0, which makes them roots without a meaning.
    low = brentq(excess, 0.0, min(value, 1 - 1e-9)) if value > 0 else 0.0
    high = brentq(excess, max(value, 1e-9), 1.0) if value < 1 else 1.0
    return Estimate(count, value, float(low), float(high))


def consistency(snapshot: CampaignSnapshot, calibration: Calibration) -> str:
    """Return whether the answers look like coin flips: COIN_FLIPS, CONSISTENT, or UNDECIDED if nothing shows yet.

    Answers are consistent if random pairs were predicted better than by chance, or if the model with the best
    variances makes them 20 times as likely as coin flips. They are coin flips if coins make them 20 times as likely
    as people would whose item scores have a standard deviation of 1; such people agree with the true order of 73% of
    all pairs. Likelihoods do not depend on how pairs were chosen.
    """
    count = len(snapshot.answers)
    if count < MIN_ANSWERS_FOR_CONSISTENCY or (
        calibration.agreement.low is not None and calibration.agreement.low > 0.5
    ):
        return CONSISTENT
    data = evidence(snapshot)
    answers = {"comparisons": data["comparisons"], "outcomes": as_words(data["outcomes"])}
    coins = count * np.log(0.5)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        if BradleyTerryGP().fit(snapshot.features, **answers).evidence_ - coins >= STRONG_EVIDENCE_NATS:
            return CONSISTENT
        people = BradleyTerryGP(linear=False, smooth=False, items=1.0)
        people.fit(None, n_items=len(snapshot.features), **answers)
    return COIN_FLIPS if coins - people.evidence_ >= STRONG_EVIDENCE_NATS else UNDECIDED
