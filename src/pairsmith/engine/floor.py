"""Choose the floor of a scan by the cost of the scan and by the number of picks for which its pool lasts.

|z_i - z_j| <= |z_i| + |z_j|, so the lengths of the items tell how many pairs a scan with a given floor has to examine.
Gains fall roughly geometrically, so a pool lasts for a number of picks proportional to log(best / floor). The floor
with the smallest cost per unit of this logarithm is chosen. A bad choice costs time, but never changes the picks.

Costs are in multiplications of a scan: float32 products of two numbers in a tile. They were measured with
single-threaded BLAS in each thread.
"""

from __future__ import annotations

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.engine.whitening import WhitenedItems

_SHARES_OF_BEST = 0.98 ** np.arange(1.0, 150.0)  # floors to try: down to a twentieth of the best gain

_COST_PER_SCAN = 3e9  # sampling, planning, filling the pool, drawing a working set
_COST_PER_NUMBER = 1000  # of Z: measured, sorted and narrowed to float32
_COST_PER_WHITENING_PRODUCT = 8  # in float64, read from memory
_COST_PER_PAIR_AND_COLUMN = 2  # of the pairs examined
_COST_PER_PAIR = 50  # of the pairs examined, in addition
_COST_PER_HIT = 3000  # joined, cut down, and updated at scattered places in memory

_SHARE_TO_ALL_COLUMNS = 0.2  # if the floor falls by this share of the best gain, a scan needs all columns; a guess
_UNSEEN_PAIRS = 30  # added to the count of sampled pairs above a floor, because the sample misses the tail
_TARGET_FILL = 0.5  # share of the pool's capacity to fill, as far as the sample can tell
_MIN_SAMPLED_PAIRS = 5  # the sample is trusted if it has at least this many pairs above a floor
_MAX_PICKS_PER_PICK_LEFT = 1.5  # a floor that lasts for even more picks gets no credit for the rest


class FloorPolicy:
    """Chooses the floor of each scan, and learns from earlier scans how fast gains fall."""

    def __init__(self) -> None:
        self.picks_per_fold = 0.0  # picks while gains fell by a factor e, since the last scan; 0 before the first
        self.last_share = 1.0  # the last scan's floor as a share of the best gain
        self.base = 0.0  # a lower bound on all gains, with item effects: only what is above it falls

    def record(self, picks: int, best_at_start: float, best_at_end: float) -> None:
        """Record that the best gain fell from one value to the other during this many picks."""
        start, end = best_at_start - self.base, best_at_end - self.base
        folds = max(1e-3, np.log(start / end)) if end > 0 else np.inf
        self.picks_per_fold = picks / folds

    def choose(
        self, whitened: WhitenedItems, best: float, capacity: int, picks_left: int, columns_used: float
    ) -> float:
        """Return a floor low enough for many picks, and high enough to prune and to fit the pool.

        `best` is a gain known to be attained, or -inf. `columns_used` is the share of the columns that the last scan
        multiplied.
        """
        gains, far = whitened.sample(), whitened.far()
        best = max(best, float(far[-1]) if len(far) else float(gains[-1]))
        if best <= 0:
            return 0.0
        self.base = 0.0 if whitened.own is None else min(float(gains[0]), 0.99 * best)
        floors = self.base + _SHARES_OF_BEST * (best - self.base)
        n, d = whitened.design.features.shape
        total = len(whitened.remaining.rows)
        examined = _count_pairs_examined(whitened, floors) * (total / (n * (n - 1) / 2))
        above, far_above = (len(sample) - np.searchsorted(sample, floors) for sample in (gains, far))
        # Two estimates of the pairs above each floor; the smaller one counts.
        hits = np.minimum(examined * far_above / max(1, len(far)), total * (above + _UNSEEN_PAIRS) / len(gains))
        # A lower floor than the last one needs more columns.
        more = np.maximum(0, self.last_share - floors / best) / _SHARE_TO_ALL_COLUMNS
        columns = d * np.minimum(1, columns_used + more)
        cost = _COST_PER_SCAN + n * d * (_COST_PER_WHITENING_PRODUCT * d + _COST_PER_NUMBER)
        cost = cost + examined * (_COST_PER_PAIR_AND_COLUMN * columns + _COST_PER_PAIR) + _COST_PER_HIT * hits
        # There is no credit for pairs that do not fit the pool, nor for more picks than are left.
        rank = int(_TARGET_FILL * capacity / total * len(gains))
        lowest_fitting = float(gains[-rank]) if _MIN_SAMPLED_PAIRS <= rank < len(gains) else 0.0
        lowest_share = min((lowest_fitting - self.base) / (best - self.base), 0.999)
        worth = -np.log(np.maximum(_SHARES_OF_BEST, lowest_share))
        if self.picks_per_fold > 0:
            worth = np.minimum(worth, _MAX_PICKS_PER_PICK_LEFT * picks_left / self.picks_per_fold)
        floor = float(floors[np.argmin(cost / worth)])
        floor = min(max(floor, lowest_fitting), best * (1 - 1e-6))
        self.last_share = floor / best
        return floor


def _count_pairs_examined(whitened: WhitenedItems, floors: Floats) -> Floats:
    """Estimate how many of all pairs of items a scan with each floor has to examine, by the lengths of the items."""
    n = len(whitened.pruning_norms)
    # Sample the lengths at geometrically spaced ranks: the few longest items matter most.
    ranks = np.unique(np.geomspace(1, n, 300).astype(np.int64))
    lengths = np.sqrt(np.sort(whitened.pruning_norms)[n - ranks])
    weights = np.diff(ranks, prepend=0)
    cumulative = np.concatenate([[0], np.cumsum(weights)])
    min_span = np.sqrt(whitened.min_squared_span(floors))
    partners = np.searchsorted(-lengths, lengths[None, :] - min_span[:, None], side="right")
    examined: Floats = cumulative[partners] @ weights / 2
    return examined
