"""What a model says of the items, for the criteria that use one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats
from pairsmith.data.features import Features
from pairsmith.problem import Problem

if TYPE_CHECKING:
    from pairsmith.model.bradley_terry import BradleyTerry


@dataclass(frozen=True)
class Belief:
    """The coefficients are N(coef, covariance_root covariance_root'); an item's score is x'coef on average."""

    coef: Floats
    covariance_root: Floats
    scores: Floats  # of all items


NO_BELIEF = Belief(np.zeros(0), np.zeros((0, 0)), np.zeros(0))


def belief_of(problem: Problem, model: BradleyTerry | None, objective: str) -> Belief:
    """By the model given, or one fitted to the labels and outcomes of the problem."""
    fitted = fit(problem, objective) if model is None else _checked(model, problem.features)
    scores = np.concatenate(problem.features.over_blocks(partial(_scores, fitted.coef_)))
    return Belief(fitted.coef_, fitted.covariance_root_, scores)


def _checked(model: BradleyTerry, features: Features) -> BradleyTerry:
    from pairsmith.model.bradley_terry import BradleyTerry

    if not isinstance(model, BradleyTerry) or not hasattr(model, "coef_"):
        raise ValueError("model must be a fitted BradleyTerry; call its fit first")
    if len(model.coef_) != features.shape[1]:
        raise ValueError(f"model was fitted to {len(model.coef_)} features, but X has {features.shape[1]}")
    return model


def fit(problem: Problem, objective: str) -> BradleyTerry:
    """A model of the labels and outcomes there are; `objective` is what the error speaks of where there are none."""
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.prior import usual_ridge

    labels, outcomes = problem.labels, problem.outcomes
    if labels is None and outcomes is None:
        raise ValueError(
            f"objective={objective!r} needs a model: give labels (of labeled), outcomes (of comparisons) or model"
        )
    labeled = problem.labeled if labels is not None else problem.labeled[:0]
    pairs = problem.comparisons if outcomes is not None else problem.comparisons[:0]
    for name, given, of, count in (
        ("labels", labels, "labeled", len(labeled)),
        ("outcomes", outcomes, "comparisons", len(pairs)),
    ):
        if given is not None and np.shape(given) != (count,):
            raise ValueError(f"{name} has shape {np.shape(given)}, but {of} has {count} entries; give one for each")
    items = np.unique(np.concatenate([labeled, pairs.ravel()]))  # only the rows it is fitted to are copied
    return BradleyTerry(ridge=usual_ridge(problem.features), better=problem.better).fit(
        problem.features.rows(items),
        labels,
        labeled=None if labels is None else np.searchsorted(items, labeled),
        comparisons=None if outcomes is None else np.searchsorted(items, pairs),
        outcomes=outcomes,
    )


def _scores(coef: Floats, _low: int, block: npt.NDArray[Any]) -> Floats:
    scores: Floats = block @ coef
    return scores
