"""Parts of pairsmith campaign create: its goals, checks of its options, and sentences about the table of items."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pairsmith.campaign import counted
from pairsmith.cli.inputs import check_better, display_name
from pairsmith.cli.output import say

if TYPE_CHECKING:
    from pairsmith.campaign.answering.goals import Goals
    from pairsmith.campaign.setup.table import ItemTable


def goals(**options: str | None) -> Goals:
    """Return the goals that the options set."""
    from pairsmith.campaign.answering.goals import Goals, revised
    from pairsmith.campaign.store.schema import SECOND

    return revised(Goals(), round(time.time() * SECOND), **options)


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
    """Refuse options whose companion is missing, and options that exclude each other."""
    check_better(better, labels)
    if without_and_with_features:
        raise ValueError("--no-features leaves nothing for --features, --text and --image; leave one out")
    if rate is not None and gold is None:
        raise ValueError("--rate is the share of pairs drawn from --gold; give that too")


def say_what_was_made(target: str, table: ItemTable, count: int, by_choice: bool) -> None:
    """Say what a new campaign holds, and what its features were made from: `by_choice`, or for lack of numbers."""
    from pairsmith.campaign.setup.table import shared_features_note

    if table.recipe is not None:
        made = f"eatures are made from {'; '.join(table.recipe.sentences())}."
        say(f"F{made}" if by_choice else f"No numbers are given: f{made}")
    if note := shared_features_note(table.items.features):
        say(note)
    say(f"Made {display_name(target)}: {counted(len(table.items.features), 'item')}, {counted(count, 'pair')} planned.")
