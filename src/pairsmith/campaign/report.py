"""What the dashboard shows of the model: the ranking, how good it is, who agrees with whom, and whether to go on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign.agreement import judges_against_people
from pairsmith.campaign.dashboard import EMPTY_REPORT
from pairsmith.campaign.learning import evidence, fit_model
from pairsmith.campaign.raters import rate
from pairsmith.campaign.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import WithinGroups
from pairsmith.data.features import extremes, from_array
from pairsmith.data.ridge import as_ridge
from pairsmith.design.information import Design
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.model.logistic import auc_of_comparisons
from pairsmith.selection import select

POINTS, STEP = 12, 4  # a curve has so many points at most, so many answers apart at least
FEW = 40  # answers before which no advice is given
SURE, FAIRLY_SURE = 0.05, 0.1  # doubt at which a ranking is done, and at which it is where doubt hardly falls any more
LITTLE = 0.005  # doubt that falls by less than this over the last quarter of the answers has nearly stopped falling


@dataclass(frozen=True)
class Point:
    """What the model claimed after so many answers, and all that is needed to see how well it predicts others."""

    doubt: float
    scores: Floats  # of all items
    gaps: Floats  # of each of these answers, by the others: the mean of f_left - f_right


@dataclass
class Memory:
    """What one report leaves to the next: the last model, to go on from, and the points of the curve so far."""

    model: BradleyTerryGP | None = None
    model_of: str = ""  # the answers that it was fitted to
    points: dict[str, Point] = field(default_factory=dict)  # by the answers that they are of


def make_report(snapshot: CampaignSnapshot, memory: Memory | None = None) -> dict[str, Any]:
    """Everything that takes computing, as plain JSON; a model is fitted for each point that `memory` does not have."""
    memory = Memory() if memory is None else memory
    curve = _curve(snapshot, memory)
    model = _fitted(snapshot, memory)
    if model is None:
        return EMPTY_REPORT | {"advice": advise([])}
    return {
        "answers": len(snapshot.answers),
        "ranking": _ranking(model, snapshot),
        "curve": curve,
        "people": rate(snapshot, model),
        "judges": judges_against_people(snapshot.answers),
        "learned": {
            "doubt": round(model.doubt_, 5),
            "reliability": round(model.reliability_, 5),
            "explained": round(1 - model.shares_["items"], 5) if model.n_features_in_ else None,
        },
        "advice": advise(curve),
    }


def _ranking(model: BradleyTerryGP, snapshot: CampaignSnapshot) -> list[list[Any]]:
    """Of each item, best first: id, score, the ends of its 90% interval, and the best and worst rank it could have."""
    table = model.rank(snapshot.features)
    numbers = table[["score", "low", "high"]].to_numpy().round(6).tolist()
    ranks = table[["best", "worst"]].to_numpy().tolist()
    return [[name, *row, *ends] for name, row, ends in zip(table.index, numbers, ranks, strict=True)]


def _curve(snapshot: CampaignSnapshot, memory: Memory) -> list[dict[str, Any]]:
    """After so many answers: AUC, doubt in the ranking, log det gained, and by random pairs.

    The AUC is over all answers, each predicted without it: those that came later by the model of that time, the others
    by what it makes of all but them. Doubt is the chance that two items drawn at random stand in the wrong order, as
    was claimed at that time. log det counts distinct pairs, and labels, as the design does.
    """
    total = len(snapshot.answers)
    if total == 0:
        return []
    step = STEP
    while total > POINTS * step:  # so that points stay where they are as answers come in
        step *= 2
    marks = sorted({*range(step, total + 1, step), total})
    pairs = snapshot.answers[["first", "second"]].to_numpy()
    first_answers = pd.DataFrame(pairs).drop_duplicates().index.to_numpy()  # where each pair was answered first
    by_design, by_chance, start = _information(snapshot, pairs[first_answers])
    found, keys = [], []
    for mark in marks:
        before = replace(snapshot, answers=snapshot.answers[:mark])
        keys.append(_name_of(before))
        if keys[-1] not in memory.points:
            memory.points[keys[-1]] = _point(before, memory)
        point = memory.points[keys[-1]]
        distinct = int(np.searchsorted(first_answers, mark))
        found.append(
            {
                "answers": mark,
                "auc": _auc(snapshot, point),
                "doubt": round(point.doubt, 5),
                "gained": round(float(by_design[distinct] - start), 4),
                "random": None if by_chance is None else round(float(by_chance[distinct] - start), 4),
            }
        )
    memory.points = {key: memory.points[key] for key in keys}
    return found


def _name_of(snapshot: CampaignSnapshot) -> str:
    """The same for the same answers about as many items."""
    told = snapshot.answers[["first", "second", "outcome", "left", "labeller", "strength"]]
    rows = pd.util.hash_pandas_object(told, index=False).to_numpy()
    return hashlib.sha256(rows.tobytes() + b"%d" % len(snapshot.features)).hexdigest()


def _fitted(snapshot: CampaignSnapshot, memory: Memory) -> BradleyTerryGP | None:
    """The model of this snapshot, which may be the last one, or goes on from it."""
    name = _name_of(snapshot)
    if memory.model is None or memory.model_of != name:
        memory.model, memory.model_of = fit_model(snapshot, memory.model), name
    return memory.model


def _point(snapshot: CampaignSnapshot, memory: Memory) -> Point:
    model = _fitted(snapshot, memory)
    assert model is not None
    return Point(model.doubt_, model.decision_function(snapshot.features), model.left_out_["gap"].to_numpy())


def _auc(snapshot: CampaignSnapshot, point: Point) -> float | None:
    """Over all answers but ties, each predicted without it; None where there are too few."""
    known = evidence(snapshot)
    pairs, outcomes = known["comparisons"], known["outcomes"]
    gaps = point.scores[pairs[:, 0]] - point.scores[pairs[:, 1]]
    gaps[: len(point.gaps)] = point.gaps
    decided = outcomes != 0
    if decided.sum() < 5:
        return None
    return round(auc_of_comparisons(outcomes[decided], gaps[decided], np.ones(int(decided.sum()))), 4)


def _information(snapshot: CampaignSnapshot, pairs: Ints) -> tuple[Floats, Floats | None, float]:
    """log det of the information after 0, 1, ... of these pairs, of as many random ones, and before any.

    Of random ones None, where there are fewer: answers from elsewhere may be to pairs that the campaign would not ask.
    """
    X, labeled = snapshot.features.to_numpy(), snapshot.labeled
    ridge: float | str = "auto"
    effects = None
    if X.shape[1] == 0:  # each item has an effect of its own, and nothing else
        X, ridge, effects = np.zeros((len(X), 1)), 1.0, 1.0
    candidates = None if snapshot.groups is None else WithinGroups(snapshot.groups)
    k = max(1, len(pairs))
    try:
        chance = select(
            X, k, labeled=labeled, candidates=candidates, ridge=ridge, item_effects=effects, objective="random",
            random_state=0, n_jobs=1,
        )  # fmt: skip
    except ValueError:
        chance = None
    features = from_array(X)
    design = Design(features, as_ridge(ridge, features, extremes(features)), labeled, item_effects=effects)
    start = design.logdet
    by_design = [start]
    for i, j in pairs:
        design.add(int(i), int(j))
        by_design.append(design.logdet)
    by_chance = None if chance is None else np.concatenate([[start], chance.logdet])
    return np.array(by_design), by_chance, start


def advise(curve: list[dict[str, Any]]) -> dict[str, Any]:
    """Whether to stop: where the ranking is sure, or fairly sure and the last quarter of the answers changed little."""
    total = curve[-1]["answers"] if curve else 0
    if total < FEW:
        return {"stop": False, "text": f"Too early to tell: advice comes after {FEW} answers."}
    now = curve[-1]["doubt"]
    before = max((point for point in curve if point["answers"] <= 0.75 * total), key=lambda point: point["answers"])
    chance = f"the chance that two items stand in the wrong order is {now:.1%}"
    was = f"({before['doubt']:.1%} before the last {total - before['answers']} answers)"
    falls = before["doubt"] - now >= LITTLE
    if now <= SURE or (now <= FAIRLY_SURE and not falls):
        return {"stop": True, "text": f"You can stop: {chance} {was}."}
    if falls:
        return {"stop": False, "text": f"Go on: {chance} and still falls {was}."}
    return {
        "stop": False,
        "text": f"Go on where that is not sure enough, but many more answers will be needed: {chance} and hardly falls"
        f" any more {was}.",
    }
