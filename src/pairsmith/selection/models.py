"""Models that users pass to select() and forecast(): checks, and a Bradley-Terry model fitted if none is passed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairsmith.criteria.problem import ModelEstimate, Problem
from pairsmith.data.arrays import Floats
from pairsmith.data.errors import ArgumentError
from pairsmith.data.features import Features

if TYPE_CHECKING:
    from pairsmith.model.bradley_terry import BradleyTerry


def is_gaussian_process(model: Any) -> bool:
    """Return whether the model is a BradleyTerryGP, fitted or not."""
    if model is None:  # the usual case, which need not load the class
        return False
    from pairsmith.model.gaussian_process import BradleyTerryGP

    return isinstance(model, BradleyTerryGP)


def check_gaussian_process(model: Any) -> None:
    """Refuse anything but a fitted BradleyTerryGP."""
    if not is_gaussian_process(model):
        raise ValueError(f"model must be a fitted BradleyTerryGP, got {_describe_type(model)}")
    if not hasattr(model, "fitted_"):
        raise ValueError("model must be fitted; call its fit first")


def estimate_from(problem: Problem, model: BradleyTerry | None, objective: str) -> ModelEstimate:
    """Return the estimate of a linear model. Without a model, fit one to the problem's labels and outcomes."""
    fitted = fit_bradley_terry(problem, objective) if model is None else _checked(model, problem.features)
    scores = np.concatenate(problem.features.apply_to_blocks(partial(_block_scores, fitted.coef_)))
    return ModelEstimate(fitted.coef_, fitted.covariance_root_, scores)


def fit_bradley_terry(problem: Problem, objective: str) -> BradleyTerry:
    """Fit a Bradley-Terry model to the labels and outcomes. The error names the objective if there are none."""
    from pairsmith.model.bradley_terry import BradleyTerry, default_ridge

    labels, outcomes = problem.labels, problem.outcomes
    if labels is None and outcomes is None:
        raise ArgumentError("objective", f"={objective!r} needs a model: give one, or labels or outcomes to fit one to")
    labeled = problem.labeled if labels is not None else problem.labeled[:0]
    pairs = problem.comparisons if outcomes is not None else problem.comparisons[:0]
    for name, values, other, count in (
        ("labels", labels, "labeled", len(labeled)),
        ("outcomes", outcomes, "comparisons", len(pairs)),
    ):
        if values is not None and np.shape(values) != (count,):
            raise ValueError(f"{name} has shape {np.shape(values)}, but {other} has {count} entries; pass one for each")
    items = np.unique(np.concatenate([labeled, pairs.ravel()]))  # copy only the rows that the fit needs
    return BradleyTerry(ridge=default_ridge(problem.features), better=problem.better).fit(
        problem.features.rows(items),
        labels,
        labeled=None if labels is None else np.searchsorted(items, labeled),
        comparisons=None if outcomes is None else np.searchsorted(items, pairs),
        outcomes=outcomes,
    )


def _checked(model: BradleyTerry, features: Features) -> BradleyTerry:
    from pairsmith.model.bradley_terry import BradleyTerry

    if not isinstance(model, BradleyTerry) or not hasattr(model, "coef_"):
        raise ValueError(f"model must be a fitted BradleyTerry, got {_describe_type(model)}; call its fit first")
    if len(model.coef_) != features.shape[1]:
        raise ValueError(f"model was fitted to {len(model.coef_)} features, but X has {features.shape[1]}")
    return model


def _describe_type(model: Any) -> str:
    return f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__


def _block_scores(coef: Floats, _low: int, block: npt.NDArray[Any]) -> Floats:
    scores: Floats = block @ coef
    return scores
