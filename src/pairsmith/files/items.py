"""Tables of items, read from files: ids, features, groups.

Files speak in item ids: the column `id`, or else the first. Ids are text, so that 007 stays 007; spaces around them do
not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from pairsmith.data.arrays import MAX_EXACT_INT
from pairsmith.data.names import quoted
from pairsmith.files.formats import read_npy, read_table, whole_size
from pairsmith.files.write_table import as_written


@dataclass(frozen=True)
class Items:
    """A table of items: `features` is indexed by the items' ids."""

    path: Path
    features: pd.DataFrame
    groups: npt.NDArray[np.object_] | None = None

    def rows(self, ids: pd.Series, path: Path) -> npt.NDArray[np.int64]:
        """The row numbers of these ids, which come from the file `path`."""
        found = self.find(ids)
        if np.any(found < 0):
            at = int(np.argmax(found < 0))
            row = ids.index[at] + 1
            raise ValueError(f"{path}: row {row} names the item {quoted(ids.iloc[at])}, which is not in {self.path}")
        return found

    def find(self, ids: Sequence[Any] | pd.Series) -> npt.NDArray[np.int64]:
        """The row numbers of these ids, -1 where there is no such item."""
        wanted = pd.Index(ids, dtype=object).astype(str)
        if self._bare.is_unique:
            return self._bare.get_indexer(wanted.str.strip()).astype(np.int64)
        # A campaign of old, which may hold "x" and "x ".
        return self.features.index.astype(str).get_indexer(wanted).astype(np.int64)

    @cached_property
    def _bare(self) -> pd.Index:
        return self.features.index.astype(str).str.strip()


def read_items(
    path: Path,
    id_column: str | None = None,
    features: Sequence[str] | None = (),
    group_by: str | None = None,
    may_lack_features: bool = False,
    named_by: str = "--features",
    may_show: bool = False,
) -> Items:
    """Items with their ids, numeric features and, if asked for, the group each belongs to.

    `features` are column names or patterns such as "f_*"; without any, every column counts that is neither the
    id nor the group, of which there must be one unless `may_lack_features`. None means no features. `named_by` says in
    errors who named them; with `may_show`, errors about texts advise to show them to people.
    """
    if path.suffix == ".npy":
        if id_column or features or group_by:
            raise ValueError(
                f"{path}: a .npy file has no column names, so --id, --features and --group-by need a table"
            )
        return Items(path, read_npy(path))

    raw = read_raw_items(path, id_column, group_by)
    key, columns = raw.key, [raw.key, *raw.table.columns]
    chosen = [] if features is None else feature_columns(columns, key, group_by, features, path, named_by)
    if not chosen and features is not None and not may_lack_features:
        raise ValueError(f"{path}: there are no feature columns besides {key!r}; at least one numeric column is needed")
    values = raw.table[chosen]
    for name in chosen:
        _check_numeric(values[name], name, path, may_show)
    return Items(path, values.astype(np.float64), raw.groups)


class RawItems(NamedTuple):
    """A table of items as it stands in its file."""

    key: str  # the column of the ids
    table: pd.DataFrame  # all other columns, indexed by the ids
    groups: npt.NDArray[np.object_] | None


def read_raw_items(
    path: Path, id_column: str | None = None, group_by: str | None = None, texts: Sequence[str] = ()
) -> RawItems:
    """Items with their ids, all their columns and, if asked for, the group each belongs to.

    The columns `texts`, as far as they are there, are text as it is written: a review that reads 10, or NA, is one.
    """

    def text_columns(columns: list[str]) -> list[str]:
        for name in (id_column, group_by):
            if name is not None and name not in columns:
                raise ValueError(f"{path}: there is no column {name!r}; it has {', '.join(columns)}")
        wanted = {id_column_of(columns, id_column), *([group_by] if group_by else []), *texts}
        return [name for name in columns if name in wanted]

    table = read_table(path, text_columns)
    key = id_column_of(list(table.columns), id_column)
    ids = as_ids(table[key], path)
    if key != id_column and key != "id" and pd.to_numeric(ids, errors="coerce").mod(1).gt(0).any():
        raise ValueError(
            f"{path}: no column is called id, and the first, {key!r}, holds fractions, not ids; name the id column"
            " with --id"
        )
    _check_unique(ids, key, path)
    for name in table.columns.intersection(list(texts)):
        table[name] = as_written(table[name], path)
    groups = None if group_by is None else as_ids(table[group_by], path).to_numpy(dtype=object)
    del table[key]
    table.index = pd.Index(ids)  # in place: a table may be large
    return RawItems(key, table, groups)


