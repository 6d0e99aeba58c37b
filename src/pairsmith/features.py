"""What users pass as features and ridge, checked once, at the door."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.design import COMFORTABLE

_BLOCK = 1 << 22  # numbers looked at at a time


def as_features(X: Any) -> tuple[Any, npt.NDArray[Any] | None]:
    """X as a finite (N, d) array, and its items' ids if it names them.

    In float64, unless that would be a copy of more than COMFORTABLE bytes: then it stays as it is, of whatever
    numeric type, in memory or mapped from a file. So do features that are elsewhere, and have `over_blocks`.
    """
    ids, columns = None, None
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X is a path, {X}; read it first, or give a client whose workers can")
    if hasattr(X, "collect"):
        raise ValueError("X is a lazy frame; pass X.collect()")
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        X, ids, columns = _from_frame(X)
    elif hasattr(X, "tocsr"):
        raise ValueError("X is a sparse matrix; pass X.toarray()")
    elif np.ma.isMaskedArray(X):
        raise ValueError("X is a masked array; fill in what is masked and pass a plain array")
    try:
        array: Any = X if hasattr(X, "over_blocks") else np.asarray(X)
    except ValueError as error:
        raise ValueError("X must be a rectangular table of numbers; its rows differ in length") from error
    if array.ndim != 2:
        hint = "; use X.reshape(-1, 1) for a single feature" if array.ndim == 1 else ""
        raise ValueError(f"X must have two dimensions, items and features; got shape {array.shape}{hint}")
    n, d = array.shape
    if d == 0:
        raise ValueError("X has no feature columns; at least one numeric column is needed")
    if n < 2:
        raise ValueError(f"X has {n} item{'s' * (n != 1)}; at least two are needed to form a pair")
    if array.dtype.kind not in "biuf":
        try:
            if (
                not isinstance(array, np.ndarray)
                or array.dtype.kind != "O"
                or any(isinstance(value, str | bytes) for value in array.flat)
            ):
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"X must be numeric, got {array.dtype} values; drop or encode what is not a number"
            ) from None
    if array.dtype.kind in "iu" and any(over_blocks(array, _too_large)):
        raise ValueError("X holds whole numbers beyond 2^53, which float64 cannot tell apart; subtract an offset first")
    local = isinstance(array, np.ndarray)
    features = np.ascontiguousarray(array, dtype=np.float64) if local and array.size * 8 <= COMFORTABLE else array
    for found in over_blocks(features, _not_finite):
        if found:
            row, column, value = found
            item = "" if ids is None else f" (item {ids[row]!r})"
            name = column if columns is None else repr(columns[column])
            raise ValueError(f"X holds {value} at row {row}{item}, column {name}; remove or fill it in")
    if ids is not None:
        _check_ids(ids)
    return features, ids


def blocks(X: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """X by blocks of rows, each with the number of its first: what does not fit comfortably is never copied whole."""
    step = max(1, _BLOCK // X.shape[1])
    for low in range(0, len(X), step):
        yield low, X[low : low + step]


def over_blocks(X: Any, of_block: Callable[[int, Any], Any]) -> list[Any]:
    """of_block(number of its first row, block) for the blocks of X, in order, computed where X is."""
    if hasattr(X, "over_blocks"):
        results: list[Any] = X.over_blocks(of_block, max(1, _BLOCK // X.shape[1]))
        return results
    return [of_block(low, block) for low, block in blocks(X)]


def digest(X: Any) -> str:
    """A hash of the numbers in X, whatever their type and wherever they are."""
    return hashlib.blake2b(b"".join(over_blocks(X, _digest)), digest_size=16).hexdigest()


def _digest(_low: int, block: npt.NDArray[Any]) -> bytes:
    hashed = hashlib.blake2b(f"{block.shape}".encode(), digest_size=16)
    hashed.update(np.ascontiguousarray(block, dtype=np.float64).data)
    return hashed.digest()


def _too_large(_low: int, block: npt.NDArray[Any]) -> bool:
    return max(int(block.max()), -int(block.min())) > 2**53


def _not_finite(low: int, block: npt.NDArray[Any]) -> tuple[int, int, float] | None:
    finite = np.isfinite(block)
    if finite.all():
        return None
    row, column = (int(at) for at in np.argwhere(~finite)[0])
    return low + row, column, float(block[row, column])


def _extremes(_low: int, block: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    return block.max(axis=0), block.min(axis=0)


def _norms(unit: float, _low: int, block: npt.NDArray[Any]) -> float:
    return float(np.linalg.norm(block / np.float64(unit), axis=1).sum())


def _check_ids(ids: npt.NDArray[Any]) -> None:
    import pandas as pd

    try:
        missing, again = pd.isna(ids), pd.Series(ids).duplicated()
    except TypeError:
        raise ValueError("X has ids that are not plain values; use text or numbers") from None
    if np.any(missing):
        raise ValueError(f"X has no id at row {int(np.argmax(missing))}; give every item one")
    if again.any():
        raise ValueError(f"X has more than one item with the id {ids[int(np.argmax(again))]!r}; ids must be unique")


def _from_frame(frame: Any) -> tuple[Any, npt.NDArray[Any] | None, list[Any]]:
    """A pandas or polars frame's features, ids and column names."""
    polars = type(frame).__module__.startswith("polars")
    names = list(frame.columns)
    series = frame.get_columns() if polars else [frame.iloc[:, at] for at in range(len(names))]
    ids = None
    if names.count("id") > 1:
        raise ValueError("X has more than one column called 'id'; keep one")
    if "id" in names or not (polars or _plain(frame.index)):
        source = series[names.index("id")] if "id" in names else frame.index
        ids = np.empty(len(frame), dtype=object)
        ids[:] = source.to_list()
    kept = [(name, column) for name, column in zip(names, series, strict=True) if name != "id"]
    numbers = np.empty((len(frame), len(kept)))
    for at, (name, column) in enumerate(kept):
        if polars:
            numeric = column.dtype.is_numeric() or str(column.dtype) == "Boolean"
        else:
            numeric = getattr(column.dtype, "kind", "O") in "biuf"
        if not numeric:
            raise ValueError(f"X: column {name!r} is not numeric ({column.dtype}); drop it or turn it into numbers")
        if polars:
            numbers[:, at] = [np.nan if value is None else float(value) for value in column.to_list()]
        else:
            numbers[:, at] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers, ids, [name for name, _ in kept]


