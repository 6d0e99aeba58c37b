"""Make a campaign from its items and options."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign import ENDINGS, is_url
from pairsmith.campaign.answering import gold
from pairsmith.campaign.answering.goals import Goals
from pairsmith.campaign.options import CampaignOptions, OptionError
from pairsmith.campaign.people import seals
from pairsmith.campaign.planning.rounds import Round, next_round
from pairsmith.campaign.setup.table import Authors, Parts, Prompts
from pairsmith.campaign.store import database, schema
from pairsmith.campaign.store.answers import new_pair_rows
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.items import StoredItems
from pairsmith.campaign.store.media import MEDIA, MediaError, open_file, relative
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.criteria import CRITERIA
from pairsmith.data.arrays import Ints
from pairsmith.data.names import quoted
from pairsmith.files.items import Items
from pairsmith.files.write import write_whole
from pairsmith.model.evidence import classes_of
from pairsmith.recipe.recipe import Recipe


def create(
    target: str,
    items: Items,
    parts: Sequence[Parts],
    options: CampaignOptions,
    *,
    labels: tuple[Ints, npt.NDArray[Any]] | None = None,
    better: Any = None,
    recipe: Recipe | None = None,
    prompts: Prompts | None = None,
    authors: Authors | None = None,
    goals: Goals | None = None,
    gold_outcomes: gold.Outcomes | None = None,
    gold_rate: float | None = None,
    progress: bool = False,
) -> int:
    """Make a campaign at `target`, a new SQLite file or a PostgreSQL URL, and return the size of its first round.

    `parts` are what raters see of each item; files lie in `options.folder` (default: the folder of the table of items).
    Of the two labels, `better` or else the greater number is stored as 1, the other as -1. The `recipe` that made the
    features is stored for items that are added later. Items that answer `prompts` are grouped, so that the two items of
    a pair answer the same one. Pairs with a known outcome, `gold_outcomes`, are mixed in at the rate `gold_rate`.
    """
    check_place(target)
    gold.check_rate(gold_rate)
    options = options.checked()
    if (
        items.features.shape[1] == 0
        and options.objective != "random"
        and not CRITERIA[options.objective].needs_gaussian_process
    ):
        problem = f"{options.objective} designs by features, and there are none; leave it out"
        raise OptionError("objective", problem)
    if len(options.questions) > 1 and labels is not None:
        raise ValueError("labels do not say which of several questions they answer; leave them out, or ask one")
    if len(options.questions) > 1 and gold_outcomes:
        raise ValueError(
            "known outcomes do not say which of several questions they answer; leave them out, and add them with"
            " pairsmith campaign gold and --question"
        )
    if prompts is not None:
        prompts.check(items)
    folder, parts = confine_files(items, parts, os.path.realpath(options.folder or items.path.parent))
    labeled, values = labels or (np.zeros(0, dtype=np.int64), np.zeros(0))
    values = np.where(values == classes_of(values, better)[1], 1, -1)
    stored_items = StoredItems(items.features, items.groups, labeled, values)
    options = replace(
        options,
        id=secrets.token_hex(16),
        folder=folder,
        feature_names=[str(name) for name in items.features.columns],
        grouped=items.groups is not None,
        recipe=None if recipe is None else recipe.to_json(),
        prompt_kind="text" if prompts is None else prompts.kind,
        author_column=None if authors is None else authors.column,
    )
    first_round = _plan_first_round(stored_items, options, progress)
    if first_round is None:
        raise ValueError(f"{items.path}: there is no pair to ask; at least two items (of a group) are needed")
    options = _sealed(options, target)

    def fill(connection: sa.Connection) -> None:
        stored_goals = (goals or Goals()).to_stored()
        row = {"id": 1, "version": schema.VERSION, "settings": options.to_stored(), "goals": stored_goals}
        connection.execute(schema.campaign.insert().values(row))
        connection.execute(schema.items.insert(), item_rows(stored_items, parts, 0, prompts, authors))
        connection.execute(schema.pairs.insert(), new_pair_rows(first_round.pairs, first_round.why, 1, options))
        gold.keep(connection, gold_outcomes or {}, gold_rate)

    _write_whole(target, fill)
    return len(first_round.pairs)


def check_place(target: str) -> None:
    """Refuse a place that cannot hold a new campaign, before any work is done."""
    database.check_kind(target)
    if is_url(target):
        return
    path = Path(target)
    if path.exists():
        raise CampaignError(f"{path} exists already; choose another name, or delete it first")
    if not path.parent.is_dir():
        raise CampaignError(f"{path}: there is no folder {path.parent}")
    if path.suffix not in ENDINGS:
        raise CampaignError(f"{path}: call the campaign something.db, or give a postgresql:// URL")


def item_rows(
    items: StoredItems,
    parts: Sequence[Parts],
    first_row: int = 0,
    prompts: Prompts | None = None,
    authors: Authors | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of the table of items, numbered from `first_row`."""
    matrix = items.features.to_numpy(dtype="<f8")
    label_of = {int(row): value for row, value in zip(items.labeled, items.labels.tolist(), strict=True)}
    return [
        {
            "row": first_row + row,
            "name": name,
            "features": matrix[row].tobytes(),
            "grouped": None if items.groups is None else str(items.groups[row]),
            "label": label_of.get(row),
            "parts": parts[row],
            "prompt": None if prompts is None else prompts.texts[row],
            "author": None if authors is None else authors.names[row],
        }
        for row, name in enumerate(items.features.index)
    ]


