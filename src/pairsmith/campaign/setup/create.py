"""A table of items becomes a campaign."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign import ENDINGS, is_url
from pairsmith.campaign.answering import gold
from pairsmith.campaign.answering.goals import Goals
from pairsmith.campaign.options import LEASE_SECONDS, RANDOM_SHARE, VIEWING_SECONDS, CampaignOptions
from pairsmith.campaign.people import seals
from pairsmith.campaign.planning.rounds import Round, next_round
from pairsmith.campaign.setup.prompts import Authors, Prompts
from pairsmith.campaign.store import database, schema
from pairsmith.campaign.store.answers import pairs_to_ask
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.items import StoredItems
from pairsmith.campaign.store.media import MEDIA, MediaError, open_file, refuse_addresses, relative
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.campaign.store.wordings import check_questions, checked_instructions
from pairsmith.criteria import CRITERIA
from pairsmith.data.arrays import Ints
from pairsmith.data.errors import ArgumentError
from pairsmith.data.names import quoted
from pairsmith.data.options import as_name
from pairsmith.files.formats import read_table
from pairsmith.files.items import Items, id_column_of, read_items
from pairsmith.files.write import write_whole
from pairsmith.model.evidence import classes_of
from pairsmith.recipe import check_unused
from pairsmith.recipe.columns import mostly_numbers
from pairsmith.recipe.from_files import read_and_fit
from pairsmith.recipe.recipe import Recipe

KINDS = ("text", "markdown", "image", "audio")
MOST = 10**9  # that any number of pairs or answers may be
Shown = list[tuple[str, str]]  # what people see of an item: kind, and the text or the file


def create(
    target: str,
    items: Items,
    shown: Sequence[Shown],
    *,
    question: str | Sequence[str],
    k: int,
    labels: tuple[Ints, npt.NDArray[Any]] | None = None,
    better: Any = None,
    instructions: str = "",
    answers_per_pair: int | Literal["auto"] = 1,
    ties: bool = True,
    repeats: bool = False,
    max_per_item: int | None = None,
    objective: str = "order",
    random_share: float = RANDOM_SHARE,
    lease_seconds: float = LEASE_SECONDS,
    viewing_seconds: float = VIEWING_SECONDS,
    graded: bool = False,
    comments: bool = False,
    progress: bool = False,
    media: str | os.PathLike[str] | None = None,
    recipe: Recipe | None = None,
    columns: dict[str, Any] | None = None,
    goals: Goals | None = None,
    prompts: Prompts | None = None,
    authors: Authors | None = None,
    known: gold.Outcomes | None = None,
    gold_rate: float | None = None,
) -> int:
    """Make a campaign at `target`, a new SQLite file or a PostgreSQL URL; how many pairs its first round has.

    Several questions are asked of each pair, one after the other, with a ranking for each.
    Files that are shown lie in the folder `media` (default: that of the table of items), and are named as seen from
    there.
    With answers_per_pair="auto" each pair wants one answer, and the design may ask it again, of somebody else unless
    `repeats`.
    Of the two labels `better` is kept as +1, or the greater number, and the other as -1. The `recipe` that made the
    features is kept for items to come, and so are the `columns` of the table: show, id and group_by. The `goals` say
    when it is over. Items that answer `prompts` are grouped, so that the two of a pair answer the same. Outcomes that
    are `known` are mixed in among the pairs at the rate `gold_rate`, see `gold`.
    """
    check_place(target)
    gold.check_rate(gold_rate)
    _check_objective(objective, items, answers_per_pair)
    times = 1 if answers_per_pair == "auto" else answers_per_pair
    for name, value in (("k", k), ("answers_per_pair", times), ("max_per_item", max_per_item)):
        if value is not None and not 1 <= value <= MOST:
            raise ArgumentError(name, f" must be at least 1 and at most {MOST:,}, got {value}")
    if not 0 <= random_share <= 1:
        raise ValueError(f"random_share must be between 0 and 1, got {random_share}")
    if not 0 <= viewing_seconds <= 60:
        raise ValueError(f"viewing_seconds must be between 0 and 60, got {viewing_seconds}")
    first, *further = check_questions([question] if isinstance(question, str) else question)
    instructions = checked_instructions(instructions)
    if further and labels is not None:
        raise ValueError("labels do not say which of several questions they answer; leave them out, or ask one")
    if further and known:
        raise ValueError(
            "known outcomes do not say which of several questions they answer; leave them out, and add them with"
            " pairsmith campaign gold and --question"
        )
    if media is not None and not os.path.isdir(media):
        raise ValueError(f"media: there is no folder {os.fspath(media)}")
    if prompts is not None:
        prompts.check(items)
    folder, shown = confined(items, shown, os.path.realpath(items.path.parent if media is None else media))
    labeled, values = labels or (np.zeros(0, dtype=np.int64), np.zeros(0))
    values = np.where(values == classes_of(values, better)[1], 1, -1)
    stored = StoredItems(items.features, items.groups, labeled, values)
    settings = CampaignOptions(
        question=first,
        further=further,
        instructions=instructions,
        k=k,
        answers_per_pair=times,
        asks_again=answers_per_pair == "auto",
        ties=ties,
        repeats=repeats,
        max_per_item=max_per_item,
        objective=objective,
        random_share=random_share,
        lease_seconds=lease_seconds,
        viewing_seconds=viewing_seconds,
        graded=graded,
        comments=comments,
        feature_names=[str(name) for name in items.features.columns],
        grouped=items.groups is not None,
        id=secrets.token_hex(16),
        folder=folder,
        recipe=None if recipe is None else recipe.to_json(),
        columns=columns,
        prompt_kind="text" if prompts is None else prompts.kind,
        by=None if authors is None else authors.column,
    )
    first_round = _first_round(stored, settings, progress)
    if first_round is None:
        raise ValueError(f"{items.path}: there is no pair to ask; at least two items (of a group) are needed")
    rows = item_rows(stored, shown, 0, prompts, authors)
    _write(target, _sealed(settings, target), goals or Goals(), rows, first_round, known or {}, gold_rate)
    return len(first_round.pairs)


def _check_objective(objective: str, items: Items, answers_per_pair: int | str) -> None:
    """Refuse what rounds cannot be designed by."""
    under_effects = CRITERIA[as_name(objective, "objective", CRITERIA)].only_effects
    if answers_per_pair == "auto" and not under_effects:
        raise ArgumentError(
            "answers_per_pair", f"='auto' is for the objective 'order'; give a number for {objective!r}"
        )
    if items.features.shape[1] == 0 and not under_effects and objective != "random":
        raise ArgumentError("objective", f"={objective!r} designs by features, and there are none; leave it out")


def _first_round(items: StoredItems, settings: CampaignOptions, progress: bool) -> Round | None:
    """The first pairs, chosen when nothing is asked yet."""
    no_pairs = np.zeros((0, 2), dtype=np.int64)
    no_answers = pd.DataFrame({"first": [], "second": [], "outcome": []}, dtype=np.int64)
    start = CampaignSnapshot(items.features, items.groups, items.labeled, items.labels, no_pairs, 0, no_answers)
    return next_round(start, settings, progress=progress)


def _sealed(settings: CampaignOptions, target: str) -> CampaignOptions:
    """The settings with this user's seal, or a warning that there can be none."""
    try:
        return replace(settings, seal=seals.seal("campaign", str(settings.id), settings.folder or ""))
    except seals.NoKey as error:
        warnings.warn(f"{database.shown(target)} is made without a seal, to be confirmed later: {error}", stacklevel=3)
        return settings


