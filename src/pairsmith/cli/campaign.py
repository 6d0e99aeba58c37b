"""pairsmith campaign: create, and the other commands on campaigns joined to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pairsmith.campaign import is_url
from pairsmith.campaign.options import LEASE_SECONDS, RANDOM_SHARE, VIEWING_SECONDS, CampaignOptions, TableColumns
from pairsmith.cli import campaign_data, campaign_goals, campaign_people, creating
from pairsmith.cli.inputs import (
    Dimensions,
    FeatureColumns,
    IdColumn,
    ImageColumns,
    ImageEmbedding,
    NoFeatures,
    TextColumns,
    TextEmbedding,
    check_app_installed,
    display_name,
    parse_answers_per_pair,
    read_instructions,
    recipe_options,
)
from pairsmith.cli.output import say

campaign = typer.Typer(help="Create a labelling campaign, invite people, export answers.", no_args_is_help=True)


@campaign.command()
def create(
    target: Annotated[str, typer.Argument(help="The file to create, such as retina.db, or a postgresql:// URL.")],
    items: Annotated[
        Path, typer.Option(help="The table of items (.csv, .tsv, .jsonl, .parquet, .npy).", metavar="FILE")
    ],
    question: Annotated[
        list[str],
        typer.Option(
            help="The question to ask about each pair. May be repeated: each question gets a ranking of its own."
        ),
    ],
    k: Annotated[
        int,
        typer.Option(
            "-k",
            "--pairs",
            help="The number of pairs in a round; more if raters are faster than planning.",
            metavar="K",
        ),
    ] = 100,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="What raters see of an item, as KIND:COLUMN. The kinds are text, markdown, image and audio; images and"
            " audio are files, relative to the table's folder. May be repeated. Default: the id.",
            metavar="KIND:COLUMN",
        ),
    ] = None,
    media: Annotated[
        Path | None,
        typer.Option(
            help="The folder that holds all files to show; no file outside it is ever served. Default: the table's"
            " folder.",
            metavar="FOLDER",
        ),
    ] = None,
    features: FeatureColumns = None,
    labels: Annotated[
        Path | None, typer.Option(help="A table of absolute labels with two values: columns id and label.")
    ] = None,
    better: Annotated[
        str | None,
        typer.Option(help="The better one of the two labels in --labels, if they are words.", metavar="LABEL"),
    ] = None,
    id_column: IdColumn = None,
    group_by: Annotated[
        str | None, typer.Option(help="Pair only items that have the same value in this column.", metavar="COLUMN")
    ] = None,
    max_per_item: Annotated[
        int | None, typer.Option(help="The largest number of pairs of a round that an item may be in.", metavar="COUNT")
    ] = None,
    answers_per_pair: Annotated[
        str,
        typer.Option(
            help="How many raters answer each pair. auto: one rater, and later rounds may ask the pair again.",
            metavar="COUNT|auto",
        ),
    ] = "1",
    ties: Annotated[bool, typer.Option("--ties/--no-ties", help="Let raters call a pair a tie.")] = True,
    repeats: Annotated[
        bool, typer.Option("--repeats/--no-repeats", help="Let one rater be asked the same pair again.")
    ] = False,
    instructions: Annotated[
        Path | None,
        typer.Option(help="A text or Markdown file of instructions, shown before the first pair and on request."),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="The criterion that designs the rounds, as in pairsmith select.")
    ] = "order",
    random_share: Annotated[
        float,
        typer.Option(
            help="The share of pairs that are drawn at random, to measure how well the model predicts.",
            metavar="SHARE",
        ),
    ] = RANDOM_SHARE,
    lease: Annotated[
        float,
        typer.Option(
            help="The number of minutes after which an abandoned pair returns to the queue.", metavar="MINUTES"
        ),
    ] = LEASE_SECONDS / 60,
    viewing: Annotated[
        float,
        typer.Option(
            help="The number of seconds that a pair is on the screen before it can be answered.", metavar="SECONDS"
        ),
    ] = VIEWING_SECONDS,
    graded: Annotated[
        bool,
        typer.Option(
            "--graded", help="Let raters answer slightly better or much better; the model weighs them differently."
        ),
    ] = False,
    comments: Annotated[bool, typer.Option("--comments", help="Let raters add a comment to an answer.")] = False,
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
            help="A table of gold pairs, whose outcome is known, to see who answers with care: columns first, second"
            " and outcome, or winner and loser. pairsmith campaign gold adds more.",
            metavar="FILE",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="The share of pairs handed out that are gold pairs, up to 0.5.", metavar="SHARE"),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="A column with the prompt that an item answers, shown above the pair: COLUMN, or markdown:COLUMN. The"
            " items of a group must answer the same prompt, so give --group-by too.",
            metavar="COLUMN",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="A column that says who made each item. Then pairsmith rank --by can rank the makers.",
            metavar="COLUMN",
        ),
    ] = None,
) -> None:
    """Create a campaign from a table of items.

    If the table has no numbers and no option names features, they are made from the texts and images shown.

    [bold]pairsmith campaign create retina.db --items items.csv --features 'f_*' --show image:path -k 200
    --question 'Which eye looks worse?'[/bold]
    """
    check_app_installed()
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
    times = parse_answers_per_pair(answers_per_pair)
    how = recipe_options(dimensions, text_embedding, image_embedding, None if is_url(target) else Path(target))
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
    if labels is not None:  # checked before features are made, which takes time
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
        say(campaign_goals.describe_gold(len(known), rate or 0.0))
    say(f"Label them with: pairsmith serve {display_name(target)}")


campaign.command("export")(campaign_data.export_answers)
campaign.command()(campaign_data.comments)
campaign.command("import")(campaign_data.import_answers)
campaign.command()(campaign_people.invite)
campaign.command()(campaign_people.revoke)
campaign.command("people")(campaign_people.list_people)
campaign.command("trust")(campaign_people.confirm_trust)
for command in (
    campaign_people.raters,
    campaign_people.exclude,
    campaign_people.include,
    campaign_goals.edit,
    campaign_data.add,
    campaign_data.backup,
    campaign_goals.goals,
    campaign_goals.pause,
    campaign_goals.resume,
    campaign_goals.close,
    campaign_goals.reopen,
    campaign_goals.gold,
):
    campaign.command()(command)
