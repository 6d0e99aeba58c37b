"""Items added to a campaign that has begun: the same columns, or the recipe of its features, make theirs."""

from __future__ import annotations

from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from pairsmith.campaign.setup.create import Shown, confined, item_rows, kind_and_column, parts_of, read_shown
from pairsmith.campaign.setup.prompts import Prompts, read_authors, read_prompts
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
    """Add the items of a table, which are in the pairs of the next round; how many.

    What the arguments leave out is as the campaign was made. Ids must be new, and files lie in the campaign's folder.
    """
    if path.suffix == ".npy":
        raise ValueError(f"{path}: a .npy file has no ids, which must be new; use a table")
    settings, made = store.settings, store.settings.columns or {}
    group_by = group_by or made.get("group_by")
    if settings.grouped and group_by is None:
        raise ValueError(f"{path}: this campaign compares items within groups; name their column with --group-by")
    if show is None and made.get("show") is None:
        show = _told_by_parts(store, path)
    wanted = [kind_and_column(entry) for entry in (made["show"] if show is None else show)]
    items = _read(store, path, id_column or made.get("id"), group_by if settings.grouped else None)
    shown: list[Shown] = parts_of(items, read_shown(path, wanted), wanted)
    folder, shown = confined(items, shown, settings.folder or str(path.parent.resolve()))
    if folder is not None and settings.folder is None:
        raise ValueError(f"{path}: this campaign shows no files, so that none can be added; show texts")
    id_column = id_column or made.get("id")
    prompts = read_prompts(path, made["prompt"], id_column) if made.get("prompt") else None
    authors = None if settings.by is None else read_authors(path, settings.by, id_column)
    if prompts is not None:
        prompts.check(items)
        _check_prompts(store, items, prompts)
    none = np.zeros(0, dtype=np.int64)
    stored = StoredItems(items.features, items.groups, none, none)
    with store.writing() as connection:
        there = {str(name).strip() for name in connection.execute(sa.select(schema.items.c.name)).scalars()}
        if twice := [name for name in stored.names if str(name).strip() in there]:
            more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
            raise CampaignError(
                f"{path}: there are items called {', '.join(map(repr, twice[:5]))}{more}; ids must be new"
            )
        last = connection.execute(sa.select(sa.func.max(schema.items.c.row))).scalar_one()
        connection.execute(schema.items.insert(), item_rows(stored, shown, last + 1, prompts, authors))
        log(connection, store.now(), None, "added", items=len(stored.names), table=path.name)
    return len(stored.names)


def _check_prompts(store: Store, items: Items, prompts: Prompts) -> None:
    """Refuse items of a group whose prompt is another one than theirs."""
    known = store.items.groups
    first_of = {} if known is None else {group: row for row, group in reversed(list(enumerate(known)))}
    for name, group, text in zip(
        items.features.index, () if items.groups is None else items.groups, prompts.texts, strict=True
    ):
        if group in first_of and store.prompt(first_of[group]) != text:
            raise ValueError(
                f"{items.path}: item {name!r} is of the group {group!r}, but answers another prompt than the items of"
                " that group; mend the table"
            )


def _told_by_parts(store: Store, path: Path) -> list[str]:
    """What to show where an earlier version did not note it: ids, if that is what the first item shows."""
    if store.parts(0) == [("text", str(store.items.names[0]))]:
        return []
    kinds = ", ".join(kind for kind, _ in store.parts(0))
    raise ValueError(f"{path}: say what people see of an item with --show; this campaign shows {kinds}")


def _read(store: Store, path: Path, id_column: str | None, group_by: str | None) -> Items:
    settings = store.settings
    if settings.recipe is not None:
        return read_and_apply(path, Recipe.from_json(settings.recipe), id_column, group_by)
    if not settings.feature_names:
        return read_items(path, id_column, None, group_by)
    # By name, in the order of the campaign, whatever the order in the table.
    found = read_items(path, id_column, [escape(name) for name in settings.feature_names], group_by)
    return Items(path, found.features[settings.feature_names], found.groups)
