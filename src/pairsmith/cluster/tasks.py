"""What a worker of a cluster does: pure functions of features, a whitener and some of the pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.cluster.cache import CACHE, Arrays, buffer
from pairsmith.cluster.features import OnWorker, by_parts
from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.data.candidates import Rows
from pairsmith.engine.backend import PAIRS_AT_ONCE, pairs_above_floor
from pairsmith.engine.screening import ItemBlock, Screening, TileRows
from pairsmith.engine.top_pairs import Hits, Items, TopPairs, join

_NUMBERS_WHITENED_AT_ONCE = 1 << 18
# What a pair that a task keeps may take of the cache's limit, in bytes. A hit takes 16 (two int32 and a float64). Up to
# twice as many as the capacity are there before they are cut down, and while they are, there are three copies: as they
# came, joined into one, and sorted out.
_BYTES_PER_PAIR = 16 * 2 * 3


@dataclass(frozen=True)
class Whitener:
    """Z = (X - center) times each factor: all that a task needs to know of the design between two picks.

    The factors hold every pick so far: there is nothing to replay. Where items have effects of their own, the features
    of the `touched` ones are shifted (`pairsmith.design.effects`).
    """

    name: str
    factors: tuple[Floats, ...]
    center: Floats | float
    touched: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # ascending
    shift: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # a row for each of them

    @property
    def d(self) -> int:
        return len(self.factors[-1].T)

    def whiten(self, rows: npt.NDArray[Any], items: Items, columns: Any = slice(None)) -> Floats:
        """These columns of Z of these items, whose features are the rows, in a buffer of this thread."""
        Z: Floats = np.subtract(rows, self.center, out=buffer("centred", rows.shape), dtype=np.float64)
        if len(self.touched):
            at = self.places(items)
            Z[at >= 0] += self.shift[at[at >= 0]]
        for number, factor in enumerate(self.factors):
            if factor is self.factors[-1]:
                factor = np.ascontiguousarray(factor[:, columns])
            Z = np.matmul(Z, factor, out=buffer(f"factor {number}", (len(Z), factor.shape[1])))
        return Z

    def places(self, items: Items) -> Ints:
        """Where among the touched these items are; -1 for others."""
        at = np.minimum(np.searchsorted(self.touched, items), len(self.touched) - 1)
        return np.where(self.touched[at] == items, at, -1)

    def not_both_touched(self, hits: Hits) -> Hits:
        """Without pairs of two touched items, which are for the coordinator."""
        return hits.only((self.places(hits.i) < 0) | (self.places(hits.j) < 0)) if len(self.touched) else hits


def measure(features: OnWorker, whitener: Whitener, low: int, high: int) -> tuple[Floats, Floats]:
    """|z_i|^2 of the items low to high - 1, and the sum of squares of each column of Z."""
    norms, energy = np.empty(high - low), np.zeros(whitener.d)
    step = max(1, _NUMBERS_WHITENED_AT_ONCE // whitener.d)
    given = features.span(low, high)
    for begin in range(0, high - low, step):
        part = given[begin : begin + step]
        Z = whitener.whiten(part, np.arange(low + begin, low + begin + len(part)))
        np.einsum("ic,ic->i", Z, Z, out=norms[begin : begin + step])
        energy += np.einsum("ic,ic->c", Z, Z)
    return norms, energy


def screen(
    features: OnWorker,
    whitener: Whitener,
    screening: Screening,
    groups: list[list[ItemBlock]],
    left_place: int,
    strips: dict[int, Ints],
    floor: float,
    capacity: int,
    taken: int,
) -> tuple[Hits, float]:
    """Pairs of the items from `left_place` on with others, in the strips for each of their places, by the screen.

    Also what every other pair of them is at most. `taken` pairs may be found that are gone.
    """
    parts = {part.place: part for group in groups for part in group}
    top, scratch = TopPairs(floor, _room(capacity) + taken), screening.scratch()
    left = _tile_rows(features, whitener, screening, parts[left_place])
    for place, own in strips.items():
        right = _tile_rows(features, whitener, screening, parts[place])
        for hits in screening.hits(left, right, own, lambda: top.floor, scratch):
            top.add(whitener.not_both_touched(hits))
    return join(top.hits), top.floor


def _room(capacity: int) -> int:
    """How many pairs a task may keep: what the pool holds, or less where there is no memory for that.

    Then the floor rises sooner, for all tasks, and the pool is smaller; what is picked does not depend on it.
    """
    return min(capacity, max(1, CACHE.limit // _BYTES_PER_PAIR))


def _tile_rows(features: OnWorker, whitener: Whitener, screening: Screening, placed: ItemBlock) -> TileRows:
    """These items as the screen multiplies them and, where it leaves out columns, their Z; from the cache if there."""
    n = len(placed.items)

    def make() -> Arrays:
        rows = np.empty((n, screening.row_width), dtype=np.float32)
        whole = np.empty((n, whitener.d)) if screening.second_look else None
        columns, own_columns = screening.columns[: screening.used], np.arange(screening.used)
        step = max(1, _NUMBERS_WHITENED_AT_ONCE // whitener.d)
        for low in range(0, n, step):
            own = slice(low, low + step)
            part = placed.part(own)
            given = features.rows(part.items)
            which = np.arange(len(given), dtype=np.int32)
            if whole is None:
                Z = whitener.whiten(given, part.items, columns)
                screening.write_float32_rows(Z, which, part, rows[own], own_columns)
            else:
                whole[own] = Z = whitener.whiten(given, part.items)
                screening.write_float32_rows(Z, which, part, rows[own])
        return (rows,) if whole is None else (rows, whole)

    rows, *Z = CACHE.get_for(whitener, placed.place, make)
    return TileRows(placed, rows, Z[0] if Z else None, np.arange(n, dtype=np.int32))


@dataclass(frozen=True)
class Partners:
    """Items that others meet in a pass in float64, and who of those meets whom, by places in both."""

    items: Items
    scores: Floats | None
    own: Floats | None  # what effects of their own add to d_ij
    meetings: Rows
    full: Bools  # which of the items are at their cap


def exact(
    features: OnWorker,
    whitener: Whitener,
    items: Items,
    scores: Floats | None,
    effects: Floats | None,
    partners: list[Partners],
    floor: float,
    last: tuple[int, int] | None,
    capacity: int,
    taken: int,
) -> tuple[Hits, float, tuple[int, int] | None]:
    """Pairs of `items` with their partners that reach the floor in float64; the floor and `last` as they are then."""
    top = TopPairs(floor, _room(capacity) + taken, last)
    Y, h = _whitened(features, whitener, items), len(items)
    for right in partners:
        Z = np.concatenate([Y, _whitened(features, whitener, right.items)])
        both = None if scores is None or right.scores is None else np.concatenate([scores, right.scores])
        beside = None if effects is None or right.own is None else np.concatenate([effects, right.own])
        meetings = right.meetings
        own = Rows(meetings.partner + np.int32(h), meetings.first, meetings.count)
        arrays = own.partner, own.first, own.count, own.start
        for low, high in own.blocks(PAIRS_AT_ONCE):
            i, j, gains = pairs_above_floor(Z, arrays, both, beside, low, high, top.floor)
            free = ~right.full[j - h]
            hits = whitener.not_both_touched(Hits(items[i[free]], right.items[j[free] - h], gains[free]))
            top.add(hits.only(top.wanted(hits)))
    return join(top.hits), top.floor, top.last


def _whitened(features: OnWorker, whitener: Whitener, items: Items) -> Floats:
    found, low = np.empty((len(items), whitener.d)), 0
    for part in by_parts(features, items):
        found[low : low + len(part)] = whitener.whiten(part, items[low : low + len(part)])
        low += len(part)
    return found
