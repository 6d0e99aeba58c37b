"""Candidate pairs, which may be asked about: all pairs, pairs within groups or among some items, or a list.

Every kind is converted to one form, `Rows`: the partners of item i are

    partner[first[i] : first[i] + count[i]],    ascending, all greater than i.

For all pairs, `partner` is 0..N-1 and row i starts at i + 1. For groups, it is the items sorted by group. Only an
explicit list stores each pair. So N = 1,000,000 items take O(N) memory, not 5e11 entries. Pairs are numbered row by
row, which is lexicographic order: pair number e is the e-th smallest (i, j).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Bools, Ints, as_pairs, as_row_numbers, check_row_numbers


@dataclass(frozen=True)
class Rows:
    """Candidate pairs i < j, row by row (see the module's docstring)."""

    partner: npt.NDArray[np.int32]
    first: Ints
    count: Ints
    groups: Ints | None = None  # all pairs of items in partner[groups[g] : groups[g + 1]] are candidates

    @cached_property
    def start(self) -> Ints:
        """The number of each row's first pair; start[N] is the number of pairs."""
        return np.concatenate([[0], np.cumsum(self.count)])

    def __len__(self) -> int:
        return int(self.start[-1])

    @property
    def n_items(self) -> int:
        return len(self.count)

    @property
    def is_list(self) -> bool:
        """Whether the candidates are a list, or came from `among`, so that they have no known groups."""
        return self.groups is None

    def pairs(self, numbers: Ints) -> Ints:
        """Return the pairs (i, j) with these numbers."""
        i = np.searchsorted(self.start, numbers, side="right") - 1
        j = self.partner[self.first[i] + (numbers - self.start[i])]
        return np.column_stack([i, j]).astype(np.int64)

    def numbers(self, pairs: Ints) -> Ints:
        """Return the numbers of pairs (i < j), or -1 for a pair that is not a candidate."""
        low = self.first[pairs[:, 0]]
        end = low + self.count[pairs[:, 0]]
        high, second = end.copy(), pairs[:, 1]
        while np.any(low < high):  # a binary search in all rows at once
            middle = (low + high) // 2
            smaller = (low < high) & (self.partner[np.minimum(middle, len(self.partner) - 1)] < second)
            high = np.where(smaller, high, np.minimum(high, middle))
            low = np.where(smaller, middle + 1, low)
        exists = low < end
        exists[exists] = self.partner[low[exists]] == second[exists]
        return np.where(exists, self.start[pairs[:, 0]] + low - self.first[pairs[:, 0]], -1)

    def blocks(self, max_pairs: int) -> list[tuple[int, int]]:
        """Return ranges (low, high) of rows with at most this many pairs each; a longer row is a block of its own."""
        bounds = [0]
        while bounds[-1] < self.n_items:
            high = int(np.searchsorted(self.start, self.start[bounds[-1]] + max_pairs, side="right")) - 1
            bounds.append(max(high, bounds[-1] + 1))
        return [(low, high) for low, high in pairwise(bounds) if self.start[high] > self.start[low]]

    def degrees(self) -> Ints:
        """Return the number of candidate pairs of each item."""
        change = np.zeros(len(self.partner) + 1, dtype=np.int64)
        np.add.at(change, self.first, 1)
        np.add.at(change, self.first + self.count, -1)
        as_second = np.bincount(self.partner, weights=np.cumsum(change)[:-1], minlength=self.n_items)
        return self.count + as_second.astype(np.int64)

    def among(self, keep: Bools) -> Rows:
        """Return the pairs whose two items are both kept, in O(N + len(partner))."""
        kept = keep[self.partner]
        position = np.concatenate([[0], np.cumsum(kept)])
        first = position[self.first]
        count = np.where(keep, position[self.first + self.count] - first, 0)
        return Rows(self.partner[kept], first, count)


class AllPairs:
    """All pairs of the N items.

    There are N (N - 1) / 2 of them, and none is stored.

    Examples
    --------
    >>> from pairsmith import AllPairs, select
    >>> select([[0.0], [1.0], [3.0]], 1, candidates=AllPairs(), ridge=1.0).pairs.tolist()
    [[0, 2]]
    """

    def rows(self, n: int) -> Rows:
        """Return the candidate pairs among n items."""
        items = np.arange(n, dtype=np.int64)
        return Rows(items.astype(np.int32), items + 1, n - 1 - items, np.array([0, n]))

    def __repr__(self) -> str:
        return "AllPairs()"


class WithinGroups:
    """All pairs of items of the same group, such as the answers to one prompt or the documents of one query.

    Parameters
    ----------
    groups : sequence of length n_items
        The name of each item's group, in the order of the items: text or numbers.

    Attributes
    ----------
    codes : array of int of shape (n_items,)
        The number of each item's group, from 0 on in order of appearance.

    Examples
    --------
    >>> from pairsmith import WithinGroups, select
    >>> select([[0.0], [1.0], [3.0]], 1, candidates=WithinGroups(["a", "a", "b"]), ridge=1.0).pairs.tolist()
    [[0, 1]]
    """

    def __init__(self, groups: Any) -> None:
        self.codes: Ints = _codes(groups)

    def rows(self, n: int) -> Rows:
        """Return the candidate pairs among n items."""
        _check_length(self.codes, n)
        items = np.argsort(self.codes, kind="stable")  # stable: ascending within each group
        position = np.empty(n, dtype=np.int64)
        position[items] = np.arange(n)
        group_end = np.cumsum(np.bincount(self.codes))
        count = group_end[self.codes] - position - 1
        return Rows(items.astype(np.int32), position + 1, count, np.concatenate([[0], group_end]))

    def __repr__(self) -> str:
        return f"WithinGroups(<{len(self.codes)} items in {len(np.unique(self.codes))} groups>)"


def as_group_codes(groups: Any, n: int) -> Ints | None:
    """Return the number of each item's group, from 0 on in order of appearance, or None without groups."""
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
    """All pairs of some of the items, such as a random sample if all pairs would take too long.

    Parameters
    ----------
    items : array-like of int
        Row numbers of the items, in any order.

    Examples
    --------
    >>> from pairsmith import Among, select
    >>> select([[0.0], [1.0], [3.0]], 1, candidates=Among([1, 0]), ridge=1.0).pairs.tolist()
    [[0, 1]]
    """

    def __init__(self, items: npt.ArrayLike) -> None:
        array = as_row_numbers(items, "items")
        if array.ndim != 1:
            raise ValueError(f"items must be a list of row numbers, got an array of shape {array.shape}")
        self.items: Ints = np.unique(array)

    def rows(self, n: int) -> Rows:
        """Return the candidate pairs among n items."""
        check_row_numbers(self.items, n, "items")
        first, count = np.zeros((2, n), dtype=np.int64)
        first[self.items] = np.arange(1, len(self.items) + 1)
        count[self.items] = len(self.items) - first[self.items]
        return Rows(self.items.astype(np.int32), first, count, np.array([0, len(self.items)]))

    def __repr__(self) -> str:
        return f"Among(<{len(self.items)} items>)"


class PairList:
    """The pairs of a list.

    Parameters
    ----------
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers of the items of each pair. The order within a pair does not matter, and a pair may occur twice.

    Examples
    --------
    >>> from pairsmith import PairList, select
    >>> select([[0.0], [1.0], [3.0]], 1, candidates=PairList([(0, 1), (2, 1)]), ridge=1.0).pairs.tolist()
    [[1, 2]]
    """

    def __init__(self, pairs: npt.ArrayLike) -> None:
        self.array = as_pairs(pairs, "candidates")

    def rows(self, n: int) -> Rows:
        """Return the candidate pairs among n items."""
        check_row_numbers(self.array, n, "candidates")
        i, j = np.divmod(_sorted_unique(self.array[:, 0] * n + self.array[:, 1]), n)
        count = np.bincount(i, minlength=n).astype(np.int64)
        return Rows(j.astype(np.int32), np.cumsum(count) - count, count)

    def __repr__(self) -> str:
        return f"PairList(<{len(self.array)} pairs>)"


Candidates = AllPairs | WithinGroups | Among | PairList

NO_CAP = int(np.iinfo(np.int64).max)  # the number of picks allowed per item if there is no exposure cap


class Remaining:
    """The candidate pairs that may still be picked: not compared or picked before, and no item at its exposure cap."""

    def __init__(self, rows: Rows, taken: Ints, room: Ints) -> None:
        self.rows = rows
        self.room = room  # the number of picks left for each item
        self.full: Bools = room <= 0
        self._taken = taken
        self._picked: list[tuple[int, int]] = []  # since `_taken` was last updated

    @classmethod
    def before_picks(cls, rows: Rows, taken: Ints, max_per_item: int | None) -> Remaining:
        """Return the pairs that may be picked first, if no item may be picked more than `max_per_item` times.

        With `max_per_item=None` there is no such cap.
        """
        # A cap above the number of pairs has no effect, and might not fit into an array.
        cap = NO_CAP if max_per_item is None else min(max_per_item, len(rows) + 1)
        return cls(rows, taken, np.full(rows.n_items, cap))

    @property
    def taken(self) -> Ints:
        """The numbers of the pairs that were compared or picked, ascending."""
        if self._picked:
            self._taken = _sorted_unique(np.concatenate([self._taken, self.rows.numbers(np.array(self._picked))]))
            self._picked = []
        return self._taken

    def max_picks(self) -> int:
        """Return an upper bound on the number of pairs that can still be picked; without a cap it is exact.

        Each item counts with its picks left or its pairs left, whichever are fewer. With a cap, fewer pairs may be
        possible, if items with picks left have no common pairs.
        """
        if self.room.min() >= len(self.rows):  # no cap, or one without effect
            return len(self.rows) - len(self.taken)
        taken_pairs = np.bincount(self.rows.pairs(self.taken).ravel(), minlength=self.rows.n_items)
        return int(np.minimum(self.rows.degrees() - taken_pairs, self.room).sum()) // 2

    def take(self, i: int, j: int) -> None:
        """Record that the pair i < j is picked."""
        self._picked.append((i, j))
        for item in (i, j):
            self.room[item] -= 1
            if self.room[item] <= 0:
                self.full[item] = True

    def allows(self, i: int, j: int) -> bool:
        """Return whether the pair i < j may be picked."""
        if self.full[i] or self.full[j]:
            return False
        return not self.are_taken(np.array([[i, j]]))[0]

    def are_taken(self, pairs: Ints) -> Bools:
        """Return, for each pair i < j, whether it was compared or picked, or is not a candidate."""
        numbers, taken = self.rows.numbers(pairs), np.append(self.taken, -1)
        are_taken: Bools = (numbers < 0) | (taken[np.searchsorted(taken[:-1], numbers)] == numbers)
        return are_taken


def remaining_pairs(
    candidates: Candidates | None, n: int, compared: Ints, max_per_item: int | None = None
) -> Remaining:
    """Return the candidates (None: all pairs) among n items, without the pairs i < j that were compared before.

    No item may be picked more than `max_per_item` times. Earlier comparisons do not count.
    """
    rows = (AllPairs() if candidates is None else candidates).rows(n)
    numbers = rows.numbers(compared.reshape(-1, 2))
    return Remaining.before_picks(rows, _sorted_unique(numbers[numbers >= 0]), max_per_item)


def _sorted_unique(numbers: Ints) -> Ints:
    """Sort numbers and drop duplicates. np.unique hashes them first, which takes far longer."""
    ascending = np.sort(numbers)
    return ascending[np.diff(ascending, prepend=-1) > 0]
