"""Tables of items, labels and comparisons, read from files.

The files speak in item ids: the column `id`, or else the first. Ids are text, so that 007 stays 007. In CSV a text that
a spreadsheet would take for a formula has an apostrophe in front; reading takes it away.
"""

from __future__ import annotations

import csv
import lzma
import os
import re
import stat
import tokenize
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

READERS = ".csv, .tsv, .jsonl, .parquet"
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]


def write_csv(frame: pd.DataFrame, place: Any, raw: bool = False) -> None:
    """Write a table as CSV. Unless `raw`, no text in it is a formula for a spreadsheet; reading undoes that."""
    frame = frame if raw else map_texts(frame, _safe)
    # Python before 3.13 does not quote a text for the sake of a carriage return, which ends a line for readers.
    returns = any(frame[name].astype(str).str.contains("\r", regex=False).any() for name in _texts_of(frame))
    frame.to_csv(place, index=False, quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)


def _safe(text: str) -> str:
    """What begins as a formula, after any number of apostrophes, gets one more: so what had some stays apart."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def map_texts(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """This table with every text changed so."""

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    return frame.assign(**{name: frame[name].map(changed) for name in _texts_of(frame)})


def _texts_of(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]


def as_written(texts: pd.Series, path: Path) -> pd.Series:
    """A column of this file without what `write_csv` put in front of texts; other formats hold them as they are."""
    if not {".csv", ".tsv"} & set(path.suffixes):
        return texts
    return texts.map(lambda text: text[1:] if text[:1] == "'" and _FORMULA.match(text) else text)


@dataclass(frozen=True)
class Items:
    """A table of items: `features` is indexed by the items' ids."""

    path: Path
    features: pd.DataFrame
    groups: npt.NDArray[np.object_] | None = None

    def rows(self, ids: pd.Series, path: Path) -> npt.NDArray[np.int64]:
        """The row numbers of these ids, which come from the file `path`."""
        found = self.features.index.get_indexer(pd.Index(ids))
        if np.any(found < 0):
            at = int(np.argmax(found < 0))
            raise ValueError(f"{path}: row {at + 1} names the item {ids.iloc[at]!r}, which is not in {self.path}")
        return found.astype(np.int64)


def read_items(
    path: Path, id_column: str | None = None, features: Sequence[str] = (), group_by: str | None = None
) -> Items:
    """Items with their ids, numeric features and, if asked for, the group each belongs to.

    `features` are column names or patterns such as "f_*"; without any, every column counts that is neither the
    id nor the group.
    """
    if path.suffix == ".npy":
        if id_column or features or group_by:
            raise ValueError(
                f"{path}: a .npy file has no column names, so --id, --features and --group-by need a table"
            )
        return Items(path, _read_npy(path))

    def text_columns(columns: list[str]) -> list[str]:
        for name in (id_column, group_by):
            if name is not None and name not in columns:
                raise ValueError(f"{path}: there is no column {name!r}; it has {', '.join(columns)}")
        return [_id_of(columns, id_column), *([group_by] if group_by else [])]

    table = read_table(path, text_columns)
    columns = list(table.columns)
    key = _id_of(columns, id_column)
    ids = _texts(table[key], path)
    if key != id_column and key != "id" and pd.to_numeric(ids, errors="coerce").mod(1).gt(0).any():
        raise ValueError(
            f"{path}: no column is called id, and the first, {key!r}, holds fractions, not ids; name the id column"
            " with --id"
        )
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].iloc[0]
        raise ValueError(f"{path}: the id {twice!r} stands in more than one row; ids (column {key!r}) must be unique")
    if features:
        for pattern in features:
            if not any(fnmatchcase(name, pattern) for name in columns):
                raise ValueError(f"{path}: no column matches --features {pattern!r}; it has {', '.join(columns)}")
        chosen = [name for name in columns if any(fnmatchcase(name, pattern) for pattern in features)]
        for name, option in ((key, "--id"), (group_by, "--group-by")):
            if name in chosen:
                raise ValueError(f"{path}: column {name!r} is of {option} and matches --features too; name others")
    else:
        chosen = [name for name in columns if name not in (key, group_by)]
    if not chosen:
        raise ValueError(f"{path}: there are no feature columns besides {key!r}; at least one numeric column is needed")
    values = table[chosen].set_index(pd.Index(ids))
    for name in chosen:
        _check_numeric(values[name], name, path)
    groups = None if group_by is None else _texts(table[group_by], path).to_numpy(dtype=object)
    return Items(path, values.astype(np.float64), groups)


def read_labeled(path: Path, items: Items) -> npt.NDArray[np.int64]:
    """Rows of the items that this file labels: an id column and, optionally, a label column; no label, no row."""
    table = read_table(path, lambda columns: [_id_of(columns)], may_be_empty=True)
    if {"first", "second"} <= set(table.columns):
        raise ValueError(f"{path} holds pairs (columns first and second), where labelled items are expected")
    key = _id_of(list(table.columns))
    others = [name for name in table.columns if name != key]
    if others:
        label = "label" if "label" in others else others[0]
        table = table[table[label].notna()]
    return items.rows(_texts(table[key], path), path)


