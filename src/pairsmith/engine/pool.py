"""The pool: what the last scan kept, with bounds that the picks of its epoch lower when that matters."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.design.information import Design
from pairsmith.engine import kernels
from pairsmith.engine.threads import Team
from pairsmith.engine.top_pairs import Hits, renumber

BYTES_PER_PAIR = 48  # peak bytes a pooled pair, copies made while hits are joined and cut included

_PAIRS_AT_ONCE = 1 << 17  # pooled pairs that one thread brings up to date at a time
_SAMPLED_FROM = 1 << 20  # pairs: in a larger pool, a sample tells well enough where the size-th largest is
_SAMPLED = 1 << 18  # pairs of it, at least


class Epoch:
    """The time between two scans: the picks made in it, and what holds for all of it.

    Each pick is known by its v = A^-1 x / sqrt(1 + d), by which gains fall (`Design.add`; Alg. 4); where items have
    effects, also by what it says of those (`Design.take`).
    """

    def __init__(self, d: int) -> None:
        self.V = np.empty((64, d))  # row l is the v of pick l; there is room for more
        self.r: list[Floats] = []  # and its r, a number a touched item, where items have effects
        self.picks = 0  # made so far
        self.best_at_start = -np.inf  # the largest gain when it began
        # How far above everything outside the front a pick must be, relatively, so that all near ties are inside.
        self.margin = 0.0

    def room_for(self, count: int) -> Floats:
        """Rows of V for so many more picks."""
        if self.picks + count > len(self.V):
            self.V = np.vstack([self.V, np.empty((len(self.V) + count, self.V.shape[1]))])
        return self.V[self.picks :]


@dataclass
class Pool:
    """Pairs with a bound on the gain of each, and the number of picks of the epoch that the bound takes into account.

    A pick lowers gains by d_ij <- d_ij - (rho_i - rho_j)^2, rho_i = v'x_i (Eq. 14), and where items have effects + r_i.
    """

    items: Ints  # the items that i and j are places among
    arrays: kernels.PoolArrays  # bound, since, i, j, weight
    floor: float  # what was left out is at most this
    exact: bool  # whether bounds were gains, in float64, at the start of the epoch
    best: float = -np.inf  # the largest gain, when the front was drawn last
    rho: Floats = field(init=False)  # rho_il = v_l'x_i of the items, for the first `rho_known` picks of the epoch
    rho_known: int = 0

    def __post_init__(self) -> None:
        self.rho = np.empty((len(self.items), 0))

    @classmethod
    def filled(cls, design: Design, hits: Hits, floor: float, exact: bool) -> Pool:
        i, j, bound = hits
        weight = np.empty(0) if design.scores is None else design.weight(i, j)
        items, first, second = renumber(design.n, i, j)
        # Few items: number them anew, so that rho is small; else all items, and no lookup.
        if 2 * len(items) < design.n:
            i, j = first, second
        else:
            items = np.arange(design.n)
        since = np.zeros(len(bound), dtype=np.int32)
        return cls(items, kernels.PoolArrays(bound, since, i, j, weight), floor, exact)

    def __len__(self) -> int:
        return len(self.arrays.bound)

    def set_gains(self, chosen: Ints, gains: Floats, picks: int) -> None:
        """Set the bounds of these pairs to their gains after so many picks."""
        self.arrays.bound[chosen], self.arrays.since[chosen] = gains, picks

    def drop(self, chosen: Ints | Bools) -> None:
        """These pairs can be picked no more."""
        self.arrays.bound[chosen] = -np.inf

    def drop_full(self, full: Bools) -> None:
        """Pairs with an item at its cap can be picked no more."""
        own = full[self.items]
        self.drop(own[self.arrays.i] | own[self.arrays.j])

    def learn_rho(self, design: Design, epoch: Epoch, team: Team) -> None:
        """rho of the pool's items for the picks made since it was asked for last."""
        if self.rho.shape[1] < epoch.picks:
            grown = np.empty((len(self.items), 2 * epoch.picks))
            grown[:, : self.rho_known] = self.rho[:, : self.rho_known]
            self.rho = grown
        if self.rho_known == epoch.picks:
            return
        V, new = epoch.V[self.rho_known : epoch.picks].T, slice(self.rho_known, epoch.picks)
        step = design.features.rows_at_once
        every_item = len(self.items) == design.n

        def work(low: int) -> None:
            block = slice(low, low + step)
            self.rho[block, new] = design.features.project(block if every_item else self.items[block], V)

        team.share(work, range(0, len(self.items), step))
        if design.effects is not None:
            place = design.effects.place[self.items]
            touched = np.flatnonzero(place >= 0)
            for pick in range(self.rho_known, epoch.picks):
                r = epoch.r[pick]  # of the items that were touched then
                then = touched[place[touched] < len(r)]
                self.rho[then, pick] += r[place[then]]
        self.rho_known = epoch.picks

    def bring_up_to_date(self, size: int, picks: int, team: Team) -> float:
        """Reduce bounds until the `size` largest are up to date; returns the least of those, or -inf if that is all."""
        rank, total = size, len(self)
        while rank < total:
            threshold = self._bound_at(rank)
            self._update_above(threshold, picks, team)
            if (outside := self._bound_at(size)) >= threshold and outside > -np.inf:
                return outside
            rank *= 4
        self._update_above(-np.inf, picks, team)
        return self._bound_at(size) if size < total else -np.inf

    def _bound_at(self, rank: int) -> float:
        """The bound that has this rank, roughly where the pool is large."""
        bound: npt.NDArray[np.float64] = self.arrays.bound
        some = bound if len(bound) <= _SAMPLED_FROM else bound[:: len(bound) // _SAMPLED]
        place = len(some) - max(round(rank * len(some) / len(bound)), 1)
        return float(np.partition(some, place)[place])

    def _update_above(self, threshold: float, picks: int, team: Team) -> None:
        """Bring bounds that reach the threshold up to date."""

        def work(low: int) -> None:
            high = min(low + _PAIRS_AT_ONCE, len(self))
            kernels.subtract_steps(self.arrays, self.rho, picks, low, high, threshold)

        team.share(work, range(0, len(self), _PAIRS_AT_ONCE))
