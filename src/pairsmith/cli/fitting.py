"""Behind the options of pairsmith fit: evidence from files or a campaign, either model, and what to tell of it."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairsmith.cli import opening
from pairsmith.cli.inputs import as_number, read_features
from pairsmith.cli.output import counted
from pairsmith.data.names import printable

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from rich.table import Table

    from pairsmith.data.arrays import Floats, Ints
    from pairsmith.files.answers import AnswerTable
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.recipe.recipe import Recipe

FEW = 10  # held-out answers: on fewer, a figure says little
MOST_RATERS = 12  # are shown


def campaign_evidence(
    target: str, *refused: object, question: int | None = None
) -> tuple[pd.DataFrame, dict[str, Any], Floats, Recipe | None]:
    """A campaign's features, its labels and answers as BradleyTerryGP.fit takes them, and what each of them weighs.

    And the recipe of its features, None where they were there already.
    """
    import numpy as np

    asked = opening.snapshot_of(target, *refused, question=question)
    from pairsmith.campaign.learning import evidence

    known = evidence(asked)
    if "comparisons" not in known:
        raise ValueError(opening.nothing_to_learn(target))
    ones = np.ones(len(known["comparisons"]) + len(known.get("y", [])))
    recipe = None
    if asked.recipe is not None:
        from pairsmith.recipe.recipe import Recipe

        recipe = Recipe.from_json(asked.recipe)
    return asked.features, known, known.pop("sample_weight", ones), recipe


def table_evidence(
    items: str,
    answers: list[Path],
    labels: Path | None,
    better: str | None,
    id_column: str | None,
    features: list[str] | None,
    may_lack_features: bool,
    **raw: Any,
) -> tuple[pd.DataFrame, dict[str, Any], Floats, Any, Recipe | None, list[str]]:
    """The same from files; the better one of the two labels, None where nobody says; the recipe of the features.

    Last come sentences about rows that were left out, or contradict each other. `raw` has the options of
    `read_features` that name texts and images.
    """
    import numpy as np

    from pairsmith.files.answers import read_answers
    from pairsmith.files.items import read_items
    from pairsmith.files.labels import as_label, read_labels

    if better is not None and labels is None:
        raise ValueError("--better names one of the labels of --labels; give that too")
    if not answers:
        raise ValueError("ANSWERS is missing: name at least one file of answers, or a campaign instead of items")
    made = raw.get("text") or raw.get("image")  # which takes its time, so all else is read before
    named = read_items(Path(items), id_column, None) if made else None
    read = partial(read_features, Path(items), id_column, features, may_lack_features=may_lack_features, **raw)
    table, recipe = (named, None) if named is not None else read()
    parts = {path: read_answers(path, table) for path in answers}
    known = _together(parts)
    weights = np.concatenate([part.counts for part in parts.values()])
    if len(weights) == 0 and not labels:
        raise ValueError(f"{answers[0]} holds no answers yet; nothing can be learned from it")
    open_rows = sum(part.open for part in parts.values())
    notes = [f"Left out {counted(open_rows, 'row')} without an outcome."] if open_rows else []
    better_label = None
    if labels:
        known["labeled"], known["y"] = read_labels(labels, table)
        notes += _contradictory_labels(known["labeled"], known["y"])
        better_label = None if better is None else as_label(better, known["y"])
        weights = np.concatenate([np.ones(len(known["y"])), weights])
    if named is not None:
        table, recipe = read()
    return table.features, known, weights, better_label, recipe, notes


def _contradictory_labels(items: Ints, labels: npt.NDArray[Any]) -> list[str]:
    """Say how many items have both labels: both count, as answers that contradict each other do."""
    import pandas as pd

    both = int((pd.Series(labels).groupby(items).nunique() > 1).sum())
    return [f"{counted(both, 'item')} with both labels: all of them count."] if both else []


def _together(parts: dict[Path, AnswerTable]) -> dict[str, Any]:
    """The answers of several files; who gave them, where all say so."""
    import numpy as np

    pairs, outcomes, left = (
        np.concatenate([getattr(part, name) for part in parts.values()]) for name in ("pairs", "outcomes", "left")
    )
    raters = [part.raters for part in parts.values() if part.raters is not None]
    if not raters:
        return {"comparisons": pairs, "outcomes": outcomes}
    if len(raters) < len(parts):
        silent = next(path for path, part in parts.items() if part.raters is None)
        raise ValueError(f"{silent} has no column rater, which other answers have; add it, or leave it out everywhere")
    who = np.concatenate(raters)
    if len(set(who)) == 1 and np.all(left < 0):  # then there is nobody to compare with, and no side to prefer
        return {"comparisons": pairs, "outcomes": outcomes}
    return {"comparisons": pairs, "outcomes": outcomes, "raters": who, "shown_first": left}


def in_words(known: dict[str, Any]) -> dict[str, Any]:
    """The evidence with outcomes as words: files and campaigns say themselves what is a tie."""
    from pairsmith.data.outcomes import as_words

    return known | {"outcomes": as_words(known["outcomes"])}


def fit_linear(
    X: pd.DataFrame, known: dict[str, Any], weights: Floats, better: Any, ridge: str
) -> tuple[BradleyTerry, list[str]]:
    """The paper's model, and what to say of it."""
    import numpy as np

    import pairsmith

    given = in_words({name: value for name, value in known.items() if name not in ("raters", "shown_first")})
    if ridge != "auto":
        model = pairsmith.BradleyTerry(as_number(ridge, "--ridge"), better).fit(X, **given, sample_weight=weights)
        told = [f"Fitted to {_amount(known)} (linear in the features, ridge {model.ridge:.3g})."]
    else:
        chosen = pairsmith.BradleyTerryCV(better=better).fit(X, **given, sample_weight=weights)
        model = chosen
        if chosen.n_validated_ < FEW:
            warnings.warn(
                f"only {chosen.n_validated_} of the answers and labels could be held out to choose the ridge by, which"
                " says little; name one with --ridge, or ask for more answers",
                stacklevel=1,
            )
        told = [
            f"Fitted to {_amount(known)} (linear in the features, ridge {chosen.ridge_:.3g}).",
            f"The ridge was chosen by {chosen.n_validated_} held out: log likelihood {chosen.scores_.max():.3f} each"
            f" ({np.log(0.5):.3f} by guessing), AUC {chosen.auc_:.3f}.",
        ]
    right = model.compare(X, known["comparisons"])
    decided = known["outcomes"] != 0
    agree = np.mean((right[decided] > 0.5) == (known["outcomes"][decided] > 0)) if decided.any() else np.nan
    return model, [*told, f"It agrees with {agree:.0%} of the answers it was fitted to."]


