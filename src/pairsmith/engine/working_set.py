"""The working set: the largest gains of the pool, exact in float64 and updated at every pick. Picks are made here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.design.information import Design
from pairsmith.engine import kernels
from pairsmith.engine.pool import Pool, Updates
from pairsmith.engine.top_pairs import TIE_TOLERANCE, renumber

NEAR_BEST = 1e-9  # gains within this share of the best are recomputed from the root before one is picked

_MULTIPLICATIONS_PER_BURST = 3e6  # a few milliseconds
_MAX_PICKS_PER_BURST = 256


@dataclass
class WorkingSet:
    """Pairs of the pool with their gains, in lexicographic order: of equal gains, the first is picked."""

    pool_places: Ints
    items: Ints  # the rows of arrays.X
    arrays: kernels.WorkingArrays
    min_gain: float = np.inf  # a smaller gain is not picked: a pair outside may be better, or digits are lost

    @classmethod
    def empty(cls, d: int) -> WorkingSet:
        """Return a working set without pairs."""
        floats, ints, places = np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
        arrays = kernels.WorkingArrays(floats, places, places, floats, np.empty((0, d)), ints, floats, np.empty(d))
        return cls(ints, ints, arrays)

    @classmethod
    def from_pool(cls, pool: Pool, min_bound: float, design: Design, recompute: bool) -> WorkingSet:
        """Draw the pairs of the pool whose bound is at least `min_bound`; `recompute` their gains from the root."""
        bound, _, i, j, weight = pool.arrays
        chosen = np.flatnonzero(bound >= min_bound if min_bound > -np.inf else bound > -np.inf)
        chosen = chosen[np.lexsort((j[chosen], i[chosen]))]
        items, first, second = renumber(design.n, pool.items[i[chosen]], pool.items[j[chosen]])
        X, weight = design.rows(items), weight[chosen] if len(weight) else weight
        gain = bound[chosen]
        if recompute:
            gain = design.gains(items[first], items[second], weight if len(weight) else None)
        marked = np.zeros(len(chosen), dtype=np.int64)
        scratch = marked, np.empty(len(X)), np.empty(X.shape[1])
        return cls(chosen, items, kernels.WorkingArrays(gain, first, second, weight, X, *scratch))

    def best_gain(self, design: Design) -> float:
        """Return the largest gain, after recomputing it and the gains near it."""
        if design.effects is not None:
            return self.refresh_best_with_effects(design)[0]
        empty, root = np.empty(0), design.root
        log = kernels.PickLog(np.empty(0, dtype=np.int64), empty, empty, np.empty((0, len(root))))
        rule = kernels.PickRule(np.inf, 0.0, NEAR_BEST, TIE_TOLERANCE)
        return float(kernels.pick_best(self.arrays, root, empty, 0, rule, log)[1])

    def burst_size(self, d: int) -> int:
        """Return how many picks to make at once, so that interrupts and progress reports are not held up."""
        multiplications = self.arrays.X.size + 3 * d**2 + 2 * len(self.pool_places)
        return min(max(int(_MULTIPLICATIONS_PER_BURST / multiplications), 1), _MAX_PICKS_PER_BURST)

    def pick(self, design: Design, updates: Updates, count: int, margin: float) -> tuple[Ints, Floats, Floats]:
        """Include the best pair in the design's root, up to `count` times, as long as it is the best of all pairs.

        A pick must reach `min_gain` even if it is lowered by the share `margin`.

        Return, for each pick, its place in the working set, its weighted d_ij, and the design's terms() before it,
        which `Design.note_rounding` needs.
        """
        log = kernels.PickLog(np.empty(count, dtype=np.int64), np.empty(count), np.empty(count), updates.reserve(count))
        rule = kernels.PickRule(self.min_gain, margin, NEAR_BEST, TIE_TOLERANCE)
        if design.effects is not None:
            done = self._pick_with_effects(design, count, rule, log, updates.r)
        else:
            done, _ = kernels.pick_best(self.arrays, design.root, design.sizes, count, rule, log)
        updates.count += done
        return log.place[:done], log.d[:done], log.terms[:done]

    def pairs(self, places: Ints) -> tuple[list[int], list[int]]:
        """Return the items i and j of the pairs at these places."""
        first, second = self.arrays.first[places], self.arrays.second[places]
        return self.items[first].tolist(), self.items[second].tolist()

    def drop_full(self, full: Bools) -> None:
        """Exclude pairs with an item at its exposure cap from further picks."""
        full = full[self.items]
        self.arrays.gain[full[self.arrays.first] | full[self.arrays.second]] = -np.inf

    # With item effects, picks take longer vectors and more steps. Compiling them would gain little.

    def refresh_best_with_effects(self, design: Design) -> tuple[float, Ints]:
        """Recompute the best gain and all gains near it; return the best and the places of the gains near it.

        A gain is recomputed once in a working set, and from then on `arrays.marked` is 1. The few picks that follow
        lower it by subtraction. With thousands of equal gains, recomputing all of them at every pick would take most of
        the time.
        """
        gain, marked = self.arrays.gain, self.arrays.marked
        near = np.array([int(np.argmax(gain))]) if len(gain) else np.empty(0, dtype=np.int64)
        if len(near) == 0 or gain[near[0]] == -np.inf:
            return -np.inf, near[:0]
        while True:
            stale = near[marked[near] == 0]
            if len(stale):
                weight = self.arrays.weight[stale] if len(self.arrays.weight) else None
                i, j = self.items[self.arrays.first[stale]], self.items[self.arrays.second[stale]]
                gain[stale] = design.gains(i, j, weight)
                marked[stale] = 1
            top = float(gain.max()) if len(stale) == 0 else float(gain[near].max())
            near = np.flatnonzero(gain >= top - NEAR_BEST * abs(top))
            if marked[near].all():
                return float(gain[near].max()), near

    def _pick_with_effects(
        self, design: Design, count: int, rule: kernels.PickRule, log: kernels.PickLog, r: list[Floats]
    ) -> int:
        """Do what `kernels.pick_best` does, for items with effects, and append to r; return the number of picks."""
        gain, first, second, weight, X, *_ = self.arrays
        effects = design.effects
        assert effects is not None
        for m in range(count):
            top, near = self.refresh_best_with_effects(design)
            if top == -np.inf or top - rule.margin * abs(top) < rule.min_gain:
                return m
            place = int(near[np.argmax(gain[near] >= top - TIE_TOLERANCE * abs(top))])  # the first of the ties
            log.terms[m], log.place[m] = design.sum_of_term_norms(), place
            i, j = self.items[first[place]], self.items[second[place]]
            log.d[m], log.V[m], change = design.add_with_effects(int(i), int(j))
            r.append(change)
            rho, at = X @ log.V[m], effects.place[self.items]
            rho[at >= 0] += change[at[at >= 0]]
            decrease = (rho[first] - rho[second]) ** 2
            gain[:] -= weight * decrease if len(weight) else decrease
            gain[place] = -np.inf
        return count
