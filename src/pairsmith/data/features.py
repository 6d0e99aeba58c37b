"""The items' features, wherever they are stored: a protocol, and its implementations in this process.

`pairsmith.cluster.features.OnWorkers` implements it for features that only the workers of a cluster have. Features are
checked by `user_features`, also for missing numbers (NaN).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats

MAX_COPIED_BYTES = 1 << 29  # bytes up to which features are copied
_NUMBERS_PER_BLOCK = 1 << 22  # in `apply_to_blocks`
_NUMBERS_PER_CALL = 1 << 18  # of `rows` and `project`, so that they stay in the cache of a thread

Result = TypeVar("Result")
Which = Any  # the items that are meant: an array of row numbers, or a slice


class Features(Protocol):
    """An (N, d) table of numbers, which is read in parts."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the stored numbers."""

    @property
    def center(self) -> Floats | float:
        """The numbers, one per column, that `rows` and `project` subtract from the stored features."""

    @property
    def rows_at_once(self) -> int:
        """The number of rows for which a call of `rows` or `project` is most efficient."""

    def rows(self, which: Which) -> Floats:
        """Return the features of some items minus the center, in float64."""

    def project(self, which: Which, *factors: Floats) -> Floats:
        """Return rows(which) times each factor in turn, computed where the features are stored."""

    def apply_to_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        """Call of_block(first row, block) for each block of rows, where it is stored; return the results in order.

        Blocks hold the stored numbers: in their own type, without subtracting the center.
        """

    def centred(self, center: Floats) -> Self:
        """Return the same features with another center."""


class InMemory:
    """Features in float64 that are small enough to copy: the center is subtracted once, not at every call."""

    def __init__(self, array: Floats, center: Floats | float = 0.0) -> None:
        self.array, self.center = array, center
        self._centred: Floats = array - center if np.any(center) else array
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self.dtype = array.dtype
        self.rows_at_once = max(1, _NUMBERS_PER_CALL // array.shape[1])

    def rows(self, which: Which) -> Floats:
        chosen: Floats = self._centred[which]
        return chosen

    def project(self, which: Which, *factors: Floats) -> Floats:
        return reduce(np.matmul, factors, self.rows(which))

    def apply_to_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        return apply_to_blocks(self.array, of_block)

    def centred(self, center: Floats) -> InMemory:
        return InMemory(self.array, center)


class TooLargeToCopy:
    """Features of any numeric type, in memory or mapped from a file; only the rows in use are converted to float64."""

    def __init__(self, array: npt.NDArray[Any], center: Floats | float = 0.0) -> None:
        self.array, self.center = array, center
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self.dtype = array.dtype
        self.rows_at_once = max(1, _NUMBERS_PER_CALL // array.shape[1])

    def rows(self, which: Which) -> Floats:
        chosen: Floats = np.subtract(self.array[which], self.center, dtype=np.float64)
        return chosen

    def project(self, which: Which, *factors: Floats) -> Floats:
        return reduce(np.matmul, factors, self.rows(which))

    def apply_to_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        return apply_to_blocks(self.array, of_block)

    def centred(self, center: Floats) -> TooLargeToCopy:
        return TooLargeToCopy(self.array, center)


class ShiftedFeatures:
    """Features with offsets for some items: row i is shifted by shift[place[i]] where place[i] >= 0."""

    def __init__(self, features: Features, place: npt.NDArray[np.int32], shift: Floats) -> None:
        self.features, self.place, self.shift = features, place, shift
        self.shape, self.dtype, self.rows_at_once = features.shape, features.dtype, features.rows_at_once
        self.center = features.center

    def rows(self, which: Which) -> Floats:
        rows, place = self.features.rows(which), self.place[which]
        shifted = np.flatnonzero(place >= 0)
        if len(shifted):
            rows = rows.copy()  # `rows` may be a view of the stored features
            rows[shifted] += self.shift[place[shifted]]
        return rows

    def project(self, which: Which, *factors: Floats) -> Floats:
        return reduce(np.matmul, factors, self.rows(which))

    def apply_to_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        return self.features.apply_to_blocks(of_block)

    def centred(self, center: Floats) -> ShiftedFeatures:
        return ShiftedFeatures(self.features.centred(center), self.place, self.shift)


def from_array(array: npt.NDArray[Any]) -> InMemory | TooLargeToCopy:
    """Return a numeric (N, d) array as features; small arrays are converted to float64."""
    if array.size * 8 <= MAX_COPIED_BYTES:
        return InMemory(np.ascontiguousarray(array, dtype=np.float64))
    return TooLargeToCopy(array)


def apply_to_blocks(array: npt.NDArray[Any], of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
    """Call of_block(first row, block) for each block of rows of an array, so that no copy is as large as the array."""
    step = rows_per_block(array.shape[1])
    return [of_block(low, array[low : low + step]) for low in range(0, len(array), step)]


def rows_per_block(d: int) -> int:
    """Return the number of rows in a block. It must never change, because stored fingerprints are of these blocks."""
    return max(1, _NUMBERS_PER_BLOCK // d)


def column_extremes(features: Features) -> tuple[Floats, Floats]:
    """Return the largest and the smallest number of each column."""
    blocks = features.apply_to_blocks(_block_extremes)
    largest = np.max([largest for largest, _ in blocks], axis=0).astype(np.float64)
    return largest, np.min([smallest for _, smallest in blocks], axis=0).astype(np.float64)


def _block_extremes(_low: int, block: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    return block.max(axis=0), block.min(axis=0)


def evenly_spaced_rows(features: Features, about: int) -> Floats:
    """Return about this many rows, evenly spaced over the items."""
    return features.rows(slice(None, None, -(-features.shape[0] // about)))
