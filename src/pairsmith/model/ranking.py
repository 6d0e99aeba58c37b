"""Tables that rank: items, items within their groups, and those who made them; and how sure an order is.

All come from the joint posterior of the scores f, N(m, S), by which W f is N(W m, W S W') for any weights W.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr, ndtri, stdtrit

from pairsmith.data.arrays import Floats, Ints, one_for_each
from pairsmith.model.posterior import Joint

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
    """Those who made the items, best first, as an arena ranks systems, with how many `items` each made.

    A score is about all that an author could make, of which these items are a sample: if they differ by the variance
    s^2 beside authors and groups, the covariance of the scores W f of authors (`author_weights`) is s^2 W W' more than
    that of what is not known of f. As s^2 is of so many degrees of freedom only, it counts more, by the t distribution.
    """
    import pandas as pd

    number, authors = _numbered(by, len(joint.mean), "by")
    if len(authors) < 2:
        raise ValueError(f"by names only {authors[0]!r}; a ranking needs at least two")
    group_of = None if groups is None else _numbered(groups, len(joint.mean), "groups")[0]
    weights = author_weights(number, group_of, authors)
    scores = joint.combined(weights)
    squares, freedom = _between_items(joint, number, group_of, scores)
    if freedom > 0:
        wider = (stdtrit(freedom, (1 + level) / 2) / ndtri((1 + level) / 2)) ** 2
        scores = replace(scores, effects=scores.effects + wider * squares / freedom * weights @ weights.T)
    else:
        warnings.warn(
            "nothing tells how much the items of one author differ, so that intervals are about these items only;"
            " authors of several items each, or several groups, would tell",
            stacklevel=3,
        )
    table = ranked(scores, pd.Index(authors, dtype=object), rng, level)
    table.insert(1, "items", pd.Series(np.bincount(number), index=authors).loc[table.index])
    return table


def _between_items(joint: Joint, number: Ints, group_of: Ints | None, scores: Joint) -> tuple[float, int]:
    """What is left of f beside authors and groups: its expected sum of squares, and the degrees of freedom.

    With the scores t = W f of authors, t_author(i) above its mean over the group is the projection of f onto what
    authors can explain beside groups, so that sums of squares subtract: that of f, of its means over groups, and of t.
    """
    everything, n = np.zeros(len(number), dtype=np.int64), len(scores.mean)
    within = members(everything if group_of is None else group_of, len(number))
    left = float(np.sum(joint.mean**2) + np.sum(joint.variance()))
    explained = np.zeros((n, n))
    for rows in within:
        mean = joint.part(rows).combined(np.full((1, len(rows)), 1 / len(rows)))
        left -= len(rows) * float(mean.mean[0] ** 2 + mean.variance()[0])
        made = np.bincount(number[rows], minlength=n).astype(np.float64)
        explained += np.diag(made) - np.outer(made, made) / len(rows)
    all_authors = np.arange(n)
    squared = scores.covariance(all_authors, all_authors) + np.outer(scores.mean, scores.mean)
    return max(0.0, left - float(np.sum(explained * squared))), len(number) - n - len(within) + 1


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

    number, found = pd.factorize(one_for_each(values, name, "item"))
    if len(number) != count:
        raise ValueError(f"{name} has {len(number)} values, but there are {count} items; give one for each")
    if np.any(number < 0):
        raise ValueError(f"{name} has no value for item {int(np.argmax(number < 0))}; give one for each")
    return number.astype(np.int64), list(found)
