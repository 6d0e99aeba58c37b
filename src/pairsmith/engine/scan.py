"""Find every candidate pair whose gain reaches a floor, among up to 10^12 of them, in memory O(N d + what is found).

Whitened by Z = X W with A^-1 = W W', a pair's gain is a distance, d_ij = |z_i - z_j|^2. Items of a group (all pairs are
one group) are sorted by length and multiplied in tiles of float32, under the error bound of `screening`;
|z_i - z_j| <= |z_i| + |z_j| rules out most tiles where the dimension is low. What is here plans a pass: which items,
which tiles, how many columns. `backend` carries it out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Remaining, Rows
from pairsmith.design.information import Design
from pairsmith.engine.backend import PAIRS_AT_ONCE, InThreads, Passes, Tell, reaching
from pairsmith.engine.screening import Screening, ScreenPlan
from pairsmith.engine.threads import Team
from pairsmith.engine.top_pairs import Hits, Items, TopPairs, join, largest
from pairsmith.engine.whitening import Whitened

# Height and width of a tile, by how many columns matter: low tiles prune better, square ones multiply faster.
_TILES = (64, 512), (256, 256), (512, 512)
_TILES_FROM = 60, 200  # columns from which on the second, the third of them is taken
_PAIRS_TRIED = 4096  # to find out how many columns are enough
_TENTHS_TRIED = 2, 3, 4, 5, 6, 7, 10  # of the columns
_HOPELESS = 0.05  # no second look if with every share of the columns more than this share of the pairs passes
_WORTH_TRYING = 1e9  # multiplications: in a smaller pass there is nothing to be saved
_SECOND_LOOK = 8000  # multiplications of a pass that it costs to compute one pair by itself, and 20 more for a column
_BOUNDS_GOOD_ENOUGH = 1_000_000  # of more hits than that, the largest are chosen by their bounds


class Scan:
    """Passes over all candidates, each for one moment of the design: whiten() and then screened() or exact()."""

    def __init__(
        self,
        design: Design,
        remaining: Remaining,
        team: Team,
        diagnostics: dict[str, Any],
        tell: Tell,
        memory: int,
        passes: Callable[[Design, Remaining, Team, dict[str, Any], Tell, int], Passes] = InThreads,
    ) -> None:
        self.design, self.remaining, self.team = design, remaining, team
        self.diagnostics, self.tell = diagnostics, tell
        self.passes = passes(design, remaining, team, diagnostics, tell, memory)
        self.columns_used = 1.0  # as a share of all, in the last screened pass

    def whiten(self) -> Whitened:
        """The items for the design as it is now."""
        if self.design.effects is not None:
            self.design.effects.fold()
        factors = self.design.whitener()
        norms, energy, Z = self.passes.measure(factors)
        return Whitened.at(self.design, self.remaining, self.team, factors, norms, energy / self.design.n, Z)

    def exact(self, whitened: Whitened, floor: float, capacity: int) -> tuple[Hits, float]:
        """Pairs whose gain, in float64, reaches the floor, the smaller ones where more are equal than the capacity.

        Also what every other candidate is at most.
        """
        top = TopPairs(floor, capacity, (self.design.n, self.design.n))
        if whitened.untouched:
            self.passes.exact(whitened, top)
        self._add_touched(whitened, top)
        found, floor, _ = largest(join(top.hits), capacity, top.floor)
        return found, floor

    def every_pair(self, whitened: Whitened) -> Hits:
        """All candidates that remain, with their gains in float64: for so few that it costs nothing.

        Pair by pair, by a kernel that compiles in a quarter of the time of those of `exact`.
        """
        i, j = self.remaining.rows.pairs(np.arange(len(self.remaining.rows))).astype(np.int32).T
        left = ~whitened.gone(i, j)
        i, j = i[left], j[left]
        return Hits(i, j, whitened.gains(i, j))

    def screened(self, whitened: Whitened, floor: float, capacity: int) -> tuple[Hits, float]:
        """Pairs whose bound from float32 products reaches the floor, which rises if they overflow the capacity.

        Also what every other candidate is at most.
        """
        top = TopPairs(floor, capacity + len(whitened.taken))
        plan = self._plan(whitened, floor) if whitened.untouched else None
        if plan is not None:
            self.passes.screen(whitened, plan, top)
        self._add_touched(whitened, top)
        i, j, bound = join(top.hits)
        hits = Hits(np.minimum(i, j), np.maximum(i, j), bound)
        gone = whitened.gone(hits.i, hits.j)
        if gone.any():
            hits = hits.only(~gone)
        if capacity < len(hits.i) <= _BOUNDS_GOOD_ENOUGH:
            hits = Hits(hits.i, hits.j, whitened.gains(hits.i, hits.j))
        found, floor, _ = largest(hits, capacity, top.floor)
        return found, floor

    def _add_touched(self, whitened: Whitened, top: TopPairs) -> None:
        """Add the candidates of two touched items that reach the floor: t^2 / 2 pairs at most, looked at in float64.

        What is known of effects has a covariance, so the distance of two points and what each adds is not all.
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
            i, j, gain = reaching(Z, arrays, scores, own[items], *block, whitened.product(floor), covariance)
            hits = whitened.settled(Hits(items[i].astype(np.int32), items[j].astype(np.int32), gain), floor)
            hits = hits.only(top.wanted(hits) & ~whitened.gone(hits.i, hits.j))
            with lock:
                top.add(hits)

        self.team.share(work, rows.blocks(PAIRS_AT_ONCE))

    def _plan(self, whitened: Whitened, floor: float) -> ScreenPlan | None:
        """What to multiply; None if no pair can reach the floor."""
        order, groups = _longest_first(whitened, whitened.needed(floor))
        if len(order) < 2:
            return None
        columns = np.argsort(-whitened.energy)
        apart = float(whitened.distance(floor) if whitened.own is None else whitened.needed(floor))
        # Columns that together count for less than 1e-4 of how far apart a pair must be do not matter.
        beyond = np.cumsum(whitened.energy[columns][::-1])[::-1]
        full = max(1, int(np.sum(4 * beyond > 1e-4 * apart)))
        height, width = _TILES[int(np.searchsorted(_TILES_FROM, full))]
        strips = _strips(np.sqrt(whitened.reach[order]), groups, height, np.sqrt(whitened.needed(floor)))
        pairs = np.cumsum((strips[:, 1] - strips[:, 0]) * (strips[:, 3] - strips[:, 2]))
        used = full
        if self.passes.second_look:
            used = _enough_columns(whitened, order, strips, pairs, floor, columns[:full])
        self.columns_used = used / len(columns)
        self.diagnostics["tiles"] += int(np.sum(-(-(strips[:, 3] - strips[:, 2]) // width)))
        products = float(pairs[-1]) * used if len(pairs) else 0.0
        self.diagnostics["products"] = self.diagnostics.get("products", 0.0) + products
        squared = whitened.norms[order] if whitened.own is None else whitened.norms[order] + whitened.own[order]
        longest = float(np.sqrt(squared.max()))
        scale = 2.0 ** np.ceil(np.log2(longest)) if longest > 0 else 1.0
        median = None if self.design.scores is None else float(np.median(self.design.scores))
        product = float(whitened.product(floor))
        screening = Screening(product, columns, used, used < full, scale, median, height, width)
        return ScreenPlan(screening, order, strips, pairs)


def _longest_first(whitened: Whitened, apart: float) -> tuple[Items, Ints]:
    """Who can be so far apart from anybody, the longest first within each group; where the groups begin."""
    rows, reach, full = whitened.remaining.rows, whitened.reach, whitened.remaining.full
    assert rows.groups is not None
    lengths = reach[rows.partner]
    longest = np.sqrt(np.maximum.reduceat(lengths, rows.groups[:-1]))
    needed = np.maximum(0.0, np.sqrt(apart) * (1 - 1e-9) - longest) ** 2
    sizes = np.diff(rows.groups)
    if len(sizes) == 1:
        order = rows.partner[(lengths >= needed[0]) & ~full[rows.partner]]
        return order[np.argsort(-reach[order])], np.array([0, len(order)])
    group = np.repeat(np.arange(len(sizes)), sizes)
    kept = np.flatnonzero((lengths >= needed[group]) & ~full[rows.partner])
    kept = kept[np.lexsort((-lengths[kept], group[kept]))]
    counts = np.bincount(group[kept], minlength=len(sizes))
    return rows.partner[kept], np.concatenate([[0], np.cumsum(counts)])


def _strips(lengths: Floats, groups: Ints, height: int, needed: float) -> Ints:
    """(a, a_end, b, b_end): rows a to a_end meet columns b = a to b_end, where lengths no longer add up to `needed`.

    Ascending in a, and apart.
    """
    found = []
    large = np.diff(groups) > height
    for begin, end in zip(groups[:-1][large].tolist(), groups[1:][large].tolist(), strict=True):
        a = np.arange(begin, end, height)
        wanted = needed * (1 - 1e-9) - lengths[a]
        b_end = begin + np.searchsorted(-lengths[begin:end], -wanted, side="right")
        found.append(np.column_stack([a, np.minimum(a + height, b_end), a, b_end]))
    small = ~large
    begin, ends = groups[:-1][small], groups[1:][small]
    found.append(np.column_stack([begin, ends, begin, ends]))
    strips = np.concatenate(found).astype(np.int64)
    strips = strips[strips[:, 3] > strips[:, 0] + 1]
    ascending: Ints = strips[np.argsort(strips[:, 0])]
    return ascending


def _enough_columns(whitened: Whitened, order: Items, strips: Ints, pairs: Ints, floor: float, columns: Ints) -> int:
    """How many of the columns, largest first, to multiply, when what passes is computed in full afterwards.

    Far out in the tail, half the columns and a bound on the rest rule out nearly everything that all of them would.
    """
    if len(columns) < 10 or len(strips) == 0 or pairs[-1] * len(columns) < _WORTH_TRYING:
        return len(columns)
    grid = np.unique(len(columns) * np.array(_TENTHS_TRIED) // 10) - 1
    for tried in (_PAIRS_TRIED // 16, _PAIRS_TRIED):  # a few tell already when there is no hope
        rng = np.random.default_rng(0)
        strip = strips[np.searchsorted(pairs, rng.integers(pairs[-1], size=tried), side="right")]
        i = order[strip[:, 0] + (rng.random(tried) * (strip[:, 1] - strip[:, 0])).astype(np.int64)]
        j = order[strip[:, 2] + (rng.random(tried) * (strip[:, 3] - strip[:, 2])).astype(np.int64)]
        first, second = (whitened.rows(items)[:, columns] for items in (i, j))
        inside = np.cumsum(first**2 + second**2 + 2 * first * second, axis=1)[:, grid]
        bound = 2 * (whitened.norms[i] + whitened.norms[j])[:, None] - inside
        if whitened.own is not None:
            bound += (whitened.own[i] + whitened.own[j])[:, None]
        passing = (1 + np.sum(bound * whitened.design.weight(i, j)[:, None] >= floor, axis=0)) / tried
        if passing[:-1].min() > _HOPELESS:
            return len(columns)
    passing[-1] = 0  # with all of them there is no second look
    return int(grid[np.argmin(2.0 * grid + passing * (_SECOND_LOOK + 20 * len(whitened.energy)))]) + 1
