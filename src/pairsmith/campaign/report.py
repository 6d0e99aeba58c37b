"""What the dashboard shows of the model: the ranking, how good it is, who agrees with whom, and whether to go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from pairsmith.campaign.dashboard import EMPTY_REPORT
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.data.candidates import WithinGroups
from pairsmith.data.features import extremes, from_array
from pairsmith.data.ridge import as_ridge
from pairsmith.design.information import Design
from pairsmith.model.bradley_terry import BradleyTerry
from pairsmith.model.logistic import auc_of_comparisons
from pairsmith.selection import select

POINTS = 16  # of each curve
HELD_OUT = 5  # one pair in so many is held out to measure the AUC
LITTLE = 0.005  # doubt that falls by less than this over the last quarter of the answers has stopped falling
FEW = 40  # answers before which no advice is given


def make_report(snapshot: CampaignSnapshot, before_each_model: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Everything that takes computing, as plain JSON.

    Many models are fitted for it. Before each point of the curve `before_each_model` is called, for what cannot wait
    until the report is done; it does not change the snapshot.
    """
    model = fit_model(snapshot)
    if model is None:
        return EMPTY_REPORT | {"advice": advise([])}
    curve = _curve(snapshot, before_each_model)
    return {
        "answers": len(snapshot.answers),
        "ranking": _ranking(model, snapshot),
        "curve": curve,
        "people": people(snapshot, model),
        "advice": advise(curve),
    }


def _ranking(model: BradleyTerry, snapshot: CampaignSnapshot) -> list[list[Any]]:
    """Of each item, best first: id, score, and the ends of its 90% interval."""
    table = model.rank(snapshot.features)
    numbers = table[["score", "low", "high"]].to_numpy().round(6).tolist()
    return [[name, *row] for name, row in zip(table.index, numbers, strict=True)]


def _curve(snapshot: CampaignSnapshot, before_each_model: Callable[[], object]) -> list[dict[str, Any]]:
    """After so many answers: AUC on held-out pairs, doubt in the ranking, log det gained, and by random pairs.

    The AUC is of a model that has not seen a fifth of the pairs, on these. Doubt is the chance that two items drawn at
    random stand in the wrong order. log det counts distinct pairs, and labels, as the design does.
    """
    total = len(snapshot.answers)
    marks = sorted({round(mark) for mark in np.linspace(0, total, POINTS + 1)} - {0})
    pairs = snapshot.answers[["first", "second"]].to_numpy()
    held_out = _held_out(pairs)
    first_answers = pd.DataFrame(pairs).drop_duplicates().index.to_numpy()  # where each pair was answered first
    by_design, by_chance, start = _information(snapshot, pairs[first_answers])
    found = []
    for mark in marks:
        before_each_model()
        model = fit_model(replace(snapshot, answers=snapshot.answers[:mark]))
        assert model is not None
        distinct = int(np.searchsorted(first_answers, mark))
        found.append(
            {
                "answers": mark,
                "auc": _auc(snapshot, held_out, mark),
                "doubt": round(_doubt(model, snapshot.features.to_numpy()), 5),
                "gained": round(float(by_design[distinct] - start), 4),
                "random": None if by_chance is None else round(float(by_chance[distinct] - start), 4),
            }
        )
    return found


def _held_out(pairs: Ints) -> Bools:
    """Which of these are among the fifth of all pairs that is held out, always the same ones."""
    mixed = (pairs[:, 0] * 2_654_435_761 + pairs[:, 1] * 40_503) % 4_294_967_296
    return np.asarray((mixed >> 16) % HELD_OUT == 0)


def _auc(snapshot: CampaignSnapshot, held_out: Bools, mark: int) -> float | None:
    """On all answers to pairs held out, of the model of the others among the first `mark`; None where too few."""
    test = snapshot.answers[held_out & (snapshot.answers["outcome"].to_numpy() != 0)]
    seen = replace(snapshot, answers=snapshot.answers.iloc[np.flatnonzero(~held_out[:mark])])
    model = fit_model(seen) if len(test) >= 5 else None
    if model is None:
        return None
    scores = model.decision_function(snapshot.features)
    gap = scores[test["first"]] - scores[test["second"]]
    return round(auc_of_comparisons(test["outcome"].to_numpy(dtype=np.float64), gap, np.ones(len(gap))), 4)


