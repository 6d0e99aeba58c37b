"""A random matching of items that nothing distinguishes: the first picks with item effects but without features.

As long as two items are untouched, every pair of untouched items has the same gain, log(1 + 2 e w), and no pair has a
larger one: the effect of a touched item has a smaller variance, and an answer that could go either way has the largest
weight. There is nothing to scan for, so untouched items are matched in a random order, which a seed makes repeatable.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pairsmith.data.arrays import Bools, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.steps import Step, Steps


def alike(design: Design) -> bool:
    """Return whether only effects distinguish items: all features are equal, and all scores of untouched items."""
    if design.effects is None or np.any(design.extent):
        return False
    if design.scores is None:
        return True
    scores = design.scores[design.effects.place < 0]
    return bool(np.all(scores == scores[:1]))


def match_untouched_items(design: Design, remaining: Remaining, k: int, rng: np.random.Generator) -> Steps:
    """Match untouched items at random and include the pairs in the design: up to k steps, one for each pair."""
    effects = design.effects
    assert effects is not None
    effects.reserve(2 * k)
    for i, j in _random_matching(remaining, (effects.place < 0) & ~remaining.full, k, rng):
        weight = float(design.weight(i, j))
        gain = float(np.log1p(2 * effects.variance * weight))
        effects.add_alike_pair(i, j, weight)
        design.logdet += gain
        remaining.take(i, j)
        yield Step(i, j, gain, design.logdet)


def _random_matching(remaining: Remaining, free: Bools, k: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield up to k candidates i < j of free items in a random order; no item occurs twice."""
    rows = remaining.rows
    if rows.groups is None:
        candidates = rows.pairs(rng.permutation(len(rows)))
        matched = ~free
        for i, j in candidates[free[candidates].all(axis=1)].tolist():
            if k > 0 and not (matched[i] or matched[j]) and remaining.allows(i, j):
                matched[i] = matched[j] = True
                k -= 1
                yield i, j
        return
    rank = np.empty(rows.n_items, dtype=np.int64)
    rank[rng.permutation(rows.n_items)] = np.arange(rows.n_items)
    group = np.repeat(np.arange(len(rows.groups) - 1), np.diff(rows.groups))
    kept = np.flatnonzero(free[rows.partner])
    kept = kept[np.lexsort((rank[rows.partner[kept]], group[kept]))]
    items, group = rows.partner[kept], group[kept]
    # In each group, the first item meets the second, the third the fourth, and so on.
    rank_in_group = np.arange(len(items)) - np.searchsorted(group, group)
    first = np.flatnonzero((rank_in_group % 2 == 0) & (np.append(group[1:], -1) == group))
    pairs: Ints = np.column_stack([items[first], items[first + 1]]).astype(np.int64)
    pairs = np.sort(pairs[np.argsort(rank[pairs[:, 0]])], axis=1)
    for i, j in pairs[:k].tolist():
        yield i, j
