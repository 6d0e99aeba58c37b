"""How the model came to know what it knows: the doubt it claimed at the time, and its predictions of later answers.

The history goes through a campaign's answers from first to last and fits a model at *marks*, which are few enough to
be affordable. The model of the last fit before an answer predicts it. The results are kept, so that a report fits only
one model or two. They are also stored in the database, so that a restarted server need not begin again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Floats
from pairsmith.model.gaussian_process import BradleyTerryGP

MAX_MARKS, MIN_ANSWERS_BETWEEN_MARKS = 12, 4
MAX_NEW_MARKS = 3  # per report; where answers come faster than models, the marks between are left out


@dataclass
class ReportState:
    """What one report of a question leaves to the next."""

    model: BradleyTerryGP | None = None  # of the last fit; the next fit starts from it
    model_fingerprint: str = ""  # of the answers that the model was fitted to
    n_fitted: int = 0  # how many answers the model was fitted to
    doubts: dict[str, float] = field(default_factory=dict)  # claimed at the marks, by fingerprint of the answers
    # P(first preferred) of each answer before it was given; NaN where there was no model.
    predictions: Floats = field(default_factory=lambda: np.zeros(0))
    forecast: dict[str, Any] | None = None  # the last one, as `forecasts.simulate` returns it
    consistency: tuple[int, str, str] | None = None  # number and fingerprint of the answers, and the result for them

    def to_json(self) -> dict[str, Any]:
        """Return what is worth keeping when the process ends, without the forecast."""
        predictions = [None if np.isnan(p) else round(float(p), 4) for p in self.predictions]
        return {"doubts": self.doubts, "foretold": predictions}

    @classmethod
    def from_json(cls, kept: dict[str, Any] | None, forecast: dict[str, Any] | None = None) -> ReportState:
        if not kept:
            return cls(forecast=forecast)
        predictions = np.array(kept["foretold"], dtype=np.float64)
        return cls(doubts=kept["doubts"], predictions=predictions, forecast=forecast)


def update_history(snapshot: CampaignSnapshot, state: ReportState) -> list[tuple[int, float]]:
    """Bring the state up to these answers, and return the number of answers and the claimed doubt at each mark.

    Afterwards `state.model` is the model of all answers, or None if there is neither an answer nor a label.
    """
    total = len(snapshot.answers)
    step = MIN_ANSWERS_BETWEEN_MARKS
    while total > MAX_MARKS * step:  # doubling keeps the remaining marks where they are as answers come in
        step *= 2
    marks = sorted({*range(step, total + 1, step), total})
    fingerprints = {mark: fingerprint(first_answers(snapshot, mark)) for mark in marks}
    _discard_outdated(snapshot, state, fingerprints)
    new = [mark for mark in marks if mark > state.n_fitted or state.model is None]
    if state.model is not None:
        new = new[-1 :: -max(1, -(-len(new) // MAX_NEW_MARKS))][::-1]
    for mark in new:
        _predict_answers(snapshot, state, mark)
        _fit(snapshot, state, mark, fingerprints[mark])
        if state.model is not None:
            state.doubts[fingerprints[mark]] = state.model.certainty(snapshot.features, snapshot.groups)[0]
    state.doubts = {each: state.doubts[each] for each in fingerprints.values() if each in state.doubts}
    return [(mark, state.doubts[each]) for mark, each in fingerprints.items() if mark > 0 and each in state.doubts]


def _discard_outdated(snapshot: CampaignSnapshot, state: ReportState, fingerprints: dict[int, str]) -> None:
    """Go back to the last mark before the answers changed: some may have been taken back or imported."""
    marks_with_doubt = (
        mark for mark, each in fingerprints.items() if each in state.doubts and mark <= len(state.predictions)
    )
    last_valid = max(marks_with_doubt, default=0)
    last_fitted = max((mark for mark in fingerprints if mark <= state.n_fitted), default=0)
    is_ahead = state.model is not None and last_valid >= last_fitted and state.n_fitted <= len(snapshot.answers)
    if is_ahead and begins_with(snapshot, state.n_fitted, state.model_fingerprint):
        return
    state.predictions, state.n_fitted, state.model_fingerprint = state.predictions[:last_valid], 0, ""
    if last_valid:
        _fit(snapshot, state, last_valid, fingerprints[last_valid])
    else:
        state.model = None


def _predict_answers(snapshot: CampaignSnapshot, state: ReportState, end: int) -> None:
    """Predict the answers from the last fit up to number `end`."""
    if state.model is None and len(snapshot.labels):
        _fit(snapshot, state, 0, "")
    pairs = snapshot.answers[["first", "second"]].to_numpy()[state.n_fitted : end]
    predictions = np.full(len(pairs), np.nan)
    if state.model is not None and len(pairs):
        predictions = state.model.compare(snapshot.features, pairs)
    state.predictions = np.concatenate([state.predictions[: state.n_fitted], predictions])


def _fit(snapshot: CampaignSnapshot, state: ReportState, count: int, answers_fingerprint: str) -> None:
    state.model = fit_model(first_answers(snapshot, count), state.model)
    state.n_fitted, state.model_fingerprint = count, answers_fingerprint


def first_answers(snapshot: CampaignSnapshot, count: int) -> CampaignSnapshot:
    """Return the snapshot with only its first `count` answers."""
    return replace(snapshot, answers=snapshot.answers[:count])


def begins_with(snapshot: CampaignSnapshot, count: int, answers_fingerprint: str | None) -> bool:
    """Return whether the first `count` answers have this fingerprint."""
    return count <= len(snapshot.answers) and fingerprint(first_answers(snapshot, count)) == answers_fingerprint


def fingerprint(snapshot: CampaignSnapshot) -> str:
    """Return a hash of the answers and the number of items."""
    hashed = snapshot.answers[["first", "second", "outcome", "left", "rater", "strength"]]
    rows = pd.util.hash_pandas_object(hashed, index=False).to_numpy()
    return hashlib.sha256(rows.tobytes() + b"%d" % len(snapshot.features)).hexdigest()
