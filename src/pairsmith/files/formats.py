"""Files read into tables, one function a format: CSV, TSV, JSON Lines, Parquet; and .npy, which holds features only.

Numbers stay as they are written: a whole number that float64 cannot hold comes back as text or as a Python int, for
whoever needs numbers to refuse.
"""

from __future__ import annotations

import csv
import lzma
import re
import tokenize
import warnings
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.data.arrays import MAX_EXACT_INT, integer_size
from pairsmith.files.json_reader import RepeatedKey, parse_json
from pairsmith.files.sources import kind_of, opened

TextColumns = Callable[[list[str]], list[str]]
_MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]


def read_table(path: Path, text_columns: TextColumns, may_be_empty: bool = False) -> pd.DataFrame:
    """A file of any of the formats in `READERS`; `text_columns` names, of all columns, those to keep as text."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    kind = kind_of(path)
    if kind not in READERS:
        raise ValueError(
            f"{path}: cannot read {kind or 'a file without an ending'}; use {', '.join(READERS)}, or .npy for features"
        )
    try:
        table = READERS[kind](path, text_columns)
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


def _read_delimited(path: Path, text_columns: TextColumns, separator: str) -> pd.DataFrame:
    header = pd.read_csv(opened(path), sep=separator, nrows=1, header=None, dtype=str, keep_default_na=False)
    names = [str(name) for name in header.iloc[0]]
    if separator == "," and len(names) == 1 and ";" in names[0]:  # as spreadsheets write it where 0.5 is 0,5
        return _read_delimited(path, text_columns, ";")
    if "" in names[1:]:
        raise ValueError(f"{path}: column {names.index('', 1) + 1} has no name; name it, or leave it out")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{path} has two columns called {twice[0]!r}; rename one")
    # pandas and R write row names first, without a header: ids, unless there is a column of ids.
    left_out = [name for name in names if name == "" and "id" in names]
    if names[0] == "" and not left_out:
        names[0] = "id"
    text = text_columns([name for name in names if name not in left_out])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # float_precision, which older pandas needs
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row longer than the header
        table = pd.read_csv(
            opened(path),
            sep=separator,
            header=0,
            names=names,
            index_col=False,
            low_memory=False,
            float_precision="round_trip",
            dtype=dict.fromkeys(text, str),
            keep_default_na=False,  # an item may be called NA
            na_values={name: _MISSING for name in names if name not in text},
        ).drop(columns=left_out)
        # Whole numbers have become fractions where they stand beside some; those that were rounded come back as text.
        large = [name for name in table if table[name].dtype.kind == "f" and (table[name].abs() >= MAX_EXACT_INT).any()]
        if large:
            written = pd.read_csv(
                opened(path), sep=separator, usecols=large, index_col=False, dtype=str, keep_default_na=False
            )
            for name in large:
                if (written[name].map(whole_size) > MAX_EXACT_INT).any():
                    table[name] = written[name]
        return table


def _read_json_lines(path: Path, text_columns: TextColumns) -> pd.DataFrame:
    """A JSON object a line. Numbers stay as they are written: pandas' own reader rounds some and refuses others."""
    lines = pd.read_csv(
        opened(path),
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
            record = parse_json(line)
        except RepeatedKey as error:
            raise ValueError(f"line {number}: {error}") from None
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise ValueError(f'line {number} is no JSON object; write one a line, such as {{"id": "a", "x": 1.5}}')
        records.append(record)
    table = pd.DataFrame(records, dtype=object)
    # pandas would turn the id 7 into 7.0 where another row has none.
    kept = set(text_columns(list(table.columns))) if len(table.columns) else set()
    kept |= {
        name
        for name in table.columns
        if any(isinstance(value, int) and abs(value) > MAX_EXACT_INT for value in table[name])
    }
    as_they_are = [name for name in table.columns if name in kept]
    return pd.concat([table.drop(columns=as_they_are).infer_objects(), table[as_they_are]], axis=1)[table.columns]


def _read_parquet(path: Path, text_columns: TextColumns) -> pd.DataFrame:
    """A Parquet file; an index that it was written with is a column, called `id` if it had no name."""
    table = _index_as_column(pd.read_parquet(opened(path)))
    names = text_columns([str(name) for name in table.columns]) if len(table.columns) else []
    if any(table[name].dtype.kind == "f" for name in names):  # whole numbers become fractions where some are missing
        nullable = _index_as_column(pd.read_parquet(opened(path), dtype_backend="numpy_nullable"))
        table = table.assign(**{name: nullable[name] for name in names})
    return table


def _index_as_column(table: pd.DataFrame) -> pd.DataFrame:
    if any(name is not None for name in table.index.names):
        return table.reset_index()
    return table if isinstance(table.index, pd.RangeIndex) else table.rename_axis("id").reset_index()


def read_npy(path: Path) -> pd.DataFrame:
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


def whole_size(value: Any) -> int:
    """The absolute value of a whole number, as such or as text; 0 for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+\s*", value):
        value = int(value.strip()[:400])
    return integer_size(value)


# To read another format, add its ending and a function of the path and `text_columns`. The help of `pairsmith select`
# and `campaign create` lists the endings by hand, as it must not import pandas, which is slow; `sources.kind_of` tells
# what comes through a pipe, which has no ending.
READERS: dict[str, Callable[[Path, TextColumns], pd.DataFrame]] = {
    ".csv": partial(_read_delimited, separator=","),
    ".tsv": partial(_read_delimited, separator="\t"),
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}
