"""Tables that rank: items, items within their groups, and those who made them; and how sure an order is.

All come from the joint posterior of the scores f, N(m, S), by which W f is N(W m, W S W') for any weights W.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr, ndtri

from pairsmith.data.arrays import Floats, Ints
from pairsmith.model.joint import Joint

if TYPE_CHECKING:
    import pandas as pd


def ranked(joint: Joint, names: Any, rng: np.random.Generator, level: float, top: int | None = None) -> pd.DataFrame:
    """Best first: rank, score, error, the interval, P(above the next), and the ranks each could have."""
    import pandas as pd

    n = len(joint.mean)
    order = np.argsort(-joint.mean, kind="stable")
    gap, variance = joint.gaps(order[:-1], order[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(variance > 0, ndtr(gap / np.sqrt(variance)), 0.5)
    error, width = np.sqrt(np.maximum(joint.variance(), 0.0)), ndtri((1 + level) / 2)
    best, worst, among = joint.ranks(rng, level, top)
    columns = {
        "rank": np.arange(1, n + 1),
        "score": joint.mean[order],
        "error": error[order],
        "low": (joint.mean - width * error)[order],
        "high": (joint.mean + width * error)[order],
        "above_next": np.append(above, np.nan),
        "best": best[order],
        "worst": worst[order],
    }
    if among is not None:
        columns["in_top"] = among[order]
    return pd.DataFrame(columns, index=pd.RangeIndex(n)[order] if names is None else names[order])


def ranked_in_groups(
    joint: Joint, names: Any, groups: npt.ArrayLike, rng: np.random.Generator, level: float, top: int | None = None
) -> pd.DataFrame:
    """A ranking of each group, one after the other, with a column `group`.

    Scores are f_i minus the mean of f over the group: answers within groups tell no more, and what nobody knows of a
    whole group does not widen the intervals of its items.
    """
    import pandas as pd

    number, found = _numbered(groups, len(joint.mean), "groups")
    names = pd.RangeIndex(len(joint.mean)) if names is None else names
    tables = []
    for at, group in enumerate(found):
        rows = np.flatnonzero(number == at)
        size = len(rows)
        table = ranked(joint.part(rows).combined(np.eye(size) - 1 / size), names[rows], rng, level, top)
        table.insert(1, "group", group)
        tables.append(table)
    return pd.concat(tables)


def ranked_authors(
    joint: Joint, by: npt.ArrayLike, groups: npt.ArrayLike | None, rng: np.random.Generator, level: float
) -> pd.DataFrame:
    """Those who made the items, best first, as an arena ranks systems, with how many `items` each made."""
    import pandas as pd

    number, authors = _numbered(by, len(joint.mean), "by")
    if len(authors) < 2:
        raise ValueError(f"by names only {authors[0]!r}; a ranking needs at least two")
    group_of = None if groups is None else _numbered(groups, len(joint.mean), "groups")[0]
    weights = author_weights(number, group_of, authors)
    table = ranked(joint.combined(weights), pd.Index(authors, dtype=object), rng, level)
    table.insert(1, "items", pd.Series(np.bincount(number), index=authors).loc[table.index])
    return table


def author_weights(number: Ints, group_of: Ints | None, authors: list[Any]) -> Floats:
    """The weights W of the scores f in the scores W f of authors, which have the mean 0.

    Without groups that of an author is the mean of f over their items. With groups it is t_a of the two-way layout
    f_i = t_author(i) + b_group(i) + rest, by least squares: where every author has an item in every group that is the
    same mean, and elsewhere nobody is better off for having answered the easier prompts.
    """
    made = np.zeros((len(number), len(authors)))
    made[np.arange(len(number)), number] = 1.0
    if group_of is None:
        means: Floats = (made / made.sum(axis=0)).T
        return np.asarray(means - means.mean(axis=0))
    _check_connected(number, group_of, authors)
    sizes = np.bincount(group_of).astype(np.float64)
    in_groups = np.zeros((len(sizes), len(authors)))
    np.add.at(in_groups, group_of, made)
    within = made - (in_groups / sizes[:, None])[group_of]
    return np.asarray(np.linalg.pinv(within.T @ within, hermitian=True) @ within.T)


def certainty(joint: Joint, groups: Ints | None, rng: np.random.Generator) -> tuple[float, float]:
    """Doubt and reliability of the order of items: over pairs of items of one group, where there are groups."""
    wrong = pairs = known = unknown = 0.0
    for rows in members(groups, len(joint.mean)):
        part, n = joint.part(rows), len(rows)
        wrong += part.doubt(rng) * n * (n - 1)
        pairs += n * (n - 1)
        of_means, of_errors = part.spreads()
        known, unknown = known + n * of_means, unknown + n * of_errors
    return wrong / pairs if pairs else 0.0, known / (known + unknown) if known + unknown > 0 else 0.0


def members(groups: Ints | None, n: int) -> list[Ints]:
    """The items of each group, by its number; without groups, all in one."""
    if groups is None:
        return [np.arange(n)]
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _check_connected(number: Ints, group_of: Ints, authors: list[Any]) -> None:
    """Refuse authors that no groups connect: nothing compares them."""
    edges = coo_array((np.ones(len(number)), (number, len(authors) + group_of)))
    size = len(authors) + int(group_of.max()) + 1
    edges.resize((size, size))
    _, part = connected_components(edges, directed=False)
    apart = np.flatnonzero(part[: len(authors)] != part[0])
    if len(apart):
        raise ValueError(
            f"by: {authors[0]!r} and {authors[apart[0]]!r} have no items in the same group, nor through others, so that"
            " nothing compares them; leave one out"
        )


def _numbered(values: npt.ArrayLike, count: int, name: str) -> tuple[Ints, list[Any]]:
    """Which of the different values each is, and these, as they come."""
    import pandas as pd

    number, found = pd.factorize(np.asarray(values, dtype=object))
    if len(number) != count:
        raise ValueError(f"{name} has {len(number)} values, but there are {count} items; give one for each")
    if np.any(number < 0):
        raise ValueError(f"{name} has no value for item {int(np.argmax(number < 0))}; give one for each")
    return number.astype(np.int64), list(found)