def _doubt(model: BradleyTerry, X: Floats) -> float:
    """P(wrong order) of two items, over 2,000 pairs of them, under the posterior."""
    first, second = np.random.default_rng(0).integers(len(X), size=(2, 2000))
    gap = X[first] - X[second]
    spread = np.linalg.norm(gap @ model.covariance_root_, axis=1)
    real = spread > 0
    return float(np.mean(ndtr(-np.abs(gap[real] @ model.coef_) / spread[real]))) if real.any() else 0.5


def _information(snapshot: CampaignSnapshot, pairs: Ints) -> tuple[Floats, Floats | None, float]:
    """log det of the information after 0, 1, ... of these pairs, of as many random ones, and before any.

    Of random ones None, where there are fewer: answers from elsewhere may be to pairs that the campaign would not ask.
    """
    X = snapshot.features.to_numpy()
    candidates = None if snapshot.groups is None else WithinGroups(snapshot.groups)
    k = max(1, len(pairs))
    try:
        chance = select(
            X, k, labeled=snapshot.labeled, candidates=candidates, objective="random", random_state=0, n_jobs=1
        )
    except ValueError:
        chance = None
    features = from_array(X)
    design = Design(features, as_ridge("auto", features, extremes(features)), snapshot.labeled)
    start = design.logdet
    by_design = [start]
    for i, j in pairs:
        design.add(int(i), int(j))
        by_design.append(design.logdet)
    by_chance = None if chance is None else np.concatenate([[start], chance.logdet])
    return np.array(by_design), by_chance, start


def people(snapshot: CampaignSnapshot, model: BradleyTerry) -> list[dict[str, Any]]:
    """Of each labeller: answers, median seconds, agreement with the model, and with others on the same pairs."""
    frame = snapshot.answers.copy()
    scores = model.decision_function(snapshot.features)
    gap = scores[frame["first"]] - scores[frame["second"]]
    frame["agrees"] = np.where(frame["outcome"] == 0, np.nan, np.sign(gap) == frame["outcome"])
    both = frame.reset_index().merge(frame.reset_index(), on=["first", "second"], suffixes=("", "_other"))
    both = both[both["index"] != both["index_other"]]
    both["same"] = both["outcome"] == both["outcome_other"]
    repeated = both.groupby("labeller")["same"].mean()
    found = []
    for name, own in frame.groupby("labeller"):
        found.append(
            {
                "name": name,
                "answers": len(own),
                "seconds": _number(own["seconds"].dropna().median()),
                "agrees_with_model": _number(own["agrees"].mean()),
                "agrees_on_repeated": _number(repeated.get(name, np.nan)),
            }
        )
    return sorted(found, key=lambda row: -row["answers"])


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else round(float(value), 3)


def advise(curve: list[dict[str, Any]]) -> dict[str, Any]:
    """Whether to stop: when the last quarter of the answers made the ranking hardly surer."""
    total = curve[-1]["answers"] if curve else 0
    if total < FEW:
        return {"stop": False, "text": f"Too early to tell: advice comes after {FEW} answers."}
    now = curve[-1]["doubt"]
    before = max((point for point in curve if point["answers"] <= 0.75 * total), key=lambda point: point["answers"])
    fell = f"from {before['doubt']:.1%} to {now:.1%} with the last {total - before['answers']} answers"
    if before["doubt"] - now < LITTLE:
        return {
            "stop": True,
            "text": "More answers hardly change what the model learns from the features. If features explain all of"
            f" quality, the chance that two items stand in the wrong order went {fell}; if they do not, it is higher.",
        }
    return {
        "stop": False,
        "text": "Go on: the chance that two items stand in the wrong order, as far as features explain it, still falls,"
        f" {fell}.",
    }
