"""Pairs that may reach a floor, found by products in float32: the bound, and its proof.

Whitened, a pair's gain is d_ij = |z_i - z_j|^2 = |z_i|^2 + |z_j|^2 - 2 z_i'z_j, so a tile of gains is a matrix product.
float32 only screens: what follows proves that no pair which reaches the floor is missed, whatever the data.

Let u = 2^-24, the unit roundoff of float32. Only the `used` columns of Z that count for most are multiplied. Let r_i be
what those count for in |z_i|^2 and q_i what the others do, and p_i = r_i / 2 + q_i. Then, with z_i'z_j over the columns
used,

    d_ij <= 2 (p_i + p_j) - 2 z_i'z_j,

because the columns left out add at most (sqrt(q_i) + sqrt(q_j))^2 <= 2 (q_i + q_j). A tile holds

    g_ij = z_i'z_j - h_i - h_j,    h_i = (1 + c) p_i - floor / 4 rounded up,    c = 3.2 (m + 8) u,

where m = used + 2 is the number of products in that sum. Summed in any order it is off by at most
1.01 m u (|z_i||z_j| + |h_i| + |h_j|), and rounding z to float32 adds at most 2.01 u |z_i||z_j|. If d_ij reaches the
floor, then floor / 2 <= 2 (p_i + p_j), so |h_i| + |h_j| <= 2.01 (p_i + p_j); and |z_i||z_j| <= p_i + p_j. The error is
thus below c (p_i + p_j), which is what the h are too large by. So g_ij < 0, and d_ij <= floor - 2 g_ij.

With the scores s of a model the gain is w_ij d_ij, where the weight is w = p (1 - p), p = 1 / (1 + exp(s_j - s_i)). It
reaches the floor where

    d_ij >= floor / w_ij = floor (2 + exp(s_i - s_j) + exp(s_j - s_i)):

two more products in the sum, of a = exp(s) and b = exp(-s), so that m = used + 4, and floor / 2 instead of floor / 4
in h. For a pair that reaches the floor they add at most d_ij / 2 <= 2 (p_i + p_j) to the size of the terms, so
c = 5.2 (m + 8) u.

Where items have effects of their own, d_ij = |z_i - z_j|^2 + own_i + own_j for two items that are not both touched
(`whitened`). With p_i = r_i / 2 + q_i + own_i / 2 all of the above holds word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.kernels import pair_distances
from pairsmith.design.weights import logistic_weight
from pairsmith.engine import kernels
from pairsmith.engine.top_pairs import EQUAL, Hits, Items
from pairsmith.engine.whitening import Whitened

Floats32 = npt.NDArray[np.float32]

_ERROR, _ERROR_WEIGHTED = 3.2, 5.2  # the factor of (m + 8) u in c, without and with scores
_STEEP = 40.0  # scores are cut off this far from their median: that only makes weights larger
_HITS_AT_ONCE = 1 << 19  # pairs that a thread collects before it hands them over


@dataclass(frozen=True)
class PlacedItems:
    """Items that stand one after the other in the order of a pass, and what the screen needs to know of each."""

    place: int  # of the first of them
    items: Items
    norms: Floats  # |z_i|^2
    scores: Floats | None  # where answers have weights
    own: Floats | None = None  # what each adds to d_ij beside z, where items have effects

    @classmethod
    def of(cls, whitened: Whitened, place: int, items: Items) -> PlacedItems:
        scores, own = whitened.design.scores, whitened.own
        return cls(
            place,
            items,
            whitened.norms[items],
            None if scores is None else scores[items],
            None if own is None else own[items],
        )

    def part(self, which: slice) -> PlacedItems:
        """Some of them, one after the other."""
        scores, own = (None if one is None else one[which] for one in (self.scores, self.own))
        return PlacedItems(self.place + (which.start or 0), self.items[which], self.norms[which], scores, own)


@dataclass(frozen=True)
class TileRows:
    """The rows of `placed`, as the screen multiplies them, and where their whitened features are."""

    placed: PlacedItems
    rows: Floats32  # made by Screening.write_float32_rows
    Z: Floats | None  # needed where there is a second look
    row_of_Z: Items  # for each item


@dataclass(frozen=True)
class Screening:
    """What all tiles of a pass in float32 have in common."""

    floor: float
    columns: Ints  # of Z, those that count for most first
    used: int  # so many of them are multiplied
    second_look: bool  # whether what passes is computed in full, because the columns used leave out too much
    scale: float  # z is divided by it, so that nothing overflows
    median: float | None  # of the scores, where there are any
    height: int  # of a tile
    width: int

    @property
    def row_width(self) -> int:
        return self.used + (2 if self.median is None else 4)

    def write_float32_rows(
        self,
        Z: Floats,
        which: Items,
        placed: PlacedItems,
        out: Floats32,
        columns: Items | None = None,
    ) -> None:
        """Fill `out` with rows (z, -1, -h), or (z, a, b, -1, -h), for these items, Z[which], over the columns used.

        `columns` are the places of those in Z, where it does not have all columns.
        """
        kept, used, norms, scores = np.empty(len(which)), self.used, placed.norms, placed.scores
        kernels.narrow(Z, which, self.columns[:used] if columns is None else columns, 1 / self.scale, out, kept)
        c = (_ERROR if scores is None else _ERROR_WEIGHTED) * (out.shape[1] + 8) * 2.0**-24
        # The difference is off by some 1e-16 of the norm, of which c adds 1e-6 and more.
        left_out, threshold = np.maximum(norms / self.scale**2 - kept, 0.0), self.floor / self.scale**2
        own = 0.0 if placed.own is None else placed.own / self.scale**2
        h = (1 + c) * (kept / 2 + left_out + own / 2) + 2.0**-90  # 2^-90: for what underflows
        if scores is None:
            h -= threshold / 4
        else:
            h -= threshold / 2
            centred = np.clip(scores - (self.median or 0.0), -_STEEP, _STEEP)
            out[:, used] = np.sqrt(threshold / 2) * np.exp(centred) * (1 - 1e-6)
            out[:, used + 1] = np.sqrt(threshold / 2) * np.exp(-centred) * (1 - 1e-6)
        out[:, -2] = -1
        out[:, -1] = -np.nextafter(h.astype(np.float32), np.float32(np.inf))

    def scratch(self) -> kernels.Scratch:
        """What a thread needs for its tiles."""
        return kernels.Scratch(
            np.empty(self.height * self.row_width, dtype=np.float32),
            np.empty(self.height * self.width, dtype=np.float32),
            np.empty(_HITS_AT_ONCE, dtype=np.int32),
            np.empty(_HITS_AT_ONCE, dtype=np.int32),
            np.empty(_HITS_AT_ONCE),
        )

    def hits(
        self,
        left: TileRows,
        right: TileRows,
        strips: Ints,
        floor: Callable[[], float],
        scratch: kernels.Scratch,
    ) -> Iterator[Hits]:
        """The pairs of `left` with `right`, in these strips, whose bound reaches the floor, which may rise."""
        at = np.array([0, -1])
        sides = kernels.Side(left.rows, left.placed.place), kernels.Side(right.rows, right.placed.place)
        while at[0] < len(strips):
            now = floor()
            found = kernels.screen(*sides, strips, at, self.width, self._level(now), scratch)
            if found:
                a, b = scratch.i[:found] - left.placed.place, scratch.j[:found] - right.placed.place
                yield self._settled(left, right, a, b, scratch.bound[:found], now)

    def _level(self, now: float) -> kernels.Level:
        """The floor as it is now. The h hold their part of the first floor; the left side gets what it has risen by."""
        risen = (now - self.floor) / (2 if self.median is None else 1) / self.scale**2
        shift = np.maximum(np.nextafter(np.float32(risen), np.float32(-np.inf)), np.float32(0))
        growth = np.float32(0 if self.median is None else now / self.floor if self.floor > 0 else 1)
        return kernels.Level(shift, growth, now, 2 * self.scale**2)

    def _settled(self, left: TileRows, right: TileRows, a: Items, b: Items, bound: Floats, now: float) -> Hits:
        """Hits, of items at places a and b of the sides: weights counted in and, on a second look, in full."""
        i, j = left.placed.items[a], right.placed.items[b]
        weight: Floats | float = 1.0
        if left.placed.scores is not None and right.placed.scores is not None:
            weight = logistic_weight(left.placed.scores[a] - right.placed.scores[b])
        if self.second_look:
            gain = np.empty(len(a))
            pair_distances(left.Z, right.Z, left.row_of_Z[a], right.row_of_Z[b], gain)
            if left.placed.own is not None and right.placed.own is not None:
                gain += left.placed.own[a] + right.placed.own[b]
            hits = Hits(i, j, gain * weight)
            return hits.only(hits.gain >= now * (1 - EQUAL))
        return Hits(i, j, now + weight * (bound - now) if self.median is not None else bound.copy())


@dataclass(frozen=True)
class ScreenPlan:
    """A pass in float32, planned: all that who carries it out has to know besides the items themselves."""

    screening: Screening
    order: Items  # of the items that take part, by groups, the longest first in each
    strips: Ints  # rows (a, a_end, b, b_end): the items at places a to a_end - 1 meet those at b to b_end - 1
    pairs: Ints  # how many pairs the strips up to and including each have
