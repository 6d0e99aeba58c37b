"""How the model came to know what it knows: its doubt at the time, and what it said of answers before they were given.

A campaign's answers are gone through from the first to the last, a model being fitted at *marks*, which are so few that
this can be afforded, and each answer is *foretold* by the model of the last fit before it. What was found out is kept,
so that a report fits one model or two; in the database too, so that a server that starts again need not begin again.
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

POINTS, STEP = 12, 4  # a curve has so many points at most, so many answers apart at least
AT_A_TIME = 3  # marks that a report adds to those before: where answers come faster than models, the rest is left out


@dataclass
class Memory:
    """What one report leaves to the next."""

    model: BradleyTerryGP | None = None  # the last one, to go on from
    model_of: str = ""  # the answers that it was fitted to, by their name
    fitted: int = 0  # how many these are
    doubts: dict[str, float] = field(default_factory=dict)  # that were claimed, by the names of the answers
    foretold: Floats = field(
        default_factory=lambda: np.zeros(0)
    )  # of each answer, P(first preferred); NaN: of no model
    outlook: dict[str, Any] | None = None  # the last forecast, see `outlook`
    consistency: tuple[int, str, str] | None = None  # of how many answers, their name, and what was found

    def to_json(self) -> dict[str, Any]:
        """All that is worth keeping when the process ends."""
        told = [None if np.isnan(p) else round(float(p), 4) for p in self.foretold]
        return {"doubts": self.doubts, "foretold": told}

    @classmethod
    def from_json(cls, kept: dict[str, Any] | None, outlook: dict[str, Any] | None = None) -> Memory:
        if not kept:
            return cls(outlook=outlook)
        return cls(doubts=kept["doubts"], foretold=np.array(kept["foretold"], dtype=np.float64), outlook=outlook)


def follow(snapshot: CampaignSnapshot, memory: Memory) -> list[tuple[int, float]]:
    """Bring the memory up to these answers: the number of answers at each mark, and the doubt that was claimed there.

    Afterwards `memory.model` is the model of all answers, None where there is neither answer nor label.
    """
    total = len(snapshot.answers)
    step = STEP
    while total > POINTS * step:  # so that marks stay where they are as answers come in
        step *= 2
    marks = sorted({*range(step, total + 1, step), total})
    names = {mark: name_of(first_answers(snapshot, mark)) for mark in marks}
    _go_back(snapshot, memory, names)
    new = [mark for mark in marks if mark > memory.fitted or memory.model is None]
    if memory.model is not None:
        new = new[-1 :: -max(1, -(-len(new) // AT_A_TIME))][::-1]
    for mark in new:
        _foretell(snapshot, memory, mark)
        _fit(snapshot, memory, mark, names[mark])
        if memory.model is not None:
            memory.doubts[names[mark]] = memory.model.certainty(snapshot.features, snapshot.groups)[0]
    memory.doubts = {name: memory.doubts[name] for name in names.values() if name in memory.doubts}
    return [(mark, memory.doubts[name]) for mark, name in names.items() if mark > 0 and name in memory.doubts]


def _go_back(snapshot: CampaignSnapshot, memory: Memory, names: dict[int, str]) -> None:
    """Forget what is not about these answers: some may have been taken back, or come in from elsewhere."""
    known = max(
        (mark for mark, name in names.items() if name in memory.doubts and mark <= len(memory.foretold)), default=0
    )
    last = max((mark for mark in names if mark <= memory.fitted), default=0)
    ahead = memory.model is not None and known >= last and memory.fitted <= len(snapshot.answers)
    if ahead and begins_with(snapshot, memory.fitted, memory.model_of):
        return
    memory.foretold, memory.fitted, memory.model_of = memory.foretold[:known], 0, ""
    if known:
        _fit(snapshot, memory, known, names[known])
    else:
        memory.model = None


def _foretell(snapshot: CampaignSnapshot, memory: Memory, upto: int) -> None:
    """What the model says of the answers from those it was fitted to up to these."""
    if memory.model is None and len(snapshot.labels):
        _fit(snapshot, memory, 0, "")
    pairs = snapshot.answers[["first", "second"]].to_numpy()[memory.fitted : upto]
    told = np.full(len(pairs), np.nan)
    if memory.model is not None and len(pairs):
        told = memory.model.compare(snapshot.features, pairs)
    memory.foretold = np.concatenate([memory.foretold[: memory.fitted], told])


def _fit(snapshot: CampaignSnapshot, memory: Memory, count: int, name: str) -> None:
    memory.model = fit_model(first_answers(snapshot, count), memory.model)
    memory.fitted, memory.model_of = count, name


def first_answers(snapshot: CampaignSnapshot, count: int) -> CampaignSnapshot:
    """As if there were only so many answers."""
    return replace(snapshot, answers=snapshot.answers[:count])


def begins_with(snapshot: CampaignSnapshot, count: int, name: str | None) -> bool:
    """Return whether the first `count` answers are those of this name."""
    return count <= len(snapshot.answers) and name_of(first_answers(snapshot, count)) == name


def name_of(snapshot: CampaignSnapshot) -> str:
    """The same for the same answers about as many items."""
    told = snapshot.answers[["first", "second", "outcome", "left", "rater", "strength"]]
    rows = pd.util.hash_pandas_object(told, index=False).to_numpy()
    return hashlib.sha256(rows.tobytes() + b"%d" % len(snapshot.features)).hexdigest()
