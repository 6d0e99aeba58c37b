"""How each rater answers, beside the others, and who looks as if they answered at random or by side.

Nobody is flagged for a few answers, or for answers to pairs that are hard to tell apart. At random: let l_0 be the
likelihood of the answers where left is chosen with one probability whatever is shown, averaged over Jeffreys' prior of
it, and with a half where nobody knows what was left. Let l_1 be the likelihood where left is chosen with the
probability sigma(slope g + bias), g = f_left - f_right as all other answers have it, averaged over slopes that
raters have: around the median of the others', as a slope is one beside theirs. Of those who answer as l_1 says,
l_0 / l_1 > c holds for one in c at most, as its mean is 1 (Markov's inequality; nearly so, as each g was found with the
answers to other pairs); c is 20.
One-sided: the share of left is so far beyond TOLERATED of a half that a binomial test, corrected for the number of
raters, does not take it for chance. What that finds, and whom it flags for nothing: experiments/raters.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaln, logsumexp, ndtri
from scipy.stats import binomtest

from pairsmith.campaign.learning import evidence
from pairsmith.campaign.reporting.agreement import wilson
from pairsmith.campaign.reporting.calibration import ENOUGH
from pairsmith.campaign.store.schema import CHANGED, RANDOM
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Floats
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.model.logistic import average

LEVEL = 0.05  # the chance of a flag for nothing: at random of each rater, one-sided of any
FEWEST_SIDED = 6  # answers for a share of left: a coin gives five on one side in 6% of all cases, six in 3%
TOLERATED = 0.1  # so far from a half the share of left may be
_WIDTH = 0.5  # standard deviation of the log slope of raters beside each other
_SLOPES = np.exp(_WIDTH * ndtri((np.arange(12) + 0.5) / 12))  # each as likely beforehand


def rate(snapshot: CampaignSnapshot, model: BradleyTerryGP, told: Floats) -> list[dict[str, Any]]:
    """A row for each rater, those with the most answers first; `model` is that of the snapshot.

    `told` has P(first preferred) of each answer, as it was foretold before it was given (NaN: it was not).

    answers; median seconds; share_left, of the answers whose sides are known, without ties, None of fewer than
    FEWEST_SIDED; foretold, the share of the answers to random pairs that were foretold, as in `yardstick`: a coin has a
    half of them; agrees_on_repeated, the share of other answers to the same pairs that are the same; both with their
    90% intervals; slope and bias with their errors, and infit, see `pairsmith.model.raters`; `flags`, why somebody
    should be looked at. A slope is said of several only, as it is one beside others'.
    """
    if model.raters_ is None:
        return []
    frame = snapshot.answers.reset_index(drop=True)
    frame["agreement"] = _agreement_on_repeated(frame)
    left_out, shown = model.left_out_, evidence(snapshot)["outcomes"]
    frame = frame.assign(gap=left_out["gap"], error=left_out["error"], shown=shown, told=told)
    count = frame["rater"].nunique()
    rows = [
        _row(own, model.raters_.loc[name], count, _usual_slope(model.raters_["slope"].drop(name)))
        for name, own in frame.groupby("rater")
    ]
    return sorted(rows, key=lambda row: -row["answers"])


def _usual_slope(others: pd.Series) -> float:
    """Of one more rater: with one other alone, who may be the one who throws a coin, the model's own."""
    return float(others.median()) if len(others) > 1 else 1.0


