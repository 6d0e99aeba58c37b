"""pairsmith forecast: how many answers it will take, from a table of items or from a campaign."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairsmith.campaign import is_campaign
from pairsmith.cli import opening
from pairsmith.cli.fitting import in_words, table_evidence
from pairsmith.cli.inputs import (
    FeatureColumns,
    IdColumn,
    ImageColumns,
    MadeBy,
    NoFeatures,
    TextColumns,
    check_recipe,
    load_model,
    making,
    matching,
    read_features,
    read_items_of,
)
from pairsmith.cli.output import check_writable, file_or_stdout
from pairsmith.data.names import printable

if TYPE_CHECKING:
    from pairsmith.forecasting import Forecast
    from pairsmith.model.gaussian_process import BradleyTerryGP

_TARGET = re.compile(r"\s*(?:(doubt)\s*<=?|(reliability)\s*>=?)\s*(\d+\.?\d*|\.\d+)\s*(%?)\s*")


def forecast(
    items: Annotated[
        str, typer.Argument(help="Items with numeric features, as for select; or a campaign.", metavar="ITEMS")
    ],
    answers: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Answers so far, as for fit; none before the first. A campaign has its own.", metavar="[ANSWERS...]"
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="What is to be reached: 'doubt < 10%', the chance that two items stand in the wrong order, or"
            " 'reliability > 0.9'.",
            metavar="TARGET",
        ),
    ] = None,
    more: Annotated[
        list[int] | None,
        typer.Option(
            "--more",
            help="Tell of the time after so many more answers; may be repeated. Default: 50, 100, 200 and 400, and up"
            " to 1,600 for a target.",
            metavar="COUNT",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A model that pairsmith fit wrote, instead of ANSWERS: the plan goes on from it."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the table to a file (.csv, .jsonl, .parquet) as well.")
    ] = None,
    id_column: IdColumn = None,
    features: FeatureColumns = None,
    no_features: NoFeatures = False,
    text: TextColumns = None,
    image: ImageColumns = None,
    by: MadeBy = None,
    ask_again: Annotated[
        bool,
        typer.Option("--ask-again", help="Pairs may be asked more than once, as in a campaign where that is auto."),
    ] = False,
    simulations: Annotated[int, typer.Option(help="More make the intervals steadier.", metavar="COUNT", min=2)] = 8,
    seed: Annotated[int, typer.Option(help="Another one draws other simulations.", min=0)] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads. Default: all cores.")] = None,
    question: opening.WhichQuestion = None,
) -> None:
    """Foretell how much will be known after more answers, and how many a target takes.

    By simulations of what is to come: true scores as they could be, given the answers so far, people who err as they
    do, and pairs chosen as select --model and campaigns choose them.

    [bold]pairsmith forecast items.csv answers.csv --target 'doubt < 10%'[/bold]
    """
    output = file_or_stdout(output)
    if output is not None:
        check_writable(output, [Path(items), model, *(answers or [])])
    wanted: dict[str, Any] = {} if target is None else _as_target(target)
    named = {"--features": features, "--text": text, "--image": image, "--by": by}
    other = next((option for option, value in named.items() if value), None)
    if no_features and other:
        raise ValueError(f"--no-features leaves nothing for {other}; leave one out")
    if model is not None and answers:
        raise ValueError("--model has answers already, and ANSWERS are others; give one of them")
    for number in more or []:
        if number < 1:
            raise ValueError(f"--more must be at least 1, got {number}")
    if is_campaign(items):
        refused = answers, id_column, features, no_features, text, image, by
        X, fitted, groups, again = _of_campaign(items, model, *refused, question=question)
        ask_again = ask_again or again
    else:
        opening.refuse_question(question)
        groups = None
        if model is not None:
            if other or (no_features and load_model(model).n_features_in_ > 0):
                raise ValueError(f"--model {model} has its own features; leave out {other or '--no-features'}")
            fitted = _gaussian_process(model)
            X = matching(fitted, read_items_of(fitted, model, Path(items), id_column).features)
        else:
            raw = {"text": text, "image": image, "by": by, **making(None, None, None, None)}
            X, fitted = _of_table(items, answers or [], id_column, None if no_features else features or [], raw)
    from pairsmith import WithinGroups
    from pairsmith.forecasting import forecast as foretell

    found = foretell(
        X,
        model=fitted,
        answers=more or None,
        candidates=None if groups is None else WithinGroups(groups),
        ask_again=ask_again,
        simulations=simulations,
        random_state=seed,
        n_jobs=jobs,
        progress=sys.stderr is not None and sys.stderr.isatty(),
        **wanted,
    )
    _print(found)
    if output is not None:
        from pairsmith.files.write_table import write_table

        write_table(found.to_frame(), output, output.suffix[1:])
        print(printable(f"Wrote {output}"))


def _as_target(text: str) -> dict[str, Any]:
    """As ps.forecast takes it."""
    found = _TARGET.fullmatch(text)
    if found is not None:
        doubt, reliability, number, percent = found.groups()
        value = float(number) / (100 if percent else 1)
        if 0 < value < 1:
            return {doubt or reliability: value}
    raise ValueError(f"--target must be like 'doubt < 10%' or 'reliability > 0.9', got {text!r}")


def _of_campaign(
    target: str, model: Path | None, *refused: object, question: int | None
) -> tuple[Any, BradleyTerryGP, Any, bool]:
    """A campaign's features, the model of its answers unless another is named, the groups that pairs are within, and
    whether a pair may be asked again.
    """
    asked = opening.snapshot_of(target, *refused, question=question)
    from pairsmith.campaign.learning import fit_or_prior

    if model is not None:
        check_recipe(model, asked.recipe)
        fitted = _gaussian_process(model)
        return matching(fitted, asked.features), fitted, asked.groups, asked.asks_again
    return asked.features, fit_or_prior(asked), asked.groups, asked.asks_again


def _of_table(
    items: str, answers: list[Path], id_column: str | None, features: list[str] | None, raw: dict[str, Any]
) -> tuple[Any, BradleyTerryGP]:
    """The items of a table, and what the answers say of them."""
    import pairsmith

    if answers:
        X, known, weights, *_ = table_evidence(
            items, answers, None, None, id_column, features, may_lack_features=True, **raw
        )
        return X, pairsmith.BradleyTerryGP().fit(X, **in_words(known), sample_weight=weights)
    table, _ = read_features(Path(items), id_column, features, may_lack_features=True, **raw)
    return table.features, pairsmith.BradleyTerryGP().fit(table.features)


def _gaussian_process(path: Path) -> BradleyTerryGP:
    from pairsmith.model.gaussian_process import BradleyTerryGP

    fitted = load_model(path)
    if not isinstance(fitted, BradleyTerryGP):
        raise ValueError(
            f"--model {path} is a linear model, which does not know what it leaves out; fit without --linear"
        )
    return fitted


def _print(found: Forecast) -> None:
    """The sentences and the table."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for sentence in found.sentences():
        console.print(sentence, soft_wrap=True)
    table, interval = Table(), f"{found.level:.0%} interval"
    for name in ("more answers", "doubt", interval, "wrong", "reliability", interval):
        table.add_column(name, justify="right", no_wrap=True)
    for row in found.to_frame().itertuples():
        table.add_row(
            f"{row.answers:,}",
            f"{row.doubt:.1%}",
            f"{row.doubt_low:.1%} to {row.doubt_high:.1%}",
            f"{row.wrong:.1%}",
            f"{row.reliability:.2f}",
            f"{row.reliability_low:.2f} to {row.reliability_high:.2f}",
        )
    console.print(table)
