"""pairsmith fit and rank: a model of the answers, and the items ranked by it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pairsmith.campaign import is_campaign
from pairsmith.cli import opening
from pairsmith.cli.fitting import campaign_evidence, fit_gp, fit_linear, table_evidence
from pairsmith.cli.inputs import (
    Dimensions,
    FeatureColumns,
    IdColumn,
    ImageColumns,
    ImageEmbedding,
    MadeBy,
    NoFeatures,
    TextColumns,
    TextEmbedding,
    check_recipe,
    load_model,
    making,
    matching,
    read_items_of,
    recipe_of,
)
from pairsmith.cli.opening import WhichQuestion, refuse_question
from pairsmith.cli.output import (
    check_place,
    check_stdout,
    check_writable,
    draw_ranking,
    file_or_stdout,
    print_frame,
)
from pairsmith.data.names import printable

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP


def fit(
    items: Annotated[str, typer.Argument(help="Items, as for select; or a campaign.", metavar="ITEMS")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the model (.json).")],
    answers: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Answers: columns first, second and outcome (1 first preferred, -1 second, 0 tie), or winner, loser."
            " A campaign has its own.",
            metavar="[ANSWERS...]",
        ),
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Absolute labels of two values: columns id and label.")] = None,
    better: Annotated[
        str | None,
        typer.Option(help="The better one of the two labels of --labels, where they are words.", metavar="LABEL"),
    ] = None,
    linear: Annotated[
        bool,
        typer.Option(
            "--linear",
            help="The paper's model instead: scores linear in the features, and nothing else.",
        ),
    ] = False,
    ridge: Annotated[
        str | None,
        typer.Option(
            help="Penalty on the coefficients of the linear model, which this chooses too. auto: the one under which"
            " held-out answers are likeliest."
        ),
    ] = None,
    id_column: IdColumn = None,
    features: FeatureColumns = None,
    no_features: NoFeatures = False,
    text: TextColumns = None,
    image: ImageColumns = None,
    dimensions: Dimensions = None,
    text_embedding: TextEmbedding = None,
    image_embedding: ImageEmbedding = None,
    by: MadeBy = None,
    question: WhichQuestion = None,
) -> None:
    """Fit a Bradley-Terry model to answers.

    Scores are linear and smooth in the features, with a part of each item's own; the answers tell how large each is.

    A column rater of the answers says who gave them, a column left which item was shown first.

    With --text or --image, how features were made of those columns is kept in the model, so that rank can do the same.

    [bold]pairsmith fit items.csv answers.csv -o model.json[/bold]
    """
    check_place(output, [Path(items), *(answers or []), labels], (".json",))
    linear = linear or ridge is not None
    named = {"--features": features, "--linear": linear, "--text": text, "--image": image}
    if no_features and any(named.values()):
        other = next(option for option, value in named.items() if value)
        raise ValueError(f"--no-features leaves nothing for {other}; leave one out")
    better_label = None
    notes: list[str] = []
    how = making(dimensions, text_embedding, image_embedding, output)
    if is_campaign(items):
        refused: tuple[object, ...] = answers, labels, better, id_column, features, no_features, text, image, by
        refused = *refused, dimensions, text_embedding, image_embedding
        X, known, weights, recipe = campaign_evidence(items, *refused, question=question)
    else:
        refuse_question(question)
        chosen = None if no_features else features or []
        raw = {"text": text, "image": image, "by": by, **how}
        X, known, weights, better_label, recipe, notes = table_evidence(
            items, answers or [], labels, better, id_column, chosen, may_lack_features=not linear, **raw
        )
    model: Any
    told: Sequence[Any]
    if linear:
        model, told = fit_linear(X, known, weights, better_label, ridge or "auto")
    else:
        model, told = fit_gp(X, known, weights, better_label)
    model.save(output, recipe)
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    for line in [*([] if recipe is None else map(escape, recipe.sentences())), *notes, *told]:
        console.print(line, soft_wrap=isinstance(line, str))
    console.print(f"Wrote {escape(printable(str(output)))}")


def rank(
    items: Annotated[
        str, typer.Argument(help="Items with the features the model was fitted to; or a campaign.", metavar="ITEMS")
    ],
    model: Annotated[
        Path | None,
        typer.Argument(
            help="A model that pairsmith fit wrote. A campaign is ranked without one as on its dashboard.",
            metavar="[MODEL]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Where to write the ranking (.csv, .jsonl, .parquet); else CSV to standard output."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw scores with their intervals (.png, .svg, .pdf).")] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.9,
    top: Annotated[int | None, typer.Option(help="Add a column in_top, P(among the best K).", metavar="K")] = None,
    id_column: IdColumn = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            help="A ranking for each value of this column. A campaign of groups has one for each anyway.",
            metavar="COLUMN",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Rank those who made the items, whom this column names, instead of the items: the mean score of"
            " all that they could make, beside that of the groups where there are some. A campaign must have been made"
            " with it.",
            metavar="COLUMN",
        ),
    ] = None,
    question: WhichQuestion = None,
) -> None:
    """Rank items, best first, with how sure that is.

    Within groups, scores are above the mean of the group; those of --by are above the mean of all.

    [bold]pairsmith rank items.csv model.json -o ranking.csv --plot ranking.png[/bold]
    """
    output = file_or_stdout(output)
    if output is None:
        check_stdout()
    else:
        check_writable(output, [Path(items), model])
    if plot is not None:
        check_place(plot, [Path(items), model, output], (".png", ".svg", ".pdf"))
        if find_spec("matplotlib") is None:
            raise ValueError("--plot needs matplotlib; pip install 'pairsmith[plots]'")
    asked = _to_rank(items, model, id_column, group_by, by, question)
    features = matching(asked.model, asked.features)
    new = _new_items(asked.model, features)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no item of X is one")  # the note says so
        ranking = _ranking(asked, features, level, top)
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
    for note in (new, _caveat(asked.model), asked.note):
        if note:
            print(printable(f"Note: {note}"), file=sys.stderr)


class _ToRank(NamedTuple):
    """What to rank by, and what to rank."""

    model: BradleyTerry | BradleyTerryGP
    features: pd.DataFrame
    groups: Any = None  # of each item, where rankings are within groups
    by: Any = None  # who made each item, where these are ranked
    note: str = ""  # of which to tell whoever reads the ranking


def _ranking(asked: _ToRank, features: pd.DataFrame, level: float, top: int | None) -> pd.DataFrame:
    from pairsmith.model.gaussian_process import BradleyTerryGP

    if isinstance(asked.model, BradleyTerryGP):
        return asked.model.rank(features, level, top, groups=asked.groups, by=asked.by)
    for option, value in (("--top", top), ("--by", asked.by), ("--group-by", asked.groups)):
        if value is not None:
            raise ValueError(
                f"{option} is not for a linear model, which does not know what it leaves out; fit without --linear"
            )
    return asked.model.rank(features, level)


def _new_items(fitted: BradleyTerry | BradleyTerryGP, features: pd.DataFrame) -> str:
    """What to say of items that the model was not fitted to: it knows of them what their features say."""
    import numpy as np

    from pairsmith.model.gaussian_process import BradleyTerryGP

    if not isinstance(fitted, BradleyTerryGP):
        return ""
    new = np.flatnonzero(~fitted.known(features))
    if len(new) == 0:
        return ""
    if fitted.n_features_in_ == 0:
        raise ValueError(
            f"item {features.index[new[0]]!r} was not there when the model was fitted, and without features nothing is"
            " known of it; fit again, or leave it out"
        )
    which = f"all {len(features)}" if len(new) == len(features) else f"{len(new)} of {len(features)}"
    verb, their = ("was", "its") if len(new) == 1 else ("were", "their")
    return (
        f"{which} items {verb} not there when the model was fitted, for example {features.index[new[0]]!r}: ranked by"
        f" {their} features alone"
    )


def _caveat(fitted: BradleyTerry | BradleyTerryGP) -> str:
    """What a linear model does not know of itself."""
    from pairsmith.model.bradley_terry import BradleyTerry

    if not isinstance(fitted, BradleyTerry):
        return ""
    return (
        "intervals count what the answers leave open about the weights of the features, not what features do not"
        " explain of an item; where that is much, they are too narrow. Fit without --linear to have that counted."
    )


def _to_rank(
    items: str, model: Path | None, id_column: str | None, group_by: str | None, by: str | None, question: int | None
) -> _ToRank:
    """The model and the items: a campaign has both."""
    fitted = None if model is None else load_model(model)
    if is_campaign(items):
        return _campaign_to_rank(items, fitted, model, by, id_column, group_by, question=question)
    refuse_question(question)
    if model is None or fitted is None:
        raise ValueError("MODEL is missing: name a model that pairsmith fit wrote, or a campaign instead of items")
    features = read_items_of(fitted, model, Path(items), id_column).features
    groups = None if group_by is None else _column(items, id_column, group_by)
    authors = None if by is None else _column(items, id_column, by)
    recipe = None if by is None else recipe_of(model)
    told = by is None or (recipe is not None and by in recipe.written_columns)
    return _ToRank(fitted, features, groups, authors, "" if told else _not_told(f"fit with --by {by}"))


def _campaign_to_rank(
    target: str, fitted: Any, model: Path | None, by: str | None, *refused: object, question: int | None
) -> _ToRank:
    from pairsmith.cli.opening import shown

    if fitted is not None:  # which was fitted to one question or another: nothing is left to choose
        refuse_question(question)
        question = 1
    asked = opening.snapshot_of(target, *refused, question=question)
    from pairsmith.campaign.learning import fit_model, with_authors

    if by is not None and asked.author_column != by:
        made = "without --by" if asked.author_column is None else f"with --by {asked.author_column}"
        raise ValueError(f"--by {by}: {shown(target)} was made {made}, so it does not know that column")
    if by is not None and fitted is None:
        asked = with_authors(asked)
    if model is not None:
        check_recipe(model, asked.recipe)
    note = "" if by is None or fitted is None else _not_told("rank the campaign without MODEL")
    fitted = fitted or fit_model(asked)
    if fitted is None:
        raise ValueError(opening.nothing_to_learn(target))
    from pairsmith.model.gaussian_process import BradleyTerryGP

    groups = asked.groups if isinstance(fitted, BradleyTerryGP) else None  # a linear model has one ranking
    return _ToRank(fitted, asked.features, groups, asked.authors if by is not None else None, note)


def _not_told(instead: str) -> str:
    return (
        "the model was not told who made the items, so it takes their makers for more alike than they are, with"
        f" intervals that are too narrow; {instead}"
    )


def _column(items: str, id_column: str | None, column: str) -> Any:
    """This column of a table of items, as text."""
    from pairsmith.files.items import read_raw_items

    if items.endswith(".npy"):
        raise ValueError(f"{items}: a .npy file has no columns for --by and --group-by; use a table")
    return read_raw_items(Path(items), id_column, column).groups
