"""Commands for the items and answers of a campaign: export, import, comments, more items, a copy."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from pairsmith.campaign import counted
from pairsmith.cli.inputs import (
    Campaign,
    IdColumn,
    WhichQuestion,
    check_app_installed,
    display_name,
    open_campaign,
    question_index,
)
from pairsmith.cli.output import say


def export_answers(
    target: Campaign,
    kind: Annotated[
        str,
        typer.Option(
            "--format", help="The format: csv, jsonl, parquet, choix, label-studio, dpo or argilla.", metavar="FORMAT"
        ),
    ] = "csv",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file to write. Default: answers.csv, answers-dpo.jsonl and so on."),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="In csv, do not escape texts that a spreadsheet would run as formulas."),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Include struck-out answers and the answers of excluded raters; the column status marks them."
        ),
    ] = False,
    each: Annotated[
        bool,
        typer.Option("--each", help="In dpo, write a row for each answer. Default: a row for each pair, by majority."),
    ] = False,
    conversational: Annotated[
        bool,
        typer.Option("--conversational", help="In dpo, write messages of a user and an assistant instead of texts."),
    ] = False,
    question: WhichQuestion = None,
) -> None:
    """Write the answers that count to a file. For dpo, a file named .parquet is written as Parquet.

    [bold]pairsmith campaign export retina.db --format csv -o answers.csv[/bold]
    """
    check_app_installed()
    from pairsmith.campaign.answering import corrections
    from pairsmith.campaign.exchange import files as exchange
    from pairsmith.files.write import descriptor

    if kind not in exchange.ENDINGS:
        raise ValueError(f"--format: {kind!r} is unknown; choose one of {', '.join(exchange.ENDINGS)}")
    if every and kind not in exchange.TABLES:
        raise ValueError(
            f"--all marks answers in a column, which {kind} does not have; use {', '.join(exchange.TABLES)}"
        )
    if (each or conversational) and kind != "dpo":
        raise ValueError(f"{'--each' if each else '--conversational'} is for --format dpo; leave it out")
    name = "answers" if kind in exchange.TABLES else f"answers-{kind}"  # formats share endings
    path = output or Path(f"{name}{exchange.ENDINGS[kind]}")
    if output is None and path.exists():
        raise ValueError(f"{path} is there already; name it with -o to replace it, or another file")
    if (path.suffix == ".parquet" or kind == "parquet") and find_spec("pyarrow") is None:
        raise ValueError(f"{path} needs pyarrow; pip install 'pairsmith[data]'")
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"--output {path}: this is no place for a file; name one in a folder that exists")
    if os.path.realpath(path) == os.path.realpath(target):
        raise ValueError(f"--output {path} is the campaign itself; choose another")
    with open_campaign(target, changes=False) as store:
        which = None if question is None and kind in exchange.TABLES else question_index(store, question)
        summary = exchange.export_answers(store, kind, path, raw, every, each, conversational, which)
        with store.reading() as connection:
            struck_out, excluded = corrections.left_out(connection)
    to = sys.stderr if descriptor(path) == 1 else sys.stdout  # not among the answers
    say(f"Wrote {summary}", to)
    if struck_out + excluded and not every:
        say(f"Left out: {struck_out} struck out, {excluded} of excluded raters; --all has them", to)


def import_answers(
    target: Campaign,
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="Tables with columns first, second and outcome, or winner and loser, and optionally question, rater,"
            " left, seconds, time, strength and comment; or JSON of Label Studio, whose tasks have left_id and"
            " right_id.",
            metavar="ANSWERS...",
        ),
    ],
    question: WhichQuestion = None,
) -> None:
    """Add answers that were given elsewhere. Importing a file again adds nothing.

    If the campaign asks several questions, --question says which one the answers of a table without a column question
    belong to.

    An answer without rater and time is not added if the campaign already has an equal one.

    [bold]pairsmith campaign import retina.db answers.csv[/bold]
    """
    check_app_installed()
    from pairsmith.campaign.exchange import files as exchange

    with open_campaign(target) as store:
        which = None if question is None else question_index(store, question)
        for path in answers:
            count, new = exchange.import_answers(store, path, which)
            say(f"{path}: {counted(count, 'answer')}, {new} of them new.")


def comments(target: Campaign) -> None:
    """Print the raters' comments, also on pairs that they skipped.

    [bold]pairsmith campaign comments retina.db[/bold]
    """
    with open_campaign(target, changes=False) as store:
        from pairsmith.campaign.reporting.browse import commented

        several = len(store.settings.questions) > 1
        with store.reading() as connection:
            rows = commented(connection)
    for row in rows:
        to = f", question {row.question + 1}" if several else ""
        say(f"{row.rater}, {row.left} | {row.right}{to}, {row.choice}: {' '.join(row.comment.split())}")
    if not rows:
        say("No comments yet.")


def add(
    target: Campaign,
    items: Annotated[
        Path,
        typer.Argument(
            help="A table of more items (.csv, .tsv, .jsonl, .parquet) with the columns of the first table."
        ),
    ],
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="What raters see of an item, as KIND:COLUMN. May be repeated. Default: as when the campaign was"
            " created.",
            metavar="KIND:COLUMN",
        ),
    ] = None,
    id_column: IdColumn = None,
    group_by: Annotated[
        str | None,
        typer.Option(help="The column of groups. Default: as when the campaign was created.", metavar="COLUMN"),
    ] = None,
) -> None:
    """Add items to a campaign, even while it is being served. The next round includes them.

    Their features come from the same columns, or are made by the same recipe, as for the first items.

    [bold]pairsmith campaign add retina.db more.csv[/bold]
    """
    check_app_installed()
    from pairsmith.campaign.setup.additions import add_items

    with open_campaign(target) as store:
        count = add_items(store, items, show, id_column, group_by)
        total = len(store.items.names)
    say(f"Added {counted(count, 'item')} to {display_name(target)}, which has {total} now.")


def backup(
    target: Campaign,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file of the copy, such as copy.db.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Copy a campaign, even while it is being served, and check the copy. The copy is a campaign of its own.

    [bold]pairsmith campaign backup retina.db -o retina-copy.db[/bold]
    """
    check_app_installed()
    from pairsmith.campaign.store.backup import copy

    items, answers = copy(target, output, force)
    say(f"Wrote {output}: {counted(items, 'item')}, {counted(answers, 'answer')}. It was read again and is complete.")
