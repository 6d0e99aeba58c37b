"""pairsmith select: the pairs to ask next, for a table of items or a campaign."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from pairsmith.campaign import is_campaign
from pairsmith.cli.inputs import (
    Dimensions,
    FeatureColumns,
    FeatureOptions,
    IdColumn,
    ImageColumns,
    ImageEmbedding,
    NoFeatures,
    TextColumns,
    TextEmbedding,
    WhichQuestion,
    check_better,
    check_recipe,
    dask_client,
    display_name,
    load_model,
    match_features,
    parse_number,
    read_campaign,
    read_features,
    read_items_for_model,
    read_recipe,
    recipe_options,
    refuse_question,
)
from pairsmith.cli.interruption import resumable
from pairsmith.cli.output import check_stdout, check_table_path, file_or_stdout, print_frame, summarise
from pairsmith.criteria import CRITERIA, GOALS
from pairsmith.data.names import printable
from pairsmith.recipe import check_unused

if TYPE_CHECKING:
    from pairsmith.data.arrays import Floats
    from pairsmith.files.items import Items
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.selection.select import Selection


class SelectCommand(TyperCommand):
    """The command select, which accepts --certify without a value; typer has no optional option values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spelled_out = []
        for position, argument in enumerate(args):
            spelled_out.append(argument)
            following = "".join(args[position + 1 : position + 2])
            has_no_value = argument == "--certify" and not following.lstrip("+-").isdecimal()
            if has_no_value and "--" not in args[:position]:
                spelled_out.append("0")
        return super().parse_args(ctx, spelled_out)


