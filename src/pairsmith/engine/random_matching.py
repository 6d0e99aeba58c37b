"""Pairs of items that nothing tells apart: the first picks where items have effects of their own and no features.

Then every pair of two untouched items is worth the same, log(1 + 2 e w), and no pair is worth more: an effect of which
something is known has a smaller variance, and an answer that is quite open weighs most. So nothing is to be scanned
for, and untouched items are paired in a random order, which a seed makes repeatable, as long as two of them may meet.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pairsmith.data.arrays import Bools, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.steps import Step, Steps


def alike(design: Design) -> bool:
    """Whether nothing but effects tells items apart: features do not differ, nor do scores of untouched items."""
    if design.effects is None or np.any(design.extent):
        return False
    if design.scores is None:
        return True
    scores = design.scores[design.effects.place < 0]
    return bool(np.all(scores == scores[:1]))


def pairs_of_untouched(design: Design, remaining: Remaining, k: int, rng: np.random.Generator) -> Steps:
    """Up to k of them, as long as there are any."""
    effects = design.effects
    assert effects is not None
    effects.make_room(2 * k)
    for i, j in _matched(remaining, (effects.place < 0) & ~remaining.full, k, rng):
        weight = float(design.weight(i, j))
        gain = float(np.log1p(2 * effects.variance * weight))
        effects.pair_up(i, j, weight)
        design.logdet += gain
        remaining.take(i, j)
        yield Step(i, j, gain, design.logdet)


def _matched(remaining: Remaining, free: Bools, k: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Up to k candidates i < j of free items, no item twice, in a random order."""
    rows = remaining.rows
    if rows.groups is None:
        listed = rows.pairs(rng.permutation(len(rows)))
        taken = ~free
        for i, j in listed[free[listed].all(axis=1)].tolist():
            if k > 0 and not (taken[i] or taken[j]) and remaining.allows(i, j):
                taken[i] = taken[j] = True
                k -= 1
                yield i, j
        return
    rank = np.empty(rows.n_items, dtype=np.int64)
    rank[rng.permutation(rows.n_items)] = np.arange(rows.n_items)
    group = np.repeat(np.arange(len(rows.groups) - 1), np.diff(rows.groups))
    kept = np.flatnonzero(free[rows.partner])
    kept = kept[np.lexsort((rank[rows.partner[kept]], group[kept]))]
    items, group = rows.partner[kept], group[kept]
    # In each group the first meets the second, the third the fourth, and so on.
    number = np.arange(len(items)) - np.searchsorted(group, group)
    first = np.flatnonzero((number % 2 == 0) & (np.append(group[1:], -1) == group))
    pairs: Ints = np.column_stack([items[first], items[first + 1]]).astype(np.int64)
    pairs = np.sort(pairs[np.argsort(rank[pairs[:, 0]])], axis=1)
    for i, j in pairs[:k].tolist():
        yield i, j
