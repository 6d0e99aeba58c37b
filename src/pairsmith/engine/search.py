"""The default algorithm: the exact greedy sequence from a few screened passes over the pairs.

Whitened, a pair's gain is a distance, d_ij = |z_i - z_j|^2, and the greedy step takes the farthest pair of points.
Gains only fall (submodularity), so a pass over all pairs that keeps those above a floor is good for many steps: while
the best of what was kept reaches the floor, it is the best of all pairs. Three levels:

    all pairs   seen only by a scan (`scan.Scan`); what it leaves out is below `floor` for ever
    the pool    pairs with an upper bound on their gain, brought up to date when it matters
    the front   the largest few thousand of the pool, exact in float64 and updated at every pick

A pick is the best of the front while that reaches every bound outside it; else the front is drawn anew from the pool;
and when the pool's best is below the floor, all pairs are scanned again. The time between two scans is an epoch; what
is picked in it enters the pool's bounds by d_ij <- d_ij - (rho_i - rho_j)^2 (Eq. 14).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.kernels import CANCELLED, pair_distances
from pairsmith.design.steps import Step, Steps
from pairsmith.engine import kernels
from pairsmith.engine.scan import EQUAL, Hits, Scan, Tell, renumber
from pairsmith.engine.threads import workers

POOL_LEAST, POOL_MOST = 100_000, 10_000_000
BYTES_PER_PAIR = 48  # of the pool, what is in use while it is joined and cut included
COMPLETE = 200_000  # so few candidates are all kept in the pool
NEAR = 1e-9  # picks are made among gains this close, relatively, by computing them once more

_FRONT = 1 << 13
_WHOLE = 1 << 18  # a complete pool as small as this is all in the front
_BLOCK = 1 << 17  # pooled pairs that one thread brings up to date at a time
_BURST = 3e6  # multiplications, about, in one go of picks: a few milliseconds


def engine(
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
    with workers(threads) as team:
        all_pairs = scan(design, remaining, team, diagnostics, tell, memory // 2)
        search = _Search(all_pairs, k, pool_size, memory)
        while search.left and (picked := search.picks()):
            yield from picked


class _Search:
    # The epoch: V, the picks' v; rho = X V', as far as `known`, of the pool's items; m picks so far.
    V: Floats
    rho: Floats
    known: int
    m: int
    epoch_best: float  # the largest gain at its start
    # The pool: places i and j among `items`, a bound on the gain, and the pick up to which it is reckoned.
    items: Any
    i: Any
    j: Any
    weight: Floats  # w_ij, or empty where all are 1
    bound: Floats
    since: Any
    floor: float  # what was left out is at most this
    settled: bool  # whether the bounds were gains, in float64, at the start of the epoch
    pool_best: float
    margin: float  # how far above everything outside a pick must be, relatively, so that near ties are all inside
    # The front: the chosen of the pool, their gains, places first and second among front_items.
    chosen: Any
    value: Floats
    first: Any
    second: Any
    front_weight: Floats
    front_items: Any
    X_front: Floats
    listed: Any  # places of those whose gains were computed last, as the kernels leave them
    limit: float  # what is outside, or not to be relied on, is at most this

    def __init__(self, all_pairs: Scan, k: int, pool_size: int | None, memory: int) -> None:
        self.all_pairs, self.left = all_pairs, k
        self.design, self.remaining = all_pairs.design, all_pairs.remaining
        self.team, self.diagnostics, self.tell = all_pairs.team, all_pairs.diagnostics, all_pairs.tell
        self.n, self.d = all_pairs.n, all_pairs.d
        rows = self.remaining.rows
        # A list of pairs is in memory anyway, and few pairs cost nothing: keep them all, and leave none out.
        self.complete = pool_size is None and len(rows) <= max(COMPLETE, 4 * len(rows.partner))
        # A pooled pair costs as much as some 10^5 multiplications of the scan: so many keep the two in balance.
        balanced = int(np.clip(1.5e-5 * self.d * len(rows), POOL_LEAST, POOL_MOST))
        self.capacity = pool_size or max(1, min(balanced, memory // 2 // BYTES_PER_PAIR))
        self.capped = bool(self.remaining.room.min() < k)
        self.rate = 0.0  # picks an epoch gave for each e-fold that gains fell
        self.last_share = 1.0  # the last scan's floor, as a share of the best
        self.diagnostics.update(scans=0, float64_scans=0, tiles=0, products=0.0, pool=0, fronts=0)
        self.X_front, self.limit = np.empty((0, self.d)), np.inf
        self.scan(-np.inf)

    # The front: picks are made here.

    def picks(self) -> list[Step]:
        """Take the best remaining pairs into the design: some steps, none if no pair is left."""
        while True:
            burst = int(_BURST / (self.X_front.size + 3 * self.d**2 + 2 * len(self.value)))
            count = 1 if self.capped else min(max(burst, 1), 256, self.left)
            if self.m + count > len(self.V):
                self.V = np.vstack([self.V, np.empty((len(self.V) + count, self.d))])
            place, d_picked, terms = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count)
            done = kernels.picks(
                self.value,
                self.first,
                self.second,
                self.front_weight,
                self.X_front,
                self.design.root,
                self.V[self.m :],
                self.design.sizes,
                count,
                self.limit,
                self.margin,
                NEAR,
                EQUAL,
                self.listed,
                place,
                d_picked,
                terms,
            )
            if done:
                break
            if not self.draw_front():
                if self.m == 0:
                    return []
                end = max(self.pool_best, self.floor)
                self.rate = self.m / max(1e-3, np.log(self.epoch_best / end)) if end > 0 else 0.0
                trusted = self.pool_best >= CANCELLED * self.epoch_best
                if not self.scan(self.pool_best if trusted else -np.inf):
                    return []
        self.m += done
        self.left -= done
        gains, logdet = self.design.included(d_picked[:done], terms[:done])
        place = place[:done]
        self.bound[self.chosen[place]] = -np.inf
        i = self.front_items[self.first[place]].tolist()
        j = self.front_items[self.second[place]].tolist()
        for pair in zip(i, j, strict=True):
            self.remaining.take(*pair)
        if self.capped:
            full = self.remaining.full[self.front_items]
            self.value[full[self.first] | full[self.second]] = -np.inf
        return list(map(Step, i, j, gains.tolist(), logdet.tolist()))

    def draw_front(self) -> bool:
        """The largest of the pool; False if none is left that is sure to be the best of all pairs."""
        self.tell("picking")
        self.bound[self.chosen], self.since[self.chosen] = self.value, self.m
        whole = len(self.bound) <= (_WHOLE if self.complete else _FRONT)
        if not whole:
            self._learn_rho()
        if self.capped:
            full = self.remaining.full[self.items]
            self.bound[full[self.i] | full[self.j]] = -np.inf
        size = _FRONT
        while True:
            outside = -np.inf if whole else self._settle(size)
            chosen = np.flatnonzero(self.bound >= outside if outside > -np.inf else self.bound > -np.inf)
            # In the order of pairs, which decides between equals.
            chosen = chosen[np.lexsort((self.j[chosen], self.i[chosen]))]
            self.chosen, self.value = chosen, self.bound[chosen]
            places = self.items[self.i[chosen]], self.items[self.j[chosen]]
            self.front_items, (self.first, self.second) = renumber(self.n, *places)
            self.X_front = self.design.rows(self.front_items)
            self.front_weight = self.weight[chosen] if len(self.weight) else self.weight
            if whole and self.m > 0:  # nothing to scan for, but subtraction has taken digits
                self.value = self._gains(self.first, self.second)
            self.listed = np.empty(len(chosen), dtype=np.int64)
            self.pool_best, _ = kernels.refine(
                self.value,
                self.first,
                self.second,
                self.front_weight,
                self.X_front,
                self.design.root,
                NEAR,
                self.listed,
            )
            self.bound[chosen], self.since[chosen] = self.value, self.m
            if self.m == 0:
                self.epoch_best = self.pool_best
                if self.settled:  # the scan's gains and these may differ by rounding, and there are no better ones
                    self.floor = min(self.floor, self.pool_best * (1 - NEAR))
            # Below: left out, or digits gone since the scan.
            lost = self.floor if whole else max(self.floor, CANCELLED * self.epoch_best)
            if self.pool_best == -np.inf or self.pool_best * (1 - self.margin) < lost:
                self.value, self.chosen = self.value[:0], self.chosen[:0]
                return False
            if self.pool_best * (1 - self.margin) >= outside:
                break
            size *= 4  # the screen's slack, or ties, had pushed others out
        self.limit = max(outside, lost, CANCELLED * self.pool_best)
        self.diagnostics["fronts"] += 1
        return True

    def _gains(self, first: Any, second: Any) -> Floats:
        """d_ij of pairs of front items at this moment."""
        Z, gains = self.X_front, np.empty(len(first))
        for factor in self.design.whitener():
            Z = Z @ factor
        pair_distances(Z, Z, first, second, gains)
        return gains * self.front_weight if len(self.front_weight) else gains

    def _learn_rho(self) -> None:
        """rho_li = v_l'x_i for the pool's items and the picks since the last front."""
        if self.rho.shape[1] < self.m:
            grown = np.empty((len(self.items), 2 * self.m))
            grown[:, : self.known] = self.rho[:, : self.known]
            self.rho = grown
        if self.known == self.m:
            return
        V, new = self.V[self.known : self.m].T, slice(self.known, self.m)
        step = self.design.features.rows_at_once
        whole = len(self.items) == self.n

        def work(low: int) -> None:
            block = slice(low, low + step)
            self.rho[block, new] = self.design.features.project(block if whole else self.items[block], V)

        self.team.share(work, range(0, len(self.items), step))
        self.known = self.m

    def _settle(self, size: int) -> float:
        """Bring bounds up to date until the `size` largest are; the least of those, or -inf if that is all."""
        bound = self.bound
        # Of a large pool a sample tells well enough where the size-th largest is.
        sample = slice(None) if len(bound) <= 1 << 20 else slice(None, None, len(bound) >> 18)

        def largest(rank: int) -> float:
            part = bound[sample]
            rank = round(rank * len(part) / len(bound))
            return float(np.partition(part, len(part) - max(rank, 1))[len(part) - max(rank, 1)])

        rank = size
        while rank < len(bound):
            settled = largest(rank)
            self._catch_up(settled)
            if (outside := largest(size)) >= settled and outside > -np.inf:
                return outside
            rank *= 4
        self._catch_up(-np.inf)
        return largest(size) if size < len(bound) else -np.inf

    def _catch_up(self, threshold: float) -> None:
        def work(low: int) -> None:
            high = min(low + _BLOCK, len(self.bound))
            pool = self.bound, self.since, self.i, self.j, self.weight
            kernels.subtract_steps(*pool, self.rho, self.m, low, high, threshold)

        self.team.share(work, range(0, len(self.bound), _BLOCK))

    # The pool: filled by a scan of all pairs.

    def scan(self, best: float) -> bool:
        """A new epoch: pool the pairs that reach a floor, draw a front; False if there are none.

        `best` is a gain known to be there.
        """
        self.tell("whitening")
        self.m = self.known = 0
        self.margin = 0.0
        self.V = np.empty((64, self.d))
        self.diagnostics["scans"] += 1
        scan = self.all_pairs
        scan.whiten()
        if self.complete:
            self._fill_pool(*scan.exact(-np.inf, len(self.remaining.rows)), settled=True)
            found = self.draw_front()
        elif self.remaining.rows.groups is None:
            self.diagnostics["float64_scans"] += 1
            self._fill_pool(*scan.exact(0.0, self.capacity), settled=True)
            found = self.draw_front()
        else:
            self._fill_pool(*scan.screened(self._choose_floor(scan, best), self.capacity))
            found = self.draw_front()
            if not found or self.pool_best * (1 - 10 * NEAR) <= self.floor:  # float32 could not tell the largest apart
                self.diagnostics["float64_scans"] += 1
                known = max(self.pool_best * (1 - 10 * NEAR), 0.0)
                self._fill_pool(*scan.exact(known, self.capacity), settled=True)
                found = self.draw_front()
        if found and self.pool_best * (1 - 2 * NEAR) > self.floor:
            self.margin = NEAR  # else there are more ties than the pool holds, and it has the smaller pairs among them
        return found

    def _fill_pool(self, hits: Hits, floor: float, settled: bool = False) -> None:
        self.i, self.j, self.bound = hits
        self.floor, self.settled = floor, settled
        self.weight = np.empty(0) if self.design.scores is None else self.design.weight(self.i, self.j)
        self.value, self.chosen = np.empty(0), np.empty(0, dtype=np.int64)
        self.items, places = renumber(self.n, self.i, self.j)
        if 2 * len(self.items) < self.n:
            self.i, self.j = places
        else:
            self.items = np.arange(self.n)
        self.since = np.zeros(len(self.bound), dtype=np.int32)
        self.rho = np.empty((len(self.items), 0))
        self.known = 0
        self.diagnostics["pool"] = max(self.diagnostics["pool"], len(self.bound))

    def _choose_floor(self, scan: Scan, best: float) -> float:
        """Low enough for many picks, high enough to prune and to fit the pool.

        |z_i - z_j| <= |z_i| + |z_j|, so the norms tell how many pairs a scan with a given floor has to look at. Gains
        fall geometrically, roughly, so -log(floor / best) is what a scan is good for: the least cost for that is best.
        """
        gains, far = scan.sample(), scan.far()
        best = max(best, float(far[-1]) if len(far) else float(gains[-1]))
        if best <= 0:
            return 0.0
        # Lengths at ranks ever farther apart stand for all: it is the few longest that count.
        ranks = np.unique(np.geomspace(1, self.n, 300).astype(np.int64))
        lengths = np.sqrt(np.sort(scan.reach)[self.n - ranks])
        weights = np.diff(ranks, prepend=0)
        below = np.concatenate([[0], np.cumsum(weights)])
        shares = 0.98 ** np.arange(1, 150)
        reached = np.searchsorted(
            -lengths, lengths[None, :] - np.sqrt(scan.needed(shares * best))[:, None], side="right"
        )
        total = len(self.remaining.rows)
        seen = below[reached] @ weights / 2 * (total / (self.n * (self.n - 1) / 2))
        above, above_far = (len(some) - np.searchsorted(some, shares * best) for some in (gains, far))
        kept = np.minimum(seen * above_far / max(1, len(far)), total * (above + 30) / len(gains))
        # In multiplications of the scan, as measured: what every scan costs, a pair looked at, a pair kept. The last
        # scan may have done with fewer columns; how far a lower floor would let it, is a guess.
        columns = self.d * np.minimum(1, scan.columns_used + np.maximum(0, self.last_share - shares) / 0.2)
        cost = 3e9 + self.n * self.d * (8 * self.d + 1000) + seen * (2 * columns + 50) + 3000 * kept
        # Of no use: more than fits the pool, or than is left to pick.
        expected = int(0.5 * self.capacity / total * len(gains))
        fits = float(gains[-expected]) if 5 <= expected < len(gains) else 0.0
        worth = -np.log(np.maximum(shares, min(fits / best, 0.999)))
        if self.rate > 0:
            worth = np.minimum(worth, 1.5 * self.left / self.rate)
        floor = best * float(shares[np.argmin(cost / worth)])
        floor = min(max(floor, fits), best * (1 - 1e-6))
        self.last_share = floor / best
        return floor
