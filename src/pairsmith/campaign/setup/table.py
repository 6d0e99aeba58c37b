"""Read the table of items: their features, what raters see of them, the prompts they answer and who made them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from pairsmith.campaign.options import TableColumns
from pairsmith.campaign.store.items import TEXT_KINDS
from pairsmith.campaign.store.media import MEDIA, refuse_web_addresses
from pairsmith.data.names import quoted
from pairsmith.files.formats import read_table
from pairsmith.files.items import Items, id_column_of, read_items, read_raw_items
from pairsmith.recipe import check_unused
from pairsmith.recipe.columns import mostly_numbers
from pairsmith.recipe.from_files import read_and_fit
from pairsmith.recipe.recipe import Recipe

KINDS = (*TEXT_KINDS, *MEDIA)
Parts = list[tuple[str, str]]  # what raters see of an item: kind, and the text or the file
_Texts = npt.NDArray[np.object_]
_Chosen = tuple[Sequence[str] | None, Sequence[str], Sequence[str]]  # columns of features, texts and images


@dataclass(frozen=True)
class Prompts:
    """The prompt that each item answers, shown above its pairs as text or as Markdown."""

    column: str
    kind: str
    texts: _Texts

    def check(self, items: Items) -> None:
        """Refuse prompts if items that answer different ones could be compared."""
        if items.groups is None:
            raise ValueError(
                f"--prompt {self.column} stands above a pair whose items both answer it; say which items these are,"
                f" with --group-by {self.column}"
            )
        first_of: dict[str, int] = {}
        for row, group in enumerate(items.groups):
            first = first_of.setdefault(group, row)
            if self.texts[row] != self.texts[first]:
                one, other = (items.features.index[at] for at in (first, row))
                raise ValueError(
                    f"{items.path}: the items {quoted(one)} and {quoted(other)} are of one group, {quoted(group)},"
                    f" but answer different prompts (column {self.column!r}); mend the table, or give"
                    f" --group-by {self.column}"
                )


@dataclass(frozen=True)
class Authors:
    """Who made each item, so that authors can be ranked too."""

    column: str
    names: _Texts


class ItemTable(NamedTuple):
    """What a table of items holds."""

    items: Items
    parts: list[Parts]
    recipe: Recipe | None
    prompts: Prompts | None
    authors: Authors | None


def read_item_table(
    path: Path,
    columns: TableColumns,
    author_column: str | None = None,
    features: Sequence[str] = (),
    text: Sequence[str] = (),
    image: Sequence[str] = (),
    no_features: bool = False,
    **recipe_options: Any,
) -> ItemTable:
    """Read a table of items. Without anything to show, raters see the items' ids.

    Features come from the columns `features`, and from the columns `text` and `image` by a recipe, which takes
    `recipe_options`. If none of these are named, all remaining columns of numbers are features; if there are none, the
    texts and images that are shown become features. A table of ids alone has no features, nor has any table with
    `no_features`. The columns of prompts and authors are neither shown nor features.
    """
    show, id_column = columns.show or [], columns.id
    prompts = None if columns.prompt is None else read_prompts(path, columns.prompt, id_column)
    authors = None if author_column is None else read_authors(path, author_column, id_column)
    hidden = ([] if prompts is None else [prompts.column]) + ([] if authors is None else [authors.column])
    check_hidden(hidden, show)
    shown = [kind_and_column(entry) for entry in show]
    if path.suffix == ".npy":
        if show:
            raise ValueError(f"{path}: a .npy file has no columns to --show; use a table")
        items = read_items(path)
        items = replace(items, features=items.features.iloc[:, :0]) if no_features else items
        return ItemTable(items, parts_of(items, pd.DataFrame(), []), None, prompts, authors)
    table = read_shown_columns(path, shown)
    recipe = None
    if no_features:
        check_unused(recipe_options)
        items = read_items(path, id_column, None, columns.group_by)
    else:
        used = [*(column for _, column in shown), *hidden]
        chosen: _Chosen = features, text, image
        if not (text or image or features) and used:
            chosen = _default_features(path, table, shown, used, columns)
        items, recipe = _read_features(path, columns, chosen, used, recipe_options)
    return ItemTable(items, parts_of(items, table, shown), recipe, prompts, authors)


def check_hidden(hidden: Sequence[str], show: Sequence[str]) -> None:
    """Refuse to show with each item the prompt, which stands above both, or the author, which would sway raters."""
    shown = [entry.partition(":")[2] for entry in show]
    for column in hidden:
        if column in shown:
            raise ValueError(
                f"--show names the column {column!r}, which --prompt shows above the pair, or --by keeps from people"
                " so that it cannot sway them; leave it out of --show"
            )


def kind_and_column(entry: str) -> tuple[str, str]:
    """Split KIND:COLUMN."""
    kind, colon, column = entry.partition(":")
    if not colon or not column or kind not in KINDS:
        raise ValueError(f"--show {entry!r} is not KIND:COLUMN; kinds are {', '.join(KINDS)}")
    return kind, column


def read_shown_columns(path: Path, shown: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Read the table with the shown columns as text. Refuse a row that has nothing to show, and web addresses."""
    columns = [column for _, column in shown]
    table = read_table(path, lambda names: [column for column in columns if column in names])
    for column in columns:
        if column not in table.columns:
            raise ValueError(f"{path}: --show names the column {column!r}; it has {', '.join(table.columns)}")
    for kind, column in shown:
        if kind in MEDIA:
            refuse_web_addresses(table[column], f"{path}: --show {kind}:{column}")
    empty = table[columns].isna() | (table[columns].astype(str).apply(lambda texts: texts.str.strip()) == "")
    if columns and empty.all(axis=1).any():
        row = table.index[int(np.argmax(empty.all(axis=1)))] + 1
        named = "column" if len(columns) == 1 else "columns"
        raise ValueError(f"{path}: row {row} has nothing to show in {named} {', '.join(map(repr, columns))}")
    return table


