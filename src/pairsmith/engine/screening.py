"""Screen pairs by float32 products: the bound that makes it safe, and its proof.

In whitened coordinates, a gain is d_ij = |z_i - z_j|^2 = |z_i|^2 + |z_j|^2 - 2 z_i'z_j, so a tile of gains is a matrix
product. float32 only screens: the bound proved here guarantees that no pair which reaches the floor is missed, whatever
the data.

Let u = 2^-24 be the unit roundoff of float32. Only the `used` columns of Z with the most energy are multiplied. Split
|z_i|^2 into r_i, the part in these columns, and q_i, the part in the others, and let p_i = r_i / 2 + q_i. Then, with
z_i'z_j over the used columns only,

    d_ij <= 2 (p_i + p_j) - 2 z_i'z_j,

because the other columns add at most (sqrt(q_i) + sqrt(q_j))^2 <= 2 (q_i + q_j) to d_ij. A tile holds

    g_ij = z_i'z_j - h_i - h_j,    h_i = (1 + c) p_i - floor / 4 rounded up,    c = 3.2 (m + 8) u,

where m = used + 2 is the number of products in that sum.

Claim: if d_ij reaches the floor, then the computed g_ij is negative, and d_ij <= floor - 2 g_ij.

Proof: Summation in any order is off by at most 1.01 m u (|z_i||z_j| + |h_i| + |h_j|), and rounding z to float32 adds at
most 2.01 u |z_i||z_j|. Here |z_i||z_j| <= p_i + p_j. If d_ij reaches the floor, then floor / 2 <= 2 (p_i + p_j), so
|h_i| + |h_j| <= 2.01 (p_i + p_j). The error is thus below c (p_i + p_j), which is the margin that the h contain.

With the scores s of a model, the gain is w_ij d_ij with the weight w = p (1 - p), p = 1 / (1 + exp(s_j - s_i)). It
reaches the floor where

    d_ij >= floor / w_ij = floor (2 + exp(s_i - s_j) + exp(s_j - s_i)).

This takes two more products in the sum, of a = exp(s) and b = exp(-s), so m = used + 4, and floor / 2 instead of
floor / 4 in h. For a pair that reaches the floor, the new terms add at most d_ij / 2 <= 2 (p_i + p_j) to the magnitude
of the terms, so c = 5.2 (m + 8) u. The gain is then at most floor - 2 w_ij g_ij.

With item effects, d_ij = |z_i - z_j|^2 + own_i + own_j for two items that are not both touched (`whitening`). With
p_i = r_i / 2 + q_i + own_i / 2, the proof holds unchanged.
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
from pairsmith.engine.top_pairs import TIE_TOLERANCE, Hits, Items
from pairsmith.engine.whitening import WhitenedItems

Floats32 = npt.NDArray[np.float32]

_ERROR_FACTOR, _ERROR_FACTOR_WITH_SCORES = 3.2, 5.2  # of (m + 8) u in c
_MAX_SCORE_FROM_MEDIAN = 40.0  # scores are clipped to this distance, which can only make weights larger
_HITS_PER_BATCH = 1 << 19  # hits that a thread collects before it hands them over


@dataclass(frozen=True)
class ItemBlock:
    """A block of consecutive items in the order of a scan, with all that the screen needs to know about each item."""

    place: int  # of the first item, in the order of the scan
    items: Items
    squared_norms: Floats  # |z_i|^2
    scores: Floats | None  # if answers have weights
    own: Floats | None = None  # the item's effect variance, with item effects

    @classmethod
    def of(cls, whitened: WhitenedItems, place: int, items: Items) -> ItemBlock:
        """Build the block of these items, which begins at this place."""
        scores, own = (None if one is None else one[items] for one in (whitened.design.scores, whitened.own))
        return cls(place, items, whitened.squared_norms[items], scores, own)

    def part(self, which: slice) -> ItemBlock:
        """Return the block of the items in a slice with step 1."""
        scores, own = (None if one is None else one[which] for one in (self.scores, self.own))
        return ItemBlock(self.place + (which.start or 0), self.items[which], self.squared_norms[which], scores, own)


@dataclass(frozen=True)
class TileRows:
    """A block of items as the screen multiplies them, and their whitened features."""

    block: ItemBlock
    rows: Floats32  # written by Screening.write_float32_rows
    Z: Floats | None  # needed for the second look
    row_of_Z: Items  # the row of each item in Z


@dataclass(frozen=True)
class Screening:
    """The settings that all tiles of a float32 scan share."""

    floor: float
    columns: Ints  # of Z, the one with the most energy first
    used: int  # the number of columns multiplied
    second_look: bool  # whether hits are recomputed in float64, because the used columns leave out too much
    scale: float  # divides z, so that nothing overflows
    score_median: float | None  # None without scores
    height: int  # of a tile
    width: int

    @property
    def row_width(self) -> int:
        """The length of a float32 row."""
        return self.used + (2 if self.score_median is None else 4)

    def write_float32_rows(
        self, Z: Floats, which: Items, block: ItemBlock, out: Floats32, columns: Items | None = None
    ) -> None:
        """Write the rows (z, -1, -h), or (z, a, b, -1, -h) with scores, of the items Z[which].

        If Z does not have all columns, `columns` says where it has the used ones.
        """
        used, scores, r = self.used, block.scores, np.empty(len(which))  # r, q, c, h as in the proof, over scale^2
        used_columns = self.columns[:used] if columns is None else columns
        kernels.narrow_to_float32(Z, which, used_columns, 1 / self.scale, out, r)
        c = (_ERROR_FACTOR if scores is None else _ERROR_FACTOR_WITH_SCORES) * (out.shape[1] + 8) * 2.0**-24
        # The subtraction may be off by about 1e-16 of the norm; c allows for 1e-6 and more.
        q = np.maximum(block.squared_norms / self.scale**2 - r, 0.0)
        threshold = self.floor / self.scale**2
        own = 0.0 if block.own is None else block.own / self.scale**2
        h = (1 + c) * (r / 2 + q + own / 2) + 2.0**-90  # 2^-90 covers underflow
        if scores is None:
            h -= threshold / 4
        else:
            h -= threshold / 2
            centred = np.clip(scores - (self.score_median or 0.0), -_MAX_SCORE_FROM_MEDIAN, _MAX_SCORE_FROM_MEDIAN)
            out[:, used] = np.sqrt(threshold / 2) * np.exp(centred) * (1 - 1e-6)
            out[:, used + 1] = np.sqrt(threshold / 2) * np.exp(-centred) * (1 - 1e-6)
        out[:, -2] = -1
        out[:, -1] = -np.nextafter(h.astype(np.float32), np.float32(np.inf))

    def scratch(self) -> kernels.ScreenScratch:
        """Allocate the memory that one thread needs."""
        left, products = (np.empty(self.height * width, dtype=np.float32) for width in (self.row_width, self.width))
        i, j = np.empty((2, _HITS_PER_BATCH), dtype=np.int32)
        return kernels.ScreenScratch(left, products, i, j, np.empty(_HITS_PER_BATCH))

    def hits(
        self, left: TileRows, right: TileRows, strips: Ints, floor: Callable[[], float], scratch: kernels.ScreenScratch
    ) -> Iterator[Hits]:
        """Yield the pairs of `left` with `right`, in these strips, whose bound reaches the floor.

        The floor is read anew for every batch of hits, because it may rise.
        """
        position = np.array([0, -1])
        sides = tuple(kernels.StripSide(side.rows, side.block.place) for side in (left, right))
        while position[0] < len(strips):
            now = floor()
            count = kernels.screen(*sides, strips, position, self.width, self._screen_floor(now), scratch)
            if count:
                a, b = scratch.i[:count] - left.block.place, scratch.j[:count] - right.block.place
                yield self._weighted_hits(left, right, a, b, scratch.bound[:count], now)

    def _screen_floor(self, now: float) -> kernels.ScreenFloor:
        """Express the current floor as a change since the rows were written: the h contain the floor of that time."""
        risen = (now - self.floor) / (2 if self.score_median is None else 1) / self.scale**2
        shift = np.maximum(np.nextafter(np.float32(risen), np.float32(-np.inf)), np.float32(0))
        growth = np.float32(0 if self.score_median is None else now / self.floor if self.floor > 0 else 1)
        return kernels.ScreenFloor(shift, growth, now, 2 * self.scale**2)

    def _weighted_hits(self, left: TileRows, right: TileRows, a: Items, b: Items, bound: Floats, now: float) -> Hits:
        """Turn the pairs of places a and b, and their bounds on d_ij, into hits: apply weights and the second look."""
        i, j = left.block.items[a], right.block.items[b]
        weight: Floats | float = 1.0
        if left.block.scores is not None and right.block.scores is not None:
            weight = logistic_weight(left.block.scores[a] - right.block.scores[b])
        if self.second_look:
            gain = np.empty(len(a))
            pair_distances(left.Z, right.Z, left.row_of_Z[a], right.row_of_Z[b], gain)
            if left.block.own is not None and right.block.own is not None:
                gain += left.block.own[a] + right.block.own[b]
            hits = Hits(i, j, gain * weight)
            return hits.only(hits.gain >= now * (1 - TIE_TOLERANCE))
        return Hits(i, j, now + weight * (bound - now) if self.score_median is not None else bound.copy())


@dataclass(frozen=True)
class ScreenPlan:
    """The plan of a float32 scan: all that its executor needs besides the items themselves."""

    screening: Screening
    order: Items  # the items that take part, by group, the longest first in each
    strips: Ints  # rows (a, a_end, b, b_end): the items at places a to a_end - 1 meet those at b to b_end - 1
    pairs: Ints  # the cumulative number of pairs in the strips
