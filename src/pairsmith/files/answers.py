"""Pairs of items, and answers (pairs with their outcome), read from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pairsmith.data.arrays import Floats, Ints
from pairsmith.files.formats import read_table
from pairsmith.files.items import Items, as_ids
from pairsmith.files.write_table import as_written

OUTCOMES = {
    **{"first": 1.0, "1": 1.0, "+1": 1.0, "1.0": 1.0},
    **{"second": -1.0, "-1": -1.0, "-1.0": -1.0},
    **{"tie": 0.0, "0": 0.0, "0.0": 0.0},
}


def read_answers(path: Path, items: Items) -> tuple[Ints, Floats, Floats]:
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
    outcomes = _outcomes(table, names, pairs, path, items)
    _check_contradictions(table, names, pairs, outcomes, path, items)
    counts = np.ones(len(table))
    if "count" in table.columns:
        counts = pd.to_numeric(table["count"], errors="coerce").to_numpy(dtype=np.float64)
        if not np.all(counts >= 0):
            row = table.index[int(np.argmax(~(counts >= 0)))] + 1
            raise ValueError(f"{path}: row {row} has no proper count; use a number >= 0")
    return pairs, outcomes, counts


def read_pairs(path: Path, items: Items) -> Ints:
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


def _pairs(table: pd.DataFrame, names: list[str], path: Path, items: Items) -> Ints:
    """The rows of the items that these two columns name, which must differ."""
    pairs = np.column_stack([items.rows(as_ids(table[name], path), path) for name in names])
    same = pairs[:, 0] == pairs[:, 1]
    if np.any(same):
        at = int(np.argmax(same))
        row, name = table.index[at] + 1, items.features.index[pairs[at, 0]]
        raise ValueError(f"{path}: row {row} pairs the item {name!r} with itself")
    return pairs


def _outcomes(table: pd.DataFrame, names: list[str], pairs: Ints, path: Path, items: Items) -> Floats:
    """+1, -1 or 0 of each row, by the third of these columns; of `winner` and `loser`, which are two, always +1."""
    if names[-1] == "outcome":
        words = table["outcome"].astype(str).str.strip().str.lower()
        wrong = ~words.isin(OUTCOMES)
        if wrong.any():
            at = int(np.argmax(wrong))
            row, word = table.index[at] + 1, words.iloc[at]
            raise ValueError(f"{path}: row {row} has the outcome {word!r}; use 1 or first, -1 or second, 0 or tie")
        return np.array([OUTCOMES[word] for word in words])
    if len(names) == 2:
        return np.ones(len(table))
    winner = items.find(as_written(table["winner"].astype(str), path))
    first, second = winner == pairs[:, 0], winner == pairs[:, 1]
    wrong = ~(first | second | (table["winner"].astype(str).str.strip().str.lower() == "tie").to_numpy())
    if wrong.any():
        at = int(np.argmax(wrong))
        row, named = table.index[at] + 1, str(table["winner"].iloc[at])
        raise ValueError(f"{path}: row {row} names the winner {named!r}, which is neither of the two")
    outcomes: Floats = first * 1.0 - second * 1.0
    return outcomes


def _check_contradictions(
    table: pd.DataFrame,
    used: list[str],
    pairs: Ints,
    outcomes: Floats,
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
