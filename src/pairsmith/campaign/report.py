"""What the dashboard shows: the ranking, how good the model is, who agrees with whom, and whether to go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

from pairsmith.campaign.rounds import evidence, learn
from pairsmith.campaign.store import EMPTY_REPORT, Known
from pairsmith.data.arrays import Floats
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


def make(known: Known, meanwhile: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Everything that takes computing, as plain JSON; `meanwhile` is called now and then, for what cannot wait."""
    model = learn(known)
    if model is None:
        return EMPTY_REPORT | {"advice": advise([])}
    curve = _curve(known, meanwhile)
    return {
        "answers": len(known.answers),
        "ranking": _ranking(model, known),
        "curve": curve,
        "people": people(known, model),
        "advice": advise(curve),
    }


def _ranking(model: BradleyTerry, known: Known) -> list[list[Any]]:
    """Of each item, best first: id, score, and the ends of its 90% interval."""
    table = model.rank(known.features)
    numbers = table[["score", "low", "high"]].to_numpy().round(6).tolist()
    return [[name, *row] for name, row in zip(table.index, numbers, strict=True)]


def _curve(known: Known, meanwhile: Callable[[], None]) -> list[dict[str, Any]]:
    """After so many answers: AUC on held-out pairs, doubt in the ranking, log det gained, and by random pairs.

    The AUC is of a model that has not seen a fifth of the pairs, on these. Doubt is the chance that two items drawn at
    random stand in the wrong order. log det counts distinct pairs, and labels, as the design does.
    """
    total = len(known.answers)
    X = known.features.to_numpy()
    marks = sorted(
        {round(mark) for mark in np.linspace(0, total, POINTS + 1)[1:]} - {0} | ({total} if total else set())
    )
    two = known.answers[["first", "second"]].to_numpy()
    held = _held_out(two)
    asked = pd.DataFrame(two).drop_duplicates().index.to_numpy()  # where each pair was answered first
    designed, random, start = _information(known, two[asked])
    found = []
    for mark in marks:
        meanwhile()
        own = replace(known, answers=known.answers[:mark])
        model = learn(own)
        assert model is not None
        pairs = int(np.searchsorted(asked, mark))
        found.append(
            {
                "answers": mark,
                "auc": _auc(known, held, mark),
                "doubt": round(_doubt(model, X), 5),
                "gained": round(float(designed[pairs] - start), 4),
                "random": None if random is None else round(float(random[pairs] - start), 4),
            }
        )
    return found


def _held_out(two: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """A fifth of the pairs, always the same ones."""
    mixed = (two[:, 0] * 2_654_435_761 + two[:, 1] * 40_503) % 4_294_967_296
    return np.asarray((mixed >> 16) % HELD_OUT == 0)


def _auc(known: Known, held: npt.NDArray[np.bool_], mark: int) -> float | None:
    train = np.flatnonzero(~held[:mark])
    test = known.answers[held & (known.answers["outcome"].to_numpy() != 0)]
    own = replace(known, answers=known.answers.iloc[train])
    if len(test) < 5 or not evidence(own):
        return None
    model = learn(own)
    assert model is not None
    scores = model.decision_function(known.features)
    gap = scores[test["first"]] - scores[test["second"]]
    return round(auc_of_comparisons(test["outcome"].to_numpy(dtype=np.float64), gap, np.ones(len(gap))), 4)


def _doubt(model: BradleyTerry, X: Floats) -> float:
    """P(wrong order) of two items, over 2,000 pairs of them, under the posterior."""
    first, second = np.random.default_rng(0).integers(len(X), size=(2, 2000))
    gap = X[first] - X[second]
    spread = np.linalg.norm(gap @ model.covariance_root_, axis=1)
    real = spread > 0
    return float(np.mean(ndtr(-np.abs(gap[real] @ model.coef_) / spread[real]))) if real.any() else 0.5


def _information(known: Known, asked: npt.NDArray[np.int64]) -> tuple[Floats, Floats | None, float]:
    """log det of the information after 0, 1, ... of the pairs asked, of as many random ones (None where too few), and
    before any."""
    X = known.features.to_numpy()
    candidates = None if known.groups is None else WithinGroups(known.groups)
    k = max(1, len(asked))
    try:
        chance = select(
            X, k, labeled=known.labeled, candidates=candidates, objective="random", random_state=0, n_jobs=1
        )
    except ValueError:  # answers from elsewhere may be to more pairs than the campaign would ask
        chance = None
    features = from_array(X)
    own = Design(features, as_ridge("auto", features, extremes(features)), known.labeled)
    start = own.logdet
    designed = [start]
    for i, j in asked:
        own.add(int(i), int(j))
        designed.append(own.logdet)
    random = None if chance is None else np.concatenate([[start], chance.logdet])
    return np.array(designed), random, start


def people(known: Known, model: BradleyTerry) -> list[dict[str, Any]]:
    """Of each labeller: answers, median seconds, agreement with the model, and with others on the same pairs."""
    frame = known.answers.copy()
    scores = model.decision_function(known.features)
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
