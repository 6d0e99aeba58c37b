"""Add items to a campaign. They have the columns the campaign was made with; its recipe makes their features."""

from __future__ import annotations

from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from pairsmith.campaign.setup.create import confine_files, item_rows
from pairsmith.campaign.setup.table import (
    Prompts,
    kind_and_column,
    parts_of,
    read_authors,
    read_prompts,
    read_shown_columns,
)
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.changes import log
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.items import StoredItems
from pairsmith.files.items import Items, read_items
from pairsmith.recipe.from_files import read_and_apply
from pairsmith.recipe.recipe import Recipe

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


def add_items(
    store: Store,
    path: Path,
    show: Sequence[str] | None = None,
    id_column: str | None = None,
    group_by: str | None = None,
) -> int:
    """Add the items of a table, which join the pairs of the next round, and return how many there are.

    Arguments that are left out are as the campaign was made. Ids must be new, and files lie in the campaign's folder.
    """
    if path.suffix == ".npy":
        raise ValueError(f"{path}: a .npy file has no ids, which must be new; use a table")
    options, columns = store.settings, store.settings.columns
    id_column, group_by = id_column or columns.id, group_by or columns.group_by
    if options.grouped and group_by is None:
        raise ValueError(f"{path}: this campaign compares items within groups; name their column with --group-by")
    if show is None:
        show = _infer_show(store, path) if columns.show is None else columns.show
    shown = [kind_and_column(entry) for entry in show]
    items = _read(store, path, id_column, group_by if options.grouped else None)
    parts = parts_of(items, read_shown_columns(path, shown), shown)
    folder, parts = confine_files(items, parts, options.folder or str(path.parent.resolve()))
    if folder is not None and options.folder is None:
        raise ValueError(f"{path}: this campaign shows no files, so that none can be added; show texts")
    prompts = None if columns.prompt is None else read_prompts(path, columns.prompt, id_column)
    authors = None if options.author_column is None else read_authors(path, options.author_column, id_column)
    if prompts is not None:
        prompts.check(items)
        _check_prompts(store, items, prompts)
    no_labels = np.zeros(0, dtype=np.int64)
    added = StoredItems(items.features, items.groups, no_labels, no_labels)
    with store.writing() as connection:
        names = {str(name).strip() for name in connection.execute(sa.select(schema.items.c.name)).scalars()}
        if taken := [name for name in added.names if str(name).strip() in names]:
            more = f" and {len(taken) - 5} more" if len(taken) > 5 else ""
            raise CampaignError(
                f"{path}: there are items called {', '.join(map(repr, taken[:5]))}{more}; ids must be new"
            )
        last_row = connection.execute(sa.select(sa.func.max(schema.items.c.row))).scalar_one()
        connection.execute(schema.items.insert(), item_rows(added, parts, last_row + 1, prompts, authors))
        log(connection, store.now(), None, "added", items=len(added.names), table=path.name)
    return len(added.names)


def _check_prompts(store: Store, items: Items, prompts: Prompts) -> None:
    """Refuse an item whose prompt differs from the prompt of its group in the campaign."""
    groups = store.items.groups
    first_of = {} if groups is None else {group: row for row, group in reversed(list(enumerate(groups)))}
    for name, group, text in zip(
        items.features.index, () if items.groups is None else items.groups, prompts.texts, strict=True
    ):
        if group in first_of and store.prompt(first_of[group]) != text:
            raise ValueError(
                f"{items.path}: item {name!r} is of the group {group!r}, but answers another prompt than the items of"
                " that group; mend the table"
            )


def _infer_show(store: Store, path: Path) -> list[str]:
    """Return what to show in a campaign that was not made from a table: ids, if the first item shows its id."""
    if store.parts(0) == [("text", str(store.items.names[0]))]:
        return []
    kinds = ", ".join(kind for kind, _ in store.parts(0))
    raise ValueError(f"{path}: say what people see of an item with --show; this campaign shows {kinds}")


def _read(store: Store, path: Path, id_column: str | None, group_by: str | None) -> Items:
    """Read the items with the features of the campaign, in its order, whatever the order in the table."""
    options = store.settings
    if options.recipe is not None:
        return read_and_apply(path, Recipe.from_json(options.recipe), id_column, group_by)
    if not options.feature_names:
        return read_items(path, id_column, None, group_by)
    items = read_items(path, id_column, [escape(name) for name in options.feature_names], group_by)
    return Items(path, items.features[options.feature_names], items.groups)
