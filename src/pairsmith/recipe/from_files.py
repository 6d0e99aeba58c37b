"""Items of a file, with features by a recipe: a new one that is fitted to them, or one that is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from pairsmith.files.items import Items, RawItems, feature_columns, read_raw_items
from pairsmith.recipe.recipe import Recipe


def read_and_fit(
    path: Path,
    *,
    text: Sequence[str] = (),
    image: Sequence[str] = (),
    category: Sequence[str] = (),
    features: Sequence[str] | None = (),
    id_column: str | None = None,
    group_by: str | None = None,
    leave_out: Sequence[str] = (),
    **options: Any,
) -> tuple[Items, Recipe]:
    """The items of this file, and the recipe that was fitted to them.

    `features` are patterns of other columns to use; without any, all that hold numbers, dates or few different values;
    None means no others, and `leave_out` has columns that are none either. Image files are seen from the folder of the
    table. `options` are those of `Recipe.fit`.
    """
    raw = read_raw_items(path, id_column, group_by, [*text, *image, *category])
    chosen: list[str] | None = [] if features is None else None
    if features:
        chosen = feature_columns([raw.key, *raw.table.columns], raw.key, group_by, features, path)
    with _naming(path):
        recipe, X = Recipe.fit_apply(
            _columns(raw, group_by, *leave_out),
            text=text,
            image=image,
            category=category,
            columns=chosen,
            folder=path.parent,
            first_row=1,
            **options,
        )
    return Items(path, X, raw.groups), recipe


def read_and_apply(
    path: Path, recipe: Recipe, id_column: str | None = None, group_by: str | None = None, **options: Any
) -> Items:
    """The items of this file with the features of this recipe; `options` are those of `Recipe.apply`."""
    raw = read_raw_items(path, id_column, group_by, recipe.written_columns)
    with _naming(path):
        X = recipe.apply(_columns(raw, group_by), folder=path.parent, first_row=1, **options)
    return Items(path, X, raw.groups)


def _columns(raw: RawItems, *others: str | None) -> pd.DataFrame:
    """The table without these columns; one called id that is not the one of ids is no feature anywhere either."""
    return raw.table.drop(columns=[name for name in (*others, "id") if name in raw.table.columns])


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors begin with the file that they are about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
