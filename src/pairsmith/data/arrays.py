"""Names for array types, and checks of arrays that users pass, most of them row numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_EXACT_INT = 2**53  # float64 does not hold every whole number beyond it
MIN_WEIGHT, MAX_WEIGHT = 1e-9, 1e6  # of an answer, unless it is 0; beyond them rounding would change the fit


def integer_size(value: Any) -> int:
    """Return the absolute value of a whole number, and 0 for anything else."""
    return abs(int(value)) if isinstance(value, int | np.integer) else 0


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array, or a list of them: numpy would use the values that the mask hides."""
    parts = values if isinstance(values, list | tuple) else ()
    if np.ma.isMaskedArray(values) or any(np.ma.isMaskedArray(part) for part in parts):
        raise ValueError(f"{name} is a masked array; fill in or drop the masked values and pass a plain array")


def as_row_numbers(values: npt.ArrayLike, name: str) -> Ints:
    """Return row numbers as an integer array, whatever type holds them; errors call the argument `name`."""
    refuse_masked(values, name)
    try:
        array: npt.NDArray[Any] = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a plain array of row numbers; its parts differ in length") from None
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind == "b":
        raise ValueError(f"{name} must be row numbers, got true/false values; use numpy.flatnonzero({name})")
    if array.dtype.kind == "O" and all(isinstance(value, int | np.integer) for value in array.flat):
        whole = max(abs(int(value)) for value in array.flat) < MAX_EXACT_INT
    elif array.dtype.kind == "f":
        whole = bool(np.all(np.abs(array) < MAX_EXACT_INT) and np.all(array == np.floor(array)))
    else:
        whole = array.dtype.kind in "iu" and int(array.max()) < MAX_EXACT_INT
    if not whole:
        raise ValueError(f"{name} must be whole row numbers, got {array.dtype} values such as {array.flat[0]!r}")
    return array.astype(np.int64)


def as_pairs(values: npt.ArrayLike, name: str) -> Ints:
    """Return pairs as an (M, 2) array with i < j in each row; refuse pairs of an item with itself."""
    return np.sort(as_ordered_pairs(values, name), axis=1)


def as_ordered_pairs(values: npt.ArrayLike, name: str) -> Ints:
    """Return pairs as an (M, 2) array without changing their order, which outcomes refer to; refuse self-pairs."""
    array = as_row_numbers(values, name)
    if array.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name} must have two columns, one pair per row; got shape {array.shape}")
    same = array[:, 0] == array[:, 1]
    if np.any(same):
        row = int(np.argmax(same))
        raise ValueError(f"{name}: row {row} pairs item {array[row, 0]} with itself; remove it")
    return array


def check_row_numbers(array: Ints, n: int, name: str) -> None:
    """Refuse row numbers outside 0 to n - 1."""
    outside = (array < 0) | (array >= n)
    if np.any(outside):
        raise ValueError(f"{name} holds {array[outside][0]}, but the rows of X are numbered 0 to {n - 1}")


def as_object_list(values: npt.ArrayLike, name: str, of: str) -> npt.NDArray[np.object_]:
    """Return a plain list as an array of objects; its error says that there must be one for each `of`."""
    objects = np.asarray(values, dtype=object)
    if isinstance(values, str) or objects.ndim != 1:
        raise ValueError(f"{name} must be a list with one for each {of}")
    return objects


def improper_weights(weights: Floats) -> Bools:
    """Return where weights are neither 0 nor between the smallest and the largest weight of an answer."""
    proper: Bools = (weights == 0) | ((weights >= MIN_WEIGHT) & (weights <= MAX_WEIGHT))
    return ~proper
