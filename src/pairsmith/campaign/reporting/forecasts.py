"""What more answers would bring, by simulations: they take seconds to minutes, and are made now and then.

A forecast carries the name of the answers it was made from. A report uses it only while the campaign's answers still
begin with these, and starts it at its own doubt: `anchor`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.reporting.history import begins_with, name_of
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Ints
from pairsmith.data.candidates import WithinGroups, remaining_pairs
from pairsmith.forecasting import first_at, forecast

FEWEST = 40  # answers before which nothing is foretold: few answers hardly tell how far scores lie apart
GROWTH = 1.2  # so many times as many answers are worth another forecast
LEAST_AHEAD = 100  # answers; else as many as there were so far
TARGETS = (0.2, 0.1, 0.05)  # of doubt
NEAREST = 1e-5  # doubt is kept so far from 0 and 1 before its logit is taken


def due(outlook: dict[str, Any] | None, answers: int) -> bool:
    """Whether it is time for another forecast."""
    if answers < FEWEST:
        return False
    return outlook is None or answers >= GROWTH * outlook["from"] or answers < outlook["from"]


def foretell(snapshot: CampaignSnapshot) -> dict[str, Any]:
    """Doubt to come, as plain JSON.

    from     answers that there were at the time
    of       their name, see `history.name_of`
    points   [answers, low end, middle and high end of the doubt that the model will claim], from now on
    """
    answers, X = len(snapshot.answers), snapshot.features
    found: dict[str, Any] = {"from": answers, "of": name_of(snapshot), "points": []}
    model = fit_model(snapshot)
    if model is None or pairs_left(snapshot) == 0:
        return found
    ahead = max(LEAST_AHEAD, answers)
    foretold = forecast(
        X.reset_index(drop=True) if X.shape[1] else None,
        model=model,
        answers=(ahead // 4, ahead // 2, ahead),
        candidates=None if snapshot.groups is None else WithinGroups(snapshot.groups),
        ask_again=snapshot.asks_again,
        n_jobs=1,
    )
    ends = zip(foretold.answers.tolist(), *(end.tolist() for end in foretold.interval("doubt")), strict=True)
    found["points"] = [[answers + more, *(round(end, 5) for end in doubt)] for more, *doubt in ends]
    return found


def anchor(outlook: dict[str, Any] | None, snapshot: CampaignSnapshot, doubt: float) -> dict[str, Any] | None:
    """Return the forecast as it looks from this snapshot, whose doubt is given; None if it does not apply to it.

    A forecast does not apply if some of its answers no longer count or others were put between them, or if there are
    as many answers by now as it foretold. The logit of doubt is taken for a random walk: what happened since moves the
    rest of the forecast as a whole, and its share of the variance is gone.

    from     answers that there are now
    points   as of `foretell`; the first is the doubt given
    needed   [doubt, more answers that it takes, at least, at most]; null: more than were simulated
    """
    if outlook is None or not begins_with(snapshot, outlook["from"], outlook.get("of")):
        return None
    answers = len(snapshot.answers)
    found: dict[str, Any] = {"from": answers, "points": [], "needed": []}
    if not outlook["points"]:  # nothing was left to ask
        return found
    at, *ends = np.array(outlook["points"], dtype=np.float64).T
    low, middle, high = logit(np.clip(ends, NEAREST, 1 - NEAREST))
    variance = ((high - low) / 2) ** 2
    ahead = at > answers
    if not ahead.any():
        return None
    moved = middle[ahead] + logit(np.clip(doubt, NEAREST, 1 - NEAREST)) - np.interp(answers, at, middle)
    width = np.sqrt(np.maximum(variance[ahead] - np.interp(answers, at, variance), 0))
    more = np.concatenate([[0], at[ahead] - answers]).astype(np.int64)
    curves = [np.concatenate([[doubt], expit(curve)]) for curve in (moved - width, moved, moved + width)]
    found["points"] = [
        [answers + number, *(round(float(end), 5) for end in each)]
        for number, *each in zip(more.tolist(), *curves, strict=True)
    ]
    low, middle, high = curves
    found["needed"] = [
        [target, *(first_at(more, curve, target) for curve in (middle, low, high))]
        for target in TARGETS
        if target < doubt
    ]
    return found


def pairs_left(snapshot: CampaignSnapshot) -> int:
    """Pairs that may be asked: those that nobody has answered, or all where the design may ask a pair again."""
    groups = None if snapshot.groups is None else WithinGroups(snapshot.groups)
    answered: Ints = snapshot.answers[["first", "second"]].drop_duplicates().to_numpy()
    return remaining_pairs(groups, len(snapshot.features), answered[:0] if snapshot.asks_again else answered).at_most()
