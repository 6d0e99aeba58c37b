"""Pairs of items, and answers (pairs with their outcome), read from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from pairsmith.data.arrays import MAX_WEIGHT, MIN_WEIGHT, Floats, Ints, improper_weights
from pairsmith.data.names import quoted
from pairsmith.data.outcomes import WORDS, lacks_losses
from pairsmith.files.formats import read_table
from pairsmith.files.items import Items, as_ids
from pairsmith.files.write_table import as_written

OUTCOMES = WORDS | {"1": 1.0, "+1": 1.0, "1.0": 1.0, "-1": -1.0, "-1.0": -1.0, "0": 0.0, "0.0": 0.0}


LEFT_OUT = ("struck", "excluded")  # by the column `status` of a campaign's export of all answers
RATERS = ("rater",)  # columns that say who answered


class AnswerTable(NamedTuple):
    """The answers of a file."""

    pairs: Ints  # (n, 2) rows of the items
    outcomes: Floats  # +1 first preferred, -1 second, 0 tie
    counts: Floats  # how often each was answered so
    raters: npt.NDArray[np.object_] | None  # who answered, where the file says
    left: Ints  # the row of the item that was shown first, or left; -1 where nobody says
    open: int  # rows without an outcome, which are no answers yet
    rows: Ints  # the rows of the file that hold these answers, from 0


def read_answers(
    path: Path, items: Items, raters: Sequence[str] = RATERS, several_questions: bool = False
) -> AnswerTable:
    """Pairs with their outcomes, and who gave them, where that is told.

    Columns: `first` and `second` with `outcome` (1, -1, 0, or first, second, tie), or with `winner` (an id, or tie), or
    else `winner` and `loser`; `count` where an answer stands for several; `rater` for who answered, and
    `left` for the item that was shown first. A row without outcome is no answer yet; one whose `status` is struck or
    excluded does not count. `raters` are the columns that may say who answered. An export of a campaign whose answers
    are to several questions is refused unless `several_questions`.
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
        return [*ids(columns), *({"winner", "loser", "left", *RATERS} & set(columns) - set(ids(columns)))]

    table = read_table(path, texts, may_be_empty=True)
    names, open_rows = ids(list(table.columns)), 0
    if len(names) == 3:
        told = table[names[2]].notna() & (table[names[2]].astype(str).str.strip() != "")
        table, open_rows = table[told], int(np.sum(~told))
    if "status" in table.columns:
        table = table[~table["status"].astype(str).str.strip().str.lower().isin(LEFT_OUT)]
    # Elsewhere a question may be the prompt of a pair.
    if not several_questions and {"question", "rater", "why"} <= set(table.columns):
        count = table["question"].nunique()
        if count > 1:
            raise ValueError(
                f"{path} holds answers to {count} questions; export those to one with"
                " pairsmith campaign export --question"
            )
    pairs = _pairs(table, names[:2], path, items)
    outcomes = _outcomes(table, names, pairs, path, items)
    _check_contradictions(table, names, pairs, outcomes, path, items)
    counts = np.ones(len(table))
    if "count" in table.columns:
        counts = pd.to_numeric(table["count"], errors="coerce").to_numpy(dtype=np.float64)
        if (odd := improper_weights(counts)).any():
            row = table.index[int(np.argmax(odd))] + 1
            raise ValueError(
                f"{path}: row {row} has no proper count; use 0 or a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}"
            )
        if len(counts) and not counts.any():
            raise ValueError(f"{path}: every count is 0, so that there are no answers")
    who = next((name for name in raters if name in table.columns), None)
    named = None if who is None else as_ids(table[who], path).to_numpy(dtype=object)
    left = _left(table, pairs, path, items)
    return AnswerTable(pairs, outcomes, counts, named, left, open_rows, table.index.to_numpy(dtype=np.int64))


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
        raise ValueError(f"{path}: row {row} pairs the item {quoted(name)} with itself")
    return pairs


def _outcomes(table: pd.DataFrame, names: list[str], pairs: Ints, path: Path, items: Items) -> Floats:
    """+1, -1 or 0 of each row, by the third of these columns; of `winner` and `loser`, which are two, always +1."""
    if names[-1] == "outcome":
        words = table["outcome"].astype(str).str.strip().str.lower()
        wrong = ~words.isin(OUTCOMES)
        if wrong.any():
            at = int(np.argmax(wrong))
            row, word = table.index[at] + 1, words.iloc[at]
            raise ValueError(
                f"{path}: row {row} has the outcome {quoted(word)}; use 1 or first, -1 or second, 0 or tie"
            )
        found: Floats = np.array([OUTCOMES[word] for word in words])
        # An export of a campaign, which has a column why, means ties by its zeros.
        if lacks_losses(found) and not (words == "tie").any() and "why" not in table.columns:
            raise ValueError(
                f"{path}: column 'outcome' holds 0 and 1 but no -1, and 0 means a tie; write -1 where the second was"
                " preferred, or tie where it is one"
            )
        return found
    if len(names) == 2:
        return np.ones(len(table))
    winner = items.find(as_written(table["winner"].astype(str), path))
    first, second = winner == pairs[:, 0], winner == pairs[:, 1]
    wrong = ~(first | second | (table["winner"].astype(str).str.strip().str.lower() == "tie").to_numpy())
    if wrong.any():
        at = int(np.argmax(wrong))
        row, named = table.index[at] + 1, str(table["winner"].iloc[at])
        raise ValueError(f"{path}: row {row} names the winner {quoted(named)}, which is neither of the two")
    outcomes: Floats = first * 1.0 - second * 1.0
    return outcomes


def _left(table: pd.DataFrame, pairs: Ints, path: Path, items: Items) -> Ints:
    """The row of the item that was shown first, by the column `left`; -1 where it has nothing."""
    left = np.full(len(table), -1)
    if "left" not in table.columns:
        return left
    told = (table["left"].notna() & (table["left"].astype(str).str.strip() != "")).to_numpy()
    left[told] = items.rows(as_written(table["left"][told].astype(str), path), path)
    wrong = told & (left != pairs[:, 0]) & (left != pairs[:, 1])
    if wrong.any():
        row = table.index[int(np.argmax(wrong))] + 1
        raise ValueError(f"{path}: row {row} names an item as left that is neither of the two")
    return left


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
                f"{path}: row {table.index[at] + 1} has the {name} {quoted(str(table[name].iloc[at]))}, which"
                f" contradicts its {' and '.join(used)}; correct it, or leave the column out"
            )
