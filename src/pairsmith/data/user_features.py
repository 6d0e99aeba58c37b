"""Checks of the features that users pass: arrays, data frames and tables with ids."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import MAX_EXACT_INT, integer_size, refuse_masked
from pairsmith.data.features import Features, apply_to_blocks, from_array


def as_features(X: Any) -> tuple[Features, npt.NDArray[Any] | None]:
    """Check X as users pass it; return its features, and the ids of its items or None."""
    columns = None
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X is a path, {X}; read it first, or pass a client whose workers can read it")
    _refuse_lazy(X)
    if hasattr(X, "tocsr"):
        raise ValueError("X is a sparse matrix; pass X.toarray()")
    X, index = split_ids(X)
    check_exact(X, index)
    ids = None
    if index is not None:
        ids = np.empty(len(index), dtype=object)
        ids[:] = index.to_list()
    if _is_frame(X):
        X, columns = _from_frame(X)
    try:
        array: Any = np.asarray(X)
    except ValueError as error:
        raise ValueError("X must be a rectangular table of numbers; its rows differ in length") from error
    if array.dtype.kind == "O" and not any(isinstance(value, str | bytes) for value in array.flat):
        with suppress(TypeError, ValueError, OverflowError):
            array = array.astype(np.float64)
    check_shape(array.shape, array.dtype)
    features = from_array(array)
    check_finite(features, columns, index)
    if ids is not None:
        check_ids(ids)
    return features, ids


def check_shape(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse anything but a table of numbers with at least two items and one feature."""
    if len(shape) != 2:
        hint = "; use X.reshape(-1, 1) for a single feature" if len(shape) == 1 else ""
        raise ValueError(f"X must have two dimensions, items and features; got shape {shape}{hint}")
    n, d = shape
    if d == 0:
        raise ValueError("X has no feature columns; at least one numeric column is needed")
    if n < 2:
        raise ValueError(f"X has {n} item{'s' * (n != 1)}; at least two are needed to form a pair")
    if dtype.kind not in "biuf":
        raise ValueError(f"X must be numeric, got {dtype} values; drop or encode values that are not numbers")


def check_finite(features: Features, columns: list[Any] | None = None, ids: Any = None) -> None:
    """Refuse missing and infinite numbers. The error names the column by `columns` and the item by `ids`, if known."""
    blocks = [block for block in features.apply_to_blocks(_not_finite) if block]
    if not blocks:
        return
    row, column, is_missing = min(blocks, key=lambda block: block.row).first
    count = sum(int((block.missing if is_missing else block.infinite)[column]) for block in blocks)
    others = int(np.sum(sum(block.missing + block.infinite for block in blocks) > 0)) - 1
    kind = f"missing value{'s' * (count != 1)} (NaN)" if is_missing else f"infinite value{'s' * (count != 1)}"
    also = f", and {others} more column{'s' * (others > 1)} with such values" if others else ""
    raise ValueError(
        f"X: column {column if columns is None else columns[column]!r} has {count} {kind}, the first at row"
        f" {row}{_item(row, ids)}{also}; fill them in, or leave out the rows or the column"
    )


def split_ids(X: Any) -> tuple[Any, Any]:
    """Return X without its items' ids, and the ids as a pandas index, or None if there are none.

    Ids are the column `id` of a pandas or polars frame or an Arrow table, or else an index that does more than count
    the rows. An Arrow table is returned as a frame. Anything that is not a frame is returned unchanged.
    """
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        import pandas as pd

        X = X.to_pandas(types_mapper=pd.ArrowDtype)  # ArrowDtype keeps integers next to missing values
    if not _is_frame(X):
        return X, None
    columns = list(X.columns)
    if columns.count("id") > 1:
        raise ValueError("X has more than one column called 'id'; keep one")
    if "id" in columns:
        import pandas as pd

        if _is_polars(X):
            return X.drop("id"), pd.Index(X["id"].to_list())
        return X.drop(columns="id"), pd.Index(X["id"], name=None)
    return X, None if _is_polars(X) or _counts_rows(X.index) else X.index


