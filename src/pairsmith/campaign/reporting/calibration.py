"""How far the model's figures can be trusted: what it said of answers before they were given, and whether they agree.

Pairs that a design chooses are close ones, on which anybody errs, and which depend on earlier answers: an answer that
is left out is betrayed by what was asked after it. So the yardstick is made of the pairs that were drawn at random,
and each of them was predicted by a model of the answers before it (prequentially, Dawid 1984). Then the number of right
predictions is binomial where people answer by coin flips, whatever the design.
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

LEVEL = 0.95  # of the intervals
# Pairs for a figure. People agree with the true order of some 73% of all pairs, see `consistency`; of fewer pairs the
# interval around a coin's half (33% to 67% of 20) would reach there, and the figure could not tell the two apart.
ENOUGH = 20
FEWEST = 100  # answers before which nobody asks whether they contradict each other
STRONG = np.log(20.0)  # nats: twenty times as likely is strong evidence (Kass and Raftery 1995)


class Measured(NamedTuple):
    """A figure with its interval; `value` is None where `number` is too few to tell."""

    number: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


class Yardstick(NamedTuple):
    """Of the random pairs: the share predicted right, the share that the model expected to be, and the AUC."""

    agreement: Measured
    expected: float | None
    auc: Measured


def measure(foretold: Floats, outcomes: Floats, random: npt.NDArray[np.bool_]) -> Yardstick:
    """The yardstick, from P(first preferred) as it was foretold (NaN: not at all), outcomes, and which were random."""
    used = random & np.isfinite(foretold) & (foretold != 0.5) & (outcomes != 0)
    p, won = foretold[used], outcomes[used] > 0
    if len(p) < ENOUGH:
        return Yardstick(Measured(len(p)), None, Measured(len(p)))
    favourite = np.maximum(p, 1 - p)
    return Yardstick(
        share(int(np.sum((p > 0.5) == won)), len(p)), float(favourite.mean()), auc(p - 0.5, np.where(won, 1.0, -1.0))
    )


class SharedPairs(NamedTuple):
    """Of answers to pairs that another rater had answered: the share that agree, and the share the model expected."""

    agreement: Measured
    expected: float | None


def measure_shared(given: pd.DataFrame, foretold: Floats) -> SharedPairs:
    """Measure how often raters agree with the first rater of a pair, and how often the model had expected it.

    `given` has answers as `load_answers` does, in order, and `foretold` P(first preferred) of each, as it was
    foretold before the answer was given (NaN: not at all). A tie is no answer here. Which pairs are answered again may
    depend on earlier answers, but not on later ones: if the model is right, agreements less their expectations are a
    martingale whatever the design, so each counts by itself. The model mostly knew the first answer; where it did not,
    it expects too little agreement, which raises no alarm.
    """
    frame = given.reset_index(drop=True).assign(foretold=foretold)
    frame = frame[frame["outcome"] != 0]
    first = frame.groupby(["first", "second"])[["outcome", "rater"]].transform("first")
    others = frame[(frame["rater"] != first["rater"]) & frame["foretold"].notna()]
    count = len(others)
    if count < ENOUGH:
        return SharedPairs(Measured(count), None)
    p, before = others["foretold"], first.loc[others.index, "outcome"]
    agree = int((others["outcome"] == before).sum())
    return SharedPairs(share(agree, count), float(np.where(before > 0, p, 1 - p).mean()))


def share(right: int, count: int) -> Measured:
    """So many of so many, with Wilson's interval."""
    ends = binomtest(right, count).proportion_ci(LEVEL, method="wilson")
    return Measured(count, right / count, float(ends.low), float(ends.high))


def auc(gaps: Floats, outcomes: Floats) -> Measured:
    """The AUC of comparisons and their mirror images, with the interval of Newcombe (2006, method 5).

    Its ends are where |AUC - a| = z sqrt(V(a)), with the variance of Hanley and McNeil. A comparison and its mirror
    image are one observation: n comparisons tell as much as n/2 of each kind would, and V(1/2) is about 1/(3n), that
    of the signed rank statistic.
    """
    count = len(gaps)
    found = auc_of_comparisons(outcomes, gaps, np.ones(count))
    half, z = count / 2, ndtri((1 + LEVEL) / 2)

    def beyond(a: float) -> float:
        spread = a * (1 - a) * (1 + (half - 1) * ((1 - a) / (2 - a) + a / (1 + a))) / half**2
        return float((found - a) ** 2 - z**2 * spread)

    # At 0 and at 1 the variance is 0, and these are roots that mean nothing.
    low = brentq(beyond, 0.0, min(found, 1 - 1e-9)) if found > 0 else 0.0
    high = brentq(beyond, max(found, 1e-9), 1.0) if found < 1 else 1.0
    return Measured(count, found, float(low), float(high))


def consistency(snapshot: CampaignSnapshot, measured: Yardstick) -> str:
    """Whether the answers are as if coins had been flipped: "coins", "fine", or "open" where that does not show yet.

    Fine are answers of which random pairs were foretold better than by chance, and those that the model with the best
    variances makes 20 times as likely as coins do. Coins were flipped where they make the others 20 times as likely as
    people would whose scores of items have a standard deviation of 1: they agree with the true order of 73% of all
    pairs. Likelihoods do not depend on how pairs were chosen.
    """
    count = len(snapshot.answers)
    if count < FEWEST or (measured.agreement.low is not None and measured.agreement.low > 0.5):
        return "fine"
    given = evidence(snapshot)
    answers = {"comparisons": given["comparisons"], "outcomes": as_words(given["outcomes"])}
    coins = count * np.log(0.5)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        if BradleyTerryGP().fit(snapshot.features, **answers).evidence_ - coins >= STRONG:
            return "fine"
        usual = BradleyTerryGP(linear=False, smooth=False, items=1.0)
        usual.fit(None, n_items=len(snapshot.features), **answers)
    return "coins" if coins - usual.evidence_ >= STRONG else "open"