def feature_columns(
    columns: list[str],
    key: str,
    group_by: str | None,
    patterns: Sequence[str],
    path: Path,
    named_by: str = "--features",
) -> list[str]:
    """The columns that match the patterns, or, without any, all but those of ids and groups."""
    chosen = [name for name in columns if name not in (key, group_by, "id")]
    if patterns:
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in columns):
                raise ValueError(f"{path}: no column matches {named_by} {pattern!r}; it has {', '.join(columns)}")
        chosen = [name for name in columns if any(fnmatchcase(name, pattern) for pattern in patterns)]
        for name, option in ((key, "--id"), (group_by, "--group-by")):
            if name in chosen:
                raise ValueError(f"{path}: column {name!r} is of {option} and matches --features too; name others")
        if "id" in chosen:
            raise ValueError(
                f"{path}: column 'id' matches --features, but a column of that name is no feature anywhere; rename it"
            )
    return chosen


def _check_unique(ids: pd.Series, key: str, path: Path) -> None:
    """Refuse ids that are the same, or would be without the spaces around them."""
    bare = ids.str.strip()
    if bare.duplicated().any():
        one, other = ids[bare == bare[bare.duplicated()].iloc[0]].iloc[:2]
        if one == other:
            raise ValueError(
                f"{path}: the id {quoted(one)} stands in more than one row; ids (column {key!r}) must be unique"
            )
        raise ValueError(
            f"{path}: the ids {quoted(one)} and {quoted(other)} (column {key!r}) differ only by spaces; rename one"
        )


def id_column_of(columns: list[str], wanted: str | None = None) -> str:
    """The column of ids: the one that is asked for, or `id`, or else the first."""
    return wanted or ("id" if "id" in columns else columns[0])


def as_ids(column: pd.Series, path: Path) -> pd.Series:
    """A column of ids, or of groups, as text; a row without one is refused."""
    missing = column.isna() | (column.astype(str).str.strip() == "")
    if missing.any():
        raise ValueError(
            f"{path}: row {column.index[int(np.argmax(missing))] + 1} has nothing in column {column.name!r}"
        )
    return as_written(column.astype(str), path).astype(object)


def _check_numeric(column: pd.Series, name: str, path: Path, may_show: bool) -> None:
    """Refuse what is not a finite number, or a whole one that float64 cannot hold, with the item that has it."""
    kind = column.dtype.kind
    if kind not in "biuf" or (kind in "iu" and max(whole_size(column.max()), whole_size(column.min())) > MAX_EXACT_INT):
        for item, value in column.items():
            if whole_size(value) > MAX_EXACT_INT:
                raise ValueError(
                    f"{path}: item {quoted(item)} has a whole number beyond 2^53 in column {name!r}, which float64"
                    " cannot tell from its neighbours; subtract an offset first, or name the feature columns with"
                    " --features"
                )
    if column.dtype.kind in "biuf":
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        numbers = np.array([value if isinstance(value, int | float) else np.nan for value in column], dtype=np.float64)
    if np.all(np.isfinite(numbers)):
        return
    if column.dtype.kind not in "biuf":  # one word makes a whole column text: the word is to blame, not the numbers
        numbers = np.where(np.isfinite(numbers), numbers, pd.to_numeric(column.astype(str), errors="coerce"))
    at = int(np.argmax(~np.isfinite(numbers)))
    value = column.iloc[at]
    empty = np.ndim(value) == 0 and pd.isna(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*", value):
        raise ValueError(
            f"{path}: item {quoted(column.index[at])} has {quoted(value)} in column {name!r}; write decimals with a"
            " point"
        )
    if empty:
        count = int(column.isna().sum())
        raise ValueError(
            f"{path}: column {name!r} has {count} missing value{'s' * (count != 1)}, the first of item"
            f" {quoted(column.index[at])}; fill {'them' if count != 1 else 'it'} in, leave out the"
            f" row{'s' * (count != 1)}, or name the feature columns with --features"
        )
    mend = f"show it with --show text:{name}" if may_show and isinstance(value, str) else "fill it in"
    raise ValueError(
        f"{path}: item {quoted(column.index[at])} has the value {quoted(value)} in column {name!r}, where a finite"
        f" number is needed; {mend}, or name the feature columns with --features"
    )