def check_table(X: Any) -> tuple[Any, Any]:
    """Return X without its items' ids, and the ids, for an estimator, which leaves other checks to scikit-learn.

    Masked arrays, whole numbers that float64 cannot hold, and missing or infinite numbers are refused here.
    """
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X is a path, {X}; read it first")
    _refuse_lazy(X)
    X, index = split_ids(X)
    check_exact(X, index)
    columns = list(X.columns) if _is_frame(X) else None
    numbers: Any = None
    with suppress(TypeError, ValueError, OverflowError):  # scikit-learn refuses what is not numeric
        if columns is not None and not _is_polars(X):
            if all(getattr(dtype, "kind", "O") != "c" for dtype in X.dtypes):
                numbers = X.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            array: Any = np.asarray(X.to_numpy() if columns is not None else X)
            numbers = array.astype(np.float64, copy=False) if array.dtype.kind in "biufO" else None
    if numbers is not None and numbers.ndim == 2 and numbers.size:
        check_finite(from_array(numbers), columns, index)
    if numbers is None and columns is not None:
        _refuse_words(X)
    return X, index


def _refuse_lazy(X: Any) -> None:
    if hasattr(X, "collect"):
        raise ValueError("X is a lazy frame; pass X.collect()")
    if hasattr(X, "to_dask_array"):
        raise ValueError(
            "X is a Dask data frame; pass X.compute(), or X.to_dask_array(lengths=True) if you also pass a client"
        )


def _refuse_words(frame: Any) -> None:
    """Refuse a frame with a column that is not numeric, and name the first such column."""
    for name, column in _columns(frame):
        try:
            np.asarray(column.to_list(), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"X: column {name!r} is not numeric ({column.dtype}); drop it or turn it into numbers"
            ) from None


def check_exact(X: Any, ids: Any = None) -> None:
    """Refuse masked arrays and whole numbers that float64 cannot hold; the error names the item by `ids`, if known.

    Features that are wrong in other ways pass, so that the caller's own checks can refuse them.
    """
    refuse_masked(X, "X")
    places: list[Any] = []
    if _is_frame(X):
        places = [(row, name) for name, column in _columns(X) if (row := _inexact_row(column)) is not None]
    else:
        try:
            array: Any = np.asarray(X)
            if isinstance(X, list | tuple) and array.dtype.kind == "f" and np.any(np.abs(array) >= MAX_EXACT_INT):
                array = np.array(X, dtype=object)  # numpy may have rounded whole numbers next to fractions
        except (TypeError, ValueError, OverflowError):
            return
        if array.ndim == 2 and array.size and array.dtype.kind in "iuO":
            places = [place for place in apply_to_blocks(array, _inexact_place) if place is not None]
    _refuse_inexact(places, ids)


def check_exact_features(features: Features) -> None:
    """Refuse whole numbers that float64 cannot hold, in features that are stored as whole numbers."""
    if features.dtype.kind in "iu":
        _refuse_inexact([place for place in features.apply_to_blocks(_inexact_place) if place is not None], None)


def _refuse_inexact(places: list[Any], ids: Any) -> None:
    if places:
        row, column = places[0]
        raise ValueError(
            f"X holds a whole number beyond 2^53 at row {row}{_item(row, ids)}, column {column!r}, which float64 cannot"
            " tell from its neighbours; subtract an offset first"
        )


def _inexact_row(column: Any) -> int | None:
    """Return the row of the first whole number beyond 2^53 in a column of a frame, or None."""
    kind = column.dtype.kind if hasattr(column.dtype, "kind") else "i" if column.dtype.is_integer() else "f"
    if kind != "O" and (
        kind not in "iu" or max(integer_size(column.max()), integer_size(column.min())) <= MAX_EXACT_INT
    ):
        return None
    return next((row for row, value in enumerate(column.to_list()) if integer_size(value) > MAX_EXACT_INT), None)


