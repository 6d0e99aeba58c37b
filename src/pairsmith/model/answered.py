"""Labels and answers as expectation propagation takes them: each pair once, for everyone who answered it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from pairsmith.data.arrays import Bools, Floats, Ints, one_for_each
from pairsmith.model.evidence import Given
from pairsmith.model.posterior import Answers, summed


@dataclass(frozen=True)
class Places:
    """Where each answer that `fit` was given is among the merged ones."""

    place: Ints  # -1 where its weight is 0
    turned: Bools  # whether the pair is the other way round there


def merged(given: Given, raters: Any) -> tuple[Answers, Ints, list[Any], Places]:
    """Labels and answers, each pair once for each rater; which rater that is, -1 for labels; the raters' names.

    And where each of the answers is among these.
    """
    import pandas as pd

    n, labels = len(given.X), len(given.labeled)
    rater, names = np.zeros(len(given.pairs), dtype=np.int64), []
    first, second = given.pairs.T
    wins, turned = given.wins, np.zeros(len(given.pairs), dtype=bool)
    if raters is None:  # who is shown first does not matter
        turned = first > second
        first, second = np.minimum(first, second), np.maximum(first, second)
        wins = np.where(turned, -wins, wins)
    else:
        people = one_for_each(raters, "raters", "comparison")
        if len(people) != len(given.pairs):
            raise ValueError(f"raters names {len(people)} people for {len(given.pairs)} comparisons; give one for each")
        rater, found = pd.factorize(people)
        if np.any(rater < 0):
            raise ValueError(f"raters: answer number {int(np.argmax(rater < 0))} has none; give every answer one")
        names = list(found)
    first, second = np.concatenate([given.labeled, first]), np.concatenate([np.full(labels, n), second])
    rater = np.concatenate([np.full(labels, -1), rater])
    share = np.concatenate([(given.side + 1) / 2, (wins + 1) / 2])
    used = given.weights > 0
    keys = np.column_stack([first, second, rater])[used]
    unique, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.ravel()
    won = summed(place, (given.weights * share)[used], len(unique))
    lost = summed(place, (given.weights * (1 - share))[used], len(unique))
    plain = np.ones(len(unique))
    places = np.full(len(used), -1)
    places[used] = place
    each_once = Answers(unique[:, 0], unique[:, 1], won, lost, plain, 0 * plain)
    return each_once, unique[:, 2], names, Places(places[labels:], turned)


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
