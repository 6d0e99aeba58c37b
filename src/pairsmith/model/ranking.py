"""Items in order, with how sure that is: of all items, or within groups that are never compared with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from pairsmith.data.arrays import Floats, Ints
from pairsmith.model.joint import Joint

if TYPE_CHECKING:
    import pandas as pd


def ranked(
    joint: Joint, names: Any, level: float, top: int | None, groups: Ints | None, rng: np.random.Generator
) -> pd.DataFrame:
    """The table of `BradleyTerryGP.rank`: group by group, in the order of their numbers, and best first in each."""
    import pandas as pd

    found = [(rows, _of_one_group(joint.part(rows), level, top, rng)) for rows in members(groups, len(joint.mean))]
    order = np.concatenate([rows[table.pop("order")] for rows, table in found])
    columns = {key: np.concatenate([table[key] for _, table in found]) for key in found[0][1]}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(order))[order] if names is None else names[order])


def members(groups: Ints | None, n: int) -> list[Ints]:
    """The items of each group; without groups, all in one."""
    if groups is None:
        return [np.arange(n)]
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _of_one_group(joint: Joint, level: float, top: int | None, rng: np.random.Generator) -> dict[str, Any]:
    """The columns of one ranking, and the order of its items."""
    n = len(joint.mean)
    order = np.argsort(-joint.mean, kind="stable")
    gap, variance = joint.gaps(order[:-1], order[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(variance > 0, ndtr(gap / np.sqrt(variance)), 0.5)
    error, width = np.sqrt(joint.variance()), ndtri((1 + level) / 2)
    best, worst, among = joint.ranks(rng, level, top)
    columns = {
        "order": order,
        "rank": np.arange(1, n + 1),
        "score": joint.mean[order],
        "error": error[order],
        "low": (joint.mean - width * error)[order],
        "high": (joint.mean + width * error)[order],
        "above_next": np.append(above, np.nan),
        "best": best[order],
        "worst": worst[order],
    }
    return columns if among is None else columns | {"in_top": among[order]}


def certainty(joint: Joint, groups: Ints | None, rng: np.random.Generator) -> tuple[float, float]:
    """Doubt and reliability of the order of items: over pairs of items of one group, where there are groups."""
    wrong = pairs = known = unknown = 0.0
    for rows in members(groups, len(joint.mean)):
        part, n = joint.part(rows), len(rows)
        if n > 1:
            wrong += part.doubt(rng) * n * (n - 1)
            pairs += n * (n - 1)
        of_means, of_errors = part.spreads()
        known, unknown = known + n * of_means, unknown + n * of_errors
    reliability: Floats | float = known / (known + unknown) if known + unknown > 0 else 0.0
    return wrong / pairs if pairs else 0.0, float(reliability)