def fit_gp(
    X: pd.DataFrame, known: dict[str, Any], weights: Floats, better: Any
) -> tuple[BradleyTerryGP, list[str | Table]]:
    """The default model, and what to say of it."""
    import numpy as np

    import pairsmith
    from pairsmith.model.propagation import share_right

    model = pairsmith.BradleyTerryGP(better=better).fit(X, **in_words(known), sample_weight=weights)
    own = len(known["comparisons"])
    asked = np.unique(np.concatenate([known["comparisons"].ravel(), known.get("labeled", [])]).astype(int))
    idle = len(X) - len(asked)
    told: list[str | Table] = [
        f"Fitted to {_amount(known)} about {counted(len(X), 'item')}"
        + (f", {idle} of which no answer is about." if idle else ".")
    ]
    shares = model.shares_
    if model.n_features_in_ == 0:
        told.append("There are no features: each item's score is its own.")
    else:
        told.append(
            f"Features explain {1 - shares['items']:.0%} of the variance of scores ({shares['linear']:.0%} linearly,"
            f" {shares['smooth']:.0%} by a smooth curve); {shares['items']:.0%} is the items' own."
        )
    told.append(
        f"Doubt {model.doubt_:.1%}, the chance that two items stand in the wrong order; reliability"
        f" {model.reliability_:.2f}."
    )
    right, loss = share_right(model.left_out_["p"].to_numpy(), known["outcomes"], weights[len(weights) - own :])
    if np.isfinite(right):
        told.append(
            f"Each answer predicted by all the others: {right:.0%} right, log loss {loss:.3f} ({np.log(2):.3f} by"
            " guessing)."
        )
    if model.raters_ is not None and len(model.raters_) > 1:
        told.append(_raters(model.raters_))
    return model, told


def _amount(known: dict[str, Any]) -> str:
    labels = len(known.get("y", []))
    return counted(len(known["comparisons"]), "answer") + (f" and {counted(labels, 'label')}" if labels else "")


def _raters(found: pd.DataFrame) -> Table:
    """Who answered, those with the most answers first."""
    import numpy as np
    from rich.markup import escape
    from rich.table import Table

    shown = found.sort_values("answers", ascending=False, kind="stable").head(MOST_RATERS)
    more = f"; {len(found) - len(shown)} more gave fewer answers" if len(found) > len(shown) else ""
    table = Table(
        title="Raters",
        caption="slope: how well they tell items apart, 1 is usual, 0 at random; bias: above 0 for what is shown first;"
        f" infit: 1 is as it should be, more is erratic{more}",
    )
    table.add_column("rater")
    for name in ("answers", "slope", "bias", "infit", "agreement"):
        table.add_column(name, justify="right")
    for rater, row in shown.iterrows():
        table.add_row(
            escape(printable(str(rater))),
            f"{row['answers']:g}",
            f"{row['slope']:.2f} ± {row['slope_error']:.2f}",
            "–" if np.isnan(row["bias"]) else f"{row['bias']:+.2f} ± {row['bias_error']:.2f}",
            f"{row['infit']:.2f}",
            f"{row['agreement']:.0%}",
        )
    return table
