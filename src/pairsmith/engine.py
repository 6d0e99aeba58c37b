"""The default algorithm: the exact greedy sequence from a few screened passes over the pairs.

Whitened by Z = X W with A^-1 = W W', a pair's gain is a distance, d_ij = |z_i - z_j|^2, and the greedy step takes the
farthest pair of points. Gains only fall (submodularity), so a pass over all pairs that keeps those above a floor is
good for many steps: while the best of what was kept reaches the floor, it is the best of all pairs. Three levels:

    all pairs   seen only by a scan, as float32 tiles; what it leaves out is below `floor` for ever
    the pool    pairs with an upper bound on their gain, brought up to date when it matters
    the front   the largest few thousand of the pool, exact in float64 and updated at every pick

A pick is the best of the front while that reaches every bound outside it; else the front is drawn anew from the pool;
and when the pool's best is below the floor, all pairs are scanned again. The time between two scans is an epoch: Z is
whitened at its start, and what was picked since enters by d_ij <- d_ij - (rho_i - rho_j)^2 (Eq. 14).

float32 only screens. With u = 2^-24, z rounded to float32 and products summed in any order, a tile's g_ij is within
(d + 3) u |z_i||z_j| of z_i'z_j to first order, and 2 |z_i||z_j| <= r_i + r_j with r = |z|^2. Forming the test
g <= h_i + h_j - floor / 2 in float32 adds at most 5 u (r_i + r_j) for pairs that can reach the floor at all. So with

    h_i = (1 + c) r_i / 2,    c = 1.01 (d + 16) u,

2 (h_i + h_j - g_ij) is never below d_ij. Columns of Z that hardly count are left out of the product; what they can add
to d_ij, at most 2 r_i + 2 r_j of theirs, goes into h as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import threadpoolctl

from pairsmith import kernels
from pairsmith.candidates import Remaining
from pairsmith.design import Design, Floats, Steps

POOL_LEAST, POOL_MOST = 50_000, 10_000_000
FRONT = 1 << 14
COMPLETE = 200_000  # so few candidates are all kept in the pool
NEAR = 1e-9  # picks are made among gains this close, relatively, ...
EQUAL = 1e-12  # ... by computing them once more; this close, the smaller pair wins

_ROWS, _COLUMNS = 256, 1024  # a tile of the scan: 1 MB of float32 products
_BLOCK = 1 << 18  # pairs whose gains one thread computes at a time in a float64 scan

Hits = tuple[Any, Any, Any]  # i, j and a bound on d_ij, as parallel arrays


def engine(
    design: Design,
    remaining: Remaining,
    k: int,
    threads: int,
    diagnostics: dict[str, Any],
    pool_size: int | None = None,
) -> Steps:
    """The greedy sequence over the remaining candidates, as (i, j, gain)."""
    search = _Search(design, remaining, k, threads, diagnostics, pool_size)
    while (picked := search.pick()) is not None:
        i, j, d_ij = picked
        gain = float(np.log1p(d_ij))
        design.logdet += gain
        yield i, j, gain


class _Search:
    # The epoch: X and Z of the pool's items; V, the picks' v; rho = X V', as far as `known`; m picks so far.
    X: Floats
    Z: Floats
    Z_all: Floats  # of all items, during a scan
    V: Floats
    rho: Floats
    known: int
    m: int
    epoch_best: float  # the largest gain at its start
    # The pool: places i and j among `items`, a bound on the gain, and the pick up to which it is reckoned.
    items: Any
    i: Any
    j: Any
    bound: Floats
    since: Any
    floor: float  # what was left out is at most this
    pool_best: float
    margin: float  # how far above everything outside a pick must be, relatively, so that near ties are all inside
    # The front: the chosen of the pool, their gains, places first and second among front_items.
    chosen: Any
    value: Floats
    first: Any
    second: Any
    front_items: Any
    X_front: Floats
    limit: float  # what is outside, or not to be relied on, is at most this

    def __init__(
        self,
        design: Design,
        remaining: Remaining,
        k: int,
        threads: int,
        diagnostics: dict[str, Any],
        pool_size: int | None,
    ) -> None:
        self.design, self.remaining, self.threads, self.diagnostics = design, remaining, threads, diagnostics
        self.n, self.d = design.X.shape
        rows = remaining.rows
        self.all_pairs = len(rows) == self.n * (self.n - 1) // 2
        # A list of pairs is in memory anyway, and few pairs cost nothing: keep them all, and leave none out.
        self.complete = pool_size is None and len(rows) <= max(COMPLETE, 4 * len(rows.partner))
        # A pooled pair costs as much as some 10^5 multiplications of the scan: so many keep the two in balance. Tried
        # at N = 15,000, d = 400, in GEMM passes over the pairs: 3e5 pairs 8.3, 6e5 7.4, 1.2e6 7.8, 4.8e6 8.6.
        self.capacity = pool_size or int(np.clip(1.5e-5 * self.d * len(rows), POOL_LEAST, POOL_MOST))
        self.capped = bool(remaining.room.min() < k)
        diagnostics.update(scans=0, float64_scans=0, tiles=0, pool=0, fronts=0)
        self.scan(None)

    # The front: picks are made here.

    def pick(self) -> tuple[int, int, float] | None:
        """Take the best remaining pair into the design: (i, j, d_ij), or None if there is none left."""
        while True:
            if self.m == len(self.V):
                self.V = np.vstack([self.V, np.empty_like(self.V)])
            place, d_ij, blur = kernels.pick(
                self.value,
                self.first,
                self.second,
                self.X_front,
                self.design.root,
                self.V[self.m],
                self.limit,
                self.margin,
                NEAR,
                EQUAL,
            )
            if place >= 0:
                break
            if not self.draw_front():
                known = self.pool_best if self.pool_best >= kernels.CANCELLED * self.epoch_best else None
                if self.m == 0 or not self.scan(known):
                    return None
        self.m += 1
        self.design.uncertainty = max(self.design.uncertainty, blur)
        i, j = int(self.front_items[self.first[place]]), int(self.front_items[self.second[place]])
        self.bound[self.chosen[place]] = -np.inf
        self.remaining.take(i, j)
        if self.capped:
            full = self.remaining.full[self.front_items]
            self.value[full[self.first] | full[self.second]] = -np.inf
        return i, j, d_ij

    def draw_front(self) -> bool:
        """Exact gains for the largest of the pool; False if none is left that is sure to be the best of all pairs."""
        self._learn_rho()
        if self.capped:
            full = self.remaining.full[self.items]
            self.bound[full[self.i] | full[self.j]] = -np.inf
        size = FRONT
        while True:
            outside = self._settle(size)
            chosen = np.flatnonzero(self.bound >= outside if outside > -np.inf else self.bound > -np.inf)
            i, j = self.i[chosen], self.j[chosen]
            exact, since = np.empty(len(chosen)), np.zeros(len(chosen), dtype=np.int32)
            kernels.pair_distances(self.Z, i, j, exact)
            kernels.subtract_steps(exact, since, i, j, self.rho, self.m, 0, len(chosen), -np.inf)
            self.bound[chosen], self.since[chosen] = exact, self.m
            self.pool_best = float(exact.max(initial=-np.inf))
            if self.m == 0:
                self.epoch_best = self.pool_best
            lost = max(self.floor, kernels.CANCELLED * self.epoch_best)  # below: left out, or digits gone
            if self.pool_best == -np.inf or self.pool_best * (1 - self.margin) < lost:
                self.value = np.empty(0)
                return False
            if self.pool_best * (1 - self.margin) >= outside:
                break
            size *= 4  # the screen's slack, or ties, had pushed others out
        self.limit = max(outside, lost)
        order = np.lexsort((self.items[j], self.items[i]))
        self.chosen, self.value = chosen[order], exact[order]
        used, (self.first, self.second) = _renumber(len(self.items), i[order], j[order])
        self.front_items = self.items[used]
        self.X_front = self.X[used]
        self.diagnostics["fronts"] += 1
        return True

    def _learn_rho(self) -> None:
        """rho_li = v_l'x_i for the pool's items and the picks since the last front."""
        if self.rho.shape[1] < self.m:
            grown = np.empty((len(self.items), 2 * self.m))
            grown[:, : self.known] = self.rho[:, : self.known]
            self.rho = grown
        if self.known < self.m:
            self.rho[:, self.known : self.m] = self.X @ self.V[self.known : self.m].T
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
        step = 1 << 17

        def work(low: int) -> None:
            high = min(low + step, len(self.bound))
            kernels.subtract_steps(self.bound, self.since, self.i, self.j, self.rho, self.m, low, high, threshold)

        self._share(work, range(0, len(self.bound), step))

    # The pool: filled by a scan of all pairs.

    def scan(self, best: float | None) -> bool:
        """A new epoch: whiten, pool the pairs that reach a floor, draw a front; False if there are none.

        `best` is the largest gain known to be there.
        """
        self.m = self.known = 0
        self.margin = 0.0
        self.V = np.empty((64, self.d))
        self.Z_all = self.design.whitened()
        self.diagnostics["scans"] += 1
        self.taken = self.remaining.taken
        self.involved = np.zeros(self.n, dtype=bool)  # items of which a pair is taken
        self.involved[self.remaining.rows.pairs(self.taken)] = True
        if self.complete:
            self._fill_pool(self._scan_rows(-np.inf))
            found = self.draw_front()
        else:
            norms = np.einsum("ia,ia->i", self.Z_all, self.Z_all)
            floor = self._choose_floor(norms, best)
            self._fill_pool(self._scan_tiles(norms, floor) if self.all_pairs else self._scan_rows(floor))
            found = self.draw_front()
            if not found:  # float32 could not tell the largest apart, or guessed too high a floor
                self._fill_pool(self._scan_rows(max(self.pool_best, 0.0)))
                found = self.draw_front()
        if found and self.pool_best * (1 - NEAR) >= self.floor:
            self.margin = NEAR  # else there are more ties than the pool holds, and it has the smaller pairs among them
        del self.Z_all
        return found

    def _fill_pool(self, hits: Hits) -> None:
        i, j, self.bound = hits
        self.items, (self.i, self.j) = _renumber(self.n, i, j)
        self.since = np.zeros(len(self.bound), dtype=np.int32)
        whole = len(self.items) == self.n
        self.X = self.design.X if whole else self.design.X[self.items]
        self.Z = self.Z_all if whole else self.Z_all[self.items]
        self.rho = np.empty((len(self.items), 0))
        self.known = 0
        self.diagnostics["pool"] = max(self.diagnostics["pool"], len(self.bound))

    def _choose_floor(self, norms: Floats, best: float | None) -> float:
        """Low enough for many picks, high enough to prune and to fit the pool.

        |z_i - z_j| <= |z_i| + |z_j|, so the norms tell how many pairs a scan with a given floor has to look at. Gains
        fall geometrically, roughly, so -log(floor / best) is what a scan is good for: the least cost for that is best.
        """
        Z, rng = self.Z_all, np.random.default_rng(0)
        total = len(self.remaining.rows)
        if self.all_pairs:
            some = rng.choice(self.n, min(self.n, 600), replace=False)
            products = Z[some] @ Z[some].T
            gains = (norms[some][:, None] + norms[some][None, :] - 2 * products)[np.triu_indices(len(some), 1)]
        else:
            i, j = self.remaining.rows.pairs(rng.integers(total, size=100_000)).T
            gains = np.empty(len(i))
            kernels.pair_distances(Z, i, j, gains)
        gains.sort()
        if best is None:
            best = float(gains[-1])
            at = int(np.argmax(norms))
            for _ in range(4 if self.all_pairs else 0):  # the farthest from the farthest from ...
                away = norms + norms[at] - 2 * (Z @ Z[at])
                at = int(np.argmax(away))
                best = max(best, float(away[at]))
        if best <= 0:
            return 0.0
        lengths = np.sqrt(
            np.append(np.quantile(norms[:: max(1, self.n // 20_000)], np.linspace(0, 1, 400)), norms.max())
        )
        shares = 0.98 ** np.arange(1, 150)
        seen = np.searchsorted(lengths, np.sqrt(shares * best)[:, None] - lengths[None, :])
        seen = 1 - seen.mean(axis=1) / len(lengths)
        cost = 4.0 * self.n * self.d * (self.d + 50) + seen * total * (2 * self.d + 30)
        floor = best * float(shares[np.argmin(cost / -np.log(shares))])
        expected = int(0.5 * self.capacity / total * len(gains))
        if expected < len(gains):
            floor = max(floor, float(gains[-max(expected, 1)])) if expected >= 5 else floor
        return min(floor, best * (1 - 1e-6))

    def _scan_tiles(self, norms: Floats, floor: float) -> Hits:
        """Pairs whose upper bound from float32 products reaches the floor, which rises if they overflow the pool."""
        Z = self.Z_all
        # Who can reach the floor with anybody, sorted by length, so that tiles of short ones can be skipped together.
        needed = max(0.0, np.sqrt(floor) * (1 - 1e-9) - np.sqrt(norms.max())) ** 2
        order = np.flatnonzero((norms >= needed) & ~self.remaining.full).astype(np.int32)
        order = order[np.argsort(-norms[order], kind="stable")]
        lengths = np.sqrt(norms[order])
        energy = np.einsum("ia,ia->a", Z, Z) / self.n
        columns = np.argsort(-energy)
        used = max(1, int(np.sum(4 * np.cumsum(energy[columns][::-1])[::-1] > 1e-4 * floor)))
        if len(order) < 2:
            self.floor = floor
            return _no_hits()
        scale = 2.0 ** np.ceil(np.log2(lengths[0])) if lengths[0] > 0 else 1.0
        Z32 = np.empty((len(order), used), dtype=np.float32)
        dropped = np.empty(len(order))
        step = max(1, (1 << 18) // self.d)

        def gather(low: int) -> None:
            kernels.gather(Z, order, columns, used, 1 / scale, Z32, dropped, low, min(low + step, len(order)))

        self._share(gather, range(0, len(order), step))
        kept = norms[order] / scale**2 - dropped
        c = 1.01 * (used + 16) * 2.0**-24
        half = (((1 + c) * kept + 2 * dropped) / 2 + 2.0**-90).astype(np.float32)  # 2^-90: for what underflows
        half = np.nextafter(half, np.float32(np.inf))

        hits: list[Hits] = []
        lock, local = threading.Lock(), threading.local()
        self.floor, self.count = floor, 0

        def tile(task: tuple[int, int]) -> None:
            a, b = task
            floor = self.floor
            if (lengths[a] + lengths[b]) ** 2 * (1 + 1e-9) < floor:
                return
            if not hasattr(local, "products"):
                local.products = np.empty((_ROWS, _COLUMNS), dtype=np.float32)
                local.i, local.j = np.empty((2, _ROWS * _COLUMNS + 1), dtype=np.int32)
                local.bound = np.empty(_ROWS * _COLUMNS + 1)
                local.row = np.empty(_COLUMNS, dtype=np.float32)
            left, right = slice(a, a + _ROWS), slice(b, b + _COLUMNS)
            products = local.products[: len(half[left]), : len(half[right])]
            np.matmul(Z32[left], Z32[right].T, out=products)
            half_floor = np.nextafter(np.float32(floor / scale**2 / 2), np.float32(-np.inf))
            found = kernels.above(
                products,
                a,
                b,
                half[left],
                half[right],
                half_floor,
                floor,
                2 * scale**2,
                local.row,
                local.i,
                local.j,
                local.bound,
            )
            if found:
                with lock:
                    hits.append((local.i[:found].copy(), local.j[:found].copy(), local.bound[:found].copy()))
                    self.count += found
                    if self.count > 2 * (self.capacity + len(self.taken)) + 100_000:
                        self._raise_floor(hits)

        tasks = [(a, b) for a in range(0, len(order), _ROWS) for b in range(a - a % _COLUMNS, len(order), _COLUMNS)]
        tasks = [(a, b) for a, b in tasks if (lengths[a] + lengths[b]) ** 2 * (1 + 1e-9) >= floor]
        tasks.sort(key=sum)  # the longest first: should the floor rise, the rest may be skipped
        self.diagnostics["tiles"] += len(tasks)
        with _single_threaded_blas():
            self._share(tile, tasks)
        i, j, bound = _join(hits)
        i, j = order[i], order[j]
        i, j = np.minimum(i, j), np.maximum(i, j)
        gone = self._gone(i, j)
        if gone.any():
            i, j, bound = i[~gone], j[~gone], bound[~gone]
        if self.capacity < len(i) <= 1_000_000:  # of more, the bounds are good enough to choose by
            kernels.pair_distances(Z, i, j, bound)
        return self._largest((i, j, bound))

    def _raise_floor(self, hits: list[Hits]) -> None:
        """Keep about the pool's capacity of the largest bounds."""
        bound = np.concatenate([hit[2] for hit in hits])
        place = len(bound) - self.capacity - len(self.taken)  # the latter may be among them, to be sorted out
        self.floor = max(self.floor, float(np.partition(bound, place)[place]))
        for at, (i, j, own) in enumerate(hits):
            good = own >= self.floor
            hits[at] = i[good], j[good], own[good]
        self.count = sum(len(hit[0]) for hit in hits)

    def _scan_rows(self, floor: float) -> Hits:
        """Pairs whose gain, in float64, reaches the floor."""
        rows, Z = self.remaining.rows, self.Z_all
        arrays = (rows.partner, rows.first, rows.count, rows.start)
        self.floor = floor
        self.last_equal = (self.n, self.n)  # ties with the floor are kept up to this pair
        if not self.complete:
            self.diagnostics["float64_scans"] += 1
        hits: list[Hits] = []
        lock = threading.Lock()

        def block(task: tuple[int, int]) -> None:
            low, high = task
            size = int(rows.start[high] - rows.start[low])
            gains, out = np.empty((2, size + 1))
            i, j = np.empty((2, size + 1), dtype=np.int32)
            kernels.distances(Z, *arrays, low, high, gains)
            found = kernels.reaching(gains, *arrays, low, high, self.floor, i, j, out)
            i, j, out = i[:found], j[:found], out[:found]
            last_i, last_j = self.last_equal
            behind = (out <= self.floor * (1 + 3 * EQUAL)) & ((i > last_i) | ((i == last_i) & (j > last_j)))
            good = ~(behind | self._gone(i, j))
            with lock:
                hits.append((i[good], j[good], out[good]))
                if not self.complete and sum(len(hit[0]) for hit in hits) > max(2 * self.capacity, 100_000):
                    hits[:] = [self._largest(_join(hits))]

        self._share(block, rows.blocks(_BLOCK))
        found = _join(hits)
        return found if self.complete else self._largest(found)

    def _largest(self, hits: Hits) -> Hits:
        """The pool's capacity of the largest gains, the smaller pairs among equals; the rest is the floor at most."""
        i, j, gains = hits
        if len(i) <= self.capacity:
            return hits
        cut = float(np.partition(gains, len(gains) - self.capacity)[len(gains) - self.capacity])
        above = np.flatnonzero(gains > cut * (1 + EQUAL))
        self.floor = cut * (1 - EQUAL)
        equal = np.flatnonzero((gains >= self.floor) & (gains <= cut * (1 + EQUAL)))
        equal = equal[np.lexsort((j[equal], i[equal]))][: self.capacity - len(above)]
        self.last_equal = int(i[equal[-1]]), int(j[equal[-1]])
        kept = np.concatenate([above, equal])
        return i[kept], j[kept], gains[kept]

    def _gone(self, i: Any, j: Any) -> Any:
        """Which of these pairs are taken or have an item at its cap."""
        full, taken = self.remaining.full, self.taken
        gone = full[i] | full[j] if self.capped else np.zeros(len(i), dtype=bool)
        if len(taken):
            suspects = np.flatnonzero(self.involved[i] & self.involved[j])
            numbers = self.remaining.rows.numbers(np.column_stack([i[suspects], j[suspects]]).astype(np.int64))
            at = np.minimum(np.searchsorted(taken, numbers), len(taken) - 1)
            gone[suspects[taken[at] == numbers]] = True
        return gone

    def _share(self, work: Callable[[Any], None], tasks: Iterable[Any]) -> None:
        """Do the tasks, in threads."""
        tasks = list(tasks)
        if self.threads == 1 or len(tasks) < 2:
            for task in tasks:
                work(task)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(work, tasks))


def _renumber(n: int, i: Any, j: Any) -> tuple[Any, tuple[Any, Any]]:
    """The items that occur in i and j, ascending, and i and j as places among them."""
    place = np.zeros(n, dtype=np.int32)
    place[i] = place[j] = 1
    items = np.flatnonzero(place)
    place[items] = np.arange(len(items), dtype=np.int32)
    return items, (place[i], place[j])


def _no_hits() -> Hits:
    return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)


def _join(hits: list[Hits]) -> Hits:
    if not hits:
        return _no_hits()
    i, j, bound = (np.concatenate(part) for part in zip(*hits, strict=True))
    return i, j, bound


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def _single_threaded_blas() -> Iterator[None]:
    """BLAS with one thread while any scan runs (its tiles are the threads); as it was after the last of them."""
    global _blas_users, _blas_limit
    with _blas_lock:
        if _blas_users == 0:
            _blas_limit = threadpoolctl.threadpool_limits(1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()
