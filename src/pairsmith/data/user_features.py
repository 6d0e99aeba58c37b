"""What users pass as features: arrays, data frames and tables with ids, checked once, at the door."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import EXACT, refuse_masked, size_if_whole
from pairsmith.data.features import Features, from_array, over_blocks


def as_features(X: Any) -> tuple[Features, npt.NDArray[Any] | None]:
    """What users pass as X, checked, and its items' ids if it names them."""
    columns = None
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X is a path, {X}; read it first, or give a client whose workers can")
    _refuse_lazy(X)
    if hasattr(X, "tocsr"):
        raise ValueError("X is a sparse matrix; pass X.toarray()")
    X, names = without_ids(X)
    check_exact(X, names)
    ids = None
    if names is not None:
        ids = np.empty(len(names), dtype=object)
        ids[:] = names.to_list()
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
    check_finite(features, columns, names)
    if ids is not None:
        check_ids(ids)
    return features, ids


def check_shape(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what is no table of numbers with at least two items and a feature."""
    if len(shape) != 2:
        hint = "; use X.reshape(-1, 1) for a single feature" if len(shape) == 1 else ""
        raise ValueError(f"X must have two dimensions, items and features; got shape {shape}{hint}")
    n, d = shape
    if d == 0:
        raise ValueError("X has no feature columns; at least one numeric column is needed")
    if n < 2:
        raise ValueError(f"X has {n} item{'s' * (n != 1)}; at least two are needed to form a pair")
    if dtype.kind not in "biuf":
        raise ValueError(f"X must be numeric, got {dtype} values; drop or encode what is not a number")


def check_finite(features: Features, columns: list[Any] | None = None, names: Any = None) -> None:
    """Refuse missing and infinite numbers; `columns` and `names` (of items) are for the error to speak of."""
    holes = [found for found in features.over_blocks(_not_finite) if found]
    if not holes:
        return
    row, at, missing = min(holes, key=lambda hole: hole.row).first
    count = sum(int((hole.missing if missing else hole.infinite)[at]) for hole in holes)
    others = int(np.sum(sum(hole.missing + hole.infinite for hole in holes) > 0)) - 1
    kind = f"missing value{'s' * (count != 1)} (NaN)" if missing else f"infinite value{'s' * (count != 1)}"
    item = "" if names is None else f" (item {names[row : row + 1].to_list()[0]!r})"
    also = f", and {others} more column{'s' * (others > 1)} such" if others else ""
    raise ValueError(
        f"X: column {at if columns is None else columns[at]!r} has {count} {kind}, the first at row {row}{item}{also};"
        " fill them in, or leave out the rows or the column"
    )


def without_ids(X: Any) -> tuple[Any, Any]:
    """X without the ids of its items, and these as a pandas index, None where there are none.

    They are the column `id` of a pandas or polars frame or an Arrow table, or else an index that does more than count
    the rows. What is no frame comes back as it is; an Arrow table comes back as a frame.
    """
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        import pandas as pd

        X = X.to_pandas(types_mapper=pd.ArrowDtype)  # which keeps whole numbers whole where some are missing
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
    return X, None if _is_polars(X) or _plain(X.index) else X.index


def checked_table(X: Any) -> tuple[Any, Any]:
    """X without its items' ids, and these, for an estimator of scikit-learn, which checks what is not checked here.

    Refused are masks, whole numbers that float64 cannot hold, and missing or infinite numbers.
    """
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X is a path, {X}; read it first")
    _refuse_lazy(X)
    X, names = without_ids(X)
    check_exact(X, names)
    columns = list(X.columns) if _is_frame(X) else None
    numbers: Any = None
    with suppress(TypeError, ValueError, OverflowError):  # of what is no table of numbers scikit-learn speaks
        if columns is not None and not _is_polars(X):
            if all(getattr(dtype, "kind", "O") != "c" for dtype in X.dtypes):
                numbers = X.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            array: Any = np.asarray(X.to_numpy() if columns is not None else X)
            numbers = array.astype(np.float64, copy=False) if array.dtype.kind in "biufO" else None
    if numbers is not None and numbers.ndim == 2 and numbers.size:
        check_finite(from_array(numbers), columns, names)
    if numbers is None and columns is not None:
        _refuse_words(X)
    return X, names


def _refuse_lazy(X: Any) -> None:
    if hasattr(X, "collect"):
        raise ValueError("X is a lazy frame; pass X.collect()")
    if hasattr(X, "to_dask_array"):
        raise ValueError(
            "X is a Dask data frame; pass X.compute(), or X.to_dask_array(lengths=True) where select is given a client"
        )


def _refuse_words(frame: Any) -> None:
    """Name the first column of a frame whose values are no numbers."""
    for name, column in _columns(frame):
        try:
            np.asarray(column.to_list(), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"X: column {name!r} is not numeric ({column.dtype}); drop it or turn it into numbers"
            ) from None


def check_exact(X: Any, names: Any = None) -> None:
    """Refuse masks, and whole numbers that float64 cannot hold; `names` are the items' ids, for the error to speak of.

    What is wrong with X otherwise is for others to say.
    """
    refuse_masked(X, "X")
    found: list[Any] = []
    if _is_frame(X):
        found = [(_inexact_row(column), name) for name, column in _columns(X)]
        found = [place for place in found if place[0] is not None]
    else:
        try:
            array: Any = np.asarray(X)
            if isinstance(X, list | tuple) and array.dtype.kind == "f" and np.any(np.abs(array) >= EXACT):
                array = np.array(X, dtype=object)  # whole numbers that became fractions, being beside some
        except (TypeError, ValueError, OverflowError):
            return
        if array.ndim == 2 and array.size and array.dtype.kind in "iuO":
            found = [place for place in over_blocks(array, _inexact) if place is not None]
    _refuse_inexact(found, names)


def check_exact_features(features: Features) -> None:
    """Refuse whole numbers that float64 cannot hold, in features that are stored as whole numbers."""
    if features.dtype.kind in "iu":
        _refuse_inexact([place for place in features.over_blocks(_inexact) if place is not None], None)


def _refuse_inexact(found: list[Any], names: Any) -> None:
    if found:
        row, at = found[0]
        raise ValueError(
            f"X holds a whole number beyond 2^53 at {_place(row, at, names)}, which float64 cannot tell from its"
            " neighbours; subtract an offset first"
        )


def _inexact_row(column: Any) -> int | None:
    """The row of the first whole number beyond 2^53 in a column of a frame."""
    kind = column.dtype.kind if hasattr(column.dtype, "kind") else "i" if column.dtype.is_integer() else "f"
    if kind != "O" and (kind not in "iu" or max(size_if_whole(column.max()), size_if_whole(column.min())) <= EXACT):
        return None
    return next((row for row, value in enumerate(column.to_list()) if size_if_whole(value) > EXACT), None)


def _inexact(low: int, block: npt.NDArray[Any]) -> tuple[int, int] | None:
    """The first whole number beyond 2^53 in a block of rows, by row and column."""
    if block.dtype.kind != "O" and max(int(block.max()), -int(block.min())) <= EXACT:
        return None
    return next(((low + row, at) for (row, at), value in np.ndenumerate(block) if size_if_whole(value) > EXACT), None)


def _place(row: int, column: Any, names: Any) -> str:
    item = "" if names is None else f" (item {names[row : row + 1].to_list()[0]!r})"
    return f"row {row}{item}, column {column!r}"


class _Holes(NamedTuple):
    """What is not finite in a block of rows."""

    row: int  # of the first of them
    column: int
    missing: npt.NDArray[np.int64]  # in each column
    infinite: npt.NDArray[np.int64]

    @property
    def first(self) -> tuple[int, int, bool]:
        """Its row, its column, and whether it is missing rather than infinite."""
        return self.row, self.column, bool(self.missing[self.column])


def _not_finite(low: int, block: npt.NDArray[Any]) -> _Holes | None:
    finite = np.isfinite(block)
    if finite.all():
        return None
    row, column = (int(at) for at in np.argwhere(~finite)[0])
    missing = np.isnan(block)
    return _Holes(low + row, column, missing.sum(axis=0), (~finite & ~missing).sum(axis=0))


def check_unique(ids: npt.NDArray[Any]) -> None:
    """Refuse ids that are missing, or that two items share."""
    import pandas as pd

    try:
        missing, again = pd.isna(ids), pd.Series(ids).duplicated()
    except TypeError:
        raise ValueError("X has ids that are not plain values; use text or numbers") from None
    if np.any(missing):
        raise ValueError(f"X has no id at row {int(np.argmax(missing))}; give every item one")
    if again.any():
        raise ValueError(f"X has more than one item with the id {ids[int(np.argmax(again))]!r}; ids must be unique")


def check_ids(ids: npt.NDArray[Any]) -> None:
    """Refuse ids that are missing, or that people could not tell apart."""
    import pandas as pd

    check_unique(ids)
    bare = pd.Series([name.strip() if isinstance(name, str) else name for name in ids], dtype=object)
    if (again := bare.duplicated()).any():
        one, other = ids[bare == bare[int(np.argmax(again))]][:2]
        raise ValueError(f"X has the ids {one!r} and {other!r}, which differ only by spaces; rename one")


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _is_polars(frame: Any) -> bool:
    return type(frame).__module__.startswith("polars")


def _columns(frame: Any) -> list[tuple[Any, Any]]:
    """The columns of a frame with their names, which need not be unique."""
    names = list(frame.columns)
    series = frame.get_columns() if _is_polars(frame) else [frame.iloc[:, at] for at in range(len(names))]
    return list(zip(names, series, strict=True))


def _from_frame(frame: Any) -> tuple[Any, list[Any]]:
    """A pandas or polars frame's features and column names."""
    polars, columns = _is_polars(frame), _columns(frame)
    numbers = np.empty((len(frame), len(columns)))
    for at, (name, column) in enumerate(columns):
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
    return numbers, [name for name, _ in columns]


def _plain(index: Any) -> bool:
    """Whether a pandas index only counts the rows 0, 1, 2, ..."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
