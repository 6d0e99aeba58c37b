"""The front: the best part of the pool, exact in float64 and updated at every pick. Picks are made here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.design.information import Design
from pairsmith.engine import kernels
from pairsmith.engine.pool import Epoch, Pool
from pairsmith.engine.top_pairs import EQUAL, renumber

NEAR = 1e-9  # gains within this share of the best are recomputed from the root before one is picked
_MULTIPLICATIONS_AT_ONCE = 3e6  # about, in one burst of picks: a few milliseconds
_PICKS_AT_ONCE = 256


@dataclass
class Front:
    """Pairs of the pool in the order of pairs, which decides between equals, with their gains."""

    chosen: Ints  # their places in the pool
    items: Ints  # the items that `first` and `second` are places among
    arrays: kernels.FrontArrays  # their gains and features, see kernels.FrontArrays
    limit: float = np.inf  # a pick must reach it: below, a pair outside may be better, or digits are gone

    @classmethod
    def empty(cls, d: int) -> Front:
        none, nowhere = np.empty(0), np.empty(0, dtype=np.int32)
        nothing = np.empty(0, dtype=np.int64)
        return cls(
            nothing,
            nothing,
            kernels.FrontArrays(none, nowhere, nowhere, none, np.empty((0, d)), nothing, none, np.empty(d)),
        )  # fmt: skip

    @classmethod
    def drawn(cls, pool: Pool, outside: float, design: Design, afresh: bool) -> Front:
        """The pairs of the pool whose bound is at least `outside`; with `afresh`, gains are computed from the root."""
        bound, _, i, j, weight = pool.arrays
        chosen = np.flatnonzero(bound >= outside if outside > -np.inf else bound > -np.inf)
        chosen = chosen[np.lexsort((j[chosen], i[chosen]))]
        items, first, second = renumber(design.n, pool.items[i[chosen]], pool.items[j[chosen]])
        X, own_weight = design.rows(items), weight[chosen] if len(weight) else weight
        value = bound[chosen]
        if afresh:
            value = design.gains(items[first], items[second], own_weight if len(own_weight) else None)
        listed = np.zeros(len(chosen), dtype=np.int64)
        scratch = listed, np.empty(len(X)), np.empty(X.shape[1])
        return cls(chosen, items, kernels.FrontArrays(value, first, second, own_weight, X, *scratch))

    def best(self, design: Design) -> float:
        """The largest gain; those that come near it are exact then."""
        if design.effects is not None:
            return near(self.arrays, self.items, design)[0]
        nothing, root = np.empty(0), design.root
        picked = kernels.Picked(np.empty(0, dtype=np.int64), nothing, nothing, np.empty((0, len(root))))
        _, top = kernels.picks(self.arrays, root, nothing, 0, kernels.PickRule(np.inf, 0.0, NEAR, EQUAL), picked)
        return float(top)

    def burst(self, d: int) -> int:
        """How many picks to make in one go, so that an interrupt or a progress bar does not wait."""
        multiplications = self.arrays.X.size + 3 * d**2 + 2 * len(self.chosen)
        return min(max(int(_MULTIPLICATIONS_AT_ONCE / multiplications), 1), _PICKS_AT_ONCE)

    def pick(self, design: Design, epoch: Epoch, count: int) -> tuple[Ints, Floats, Floats]:
        """Take up to `count` times the best pair into the design's root, as long as it is the best of all.

        Returns the places of those picked, their d_ij, and the design's terms() before each (for the bound on rounding,
        Design.note_rounding).
        """
        picked = kernels.Picked(
            np.empty(count, dtype=np.int64), np.empty(count), np.empty(count), epoch.room_for(count)
        )
        rule = kernels.PickRule(self.limit, epoch.margin, NEAR, EQUAL)
        if design.effects is not None:
            done = picks(self.arrays, self.items, design, count, rule, picked, epoch.r)
        else:
            done, _ = kernels.picks(self.arrays, design.root, design.sizes, count, rule, picked)
        epoch.picks += done
        return picked.place[:done], picked.d[:done], picked.terms[:done]

    def pairs(self, place: Ints) -> tuple[list[int], list[int]]:
        """The items i and j of the pairs at these places."""
        first, second = self.arrays.first[place], self.arrays.second[place]
        return self.items[first].tolist(), self.items[second].tolist()

    def drop_full(self, full: Bools) -> None:
        """Pairs with an item at its cap can be picked no more."""
        own = full[self.items]
        self.arrays.value[own[self.arrays.first] | own[self.arrays.second]] = -np.inf


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
