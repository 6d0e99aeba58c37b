"""The commands that make a campaign, take answers out of it and put answers in."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from pairsmith.campaign import counted, is_url
from pairsmith.campaign.options import LEASE_SECONDS, RANDOM_SHARE, VIEWING_SECONDS, CampaignOptions, TableColumns
from pairsmith.cli import campaign_corrections, campaign_goals, campaign_people, creating
from pairsmith.cli.inputs import (
    Dimensions,
    IdColumn,
    ImageColumns,
    ImageEmbedding,
    NoFeatures,
    TextColumns,
    TextEmbedding,
    as_answers_per_pair,
    making,
    read_instructions,
)
from pairsmith.cli.opening import Campaign, WhichQuestion, needs_app, open_campaign, say, shown, which_question

campaign = typer.Typer(help="Make a labelling campaign, invite people, export answers.", no_args_is_help=True)


@campaign.command()
def create(
    target: Annotated[str, typer.Argument(help="A new file, such as retina.db, or a postgresql:// URL.")],
    items: Annotated[Path, typer.Option(help="Items: .csv, .tsv, .jsonl, .parquet or .npy.", metavar="FILE")],
    question: Annotated[
        list[str],
        typer.Option(
            help="What people are asked of each pair. May be repeated: each question gets a ranking of its own."
        ),
    ],
    k: Annotated[
        int, typer.Option("-k", "--pairs", help="How many pairs a round has; more where people outrun it.", metavar="K")
    ] = 100,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="What people see of an item, as KIND:COLUMN; kinds are text, markdown, image and audio (files, seen"
            " from the table's folder). May be repeated. Default: the id.",
            metavar="KIND:COLUMN",
        ),
    ] = None,
    media: Annotated[
        Path | None,
        typer.Option(
            help="The folder that holds every file shown; nothing outside is ever served. Default: the table's folder.",
            metavar="FOLDER",
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Feature columns, by name or pattern such as 'f_*'; may be repeated. Default: all other columns.",
            metavar="PATTERN",
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Absolute labels there are: a column of ids and one of two values.")
    ] = None,
    better: Annotated[
        str | None, typer.Option(help="The better one of the two labels, where they are words.", metavar="LABEL")
    ] = None,
    id_column: IdColumn = None,
    group_by: Annotated[
        str | None, typer.Option(help="Pair only items with the same value in this column.", metavar="COLUMN")
    ] = None,
    max_per_item: Annotated[
        int | None, typer.Option(help="No item in more than this many pairs of a round.", metavar="COUNT")
    ] = None,
    answers_per_pair: Annotated[
        str,
        typer.Option(
            help="How many people answer each pair; auto: one, and the design may ask it again.", metavar="COUNT|auto"
        ),
    ] = "1",
    ties: Annotated[bool, typer.Option("--ties/--no-ties", help="Whether people may call it a tie.")] = True,
    repeats: Annotated[
        bool, typer.Option("--repeats/--no-repeats", help="Whether one person may be asked the same pair again.")
    ] = False,
    instructions: Annotated[
        Path | None,
        typer.Option(help="Instructions, shown before the first pair and on demand: a text or Markdown file."),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="What rounds are designed by: a criterion of pairsmith select.")
    ] = "order",
    random_share: Annotated[
        float,
        typer.Option(
            help="The share of pairs that are drawn at random: the yardstick for how well the model predicts.",
            metavar="SHARE",
        ),
    ] = RANDOM_SHARE,
    lease: Annotated[
        float, typer.Option(help="Minutes after which an abandoned pair returns to the queue.", metavar="MINUTES")
    ] = LEASE_SECONDS / 60,
    viewing: Annotated[
        float, typer.Option(help="Seconds a pair is on the screen before an answer counts.", metavar="SECONDS")
    ] = VIEWING_SECONDS,
    graded: Annotated[
        bool, typer.Option("--graded", help="People say slightly or much better; both weigh in the model.")
    ] = False,
    comments: Annotated[bool, typer.Option("--comments", help="People may add a comment to an answer.")] = False,
    text: TextColumns = None,
    image: ImageColumns = None,
    dimensions: Dimensions = None,
    text_embedding: TextEmbedding = None,
    image_embedding: ImageEmbedding = None,
    no_features: NoFeatures = False,
    answers: campaign_goals.Answers = None,
    until: campaign_goals.Until = None,
    deadline: campaign_goals.Deadline = None,
    quota: campaign_goals.Quota = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            help="Pairs whose outcome is known, to see who answers with care: a table with first, second and outcome,"
            " or winner and loser. campaign gold adds more.",
            metavar="FILE",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="The share of pairs handed out that are of --gold, up to 0.5.", metavar="SHARE"),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="What items answer, shown above the pair: a column of texts, or markdown:COLUMN. The items of a group"
            " must answer the same, so --group-by goes with it.",
            metavar="COLUMN",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Who made each item, a column: pairsmith rank --by then ranks those too.", metavar="COLUMN"),
    ] = None,
) -> None:
    """Make a campaign from a table of items.

    Where nothing says what the features are and there are no numbers, they are made from the texts and images shown.

    [bold]pairsmith campaign create retina.db --items items.csv --features 'f_*' --show image:path -k 200
    --question 'Which eye looks worse?'[/bold]
    """
    needs_app()
    from pairsmith.campaign.answering import gold as golden
    from pairsmith.campaign.setup import create as creation
    from pairsmith.campaign.setup.table import read_item_table
    from pairsmith.files.items import read_items
    from pairsmith.files.labels import as_label, read_labels

    creation.check_place(target)
    golden.check_rate(rate)
    over = creating.goals(answers=answers, until=until, deadline=deadline, quota=quota)
    features_named = bool(features or text or image)
    creating.check_companions(better, labels, no_features and features_named, gold, rate)
    times = as_answers_per_pair(answers_per_pair)
    how = making(dimensions, text_embedding, image_embedding, None if is_url(target) else Path(target))
    with creating.named_as_on_the_command_line():
        options = CampaignOptions(
            questions=question,
            instructions="" if instructions is None else read_instructions(instructions),
            k=k,
            answers_per_pair=1 if times == "auto" else times,
            asks_again=times == "auto",
            ties=ties,
            repeats=repeats,
            max_per_item=max_per_item,
            objective=objective,
            random_share=random_share,
            lease_seconds=lease * 60,
            viewing_seconds=viewing,
            graded=graded,
            comments=comments,
            folder=None if media is None else str(media),
            columns=TableColumns(show or [], id_column, group_by, prompt),
        ).checked()
    labelled = None
    if labels is not None:  # looked at before features are made, which takes its time
        labelled = read_labels(labels, read_items(items, id_column, () if items.suffix == ".npy" else None))
    table = read_item_table(items, options.columns, by, features or (), text or (), image or (), no_features, **how)
    known = {} if gold is None else golden.read(gold, table.items, ties)
    with creating.named_as_on_the_command_line():
        count = creation.create(
            target,
            table.items,
            table.parts,
            options,
            labels=labelled,
            better=None if better is None or labelled is None else as_label(better, labelled[1]),
            recipe=table.recipe,
            prompts=table.prompts,
            authors=table.authors,
            goals=over,
            gold_outcomes=known,
            gold_rate=rate,
            progress=sys.stderr.isatty(),
        )
    creating.say_what_was_made(target, table, count, by_choice=bool(text or image))
    if known:
        say(campaign_goals.gold_pairs(len(known), rate or 0.0))
    say(f"Label them with: pairsmith serve {shown(target)}")


@campaign.command("export")
def export_answers(
    target: Campaign,
    kind: Annotated[
        str,
        typer.Option("--format", help="csv, jsonl, parquet, choix, label-studio, dpo or argilla.", metavar="FORMAT"),
    ] = "csv",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Where to write them. Default: answers.csv, answers-dpo.jsonl and so on."),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="In csv, leave texts as they are that a spreadsheet would take for formulas."),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="With answers struck out and those of excluded raters; the column status tells which."
        ),
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="In dpo, a row for each answer. Default: for each pair, by majority.")
    ] = False,
    conversational: Annotated[
        bool, typer.Option("--conversational", help="In dpo, messages of a user and an assistant instead of texts.")
    ] = False,
    question: WhichQuestion = None,
) -> None:
    """Write the answers that count to a file; dpo also as .parquet, by the name of the file.

    [bold]pairsmith campaign export retina.db --format csv -o answers.csv[/bold]
    """
    needs_app()
    from pairsmith.campaign.answering import corrections
    from pairsmith.campaign.exchange import files as exchange
    from pairsmith.files.write import descriptor

    if kind not in exchange.ENDINGS:
        raise ValueError(f"--format: {kind!r} is unknown; choose one of {', '.join(exchange.ENDINGS)}")
    if every and kind not in exchange.TABLES:
        raise ValueError(f"--all marks answers in a column, which {kind} has not; use {', '.join(exchange.TABLES)}")
    if (each or conversational) and kind != "dpo":
        raise ValueError(f"{'--each' if each else '--conversational'} is of --format dpo; leave it out")
    name = "answers" if kind in exchange.TABLES else f"answers-{kind}"  # two formats have the same ending
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
        which = None if question is None and kind in exchange.TABLES else which_question(store, question)
        told = exchange.export_answers(store, kind, path, raw, every, each, conversational, which)
        with store.reading() as connection:
            struck, excluded = corrections.left_out(connection)
    # Where the answers go to standard output, this does not go among them.
    to = sys.stderr if descriptor(path) == 1 else sys.stdout
    say(f"Wrote {told}", to)
    if struck + excluded and not every:
        say(f"Left out: {struck} struck out, {excluded} of excluded raters; --all has them", to)


@campaign.command()
def comments(target: Campaign) -> None:
    """Print the comments of people, those on pairs that they skipped too.

    [bold]pairsmith campaign comments retina.db[/bold]
    """
    with open_campaign(target, changes=False) as store:
        from pairsmith.campaign.reporting.browse import commented

        several = len(store.settings.questions) > 1
        with store.reading() as connection:
            found = commented(connection)
    for row in found:
        to = f", question {row.question + 1}" if several else ""
        say(f"{row.rater}, {row.left} | {row.right}{to}, {row.choice}: {' '.join(row.comment.split())}")
    if not found:
        say("No comments yet.")


@campaign.command("import")
def import_answers(
    target: Campaign,
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="Tables with first, second and outcome, or winner and loser (also question, rater, left, seconds,"
            " time, strength, comment); or Label Studio's JSON, whose tasks have left_id and right_id.",
            metavar="ANSWERS...",
        ),
    ],
    question: WhichQuestion = None,
) -> None:
    """Add answers that were made elsewhere. The same file twice counts once.

    With several questions, --question says which one answers are to that have no column question.

    An answer that says neither who gave it nor when is taken for one that is there already, if there is one like it.

    [bold]pairsmith campaign import retina.db answers.csv[/bold]
    """
    needs_app()
    from pairsmith.campaign.exchange import files as exchange

    with open_campaign(target) as store:
        which = None if question is None else which_question(store, question)
        for path in answers:
            count, new = exchange.import_answers(store, path, which)
            say(f"{path}: {counted(count, 'answer')}, {new} of them new.")


campaign.command()(campaign_people.invite)
campaign.command()(campaign_people.revoke)
campaign.command("people")(campaign_people.list_people)
campaign.command("trust")(campaign_people.confirm_trust)
for command in (
    campaign_corrections.raters,
    campaign_corrections.exclude,
    campaign_corrections.include,
    campaign_corrections.edit,
    campaign_corrections.add,
    campaign_corrections.backup,
    campaign_goals.goals,
    campaign_goals.pause,
    campaign_goals.resume,
    campaign_goals.close,
    campaign_goals.reopen,
    campaign_goals.gold,
):
    campaign.command()(command)