def confine_files(items: Items, parts: Sequence[Parts], folder: str) -> tuple[str | None, list[Parts]]:
    """Return the parts with their files named relative to the folder, after opening each file.

    The first value is the folder, or None if no files are shown.
    """

    def path_in_folder(item: str, kind: str, value: str) -> str:
        try:
            path = relative(folder, value)
        except MediaError:
            raise ValueError(
                f"{items.path}: item {quoted(item)} shows the file {quoted(value)}, which lies outside {folder};"
                " give a folder that holds all files with --media"
            ) from None
        try:
            open_file(folder, path, kind).close()
        except MediaError as error:
            raise ValueError(
                f"{items.path}: item {quoted(item)} shows the file {quoted(value)}, which {error}"
            ) from None
        return path

    confined = [
        [(kind, path_in_folder(name, kind, value) if kind in MEDIA else value) for kind, value in own]
        for name, own in zip(items.features.index, parts, strict=True)
    ]
    return folder if any(kind in MEDIA for own in parts for kind, _ in own) else None, confined


def _plan_first_round(items: StoredItems, options: CampaignOptions, progress: bool) -> Round | None:
    no_pairs = np.zeros((0, 2), dtype=np.int64)
    no_answers = pd.DataFrame({"first": [], "second": [], "outcome": []}, dtype=np.int64)
    start = CampaignSnapshot(items.features, items.groups, items.labeled, items.labels, no_pairs, 0, no_answers)
    return next_round(start, options, progress=progress)


def _sealed(options: CampaignOptions, target: str) -> CampaignOptions:
    """Return the options with this user's seal, or warn that there is no key to make one with."""
    try:
        return replace(options, seal=seals.seal("campaign", str(options.id), options.folder or ""))
    except seals.NoKey as error:
        warnings.warn(
            f"{database.without_passwords(target)} is made without a seal, to be confirmed later: {error}", stacklevel=3
        )
        return options


def _write_whole(target: str, fill: Callable[[sa.Connection], None]) -> None:
    """Make the database and let `fill` write to it, or leave nothing behind."""
    if is_url(target):
        database.create(target, fill)
        return

    def write(part: Path) -> None:
        database.create(target, fill, part)
        check_place(target)  # again: planning took a while

    write_whole(target, write)