def _inexact_place(low: int, block: npt.NDArray[Any]) -> tuple[int, int] | None:
    """Return the row and column of the first whole number beyond 2^53 in a block of rows, or None."""
    if block.dtype.kind != "O" and max(int(block.max()), -int(block.min())) <= MAX_EXACT_INT:
        return None
    return next(
        ((low + row, j) for (row, j), value in np.ndenumerate(block) if integer_size(value) > MAX_EXACT_INT), None
    )


def _item(row: int, ids: Any) -> str:
    """Name the item of a row for an error message, if there are ids."""
    return "" if ids is None else f" (item {ids[row : row + 1].to_list()[0]!r})"


class _NotFinite(NamedTuple):
    """The missing and infinite numbers of a block of rows."""

    row: int  # of the first of them, in row-major order
    column: int
    missing: npt.NDArray[np.int64]  # counts per column
    infinite: npt.NDArray[np.int64]

    @property
    def first(self) -> tuple[int, int, bool]:
        """The row and column of the first of them, and whether its column has missing numbers."""
        return self.row, self.column, bool(self.missing[self.column])


def _not_finite(low: int, block: npt.NDArray[Any]) -> _NotFinite | None:
    finite = np.isfinite(block)
    if finite.all():
        return None
    row, column = (int(index) for index in np.argwhere(~finite)[0])
    missing = np.isnan(block)
    return _NotFinite(low + row, column, missing.sum(axis=0), (~finite & ~missing).sum(axis=0))


def check_unique(ids: npt.NDArray[Any]) -> None:
    """Refuse missing ids, and ids that two items share."""
    import pandas as pd

    try:
        missing, repeated = pd.isna(ids), pd.Series(ids).duplicated()
    except TypeError:
        raise ValueError("X has ids that are not plain values; use text or numbers") from None
    if np.any(missing):
        raise ValueError(f"X has no id at row {int(np.argmax(missing))}; give every item an id")
    if repeated.any():
        raise ValueError(f"X has more than one item with the id {ids[int(np.argmax(repeated))]!r}; ids must be unique")


def check_ids(ids: npt.NDArray[Any]) -> None:
    """Refuse missing and repeated ids, and ids that differ only by spaces, which people cannot tell apart."""
    import pandas as pd

    check_unique(ids)
    stripped = pd.Series([name.strip() if isinstance(name, str) else name for name in ids], dtype=object)
    if (repeated := stripped.duplicated()).any():
        one, other = ids[stripped == stripped[int(np.argmax(repeated))]][:2]
        raise ValueError(f"X has the ids {one!r} and {other!r}, which differ only by spaces; rename one")


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _is_polars(frame: Any) -> bool:
    return type(frame).__module__.startswith("polars")


def _columns(frame: Any) -> list[tuple[Any, Any]]:
    """Return the columns of a frame with their names, which need not be unique."""
    names = list(frame.columns)
    series = frame.get_columns() if _is_polars(frame) else [frame.iloc[:, number] for number in range(len(names))]
    return list(zip(names, series, strict=True))


def _from_frame(frame: Any) -> tuple[Any, list[Any]]:
    """Return the numbers and the column names of a pandas or polars frame."""
    polars, columns = _is_polars(frame), _columns(frame)
    numbers = np.empty((len(frame), len(columns)))
    for number, (name, column) in enumerate(columns):
        if polars:
            numeric = column.dtype.is_numeric() or str(column.dtype) == "Boolean"
        else:
            numeric = getattr(column.dtype, "kind", "O") in "biuf"
        if not numeric:
            raise ValueError(f"X: column {name!r} is not numeric ({column.dtype}); drop it or turn it into numbers")
        if polars:
            numbers[:, number] = [np.nan if value is None else float(value) for value in column.to_list()]
        else:
            numbers[:, number] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers, [name for name, _ in columns]


def _counts_rows(index: Any) -> bool:
    """Return whether a pandas index only counts the rows 0, 1, 2, ..."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
