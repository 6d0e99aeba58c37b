"""pairsmith select: the pairs to ask next, from a table of items or from a campaign."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from pairsmith.campaign import is_campaign
from pairsmith.cli import opening
from pairsmith.cli.inputs import (
    Dimensions,
    IdColumn,
    ImageColumns,
    ImageEmbedding,
    NoFeatures,
    TextColumns,
    TextEmbedding,
    as_number,
    check_recipe,
    cluster,
    load_model,
    making,
    matching,
)
from pairsmith.cli.interruption import resumable
from pairsmith.cli.output import check_stdout, check_writable, file_or_stdout, print_frame, summarise
from pairsmith.cli.selecting import check_ids, known_of, learned, read_table
from pairsmith.criteria import CRITERIA, GOALS
from pairsmith.data.names import printable

if TYPE_CHECKING:
    from pairsmith.files.items import Items
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.selection.select import Selection


class Command(TyperCommand):
    """The command, whose --certify may stand alone: typer knows no options whose value may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spelled = []
        for at, arg in enumerate(args):
            spelled.append(arg)
            alone = arg == "--certify" and not "".join(args[at + 1 : at + 2]).lstrip("+-").isdecimal()
            if alone and "--" not in args[:at]:
                spelled.append("0")
        return super().parse_args(ctx, spelled)


