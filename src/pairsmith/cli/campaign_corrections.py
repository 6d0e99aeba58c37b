"""Commands by which organisers look after a campaign: whose answers count, its wording, its items, a copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairsmith.campaign import counted
from pairsmith.cli.inputs import IdColumn, read_instructions
from pairsmith.cli.opening import (
    Campaign,
    WhichQuestion,
    needs_app,
    nothing_to_learn,
    open_campaign,
    say,
    shown,
    which_question,
)

if TYPE_CHECKING:
    from rich.table import Table

Names = Annotated[list[str], typer.Argument(help="Whose answers.", metavar="NAME...")]


def exclude(target: Campaign, names: Names) -> None:
    """Leave all answers of some raters out of model, design and exports. Nothing is deleted.

    [bold]pairsmith campaign exclude retina.db anna[/bold]
    """
    _exclude(target, names, True)


def include(target: Campaign, names: Names) -> None:
    """Count the answers of excluded raters again.

    [bold]pairsmith campaign include retina.db anna[/bold]
    """
    _exclude(target, names, False)


def _exclude(target: str, names: list[str], excluded: bool) -> None:
    needs_app()
    from pairsmith.campaign.answering import corrections

    with open_campaign(target) as store:
        with store.reading() as connection:
            corrections.check_raters(connection, names)  # all of them, before the first
        for name in names:
            given = counted(corrections.exclude(store, name, excluded), "answer")
            say(f"{name}: excluded, {given} left out." if excluded else f"{name}: included, {given} counted.")


def edit(
    target: Campaign,
    question: Annotated[str | None, typer.Option(help="What people are asked of each pair.")] = None,
    instructions: Annotated[
        Path | None,
        typer.Option(help="Instructions, shown before the first pair and on demand: a text or Markdown file."),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(help="Which question is changed, where there are several.", metavar="NUMBER", min=1),
    ] = None,
) -> None:
    """Change the question or the instructions, from each rater's next pair on. Every version is kept.

    [bold]pairsmith campaign edit retina.db --question 'Which eye looks worse to you?'[/bold]
    """
    needs_app()
    from pairsmith.campaign.store import wordings

    if question is None and instructions is None:
        raise ValueError("there is nothing to change; give --question, --instructions or both")
    if number is not None and question is None:
        raise ValueError("--number says which question is changed; give --question too")
    guidance = None if instructions is None else read_instructions(instructions)
    with open_campaign(target) as store:
        which = 0 if question is None else which_question(store, number, "--number")
        before = wordings.current(store, which)
        now = wordings.edit(store, question, guidance, which=which)
    if now == before:
        say(f"{shown(target)} asks that already; nothing is changed.")
    else:
        say(f"{shown(target)}: wording {now.number} is shown from the next pairs on: {now.question}")


def add(
    target: Campaign,
    items: Annotated[
        Path, typer.Argument(help="More items: .csv, .tsv, .jsonl or .parquet, with the columns of the first.")
    ],
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="What people see of an item, as KIND:COLUMN. May be repeated. Default: as the campaign was made.",
            metavar="KIND:COLUMN",
        ),
    ] = None,
    id_column: IdColumn = None,
    group_by: Annotated[
        str | None, typer.Option(help="The column of groups. Default: as the campaign was made.", metavar="COLUMN")
    ] = None,
) -> None:
    """Add items to a campaign, also while it is served; they are in the pairs of the next round.

    Their features are the same columns, or are made as those of the first items were.

    [bold]pairsmith campaign add retina.db more.csv[/bold]
    """
    needs_app()
    from pairsmith.campaign.setup.additions import add_items

    with open_campaign(target) as store:
        count = add_items(store, items, show, id_column, group_by)
        total = len(store.items.names)
    say(f"Added {counted(count, 'item')} to {shown(target)}, which has {total} now.")


def backup(
    target: Campaign,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to put the copy, such as copy.db.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Copy a campaign, also while it is served, and check the copy. It is a campaign by itself.

    [bold]pairsmith campaign backup retina.db -o retina-copy.db[/bold]
    """
    needs_app()
    from pairsmith.campaign.store.backup import copy

    items, answers = copy(target, output, force)
    say(f"Wrote {output}: {counted(items, 'item')}, {counted(answers, 'answer')}. It was read again, and is whole.")


def raters(target: Campaign, question: WhichQuestion = None) -> None:
    """Print how well each rater answers, and who looks as if at random, or one-sided.

    [bold]pairsmith campaign raters retina.db[/bold]
    """
    with open_campaign(target, changes=False) as store:
        from pairsmith.campaign.answering import corrections
        from pairsmith.campaign.reporting import dashboard
        from pairsmith.campaign.reporting.history import ReportState, update_history
        from pairsmith.campaign.reporting.raters import rate_raters
        from pairsmith.campaign.store.snapshot import take_snapshot

        asked = which_question(store, question)
        snapshot, state = take_snapshot(store, asked), ReportState.from_json(*dashboard.last_state(store, asked))
        with store.reading() as connection:
            out = corrections.excluded(connection)
    update_history(snapshot, state)
    rows = [] if state.model is None else rate_raters(snapshot, state.model, state.predictions)
    if rows:
        from rich.console import Console

        Console(highlight=False).print(_table(rows))
    for row in rows:
        for reason in row["flags"]:
            say(f"{row['name']} {reason}.")
    for row in out:
        say(f"{row['name']} is excluded, with {counted(row['answers'], 'answer')}.")
    if not rows and not out:
        say(nothing_to_learn(target))


def _table(rows: list[dict[str, Any]]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from pairsmith.data.names import printable

    table = Table(
        caption="left: the share for what was shown left; foretold: of random pairs, by the model before they were"
        " answered, a coin has 50%; repeated: as other answers to the same pairs; slope: how well they tell items"
        " apart, 1 is usual, 0 at random; bias: above 0 for what is shown left; infit: 1 is as it should be, more is"
        " erratic",
    )
    table.add_column("name", min_width=4)
    for name in ("answers", "seconds", "left", "foretold", "repeated", "slope", "bias", "infit"):
        table.add_column(name, justify="right", min_width=len(name))  # headings whole, in 80 columns too
    for row in rows:
        slope, bias = row["slope"], row["bias"]
        table.add_row(
            escape(printable(row["name"])),
            str(row["answers"]),
            "–" if row["seconds"] is None else f"{row['seconds']:.1f}",
            "–" if row["share_left"] is None else f"{row['share_left']:.0%}",
            *(
                "–" if share is None else "{:.0%} ({:.0%}–{:.0%})".format(*share)
                for share in (row["foretold"], row["agrees_on_repeated"])
            ),
            "–" if slope is None else "{:.2f} ± {:.2f}".format(*slope),
            "–" if bias is None else "{:+.2f} ± {:.2f}".format(*bias),
            f"{row['infit']:.2f}",
        )
    return table
