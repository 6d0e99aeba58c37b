"""Tables of items, labels and comparisons, read from files.

The files speak in item ids: the column `id`, or else the first. Ids are text, so that 007 stays 007; spaces around
them do not count. In CSV a text that a spreadsheet would take for a formula has an apostrophe in front; reading takes
it away.
"""

from __future__ import annotations

import csv
import json
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
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pairsmith.files.write import write_whole

READERS = ".csv, .tsv, .jsonl, .parquet"
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]
_EXACT = 2**53  # beyond it float64 cannot tell whole numbers apart


def write_csv(frame: pd.DataFrame, place: Any, raw: bool = False) -> None:
    """Write a table as CSV. Unless `raw`, no text in it is a formula for a spreadsheet; reading undoes that."""
    frame = frame if raw else map_texts(frame, _safe)
    # Python before 3.13 does not quote a text for the sake of a carriage return, which ends a line for readers.
    returns = any(frame[name].astype(str).str.contains("\r", regex=False).any() for name in _texts_of(frame))
    frame.to_csv(place, index=False, quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)


def write_table(frame: pd.DataFrame, path: Path, kind: str, raw: bool = False) -> None:
    """Write a table as csv, jsonl or parquet, whole or not at all; `raw` as of `write_csv`."""
    if kind == "csv":
        write_whole(path, lambda part: write_csv(frame, part, raw))
    elif kind == "jsonl":
        records = frame.astype(object).where(frame.notna(), None).to_dict("records")
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
    else:
        write_whole(path, lambda part: frame.to_parquet(part, index=False))


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
    if kind_of(path) not in (".csv", ".tsv"):
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
        found = self.find(ids)
        if np.any(found < 0):
            at = int(np.argmax(found < 0))
            row = ids.index[at] + 1
            raise ValueError(f"{path}: row {row} names the item {ids.iloc[at]!r}, which is not in {self.path}")
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
        return [id_column_of(columns, id_column), *([group_by] if group_by else [])]

    table = read_table(path, text_columns)
    columns = list(table.columns)
    key = id_column_of(columns, id_column)
    ids = _texts(table[key], path)
    if key != id_column and key != "id" and pd.to_numeric(ids, errors="coerce").mod(1).gt(0).any():
        raise ValueError(
            f"{path}: no column is called id, and the first, {key!r}, holds fractions, not ids; name the id column"
            " with --id"
        )
    bare = ids.str.strip()
    if bare.duplicated().any():
        one, other = ids[bare == bare[bare.duplicated()].iloc[0]].iloc[:2]
        if one == other:
            raise ValueError(f"{path}: the id {one!r} stands in more than one row; ids (column {key!r}) must be unique")
        raise ValueError(f"{path}: the ids {one!r} and {other!r} (column {key!r}) differ only by spaces; rename one")
    if features:
        for pattern in features:
            if not any(fnmatchcase(name, pattern) for name in columns):
                raise ValueError(f"{path}: no column matches --features {pattern!r}; it has {', '.join(columns)}")
        chosen = [name for name in columns if any(fnmatchcase(name, pattern) for pattern in features)]
        for name, option in ((key, "--id"), (group_by, "--group-by")):
            if name in chosen:
                raise ValueError(f"{path}: column {name!r} is of {option} and matches --features too; name others")
        if "id" in chosen:
            raise ValueError(
                f"{path}: column 'id' matches --features, but a column of that name is no feature anywhere; rename it"
            )
    else:
        chosen = [name for name in columns if name not in (key, group_by, "id")]
    if not chosen:
        raise ValueError(f"{path}: there are no feature columns besides {key!r}; at least one numeric column is needed")
    values = table[chosen].set_index(pd.Index(ids))
    for name in chosen:
        _check_numeric(values[name], name, path)
    groups = None if group_by is None else _texts(table[group_by], path).to_numpy(dtype=object)
    return Items(path, values.astype(np.float64), groups)


def read_labeled(path: Path, items: Items) -> npt.NDArray[np.int64]:
    """Rows of the items that this file labels: an id column and, optionally, a label column; no label, no row."""
    ids, _, _ = _read_labeled(path)
    return items.rows(ids, path)