def _row(own: pd.DataFrame, rater: Any, count: int, usual_slope: float) -> dict[str, Any]:
    """The row of a rater, one of so many, with these answers."""
    sided = own[~own["elsewhere"] & (own["outcome"] != 0)]
    left, total = int((sided["shown"] > 0).sum()), len(sided)
    random = own[(own["why"] == RANDOM) & (own["outcome"] != 0) & own["told"].notna() & (own["told"] != 0.5)]
    right = int(((random["told"] > 0.5) == (random["outcome"] > 0)).sum())
    repeated = own.groupby(["first", "second"])["agreement"].mean().dropna()
    flags = []
    if _at_random(own, rater["bias"], usual_slope):
        enough = len(random) >= ENOUGH
        so_many = f" ({right} of {len(random)} random pairs came out as foretold; a coin has half)" if enough else ""
        flags.append(f"looks random: the answers have as little to do with the items as a coin{so_many}")
    if total and _one_sided(left, total, count):
        side, share = ("left", left / total) if left > total / 2 else ("right", 1 - left / total)
        flags.append(f"looks one-sided: {share:.0%} of {total} answers are for what was shown {side}")
    return {
        "name": own["rater"].iloc[0],
        "answers": len(own),
        "seconds": _number(own["seconds"].dropna().median()),
        "share_left": _number(left / total if total >= FEWEST_SIDED else np.nan),
        "foretold": _interval(right, len(random)),
        "agrees_on_repeated": _interval(float(repeated.sum()), len(repeated)),
        "slope": _with_error(rater["slope"], rater["slope_error"]) if count > 1 else None,
        "bias": _with_error(rater["bias"], rater["bias_error"]),
        "infit": _number(rater["infit"]),
        "flags": flags,
    }


def _agreement_on_repeated(given: pd.DataFrame) -> Floats:
    """Return for each answer the share of the other answers to its pair that are the same; NaN where there is no other.

    The ties of programs that answered differently from each side are no verdicts, and so count for nobody.
    """
    verdict = (given["comment"] != CHANGED).to_numpy()
    given = given[verdict]
    pair = given.groupby(["first", "second"])["outcome"]
    others = pair.transform("size").to_numpy(dtype=np.float64) - 1
    same = given.groupby(["first", "second", "outcome"])["outcome"].transform("size").to_numpy() - 1
    found: Floats = np.full(len(verdict), np.nan)
    found[verdict] = np.divide(same, others, out=np.full(len(given), np.nan), where=others > 0)
    return found


def _at_random(own: pd.DataFrame, bias: float, usual_slope: float) -> bool:
    """Whether l_0 / l_1 of these answers is more than 1 / LEVEL."""
    known = own[np.isfinite(own["gap"])]
    won = (known["shown"].to_numpy() + 1) / 2  # a tie is half a win each way
    sided = ~known["elsewhere"].to_numpy(dtype=bool)
    gap, error = usual_slope * known["gap"].to_numpy(), usual_slope * known["error"].to_numpy()
    by_items = _by_items(won, gap, error, np.where(sided, bias, 0.0))
    by_side = _by_side(won[sided]) + np.sum(~sided) * np.log(0.5)
    return bool(by_side - by_items > -np.log(LEVEL))


def _by_side(won: Floats) -> float:
    """log l_0 = log B(left + 1/2, right + 1/2) / B(1/2, 1/2), with B the beta function."""
    left = won.sum()
    return float(betaln(left + 0.5, len(won) - left + 0.5) - betaln(0.5, 0.5))


def _by_items(won: Floats, gap: Floats, error: Floats, bias: Floats | float) -> float:
    """log l_1, where gaps are known with this error."""
    each = [_log_likelihood(won, slope * gap + bias, slope * error) for slope in _SLOPES]
    return float(logsumexp(each) - np.log(len(_SLOPES)))


def _log_likelihood(won: Floats, mean: Floats, deviation: Floats) -> float:
    """Of answers by gaps with this mean and deviation; each side by itself, as 1 - p is 0 where p is almost 1."""
    each = [np.log(np.maximum(average(side * mean, deviation), 1e-300)) for side in (1, -1)]
    return float(np.sum(won * each[0] + (1 - won) * each[1]))


def _one_sided(left: int, total: int, count: int) -> bool:
    most = max(left, total - left)
    return bool(binomtest(most, total, 0.5 + TOLERATED, alternative="greater").pvalue < LEVEL / 2 / count)


def _interval(same: float, count: int) -> list[float] | None:
    """A share with its 90% interval by Wilson; None of nothing.

    A pair counts once, however many others answered it, as these agreements are not independent: so it errs on the wide
    side.
    """
    if count == 0:
        return None
    return [round(value, 3) for value in (same / count, *wilson(same / count, count))]


def _with_error(value: float, error: float) -> list[float] | None:
    return None if np.isnan(value) else [round(float(value), 3), round(float(error), 3)]


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else round(float(value), 3)