def read_labels(path: Path, items: Items) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Rows of the items and their labels, of two values: the column `label`, or else the first that is not the id."""
    table = read_table(path, lambda columns: [_id_of(columns)], may_be_empty=True)
    key = _id_of(list(table.columns))
    others = [name for name in table.columns if name != key]
    if not others or {"first", "second"} <= set(table.columns):
        raise ValueError(f"{path}: a column of ids and one of labels are needed, found {', '.join(table.columns)}")
    label = "label" if "label" in others else others[0]
    table = table[table[label].notna()]
    values = table[label].to_numpy()
    if len(np.unique(values)) > 2:
        raise ValueError(f"{path}: column {label!r} holds {len(np.unique(values))} different labels; two are needed")
    return items.rows(_texts(table[key], path), path), values


WORDS = {"first": 1.0, "second": -1.0, "tie": 0.0, "1": 1.0, "-1": -1.0, "0": 0.0, "+1": 1.0, "1.0": 1.0, "-1.0": -1.0,
         "0.0": 0.0}  # fmt: skip


def read_answers(
    path: Path, items: Items
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Pairs of rows, outcomes (+1 first preferred, -1 second, 0 tie) and how often each was answered so.

    Columns: `first` and `second` with `outcome` (1, -1, 0, or first, second, tie), or with `winner` (an id, or tie), or
    else `winner` and `loser`; `count` where an answer stands for several. A row without outcome is no answer yet.
    """

    def ids(columns: list[str]) -> list[str]:
        found = set(columns)
        if {"first", "second"} <= found and found & {"outcome", "winner"}:
            return ["first", "second", "outcome" if "outcome" in found else "winner"]
        if {"winner", "loser"} <= found:
            return ["winner", "loser"]
        raise ValueError(
            f"{path}: answers have the columns first, second and outcome, or winner and loser; found"
            f" {', '.join(columns)}"
        )

    table = read_table(path, ids, may_be_empty=True)
    names = ids(list(table.columns))
    if len(names) == 3:
        table = table[table[names[2]].notna() & (table[names[2]].astype(str).str.strip() != "")]
    pairs = _different(
        np.column_stack([items.rows(_texts(table[name], path), path) for name in names[:2]]), path, items
    )
    outcomes: npt.NDArray[np.float64] = np.ones(len(table))
    if names[-1] == "outcome":
        words = table["outcome"].astype(str).str.strip().str.lower()
        wrong = ~words.isin(WORDS)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"{path}: row {at + 1} has the outcome {words.iloc[at]!r}; use 1 or first, -1 or second, 0 or tie"
            )
        outcomes = np.array([WORDS[word] for word in words])
    elif len(names) == 3:
        winner = table["winner"].astype(str).str.strip().to_numpy()
        first, second = (table[name].astype(str).str.strip().to_numpy() for name in ("first", "second"))
        wrong = ~((winner == first) | (winner == second) | (np.char.lower(winner.astype(str)) == "tie"))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(f"{path}: row {at + 1} names the winner {winner[at]!r}, which is neither of the two")
        outcomes = (winner == first) * 1.0 - (winner == second) * 1.0
    counts = np.ones(len(table))
    if "count" in table.columns:
        counts = pd.to_numeric(table["count"], errors="coerce").to_numpy(dtype=np.float64)
        if not np.all(counts >= 0):
            raise ValueError(f"{path}: row {int(np.argmax(~(counts >= 0))) + 1} has no proper count; use a number >= 0")
    return pairs, outcomes, counts


def read_pairs(path: Path, items: Items) -> npt.NDArray[np.int64]:
    """Pairs of rows of the items: the columns `first` and `second`, or else the first two."""

    def two(columns: list[str]) -> list[str]:
        if len(columns) < 2:
            raise ValueError(f"{path}: two columns of item ids are needed, found {', '.join(columns)}")
        return ["first", "second"] if {"first", "second"} <= set(columns) else columns[:2]

    table = read_table(path, two, may_be_empty=True)
    first, second = two(list(table.columns))
    return _different(
        np.column_stack([items.rows(_texts(table[name], path), path) for name in (first, second)]), path, items
    )


def _different(pairs: npt.NDArray[np.int64], path: Path, items: Items) -> npt.NDArray[np.int64]:
    same = pairs[:, 0] == pairs[:, 1]
    if np.any(same):
        at = int(np.argmax(same))
        raise ValueError(f"{path}: row {at + 1} pairs the item {items.features.index[pairs[at, 0]]!r} with itself")
    return pairs


