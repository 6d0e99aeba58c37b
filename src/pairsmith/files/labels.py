"""Labels of items, read from files: a column of ids and one of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pairsmith.data.names import quoted
from pairsmith.files.formats import read_table
from pairsmith.files.items import Items, as_ids


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
        return as_ids(table[key], path), None, ""
    table = table[table[label].notna() & (table[label].astype(str).str.strip() != "")]
    return as_ids(table[key], path), table[label].to_numpy(), label


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
        some = ", ".join(sorted({quoted(value) for value in values})[:3])
        raise ValueError(f"{path}: column {label!r} holds {some}; labels are two words, two numbers, or true and false")
    return np.array([value.strip() if isinstance(value, str) else value for value in values])
