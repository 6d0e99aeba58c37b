"""Parts of pairsmith campaign create: checks of its options, the table of items, and sentences about it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pairsmith.campaign import counted
from pairsmith.cli.inputs import check_better, display_name
from pairsmith.cli.output import say

if TYPE_CHECKING:
    from pairsmith.campaign.answering.goals import Goals
    from pairsmith.campaign.setup.create import Shown
    from pairsmith.campaign.setup.prompts import Authors, Prompts
    from pairsmith.files.items import Items
    from pairsmith.recipe.recipe import Recipe


def goals(**options: str | None) -> Goals:
    """Return the goals that the options set."""
    from pairsmith.campaign.answering.goals import Goals, revised
    from pairsmith.campaign.store.schema import SECOND

    return revised(Goals(), round(time.time() * SECOND), **options)


def check_numbers(objective: str, lease: float, random_share: float, viewing: float, rate: float | None) -> None:
    """Refuse values out of bounds."""
    from pairsmith.campaign.answering.gold import check_rate
    from pairsmith.criteria import CRITERIA

    check_rate(rate)
    if objective not in CRITERIA:
        raise ValueError(f"--objective: {objective!r} is unknown; choose one of {', '.join(CRITERIA)}")
    if not 0.1 <= lease <= 1440:
        raise ValueError(f"--lease must be between 0.1 and 1440 minutes, got {lease}")
    if not 0 <= random_share <= 1:
        raise ValueError(f"--random-share must be between 0 and 1, such as 0.1 for one pair in ten, got {random_share}")
    if not 0 <= viewing <= 60:
        raise ValueError(f"--viewing must be between 0 and 60 seconds, got {viewing}")


def check_companions(
    media: Path | None,
    better: str | None,
    labels: Path | None,
    without_and_with_features: bool,
    gold: Path | None,
    rate: float | None,
) -> None:
    """Refuse options whose companion is missing, and options that exclude each other."""
    if media is not None and not media.is_dir():
        raise ValueError(f"--media {media}: there is no such folder")
    check_better(better, labels)
    if without_and_with_features:
        raise ValueError("--no-features leaves nothing for --features, --text and --image; leave one out")
    if rate is not None and gold is None:
        raise ValueError("--rate is the share of pairs drawn from --gold; give that too")


class Table(NamedTuple):
    """A table of items as `create` takes it."""

    items: Items
    parts: list[Shown]
    recipe: Recipe | None
    prompts: Prompts | None
    authors: Authors | None


def read_table(
    path: Path,
    named: dict[str, Any],
    features: list[str] | None,
    text: list[str] | None,
    image: list[str] | None,
    by: str | None,
    no_features: bool,
    how: dict[str, Any],
) -> Table:
    """Read the table of items. `named` holds the columns show, id, group_by and prompt."""
    from pairsmith.campaign.setup.create import read_items_and_parts
    from pairsmith.campaign.setup.prompts import read_authors, read_prompts

    show, id_column = named["show"], named["id"]
    prompts = None if named["prompt"] is None else read_prompts(path, named["prompt"], id_column)
    authors = None if by is None else read_authors(path, by, id_column)
    aside = ([] if prompts is None else [prompts.column]) + ([] if by is None else [by])
    check_aside(aside, show)
    items, parts, recipe = read_items_and_parts(
        path, show, id_column, features or (), named["group_by"], text or (), image or (), no_features, aside, **how
    )
    return Table(items, parts, recipe, prompts, authors)


def say_what_was_made(target: str, table: Table, count: int, by_choice: bool) -> None:
    """Say what a new campaign holds, and what its features were made from: `by_choice`, or for lack of numbers."""
    from pairsmith.campaign.setup.create import told_of_features

    if table.recipe is not None:
        made = f"eatures are made from {'; '.join(table.recipe.sentences())}."
        say(f"F{made}" if by_choice else f"No numbers are given: f{made}")
    if told := told_of_features(table.items.features):
        say(told)
    say(f"Made {display_name(target)}: {counted(len(table.items.features), 'item')}, {counted(count, 'pair')} planned.")


def check_aside(aside: list[str], show: Sequence[str]) -> None:
    """Refuse to show the prompt with each item, which stands above the pair, or the maker, who might sway raters."""
    shown = [entry.partition(":")[2] for entry in show]
    for column in aside:
        if column in shown:
            raise ValueError(
                f"--show names the column {column!r}, which --prompt shows above the pair, or --by keeps from people"
                " so that it cannot sway them; leave it out of --show"
            )
