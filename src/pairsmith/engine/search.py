"""The exact greedy sequence: scans of all pairs, and between two scans picks from a working set drawn from the pool."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.kernels import CANCELLATION_RATIO
from pairsmith.design.steps import Step, Steps
from pairsmith.engine.backend import ProgressCallback
from pairsmith.engine.floor import FloorPolicy
from pairsmith.engine.pool import BYTES_PER_PAIR, Pool, Updates
from pairsmith.engine.scan import Scan
from pairsmith.engine.threads import thread_team
from pairsmith.engine.top_pairs import TIE_TOLERANCE, Hits
from pairsmith.engine.whitening import WhitenedItems
from pairsmith.engine.working_set import NEAR_BEST, WorkingSet

MAX_ENUMERATED_PAIRS = 200_000  # with no more candidates than this, the pool holds all of them

_MIN_POOL, _MAX_POOL = 100_000, 10_000_000  # pairs
_MIN_POOL_ALL_TOUCHED = 1_000_000  # with item effects, an item that was hardly compared has large gains with all others
# Pooled pairs per multiplication of a scan that leaves out no pair and no column; found by trying. Between two scans, a
# pooled pair costs as much as about 7e4 multiplications, and this factor balances the two. `floor._COST_PER_HIT` is
# smaller because it counts only the cost of keeping one more pair, in multiplications that remain after pruning.
_POOLED_PAIRS_PER_MULTIPLICATION = 1.5e-5
_WORKING_SET_SIZE = 1 << 13  # pairs
_MAX_POOL_AS_WORKING_SET = 1 << 18  # pairs: a pool of every candidate, up to this size, is the working set
_MIN_SHARE_TO_TOUCH_ALL = 0.9  # if more items are touched, the others are too few for scans of their own


def greedy_sequence(
    design: Design,
    remaining: Remaining,
    k: int,
    threads: int,
    diagnostics: dict[str, Any],
    pool_size: int | None = None,
    memory: int = 4 << 30,
    tell: ProgressCallback = lambda doing: None,
    scan: Callable[..., Scan] = Scan,
) -> Steps:
    """Yield the greedy sequence of up to k remaining candidates, and include each in the design.

    `pool_size` is chosen if it is None. `memory` is the number of bytes that the search may use. `tell` receives
    progress messages, and `diagnostics` counts of scans, tiles and products. `scan` makes the Scan, in threads or on a
    cluster.
    """
    memory_for_features = memory_for_pool = memory // 2
    effects = design.effects
    with thread_team(threads) as team, nullcontext() if effects is None else effects.run_with(team.share):
        if effects is not None:
            effects.reserve(2 * k)
            if effects.count >= _MIN_SHARE_TO_TOUCH_ALL * design.n:
                effects.touch_all()
        all_pairs = scan(design, remaining, team, diagnostics, tell, memory_for_features)
        search = _Search(all_pairs, k, pool_size, memory_for_pool)
        search.rescan(-np.inf)
        while search.picks_left and (steps := search.pick()):
            yield from steps


class _Search:
    """The state of the search: the pool of the last scan, the updates since then, and the current working set."""

    def __init__(self, scan: Scan, k: int, pool_size: int | None, memory: int) -> None:
        self.scan, self.design, self.remaining = scan, scan.design, scan.remaining
        self.diagnostics = scan.diagnostics
        self.diagnostics.update(scans=0, float64_scans=0, tiles=0, products=0.0, pool=0, fronts=0)
        self.picks_left = k
        self.d = len(self.design.root)
        rows = self.remaining.rows
        # The pool holds every candidate if these are few, or if they are in memory anyway. `partner` has one entry per
        # pair of a list, so a list always qualifies. For groups it has one per item, so four pairs per item qualify.
        self.pool_is_complete = pool_size is None and len(rows) <= max(MAX_ENUMERATED_PAIRS, 4 * len(rows.partner))
        effects = self.design.effects
        min_pool = _MIN_POOL if effects is None or effects.count < self.design.n else _MIN_POOL_ALL_TOUCHED
        balanced = int(np.clip(_POOLED_PAIRS_PER_MULTIPLICATION * self.d * len(rows), min_pool, _MAX_POOL))
        self.capacity = pool_size or max(1, min(balanced, memory // BYTES_PER_PAIR))
        self.many_ties = effects is not None and not np.any(self.design.extent)  # only effects distinguish the items
        self.cap_may_bind = bool(self.remaining.room.min() < k)
        self.floors = FloorPolicy()
        # Each scan sets these:
        self.pool: Pool
        self.working_set: WorkingSet
        self.updates: Updates  # since the scan
        self.best_at_scan: float  # the largest gain at the time of the scan
        self.margin: float  # a pick must exceed all bounds outside by this share, so that all near ties are inside

    def pick(self) -> list[Step]:
        """Include the best remaining pairs in the design; return some steps, or none if no pair is left."""
        while True:
            count = 1 if self.cap_may_bind else min(self.working_set.burst_size(self.d), self.picks_left)
            places, d_picked, terms = self.working_set.pick(self.design, self.updates, count, self.margin)
            if len(places):
                break
            if not self._draw_working_set() and not self._rescan_if_picked():
                return []
        self.picks_left -= len(places)
        gains, logdet = self.design.record_picks(d_picked, terms)
        self.pool.drop(self.working_set.pool_places[places])
        i, j = self.working_set.pairs(places)
        for pair in zip(i, j, strict=True):
            self.remaining.take(*pair)
        if self.cap_may_bind:
            self.working_set.drop_full(self.remaining.full)
        return list(map(Step, i, j, gains.tolist(), logdet.tolist()))

    def _draw_working_set(self) -> bool:
        """Draw the largest gains of the pool; return False if the best may not be the best of all pairs."""
        self.scan.tell("picking")
        pool, updates, team = self.pool, self.updates, self.scan.team
        pool.set_gains(self.working_set.pool_places, self.working_set.arrays.gain, updates.count)
        whole_pool = len(pool) <= (_MAX_POOL_AS_WORKING_SET if self.pool_is_complete else _WORKING_SET_SIZE)
        if not whole_pool:
            pool.project_updates(self.design, updates, team)
        if self.cap_may_bind:
            pool.drop_full(self.remaining.full)
        size = _WORKING_SET_SIZE
        while True:
            outside = -np.inf if whole_pool else pool.tighten_largest(size, updates.count, team)
            # With the whole pool inside, no scan is needed, but subtraction has cost the gains digits: recompute them.
            working_set = WorkingSet.from_pool(pool, outside, self.design, recompute=whole_pool and updates.count > 0)
            pool.best_gain = working_set.best_gain(self.design)
            pool.set_gains(working_set.pool_places, working_set.arrays.gain, updates.count)
            if updates.count == 0:
                self.best_at_scan = pool.best_gain
                if pool.exact:
                    # Recomputed from the root, the best gain may be a rounding error below the scan's floor.
                    pool.floor = min(pool.floor, pool.best_gain * (1 - NEAR_BEST))
            # Below this, a pair outside the pool may be better, or the gain has lost digits since the scan.
            min_trusted = pool.floor if whole_pool else max(pool.floor, CANCELLATION_RATIO * self.best_at_scan)
            min_best = pool.best_gain * (1 - self.margin)
            if pool.best_gain == -np.inf or min_best < min_trusted:
                self.working_set = WorkingSet.empty(self.d)
                return False
            if min_best >= outside:
                break
            size *= 4  # bounds outside still exceed the best gain (the screen's slack, or ties): draw more
        working_set.min_gain = max(outside, min_trusted, CANCELLATION_RATIO * pool.best_gain)
        self.working_set = working_set
        self.diagnostics["fronts"] += 1
        return True

    def _rescan_if_picked(self) -> bool:
        """Scan again if there was a pick since the last scan; return whether there is a pair to pick."""
        pool, picks = self.pool, self.updates.count
        if picks == 0:
            return False
        self.floors.record(picks, self.best_at_scan, max(pool.best_gain, pool.floor))
        trusted = pool.best_gain >= CANCELLATION_RATIO * self.best_at_scan
        return self.rescan(pool.best_gain if trusted else -np.inf)

    def rescan(self, best: float) -> bool:
        """Scan all pairs, fill the pool and draw a working set; return whether there is a pair to pick.

        `best` is a gain known to be attained, or -inf.
        """
        self.scan.tell("whitening")
        self.updates, self.best_at_scan, self.margin = Updates(self.d), -np.inf, 0.0
        self.diagnostics["scans"] += 1
        whitened = self.scan.whiten()
        if self.pool_is_complete and len(self.remaining.rows) <= MAX_ENUMERATED_PAIRS:
            filled = self._fill_pool(self.scan.enumerate_pairs(whitened), -np.inf, exact=True)
        elif self.pool_is_complete:
            filled = self._fill_pool(*self.scan.exact(whitened, -np.inf, len(self.remaining.rows)), exact=True)
        elif not whitened.any_untouched:  # pairs of touched items are scanned in float64 in any case
            floor = self._choose_floor(whitened, best)
            filled = self._fill_pool(*self.scan.exact(whitened, floor, self.capacity), exact=True)
            if not filled:  # the sample missed the largest gains
                filled = self._fill_pool(*self.scan.exact(whitened, 0.0, self.capacity), exact=True)
        elif self.remaining.rows.is_list:  # a list has no groups to cut into tiles
            self.diagnostics["float64_scans"] += 1
            filled = self._fill_pool(*self.scan.exact(whitened, 0.0, self.capacity), exact=True)
        else:
            floor = self._choose_floor(whitened, best)
            filled = self._fill_pool(*self.scan.screened(whitened, floor, self.capacity), exact=False)
            attained = self.pool.best_gain * (1 - 10 * NEAR_BEST)
            if not filled or attained <= self.pool.floor:  # float32 could not separate the largest gains
                self.diagnostics["float64_scans"] += 1
                filled = self._fill_pool(*self.scan.exact(whitened, max(attained, 0.0), self.capacity), exact=True)
        if self.many_ties:
            self.margin = -10 * TIE_TOLERANCE  # any tie will do; to have all of them inside would take long
        elif filled and self.pool.best_gain * (1 - 2 * NEAR_BEST) > self.pool.floor:
            self.margin = NEAR_BEST
        # Otherwise ties fill the whole pool. It holds the smallest of the tied pairs, so no margin is needed.
        return filled

    def _choose_floor(self, whitened: WhitenedItems, best: float) -> float:
        return self.floors.choose(whitened, best, self.capacity, self.picks_left, self.scan.columns_used)

    def _fill_pool(self, hits: Hits, floor: float, exact: bool) -> bool:
        """Make these hits the pool and draw a working set; return whether there is a pair to pick."""
        self.pool = Pool.from_hits(self.design, hits, floor, exact)
        self.working_set = WorkingSet.empty(self.d)
        self.diagnostics["pool"] = max(self.diagnostics["pool"], len(self.pool))
        return self._draw_working_set()
