"""Behind the options of pairsmith campaign create: which go together, and what to say of the table of items."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pairsmith.campaign import counted
from pairsmith.cli.opening import say, shown

if TYPE_CHECKING:
    from pairsmith.campaign.answering.goals import Goals
    from pairsmith.campaign.setup.table import ItemTable


def goals(**given: str | None) -> Goals:
    """When the campaign is over, as the options say."""
    from pairsmith.campaign.answering.goals import Goals, revised
    from pairsmith.campaign.store.schema import SECOND

    return revised(Goals(), round(time.time() * SECOND), **given)


_OPTIONS = {  # that are spelt otherwise than the library's
    "k": "-k",
    "question": "--question",
    "questions": "--question",
    "asks_again": "--answers-per-pair auto",
    "lease_seconds": "--lease",
    "viewing_seconds": "--viewing",
    "folder": "--media",
}


@contextmanager
def named_as_on_the_command_line() -> Iterator[None]:
    """Name the option of an OptionError as the command line spells it."""
    from pairsmith.campaign.options import OptionError

    try:
        yield
    except OptionError as error:
        option = _OPTIONS.get(error.option, f"--{error.option.replace('_', '-')}")
        raise ValueError(f"{option} {error.problem}") from None


def check_companions(
    better: str | None,
    labels: Path | None,
    without_and_with_features: bool,
    gold: Path | None,
    rate: float | None,
) -> None:
    """Refuse options without those that they belong to, or beside those that they rule out."""
    if better is not None and labels is None:
        raise ValueError("--better names one of the labels of --labels; give that too")
    if without_and_with_features:
        raise ValueError("--no-features leaves nothing for --features, --text and --image; leave one out")
    if rate is not None and gold is None:
        raise ValueError("--rate is the share of pairs drawn from those of --gold; give that too")


def say_what_was_made(target: str, table: ItemTable, count: int, by_choice: bool) -> None:
    """What a new campaign holds, and what its features were made from, if they were, `by_choice` or for want of any."""
    from pairsmith.campaign.setup.table import shared_features_note

    if table.recipe is not None:
        made = f"eatures are made from {'; '.join(table.recipe.sentences())}."
        say(f"F{made}" if by_choice else f"No numbers are given: f{made}")
    if note := shared_features_note(table.items.features):
        say(note)
    say(f"Made {shown(target)}: {counted(len(table.items.features), 'item')}, {counted(count, 'pair')} planned.")
