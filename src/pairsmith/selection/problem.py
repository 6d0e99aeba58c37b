"""Checks of the arguments that state the problem: which pairs may be picked, and what is known already."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.criteria.problem import Problem
from pairsmith.data.arrays import as_pairs, as_row_numbers, check_row_numbers, refuse_masked
from pairsmith.data.candidates import (
    AllPairs,
    Among,
    Candidates,
    PairList,
    Remaining,
    WithinGroups,
    remaining_pairs,
)
from pairsmith.data.errors import ArgumentError
from pairsmith.data.features import column_extremes
from pairsmith.data.options import as_integer, as_positive
from pairsmith.data.ridge import as_ridge
from pairsmith.selection.start import StartingPoint

_MAX_EFFECT_VARIANCE = 1e9  # gains keep six digits up to it


def as_problem(
    start: StartingPoint,
    k: Any,
    *,
    labeled: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    better: Any = None,
    comparisons: npt.ArrayLike | None = None,
    outcomes: npt.ArrayLike | None = None,
    candidates: Candidates | npt.ArrayLike | None = None,
    max_per_item: int | None = None,
) -> Problem:
    """Return the problem that these arguments of select() state. Each error is one line."""
    features = start.features
    n = features.shape[0]
    k = as_integer(k, "k")
    for name, values in (("labels", labels), ("outcomes", outcomes)):
        refuse_masked(values, name)
    labeled_items = as_row_numbers([] if labeled is None else labeled, "labeled")
    if labeled_items.ndim != 1:
        raise ValueError(f"labeled must be a list of row numbers, got an array of shape {labeled_items.shape}")
    check_row_numbers(labeled_items, n, "labeled")
    compared = as_pairs([] if comparisons is None else comparisons, "comparisons")
    check_row_numbers(compared, n, "comparisons")
    cap = None if max_per_item is None else as_integer(max_per_item, "max_per_item")
    remaining = remaining_pairs(as_candidates(candidates), n, compared, cap)
    _check_enough(remaining, k, cap)
    effect_variance = None if start.effect_variance is None else _as_effect_variance(start.effect_variance)
    unanswered = compared if start.answered is not None else compared[:0]
    if start.answered is not None and len(start.answered):
        unanswered = compared[~np.isin(compared @ np.array([n, 1]), start.answered @ np.array([n, 1]))]
    high, low = bounds = column_extremes(features)
    return Problem(
        features=features,
        k=k,
        rows=remaining.rows,
        taken=remaining.taken,
        max_per_item=cap,
        ridge=as_ridge(start.ridge, features, bounds),
        extent=high - low,
        labeled=labeled_items,
        comparisons=as_row_numbers([] if comparisons is None else comparisons, "comparisons").reshape(-1, 2),
        labels=labels,
        better=better,
        outcomes=outcomes,
        effect_variance=effect_variance,
        prior=start.prior,
        unanswered=unanswered,
    )


def as_candidates(candidates: Any) -> Candidates | None:
    """Return the candidates that a user passed, with an array of pairs as a PairList. None means all pairs."""
    if candidates is None or isinstance(candidates, AllPairs | WithinGroups | Among | PairList):
        return candidates
    return PairList(candidates)


def _as_effect_variance(item_effects: Any) -> float:
    variance = as_positive(item_effects, "item_effects")
    if variance > _MAX_EFFECT_VARIANCE:  # E is not stored as a root: differences of its entries lose digits
        raise ArgumentError(
            "item_effects",
            f"={variance:.1e} exceeds {_MAX_EFFECT_VARIANCE:.0e}, above which gains lose their digits; rescale",
        )
    return variance


def _check_enough(remaining: Remaining, k: int, max_per_item: int | None) -> None:
    """Refuse k if there are fewer candidate pairs, or if the exposure cap allows fewer picks."""
    total, compared = len(remaining.rows), len(remaining.taken)
    if k > total - compared:
        why = f" ({compared} of {total} are compared already)" if compared else ""
        raise ValueError(f"k={k} pairs asked for, but only {total - compared} candidate pairs are left{why}; lower k")
    if max_per_item is not None and k > remaining.max_picks():
        raise ArgumentError(
            "max_per_item",
            f"={max_per_item} allows at most {remaining.max_picks()}; lower k or raise the cap, as k={k} pairs are"
            " asked for",
        )