def read_labels(path: Path, items: Items) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Rows of the items and their labels, of two values: the column `label`, or the only one that is not the id."""
    ids, values, label = _read_labeled(path)
    if values is None:
        raise ValueError(f"{path}: a column of ids and one of labels are needed, found only {ids.name!r}")
    if values.dtype.kind not in "biuf":
        values = _as_labels(values, label, path)
    if len(np.unique(values)) > 2:
        raise ValueError(f"{path}: column {label!r} holds {len(np.unique(values))} different labels; two are needed")
    return items.rows(ids, path), values


def as_label(text: str, labels: npt.NDArray[Any]) -> Any:
    """What was typed for one of these labels, as a value of their kind; as it is where it is of another kind."""
    try:
        if labels.dtype.kind == "b":
            return {"true": True, "false": False}[text.strip().lower()]
        return float(text) if labels.dtype.kind in "iuf" else text.strip()
    except (KeyError, ValueError):
        return text


def _read_labeled(path: Path) -> tuple[pd.Series, npt.NDArray[Any] | None, str]:
    """The ids of labelled items, their labels and the name of that column; no labels where there is no such column."""
    table = read_table(path, lambda columns: [_label_columns(columns, path)[0]], may_be_empty=True)
    key, label = _label_columns(list(table.columns), path)
    if label is None:
        return _texts(table[key], path), None, ""
    table = table[table[label].notna() & (table[label].astype(str).str.strip() != "")]
    return _texts(table[key], path), table[label].to_numpy(), label


def _label_columns(columns: list[str], path: Path) -> tuple[str, str | None]:
    """The column of ids and that of labels, if there is one."""
    for pair in (("first", "second"), ("winner", "loser")):
        if set(pair) <= set(columns):
            raise ValueError(f"{path} holds pairs (columns {' and '.join(pair)}), where labelled items are expected")
    others = [name for name in columns if name not in ("id", "label")]
    lacking = [name for name in ("id", "label") if name not in columns]
    if len(others) > len(lacking) > 0 or columns == ["label"]:  # which of them it is nobody can know
        raise ValueError(
            f"{path}: a column of ids and one of labels are needed; call them id and label; found {', '.join(columns)}"
        )
    key = "id" if "id" in columns else others[0]
    return key, "label" if "label" in columns else next((name for name in others if name != key), None)


def _as_labels(values: npt.NDArray[Any], label: str, path: Path) -> npt.NDArray[Any]:
    """Labels that came one by one: all of them words, or all true or false, or all numbers."""
    kinds = [str, bool | np.bool_, int | float | np.number]
    if not any(all(isinstance(value, kind) for value in values) for kind in kinds):
        some = ", ".join(sorted({repr(value)[:50] for value in values})[:3])
        raise ValueError(f"{path}: column {label!r} holds {some}; labels are two words, two numbers, or true and false")
    return np.array([value.strip() if isinstance(value, str) else value for value in values])


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

    def texts(columns: list[str]) -> list[str]:
        return [*ids(columns), *({"winner", "loser"} & set(columns) - set(ids(columns)))]

    table = read_table(path, texts, may_be_empty=True)
    names = ids(list(table.columns))
    if len(names) == 3:
        table = table[table[names[2]].notna() & (table[names[2]].astype(str).str.strip() != "")]
    pairs = _pairs(table, names[:2], path, items)
    outcomes: npt.NDArray[np.float64] = np.ones(len(table))
    if names[-1] == "outcome":
        words = table["outcome"].astype(str).str.strip().str.lower()
        wrong = ~words.isin(WORDS)
        if wrong.any():
            at = int(np.argmax(wrong))
            row, word = table.index[at] + 1, words.iloc[at]
            raise ValueError(f"{path}: row {row} has the outcome {word!r}; use 1 or first, -1 or second, 0 or tie")
        outcomes = np.array([WORDS[word] for word in words])
    elif len(names) == 3:
        winner = items.find(as_written(table["winner"].astype(str), path))
        first, second = winner == pairs[:, 0], winner == pairs[:, 1]
        wrong = ~(first | second | (table["winner"].astype(str).str.strip().str.lower() == "tie").to_numpy())
        if wrong.any():
            at = int(np.argmax(wrong))
            named = str(table["winner"].iloc[at])
            row = table.index[at] + 1
            raise ValueError(f"{path}: row {row} names the winner {named!r}, which is neither of the two")
        outcomes = first * 1.0 - second * 1.0
    _check_contradictions(table, names, pairs, outcomes, path, items)
    counts = np.ones(len(table))
    if "count" in table.columns:
        counts = pd.to_numeric(table["count"], errors="coerce").to_numpy(dtype=np.float64)
        if not np.all(counts >= 0):
            row = table.index[int(np.argmax(~(counts >= 0)))] + 1
            raise ValueError(f"{path}: row {row} has no proper count; use a number >= 0")
    return pairs, outcomes, counts


def read_pairs(path: Path, items: Items) -> npt.NDArray[np.int64]:
    """Pairs of rows of the items: the columns `first` and `second`, or else `winner` and `loser`.

    Every row is a pair, whether it has an outcome or not.
    """

    def two(columns: list[str]) -> list[str]:
        for pair in (["first", "second"], ["winner", "loser"]):
            if set(pair) <= set(columns):
                return pair
        raise ValueError(
            f"{path}: pairs have the columns first and second, or winner and loser; found {', '.join(columns)}"
        )

    table = read_table(path, two, may_be_empty=True)
    return _pairs(table, two(list(table.columns)), path, items)


def _pairs(table: pd.DataFrame, names: list[str], path: Path, items: Items) -> npt.NDArray[np.int64]:
    """The rows of the items that these two columns name, which must differ."""
    pairs = np.column_stack([items.rows(_texts(table[name], path), path) for name in names])
    same = pairs[:, 0] == pairs[:, 1]
    if np.any(same):
        at = int(np.argmax(same))
        row, name = table.index[at] + 1, items.features.index[pairs[at, 0]]
        raise ValueError(f"{path}: row {row} pairs the item {name!r} with itself")
    return pairs


def _check_contradictions(
    table: pd.DataFrame,
    used: list[str],
    pairs: npt.NDArray[np.int64],
    outcomes: npt.NDArray[np.float64],
    path: Path,
    items: Items,
) -> None:
    """Refuse a column `winner` or `loser` that says something else than the columns the outcome was read from."""
    won = np.where(outcomes > 0, pairs[:, 0], pairs[:, 1])
    lost = pairs.sum(axis=1) - won
    for name, expected in (("winner", won), ("loser", lost)):
        if name in used or name not in table.columns:
            continue
        named = items.find(as_written(table[name].astype(str), path))
        wrong = (named >= 0) & (outcomes != 0) & (named != expected)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"{path}: row {table.index[at] + 1} has the {name} {str(table[name].iloc[at])!r}, which contradicts its"
                f" {' and '.join(used)}; correct it, or leave the column out"
            )


def read_table(path: Path, text_columns: Callable[[list[str]], list[str]], may_be_empty: bool = False) -> pd.DataFrame:
    """A CSV, TSV, JSON Lines or Parquet file; `text_columns` names the columns to keep as text."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    source, kind = opened(path), kind_of(path)
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
            table = _read_json_lines(source)
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


