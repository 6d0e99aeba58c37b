"""pairsmith rank: items, or their makers, ranked by a model."""

from __future__ import annotations

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pairsmith.campaign import is_campaign
from pairsmith.cli.inputs import (
    IdColumn,
    WhichQuestion,
    check_recipe,
    display_name,
    load_model,
    match_features,
    nothing_to_learn,
    read_campaign,
    read_items_for_model,
    read_recipe,
    refuse_question,
)
from pairsmith.cli.output import check_path, check_stdout, check_table_path, draw_ranking, file_or_stdout, print_frame
from pairsmith.data.names import printable

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP


def rank(
    items: Annotated[
        str,
        typer.Argument(
            help="A table of items with the features that the model was fitted to; or a campaign.", metavar="ITEMS"
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Argument(
            help="A model written by pairsmith fit. A campaign needs none: it is then ranked as on its dashboard.",
            metavar="[MODEL]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The file to write the ranking to (.csv, .jsonl, .parquet). Default: CSV on standard output.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the scores with their intervals to this file (.png, .svg, .pdf).")
    ] = None,
    level: Annotated[float, typer.Option(help="The probability that an interval holds the score.")] = 0.9,
    top: Annotated[
        int | None,
        typer.Option(help="Add a column in_top: the probability of being among the best K items.", metavar="K"),
    ] = None,
    id_column: IdColumn = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            help="Make a ranking for each value of this column. A campaign with groups always has one for each group.",
            metavar="COLUMN",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Rank the makers named in this column instead of the items: by the mean score of everything they could"
            " make, relative to the group's mean if there are groups. A campaign must have been created with --by.",
            metavar="COLUMN",
        ),
    ] = None,
    question: WhichQuestion = None,
) -> None:
    """Rank items from best to worst, with intervals for their scores.

    Scores are relative to the mean of all items, or of the item's group if there are groups.

    [bold]pairsmith rank items.csv model.json -o ranking.csv --plot ranking.png[/bold]
    """
    output = file_or_stdout(output)
    if output is None:
        check_stdout()
    else:
        check_table_path(output, [Path(items), model])
    if plot is not None:
        check_path(plot, [Path(items), model, output], (".png", ".svg", ".pdf"))
        if find_spec("matplotlib") is None:
            raise ValueError("--plot needs matplotlib; pip install 'pairsmith[plots]'")
    if is_campaign(items):
        task = _task_from_campaign(items, model, by, id_column, group_by, question=question)
    else:
        refuse_question(question)
        task = _task_from_table(items, model, id_column, group_by, by)
    features = match_features(task.model, task.features)
    notes = [_note_on_new_items(task.model, features), _note_on_linear_model(task.model), task.note]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no item of X is one")  # the note on new items says the same
        ranking = _rank(task, features, level, top)
    name = "id" if by is None else by
    frame = ranking.rename_axis(name).reset_index()[["rank", name, *ranking.columns[1:]]]
    if output is None:
        print_frame(frame)
    else:
        from pairsmith.files.write_table import write_table

        write_table(frame, output, output.suffix[1:])
    if plot is not None:
        draw_ranking(frame.rename(columns={name: "id"}), plot, level)
    for path in (output, plot):
        if path is not None:
            print(printable(f"Wrote {path}"), file=sys.stderr if output is None else sys.stdout)
    for note in notes:
        if note:
            print(printable(f"Note: {note}"), file=sys.stderr)


class _RankingTask(NamedTuple):
    """A model, and what it is to rank."""

    model: BradleyTerry | BradleyTerryGP
    features: pd.DataFrame
    groups: Any = None  # the group of each item, to rank within groups
    makers: Any = None  # the maker of each item, to rank makers
    note: str = ""  # a caveat for readers of the ranking


def _task_from_table(
    items: str, model_path: Path | None, id_column: str | None, group_by: str | None, by: str | None
) -> _RankingTask:
    if model_path is None:
        raise ValueError("MODEL is missing: name a model that pairsmith fit wrote, or a campaign instead of items")
    model = load_model(model_path)
    features = read_items_for_model(model, model_path, Path(items), id_column).features
    groups = None if group_by is None else _read_column(items, id_column, group_by)
    if by is None:
        return _RankingTask(model, features, groups)
    makers = _read_column(items, id_column, by)
    recipe = read_recipe(model_path)
    knows_makers = recipe is not None and by in recipe.written_columns
    note = "" if knows_makers else _note_on_unknown_makers(f"fit with --by {by}")
    return _RankingTask(model, features, groups, makers, note)


