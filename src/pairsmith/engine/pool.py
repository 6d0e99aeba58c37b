"""The pool: the hits of the last scan, each with an upper bound on its gain that is lowered only when it matters."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.design.information import Design
from pairsmith.engine import kernels
from pairsmith.engine.threads import ThreadTeam
from pairsmith.engine.top_pairs import Hits, renumber

BYTES_PER_PAIR = 48  # peak bytes per pooled pair, including the copies made while hits are joined and cut down

_PAIRS_PER_TASK = 1 << 17
_MIN_PAIRS_TO_SAMPLE = 1 << 20  # in a larger pool, ranks are estimated from a sample
_MIN_SAMPLE_SIZE = 1 << 18  # pairs


class Updates:
    """The rank-one updates of the design since the last scan, one per pick.

    Update l lowers the gain of a pair by w_ij (rho_il - rho_jl)^2 with rho_il = v_l'x_i, v = A^-1 x / sqrt(1 + d)
    (Eq. 14, Alg. 4, `Design.add`). With item effects, rho_il = v_l'x_i + r_il (`Design.take`).
    """

    def __init__(self, d: int) -> None:
        self.V = np.empty((64, d))  # row l is v_l; rows from `count` on are free
        self.r: list[Floats] = []  # with item effects, r_l of the items touched so far
        self.count = 0

    def reserve(self, count: int) -> Floats:
        """Return the free rows of V, at least `count`."""
        if self.count + count > len(self.V):
            self.V = np.vstack([self.V, np.empty((len(self.V) + count, self.V.shape[1]))])
        return self.V[self.count :]


@dataclass
class Pool:
    """Pairs with an upper bound on the gain of each, and the number of updates that each bound takes into account."""

    items: Ints  # i and j are places in this list
    arrays: kernels.PoolArrays
    floor: float  # no candidate outside the pool has a larger gain
    exact: bool  # whether the bounds were gains in float64 at the time of the scan
    best_gain: float = -np.inf  # when the working set was last drawn
    rho: Floats = field(init=False)  # one row per item, one column per update; the first `projected` are filled
    projected: int = 0

    def __post_init__(self) -> None:
        self.rho = np.empty((len(self.items), 0))

    @classmethod
    def from_hits(cls, design: Design, hits: Hits, floor: float, exact: bool) -> Pool:
        """Build the pool from the hits of a scan and the largest gain of any other candidate."""
        i, j, bound = hits
        weight = np.empty(0) if design.scores is None else design.weight(i, j)
        items, first, second = renumber(design.n, i, j)
        # Few items are renumbered to keep rho small; otherwise all items stay, which saves the lookup.
        if 2 * len(items) < design.n:
            i, j = first, second
        else:
            items = np.arange(design.n)
        applied = np.zeros(len(bound), dtype=np.int32)
        return cls(items, kernels.PoolArrays(bound, applied, i, j, weight), floor, exact)

    def __len__(self) -> int:
        return len(self.arrays.bound)

    def set_gains(self, chosen: Ints, gains: Floats, count: int) -> None:
        """Set the bounds of the chosen pairs to their gains after `count` updates."""
        self.arrays.bound[chosen], self.arrays.applied[chosen] = gains, count

    def drop(self, chosen: Ints | Bools) -> None:
        """Exclude the chosen pairs from further picks."""
        self.arrays.bound[chosen] = -np.inf

    def drop_full(self, full: Bools) -> None:
        """Exclude pairs with an item at its exposure cap from further picks."""
        full = full[self.items]
        self.drop(full[self.arrays.i] | full[self.arrays.j])

    def project_updates(self, design: Design, updates: Updates, team: ThreadTeam) -> None:
        """Compute the missing columns of rho."""
        if self.rho.shape[1] < updates.count:
            larger = np.empty((len(self.items), 2 * updates.count))
            larger[:, : self.projected] = self.rho[:, : self.projected]
            self.rho = larger
        if self.projected == updates.count:
            return
        missing = slice(self.projected, updates.count)
        V, step = updates.V[missing].T, design.features.rows_at_once
        every_item = len(self.items) == design.n

        def work(low: int) -> None:
            block = slice(low, low + step)
            self.rho[block, missing] = design.features.project(block if every_item else self.items[block], V)

        team.share(work, range(0, len(self.items), step))
        if design.effects is not None:
            place = design.effects.place[self.items]
            touched = np.flatnonzero(place >= 0)
            for update in range(self.projected, updates.count):
                r = updates.r[update]
                touched_then = touched[place[touched] < len(r)]
                self.rho[touched_then, update] += r[place[touched_then]]
        self.projected = updates.count

    def tighten_largest(self, size: int, count: int, team: ThreadTeam) -> float:
        """Lower bounds until the `size` largest take all `count` updates into account.

        Return the smallest of these bounds, which no other bound exceeds, or -inf if there are no others.
        """
        rank, total = size, len(self)
        while rank < total:
            threshold = self._bound_at_rank(rank)
            self._tighten_above(threshold, count, team)
            if (outside := self._bound_at_rank(size)) >= threshold and outside > -np.inf:
                return outside
            rank *= 4
        self._tighten_above(-np.inf, count, team)
        return self._bound_at_rank(size) if size < total else -np.inf

    def _bound_at_rank(self, rank: int) -> float:
        """Return the bound of this rank, counted from the largest; an estimate if the pool is large."""
        bound: npt.NDArray[np.float64] = self.arrays.bound
        sample = bound if len(bound) <= _MIN_PAIRS_TO_SAMPLE else bound[:: len(bound) // _MIN_SAMPLE_SIZE]
        place = len(sample) - max(round(rank * len(sample) / len(bound)), 1)
        return float(np.partition(sample, place)[place])

    def _tighten_above(self, threshold: float, count: int, team: ThreadTeam) -> None:
        """Apply the missing updates to the bounds that reach the threshold."""

        def work(low: int) -> None:
            high = min(low + _PAIRS_PER_TASK, len(self))
            kernels.apply_updates(self.arrays, self.rho, count, low, high, threshold)

        team.share(work, range(0, len(self), _PAIRS_PER_TASK))
