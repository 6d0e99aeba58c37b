"""Picks from the front where items have effects of their own: what `kernels.picks` does, by NumPy.

The vectors are longer and the steps are more than where there are none, so that there is little to be gained by
compiling them.
"""

from __future__ import annotations

import numpy as np

from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.information import Design
from pairsmith.engine import kernels
from pairsmith.engine.top_pairs import EQUAL

NEAR = 1e-9  # gains within this share of the best are recomputed from the root before one is picked


def near(front: kernels.FrontArrays, items: Ints, design: Design) -> tuple[float, Ints]:
    """The largest gain, and the places of those that come near it, ascending.

    Each of these was computed afresh in this front, and has been lowered by a few picks since at most: of gains that
    are equal there may be thousands, and to compute all of them at every pick would take most of the time.
    `front.listed` is 1 for such a pair.
    """
    value, fresh = front.value, front.listed
    close = np.array([int(np.argmax(value))]) if len(value) else np.empty(0, dtype=np.int64)
    if len(close) == 0 or value[close[0]] == -np.inf:
        return -np.inf, close[:0]
    while True:
        stale = close[fresh[close] == 0]
        if len(stale):
            weight = front.weight[stale] if len(front.weight) else None
            value[stale] = design.gains(items[front.first[stale]], items[front.second[stale]], weight)
            fresh[stale] = 1
        top = float(value.max()) if len(stale) == 0 else float(value[close].max())
        close = np.flatnonzero(value >= top - NEAR * abs(top))
        if fresh[close].all():
            return float(value[close].max()), close


def picks(
    front: kernels.FrontArrays,
    items: Ints,
    design: Design,
    count: int,
    rule: kernels.PickRule,
    picked: kernels.Picked,
    r: list[Floats],
) -> int:
    """Take up to `count` times the best pair of the front into the design: how many times it could."""
    effects = design.effects
    assert effects is not None
    for m in range(count):
        top, close = near(front, items, design)
        if top == -np.inf or top - rule.margin * abs(top) < rule.limit:
            return m
        # Of gains that are equal, the first.
        place = int(close[np.argmax(front.value[close] >= top - EQUAL * abs(top))])
        picked.terms[m], picked.place[m] = design.terms(), place
        i, j = items[front.first[place]], items[front.second[place]]
        picked.d[m], picked.V[m], own = design.take(int(i), int(j))
        r.append(own)
        rho, at = front.X @ picked.V[m], effects.place[items]
        rho[at >= 0] += own[at[at >= 0]]
        lost = (rho[front.first] - rho[front.second]) ** 2
        front.value[:] -= front.weight * lost if len(front.weight) else lost
        front.value[place] = -np.inf
    return count
