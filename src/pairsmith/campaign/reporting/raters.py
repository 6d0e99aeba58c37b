"""How each rater answers compared with the others, and who seems to answer at random or by side.

Nobody is flagged for a few answers, or for answers to pairs that are hard to tell apart.

At random: let l_0 be the likelihood of a rater's answers if left is chosen with a fixed probability whatever is shown,
averaged over Jeffreys' prior of that probability, and with one half where the side is unknown. Let l_1 be their
likelihood if left is chosen with probability sigma(slope g + bias), where g = f_left - f_right according to all other
answers, averaged over the slopes of raters around the median of the other raters' slopes, because a slope is relative
to theirs. For raters who answer as l_1 says, l_0 / l_1 has mean 1, so that by Markov's inequality it exceeds c for at
most one rater in c (nearly so, because each g was estimated from the answers to other pairs). Here c is 20.

One-sided: a rater is flagged if the share of left is beyond `TOLERATED_SIDE_BIAS` from one half by more than chance, in
a binomial test corrected for the number of raters. For detection rates and false alarms, see experiments/raters.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaln, logsumexp, ndtri
from scipy.stats import binomtest

from pairsmith.campaign.learning import evidence
from pairsmith.campaign.reporting.agreement import wilson
from pairsmith.campaign.reporting.calibration import MIN_PAIRS
from pairsmith.campaign.store.schema import CHANGED, RANDOM
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Floats
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.model.logistic import average

FALSE_ALARM_RATE = 0.05  # "looks random" for each rater, "looks one-sided" for any of them
MIN_ANSWERS_FOR_SIDE = 6  # a coin gives five answers on one side in 6% of all cases, and six in 3%
TOLERATED_SIDE_BIAS = 0.1  # the share of left may be this far from one half
_LOG_SLOPE_DEVIATION = 0.5  # of raters relative to each other
_SLOPES = np.exp(_LOG_SLOPE_DEVIATION * ndtri((np.arange(12) + 0.5) / 12))  # equally likely a priori


def rate_raters(snapshot: CampaignSnapshot, model: BradleyTerryGP, predictions: Floats) -> list[dict[str, Any]]:
    """Return a row for each rater, those with the most answers first.

    Parameters
    ----------
    snapshot : the campaign.
    model : the model fitted to the snapshot.
    predictions : P(first preferred) of each answer before it was given; NaN where there was no model.

    Returns
    -------
    Rows with the keys

    name, answers
    seconds : the median time of an answer
    share_left : among the answers whose sides are known, without ties; None below MIN_ANSWERS_FOR_SIDE
    foretold : the share of answers to random pairs that were predicted, see `calibration`; a coin has one half
    agrees_on_repeated : the share of other answers to the same pairs that are the same
    slope, bias : with their errors, see `pairsmith.model.raters`; the slope is None for a single rater, because it is
        relative to the other raters
    infit : see `pairsmith.model.raters`
    flags : reasons to look at this rater

    The two shares come with their 90% intervals.
    """
    if model.raters_ is None:
        return []
    frame = snapshot.answers.reset_index(drop=True)
    frame["agreement"] = _agreement_on_repeated(frame)
    left_out, shown = model.leave_one_out_, evidence(snapshot)["outcomes"]
    frame = frame.assign(gap=left_out["gap"], error=left_out["error"], shown=shown, prediction=predictions)
    count = frame["rater"].nunique()
    rows = [
        _row(own, model.raters_.loc[name], count, _usual_slope(model.raters_["slope"].drop(name)))
        for name, own in frame.groupby("rater")
    ]
    return sorted(rows, key=lambda row: -row["answers"])


def _usual_slope(others: pd.Series) -> float:
    """Return the median slope of the others; the model's own, 1, for a single other, who may flip coins."""
    return float(others.median()) if len(others) > 1 else 1.0


