"""Find every candidate pair whose gain reaches a floor, among up to 10^12 pairs, in memory O(N d + hits).

Features are whitened by Z = X W with A^-1 = W W', so a pair's gain is a distance: d_ij = |z_i - z_j|^2. Within each
group (all pairs form one group), items are sorted by length and multiplied in tiles of float32, under the error bound
of `screening`. In low dimension, |z_i - z_j| <= |z_i| + |z_j| rules out most tiles.

This module plans a scan: which items, which tiles, how many columns. A `ScanBackend` carries it out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Remaining, Rows
from pairsmith.design.information import Design
from pairsmith.engine.backend import PAIRS_AT_ONCE, ProgressCallback, ScanBackend, ThreadBackend, pairs_above_floor
from pairsmith.engine.screening import Screening, ScreenPlan
from pairsmith.engine.threads import ThreadTeam
from pairsmith.engine.top_pairs import Hits, Items, TopPairs, join, largest
from pairsmith.engine.whitening import WhitenedItems

# Tile heights and widths. Low tiles prune better, square ones multiply faster, so the shape depends on the number of
# columns that matter: the second shape is for more than 60 columns, the third for more than 200.
_TILE_SHAPES = (64, 512), (256, 256), (512, 512)
_MAX_COLUMNS_OF_SHAPE = 60, 200

_SAMPLED_PAIRS = 4096  # from which the number of columns is chosen
_TENTHS_OF_COLUMNS = 2, 3, 4, 5, 6, 7, 10  # the numbers of columns tried
_MAX_PASSING_SHARE = 0.05  # use all columns if fewer columns always let a larger share of the pairs pass
_MIN_PRODUCTS_TO_SAVE = 1e9  # use all columns in a scan with fewer multiplications
_SECOND_LOOK_COST, _SECOND_LOOK_COST_PER_COLUMN = 8000, 20  # of one pair, in multiplications of the scan
_MAX_HITS_TO_RECOMPUTE = 1_000_000  # if there are more hits, the largest are chosen by their bounds


class Scan:
    """Scans of all candidates. Each is a call of `whiten` and then of `screened`, `exact` or `enumerate_pairs`."""

    def __init__(
        self,
        design: Design,
        remaining: Remaining,
        team: ThreadTeam,
        diagnostics: dict[str, Any],
        tell: ProgressCallback,
        memory: int,
        passes: Callable[
            [Design, Remaining, ThreadTeam, dict[str, Any], ProgressCallback, int], ScanBackend
        ] = ThreadBackend,
    ) -> None:
        self.design, self.remaining, self.team = design, remaining, team
        self.diagnostics, self.tell = diagnostics, tell
        self.backend = passes(design, remaining, team, diagnostics, tell, memory)
        self.columns_used = 1.0  # as a share of all, in the last screened scan

    def whiten(self) -> WhitenedItems:
        """Whiten the items for the design as it is now."""
        if self.design.effects is not None:
            self.design.effects.apply_pending()
        factors = self.design.whitener()
        squared_norms, energy, Z = self.backend.measure(factors)
        return WhitenedItems(self.design, self.remaining, self.team, factors, squared_norms, energy / self.design.n, Z)

    def exact(self, whitened: WhitenedItems, floor: float, capacity: int) -> tuple[Hits, float]:
        """Return up to `capacity` pairs whose float64 gain reaches the floor, and a bound on all other gains.

        If there are more, the largest gains are returned, and of equal gains the smaller pairs.
        """
        top = TopPairs(floor, capacity, (self.design.n, self.design.n))
        if whitened.any_untouched:
            self.backend.exact(whitened, top)
        self._add_touched(whitened, top)
        return largest(join(top.hits), capacity, top.floor)[:2]

    def enumerate_pairs(self, whitened: WhitenedItems) -> Hits:
        """Return all remaining candidates with their float64 gains; for few candidates.

        The kernel it uses compiles in a quarter of the time of the kernels of `exact`.
        """
        i, j = self.remaining.rows.pairs(np.arange(len(self.remaining.rows))).astype(np.int32).T
        remaining = ~whitened.gone(i, j)
        i, j = i[remaining], j[remaining]
        return Hits(i, j, whitened.gains(i, j))

    def screened(self, whitened: WhitenedItems, floor: float, capacity: int) -> tuple[Hits, float]:
        """Return up to `capacity` pairs whose float32 bound reaches the floor, and a bound on all other gains."""
        top = TopPairs(floor, capacity + len(whitened.taken))
        plan = self._plan(whitened, floor) if whitened.any_untouched else None
        if plan is not None:
            self.backend.screen(whitened, plan, top)
        self._add_touched(whitened, top)
        i, j, bound = join(top.hits)
        hits = Hits(np.minimum(i, j), np.maximum(i, j), bound)
        gone = whitened.gone(hits.i, hits.j)
        if gone.any():
            hits = hits.only(~gone)
        if capacity < len(hits.i) <= _MAX_HITS_TO_RECOMPUTE:
            hits = Hits(hits.i, hits.j, whitened.gains(hits.i, hits.j))
        return largest(hits, capacity, top.floor)[:2]

    def _add_touched(self, whitened: WhitenedItems, top: TopPairs) -> None:
        """Add the candidates of two touched items that reach the floor: at most T^2 / 2 pairs, in float64.

        The effects of touched items have a covariance E_ij, which the passes of the backend leave out.
        """
        effects, own = self.design.effects, whitened.own
        if effects is None or own is None or effects.count < 2:
            return
        items = np.sort(effects.touched)
        rows = self.remaining.rows.among(effects.place >= 0)
        place = np.zeros(self.design.n, dtype=np.int32)
        place[items] = np.arange(len(items))
        rows = Rows(place[rows.partner], rows.first[items], rows.count[items])
        arrays = rows.partner, rows.first, rows.count, rows.start
        Z, scores = whitened.rows(items), None if self.design.scores is None else self.design.scores[items]
        covariance, lock = (effects.E, effects.place[items]), threading.Lock()

        def work(block: tuple[int, int]) -> None:
            floor = top.floor
            i, j, gain = pairs_above_floor(Z, arrays, scores, own[items], *block, whitened.product(floor), covariance)
            hits = whitened.with_true_gains(Hits(items[i].astype(np.int32), items[j].astype(np.int32), gain), floor)
            hits = hits.only(top.wanted(hits) & ~whitened.gone(hits.i, hits.j))
            with lock:
                top.add(hits)

        self.team.share(work, rows.blocks(PAIRS_AT_ONCE))

    def _plan(self, whitened: WhitenedItems, floor: float) -> ScreenPlan | None:
        """Plan a screen, or return None if no pair can reach the floor."""
        min_span = whitened.min_squared_span(floor)
        order, groups = _order_by_length(whitened, min_span)
        if len(order) < 2:
            return None
        columns = np.argsort(-whitened.energy)
        min_distance = float(whitened.min_distance(floor) if whitened.own is None else min_span)
        # Leave out columns that together hold less than 1e-4 of the distance that a pair needs.
        energy_from = np.cumsum(whitened.energy[columns][::-1])[::-1]
        relevant = max(1, int(np.sum(4 * energy_from > 1e-4 * min_distance)))
        height, width = _TILE_SHAPES[int(np.searchsorted(_MAX_COLUMNS_OF_SHAPE, relevant))]
        strips = _strips(np.sqrt(whitened.pruning_norms[order]), groups, height, np.sqrt(min_span))
        pairs = np.cumsum((strips[:, 1] - strips[:, 0]) * (strips[:, 3] - strips[:, 2]))
        used = relevant
        if self.backend.second_look:
            used = _choose_column_count(whitened, order, strips, pairs, floor, columns[:relevant])
        self.columns_used = used / len(columns)
        self.diagnostics["tiles"] += int(np.sum(-(-(strips[:, 3] - strips[:, 2]) // width)))
        products = float(pairs[-1]) * used if len(pairs) else 0.0
        self.diagnostics["products"] = self.diagnostics.get("products", 0.0) + products
        squared = whitened.squared_norms[order]
        longest = float(np.sqrt((squared if whitened.own is None else squared + whitened.own[order]).max()))
        scale = 2.0 ** np.ceil(np.log2(longest)) if longest > 0 else 1.0
        median = None if self.design.scores is None else float(np.median(self.design.scores))
        product = float(whitened.product(floor))
        screening = Screening(product, columns, used, used < relevant, scale, median, height, width)
        return ScreenPlan(screening, order, strips, pairs)


def _order_by_length(whitened: WhitenedItems, min_span: float) -> tuple[Items, Ints]:
    """Return the items that can be in a pair of this squared span, and where each group begins and ends.

    Items are sorted by group and, within a group, by length, the longest first. Items at their cap are left out.
    """
    rows, norms, full = whitened.remaining.rows, whitened.pruning_norms, whitened.remaining.full
    assert rows.groups is not None
    lengths = norms[rows.partner]
    longest = np.sqrt(np.maximum.reduceat(lengths, rows.groups[:-1]))
    min_lengths = np.maximum(0.0, np.sqrt(min_span) * (1 - 1e-9) - longest) ** 2
    sizes = np.diff(rows.groups)
    if len(sizes) == 1:
        order = rows.partner[(lengths >= min_lengths[0]) & ~full[rows.partner]]
        return order[np.argsort(-norms[order])], np.array([0, len(order)])
    group = np.repeat(np.arange(len(sizes)), sizes)
    kept = np.flatnonzero((lengths >= min_lengths[group]) & ~full[rows.partner])
    kept = kept[np.lexsort((-lengths[kept], group[kept]))]
    counts = np.bincount(group[kept], minlength=len(sizes))
    return rows.partner[kept], np.concatenate([[0], np.cumsum(counts)])


def _strips(lengths: Floats, groups: Ints, height: int, min_span: float) -> Ints:
    """Return disjoint strips (a, a_end, b, b_end), ascending in a.

    In a strip, rows a to a_end - 1 meet columns b = a to b_end - 1. Beyond b_end, lengths add up to less than
    `min_span`. A group no larger than the height is a strip of its own.
    """
    strips_of_groups = []
    large = np.diff(groups) > height
    for begin, end in zip(groups[:-1][large].tolist(), groups[1:][large].tolist(), strict=True):
        a = np.arange(begin, end, height)
        min_length = min_span * (1 - 1e-9) - lengths[a]
        b_end = begin + np.searchsorted(-lengths[begin:end], -min_length, side="right")
        strips_of_groups.append(np.column_stack([a, np.minimum(a + height, b_end), a, b_end]))
    begins, ends = groups[:-1][~large], groups[1:][~large]
    strips_of_groups.append(np.column_stack([begins, ends, begins, ends]))
    strips = np.concatenate(strips_of_groups).astype(np.int64)
    strips = strips[strips[:, 3] > strips[:, 0] + 1]
    ascending: Ints = strips[np.argsort(strips[:, 0])]
    return ascending


def _choose_column_count(
    whitened: WhitenedItems, order: Items, strips: Ints, pairs: Ints, floor: float, columns: Ints
) -> int:
    """Return how many of the columns to multiply if the pairs that pass are then recomputed with all columns.

    Columns come with the most energy first. If the floor is far out in the tail, half the columns, with a bound on the
    rest, rule out nearly as many pairs as all columns would.
    """
    if len(columns) < 10 or len(strips) == 0 or pairs[-1] * len(columns) < _MIN_PRODUCTS_TO_SAVE:
        return len(columns)
    grid = np.unique(len(columns) * np.array(_TENTHS_OF_COLUMNS) // 10) - 1
    for size in (_SAMPLED_PAIRS // 16, _SAMPLED_PAIRS):  # a small sample is enough to see that there is no hope
        rng = np.random.default_rng(0)
        strip = strips[np.searchsorted(pairs, rng.integers(pairs[-1], size=size), side="right")]
        i = order[strip[:, 0] + (rng.random(size) * (strip[:, 1] - strip[:, 0])).astype(np.int64)]
        j = order[strip[:, 2] + (rng.random(size) * (strip[:, 3] - strip[:, 2])).astype(np.int64)]
        first, second = (whitened.rows(items)[:, columns] for items in (i, j))
        inside = np.cumsum(first**2 + second**2 + 2 * first * second, axis=1)[:, grid]
        bound = 2 * (whitened.squared_norms[i] + whitened.squared_norms[j])[:, None] - inside
        if whitened.own is not None:
            bound += (whitened.own[i] + whitened.own[j])[:, None]
        passing = (1 + np.sum(bound * whitened.design.weight(i, j)[:, None] >= floor, axis=0)) / size
        if passing[:-1].min() > _MAX_PASSING_SHARE:
            return len(columns)
    passing[-1] = 0  # with all columns, there is no second look
    second_look = _SECOND_LOOK_COST + _SECOND_LOOK_COST_PER_COLUMN * len(whitened.energy)
    return int(grid[np.argmin(2.0 * grid + passing * second_look)]) + 1
