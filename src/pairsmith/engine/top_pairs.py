"""What a scan finds, and the largest of it under a floor that rises when there is too much."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Bools, Floats

Items = npt.NDArray[np.integer[Any]]  # row numbers of items, or places among some of them

EQUAL = 1e-12  # gains this close, relatively, are taken for equal

_SLACK = 100_000  # hits beyond twice the capacity that may come before they are cut down


class Hits(NamedTuple):
    """Pairs that reach a floor, as parallel arrays."""

    i: Items
    j: Items
    gain: Floats  # or an upper bound on it

    def only(self, which: Bools | npt.NDArray[np.int64]) -> Hits:
        return Hits(self.i[which], self.j[which], self.gain[which])


class TopPairs:
    """Hits as they come, cut down to the largest when they are many more than the capacity: that raises the floor.

    Whatever was not kept, or is found below the floor later, is at most the floor. Without `last`, gains may be bounds,
    and the floor is simply the least bound kept. With `last` they are exact, and of gains equal to the floor only the
    smaller pairs are kept, up to and including the pair `last`: the result then does not depend on the order in which
    hits come.
    """

    def __init__(self, floor: float, capacity: int, last: tuple[int, int] | None = None) -> None:
        self.floor, self.capacity, self.last = floor, capacity, last
        self.hits: list[Hits] = []
        self.count = 0

    def add(self, hits: Hits) -> None:
        self.hits.append(hits)
        self.count += len(hits.i)
        if self.count > 2 * self.capacity + _SLACK:
            if self.last is None:
                self._raise_floor()
            else:
                kept, self.floor, last = largest(join(self.hits), self.capacity, self.floor)
                self.hits, self.count, self.last = [kept], len(kept.i), last or self.last

    def _raise_floor(self) -> None:
        """Keep about as many of the largest bounds as the capacity; the least of them is the new floor."""
        bound = np.concatenate([hits.gain for hits in self.hits])
        place = len(bound) - self.capacity
        self.floor = max(self.floor, float(np.partition(bound, place)[place]))
        # One array after the other, in place: a copy of all of them would take twice the memory.
        for at, hits in enumerate(self.hits):
            self.hits[at] = hits.only(hits.gain >= self.floor)
        self.count = sum(len(hits.i) for hits in self.hits)

    def wanted(self, hits: Hits) -> Bools:
        """Which of these hits, all of which reach the floor, are to be kept: not those behind `last` among equals."""
        if self.last is None:
            return np.ones(len(hits.i), dtype=bool)
        behind = (hits.i > self.last[0]) | ((hits.i == self.last[0]) & (hits.j > self.last[1]))
        # The floor itself is EQUAL below the gains that it stands for, and those may be EQUAL above their least.
        return np.asarray(~(behind & (hits.gain <= self.floor * (1 + 3 * EQUAL))))


def largest(hits: Hits, capacity: int, floor: float) -> tuple[Hits, float, tuple[int, int] | None]:
    """The `capacity` largest hits, of equal gains the smaller pairs.

    Also what every other pair is at most, given that those which are no hits are at most `floor`; and the last of the
    pairs kept whose gain is equal to that, if any hit was dropped.
    """
    if len(hits.i) <= capacity:
        return hits, floor, None
    i, j, gain = hits
    cut = float(np.partition(gain, len(gain) - capacity)[len(gain) - capacity])
    above = np.flatnonzero(gain > cut * (1 + EQUAL))
    equal = np.flatnonzero((gain >= cut * (1 - EQUAL)) & (gain <= cut * (1 + EQUAL)))
    equal = equal[np.lexsort((j[equal], i[equal]))][: capacity - len(above)]
    last = int(i[equal[-1]]), int(j[equal[-1]])
    return hits.only(np.concatenate([above, equal])), max(floor, cut * (1 - EQUAL)), last


def join(hits: list[Hits]) -> Hits:
    """All of them in one."""
    if not hits:
        return Hits(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0))
    return Hits(*(np.concatenate(part) for part in zip(*hits, strict=True)))


def renumber(n: int, i: Items, j: Items) -> tuple[npt.NDArray[np.int64], Items, Items]:
    """Those of n items that occur in i and j, ascending, and i and j as places among them."""
    place = np.zeros(n, dtype=np.int32)
    place[i] = place[j] = 1
    items = np.flatnonzero(place)
    place[items] = np.arange(len(items), dtype=np.int32)
    return items, place[i], place[j]