def _row(own: pd.DataFrame, rater: Any, count: int, usual_slope: float) -> dict[str, Any]:
    """Return the row of one of `count` raters, from their own answers."""
    sided = own[~own["elsewhere"] & (own["outcome"] != 0)]
    left, total = int((sided["shown"] > 0).sum()), len(sided)
    is_predicted = own["prediction"].notna() & (own["prediction"] != 0.5)
    random = own[(own["why"] == RANDOM) & (own["outcome"] != 0) & is_predicted]
    right = int(((random["prediction"] > 0.5) == (random["outcome"] > 0)).sum())
    repeated = own.groupby(["first", "second"])["agreement"].mean().dropna()
    flags = []
    if _looks_random(own, rater["bias"], usual_slope):
        has_enough = len(random) >= MIN_PAIRS
        proof = f" ({right} of {len(random)} random pairs were predicted right; a coin has half)" if has_enough else ""
        flags.append(f"looks random: the answers depend on the items as little as coin flips{proof}")
    if total and _is_one_sided(left, total, count):
        side, share = ("left", left / total) if left > total / 2 else ("right", 1 - left / total)
        flags.append(f"looks one-sided: {share:.0%} of {total} answers are for the item shown {side}")
    return {
        "name": own["rater"].iloc[0],
        "answers": len(own),
        "seconds": _number(own["seconds"].dropna().median()),
        "share_left": _number(left / total if total >= MIN_ANSWERS_FOR_SIDE else np.nan),
        "foretold": _interval(right, len(random)),
        "agrees_on_repeated": _interval(float(repeated.sum()), len(repeated)),
        "slope": _with_error(rater["slope"], rater["slope_error"]) if count > 1 else None,
        "bias": _with_error(rater["bias"], rater["bias_error"]),
        "infit": _number(rater["infit"]),
        "flags": flags,
    }


def _agreement_on_repeated(answers: pd.DataFrame) -> Floats:
    """Return for each answer the share of other answers to its pair that are the same; NaN if there is no other.

    Ties of programs that answered differently from each side are not verdicts, so they neither agree nor disagree.
    """
    is_verdict = (answers["comment"] != CHANGED).to_numpy()
    answers = answers[is_verdict]
    pair = answers.groupby(["first", "second"])["outcome"]
    others = pair.transform("size").to_numpy(dtype=np.float64) - 1
    same = answers.groupby(["first", "second", "outcome"])["outcome"].transform("size").to_numpy() - 1
    agreement: Floats = np.full(len(is_verdict), np.nan)
    agreement[is_verdict] = np.divide(same, others, out=np.full(len(answers), np.nan), where=others > 0)
    return agreement


def _looks_random(own: pd.DataFrame, bias: float, usual_slope: float) -> bool:
    """Return whether l_0 / l_1 of these answers exceeds 1 / FALSE_ALARM_RATE."""
    used = own[np.isfinite(own["gap"])]
    won = (used["shown"].to_numpy() + 1) / 2  # a tie is half a win each way
    sided = ~used["elsewhere"].to_numpy(dtype=bool)
    gap, error = usual_slope * used["gap"].to_numpy(), usual_slope * used["error"].to_numpy()
    by_items = _log_likelihood_by_items(won, gap, error, np.where(sided, bias, 0.0))
    by_side = _log_likelihood_by_side(won[sided]) + np.sum(~sided) * np.log(0.5)
    return bool(by_side - by_items > -np.log(FALSE_ALARM_RATE))


def _log_likelihood_by_side(won: Floats) -> float:
    """Return log l_0 = log B(left + 1/2, right + 1/2) / B(1/2, 1/2), with B the beta function."""
    left = won.sum()
    return float(betaln(left + 0.5, len(won) - left + 0.5) - betaln(0.5, 0.5))


def _log_likelihood_by_items(won: Floats, gap: Floats, error: Floats, bias: Floats | float) -> float:
    """Return log l_1, given gaps with these standard errors."""
    each = [_log_likelihood(won, slope * gap + bias, slope * error) for slope in _SLOPES]
    return float(logsumexp(each) - np.log(len(_SLOPES)))


def _log_likelihood(won: Floats, mean: Floats, deviation: Floats) -> float:
    """Return the log-likelihood of answers whose logits have this mean and standard deviation."""
    # Each side separately: 1 - p would underflow to 0 where p is almost 1.
    each = [np.log(np.maximum(average(side * mean, deviation), 1e-300)) for side in (1, -1)]
    return float(np.sum(won * each[0] + (1 - won) * each[1]))


def _is_one_sided(left: int, total: int, count: int) -> bool:
    most = max(left, total - left)
    return bool(
        binomtest(most, total, 0.5 + TOLERATED_SIDE_BIAS, alternative="greater").pvalue < FALSE_ALARM_RATE / 2 / count
    )


def _interval(same: float, count: int) -> list[float] | None:
    """Return a share with its 90% Wilson interval; None without any trial.

    A pair counts as one trial however many others answered it, because their agreements are not independent. So the
    interval is too wide rather than too narrow.
    """
    if count == 0:
        return None
    return [round(value, 3) for value in (same / count, *wilson(same / count, count))]


def _with_error(value: float, error: float) -> list[float] | None:
    return None if np.isnan(value) else [round(float(value), 3), round(float(error), 3)]


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else round(float(value), 3)