def read_table(path: Path, text_columns: Callable[[list[str]], list[str]], may_be_empty: bool = False) -> pd.DataFrame:
    """A CSV, TSV, JSON Lines or Parquet file; `text_columns` names the columns to keep as text."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    source = opened(path)
    kind = next((suffix for suffix in reversed(path.suffixes) if suffix not in (".gz", ".bz2", ".xz", ".zst")), "")
    if not kind and isinstance(source, BytesIO):
        kind = _kind_of(source.getvalue())
    if kind not in (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"):
        raise ValueError(
            f"{path}: cannot read {kind or 'a file without an ending'}; use {READERS}, or .npy for features"
        )
    try:
        if kind in (".csv", ".tsv"):
            table = _read_delimited(path, "," if kind == ".csv" else "\t", text_columns)
        elif kind == ".parquet":
            table = pd.read_parquet(source)
            if any(name is not None for name in table.index.names):
                table = table.reset_index()
            elif not isinstance(table.index, pd.RangeIndex):
                table = table.rename_axis("id").reset_index()
        else:
            table = pd.read_json(source, lines=True, dtype=False, precise_float=True)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8") from None
    except ImportError as error:
        needed = "reading Parquet needs pyarrow; pip install 'pairsmith[data]'" if kind == ".parquet" else str(error)
        raise ValueError(f"{path}: {needed}") from None
    except (EOFError, zlib.error, lzma.LZMAError):
        raise ValueError(f"{path} is damaged or cut short; it cannot be unpacked") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, ValueError, OSError) as error:
        reason = " ".join(str(error).removeprefix("Error tokenizing data. C error: ").split())
        raise ValueError(reason if reason.startswith(str(path)) else f"{path}: {reason}") from None
    table.columns = table.columns.astype(str)
    if table.empty and not (may_be_empty and len(table.columns)):
        raise ValueError(f"{path} has no rows")
    if table.columns.has_duplicates:
        raise ValueError(f"{path} has two columns called {table.columns[table.columns.duplicated()][0]!r}; rename one")
    for name in text_columns(list(table.columns)):
        table[name] = table[name].astype(object)
    return table


def opened(path: Path) -> Path | BytesIO:
    """The file, or what came through a pipe, such as that of <(...) in a shell; a device may never end and is refused.

    A pipe can be read only once, and a table is read more often than that: what came through it is kept.
    """
    if path.is_file() and not str(path).startswith(("/dev/stdin", "/dev/fd/")):
        return path
    try:
        found = path.stat()
        mode = found.st_mode
        typed = path == Path("/dev/stdin") and os.isatty(0)
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not typed):
            raise ValueError(f"{path} is a device, not a file")
        return BytesIO(_piped(path.absolute(), found.st_dev, found.st_ino))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def contents(path: Path) -> bytes:
    source = opened(path)
    return source.getvalue() if isinstance(source, BytesIO) else source.read_bytes()


@cache
def _piped(path: Path, _device: int, _inode: int) -> bytes:  # numbers of descriptors are used again
    return path.read_bytes()


def _kind_of(content: bytes) -> str:
    """The ending that what came through a pipe without a name would have."""
    line = content.lstrip().partition(b"\n")[0]
    if content.startswith(b"PAR1"):
        return ".parquet"
    return ".jsonl" if line.startswith(b"{") else ".tsv" if b"\t" in line and b"," not in line else ".csv"


def _read_delimited(path: Path, separator: str, text_columns: Callable[[list[str]], list[str]]) -> pd.DataFrame:
    header = pd.read_csv(opened(path), sep=separator, nrows=1, header=None, dtype=str, keep_default_na=False)
    names = [str(name) for name in header.iloc[0]]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{path} has two columns called {twice[0]!r}; rename one")
    text = text_columns(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # float_precision, which older pandas needs
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row longer than the header
        return pd.read_csv(
            opened(path),
            sep=separator,
            index_col=False,
            low_memory=False,
            float_precision="round_trip",
            dtype=dict.fromkeys(text, str),
            keep_default_na=False,  # an item may be called NA
            na_values={name: _MISSING for name in names if name not in text},
        )


def _read_npy(path: Path) -> pd.DataFrame:
    source = opened(path) if path.exists() else path
    try:
        array = np.load(source, mmap_mode="r" if isinstance(source, Path) else None, allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except (ValueError, EOFError, OSError, SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"{path} is not a .npy array of numbers ({' '.join(str(error).split())})") from None
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{path} holds {array.dtype} values of shape {array.shape}; an (items, features) array is needed"
        )
    return pd.DataFrame(array, index=[str(row) for row in range(len(array))])


def _id_of(columns: list[str], wanted: str | None = None) -> str:
    return wanted or ("id" if "id" in columns else columns[0])


def _texts(column: pd.Series, path: Path) -> pd.Series:
    missing = column.isna() | (column.astype(str).str.strip() == "")
    if missing.any():
        raise ValueError(f"{path}: row {int(np.argmax(missing)) + 1} has nothing in column {column.name!r}")
    return as_written(column.astype(str), path).astype(object)


def _check_numeric(column: pd.Series, name: str, path: Path) -> None:
    """Refuse what is not a finite number, with the item that has it."""
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
    held = "no value" if empty else f"the value {value!r}" if isinstance(value, str) else f"the value {value}"
    raise ValueError(
        f"{path}: item {column.index[at]!r} has {held} in column {name!r}, where a finite number is needed;"
        " fill it in, or name the feature columns with --features"
    )
