"""Ranking tables of items, of items within groups and of their authors, and the certainty of an order.

All follow from the joint posterior of the scores f ~ N(m, S): linear combinations W f are N(W m, W S W').
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

from pairsmith.data.arrays import Floats, Ints, as_object_list
from pairsmith.model.posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd


def rank_items(
    posterior: Posterior, ids: Any, rng: np.random.Generator, level: float, top: int | None = None
) -> pd.DataFrame:
    """Return the items, best first: rank, score, error, interval, P(above the next), and an interval of ranks."""
    import pandas as pd

    n = len(posterior.mean)
    order = np.argsort(-posterior.mean, kind="stable")
    gap, variance = posterior.gaps(order[:-1], order[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(variance > 0, ndtr(gap / np.sqrt(variance)), 0.5)
    error, width = np.sqrt(np.maximum(posterior.variance(), 0.0)), ndtri((1 + level) / 2)
    best, worst, in_top = posterior.rank_intervals(rng, level, top)
    columns = {
        "rank": np.arange(1, n + 1),
        "score": posterior.mean[order],
        "error": error[order],
        "low": (posterior.mean - width * error)[order],
        "high": (posterior.mean + width * error)[order],
        "above_next": np.append(above, np.nan),
        "best": best[order],
        "worst": worst[order],
    }
    if in_top is not None:
        columns["in_top"] = in_top[order]
    return pd.DataFrame(columns, index=pd.RangeIndex(n)[order] if ids is None else ids[order])


def rank_within_groups(
    posterior: Posterior,
    ids: Any,
    groups: npt.ArrayLike,
    rng: np.random.Generator,
    level: float,
    top: int | None = None,
) -> pd.DataFrame:
    """Return a ranking of each group, one after the other, with a column `group`.

    A score is f_i minus the mean of f over the group. Answers within groups determine no more than that, and
    uncertainty about a whole group should not widen the intervals of its items.
    """
    import pandas as pd

    number, names = _factorize(groups, len(posterior.mean), "groups")
    ids = pd.RangeIndex(len(posterior.mean)) if ids is None else ids
    tables = []
    for at, group in enumerate(names):
        rows = np.flatnonzero(number == at)
        centering = np.eye(len(rows)) - 1 / len(rows)
        table = rank_items(posterior.subset(rows).linear_combinations(centering), ids[rows], rng, level, top)
        table.insert(1, "group", group)
        tables.append(table)
    return pd.concat(tables)


def rank_authors(
    posterior: Posterior, by: npt.ArrayLike, groups: npt.ArrayLike | None, rng: np.random.Generator, level: float
) -> pd.DataFrame:
    """Return the authors of the items, best first, with the number of their `items`, as an arena ranks systems.

    A score is about everything that an author could make, of which these items are a sample. If items of one author
    differ with variance s^2, beyond authors and groups, the covariance of the authors' scores W f (`author_weights`)
    grows by s^2 W W'. The estimate of s^2 has few degrees of freedom, so it is enlarged by the t distribution.
    """
    import pandas as pd

    author_of, authors = _factorize(by, len(posterior.mean), "by")
    if len(authors) < 2:
        raise ValueError(f"by names only {authors[0]!r}; a ranking needs at least two")
    group_of = None if groups is None else _factorize(groups, len(posterior.mean), "groups")[0]
    weights = author_weights(author_of, group_of, authors)
    scores = posterior.linear_combinations(weights)
    squares, freedom = _residual_squares(posterior, author_of, group_of, scores)
    if freedom > 0:
        enlarged = (stdtrit(freedom, (1 + level) / 2) / ndtri((1 + level) / 2)) ** 2
        covariance = scores.compared_effects + enlarged * squares / freedom * weights @ weights.T
        scores = replace(scores, compared_effects=covariance)
    else:
        warnings.warn(
            "it is unknown how much the items of one author differ, so intervals are about these items only; rank"
            " authors of several items each, or with several groups",
            stacklevel=3,
        )
    table = rank_items(scores, pd.Index(authors, dtype=object), rng, level)
    table.insert(1, "items", pd.Series(np.bincount(author_of), index=authors).loc[table.index])
    return table


def _residual_squares(
    posterior: Posterior, author_of: Ints, group_of: Ints | None, scores: Posterior
) -> tuple[float, int]:
    """Return the expected sum of squares of f that authors and groups leave unexplained, and its degrees of freedom.

    Let t = W f be the authors' scores. Minus its mean over the group, t_author(i) is the projection of f onto what
    authors explain beyond groups. So from the sum of squares of f one subtracts those of its group means and of t.
    """
    one_group, n = np.zeros(len(author_of), dtype=np.int64), len(scores.mean)
    groups = group_members(one_group if group_of is None else group_of, len(author_of))
    residual = float(np.sum(posterior.mean**2) + np.sum(posterior.variance()))
    explained = np.zeros((n, n))
    for rows in groups:
        mean = posterior.subset(rows).linear_combinations(np.full((1, len(rows)), 1 / len(rows)))
        residual -= len(rows) * float(mean.mean[0] ** 2 + mean.variance()[0])
        counts = np.bincount(author_of[rows], minlength=n).astype(np.float64)
        explained += np.diag(counts) - np.outer(counts, counts) / len(rows)
    all_authors = np.arange(n)
    squared = scores.covariance(all_authors, all_authors) + np.outer(scores.mean, scores.mean)
    return max(0.0, residual - float(np.sum(explained * squared))), len(author_of) - n - len(groups) + 1


def author_weights(author_of: Ints, group_of: Ints | None, authors: list[Any]) -> Floats:
    """Return W, which gives the authors' scores W f, with mean 0, from the items' scores f.

    Without groups, an author's score is the mean of f over their items. With groups it is t_a in the two-way layout
    f_i = t_author(i) + b_group(i) + residual, by least squares. If every author has an item in every group this is the
    same mean. Otherwise it gives nobody an advantage for having answered the easier prompts.
    """
    made = np.zeros((len(author_of), len(authors)))
    made[np.arange(len(author_of)), author_of] = 1.0
    if group_of is None:
        means: Floats = (made / made.sum(axis=0)).T
        return np.asarray(means - means.mean(axis=0))
    _check_connected(author_of, group_of, authors)
    sizes = np.bincount(group_of).astype(np.float64)
    in_groups = np.zeros((len(sizes), len(authors)))
    np.add.at(in_groups, group_of, made)
    within = made - (in_groups / sizes[:, None])[group_of]
    return np.asarray(np.linalg.pinv(within.T @ within, hermitian=True) @ within.T)


def certainty(posterior: Posterior, groups: Ints | None, rng: np.random.Generator) -> tuple[float, float]:
    """Return the doubt and reliability of the order of the items, over pairs of the same group if there are groups."""
    wrong = pairs = known = unknown = 0.0
    for rows in group_members(groups, len(posterior.mean)):
        group, n = posterior.subset(rows), len(rows)
        wrong += group.doubt(rng) * n * (n - 1)
        pairs += n * (n - 1)
        of_means, of_errors = group.variance_split()
        known, unknown = known + n * of_means, unknown + n * of_errors
    return wrong / pairs if pairs else 0.0, known / (known + unknown) if known + unknown > 0 else 0.0


def group_members(groups: Ints | None, n: int) -> list[Ints]:
    """Return the items of each group, by group number; without groups, all n items together."""
    if groups is None:
        return [np.arange(n)]
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _check_connected(author_of: Ints, group_of: Ints, authors: list[Any]) -> None:
    """Refuse authors that no chain of shared groups connects, because nothing compares them."""
    edges = coo_array((np.ones(len(author_of)), (author_of, len(authors) + group_of)))
    size = len(authors) + int(group_of.max()) + 1
    edges.resize((size, size))
    _, component = connected_components(edges, directed=False)
    unconnected = np.flatnonzero(component[: len(authors)] != component[0])
    if len(unconnected):
        raise ValueError(
            f"by: {authors[0]!r} and {authors[unconnected[0]]!r} have no items in the same group, not even through"
            " other authors, so nothing compares them; leave one out"
        )


def _factorize(values: npt.ArrayLike, count: int, name: str) -> tuple[Ints, list[Any]]:
    """Return the number of each item's value, and the different values in order of appearance."""
    import pandas as pd

    number, names = pd.factorize(as_object_list(values, name, "item"))
    if len(number) != count:
        raise ValueError(f"{name} has {len(number)} values, but there are {count} items; give one for each")
    if np.any(number < 0):
        raise ValueError(f"{name} has no value for item {int(np.argmax(number < 0))}; give one for each")
    return number.astype(np.int64), list(names)
