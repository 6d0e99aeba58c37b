"""Which pairs may be asked: all of them, those within groups or among some items, or a list.

Every kind is reduced to one form, `Rows`: item i may meet the items

    partner[first[i] : first[i] + count[i]],    ascending, all greater than i.

For all pairs `partner` is 0..N-1 and row i starts at i + 1; for groups it is the items sorted by group; only
an explicit list spells its pairs out. So N = 1,000,000 costs O(N), not 5e11 of anything. The pairs are numbered
row by row, which is lexicographic order: pair number e is the e-th smallest (i, j).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Bools, Ints, as_items, as_pairs, check_items


@dataclass(frozen=True)
class Rows:
    """Candidate pairs i < j, row by row (see the module's docstring)."""

    partner: npt.NDArray[np.int32]
    first: Ints
    count: Ints
    groups: Ints | None = None  # where partner[groups[g] : groups[g + 1]] all may meet each other, for every g

    @cached_property
    def start(self) -> Ints:
        """start[i] is the number of row i's first pair; start[N] is how many pairs there are."""
        return np.concatenate([[0], np.cumsum(self.count)])

    def __len__(self) -> int:
        return int(self.start[-1])

    @property
    def n_items(self) -> int:
        return len(self.count)

    @property
    def is_list(self) -> bool:
        """Whether these are the pairs of a list, or what `among` leaves of any: no groups are known among them."""
        return self.groups is None

    def pairs(self, numbers: Ints) -> Ints:
        """The pairs (i, j) that have these numbers."""
        i = np.searchsorted(self.start, numbers, side="right") - 1
        j = self.partner[self.first[i] + (numbers - self.start[i])]
        return np.column_stack([i, j]).astype(np.int64)

    def numbers(self, pairs: Ints) -> Ints:
        """The numbers of these pairs (i < j), -1 for one that is no candidate."""
        low = self.first[pairs[:, 0]]
        end = low + self.count[pairs[:, 0]]
        high, wanted = end.copy(), pairs[:, 1]
        while np.any(low < high):  # binary search in every row at once
            middle = (low + high) // 2
            smaller = (low < high) & (self.partner[np.minimum(middle, len(self.partner) - 1)] < wanted)
            high = np.where(smaller, high, np.minimum(high, middle))
            low = np.where(smaller, middle + 1, low)
        found = low < end
        found[found] = self.partner[low[found]] == wanted[found]
        return np.where(found, self.start[pairs[:, 0]] + low - self.first[pairs[:, 0]], -1)

    def blocks(self, pairs: int) -> list[tuple[int, int]]:
        """Ranges of rows with about that many pairs each, and at least one row."""
        rows = [0]
        while rows[-1] < self.n_items:
            reach = int(np.searchsorted(self.start, self.start[rows[-1]] + pairs, side="right")) - 1
            rows.append(max(reach, rows[-1] + 1))
        return [(low, high) for low, high in pairwise(rows) if self.start[high] > self.start[low]]

    def degrees(self) -> Ints:
        """In how many candidate pairs each item stands."""
        change = np.zeros(len(self.partner) + 1, dtype=np.int64)
        np.add.at(change, self.first, 1)
        np.add.at(change, self.first + self.count, -1)
        as_second = np.bincount(self.partner, weights=np.cumsum(change)[:-1], minlength=self.n_items)
        return self.count + as_second.astype(np.int64)

    def among(self, keep: Bools) -> Rows:
        """Only the pairs whose two items are both kept, in O(N + len(partner))."""
        kept = keep[self.partner]
        position = np.concatenate([[0], np.cumsum(kept)])
        first = position[self.first]
        count = np.where(keep, position[self.first + self.count] - first, 0)
        return Rows(self.partner[kept], first, count)


class AllPairs:
    """Every pair of the N items: N (N - 1) / 2 of them, none of them stored."""

    def rows(self, n: int) -> Rows:
        items = np.arange(n, dtype=np.int64)
        return Rows(items.astype(np.int32), items + 1, n - 1 - items, np.array([0, n]))

    def __repr__(self) -> str:
        return "AllPairs()"


class WithinGroups:
    """Pairs of items of one group: the answers to a prompt, the documents of a query.

    `groups` names each item's group, in the order of the items.
    """

    def __init__(self, groups: Any) -> None:
        self.codes: Ints = _codes(groups)

    def rows(self, n: int) -> Rows:
        _check_length(self.codes, n)
        items = np.argsort(self.codes, kind="stable")  # stable: ascending within each group
        position = np.empty(n, dtype=np.int64)
        position[items] = np.arange(n)
        group_end = np.cumsum(np.bincount(self.codes))
        count = group_end[self.codes] - position - 1
        return Rows(items.astype(np.int32), position + 1, count, np.concatenate([[0], group_end]))

    def __repr__(self) -> str:
        return f"WithinGroups(<{len(self.codes)} items in {len(np.unique(self.codes))} groups>)"


def as_codes(groups: Any, n: int) -> Ints | None:
    """The number of the group of each of n items, from 0 on in the order in which they appear; None without groups."""
    if groups is None:
        return None
    codes = _codes(groups)
    _check_length(codes, n)
    return codes


def _codes(groups: Any) -> Ints:
    import pandas as pd

    try:
        values = groups if isinstance(groups, np.ndarray) else np.array(list(groups), dtype=object)
        if values.ndim != 1 or np.ma.isMaskedArray(values):
            raise TypeError
        codes = pd.factorize(values)[0]
    except (TypeError, ValueError):
        raise ValueError("groups must be a plain list of one name (text or number) for each item") from None
    if np.any(codes < 0):
        raise ValueError(f"groups: item {int(np.argmax(codes < 0))} has no group; give every item one")
    return codes.astype(np.int64)


def _check_length(codes: Ints, n: int) -> None:
    if len(codes) != n:
        raise ValueError(f"groups names {len(codes)} items, but X has {n}; give one group for each item")


class Among:
    """Every pair of some of the items, by row number: of a random sample, where all pairs would take too long."""

    def __init__(self, items: npt.ArrayLike) -> None:
        array = as_items(items, "items")
        if array.ndim != 1:
            raise ValueError(f"items must be a list of row numbers, got an array of shape {array.shape}")
        self.items: Ints = np.unique(array)

    def rows(self, n: int) -> Rows:
        check_items(self.items, n, "items")
        first, count = np.zeros((2, n), dtype=np.int64)
        first[self.items] = np.arange(1, len(self.items) + 1)
        count[self.items] = len(self.items) - first[self.items]
        return Rows(self.items.astype(np.int32), first, count, np.array([0, len(self.items)]))

    def __repr__(self) -> str:
        return f"Among(<{len(self.items)} items>)"


class PairList:
    """These pairs and no others: an (M, 2) array of row numbers. Order within a pair does not matter."""

    def __init__(self, pairs: npt.ArrayLike) -> None:
        self.array = as_pairs(pairs, "candidates")

    def rows(self, n: int) -> Rows:
        check_items(self.array, n, "candidates")
        i, j = np.divmod(_each_once(self.array[:, 0] * n + self.array[:, 1]), n)
        count = np.bincount(i, minlength=n).astype(np.int64)
        return Rows(j.astype(np.int32), np.cumsum(count) - count, count)

    def __repr__(self) -> str:
        return f"PairList(<{len(self.array)} pairs>)"


Candidates = AllPairs | WithinGroups | Among | PairList

NO_CAP = int(np.iinfo(np.int64).max)  # how often an item may be picked where there is no exposure cap


class Remaining:
    """The candidates still to be had: not compared before, not picked yet, no item at its exposure cap."""

    def __init__(self, rows: Rows, taken: Ints, room: Ints) -> None:
        self.rows = rows
        self.room = room  # how often each item may still be picked
        self.full: Bools = room <= 0
        self._taken = taken
        self._picked: list[tuple[int, int]] = []  # not in _taken yet

    @classmethod
    def before_picks(cls, rows: Rows, taken: Ints, max_per_item: int | None) -> Remaining:
        """What may be picked before the first pick: no item more than `max_per_item` times (None: no cap)."""
        # More than all pairs is no cap, and such numbers need not fit an array.
        cap = NO_CAP if max_per_item is None else min(max_per_item, len(rows) + 1)
        return cls(rows, taken, np.full(rows.n_items, cap))

    @property
    def taken(self) -> Ints:
        """The numbers of the pairs that are gone, ascending."""
        if self._picked:
            self._taken = _each_once(np.concatenate([self._taken, self.rows.numbers(np.array(self._picked))]))
            self._picked = []
        return self._taken

    def at_most(self) -> int:
        """How many more pairs can be picked: no item in more than its room, nor in more pairs than are left to it.

        With an exposure cap it may be fewer, where the items that have room left do not meet.
        """
        if self.room.min() >= len(self.rows):  # no cap that matters
            return len(self.rows) - len(self.taken)
        gone = np.bincount(self.rows.pairs(self.taken).ravel(), minlength=self.rows.n_items)
        return int(np.minimum(self.rows.degrees() - gone, self.room).sum()) // 2

    def take(self, i: int, j: int) -> None:
        self._picked.append((i, j))
        for item in (i, j):
            self.room[item] -= 1
            if self.room[item] <= 0:
                self.full[item] = True

    def allows(self, i: int, j: int) -> bool:
        if self.full[i] or self.full[j]:
            return False
        return not self.are_taken(np.array([[i, j]]))[0]

    def are_taken(self, pairs: Ints) -> Bools:
        """Which of these are gone, or were no candidates."""
        numbers, taken = self.rows.numbers(pairs), np.append(self.taken, -1)
        found: Bools = (numbers < 0) | (taken[np.searchsorted(taken[:-1], numbers)] == numbers)
        return found


def remaining_pairs(
    candidates: Candidates | None, n: int, compared: Ints, max_per_item: int | None = None
) -> Remaining:
    """The candidates (None: all pairs) among n items, without the pairs i < j that are compared already.

    No item may be in more than `max_per_item` of those that are picked now; earlier comparisons do not count.
    """
    rows = (AllPairs() if candidates is None else candidates).rows(n)
    numbers = rows.numbers(compared.reshape(-1, 2))
    return Remaining.before_picks(rows, _each_once(numbers[numbers >= 0]), max_per_item)


def _each_once(numbers: Ints) -> Ints:
    """Ascending, each once. np.unique does the same by hashing, which takes some fifty times as long."""
    ascending = np.sort(numbers)
    return ascending[np.diff(ascending, prepend=-1) > 0]
