"""pairsmith fit and rank: a model of the answers, and the items ranked by it."""

from __future__ import annotations

import glob
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairsmith.campaign import is_campaign
from pairsmith.cli import opening
from pairsmith.cli.inputs import as_number, matching
from pairsmith.cli.output import (
    check_place,
    check_stdout,
    check_writable,
    counted,
    draw_ranking,
    file_or_stdout,
    print_frame,
)
from pairsmith.data.names import printable

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.data.arrays import Floats
    from pairsmith.model.bradley_terry import BradleyTerry

FEW = 10  # held-out answers: on fewer, an AUC says little


def fit(
    items: Annotated[
        str, typer.Argument(help="Items with numeric features, as for select; or a campaign.", metavar="ITEMS")
    ],
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
    ridge: Annotated[
        str, typer.Option(help="Penalty on the coefficients. auto: the one under which held-out answers are likeliest.")
    ] = "auto",
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="The column of item ids. Default: id, or else the first.", metavar="COLUMN"),
    ] = None,
    features: Annotated[
        list[str] | None, typer.Option(help="Feature columns, by name or pattern; may be repeated.", metavar="PATTERN")
    ] = None,
) -> None:
    """Fit a Bradley-Terry model to answers.

    [bold]pairsmith fit items.csv answers.csv -o model.json[/bold]
    """
    check_place(output, [Path(items), *(answers or []), labels], (".json",))
    if is_campaign(items):
        X, known, weights = _campaign_evidence(items, answers, labels, better, id_column, features)
        better_label = None
    else:
        X, known, weights, better_label = _table_evidence(items, answers or [], labels, better, id_column, features)
    model, told = _fitted(X, known, weights, better_label, ridge)
    model.save(output)
    _tell_fit(model, X, known, told, output)


def _campaign_evidence(target: str, *refused: object) -> tuple[pd.DataFrame, dict[str, Any], Floats]:
    """A campaign's features, its labels and answers as BradleyTerry.fit takes them, and what each of them weighs."""
    import numpy as np

    asked = opening.snapshot_of(target, *refused)
    from pairsmith.campaign.learning import evidence

    known = evidence(asked)
    if "comparisons" not in known:
        raise ValueError(f"{opening.shown(target)} has no answers yet; label some pairs first")
    return asked.features, known, np.ones(len(known["comparisons"]) + len(known.get("y", [])))


def _table_evidence(
    items: str,
    answers: list[Path],
    labels: Path | None,
    better: str | None,
    id_column: str | None,
    features: list[str] | None,
) -> tuple[pd.DataFrame, dict[str, Any], Floats, Any]:
    """The same from files; and the better one of the two labels, None where nobody says."""
    import numpy as np

    from pairsmith.files.answers import read_answers
    from pairsmith.files.items import read_items
    from pairsmith.files.labels import as_label, read_labels

    if better is not None and labels is None:
        raise ValueError("--better names one of the labels of --labels; give that too")
    if not answers:
        raise ValueError("ANSWERS is missing: name at least one file of answers, or a campaign instead of items")
    table = read_items(Path(items), id_column, features or ())
    parts = [read_answers(path, table) for path in answers]
    known: dict[str, Any] = {
        "comparisons": np.concatenate([pairs for pairs, _, _ in parts]),
        "outcomes": np.concatenate([outcomes for _, outcomes, _ in parts]),
    }
    weights = np.concatenate([counts for _, _, counts in parts])
    if len(weights) == 0 and not labels:
        raise ValueError(f"{answers[0]} holds no answers yet; nothing can be learned from it")
    if not labels:
        return table.features, known, weights, None
    known["labeled"], known["y"] = read_labels(labels, table)
    better_label = None if better is None else as_label(better, known["y"])
    return table.features, known, np.concatenate([np.ones(len(known["y"])), weights]), better_label


def _fitted(
    X: pd.DataFrame, known: dict[str, Any], weights: Floats, better: Any, ridge: str
) -> tuple[BradleyTerry, list[str]]:
    """The model, and what to say of its ridge: the number, and how it was chosen."""
    import numpy as np

    import pairsmith

    if ridge != "auto":
        given = pairsmith.BradleyTerry(as_number(ridge, "--ridge"), better).fit(X, **known, sample_weight=weights)
        return given, [f"ridge {given.ridge:.3g}"]
    model = pairsmith.BradleyTerryCV(better=better).fit(X, **known, sample_weight=weights)
    if model.n_validated_ < FEW:
        warnings.warn(
            f"only {model.n_validated_} of the answers and labels could be held out to choose the ridge by, which"
            " says little; name one with --ridge, or ask for more answers",
            stacklevel=1,
        )
    chosen = (
        f"The ridge was chosen by {model.n_validated_} held out: log likelihood {model.scores_.max():.3f} each"
        f" ({np.log(0.5):.3f} by guessing), AUC {model.auc_:.3f}."
    )
    return model, [f"ridge {model.ridge_:.3g}", chosen]


def _tell_fit(model: BradleyTerry, X: pd.DataFrame, known: dict[str, Any], told: list[str], output: Path) -> None:
    import numpy as np
    from rich.console import Console
    from rich.markup import escape

    right = model.compare(X, known["comparisons"])
    decided = known["outcomes"] != 0
    agree = np.mean((right[decided] > 0.5) == (known["outcomes"][decided] > 0)) if decided.any() else np.nan
    answers, labels = counted(len(known["comparisons"]), "answer"), counted(len(known.get("y", [])), "label")
    console = Console(highlight=False)
    console.print(f"Fitted to {answers} and {labels} ({told[0]}).")
    for chosen in told[1:]:
        console.print(chosen, soft_wrap=True)
    console.print(f"It agrees with {agree:.0%} of the answers it was fitted to.")
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
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="The column of item ids. Default: id, or else the first.", metavar="COLUMN"),
    ] = None,
) -> None:
    """Rank items, best first, with how sure that is.

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
    fitted, features = _model_and_features(items, model, id_column)
    ranking = fitted.rank(matching(fitted, features), level)
    frame = ranking.rename_axis("id").reset_index()[["rank", "id", *ranking.columns[1:]]]
    if output is None:
        print_frame(frame)
    else:
        from pairsmith.files.write_table import write_table

        write_table(frame, output, output.suffix[1:])
    if plot is not None:
        draw_ranking(frame, plot, level)
    for path in (output, plot):
        if path is not None:
            print(printable(f"Wrote {path}"), file=sys.stderr if output is None else sys.stdout)
    print(
        "Note: intervals count what the answers leave open about the weights of the features, not what features do not"
        " explain of an item; where that is much, they are too narrow.",
        file=sys.stderr,
    )


def _model_and_features(items: str, model: Path | None, id_column: str | None) -> tuple[BradleyTerry, pd.DataFrame]:
    """What to rank by, and what to rank: a campaign has both."""
    from pairsmith.model.bradley_terry import BradleyTerry

    fitted = None if model is None else BradleyTerry.load(model)
    if is_campaign(items):
        asked = opening.snapshot_of(items, id_column)
        from pairsmith.campaign.learning import fit_model

        fitted = fitted or fit_model(asked)
        if fitted is None:
            raise ValueError(f"{opening.shown(items)} has no answers yet; label some pairs first")
        return fitted, asked.features
    if fitted is None:
        raise ValueError("MODEL is missing: name a model that pairsmith fit wrote, or a campaign instead of items")
    from pairsmith.files.items import read_items

    wanted = [str(name) for name in getattr(fitted, "feature_names_in_", [])]
    return fitted, read_items(Path(items), id_column, wanted and [glob.escape(name) for name in wanted]).features