def _plain(index: Any) -> bool:
    """Whether a pandas index only counts the rows 0, 1, 2, ..."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def extremes(X: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The largest and the smallest number in each column."""
    found = over_blocks(X, _extremes)
    high = np.max([most for most, _ in found], axis=0).astype(np.float64)
    return high, np.min([least for _, least in found], axis=0).astype(np.float64)


def as_ridge(ridge: float | str, X: Any, bounds: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]) -> float:
    """The objective's lambda as a number that float64 can work with at the scale of X; `bounds` are its extremes."""
    high, low = bounds
    largest = float(max(high.max(), -low.min()))
    if largest > 1e152 or 0 < largest < 1e-152:
        raise ValueError(f"X has a largest entry of {largest:.1e}, whose square float64 cannot hold; rescale X")
    if isinstance(ridge, str):
        if ridge != "auto":
            raise ValueError(f"ridge must be a positive number or 'auto', got {ridge!r}")
        if largest == 0:
            raise ValueError("ridge='auto' is 1e-5 times the mean norm of X, which is 0 here; give a positive number")
        total = float(sum(over_blocks(X, partial(_norms, largest))))
        lam = 1e-5 * largest * total / len(X)
    else:
        try:
            if isinstance(ridge, bool | np.bool_):
                raise TypeError
            lam = float(ridge)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"ridge must be a positive number or 'auto', got {ridge!r}") from None
        if not (np.isfinite(lam) and lam > 0):
            raise ValueError(f"ridge must be a positive number, got {ridge!r}")
    # The largest gain is about spread^2 / ridge; it must neither overflow nor vanish.
    spread = float((high - low).max())
    if spread > 0:
        exponent = 2 * np.log10(spread) - np.log10(lam)
        if exponent + np.log10(X.shape[1]) > 300 or exponent < -290:
            raise ValueError(
                f"ridge={lam:.1e} is out of proportion to features that spread over {spread:.1e}; rescale X"
            )
    return lam
