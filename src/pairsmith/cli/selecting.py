"""Behind the options of pairsmith select: the items of a table, a model of them, and what is known of them already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairsmith.cli.inputs import load_model, read_features, read_items_of, recipe_of
from pairsmith.recipe import check_unused

if TYPE_CHECKING:
    from pairsmith.data.arrays import Floats
    from pairsmith.files.items import Items
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP


def read_table(
    path: Path,
    id_column: str | None,
    group_by: str | None,
    model: Path | None,
    features: list[str],
    no_features: bool,
    raw: dict[str, Any],
) -> tuple[Items, BradleyTerry | BradleyTerryGP | None, list[str]]:
    """The items, the model that is named, and what there is to say of features that were made; `raw` says how."""
    fitted = None if model is None else load_model(model)
    if model is None or fitted is None or (features and recipe_of(model) is None):
        table, recipe = read_features(path, id_column, None if no_features else features, group_by, **raw)
        return table, fitted, [] if recipe is None else recipe.sentences()
    named = {"--features": features, "--text": raw["text"], "--image": raw["image"]}
    named["--no-features"] = no_features and fitted.n_features_in_ > 0
    given = next((option for option, value in named.items() if value), None)
    if given is not None:
        raise ValueError(f"--model {model} has its own features; leave out {given}")
    check_unused(raw)
    return read_items_of(fitted, model, path, id_column, group_by), fitted, []


def learned(table: Items, known: dict[str, Any], counts: Floats | None) -> BradleyTerryGP:
    """What labels and answers tell of these items, if there are any; `known` keeps the pairs, not to be asked again.

    `counts` says how often each answer was given.
    """
    import numpy as np

    import pairsmith

    y, labeled, outcomes = (known.pop(name, None) for name in ("labels", "labeled", "outcomes"))
    weights = np.concatenate([np.ones(0 if y is None else len(y)), [] if counts is None else counts])
    return pairsmith.BradleyTerryGP(better=known.pop("better", None)).fit(
        table.features,
        y,
        labeled=labeled,
        comparisons=known.get("comparisons"),
        outcomes=outcomes,
        sample_weight=weights if len(weights) else None,
    )


def check_ids(
    path: Path,
    id_column: str | None,
    labels: Path | None,
    better: str | None,
    answers: list[Path],
    candidates: Path | None,
    learns: bool,
) -> None:
    """Refuse labels, answers and candidates that are not about the items of this table."""
    from pairsmith.files.answers import read_pairs
    from pairsmith.files.items import read_items

    named = read_items(path, id_column, None)
    known_of(named, labels, better, answers, learns)
    if candidates:
        read_pairs(candidates, named)


def known_of(
    table: Items, labels: Path | None, better: str | None, answers: list[Path], learns: bool
) -> dict[str, Any]:
    """What select() is told of labels and answers; `learns` says that a model is fitted to them, which needs all."""
    import numpy as np

    from pairsmith.data.outcomes import as_words
    from pairsmith.files.answers import read_answers, read_pairs
    from pairsmith.files.labels import as_label, read_labeled, read_labels

    known: dict[str, Any] = {}
    if labels and learns:
        known["labeled"], known["labels"] = read_labels(labels, table)
        known["better"] = None if better is None else as_label(better, known["labels"])
    elif labels:
        known["labeled"] = read_labeled(labels, table)
    if answers and learns:
        parts = [read_answers(path, table, raters=()) for path in answers]
        known["comparisons"] = np.concatenate([part.pairs for part in parts])
        known["outcomes"] = as_words(np.concatenate([part.outcomes for part in parts]))
        known["counts"] = np.concatenate([part.counts for part in parts])
    elif answers:
        known["comparisons"] = np.concatenate([read_pairs(path, table) for path in answers])
    return known
