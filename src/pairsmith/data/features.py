"""The items' features, wherever they are: one protocol, and its two implementations in this process.

The third, features that only the workers of a cluster have, is `pairsmith.cluster.features.OnWorkers`. What users pass
is checked in `user_features`, for missing numbers (NaN) too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats

COMFORTABLE = 1 << 29  # bytes of features that may be copied without a thought
_NUMBERS_IN_A_BLOCK = 1 << 22  # of `over_blocks`
_NUMBERS_AT_ONCE = 1 << 18  # of `rows` and `project`: what one thread treats at a time stays in its cache

Result = TypeVar("Result")
Which = Any  # items by an array of row numbers, or by a slice


class Features(Protocol):
    """An (N, d) table of numbers, of which parts are asked for."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """As they are stored."""

    @property
    def center(self) -> Floats | float:
        """What `rows` and `project` have subtracted from what is stored."""

    @property
    def rows_at_once(self) -> int:
        """How many rows one call of `rows` or `project` is best asked for."""

    def rows(self, which: Which) -> Floats:
        """The features of these items, less the center, in float64."""

    def project(self, which: Which, *factors: Floats) -> Floats:
        """rows(which) times each factor in turn, computed where the features are."""

    def over_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        """of_block(number of its first row, block) for all blocks of rows, in order, computed where they are.

        Blocks are as they are stored: of the type they have there, and with nothing subtracted.
        """

    def centred(self, center: Floats) -> Self:
        """The same features, of which `rows` and `project` are less this center."""


class InMemory:
    """Features in float64, of a size that may be copied: the center is subtracted once, not at every call."""

    def __init__(self, array: Floats, center: Floats | float = 0.0) -> None:
        self.array, self.center = array, center
        self._centred: Floats = array - center if np.any(center) else array
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self.dtype = array.dtype
        self.rows_at_once = max(1, _NUMBERS_AT_ONCE // array.shape[1])

    def rows(self, which: Which) -> Floats:
        chosen: Floats = self._centred[which]
        return chosen

    def project(self, which: Which, *factors: Floats) -> Floats:
        return reduce(np.matmul, factors, self.rows(which))

    def over_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        return over_blocks(self.array, of_block)

    def centred(self, center: Floats) -> InMemory:
        return InMemory(self.array, center)


class TooLargeToCopy:
    """Features of any numeric type, in memory or mapped from a file: turned into float64 where they are used."""

    def __init__(self, array: npt.NDArray[Any], center: Floats | float = 0.0) -> None:
        self.array, self.center = array, center
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self.dtype = array.dtype
        self.rows_at_once = max(1, _NUMBERS_AT_ONCE // array.shape[1])

    def rows(self, which: Which) -> Floats:
        chosen: Floats = np.subtract(self.array[which], self.center, dtype=np.float64)
        return chosen

    def project(self, which: Which, *factors: Floats) -> Floats:
        return reduce(np.matmul, factors, self.rows(which))

    def over_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        return over_blocks(self.array, of_block)

    def centred(self, center: Floats) -> TooLargeToCopy:
        return TooLargeToCopy(self.array, center)


class Shifted:
    """Features of which those of some items are elsewhere: item i at its row plus shift[place[i]], if place[i] >= 0."""

    def __init__(self, features: Features, place: npt.NDArray[np.int32], shift: Floats) -> None:
        self.features, self.place, self.shift = features, place, shift
        self.shape, self.dtype, self.rows_at_once = features.shape, features.dtype, features.rows_at_once
        self.center = features.center

    def rows(self, which: Which) -> Floats:
        found, at = self.features.rows(which), self.place[which]
        some = np.flatnonzero(at >= 0)
        if len(some):
            found = found.copy()  # it may be a view of what is stored
            found[some] += self.shift[at[some]]
        return found

    def project(self, which: Which, *factors: Floats) -> Floats:
        return reduce(np.matmul, factors, self.rows(which))

    def over_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        return self.features.over_blocks(of_block)

    def centred(self, center: Floats) -> Shifted:
        return Shifted(self.features.centred(center), self.place, self.shift)


def from_array(array: npt.NDArray[Any]) -> InMemory | TooLargeToCopy:
    """A numeric (N, d) array as features: copied to float64 where it is not and the copy is small."""
    if array.size * 8 <= COMFORTABLE:
        return InMemory(np.ascontiguousarray(array, dtype=np.float64))
    return TooLargeToCopy(array)


def over_blocks(array: npt.NDArray[Any], of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
    """of_block(number of its first row, block) for the blocks of an array: what is large is never copied whole."""
    step = rows_in_a_block(array.shape[1])
    return [of_block(low, array[low : low + step]) for low in range(0, len(array), step)]


def rows_in_a_block(d: int) -> int:
    """How many rows of d numbers make a block. Fingerprints are of these blocks, so it stays what it is."""
    return max(1, _NUMBERS_IN_A_BLOCK // d)


def extremes(features: Features) -> tuple[Floats, Floats]:
    """The largest and the smallest number in each column."""
    found = features.over_blocks(_extremes)
    high = np.max([most for most, _ in found], axis=0).astype(np.float64)
    return high, np.min([least for _, least in found], axis=0).astype(np.float64)


def _extremes(_low: int, block: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    return block.max(axis=0), block.min(axis=0)


def some_rows(features: Features, about: int) -> Floats:
    """About that many rows, evenly spread over the items."""
    return features.rows(slice(None, None, -(-features.shape[0] // about)))
