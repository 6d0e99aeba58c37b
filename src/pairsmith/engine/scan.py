"""Find every candidate pair whose gain reaches a floor, among up to 10^12 of them, in memory O(N d + what is found).

Whitened by Z = X W with A^-1 = W W', a pair's gain is a distance, d_ij = |z_i - z_j|^2. Items of a group (all pairs are
one group) are sorted by length and multiplied in tiles of float32; |z_i - z_j| <= |z_i| + |z_j| rules out most tiles
where the dimension is low.

float32 only screens. Let u = 2^-24 and let r_i be what the columns used count for in |z_i|^2, q_i what those left out
do, p_i = r_i / 2 + q_i; then d_ij <= 2 (p_i + p_j) - 2 z_i'z_j over the columns used. A tile holds
g_ij = z_i'z_j - h_i - h_j, a sum of w = used + 2 products, h rounded up from

    h_i = (1 + c) p_i - floor / 4,    c = 3.2 (w + 8) u.

The sum, in any order, is off by at most 1.01 w u (|z_i||z_j| + |h_i| + |h_j|), and z rounded to float32 by 2.01 u
|z_i||z_j| more. If d_ij reaches the floor, floor / 2 <= 2 (p_i + p_j), so |h_i| + |h_j| <= 2.01 (p_i + p_j); and
|z_i||z_j| <= p_i + p_j. The error is then below c (p_i + p_j), which is what h is too large by: g_ij < 0, and
d_ij <= floor - 2 g_ij. Nothing that reaches the floor is missed, whatever the data.

With the scores s of a model the gain is w_ij d_ij, w = p (1 - p). It reaches the floor where
d_ij >= floor / w_ij = floor (2 + exp(s_i - s_j) + exp(s_j - s_i)): two more products in the sum, of a = exp(s) and
b = exp(-s), and floor / 2 in h. They add at most d_ij / 2 <= 2 (p_i + p_j) to the terms, so c = 5.2 (w + 8) u.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.kernels import distances, pair_distances
from pairsmith.design.weights import logistic_weight
from pairsmith.engine import kernels
from pairsmith.engine.threads import Workers

EQUAL = 1e-12  # gains this close, relatively, are taken for equal

_BLOCK = 1 << 18  # numbers that one thread treats at a time
_TILES = (64, 512), (256, 256), (512, 512)  # low ones prune better, square ones multiply faster: by dimension
_ACROSS, _APART = np.linspace(0, 4, 400), np.linspace(0, 6, 601)  # q and t; the maximum over t of w(t) (t^2 + q)
_MOST = np.max(logistic_weight(_APART)[:, None] * (_APART[:, None] ** 2 + _ACROSS), axis=0) * (1 + 1e-4)
_STEEP = 40.0  # scores are cut off this far from their median: that only makes weights larger
_TRIED = 4096  # pairs to try out how many columns are enough
_SECOND_LOOK = 8000  # multiplications that a pair costs when computed one by one
_FOUND = 1 << 19  # pairs that a thread collects before it hands them over

Hits = tuple[Any, Any, Any]  # i, j and d_ij or a bound on it, as parallel arrays
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Screening:
    """What the tiles of one pass in float32 have in common, but for Z."""

    floor: float
    columns: Any  # of Z, in the order of what they count for
    used: int  # so many of them are multiplied
    partial: bool  # what passes is then computed in full, because that leaves out too much
    scale: float  # z is divided by it
    median: float | None  # of the scores, where there are any
    height: int
    width: int

    def rows(self, Z: Floats, which: Any, norms: Floats, scores: Floats | None, out: Any, columns: Any = None) -> None:
        """Rows (z, -1, -h), or (z, a, b, -1, -h), in float32 over the columns used, for Z[which].

        `columns` of Z are those used, where it has no others.
        """
        kept, used = np.empty(len(which)), self.used
        kernels.narrow(Z, which, self.columns[:used] if columns is None else columns, 1 / self.scale, out, kept)
        c = (3.2 if scores is None else 5.2) * (out.shape[1] + 8) * 2.0**-24
        # The difference is off by some 1e-16 of the norm, of which c adds 1e-6 and more.
        dropped, threshold = np.maximum(norms / self.scale**2 - kept, 0.0), self.floor / self.scale**2
        h = (1 + c) * (kept / 2 + dropped) + 2.0**-90  # 2^-90: for what underflows
        if scores is None:
            h -= threshold / 4
        else:
            h -= threshold / 2
            centred = np.clip(scores - (self.median or 0.0), -_STEEP, _STEEP)
            out[:, used] = np.sqrt(threshold / 2) * np.exp(centred) * (1 - 1e-6)
            out[:, used + 1] = np.sqrt(threshold / 2) * np.exp(-centred) * (1 - 1e-6)
        out[:, -2] = -1
        out[:, -1] = -np.nextafter(h.astype(np.float32), np.float32(np.inf))

    @property
    def row_width(self) -> int:
        return self.used + (2 if self.median is None else 4)

    def scratch(self) -> tuple[Any, ...]:
        """What a thread needs for its tiles."""
        left = np.empty(self.height * self.row_width, dtype=np.float32)
        products = np.empty(self.height * self.width, dtype=np.float32)
        return products, left, *np.empty((2, _FOUND), dtype=np.int32), np.empty(_FOUND)

    def passing(
        self, A: Any, B: Any, a0: int, b0: int, strips: Any, catch: Catch, scratch: tuple[Any, ...]
    ) -> Iterator[tuple[Any, Any, Any, float]]:
        """i, j and bounds of pairs of these strips that reach the catch's floor, as it rises, and that floor.

        They are views, good until the next step. A and B are `rows` from place a0 and b0 on.
        """
        at = np.array([0, -1])
        while at[0] < len(strips):
            now = catch.floor
            # h holds its part of the first floor; where that has risen, the left side gets the rest.
            risen = (now - self.floor) / (2 if self.median is None else 1) / self.scale**2
            shift = np.maximum(np.nextafter(np.float32(risen), np.float32(-np.inf)), np.float32(0))
            growth = np.float32(0 if self.median is None else now / self.floor if self.floor > 0 else 1)
            unit = 2 * self.scale**2
            found = kernels.screen(A, B, a0, b0, strips, at, self.width, shift, growth, now, unit, *scratch)
            if found:
                i, j, bound = (array[:found] for array in scratch[2:])
                yield i, j, bound, now

    def settled(
        self, i: Any, j: Any, bound: Floats, now: float, weight: Callable[[], Floats], gains: Callable[[], Floats]
    ) -> Hits:
        """What `passing` gave, with weights counted in and, where columns were left out, in full."""
        if self.partial:
            bound = gains()
            good = bound >= now * (1 - EQUAL)
            return i[good], j[good], bound[good]
        if self.median is not None:
            bound = now + weight() * (bound - now)
        return i.copy(), j.copy(), bound.copy()


class Catch:
    """Hits as they come, cut down to the largest when they are many more than the capacity: that raises the floor."""

    def __init__(self, floor: float, capacity: int, last: tuple[int, int] | None = None) -> None:
        self.floor, self.capacity = floor, capacity
        self.last = last  # where given, of gains equal to the floor only pairs up to this one are wanted
        self.hits: list[Hits] = []
        self.count = 0

    def add(self, hits: Hits) -> None:
        self.hits.append(hits)
        self.count += len(hits[0])
        if self.count > 2 * self.capacity + 100_000:
            if self.last is None:
                self.floor, self.count = _raised(self.hits, self.floor, self.capacity)
            else:
                kept, self.floor, last = _largest(join(self.hits), self.capacity, self.floor)
                self.hits, self.count, self.last = [kept], len(kept[0]), last or self.last

    def wanted(self, i: Any, j: Any, gains: Floats) -> Any:
        """Which of these, all at least the floor, are."""
        assert self.last is not None
        behind = (i > self.last[0]) | ((i == self.last[0]) & (j > self.last[1]))
        return ~(behind & (gains <= self.floor * (1 + 3 * EQUAL)))


class Scan:
    """Passes over all candidates, each at one moment of the design, after `whiten()`."""

    def __init__(
        self, design: Design, remaining: Remaining, team: Workers, diagnostics: dict[str, Any], tell: Tell, room: int
    ) -> None:
        self.design, self.remaining = design, remaining
        self.team, self.diagnostics, self.tell = team, diagnostics, tell
        self.n, self.d = design.n, len(design.root)
        self.least = 1.0 if design.scores is None else 4.0  # d_ij must be this many times the gain: weights are <= 1/4
        self.columns_used = 1.0  # as a share of d, in the last screened pass
        self.norms = np.empty(self.n)
        # Z of all items, if there is room for that many bytes; else blocks of it are computed again when needed.
        self.Z: Floats | None = np.empty((self.n, self.d)) if self.n * self.d * 8 <= room else None
        self.second_look = self.Z is not None  # whether some columns of it may do, and the rest be looked up
        self.narrow = np.empty(0, dtype=np.float32)  # kept: memory given back and asked for again is slow

    def whiten(self) -> None:
        """Z = X W for the design as it is now, or at least its lengths."""
        self.whitener = self.design.whitener()
        self.taken = self.remaining.taken
        self.involved = np.zeros(self.n, dtype=bool)  # items of which a pair is taken
        self.involved[self.remaining.rows.pairs(self.taken)] = True
        self.capped = bool(self.remaining.full.any())
        self.energy = self._measure() / self.n  # mean square of each column
        self.reach, self.steepness = self.norms, 0.0
        if self.design.scores is not None and self.Z is not None:
            self._set_scores_aside(self.Z, self.design.scores)

    def _measure(self) -> Floats:
        """Fill in Z and norms; the sum of squares of each column."""
        step = max(1, _BLOCK // self.d)
        energies = np.zeros((-(-self.n // step), self.d))

        def work(at: int) -> None:
            block = slice(at * step, min((at + 1) * step, self.n))
            Z = self._whiten(block, None if self.Z is None else self.Z[block])
            kernels.measure(Z, self.norms[block], energies[at])

        self.team.share(work, range(len(energies)))
        total: Floats = energies.sum(axis=0)
        return total

    def _set_scores_aside(self, Z: Floats, scores: Floats) -> None:
        """Lengths without what is along the score, where that bounds weighted gains better.

        Scores are linear, t = s_i - s_j = gamma'(z_i - z_j), so d_ij = t^2 / |gamma|^2 + |across|^2. Pairs far apart in
        score weigh little: |gamma|^2 w d_ij <= max_t w(t) (t^2 + q), q = |gamma|^2 |across|^2, which is q / 4 from
        q = 4 on and 0.44 for q = 0.
        """
        width = np.sqrt(self.energy) + 1e-300
        some = slice(None, None, max(1, self.n // (8 * self.d + 100)))
        fitted = np.linalg.lstsq(np.column_stack([Z[some] / width, np.ones(len(Z[some]))]), scores[some], rcond=1e-12)[
            0
        ]
        gamma, constant = fitted[:-1] / width, fitted[-1]
        steepness = float(np.linalg.norm(gamma))
        along = Z @ gamma
        exact = np.max(np.abs(along + constant - scores)) <= 1e-6 * np.ptp(scores)
        if not exact or steepness == 0 or not np.isfinite(steepness):
            return  # a direction that Z has lost: then nothing is set aside
        across = np.maximum(self.norms - (along / steepness) ** 2, 0.0) + 1e-12 * self.norms
        most = max(4 * float(across.max()), 4 / steepness**2)
        if most < 4 * float(self.norms.max()):
            self.reach, self.steepness = across, steepness

    def needed(self, floor: Any) -> Any:
        """(sqrt(reach_i) + sqrt(reach_j))^2 must be at least this for a gain to reach the floor."""
        if self.steepness == 0:
            return self.least * floor
        scaled = floor * self.steepness**2
        q = np.where(scaled >= 1, 4 * scaled, np.interp(scaled, _MOST, _ACROSS) * (1 - 1e-3))
        return q / self.steepness**2

    def _whiten(self, which: Any, out: Floats | None = None) -> Floats:
        Z = self.design.rows(which)
        for factor in self.whitener[:-1]:
            Z = Z @ factor
        return np.matmul(Z, self.whitener[-1], out=out)

    def whitened(self, items: Any) -> Floats:
        if self.Z is not None:
            kept: Floats = self.Z[items]
            return kept
        features = self.design.features
        Z, step = np.empty((len(items), self.d)), features.rows_at_once

        def work(low: int) -> None:
            Z[low : low + step] = features.project(items[low : low + step], *self.whitener)

        self.team.share(work, range(0, len(items), step))
        return Z

    def gains(self, i: Any, j: Any) -> Floats:
        """d_ij, or w_ij d_ij, in float64."""
        gains = np.empty(len(i))
        weight = None if self.design.scores is None else self.design.weight(i, j)
        if self.Z is not None:
            Z = self.Z
        else:
            items, (i, j) = renumber(self.n, i, j)
            Z = self.whitened(items)
        pair_distances(Z, Z, i, j, gains)
        return gains if weight is None else gains * weight

    def _among(self, items: Any) -> tuple[Any, Any, Floats]:
        """All pairs (i, j) of these items, and their gains, roughly."""
        Z, norms = self.whitened(items), self.norms[items]
        i, j = np.triu_indices(len(items), 1)
        gains = np.maximum((norms[:, None] + norms[None, :] - 2 * (Z @ Z.T))[i, j], 0.0)
        if self.design.scores is not None:
            gains *= self.design.weight(items[i], items[j])
        return items[i], items[j], gains

    def sample(self) -> Floats:
        """Gains of some candidates, ascending, to guess from how they are distributed."""
        rng, rows = np.random.default_rng(0), self.remaining.rows
        if rows.groups is not None and len(rows.groups) == 2:
            gains = self._among(rng.choice(self.n, min(self.n, 300), replace=False))[2]
        else:
            gains = self.gains(*rows.pairs(rng.integers(len(rows), size=20_000)).T)
        return np.sort(gains)

    def far(self) -> Floats:
        """Gains of the candidates among the longest items, ascending: attained, and the last hardly ever exceeded."""
        count = min(self.n, 400)
        free = np.where(self.remaining.full, -1.0, self.reach)
        i, j, gains = self._among(np.sort(np.argpartition(free, self.n - count)[-count:]))
        allowed = ~self.gone(i, j)
        if self.partial:
            allowed &= self.remaining.rows.numbers(np.column_stack([i, j])) >= 0
        return np.sort(gains[allowed]) * (1 - 1e-9)  # rounding included

    @property
    def partial(self) -> bool:
        """Whether some pairs are no candidates at all."""
        return len(self.remaining.rows) < self.n * (self.n - 1) // 2

    def gone(self, i: Any, j: Any) -> Any:
        """Which of these pairs are taken or have an item at its cap."""
        full, taken = self.remaining.full, self.taken
        gone = full[i] | full[j] if self.capped else np.zeros(len(i), dtype=bool)
        if len(taken):
            suspects = np.flatnonzero(self.involved[i] & self.involved[j])
            numbers = self.remaining.rows.numbers(np.column_stack([i[suspects], j[suspects]]).astype(np.int64))
            at = np.minimum(np.searchsorted(taken, numbers), len(taken) - 1)
            gone[suspects[taken[at] == numbers]] = True
        return gone

    # In float32, by tiles.

    def screened(self, floor: float, capacity: int) -> tuple[Hits, float]:
        """Pairs whose bound from float32 products reaches the floor, which rises if they overflow the capacity.

        Returns them, and what every other candidate is at most.
        """
        order, groups = self._sorted(self.needed(floor))
        if len(order) < 2:
            return _no_hits(), floor
        columns = np.argsort(-self.energy)
        far = self.least * floor  # how far apart a pair must be
        full = max(1, int(np.sum(4 * np.cumsum(self.energy[columns][::-1])[::-1] > 1e-4 * far)))
        height, width = _TILES[int(np.searchsorted([60, 200], full))]
        strips = _strips(np.sqrt(self.reach[order]), groups, height, np.sqrt(self.needed(floor)))
        work = np.cumsum((strips[:, 1] - strips[:, 0]) * (strips[:, 3] - strips[:, 2]))
        used = self._enough(order, strips, work, floor, columns[:full])
        self.columns_used = used / self.d
        self.diagnostics["tiles"] += int(np.sum(-(-(strips[:, 3] - strips[:, 2]) // width)))
        products = float(work[-1]) * used if len(work) else 0.0
        self.diagnostics["products"] = self.diagnostics.get("products", 0.0) + products
        longest = float(np.sqrt(self.norms[order].max()))
        scale = 2.0 ** np.ceil(np.log2(longest)) if longest > 0 else 1.0
        median = None if self.design.scores is None else float(np.median(self.design.scores))
        screening = Screening(floor, columns, used, used < full, scale, median, height, width)
        catch = Catch(floor, capacity + len(self.taken))
        self._screen(screening, order, strips, work, catch)
        floor = catch.floor
        i, j, bound = join(catch.hits)
        i, j = np.minimum(i, j), np.maximum(i, j)
        gone = self.gone(i, j)
        if gone.any():
            i, j, bound = i[~gone], j[~gone], bound[~gone]
        if capacity < len(i) <= 1_000_000:  # of more, the bounds are good enough to choose by
            bound = self.gains(i, j)
        found, floor, _ = _largest((i, j, bound), capacity, floor)
        return found, floor

    def _screen(self, screening: Screening, order: Any, strips: Any, work: Any, catch: Catch) -> None:
        """Catch what passes; `work` is, for each strip, how many pairs the strips so far have."""
        scores, local, lock = self.design.scores, threading.local(), threading.Lock()
        size = len(order) * screening.row_width
        if size > len(self.narrow):
            self.narrow = np.empty(size, dtype=np.float32)
        M = self.narrow[:size].reshape(len(order), -1)
        step = max(1, _BLOCK // self.d)

        def narrow(low: int) -> None:
            own = order[low : low + step]
            if self.Z is not None:
                Z, which = self.Z, own
            else:
                Z, which = self._whiten(own), np.arange(len(own), dtype=np.int32)
            own_scores = None if scores is None else scores[own]
            screening.rows(Z, which, self.norms[own], own_scores, M[low : low + step])

        self.team.share(narrow, range(0, len(order), step))
        cuts = np.searchsorted(
            work, np.linspace(0, 1, 32 * self.team.threads + 1)[1:-1] * (work[-1] if len(work) else 0)
        )
        batches = [batch for batch in np.split(strips, cuts) if len(batch)]
        done = 0

        def collect(batch: Any) -> None:
            nonlocal done
            if not hasattr(local, "scratch"):
                local.scratch = screening.scratch()
            for i, j, bound, now in screening.passing(M, M, 0, 0, batch, catch, local.scratch):
                i, j = order[i], order[j]
                weight, gains = partial(self.design.weight, i, j), partial(self.gains, i, j)
                hits = screening.settled(i, j, bound, now, weight, gains)
                with lock:
                    catch.add(hits)
            with lock:
                done += 1
                self.tell(f"scanning {len(self.remaining.rows):.2g} pairs, {done / len(batches):.0%}")

        self.team.share(collect, batches)

    def _sorted(self, apart: float) -> tuple[Any, Any]:
        """Who can be so far apart from anybody, the longest first within each group; where the groups begin."""
        rows = self.remaining.rows
        assert rows.groups is not None
        norms = self.reach[rows.partner]
        longest = np.sqrt(np.maximum.reduceat(norms, rows.groups[:-1]))
        needed = np.maximum(0.0, np.sqrt(apart) * (1 - 1e-9) - longest) ** 2
        sizes = np.diff(rows.groups)
        if len(sizes) == 1:
            order = rows.partner[(norms >= needed[0]) & ~self.remaining.full]
            return order[np.argsort(-self.reach[order])], np.array([0, len(order)])
        group = np.repeat(np.arange(len(sizes)), sizes)
        kept = np.flatnonzero((norms >= needed[group]) & ~self.remaining.full[rows.partner])
        kept = kept[np.lexsort((-norms[kept], group[kept]))]
        counts = np.bincount(group[kept], minlength=len(sizes))
        return rows.partner[kept], np.concatenate([[0], np.cumsum(counts)])

    def _enough(self, order: Any, strips: Any, work: Any, floor: float, columns: Any) -> int:
        """How many of the columns, largest first, to multiply, when what passes is computed in full afterwards.

        Far out in the tail, half the columns and a bound on the rest rule out nearly everything that all of them would.
        """
        if not self.second_look or len(columns) < 10 or len(strips) == 0 or work[-1] * len(columns) < 1e9:
            return len(columns)
        grid = np.unique(len(columns) * np.array([2, 3, 4, 5, 6, 7, 10]) // 10) - 1
        for tried in (_TRIED // 16, _TRIED):  # a few tell already when there is no hope
            rng = np.random.default_rng(0)
            strip = strips[np.searchsorted(work, rng.integers(work[-1], size=tried), side="right")]
            i = order[strip[:, 0] + (rng.random(tried) * (strip[:, 1] - strip[:, 0])).astype(np.int64)]
            j = order[strip[:, 2] + (rng.random(tried) * (strip[:, 3] - strip[:, 2])).astype(np.int64)]
            first, second = (self.whitened(at)[:, columns] for at in (i, j))
            inside = np.cumsum(first**2 + second**2 + 2 * first * second, axis=1)[:, grid]
            bound = 2 * (self.norms[i] + self.norms[j])[:, None] - inside
            passing = (1 + np.sum(bound * self.design.weight(i, j)[:, None] >= floor, axis=0)) / tried
            if passing[:-1].min() > 0.05:
                return len(columns)
        passing[-1] = 0  # with all of them there is no second look
        return int(grid[np.argmin(2.0 * grid + passing * (_SECOND_LOOK + 20 * self.d))]) + 1

    # In float64, row by row.

    def exact(self, floor: float, capacity: int) -> tuple[Hits, float]:
        """Pairs whose gain, in float64, reaches the floor, the smaller ones where more are equal than the capacity."""
        catch = Catch(floor, capacity, (self.n, self.n))
        self._reaching(catch)
        found, floor, _ = _largest(join(catch.hits), capacity, catch.floor)
        return found, floor

    def _reaching(self, catch: Catch) -> None:
        rows, lock, done = self.remaining.rows, threading.Lock(), 0
        Z = self.whitened(np.arange(self.n)) if self.Z is None else self.Z
        blocks = rows.blocks(_BLOCK)

        def block(task: tuple[int, int]) -> None:
            nonlocal done
            arrays = rows.partner, rows.first, rows.count, rows.start
            i, j, gains = reaching(Z, arrays, self.design.scores, *task, catch.floor)
            good = catch.wanted(i, j, gains) & ~self.gone(i, j)
            with lock:
                catch.add((i[good], j[good], gains[good]))
                done += 1
                self.tell(f"scanning {len(rows):.2g} pairs in float64, {done / len(blocks):.0%}")

        self.team.share(block, blocks)


def reaching(
    Z: Floats, arrays: tuple[Any, Any, Any, Any], scores: Floats | None, low: int, high: int, floor: float
) -> Hits:
    """Pairs of the rows low to high - 1 of these `Rows`, as their arrays, whose gain in float64 reaches the floor."""
    size = int(arrays[3][high] - arrays[3][low])
    gains, out = np.empty((2, size + 1))
    i, j = np.empty((2, size + 1), dtype=np.int32)
    distances(Z, *arrays, low, high, gains)
    if scores is not None:
        kernels.weigh(gains, scores, *arrays, low, high)
    found = kernels.reaching(gains, *arrays, low, high, floor, i, j, out)
    return i[:found], j[:found], out[:found]


def _strips(lengths: Floats, groups: Any, height: int, reach: float) -> Any:
    """(a, a_end, b, b_end): rows a to a_end meet columns b = a to b_end, where lengths no longer add up to `reach`.

    Ascending in a, and apart.
    """
    found = []
    large = np.diff(groups) > height
    for begin, end in zip(groups[:-1][large].tolist(), groups[1:][large].tolist(), strict=True):
        a = np.arange(begin, end, height)
        wanted = reach * (1 - 1e-9) - lengths[a]
        b_end = begin + np.searchsorted(-lengths[begin:end], -wanted, side="right")
        found.append(np.column_stack([a, np.minimum(a + height, b_end), a, b_end]))
    small = ~large
    begin, ends = groups[:-1][small], groups[1:][small]
    found.append(np.column_stack([begin, ends, begin, ends]))
    strips = np.concatenate(found).astype(np.int64)
    strips = strips[strips[:, 3] > strips[:, 0] + 1]
    return strips[np.argsort(strips[:, 0])]


def _raised(hits: list[Hits], floor: float, capacity: int) -> tuple[float, int]:
    """Drop, in place, all but about that many of the largest bounds: the new floor, and how many are left."""
    bound = np.concatenate([hit[2] for hit in hits])
    place = len(bound) - capacity
    floor = max(floor, float(np.partition(bound, place)[place]))
    for at, (i, j, own) in enumerate(hits):
        good = own >= floor
        hits[at] = i[good], j[good], own[good]
    return floor, sum(len(hit[0]) for hit in hits)


def _largest(hits: Hits, capacity: int, floor: float) -> tuple[Hits, float, tuple[int, int] | None]:
    """That many of the largest, the smaller pairs among equals; what the rest is at most; the last of the equals."""
    i, j, gains = hits
    if len(i) <= capacity:
        return hits, floor, None
    cut = float(np.partition(gains, len(gains) - capacity)[len(gains) - capacity])
    above = np.flatnonzero(gains > cut * (1 + EQUAL))
    equal = np.flatnonzero((gains >= cut * (1 - EQUAL)) & (gains <= cut * (1 + EQUAL)))
    equal = equal[np.lexsort((j[equal], i[equal]))][: capacity - len(above)]
    kept = np.concatenate([above, equal])
    # What is not among the hits is only known to be at most the floor they came with.
    return (i[kept], j[kept], gains[kept]), max(floor, cut * (1 - EQUAL)), (int(i[equal[-1]]), int(j[equal[-1]]))


def renumber(n: int, i: Any, j: Any) -> tuple[Any, tuple[Any, Any]]:
    """The items that occur in i and j, ascending, and i and j as places among them."""
    place = np.zeros(n, dtype=np.int32)
    place[i] = place[j] = 1
    items = np.flatnonzero(place)
    place[items] = np.arange(len(items), dtype=np.int32)
    return items, (place[i], place[j])


def _no_hits() -> Hits:
    return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)


def join(hits: list[Hits]) -> Hits:
    if not hits:
        return _no_hits()
    i, j, bound = (np.concatenate(part) for part in zip(*hits, strict=True))
    return i, j, bound