def select(
    items: Annotated[
        str,
        typer.Argument(
            help="Items: .csv, .tsv, .jsonl, .parquet or .npy, with numeric features, or with --text or --image; or a"
            " campaign, whose answers are built on.",
            metavar="ITEMS",
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--pairs", help="How many pairs to pick.", metavar="K")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Where to write them (.csv, .jsonl, .parquet); else CSV to standard output.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Items that have an absolute label already: columns id and, optionally, label; no label, not counted."
        ),
    ] = None,
    better: Annotated[
        str | None,
        typer.Option(help="The better one of the two labels of --labels, where they are words.", metavar="LABEL"),
    ] = None,
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            help="Pairs compared already: columns first and second, or winner and loser. They are built on, not asked"
            " again. Repeat it to give the files of several rounds."
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="The only pairs that may be asked: columns first and second, or winner and loser. Default: all pairs."
        ),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Pair only items with the same value in this column.", metavar="COLUMN")
    ] = None,
    max_per_item: Annotated[
        int | None, typer.Option(help="No item in more than this many of the pairs picked now.", metavar="COUNT")
    ] = None,
    id_column: IdColumn = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Feature columns, by name or pattern such as 'f_*'; may be repeated. Default: all other columns.",
            metavar="PATTERN",
        ),
    ] = None,
    no_features: NoFeatures = False,
    objective: Annotated[
        str | None,
        typer.Option(
            help=f"What a pair is worth: {', '.join(CRITERIA)}. Where a model is needed, it is --model or fitted to the"
            " labels of --labels and the outcomes of --answers; for order there need not be any yet. Default: order for"
            " a campaign or a --model of pairsmith fit, else d-optimal.",
            metavar="NAME",
        ),
    ] = None,
    goal: Annotated[
        str,
        typer.Option(help=f"What order is about: {', '.join(GOALS)} (the best --top)."),
    ] = "ranking",
    top: Annotated[int | None, typer.Option(help="How many are the best, for --goal top.", metavar="COUNT")] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A model that pairsmith fit wrote: the design goes on from what it knows. One of fit --linear is for"
            " the objectives that use a model."
        ),
    ] = None,
    item_effects: Annotated[
        float | None,
        typer.Option(
            help="The variance of an effect of each item's own, beside what features say (a model of pairsmith fit has"
            " its own). Items need no features then, nor for --objective order.",
            metavar="VARIANCE",
        ),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            help="auto (the engine), or one of the paper's eight: naive, factorization, scalar, naive-lazy,"
            " factorization-lazy, factorization-lazy-memo, scalar-lazy, scalar-lazy-memo."
        ),
    ] = "auto",
    ridge: Annotated[
        str, typer.Option(help="Lambda of the objective. auto: 1e-5 times the mean norm of the features.")
    ] = "auto",
    seed: Annotated[
        int | None,
        typer.Option(
            help="Makes the random objective repeatable; other samples for mutual-information; another order of items"
            " that nothing tells apart.",
            min=0,
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads. Default: all cores.")] = None,
    certify: Annotated[
        int | None,
        typer.Option(
            "--certify",
            help="Prove how close to the best possible pairs these are, by one more scan, or by so many more, which"
            " tighten the proof; 20 do much.",
            metavar="[SCANS]",
            min=0,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Keep the pairs picked so far in this file; the same command, run again, goes on from there."
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Scan on a Dask cluster: a scheduler's address (tcp://host:8786), or local:4 for four workers here.",
            metavar="WHERE",
        ),
    ] = None,
    text: TextColumns = None,
    image: ImageColumns = None,
    dimensions: Dimensions = None,
    text_embedding: TextEmbedding = None,
    image_embedding: ImageEmbedding = None,
    question: opening.WhichQuestion = None,
) -> None:
    """Pick the pairs of items whose comparison teaches most.

    [bold]pairsmith select items.csv -k 200 --labels labels.csv -o pairs.csv[/bold]
    """
    output = file_or_stdout(output)
    if output is None:
        check_stdout()
    else:
        check_writable(output, [Path(items), labels, candidates, *(answers or [])])
    if checkpoint is not None and any(given and _same(checkpoint, Path(given)) for given in (items, output)):
        raise ValueError(f"--checkpoint {checkpoint} is another file of this command; choose another")
    if better is not None and labels is None:
        raise ValueError("--better names one of the labels of --labels; give that too")
    if no_features and (features or text or image):
        raise ValueError("--no-features leaves nothing for --features, --text and --image; leave one out")
    if candidates and group_by:
        raise ValueError("--candidates and --group-by both say which pairs may be asked; give one of them")
    options: dict[str, Any] = {
        "max_per_item": max_per_item,
        "ridge": ridge if ridge == "auto" else as_number(ridge, "--ridge"),
        "item_effects": item_effects,
        "objective": objective,
        "goal": goal,
        "top": top,
        "algorithm": algorithm,
        "random_state": seed,
        "n_jobs": jobs,
        "progress": sys.stderr.isatty(),
        "certify": False if certify is None else certify,
        "checkpoint": checkpoint,
    }
    if is_campaign(items):
        named = labels, answers, candidates, group_by, id_column, features, text, image, no_features
        refused = *named, dimensions, text_embedding, image_embedding
        selection = _from_campaign(items, k, refused, model, dask, options, question)
    else:
        opening.refuse_question(question)
        raw: dict[str, Any] = {"text": text, "image": image, "may_lack_features": True}
        raw |= making(dimensions, text_embedding, image_embedding, output)
        learns = model is None and objective in CRITERIA and CRITERIA[objective].needs_model
        if text or image:  # features take their time, so that what is wrong elsewhere is said before
            check_ids(Path(items), id_column, labels, better, answers or [], candidates, learns)
        table, fitted, told = read_table(Path(items), id_column, group_by, model, features or [], no_features, raw)
        for line in told:
            print(printable(line), file=sys.stderr if output is None else sys.stdout)
        known = known_of(table, labels, better, answers or [], learns)
        counts = known.pop("counts", None)
        if learns and objective is not None and CRITERIA[objective].only_effects:
            fitted = learned(table, known, counts)
        elif table.features.shape[1] == 0 and fitted is None and item_effects is None:
            lacking = "" if no_features else f"{table.path}: there are no feature columns besides the ids; "
            raise ValueError(
                f"{lacking}without features give --item-effects 1, or --objective order, which learns from answers"
            )
        selection = _from_table(table, k, candidates, known, fitted, dask, options)
    if output is None:
        print_frame(selection.to_frame())
    else:
        from pairsmith.files.write_table import write_table

        write_table(selection.to_frame(), output, output.suffix[1:])
        summarise(selection, output)


def _from_campaign(
    target: str,
    k: int,
    refused: tuple[object, ...],
    model: Path | None,
    dask: str | None,
    options: dict[str, Any],
    question: int | None,
) -> Selection:
    """The next pairs of a campaign, which has its own answer to the options that are refused."""
    asked = opening.snapshot_of(target, *refused, question=question)
    if model is not None:
        check_recipe(model, asked.recipe)
    from pairsmith.campaign.planning.rounds import next_pairs

    with resumable(options["checkpoint"]), cluster(dask) as client:
        fitted = load_model(model) if model else None
        if fitted is not None:
            matching(fitted, asked.features)
        selection = next_pairs(asked, k, model=fitted, client=client, **options)
    if selection is None:
        raise ValueError(f"{opening.shown(target)}: every pair has been asked; there are no more to pick")
    if len(selection) < k:
        warnings.warn(f"only {len(selection)} of the {k} pairs asked for are left to ask", stacklevel=2)
    return dataclasses.replace(selection, ids=asked.features.index.to_numpy(dtype=object))


def _from_table(
    table: Items,
    k: int,
    candidates: Path | None,
    known: dict[str, Any],
    fitted: BradleyTerry | BradleyTerryGP | None,
    dask: str | None,
    options: dict[str, Any],
) -> Selection:
    """Pairs of the items of a table, with or without features; workers of a cluster read .npy files themselves."""
    import pairsmith
    from pairsmith.files.answers import read_pairs

    allowed: pairsmith.WithinGroups | pairsmith.PairList | None = None
    if table.groups is not None:
        allowed = pairsmith.WithinGroups(table.groups)
    elif candidates:
        allowed = pairsmith.PairList(read_pairs(candidates, table))
    features = table.features if fitted is None else matching(fitted, table.features)
    X: Any = features.to_numpy()
    if fitted is not None and isinstance(fitted, pairsmith.BradleyTerryGP):  # which is slow to import
        X = features  # with the ids, by which it knows items
    elif features.shape[1] == 0:
        X, known = None, known | {"n_items": len(features)}
    path = table.path.resolve()
    with resumable(options["checkpoint"]), cluster(dask) as client:
        if client is not None and path.suffix == ".npy" and path.is_file() and X is not features:
            X = path
        selection = pairsmith.select(X, k, **known, candidates=allowed, model=fitted, client=client, **options)
    return dataclasses.replace(selection, ids=table.features.index.to_numpy(dtype=object))


def _same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve()
