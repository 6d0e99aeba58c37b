"""Which columns of a table are used and as what; their values, checked before any work, and described."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairsmith.data.names import quoted
from pairsmith.recipe.columns import as_categories, as_days, as_numbers, is_missing, kind_of
from pairsmith.recipe.embeddings import check as check_embedding
from pairsmith.recipe.embeddings import embed
from pairsmith.recipe.images import check_images, describe
from pairsmith.recipe.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

RowName = Callable[[int], str]  # what errors call a row


@dataclass(frozen=True)
class Wanted:
    """A column, what it holds (text, image, number, date or category), and the embedding that is asked for it."""

    column: str
    kind: str
    embedding: str | None = None

    def name_of(self, part: str) -> str:
        """What a feature made from it is called: price, colour=red, review_1."""
        return f"{self.column}{part}" if part == "" or part.startswith("=") else f"{self.column}_{part}"


def row_names(ids: Any, first: int = 0) -> RowName:
    """What errors call a row: its number, the first one's being `first`, and its item's id where there are ids."""
    return lambda row: f"row {row + first}" + ("" if ids is None else f" (item {quoted(ids[row])})")


def wanted_columns(
    frame: pd.DataFrame,
    row_name: RowName,
    text: Sequence[str],
    image: Sequence[str],
    category: Sequence[str],
    columns: Sequence[str] | None,
    text_embedding: str | None,
    image_embedding: str | None,
) -> tuple[list[Wanted], dict[str, str]]:
    """The columns to use, in the order of the table, and those that are not used with the reason."""
    named: dict[str, Wanted] = {}
    for option, names, kind, embedding in (
        ("text", text, "text", text_embedding),
        ("image", image, "image", image_embedding),
        ("category", category, "category", None),
    ):
        if isinstance(names, str):
            raise ValueError(f"{option} must be a list of columns, got the text {names!r}; write [{names!r}]")
        for name in names:
            _check_there(frame, name, option)
            if name in named:
                raise ValueError(f"column {name!r} is named more than once, as {named[name].kind} and as {kind}")
            named[name] = Wanted(name, kind, embedding)
    for embedding, names, option in ((text_embedding, text, "text"), (image_embedding, image, "image")):
        if embedding is not None and not names:
            raise ValueError(f"{option}_embedding is given, but no {option} column; name one with {option}")
    for name in columns or ():
        _check_there(frame, name, "columns")
    left_out: dict[str, str] = {}
    for name in frame.columns if columns is None else columns:
        if name not in named:
            kind = kind_of(frame[name].tolist(), _place(row_name, name))
            if kind in ("text", "no value"):
                why = (
                    "it has no values"
                    if kind == "no value"
                    else "it has many different texts; name it as text to use it"
                )
                if columns is not None:
                    raise ValueError(f"column {name!r} cannot be a feature: {why}")
                left_out[name] = why
            else:
                named[name] = Wanted(name, kind)
    if not named:
        raise ValueError(f"table has no column to make features from; it has {', '.join(map(str, frame.columns))}")
    return [named[name] for name in frame.columns if name in named], left_out


def checked(frame: pd.DataFrame, row_name: RowName, one: Wanted, folder: Path, fitting: bool) -> Any:
    """The values of a column, as its kind takes them; what is wrong with one is said with its row and column."""
    if one.column not in frame.columns:
        raise ValueError(f"the table has no column {one.column!r}, which the recipe was made from")
    if one.embedding:
        check_embedding(one.embedding, one.kind)
    values, place = frame[one.column].tolist(), _place(row_name, one.column)
    if one.kind == "text":
        return _as_texts(values, place, one.column, fitting)
    if one.kind == "image":
        return _as_paths(values, place, folder)
    return {"number": as_numbers, "date": as_days, "category": as_categories}[one.kind](values, place)


def described(one: Wanted, values: Any, row_name: RowName, cache: Path | None, told: Progress) -> Any:
    """What is fitted or projected: vectors of pictures and of embeddings, other values as they are."""
    if one.embedding:
        return embed(one.embedding, values, cache, told.over(one.column, len(values)))
    if one.kind == "image":
        return describe(values, _place(row_name, one.column), told.over(one.column, len(values)))
    return values


def _as_texts(values: list[Any], place: Callable[[int], str], column: str, fitting: bool) -> list[str]:
    """The texts, an empty one where there is none, which is told.

    A column without any, or with the same in all rows, is refused.
    """
    if values and not any(isinstance(value, str) for value in values if not is_missing(value)):
        if any(not is_missing(value) for value in values):
            raise ValueError(
                f"column {column!r} holds no texts but values such as {quoted(values[0])}; leave it out of text"
            )
        if fitting:
            raise ValueError(f"text column {column!r} is empty in all {len(values)} rows; leave it out")
    for row, value in enumerate(values):
        if not isinstance(value, str) and not is_missing(value):
            raise ValueError(f"{place(row)} has {quoted(value)} among texts; write it as text, or leave the column out")
    texts = [value if isinstance(value, str) else "" for value in values]
    if fitting and len(set(texts)) == 1:
        raise ValueError(f"text column {column!r} holds the same text in all {len(texts)} rows; leave it out")
    if empty := [row for row, text in enumerate(texts) if not text.strip()]:
        more = "" if len(empty) == 1 else f", the first of {len(empty)}"
        warnings.warn(f"{place(empty[0])} is empty{more}; features say nothing else of an empty text", stacklevel=2)
    return texts


def _as_paths(values: list[Any], place: Callable[[int], str], folder: Path) -> list[Path]:
    for row, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"{place(row)} names no image file; fill it in, or leave out the row")
        if not isinstance(value, str | Path):
            raise ValueError(f"{place(row)} has {quoted(value)}, where the path of an image file is needed")
        if "\0" in str(value):
            raise ValueError(f"{place(row)} has {quoted(value)}, which is no path")
    paths = [folder / value for value in values]
    check_images(paths, place)
    return paths


def _check_there(frame: pd.DataFrame, name: str, option: str) -> None:
    if name not in frame.columns:
        raise ValueError(f"{option}: there is no column {name!r}; the table has {', '.join(map(str, frame.columns))}")


def _place(row_name: RowName, column: str) -> Callable[[int], str]:
    """What to call a row of this column in an error."""
    return lambda row: f"{row_name(row)}, column {column!r}"