def parts_of(items: Items, table: pd.DataFrame, shown: Sequence[tuple[str, str]]) -> list[Parts]:
    """Return what raters see of each item: the (kind, column) entries of its row, or its id if none are shown."""
    if not shown:
        return [[("text", str(name))] for name in items.features.index]
    parts: list[Parts] = [[] for _ in range(len(table))]
    for kind, column in shown:
        for row, value in enumerate(table[column]):
            if pd.isna(value) or str(value).strip() == "":
                continue
            text = str(value)
            parts[row].append((kind, os.path.abspath(items.path.parent / text) if kind in MEDIA else text))
    return parts


def read_prompts(path: Path, named: str, id_column: str | None = None) -> Prompts:
    """Read the prompts in a column, named as COLUMN or KIND:COLUMN."""
    kind, colon, column = named.partition(":")
    if not (colon and kind in TEXT_KINDS):
        kind, column = "text", named
    return Prompts(column, kind, _read_texts(path, column, "--prompt", id_column))


def read_authors(path: Path, column: str, id_column: str | None = None) -> Authors:
    """Read who made each item."""
    return Authors(column, _read_texts(path, column, "--by", id_column))


def _read_texts(path: Path, column: str, option: str, id_column: str | None) -> _Texts:
    """Read a column as text. As in a column of groups, no item may be without."""
    if path.suffix == ".npy":
        raise ValueError(f"{path}: a .npy file has no column for {option} to name; use a table")
    texts = read_raw_items(path, id_column, column).groups
    assert texts is not None
    return texts


def _default_features(
    path: Path, table: pd.DataFrame, shown: Sequence[tuple[str, str]], used: Sequence[str], columns: TableColumns
) -> _Chosen:
    """Choose the columns that make features: the remaining numbers, or else the texts and images that are shown.

    A word among the remaining numbers is an error, no reason to do without features.
    """
    key = id_column_of(list(table.columns), columns.id)
    remaining = [name for name in table.columns if name not in (key, "id", columns.group_by, *used)]
    if any(mostly_numbers(table[name]) for name in remaining):
        return [escape(name) for name in remaining], [], []
    text = [column for kind, column in shown if kind in TEXT_KINDS]
    image = [column for kind, column in shown if kind == "image"]
    if not text and not image:
        raise ValueError(
            f"{path}: besides the id and what is shown there are no columns left for features; use"
            " --no-features to do without"
        )
    return None, text, image


def _read_features(
    path: Path, columns: TableColumns, chosen: _Chosen, used: Sequence[str], recipe_options: dict[str, Any]
) -> tuple[Items, Recipe | None]:
    """Read the items with these columns as features, and return the recipe if texts or images are among them."""
    features, text, image = chosen
    if text or image:
        return read_and_fit(
            path,
            text=text,
            image=image,
            features=features,
            id_column=columns.id,
            group_by=columns.group_by,
            leave_out=[name for name in used if name not in (*text, *image)],
            **recipe_options,
        )
    check_unused(recipe_options)
    return read_items(path, columns.id, features, columns.group_by, may_lack_features=True, may_show=True), None


def shared_features_note(features: pd.DataFrame) -> str:
    """Return a sentence if features do not tell all items apart, or else an empty string."""
    if features.shape[1] == 0:
        return "There are no features: only answers tell items apart."
    same = int(features.duplicated(keep=False).sum())
    if same == 0:
        return ""
    which = "All" if same == len(features) else f"{same} of {len(features)}"
    return f"{which} items share their features with another; only answers can tell these apart."