def kind_of(path: Path) -> str:
    """The ending of a table's name, without that of a compression; what came through a pipe is looked at."""
    kind = next((suffix for suffix in reversed(path.suffixes) if suffix not in (".gz", ".bz2", ".xz", ".zst")), "")
    if kind or not path.exists() or isinstance(source := opened(path), Path):
        return kind
    content = source.getvalue()
    line = content.lstrip().partition(b"\n")[0]
    if content.startswith(b"PAR1"):
        return ".parquet"
    return ".jsonl" if line.startswith(b"{") else ".tsv" if b"\t" in line and b"," not in line else ".csv"


def _read_delimited(path: Path, separator: str, text_columns: Callable[[list[str]], list[str]]) -> pd.DataFrame:
    header = pd.read_csv(opened(path), sep=separator, nrows=1, header=None, dtype=str, keep_default_na=False)
    names = [str(name) for name in header.iloc[0]]
    if separator == "," and len(names) == 1 and ";" in names[0]:  # as spreadsheets write it where 0.5 is 0,5
        return _read_delimited(path, ";", text_columns)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{path} has two columns called {twice[0]!r}; rename one")
    text = text_columns(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # float_precision, which older pandas needs
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row longer than the header
        table = pd.read_csv(
            opened(path),
            sep=separator,
            index_col=False,
            low_memory=False,
            float_precision="round_trip",
            dtype=dict.fromkeys(text, str),
            keep_default_na=False,  # an item may be called NA
            na_values={name: _MISSING for name in names if name not in text},
        )
        # Whole numbers have become fractions where they stand beside some; those that were rounded come back as text.
        large = [name for name in names if table[name].dtype.kind == "f" and (table[name].abs() >= _EXACT).any()]
        if large:
            written = pd.read_csv(
                opened(path), sep=separator, usecols=large, index_col=False, dtype=str, keep_default_na=False
            )
            for name in large:
                if (written[name].map(_size) > _EXACT).any():
                    table[name] = written[name]
        return table


def _read_json_lines(source: Path | BytesIO) -> pd.DataFrame:
    """A JSON object a line. Numbers stay as they are written: pandas' own reader rounds some and refuses others."""
    lines = pd.read_csv(
        source,
        sep="\x01",  # which no line of JSON holds
        quoting=csv.QUOTE_NONE,
        names=["line"],
        dtype=str,
        na_filter=False,
        skip_blank_lines=False,
    )
    records = []
    for number, line in enumerate(lines["line"], 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise ValueError(f'line {number} is no JSON object; write one a line, such as {{"id": "a", "x": 1.5}}')
        records.append(record)
    table = pd.DataFrame(records, dtype=object)
    large = [
        name for name in table.columns if any(isinstance(value, int) and abs(value) > _EXACT for value in table[name])
    ]
    return pd.concat([table.drop(columns=large).infer_objects(), table[large]], axis=1)[table.columns]


def _read_npy(path: Path) -> pd.DataFrame:
    source = opened(path) if path.exists() else path
    try:
        with np.errstate(over="raise"):  # a shape beyond all bounds
            array = np.load(source, mmap_mode="r" if isinstance(source, Path) else None, allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except (ValueError, TypeError, EOFError, OSError, ArithmeticError, SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"{path} is not a .npy array of numbers ({' '.join(str(error).split())})") from None
    if not isinstance(array, np.ndarray):  # numpy reads a .npz by whatever name
        array.close()
        raise ValueError(f"{path} is an archive of arrays (.npz); save one array with numpy.save")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{path} holds {array.dtype} values of shape {array.shape}; an (items, features) array is needed"
        )
    return pd.DataFrame(array, index=[str(row) for row in range(len(array))])


def id_column_of(columns: list[str], wanted: str | None = None) -> str:
    """The column of ids: the one that is asked for, or `id`, or else the first."""
    return wanted or ("id" if "id" in columns else columns[0])


def _texts(column: pd.Series, path: Path) -> pd.Series:
    missing = column.isna() | (column.astype(str).str.strip() == "")
    if missing.any():
        raise ValueError(
            f"{path}: row {column.index[int(np.argmax(missing))] + 1} has nothing in column {column.name!r}"
        )
    return as_written(column.astype(str), path).astype(object)


def _size(value: Any) -> int:
    """The absolute value of a whole number, as such or as text; 0 for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+\s*", value):
        value = int(value.strip()[:400])
    return abs(int(value)) if isinstance(value, int | np.integer) else 0


def _check_numeric(column: pd.Series, name: str, path: Path) -> None:
    """Refuse what is not a finite number, or a whole one that float64 cannot hold, with the item that has it."""
    kind = column.dtype.kind
    if kind not in "biuf" or (kind in "iu" and max(_size(column.max()), _size(column.min())) > _EXACT):
        for item, value in column.items():
            if _size(value) > _EXACT:
                raise ValueError(
                    f"{path}: item {item!r} has a whole number beyond 2^53 in column {name!r}, which float64 cannot"
                    " tell from its neighbours; subtract an offset first, or name the feature columns with --features"
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
            f"{path}: item {column.index[at]!r} has {value!r} in column {name!r}; write decimals with a point"
        )
    held = "no value" if empty else f"the value {value!r}" if isinstance(value, str) else f"the value {value}"
    raise ValueError(
        f"{path}: item {column.index[at]!r} has {held} in column {name!r}, where a finite number is needed;"
        " fill it in, or name the feature columns with --features"
    )
