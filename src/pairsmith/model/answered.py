"""Labels and answers as expectation propagation takes them: each pair once, for everyone who answered it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from pairsmith.data.arrays import Bools, Floats, Ints, as_items, one_for_each, refuse_masked
from pairsmith.model.evidence import Given
from pairsmith.model.posterior import Answers, summed


@dataclass(frozen=True)
class Places:
    """Where each answer that `fit` was given is among the merged ones."""

    place: Ints  # -1 where its weight is 0
    turned: Bools  # whether the pair is the other way round there


class Merged(NamedTuple):
    """Labels and answers, with one entry for each pair, rater and side."""

    answers: Answers
    rater: Ints  # number of the rater, -1 for labels
    side: Floats  # 1 where the first item was shown first, 0 where nobody knows what was
    names: list[Any]  # of the raters
    places: Places


def merged(given: Given, raters: Any = None, shown_first: Any = None) -> Merged:
    """Merge labels and answers.

    The item shown first comes first in its pair. Where that is unknown the smaller number does, so the way in which a
    pair was written down says nothing.
    """
    n, labels = len(given.X), len(given.labeled)
    rater, names = _numbered(raters, len(given.pairs))
    if raters is None and shown_first is not None:
        raise ValueError("shown_first tells how much raters prefer a side; give raters= too, or leave it out")
    first, second = given.pairs.T
    shown = _as_shown_first(shown_first, given.pairs)
    turned = np.where(shown < 0, first > second, shown == second)
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    wins = np.where(turned, -given.wins, given.wins)
    first, second = np.concatenate([given.labeled, first]), np.concatenate([np.full(labels, n), second])
    rater = np.concatenate([np.full(labels, -1), rater])
    known = np.concatenate([np.zeros(labels, dtype=np.int64), shown >= 0])
    share = np.concatenate([(given.side + 1) / 2, (wins + 1) / 2])
    used = given.weights > 0
    # Raters are sorted by name: the order of the answers must not change the order of a sum.
    by_name = np.argsort([str(name) for name in names], kind="stable")
    place_of = np.append(np.argsort(by_name), -1)
    keys = np.column_stack([first, second, place_of[rater], known])[used]
    unique, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.ravel()
    won = summed(place, (given.weights * share)[used], len(unique))
    lost = summed(place, (given.weights * (1 - share))[used], len(unique))
    plain = np.ones(len(unique))
    places = np.full(len(used), -1)
    places[used] = place
    return Merged(
        Answers(unique[:, 0], unique[:, 1], won, lost, plain, 0 * plain),
        np.append(by_name, -1)[unique[:, 2]],
        unique[:, 3].astype(np.float64),
        names if raters is not None else [],
        Places(places[labels:], turned),
    )


def _numbered(raters: Any, count: int) -> tuple[Ints, list[Any]]:
    """Return the number of the rater of each answer, and the raters' names; without raters all answers are of one."""
    import pandas as pd

    if raters is None:
        return np.zeros(count, dtype=np.int64), [None]
    people = one_for_each(raters, "raters", "comparison")
    if len(people) != count:
        raise ValueError(f"raters names {len(people)} people for {count} comparisons; give one for each")
    rater, found = pd.factorize(people)
    if np.any(rater < 0):
        raise ValueError(f"raters: answer number {int(np.argmax(rater < 0))} has none; give every answer one")
    return rater.astype(np.int64), list(found)


def _as_shown_first(shown_first: Any, pairs: Ints) -> Ints:
    """Return the item that was shown first for each answer, -1 where that is unknown."""
    import pandas as pd

    shown = np.full(len(pairs), -1)
    if shown_first is None:
        return shown
    refuse_masked(shown_first, "shown_first")
    values = one_for_each(shown_first, "shown_first", "comparison")
    if len(values) != len(pairs):
        raise ValueError(f"shown_first names {len(values)} items for {len(pairs)} comparisons; give one for each")
    told = ~pd.isna(values)
    told[told] = values[told] != -1
    shown[told] = as_items(values[told].tolist(), "shown_first")
    wrong = told & np.all(shown[:, None] != pairs, axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"shown_first: answer number {at} names item {shown[at]}, but compares {pairs[at, 0]} and {pairs[at, 1]};"
            " name one of these, or -1 where it is unknown"
        )
    return shown


def of_nobody(pairs: Ints, wins: Floats) -> Answers:
    """Answers of nobody in particular, each pair once."""
    turned = pairs[:, 0] > pairs[:, 1]
    unique, place = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
    share = (np.where(turned, -wins, wins) + 1) / 2
    won, lost = (summed(place.ravel(), of, len(unique)) for of in (share, 1 - share))
    return Answers(unique[:, 0], unique[:, 1], won, lost, np.ones(len(unique)), np.zeros(len(unique)))


def tell_islands(answers: Answers, n: int) -> None:
    """Say once where answers leave items unconnected: only the prior holds their scores together."""
    if len(answers) == 0:
        return
    _, island = connected_components(answers.graph(np.ones(len(answers)), n + 1), directed=False)
    large = int(np.sum(np.bincount(island) > 1))
    if large > 1:
        warnings.warn(
            f"the answers leave the items in {large} islands that were never compared with each other; how these stand"
            " to each other is told by the features and the prior alone",
            stacklevel=3,
        )
