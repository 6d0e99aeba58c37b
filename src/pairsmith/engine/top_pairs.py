"""The hits of a scan, and a bounded collection of the largest ones under a floor that rises when it overflows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Bools, Floats

Items = npt.NDArray[np.integer[Any]]  # row numbers of items, or places in a list of items

TIE_TOLERANCE = 1e-12  # gains this close, relatively, count as equal

_OVERFLOW_SLACK = 100_000  # hits beyond twice the capacity that are tolerated before they are cut down


class Hits(NamedTuple):
    """Pairs that reach a floor, as parallel arrays."""

    i: Items
    j: Items
    gain: Floats  # or an upper bound on it

    def only(self, which: Bools | npt.NDArray[np.int64]) -> Hits:
        """Return the hits that a mask or an index array selects."""
        return Hits(self.i[which], self.j[which], self.gain[which])


class TopPairs:
    """A collection of hits that keeps about the `capacity` largest and raises its floor when it drops the rest.

    Every pair that was dropped, or that later fails the floor, has a gain of at most `floor`.

    Without `last`, the gains may be upper bounds, and the floor is the smallest bound kept. With `last`, the gains are
    exact. Of gains equal to the floor, only the smaller pairs are kept, up to and including the pair `last`, so the
    result does not depend on the order in which hits arrive.
    """

    def __init__(self, floor: float, capacity: int, last: tuple[int, int] | None = None) -> None:
        self.floor, self.capacity, self.last = floor, capacity, last
        self.hits: list[Hits] = []
        self.count = 0

    def add(self, hits: Hits) -> None:
        """Add hits; cut the collection down and raise the floor if it overflows."""
        self.hits.append(hits)
        self.count += len(hits.i)
        if self.count > 2 * self.capacity + _OVERFLOW_SLACK:
            if self.last is None:
                self._raise_floor()
            else:
                kept, self.floor, last = largest(join(self.hits), self.capacity, self.floor)
                self.hits, self.count, self.last = [kept], len(kept.i), last or self.last

    def _raise_floor(self) -> None:
        """Keep about `capacity` of the largest bounds and make the smallest of them the floor."""
        bound = np.concatenate([hits.gain for hits in self.hits])
        rank = len(bound) - self.capacity
        self.floor = max(self.floor, float(np.partition(bound, rank)[rank]))
        # Cut one array after the other, in place: a copy of all of them would double the peak memory.
        for at, hits in enumerate(self.hits):
            self.hits[at] = hits.only(hits.gain >= self.floor)
        self.count = sum(len(hits.i) for hits in self.hits)

    def wanted(self, hits: Hits) -> Bools:
        """Return a mask of the hits worth adding: all but ties with the floor that come after the pair `last`.

        All of the hits must reach the floor.
        """
        if self.last is None:
            return np.ones(len(hits.i), dtype=bool)
        after_last = (hits.i > self.last[0]) | ((hits.i == self.last[0]) & (hits.j > self.last[1]))
        # The floor lies one tolerance below the gain it stands for, and ties with that gain may lie one above it.
        return np.asarray(~(after_last & (hits.gain <= self.floor * (1 + 3 * TIE_TOLERANCE))))


def largest(hits: Hits, capacity: int, floor: float) -> tuple[Hits, float, tuple[int, int] | None]:
    """Return the `capacity` largest hits (of equal gains the smaller pairs), their floor, and the last tie kept.

    If every pair that is not among the hits has a gain of at most `floor`, then every pair that is not among the hits
    returned has a gain of at most the floor returned. The last tie is the largest pair (i, j) kept whose gain equals
    the smallest one kept; it is None if no hit was dropped.
    """
    if len(hits.i) <= capacity:
        return hits, floor, None
    i, j, gain = hits
    cut = float(np.partition(gain, len(gain) - capacity)[len(gain) - capacity])
    above = np.flatnonzero(gain > cut * (1 + TIE_TOLERANCE))
    ties = np.flatnonzero((gain >= cut * (1 - TIE_TOLERANCE)) & (gain <= cut * (1 + TIE_TOLERANCE)))
    ties = ties[np.lexsort((j[ties], i[ties]))][: capacity - len(above)]
    last = int(i[ties[-1]]), int(j[ties[-1]])
    return hits.only(np.concatenate([above, ties])), max(floor, cut * (1 - TIE_TOLERANCE)), last


def join(hits: list[Hits]) -> Hits:
    """Concatenate hits."""
    if not hits:
        return Hits(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0))
    return Hits(*(np.concatenate(part) for part in zip(*hits, strict=True)))


def renumber(n: int, i: Items, j: Items) -> tuple[npt.NDArray[np.int64], Items, Items]:
    """Return the distinct items in i and j, ascending, and i and j as places in that list. Items are below n."""
    place = np.zeros(n, dtype=np.int32)
    place[i] = place[j] = 1
    items = np.flatnonzero(place)
    place[items] = np.arange(len(items), dtype=np.int32)
    return items, place[i], place[j]
