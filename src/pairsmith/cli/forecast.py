"""pairsmith forecast: how many more answers it will take, for a table of items or a campaign."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairsmith.campaign import is_campaign
from pairsmith.cli.fit import read_table_evidence
from pairsmith.cli.inputs import (
    FeatureColumns,
    FeatureOptions,
    IdColumn,
    ImageColumns,
    MadeBy,
    NoFeatures,
    TextColumns,
    WhichQuestion,
    check_recipe,
    load_model,
    match_features,
    read_campaign,
    read_features,
    read_items_for_model,
    recipe_options,
    refuse_question,
)
from pairsmith.cli.output import check_table_path, file_or_stdout
from pairsmith.data.names import printable

if TYPE_CHECKING:
    from pairsmith.forecasting import Forecast
    from pairsmith.model.gaussian_process import BradleyTerryGP

_TARGET = re.compile(r"\s*(?:(doubt)\s*<=?|(reliability)\s*>=?)\s*(\d+\.?\d*|\.\d+)\s*(%?)\s*")


def forecast(
    items: Annotated[
        str,
        typer.Argument(help="A table of items with numeric features, as for select; or a campaign.", metavar="ITEMS"),
    ],
    answers: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Tables of the answers so far, as for fit; none before the first answer. A campaign has its own.",
            metavar="[ANSWERS...]",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="The target to reach: 'doubt < 10%' (the chance that two items stand in the wrong order) or"
            " 'reliability > 0.9'.",
            metavar="TARGET",
        ),
    ] = None,
    more: Annotated[
        list[int] | None,
        typer.Option(
            "--more",
            help="Forecast the state after this many more answers. May be repeated. Default: 50, 100, 200 and 400, and"
            " up to 1,600 with a target.",
            metavar="COUNT",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A model written by pairsmith fit, to use instead of ANSWERS."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A file to write the table to as well (.csv, .jsonl, .parquet)."),
    ] = None,
    id_column: IdColumn = None,
    features: FeatureColumns = None,
    no_features: NoFeatures = False,
    text: TextColumns = None,
    image: ImageColumns = None,
    by: MadeBy = None,
    ask_again: Annotated[
        bool,
        typer.Option(
            "--ask-again", help="Let pairs be asked more than once, as campaigns with --answers-per-pair auto do."
        ),
    ] = False,
    simulations: Annotated[
        int, typer.Option(help="The number of simulations. More make the intervals steadier.", metavar="COUNT", min=2)
    ] = 8,
    seed: Annotated[int, typer.Option(help="The seed of the simulations.", min=0)] = 0,
    jobs: Annotated[int | None, typer.Option(help="The number of threads. Default: all cores.")] = None,
    question: WhichQuestion = None,
) -> None:
    """Forecast how much more answers will teach, and how many answers a target takes.

    The forecast simulates the future: it draws true scores that agree with the answers so far, raters who err as
    often as they have so far, and pairs chosen as select --model and campaigns choose them.

    [bold]pairsmith forecast items.csv answers.csv --target 'doubt < 10%'[/bold]
    """
    output = file_or_stdout(output)
    if output is not None:
        check_table_path(output, [Path(items), model, *(answers or [])])
    goal: dict[str, Any] = {} if target is None else _parse_target(target)
    feature_options = {"--features": features, "--text": text, "--image": image, "--by": by}
    named = next((option for option, value in feature_options.items() if value), None)
    if no_features and named:
        raise ValueError(f"--no-features leaves nothing for {named}; leave one out")
    if model is not None and answers:
        raise ValueError("--model has answers already, and ANSWERS are others; give one of them")
    for number in more or []:
        if number < 1:
            raise ValueError(f"--more must be at least 1, got {number}")
    groups = None
    if is_campaign(items):
        refused = answers, id_column, features, no_features, text, image, by
        X, fitted, groups, asks_again = _read_campaign(items, model, *refused, question=question)
        ask_again = ask_again or asks_again
    else:
        refuse_question(question)
        if model is not None:
            if named or (no_features and load_model(model).n_features_in_ > 0):
                raise ValueError(f"--model {model} has its own features; leave out {named or '--no-features'}")
            fitted = _load_gaussian_process(model)
            X = match_features(fitted, read_items_for_model(fitted, model, Path(items), id_column).features)
        else:
            options = FeatureOptions(None if no_features else features or [], text, image, by, recipe_options())
            X, fitted = _fit_table(items, answers or [], id_column, options)
    from pairsmith import WithinGroups
    from pairsmith.forecasting import forecast as run_forecast

    result = run_forecast(
        X,
        model=fitted,
        answers=more or None,
        candidates=None if groups is None else WithinGroups(groups),
        ask_again=ask_again,
        simulations=simulations,
        random_state=seed,
        n_jobs=jobs,
        progress=sys.stderr is not None and sys.stderr.isatty(),
        **goal,
    )
    _print(result)
    if output is not None:
        from pairsmith.files.write_table import write_table

        write_table(result.to_frame(), output, output.suffix[1:])
        print(printable(f"Wrote {output}"))


def _parse_target(text: str) -> dict[str, float]:
    """Return the target as a keyword argument of ps.forecast: doubt or reliability."""
    match = _TARGET.fullmatch(text)
    if match is not None:
        doubt, reliability, number, percent = match.groups()
        value = float(number) / (100 if percent else 1)
        if 0 < value < 1:
            return {doubt or reliability: value}
    raise ValueError(f"--target must be like 'doubt < 10%' or 'reliability > 0.9', got {text!r}")


def _read_campaign(
    target: str, model_path: Path | None, *refused: object, question: int | None
) -> tuple[Any, BradleyTerryGP, Any, bool]:
    """Return the features, the model, the groups that pairs stay within, and whether pairs may be asked again.

    The model is fitted to the campaign's answers unless `model_path` names one.
    """
    snapshot = read_campaign(target, *refused, question=question)
    from pairsmith.campaign.learning import fit_or_prior

    if model_path is None:
        return snapshot.features, fit_or_prior(snapshot), snapshot.groups, snapshot.asks_again
    check_recipe(model_path, snapshot.recipe)
    model = _load_gaussian_process(model_path)
    return match_features(model, snapshot.features), model, snapshot.groups, snapshot.asks_again


def _fit_table(
    items: str, answers: list[Path], id_column: str | None, options: FeatureOptions
) -> tuple[Any, BradleyTerryGP]:
    """Return the items of a table and a model of their answers, or the prior if there are none."""
    if answers:
        evidence = read_table_evidence(items, answers, None, None, id_column, options, may_lack_features=True)
        return evidence.features, evidence.fit_gp()
    import pairsmith

    table, _ = read_features(Path(items), id_column, options, may_lack_features=True)
    return table.features, pairsmith.BradleyTerryGP().fit(table.features)


def _load_gaussian_process(path: Path) -> BradleyTerryGP:
    from pairsmith.model.gaussian_process import BradleyTerryGP

    model = load_model(path)
    if not isinstance(model, BradleyTerryGP):
        raise ValueError(
            f"--model {path} is a linear model, which does not know what it leaves out; fit without --linear"
        )
    return model


def _print(result: Forecast) -> None:
    """Print the forecast's sentences and table."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for sentence in result.sentences():
        console.print(sentence, soft_wrap=True)
    table, interval = Table(), f"{result.level:.0%} interval"
    for name in ("more answers", "doubt", interval, "wrong", "reliability", interval):
        table.add_column(name, justify="right", no_wrap=True)
    for row in result.to_frame().itertuples():
        table.add_row(
            f"{row.answers:,}",
            f"{row.doubt:.1%}",
            f"{row.doubt_low:.1%} to {row.doubt_high:.1%}",
            f"{row.wrong:.1%}",
            f"{row.reliability:.2f}",
            f"{row.reliability_low:.2f} to {row.reliability_high:.2f}",
        )
    console.print(table)