def item_rows(
    items: StoredItems,
    shown: Sequence[Shown],
    first: int = 0,
    prompts: Prompts | None = None,
    authors: Authors | None = None,
) -> list[dict[str, Any]]:
    """Rows of the table of items, numbered from `first` on."""
    matrix = items.features.to_numpy(dtype="<f8")
    label_of = {int(row): value for row, value in zip(items.labeled, items.labels.tolist(), strict=True)}
    return [
        {
            "row": first + row,
            "name": name,
            "features": matrix[row].tobytes(),
            "grouped": None if items.groups is None else str(items.groups[row]),
            "label": label_of.get(row),
            "parts": shown[row],
            "prompt": None if prompts is None else prompts.texts[row],
            "author": None if authors is None else authors.names[row],
        }
        for row, name in enumerate(items.features.index)
    ]


def _write(
    target: str,
    settings: CampaignOptions,
    goals: Goals,
    rows: list[dict[str, Any]],
    first_round: Round,
    known: gold.Outcomes,
    gold_rate: float | None,
) -> None:
    """Put the campaign at its place: whole, or not at all."""

    def fill(connection: sa.Connection) -> None:
        made = {"id": 1, "version": schema.VERSION, "settings": settings.to_stored(), "goals": goals.to_stored()}
        connection.execute(schema.campaign.insert().values(made))
        connection.execute(schema.items.insert(), rows)
        asked = pairs_to_ask(first_round.pairs, first_round.why, 1, settings)
        connection.execute(schema.pairs.insert(), asked)
        gold.keep(connection, known, gold_rate)

    if is_url(target):
        database.create(target, fill)
        return

    def write(part: Path) -> None:
        database.create(target, fill, part)
        check_place(target)  # planning took its time

    write_whole(target, write)


def check_place(target: str) -> None:
    """Refuse a place that cannot be, before any work."""
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


