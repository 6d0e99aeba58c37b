"""Plain columns as numbers: numbers as they are, dates as days, categories as one column for each frequent one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.data.arrays import MAX_EXACT_INT, Floats, integer_size
from pairsmith.data.names import quoted

MOST_CATEGORIES = 30  # different values; a column with more is no category
_RARE = 0.01  # a category of a smaller share of the rows is one of the rare ones
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
Place = Callable[[int], str]  # what to call a row in an error


def kind_of(values: Sequence[Any], place: Place) -> str:
    """number, date, category or text, by the values; a column that is a number for some and text for others is refused.

    Text is what has too many different values for a category; `no value` what has none at all.
    """
    there = [(row, value) for row, value in enumerate(values) if not is_missing(value)]
    if not there:
        return "no value"
    numbers = [is_number(value) for _, value in there]
    if all(numbers):
        return "number"
    if any(numbers):
        fewer = sum(numbers) * 2 < len(numbers)
        row, value = there[numbers.index(fewer)]
        others = "text" if fewer else "numbers"
        raise ValueError(
            f"{place(row)}: {quoted(value)} stands among {others}; make the column all numbers or all text, or leave"
            " it out"
        )
    if all(is_date(value) for _, value in there):
        return "date"
    different = {str(value) for _, value in there}
    return "category" if len(different) <= min(MOST_CATEGORIES, max(2, len(there) // 2)) else "text"


def mostly_numbers(column: pd.Series) -> bool:
    """Whether more than half of the values that are there are numbers."""
    if column.dtype.kind in "biuf":
        return True
    numbers = [is_number(value) for value in column if not is_missing(value)]
    return sum(numbers) * 2 > len(numbers)


def as_numbers(values: Sequence[Any], place: Place) -> Floats:
    """These values, each a finite number that float64 can hold."""
    found = np.empty(len(values))
    for row, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"{place(row)} has no value; fill it in, or leave out the row or the column")
        if not is_number(value):
            raise ValueError(f"{place(row)} has {quoted(value)}, where a number is needed")
        whole = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value
        if integer_size(whole) > MAX_EXACT_INT:
            raise ValueError(f"{place(row)} has a whole number beyond 2^53; subtract an offset first")
        found[row] = float(value)
        if not np.isfinite(found[row]):
            raise ValueError(f"{place(row)} has {quoted(value)}, where a finite number is needed")
    return found


def as_days(values: Sequence[Any], place: Place) -> Floats:
    """Dates, as days since the beginning of 1970; without a time zone they are taken for UTC."""
    found = np.empty(len(values))
    for row, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"{place(row)} has no date; fill it in, or leave out the row or the column")
        try:
            if not is_date(value):
                raise ValueError
            moment = pd.Timestamp(value)
            moment = moment.tz_localize("UTC") if moment.tz is None else moment.tz_convert("UTC")
            found[row] = moment.timestamp() / 86400
        except (ValueError, OverflowError):
            raise ValueError(f"{place(row)} has {quoted(value)}, where a date such as 2024-05-31 is needed") from None
    return found


def as_categories(values: Sequence[Any], place: Place) -> list[str]:
    """These values as text; a missing one is a category of its own."""
    del place  # nothing can be wrong
    return ["" if is_missing(value) else str(value).strip() for value in values]


@dataclass(frozen=True)
class AsItIs:
    """One column of numbers, taken as it is."""

    names = ("",)
    kept = None

    @classmethod
    def fit(cls, _values: Floats) -> AsItIs:
        return cls()

    def apply(self, values: Floats) -> Floats:
        return values[:, None]

    def to_json(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_json(cls, _content: Any) -> AsItIs:
        return cls()


@dataclass(frozen=True)
class Categories:
    """One column for each frequent category, 1 where an item is of it, and one for all rare ones together."""

    levels: list[str]
    rare: bool  # whether there were rare ones; without, what is not a level is 0 everywhere
    kept = None

    @classmethod
    def fit(cls, values: Sequence[str]) -> Categories:
        counts = Counter(values)
        least = max(2, _RARE * len(values))
        frequent = [value for value, count in sorted(counts.items(), key=_most_first) if count >= least]
        levels = frequent[:MOST_CATEGORIES]
        return cls(sorted(levels), len(levels) < len(counts))

    @property
    def names(self) -> list[str]:
        return [f"={level}" for level in self.levels] + ["=(others)"] * self.rare

    def apply(self, values: Sequence[str]) -> Floats:
        place = {level: at for at, level in enumerate(self.levels)}
        found = np.zeros((len(values), len(self.levels) + 1))
        found[np.arange(len(values)), [place.get(value, len(self.levels)) for value in values]] = 1
        return found if self.rare else found[:, :-1]

    def to_json(self) -> dict[str, Any]:
        return {"levels": self.levels, "rare": self.rare}

    @classmethod
    def from_json(cls, content: Any) -> Categories:
        return cls([str(level) for level in content["levels"]], bool(content["rare"]))


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def is_missing(value: Any) -> bool:
    """Whether a cell is empty."""
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or (np.ndim(value) == 0 and bool(pd.isna(value)))
    )


def is_number(value: Any) -> bool:
    """Whether this is a number, as such or as text."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return "_" not in value
    return isinstance(value, int | float | np.number | np.bool_)


def is_date(value: Any) -> bool:
    """Whether this is a date, as such or as ISO 8601 writes it."""
    if isinstance(value, str):
        return _DATE.fullmatch(value.strip()) is not None
    return hasattr(value, "year") or isinstance(value, np.datetime64)