def _task_from_campaign(
    target: str, model_path: Path | None, by: str | None, *refused: object, question: int | None
) -> _RankingTask:
    model = None if model_path is None else load_model(model_path)
    if model is not None:  # it was fitted to one question already
        refuse_question(question)
        question = 1
    snapshot = read_campaign(target, *refused, question=question)
    from pairsmith.campaign.learning import fit_model, with_authors
    from pairsmith.model.gaussian_process import BradleyTerryGP

    if by is not None and snapshot.author_column != by:
        created = "without --by" if snapshot.author_column is None else f"with --by {snapshot.author_column}"
        raise ValueError(f"--by {by}: {display_name(target)} was made {created}, so it does not know that column")
    note = ""
    if by is not None and model is None:
        snapshot = with_authors(snapshot)
    elif by is not None:
        note = _note_on_unknown_makers("rank the campaign without MODEL")
    if model_path is not None:
        check_recipe(model_path, snapshot.recipe)
    model = model or fit_model(snapshot)
    if model is None:
        raise ValueError(nothing_to_learn(target))
    groups = snapshot.groups if isinstance(model, BradleyTerryGP) else None  # a linear model has a single ranking
    return _RankingTask(model, snapshot.features, groups, snapshot.authors if by is not None else None, note)


def _read_column(items: str, id_column: str | None, column: str) -> Any:
    """Read a column of a table of items as text."""
    from pairsmith.files.items import read_raw_items

    if items.endswith(".npy"):
        raise ValueError(f"{items}: a .npy file has no columns for --by and --group-by; use a table")
    return read_raw_items(Path(items), id_column, column).groups


def _rank(task: _RankingTask, features: pd.DataFrame, level: float, top: int | None) -> pd.DataFrame:
    from pairsmith.model.gaussian_process import BradleyTerryGP

    if isinstance(task.model, BradleyTerryGP):
        return task.model.rank(features, level, top, groups=task.groups, by=task.makers)
    for option, value in (("--top", top), ("--by", task.makers), ("--group-by", task.groups)):
        if value is not None:
            raise ValueError(
                f"{option} is not for a linear model, which does not know what it leaves out; fit without --linear"
            )
    return task.model.rank(features, level)


def _note_on_new_items(model: BradleyTerry | BradleyTerryGP, features: pd.DataFrame) -> str:
    """Say which items the model was not fitted to. They are ranked by their features alone, if there are any."""
    import numpy as np

    from pairsmith.model.gaussian_process import BradleyTerryGP

    if not isinstance(model, BradleyTerryGP):
        return ""
    new = np.flatnonzero(~model.known(features))
    if len(new) == 0:
        return ""
    example = features.index[new[0]]
    if model.n_features_in_ == 0:
        raise ValueError(
            f"item {example!r} was not there when the model was fitted, and without features nothing is known of it;"
            " fit again, or leave it out"
        )
    which = f"all {len(features)}" if len(new) == len(features) else f"{len(new)} of {len(features)}"
    verb, their = ("was", "its") if len(new) == 1 else ("were", "their")
    return (
        f"{which} items {verb} not there when the model was fitted, for example {example!r}: ranked by {their} features"
        " alone"
    )


def _note_on_linear_model(model: BradleyTerry | BradleyTerryGP) -> str:
    """Say what the intervals of a linear model leave out."""
    from pairsmith.model.bradley_terry import BradleyTerry

    if not isinstance(model, BradleyTerry):
        return ""
    return (
        "intervals cover the uncertainty about the features' weights, but not the part of an item's score that features"
        " do not explain; if that part is large, they are too narrow. Fit without --linear to include it."
    )


def _note_on_unknown_makers(remedy: str) -> str:
    return (
        "the model was not told who made the items, so it takes their makers for more alike than they are, with"
        f" intervals that are too narrow; {remedy}"
    )