def read_items_and_parts(
    path: Path,
    show: Sequence[str],
    id_column: str | None = None,
    features: Sequence[str] = (),
    group_by: str | None = None,
    text: Sequence[str] = (),
    image: Sequence[str] = (),
    no_features: bool = False,
    aside: Sequence[str] = (),
    **making: Any,
) -> tuple[Items, list[Shown], Recipe | None]:
    """The items of a table and what people see of each: `show` has KIND:COLUMN, in order; nothing means ids.

    And the recipe by which features were made from the columns `text` and `image`. Where none are named, no `features`
    either, and besides what is shown there are no numbers, these are the texts and images shown. With `no_features`,
    or in a table of ids alone, there are none. Columns `aside` are neither shown nor features: the prompt, who wrote an
    answer. `making` are options of `Recipe.fit`.
    """
    wanted = [kind_and_column(entry) for entry in show]
    if path.suffix == ".npy":
        if show:
            raise ValueError(f"{path}: a .npy file has no columns to --show; use a table")
        items = read_items(path)
        items = replace(items, features=items.features.iloc[:, :0]) if no_features else items
        return items, [[("text", str(name))] for name in items.features.index], None
    table = read_shown(path, wanted)
    if no_features:
        check_unused(making)
        items, recipe = read_items(path, id_column, None, group_by), None
    else:
        items, recipe = _items_and_recipe(
            path, table, wanted, aside, id_column, features, group_by, text, image, making
        )
    return items, parts_of(items, table, wanted), recipe


def read_shown(path: Path, wanted: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """The table, in which the columns that are shown are text; each row has something to show."""
    columns = [column for _, column in wanted]
    table = read_table(path, lambda names: [column for column in columns if column in names])
    for column in columns:
        if column not in table.columns:
            raise ValueError(f"{path}: --show names the column {column!r}; it has {', '.join(table.columns)}")
    for kind, column in wanted:
        if kind in MEDIA:
            refuse_addresses(table[column], f"{path}: --show {kind}:{column}")
    empty = table[columns].isna() | (table[columns].astype(str).apply(lambda texts: texts.str.strip()) == "")
    if columns and empty.all(axis=1).any():
        row = table.index[int(np.argmax(empty.all(axis=1)))] + 1
        named = "column" if len(columns) == 1 else "columns"
        raise ValueError(f"{path}: row {row} has nothing to show in {named} {', '.join(map(repr, columns))}")
    return table


def parts_of(items: Items, table: pd.DataFrame, wanted: Sequence[tuple[str, str]]) -> list[Shown]:
    """What people see of each of these items: the (kind, column) of their table, or else their ids."""
    if not wanted:
        return [[("text", str(name))] for name in items.features.index]
    path = items.path
    shown: list[Shown] = [[] for _ in range(len(table))]
    for kind, column in wanted:
        for row, value in enumerate(table[column]):
            if pd.isna(value) or str(value).strip() == "":
                continue
            text = str(value)
            shown[row].append((kind, os.path.abspath(path.parent / text) if kind in MEDIA else text))
    return shown


def _items_and_recipe(
    path: Path,
    table: pd.DataFrame,
    shown: Sequence[tuple[str, str]],
    aside: Sequence[str],
    id_column: str | None,
    features: Sequence[str],
    group_by: str | None,
    text: Sequence[str],
    image: Sequence[str],
    making: dict[str, Any],
) -> tuple[Items, Recipe | None]:
    """The items with the features that are asked for, or else with those that can be had."""
    key, columns = id_column_of(list(table.columns), id_column), [*(column for _, column in shown), *aside]
    others: Sequence[str] | None = features
    if not (text or image or features) and columns:
        left = [name for name in table.columns if name not in (key, "id", group_by, *columns)]
        if any(mostly_numbers(table[name]) for name in left):  # a word among them is an error, no reason to do without
            features = [escape(name) for name in left]
        else:
            text = [column for kind, column in shown if kind in ("text", "markdown")]
            image = [column for kind, column in shown if kind == "image"]
            others = None
            if not text and not image:
                raise ValueError(
                    f"{path}: besides the id and what is shown there are no columns left for features; use"
                    " --no-features to do without"
                )
    if text or image:
        return read_and_fit(
            path,
            text=text,
            image=image,
            features=others,
            id_column=id_column,
            group_by=group_by,
            leave_out=[name for name in columns if name not in (*text, *image)],
            **making,
        )
    check_unused(making)
    return read_items(path, id_column, features, group_by, may_lack_features=True, may_show=True), None


def told_of_features(features: pd.DataFrame) -> str:
    """What to say where features do not tell items apart, nothing where they do."""
    if features.shape[1] == 0:
        return "There are no features: only answers tell items apart."
    same = int(features.duplicated(keep=False).sum())
    if same == 0:
        return ""
    which = "All" if same == len(features) else f"{same} of {len(features)}"
    return f"{which} items share their features with another; only answers can tell these apart."


def kind_and_column(entry: str) -> tuple[str, str]:
    kind, colon, column = entry.partition(":")
    if not colon or not column or kind not in KINDS:
        raise ValueError(f"--show {entry!r} is not KIND:COLUMN; kinds are {', '.join(KINDS)}")
    return kind, column


def confined(items: Items, shown: Sequence[Shown], folder: str) -> tuple[str | None, list[Shown]]:
    """The folder, None where no files are shown, and what is shown with files as seen from there, each looked at."""

    def seen_from_there(item: str, kind: str, value: str) -> str:
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

    found = [
        [(kind, seen_from_there(name, kind, value) if kind in MEDIA else value) for kind, value in parts]
        for name, parts in zip(items.features.index, shown, strict=True)
    ]
    return folder if any(kind in MEDIA for parts in shown for kind, _ in parts) else None, found
