"""The exact greedy sequence: epochs, each begun by a scan of all pairs, and picks from the front of its pool."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.kernels import CANCELLED
from pairsmith.design.steps import Step, Steps
from pairsmith.engine.backend import Tell
from pairsmith.engine.floor import FloorChoice
from pairsmith.engine.pool import BYTES_PER_PAIR, Epoch, Pool
from pairsmith.engine.scan import Scan
from pairsmith.engine.threads import team_of
from pairsmith.engine.top_pairs import EQUAL
from pairsmith.engine.working_set import NEAR, Front

COMPLETE = 200_000  # so few candidates are all kept in the pool

_POOL_LEAST, _POOL_MOST = 100_000, 10_000_000  # pairs
_POOL_LEAST_ALL_TOUCHED = 1_000_000  # with effects: an item that was hardly compared is worth much with any other
# Pooled pairs for each multiplication of a scan that leaves out no pair and no column; found by trying. A pooled pair
# costs as much, over an epoch, as ~7e4 multiplications: this keeps the two in balance. `floor._COST_KEPT` is only 3000,
# because it counts what it takes to keep one more pair, and in multiplications that are made, after pruning.
_POOLED_PER_MULTIPLICATION = 1.5e-5
_FRONT = 1 << 13  # pairs
_NEARLY_ALL = 0.9  # of the items touched: then all are looked at as if they were
_FRONT_OF_ALL = 1 << 18  # pairs: a pool that has every candidate, and is as small as this, is all in the front


def greedy_sequence(
    design: Design,
    remaining: Remaining,
    k: int,
    threads: int,
    diagnostics: dict[str, Any],
    pool_size: int | None = None,
    memory: int = 4 << 30,
    tell: Tell = lambda doing: None,
    scan: Callable[..., Scan] = Scan,
) -> Steps:
    """The greedy sequence over the remaining candidates; `memory` is what it may use, in bytes."""
    for_features = for_pool = memory // 2
    effects = design.effects
    with team_of(threads) as team, nullcontext() if effects is None else effects.shared_by(team.share):
        all_pairs = scan(design, remaining, team, diagnostics, tell, for_features)
        if effects is not None:
            effects.make_room(2 * k)
            if effects.count >= _NEARLY_ALL * design.n:
                effects.touch_all()  # the others are too few for scans of their own
        search = _Search(all_pairs, k, pool_size, for_pool)
        search.begin_epoch(-np.inf)
        while search.left and (steps := search.picks()):
            yield from steps


class _Search:
    """Where the search is: the epoch, its pool, the front drawn from that, and how many picks are left to make."""

    def __init__(self, scan: Scan, k: int, pool_size: int | None, memory: int) -> None:
        self.scan, self.design, self.remaining = scan, scan.design, scan.remaining
        self.diagnostics = scan.diagnostics
        self.diagnostics.update(scans=0, float64_scans=0, tiles=0, products=0.0, pool=0, fronts=0)
        self.left = k
        self.d = len(self.design.root)
        rows = self.remaining.rows
        # Whether the pool has every candidate: a list of pairs is in memory anyway, and few pairs cost nothing. For a
        # list `partner` has an entry a pair; for groups, an entry an item: then up to four pairs an item.
        self.complete = pool_size is None and len(rows) <= max(COMPLETE, 4 * len(rows.partner))
        effects = self.design.effects
        least = _POOL_LEAST if effects is None or effects.count < self.design.n else _POOL_LEAST_ALL_TOUCHED
        balanced = int(np.clip(_POOLED_PER_MULTIPLICATION * self.d * len(rows), least, _POOL_MOST))
        self.capacity = pool_size or max(1, min(balanced, memory // BYTES_PER_PAIR))
        self.many_ties = effects is not None and not np.any(self.design.extent)  # nothing but effects tells items apart
        self.may_cap = bool(self.remaining.room.min() < k)  # whether an item may come to its cap
        self.floors = FloorChoice()
        self.epoch, self.front = Epoch(self.d), Front.empty(self.d)
        self.pool: Pool

    def picks(self) -> list[Step]:
        """Take the best remaining pairs into the design: some steps, none if no pair is left."""
        while True:
            count = 1 if self.may_cap else min(self.front.burst(self.d), self.left)
            place, d_picked, terms = self.front.pick(self.design, self.epoch, count)
            if len(place):
                break
            if not self._draw_front() and not self._next_epoch():
                return []
        self.left -= len(place)
        gains, logdet = self.design.included(d_picked, terms)
        self.pool.drop(self.front.chosen[place])
        i, j = self.front.pairs(place)
        for pair in zip(i, j, strict=True):
            self.remaining.take(*pair)
        if self.may_cap:
            self.front.drop_full(self.remaining.full)
        return list(map(Step, i, j, gains.tolist(), logdet.tolist()))

    def _draw_front(self) -> bool:
        """Make the largest of the pool the new front; False if its best may not be the best of all pairs."""
        self.scan.tell("picking")
        pool, epoch, team = self.pool, self.epoch, self.scan.team
        pool.set_gains(self.front.chosen, self.front.arrays.value, epoch.picks)
        all_in_front = len(pool) <= (_FRONT_OF_ALL if self.complete else _FRONT)
        if not all_in_front:
            pool.learn_rho(self.design, epoch, team)
        if self.may_cap:
            pool.drop_full(self.remaining.full)
        size = _FRONT
        while True:
            outside = -np.inf if all_in_front else pool.bring_up_to_date(size, epoch.picks, team)
            # With the whole pool in the front, no scan is needed; but gains lowered by subtraction have lost digits, so
            # they are computed afresh.
            front = Front.drawn(pool, outside, self.design, afresh=all_in_front and epoch.picks > 0)
            pool.best = front.best(self.design)
            pool.set_gains(front.chosen, front.arrays.value, epoch.picks)
            if epoch.picks == 0:
                epoch.best_at_start = pool.best
                if pool.exact:
                    # Gains recomputed from the root may be a rounding below the scan's: lower the floor by that, or the
                    # best would seem to be below it.
                    pool.floor = min(pool.floor, pool.best * (1 - NEAR))
            # Below this a gain may not be the best: more was left out, or digits are gone since the scan.
            untrusted_below = pool.floor if all_in_front else max(pool.floor, CANCELLED * epoch.best_at_start)
            best_for_sure = pool.best * (1 - epoch.margin)
            if pool.best == -np.inf or best_for_sure < untrusted_below:
                self.front = Front.empty(self.d)
                return False
            if best_for_sure >= outside:
                break
            size *= 4  # bounds of pairs outside are above the best gain (slack of the screen, or ties): draw more
        front.limit = max(outside, untrusted_below, CANCELLED * pool.best)
        self.front = front
        self.diagnostics["fronts"] += 1
        return True

    def _next_epoch(self) -> bool:
        """The pool has nothing more to give: scan again; False if this one gave nothing either."""
        epoch, pool = self.epoch, self.pool
        if epoch.picks == 0:
            return False
        self.floors.learn(epoch.picks, epoch.best_at_start, max(pool.best, pool.floor))
        trusted = pool.best >= CANCELLED * epoch.best_at_start
        return self.begin_epoch(pool.best if trusted else -np.inf)

    def begin_epoch(self, best: float) -> bool:
        """Scan: pool the pairs that reach a floor, and draw a front; False if there are none.

        `best` is a gain known to be there, or -inf.
        """
        self.scan.tell("whitening")
        self.epoch = Epoch(self.d)
        self.diagnostics["scans"] += 1
        whitened = self.scan.whiten()
        if self.complete and len(self.remaining.rows) <= COMPLETE:
            found = self._fill(self.scan.every_pair(whitened), -np.inf, exact=True)
        elif self.complete:
            found = self._fill(*self.scan.exact(whitened, -np.inf, len(self.remaining.rows)), exact=True)
        elif not whitened.untouched:  # looked at in float64 in any case
            floor = self.floors.choose(whitened, best, self.capacity, self.left, self.scan.columns_used)
            found = self._fill(*self.scan.exact(whitened, floor, self.capacity), exact=True)
            if not found:  # the sample of gains had none of the largest
                found = self._fill(*self.scan.exact(whitened, 0.0, self.capacity), exact=True)
        elif self.remaining.rows.is_list:  # a list has no groups to cut into tiles
            self.diagnostics["float64_scans"] += 1
            found = self._fill(*self.scan.exact(whitened, 0.0, self.capacity), exact=True)
        else:
            floor = self.floors.choose(whitened, best, self.capacity, self.left, self.scan.columns_used)
            found = self._fill(*self.scan.screened(whitened, floor, self.capacity), exact=False)
            known = self.pool.best * (1 - 10 * NEAR)
            if not found or known <= self.pool.floor:  # float32 could not tell the largest apart
                self.diagnostics["float64_scans"] += 1
                found = self._fill(*self.scan.exact(whitened, max(known, 0.0), self.capacity), exact=True)
        if self.many_ties:
            self.epoch.margin = -10 * EQUAL  # any of them will do: to have them all in the front would take long
        elif found and self.pool.best * (1 - 2 * NEAR) > self.pool.floor:
            self.epoch.margin = NEAR
        # Otherwise ties fill the whole pool; it holds the smallest of them, so no margin is needed.
        return found

    def _fill(self, hits: Any, floor: float, exact: bool) -> bool:
        """Make these hits the pool, and draw a front from it."""
        self.pool = Pool.filled(self.design, hits, floor, exact)
        self.front = Front.empty(self.d)
        self.diagnostics["pool"] = max(self.diagnostics["pool"], len(self.pool))
        return self._draw_front()