def select(
    items: Annotated[
        str,
        typer.Argument(
            help="A table of items (.csv, .tsv, .jsonl, .parquet, .npy) with numeric features, or with --text or"
            " --image; or a campaign, to select its next pairs.",
            metavar="ITEMS",
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--pairs", help="The number of pairs to select.", metavar="K")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The file to write the pairs to (.csv, .jsonl, .parquet). Default: CSV on standard output.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="A table of items that have an absolute label: columns id and, optionally, label. Rows with an empty"
            " label do not count."
        ),
    ] = None,
    better: Annotated[
        str | None,
        typer.Option(help="The better one of the two labels in --labels, if they are words.", metavar="LABEL"),
    ] = None,
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            help="A table of pairs that have been compared: columns first and second, or winner and loser. The"
            " selection builds on them and does not repeat them. May be repeated."
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="A table of the pairs to choose from: columns first and second, or winner and loser. Default: all"
            " pairs."
        ),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Pair only items that have the same value in this column.", metavar="COLUMN")
    ] = None,
    max_per_item: Annotated[
        int | None, typer.Option(help="The largest number of selected pairs that an item may be in.", metavar="COUNT")
    ] = None,
    id_column: IdColumn = None,
    features: FeatureColumns = None,
    no_features: NoFeatures = False,
    objective: Annotated[
        str | None,
        typer.Option(
            help=f"The criterion that says what a pair is worth: {', '.join(CRITERIA)}. A criterion that needs a model"
            " uses --model, or fits one to --labels and --answers; order does not need answers yet. Default: order for"
            " a campaign or with --model, else d-optimal.",
            metavar="NAME",
        ),
    ] = None,
    goal: Annotated[
        str,
        typer.Option(help=f"The goal of the objective order: {', '.join(GOALS)} (find the best items; see --top)."),
    ] = "ranking",
    top: Annotated[
        int | None, typer.Option(help="How many items count as the best, for --goal top.", metavar="COUNT")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A model written by pairsmith fit; the selection builds on what it has learned. A model of fit"
            " --linear works only with objectives that need a model."
        ),
    ] = None,
    item_effects: Annotated[
        float | None,
        typer.Option(
            help="The variance of the part of an item's score that features do not explain. With it, or with"
            " --objective order, items need no features. A model written by pairsmith fit has its own variance.",
            metavar="VARIANCE",
        ),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            help="auto (the engine), or one of the paper's eight algorithms: naive, factorization, scalar, naive-lazy,"
            " factorization-lazy, factorization-lazy-memo, scalar-lazy, scalar-lazy-memo."
        ),
    ] = "auto",
    ridge: Annotated[
        str, typer.Option(help="The lambda of the information matrix. auto: 1e-5 times the mean norm of the features.")
    ] = "auto",
    seed: Annotated[
        int | None,
        typer.Option(
            help="The seed of random choices: of the objective random, of the samples for mutual-information, and among"
            " items that nothing tells apart.",
            min=0,
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="The number of threads. Default: all cores.")] = None,
    certify: Annotated[
        int | None,
        typer.Option(
            "--certify",
            help="Prove how close the pairs are to the best possible ones. The proof takes one more scan of all pairs;"
            " SCANS further scans tighten it, and 20 help much.",
            metavar="[SCANS]",
            min=0,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Save the pairs selected so far in this file; running the same command again continues from there."
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Scan on a Dask cluster: the address of its scheduler (tcp://host:8786), or local:4 for four workers"
            " on this machine.",
            metavar="WHERE",
        ),
    ] = None,
    text: TextColumns = None,
    image: ImageColumns = None,
    dimensions: Dimensions = None,
    text_embedding: TextEmbedding = None,
    image_embedding: ImageEmbedding = None,
    question: WhichQuestion = None,
) -> None:
    """Select the pairs of items whose comparison teaches most.

    [bold]pairsmith select items.csv -k 200 --labels labels.csv -o pairs.csv[/bold]
    """
    output = file_or_stdout(output)
    if output is None:
        check_stdout()
    else:
        check_table_path(output, [Path(items), labels, candidates, *(answers or [])])
    if checkpoint is not None and any(other and _is_same_file(checkpoint, Path(other)) for other in (items, output)):
        raise ValueError(f"--checkpoint {checkpoint} is another file of this command; choose another")
    check_better(better, labels)
    if no_features and (features or text or image):
        raise ValueError("--no-features leaves nothing for --features, --text and --image; leave one out")
    if candidates and group_by:
        raise ValueError("--candidates and --group-by both say which pairs may be asked; give one of them")
    arguments: dict[str, Any] = {
        "max_per_item": max_per_item,
        "ridge": ridge if ridge == "auto" else parse_number(ridge, "--ridge"),
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
        snapshot_replacing = labels, answers, candidates, group_by, id_column, features, text, image, no_features
        refused = *snapshot_replacing, dimensions, text_embedding, image_embedding
        selection = _select_from_campaign(items, k, refused, model, dask, arguments, question)
    else:
        refuse_question(question)
        recipe = recipe_options(dimensions, text_embedding, image_embedding, output)
        options = FeatureOptions(None if no_features else features or [], text, image, recipe=recipe)
        needs_fit = model is None and objective in CRITERIA and CRITERIA[objective].needs_model
        if text or image:  # making features takes time, so the other files are checked first
            _check_ids(Path(items), id_column, labels, better, answers or [], candidates, needs_fit)
        table, fitted, sentences = _read_items(Path(items), id_column, group_by, model, options)
        for sentence in sentences:
            print(printable(sentence), file=sys.stderr if output is None else sys.stdout)
        evidence = read_evidence(table, labels, better, answers or [], needs_fit)
        counts = evidence.pop("counts", None)
        if needs_fit and objective is not None and CRITERIA[objective].needs_gaussian_process:
            fitted = fit_evidence(table, evidence, counts)
        elif table.features.shape[1] == 0 and fitted is None and item_effects is None:
            reason = "" if no_features else f"{table.path}: there are no feature columns besides the ids; "
            raise ValueError(
                f"{reason}without features give --item-effects 1, or --objective order, which learns from answers"
            )
        selection = _select_from_table(table, k, candidates, evidence, fitted, dask, arguments)
    if output is None:
        print_frame(selection.to_frame())
    else:
        from pairsmith.files.write_table import write_table

        write_table(selection.to_frame(), output, output.suffix[1:])
        summarise(selection, output)


def _select_from_campaign(
    target: str,
    k: int,
    refused: tuple[object, ...],
    model_path: Path | None,
    dask: str | None,
    arguments: dict[str, Any],
    question: int | None,
) -> Selection:
    """Select the next pairs of a campaign. None of the `refused` options may be set."""
    snapshot = read_campaign(target, *refused, question=question)
    if model_path is not None:
        check_recipe(model_path, snapshot.recipe)
    from pairsmith.campaign.planning.rounds import next_pairs

    with resumable(arguments["checkpoint"]), dask_client(dask) as client:
        model = None if model_path is None else load_model(model_path)
        if model is not None:
            match_features(model, snapshot.features)
        selection = next_pairs(snapshot, k, model=model, client=client, **arguments)
    if selection is None:
        raise ValueError(f"{display_name(target)}: every pair has been asked; there are no more to pick")
    if len(selection) < k:
        warnings.warn(f"only {len(selection)} of the {k} pairs asked for are left to ask", stacklevel=2)
    return dataclasses.replace(selection, ids=snapshot.features.index.to_numpy(dtype=object))


def _select_from_table(
    table: Items,
    k: int,
    candidates: Path | None,
    evidence: dict[str, Any],
    model: BradleyTerry | BradleyTerryGP | None,
    dask: str | None,
    arguments: dict[str, Any],
) -> Selection:
    """Select pairs of the items of a table. The workers of a cluster read a .npy file themselves."""
    import pairsmith
    from pairsmith.files.answers import read_pairs

    allowed: pairsmith.WithinGroups | pairsmith.PairList | None = None
    if table.groups is not None:
        allowed = pairsmith.WithinGroups(table.groups)
    elif candidates:
        allowed = pairsmith.PairList(read_pairs(candidates, table))
    features = table.features if model is None else match_features(model, table.features)
    X: Any = features.to_numpy()
    # BradleyTerryGP is slow to import, so look only if there is a model.
    if model is not None and isinstance(model, pairsmith.BradleyTerryGP):
        X = features  # the model recognises items by the ids
    elif features.shape[1] == 0:
        X, evidence = None, evidence | {"n_items": len(features)}
    path = table.path.resolve()
    with resumable(arguments["checkpoint"]), dask_client(dask) as client:
        if client is not None and path.suffix == ".npy" and path.is_file() and X is not features:
            X = path
        selection = pairsmith.select(X, k, **evidence, candidates=allowed, model=model, client=client, **arguments)
    return dataclasses.replace(selection, ids=table.features.index.to_numpy(dtype=object))


def _read_items(
    path: Path, id_column: str | None, group_by: str | None, model_path: Path | None, options: FeatureOptions
) -> tuple[Items, BradleyTerry | BradleyTerryGP | None, list[str]]:
    """Return the items, the model if one is named, and sentences about the features that were made."""
    model = None if model_path is None else load_model(model_path)
    if model is None or model_path is None or (options.columns and read_recipe(model_path) is None):
        table, recipe = read_features(path, id_column, options, group_by, may_lack_features=True)
        return table, model, [] if recipe is None else recipe.sentences()
    conflicting = {
        "--features": options.columns,
        "--text": options.text,
        "--image": options.image,
        "--no-features": options.columns is None and model.n_features_in_ > 0,
    }
    option = next((option for option, value in conflicting.items() if value), None)
    if option is not None:
        raise ValueError(f"--model {model_path} has its own features; leave out {option}")
    check_unused(options.recipe)
    return read_items_for_model(model, model_path, path, id_column, group_by), model, []


def _check_ids(
    path: Path,
    id_column: str | None,
    labels: Path | None,
    better: str | None,
    answers: list[Path],
    candidates: Path | None,
    needs_fit: bool,
) -> None:
    """Refuse labels, answers and candidates that are about other items than the table's."""
    from pairsmith.files.answers import read_pairs
    from pairsmith.files.items import read_items

    table = read_items(path, id_column, None)
    read_evidence(table, labels, better, answers, needs_fit)
    if candidates:
        read_pairs(candidates, table)


def read_evidence(
    table: Items, labels: Path | None, better: str | None, answers: list[Path], needs_fit: bool
) -> dict[str, Any]:
    """Return labels and answers as keyword arguments of select(), and the `counts` of the answers.

    A model that is to be fitted needs the values of labels and the outcomes of answers; else items and pairs suffice.
    """
    import numpy as np

    from pairsmith.data.outcomes import as_words
    from pairsmith.files.answers import read_answers, read_pairs
    from pairsmith.files.labels import as_label, read_labeled, read_labels

    evidence: dict[str, Any] = {}
    if labels and needs_fit:
        evidence["labeled"], evidence["labels"] = read_labels(labels, table)
        evidence["better"] = None if better is None else as_label(better, evidence["labels"])
    elif labels:
        evidence["labeled"] = read_labeled(labels, table)
    if answers and needs_fit:
        parts = [read_answers(path, table, raters=()) for path in answers]
        evidence["comparisons"] = np.concatenate([part.pairs for part in parts])
        evidence["outcomes"] = as_words(np.concatenate([part.outcomes for part in parts]))
        evidence["counts"] = np.concatenate([part.counts for part in parts])
    elif answers:
        evidence["comparisons"] = np.concatenate([read_pairs(path, table) for path in answers])
    return evidence


def fit_evidence(table: Items, evidence: dict[str, Any], counts: Floats | None) -> BradleyTerryGP:
    """Fit a model to labels and answers. Only the compared pairs stay in `evidence`, so that they are not repeated.

    `counts` says how often each answer was given.
    """
    import numpy as np

    import pairsmith

    labels, labeled, outcomes = (evidence.pop(name, None) for name in ("labels", "labeled", "outcomes"))
    weights = np.concatenate([np.ones(0 if labels is None else len(labels)), [] if counts is None else counts])
    return pairsmith.BradleyTerryGP(better=evidence.pop("better", None)).fit(
        table.features,
        labels,
        labeled=labeled,
        comparisons=evidence.get("comparisons"),
        outcomes=outcomes,
        sample_weight=weights if len(weights) else None,
    )


def _is_same_file(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve()
