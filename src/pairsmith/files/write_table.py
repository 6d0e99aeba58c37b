"""Tables written as CSV, JSON Lines or Parquet, so that no spreadsheet runs what is in them.

In CSV a text that a spreadsheet would take for a formula has an apostrophe in front; reading (`as_written`) takes it
away.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from pairsmith.files.sources import kind_of
from pairsmith.files.write import write_whole

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def write_csv(frame: pd.DataFrame, place: Any, raw: bool = False) -> None:
    """Write a table as CSV. Unless `raw`, no text in it is a formula for a spreadsheet; reading undoes that."""
    frame = frame if raw else map_texts(frame, no_formula)
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


def no_formula(text: str) -> str:
    """What begins as a formula, after any number of apostrophes, gets one more: so what had some stays apart."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_written(texts: pd.Series, path: Path) -> pd.Series:
    """A column of this file without what `write_csv` put in front of texts; other formats hold them as they are."""
    if kind_of(path) not in (".csv", ".tsv"):
        return texts
    return texts.map(lambda text: text[1:] if str(text)[:1] == "'" and _FORMULA.match(text) else text)


def map_texts(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """This table with every text changed so."""

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    return frame.assign(**{name: frame[name].map(changed) for name in _texts_of(frame)})


def _texts_of(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]
