"""What more answers would bring, by simulation. A simulation takes seconds to minutes, so it is made now and then.

A forecast carries the fingerprint of the answers it was made from. A report uses it only while the campaign's answers
still begin with these, and lets it start at the report's own doubt (see `anchor`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.reporting.history import begins_with, fingerprint
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Ints
from pairsmith.data.candidates import WithinGroups, remaining_pairs
from pairsmith.forecasting import first_crossing, forecast

MIN_ANSWERS = 40  # for a forecast: fewer hardly tell how far scores lie apart
REFRESH_RATIO = 1.2  # a forecast is made again after this many times as many answers
MIN_HORIZON = 100  # in answers; otherwise a forecast looks as many answers ahead as there are
DOUBT_TARGETS = (0.2, 0.1, 0.05)
LOGIT_MARGIN = 1e-5  # doubt is kept this far from 0 and 1 before its logit is taken


def is_due(forecast: dict[str, Any] | None, answers: int) -> bool:
    """Return whether it is time for another forecast."""
    if answers < MIN_ANSWERS:
        return False
    return forecast is None or answers >= REFRESH_RATIO * forecast["from"] or answers < forecast["from"]


def simulate(snapshot: CampaignSnapshot) -> dict[str, Any]:
    """Forecast the doubt after more answers, as plain JSON.

    from     the number of answers that the forecast was made from
    of       their fingerprint, see `history.fingerprint`
    points   [answers, low end, middle and high end of the doubt that the model will claim], from now on
    """
    answers, X = len(snapshot.answers), snapshot.features
    result: dict[str, Any] = {"from": answers, "of": fingerprint(snapshot), "points": []}
    model = fit_model(snapshot)
    if model is None or count_open_pairs(snapshot) == 0:
        return result
    horizon = max(MIN_HORIZON, answers)
    simulated = forecast(
        X.reset_index(drop=True) if X.shape[1] else None,
        model=model,
        answers=(horizon // 4, horizon // 2, horizon),
        candidates=None if snapshot.groups is None else WithinGroups(snapshot.groups),
        ask_again=snapshot.asks_again,
        n_jobs=1,
    )
    ends = zip(simulated.answers.tolist(), *(end.tolist() for end in simulated.interval("doubt")), strict=True)
    result["points"] = [[answers + more, *(round(end, 5) for end in doubt)] for more, *doubt in ends]
    return result


def anchor(forecast: dict[str, Any] | None, snapshot: CampaignSnapshot, doubt: float) -> dict[str, Any] | None:
    """Return the forecast as seen from this snapshot, whose doubt is given; None if it does not apply.

    A forecast does not apply if some of its answers no longer count, if others were put between them, or if as many
    answers have come in as it looked ahead. The logit of doubt is modelled as a random walk: its change since the
    forecast shifts the rest of the forecast as a whole, and removes that part of the variance.

    from     the number of answers now
    points   as in `simulate`; the first is the doubt given
    needed   [target doubt, more answers that it takes, at least, at most]; null: more than were simulated
    """
    if forecast is None or not begins_with(snapshot, forecast["from"], forecast.get("of")):
        return None
    answers = len(snapshot.answers)
    result: dict[str, Any] = {"from": answers, "points": [], "needed": []}
    if not forecast["points"]:  # no pair was left to ask
        return result
    at, *ends = np.array(forecast["points"], dtype=np.float64).T
    low, middle, high = logit(np.clip(ends, LOGIT_MARGIN, 1 - LOGIT_MARGIN))
    variance = ((high - low) / 2) ** 2
    ahead = at > answers
    if not ahead.any():
        return None
    shifted = middle[ahead] + logit(np.clip(doubt, LOGIT_MARGIN, 1 - LOGIT_MARGIN)) - np.interp(answers, at, middle)
    width = np.sqrt(np.maximum(variance[ahead] - np.interp(answers, at, variance), 0))
    more = np.concatenate([[0], at[ahead] - answers]).astype(np.int64)
    curves = [np.concatenate([[doubt], expit(curve)]) for curve in (shifted - width, shifted, shifted + width)]
    result["points"] = [
        [answers + number, *(round(float(end), 5) for end in each)]
        for number, *each in zip(more.tolist(), *curves, strict=True)
    ]
    low, middle, high = curves
    result["needed"] = [
        [target, *(first_crossing(more, curve, target) for curve in (middle, low, high))]
        for target in DOUBT_TARGETS
        if target < doubt
    ]
    return result


def count_open_pairs(snapshot: CampaignSnapshot) -> int:
    """Count the pairs that may be asked: those without an answer, or all if the design may ask a pair again."""
    groups = None if snapshot.groups is None else WithinGroups(snapshot.groups)
    answered: Ints = snapshot.answers[["first", "second"]].drop_duplicates().to_numpy()
    return remaining_pairs(
        groups, len(snapshot.features), answered[:0] if snapshot.asks_again else answered
    ).max_picks()
