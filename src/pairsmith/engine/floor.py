"""The floor of a scan, chosen by what a scan costs and how many picks it is good for.

|z_i - z_j| <= |z_i| + |z_j|, so the lengths of items tell how many pairs a scan with a given floor has to look at.
Gains fall geometrically, roughly, so a scan lasts for picks in proportion to log(best / floor); the floor with the
least cost per unit of that is chosen. A floor that is badly chosen costs time and nothing else.

The unit of costs is a multiplication of the scan: a float32 product of two numbers, in a tile. Costs were measured in
it on two cores, with single-threaded OpenBLAS in each thread.
"""

from __future__ import annotations

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.engine.whitening import Whitened

_SHARES = 0.98 ** np.arange(1.0, 150.0)  # the floors tried, as shares of the best gain: down to a twentieth of it

_COST_SCAN = 3e9  # what every scan costs, whatever its size: sampling, planning, filling the pool, a front
_COST_ITEM_COLUMN = 1000  # of each number of Z: whitened in float64, measured, sorted, narrowed; and besides ...
_COST_WHITENING = 8  # ... each multiplication that whitens it, in float64 and read from memory
_COST_COLUMN = 2  # of a pair looked at, for each column multiplied
_COST_PAIR = 50  # of a pair looked at, besides
_COST_KEPT = 3000  # of a pair kept: joined, cut, brought up to date at scattered places of memory

_ALL_COLUMNS_AFTER = 0.2  # a floor lower by this share of the best makes a scan need all columns: a guess
_UNSEEN = 30  # pairs of the sample added to the count above a floor, since the sample misses the tail
_FILLED = 0.5  # share of the pool's capacity that pairs above the floor should take, as far as the sample can tell
_SAMPLE_TELLS = 5  # the sample is believed when at least this many of its pairs are above
_MORE_THAN_LEFT = 1.5  # a floor good for more than 1.5 times the picks left gets no credit for the rest


class FloorChoice:
    """What earlier epochs of a search taught about the floor, and the choice of the next."""

    def __init__(self) -> None:
        self.picks_per_fold = 0.0  # picks per factor e of falling gains, in the last epoch; 0 before the first
        self.last_share = 1.0  # the last scan's floor, as a share of the best gain
        self.base = 0.0  # what every gain is at least, where items have effects of their own: what is above falls

    def learn(self, picks: int, best_at_start: float, best_at_end: float) -> None:
        """An epoch of so many picks is over."""
        above, at_end = best_at_start - self.base, best_at_end - self.base
        folds = max(1e-3, np.log(above / at_end)) if at_end > 0 else np.inf
        self.picks_per_fold = picks / folds

    def choose(self, whitened: Whitened, best: float, capacity: int, left: int, columns_used: float) -> float:
        """Low enough for many picks, high enough to prune and to fit the pool.

        `best` is a gain known to be there, or -inf; `left` picks are to be made; the last scan multiplied this share
        of the columns.
        """
        gains, far = whitened.sample(), whitened.far()
        best = max(best, float(far[-1]) if len(far) else float(gains[-1]))
        if best <= 0:
            return 0.0
        self.base = 0.0 if whitened.own is None else min(float(gains[0]), 0.99 * best)
        floors = self.base + _SHARES * (best - self.base)
        n, d = whitened.design.features.shape
        total = len(whitened.remaining.rows)
        seen = _pairs_seen(whitened, floors) * (total / (n * (n - 1) / 2))
        above, above_far = (len(some) - np.searchsorted(some, floors) for some in (gains, far))
        # Pairs above each floor, by two estimates, the smaller.
        kept = np.minimum(seen * above_far / max(1, len(far)), total * (above + _UNSEEN) / len(gains))
        # The last scan may have done with fewer columns.
        more = np.maximum(0, self.last_share - floors / best) / _ALL_COLUMNS_AFTER
        columns = d * np.minimum(1, columns_used + more)
        cost = _COST_SCAN + n * d * (_COST_WHITENING * d + _COST_ITEM_COLUMN)
        cost = cost + seen * (_COST_COLUMN * columns + _COST_PAIR) + _COST_KEPT * kept
        # No credit for pairs that do not fit the pool, or picks not asked for.
        expected = int(_FILLED * capacity / total * len(gains))
        fits = float(gains[-expected]) if _SAMPLE_TELLS <= expected < len(gains) else 0.0
        worth = -np.log(np.maximum(_SHARES, min((fits - self.base) / (best - self.base), 0.999)))
        if self.picks_per_fold > 0:
            worth = np.minimum(worth, _MORE_THAN_LEFT * left / self.picks_per_fold)
        floor = float(floors[np.argmin(cost / worth)])
        floor = min(max(floor, fits), best * (1 - 1e-6))
        self.last_share = floor / best
        return floor


def _pairs_seen(whitened: Whitened, floors: Floats) -> Floats:
    """How many of all pairs of items a scan with each of the floors has to look at, by the items' lengths."""
    n = len(whitened.reach)
    # Lengths at ranks ever farther apart stand for all: it is the few longest that count.
    ranks = np.unique(np.geomspace(1, n, 300).astype(np.int64))
    lengths = np.sqrt(np.sort(whitened.reach)[n - ranks])
    weights = np.diff(ranks, prepend=0)
    below = np.concatenate([[0], np.cumsum(weights)])
    needed = np.sqrt(whitened.needed(floors))
    reached = np.searchsorted(-lengths, lengths[None, :] - needed[:, None], side="right")
    seen: Floats = below[reached] @ weights / 2
    return seen
