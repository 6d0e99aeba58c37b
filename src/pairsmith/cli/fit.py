"""pairsmith fit: read the evidence, check it, fit a model and print what the model learned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairsmith.campaign import counted, is_campaign
from pairsmith.cli.inputs import (
    Dimensions,
    FeatureColumns,
    FeatureOptions,
    IdColumn,
    ImageColumns,
    ImageEmbedding,
    MadeBy,
    NoFeatures,
    TextColumns,
    TextEmbedding,
    WhichQuestion,
    check_better,
    nothing_to_learn,
    parse_number,
    read_campaign,
    read_features,
    recipe_options,
    refuse_question,
)
from pairsmith.cli.output import check_path
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

MIN_VALIDATED_ANSWERS = 10  # with fewer held-out answers, a validated ridge means little
MAX_RATERS_PRINTED = 12


@dataclass
class Evidence:
    """Items, and the labels and answers about them."""

    features: pd.DataFrame
    comparisons: Ints
    outcomes: Floats
    weights: Floats  # of the labels, then of the answers
    labeled: Ints | None = None
    labels: npt.NDArray[Any] | None = None
    raters: npt.NDArray[Any] | None = None
    shown_first: Ints | None = None
    better: Any = None  # the better one of the two labels, or None if that goes without saying
    recipe: Recipe | None = None  # None if the features were numbers to begin with
    notes: list[str] = field(default_factory=list)  # sentences about rows left out or contradicting each other

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `BradleyTerry.fit`.

        Outcomes are words, because files and campaigns already distinguish ties from losses.
        """
        from pairsmith.data.outcomes import as_words

        return {
            "y": self.labels,
            "labeled": self.labeled,
            "comparisons": self.comparisons,
            "outcomes": as_words(self.outcomes),
            "sample_weight": self.weights,
        }

    def fit_gp(self) -> BradleyTerryGP:
        """Fit the default model, which also tells raters and sides apart."""
        import pairsmith

        model = pairsmith.BradleyTerryGP(better=self.better)
        return model.fit(self.features, **self.arguments(), raters=self.raters, shown_first=self.shown_first)

    def amount(self) -> str:
        """Say how many answers and labels there are."""
        answers = counted(len(self.comparisons), "answer")
        return answers if self.labels is None else f"{answers} and {counted(len(self.labels), 'label')}"


def fit(
    items: Annotated[str, typer.Argument(help="A table of items, as for select; or a campaign.", metavar="ITEMS")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write the model to (.json).")],
    answers: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Tables of answers: columns first, second and outcome (1 first preferred, -1 second, 0 tie), or winner"
            " and loser. A campaign has its own answers.",
            metavar="[ANSWERS...]",
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="A table of absolute labels with two values: columns id and label.")
    ] = None,
    better: Annotated[
        str | None,
        typer.Option(help="The better one of the two labels in --labels, if they are words.", metavar="LABEL"),
    ] = None,
    linear: Annotated[
        bool,
        typer.Option("--linear", help="Fit the paper's model instead: scores are linear in the features."),
    ] = False,
    ridge: Annotated[
        str | None,
        typer.Option(
            help="The penalty on the coefficients of the linear model; implies --linear. auto: the penalty under which"
            " held-out answers are most likely."
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

    An item's score has a linear and a smooth part in the features, and a part of its own; the answers determine how
    large each part is.

    In the table of answers, a column rater says who gave each answer, and a column left which item was shown first.

    With --text or --image, the model keeps the recipe that turned those columns into features, so that rank can
    apply it to other items.

    [bold]pairsmith fit items.csv answers.csv -o model.json[/bold]
    """
    check_path(output, [Path(items), *(answers or []), labels], (".json",))
    linear = linear or ridge is not None
    if no_features:
        _check_alone({"--features": features, "--linear": linear, "--text": text, "--image": image})
    recipe = recipe_options(dimensions, text_embedding, image_embedding, output)
    if is_campaign(items):
        evidence = read_campaign_evidence(
            items, answers, labels, better, id_column, features, no_features, text, image, by, dimensions,
            text_embedding, image_embedding, question=question,
        )  # fmt: skip
    else:
        refuse_question(question)
        options = FeatureOptions(None if no_features else features or [], text, image, by, recipe)
        evidence = read_table_evidence(
            items, answers or [], labels, better, id_column, options, may_lack_features=not linear
        )
    model: Any
    report: list[Any]
    if linear:
        model, report = fit_linear(evidence, ridge or "auto")
    else:
        model, report = fit_gp(evidence)
    model.save(output, evidence.recipe)
    _print_report(evidence, report, output)


def _check_alone(options: dict[str, object]) -> None:
    """Refuse --no-features together with an option that needs features."""
    option = next((option for option, value in options.items() if value), None)
    if option is not None:
        raise ValueError(f"--no-features leaves nothing for {option}; leave one out")


def read_campaign_evidence(target: str, *refused: object, question: int | None = None) -> Evidence:
    """Read the labels and answers of a campaign. None of the `refused` options may be set."""
    import numpy as np

    snapshot = read_campaign(target, *refused, question=question)
    from pairsmith.campaign.learning import evidence as evidence_in

    arguments = evidence_in(snapshot)
    if "comparisons" not in arguments:
        raise ValueError(nothing_to_learn(target))
    labels = arguments.pop("y", None)
    weights = arguments.pop("sample_weight", None)
    if weights is None:
        weights = np.ones(len(arguments["comparisons"]) + (0 if labels is None else len(labels)))
    recipe = None
    if snapshot.recipe is not None:
        from pairsmith.recipe.recipe import Recipe

        recipe = Recipe.from_json(snapshot.recipe)
    return Evidence(snapshot.features, weights=weights, labels=labels, recipe=recipe, **arguments)


def read_table_evidence(
    items: str,
    answers: list[Path],
    labels: Path | None,
    better: str | None,
    id_column: str | None,
    options: FeatureOptions,
    may_lack_features: bool,
) -> Evidence:
    """Read labels and answers from files, and the items that they are about."""
    import numpy as np

    from pairsmith.files.answers import read_answers
    from pairsmith.files.items import read_items
    from pairsmith.files.labels import as_label, read_labels

    check_better(better, labels)
    if not answers:
        raise ValueError("ANSWERS is missing: name at least one file of answers, or a campaign instead of items")
    # Features of texts and images take time to make, so everything else is read and checked first.
    features_are_slow = bool(options.text or options.image)
    table, recipe = (
        (read_items(Path(items), id_column, None), None)
        if features_are_slow
        else read_features(Path(items), id_column, options, may_lack_features=may_lack_features)
    )
    parts = {path: read_answers(path, table) for path in answers}
    weights = np.concatenate([part.counts for part in parts.values()])
    if len(weights) == 0 and not labels:
        raise ValueError(f"{answers[0]} holds no answers yet; nothing can be learned from it")
    evidence = _join_answers(parts, table.features, weights)
    open_rows = sum(part.open for part in parts.values())
    if open_rows:
        evidence.notes.append(f"Left out {counted(open_rows, 'row')} without an outcome.")
    if labels:
        evidence.labeled, evidence.labels = read_labels(labels, table)
        evidence.notes += _contradictions(evidence.labeled, evidence.labels)
        evidence.better = None if better is None else as_label(better, evidence.labels)
        evidence.weights = np.concatenate([np.ones(len(evidence.labels)), weights])
    if features_are_slow:
        table, recipe = read_features(Path(items), id_column, options, may_lack_features=may_lack_features)
    evidence.features, evidence.recipe = table.features, recipe
    return evidence


def _contradictions(items: Ints, labels: npt.NDArray[Any]) -> list[str]:
    """Say how many items have both labels. All of their labels count, as contradictory answers do."""
    import pandas as pd

    both = int((pd.Series(labels).groupby(items).nunique() > 1).sum())
    return [f"{counted(both, 'item')} with both labels: all of them count."] if both else []


def _join_answers(parts: dict[Path, AnswerTable], features: pd.DataFrame, weights: Floats) -> Evidence:
    """Join the answers of several files. Raters count only if every file names them."""
    import numpy as np

    pairs, outcomes, left = (
        np.concatenate([getattr(part, name) for part in parts.values()]) for name in ("pairs", "outcomes", "left")
    )
    evidence = Evidence(features, pairs, outcomes, weights)
    raters = [part.raters for part in parts.values() if part.raters is not None]
    if not raters:
        return evidence
    if len(raters) < len(parts):
        without = next(path for path, part in parts.items() if part.raters is None)
        raise ValueError(f"{without} has no column rater, which other answers have; add it, or leave it out everywhere")
    names = np.concatenate(raters)
    if len(set(names)) > 1 or np.any(left >= 0):  # a single rater without known sides adds no parameter
        evidence.raters, evidence.shown_first = names, left
    return evidence


def fit_linear(evidence: Evidence, ridge: str) -> tuple[BradleyTerry, list[str]]:
    """Fit the paper's model. Return it with the sentences to print."""
    import numpy as np

    import pairsmith

    model: BradleyTerry
    if ridge != "auto":
        model = pairsmith.BradleyTerry(parse_number(ridge, "--ridge"), evidence.better)
        model.fit(evidence.features, **evidence.arguments())
        report = [f"Fitted to {evidence.amount()} (linear in the features, ridge {model.ridge:.3g})."]
    else:
        model = validated = pairsmith.BradleyTerryCV(better=evidence.better)
        validated.fit(evidence.features, **evidence.arguments())
        if validated.n_validated_ < MIN_VALIDATED_ANSWERS:
            warnings.warn(
                f"only {validated.n_validated_} of the answers and labels could be held out to choose the ridge by,"
                " which says little; name one with --ridge, or ask for more answers",
                stacklevel=1,
            )
        report = [
            f"Fitted to {evidence.amount()} (linear in the features, ridge {validated.ridge_:.3g}).",
            f"The ridge was chosen by {validated.n_validated_} held out: log likelihood"
            f" {validated.scores_.max():.3f} each ({np.log(0.5):.3f} by guessing), AUC {validated.auc_:.3f}.",
        ]
    first_wins = model.compare(evidence.features, evidence.comparisons)
    decided = evidence.outcomes != 0
    agreement = np.mean((first_wins[decided] > 0.5) == (evidence.outcomes[decided] > 0)) if decided.any() else np.nan
    return model, [*report, f"It agrees with {agreement:.0%} of the answers it was fitted to."]


def fit_gp(evidence: Evidence) -> tuple[BradleyTerryGP, list[str | Table]]:
    """Fit the default model. Return it with the sentences and the table to print."""
    import numpy as np

    from pairsmith.model.propagation import prediction_accuracy

    model = evidence.fit_gp()
    n_items, n_answers = len(evidence.features), len(evidence.comparisons)
    labeled: Any = [] if evidence.labeled is None else evidence.labeled
    n_compared = len(np.unique(np.concatenate([evidence.comparisons.ravel(), labeled]).astype(int)))
    unanswered = f", {n_items - n_compared} of which no answer is about" if n_compared < n_items else ""
    report: list[str | Table] = [f"Fitted to {evidence.amount()} about {counted(n_items, 'item')}{unanswered}."]
    shares = model.shares_
    if model.n_features_in_ == 0:
        report.append("There are no features: each item's score is its own.")
    else:
        report.append(
            f"Features explain {1 - shares['items']:.0%} of the variance of scores ({shares['linear']:.0%} linearly,"
            f" {shares['smooth']:.0%} by a smooth curve); {shares['items']:.0%} is the items' own."
        )
    report.append(
        f"Doubt {model.doubt_:.1%}, the chance that two items stand in the wrong order; reliability"
        f" {model.reliability_:.2f}."
    )
    answer_weights = evidence.weights[len(evidence.weights) - n_answers :]
    right, loss = prediction_accuracy(model.leave_one_out_["p"].to_numpy(), evidence.outcomes, answer_weights)
    if np.isfinite(right):
        report.append(
            f"Each answer predicted by all the others: {right:.0%} right, log loss {loss:.3f} ({np.log(2):.3f} by"
            " guessing)."
        )
    if model.raters_ is not None and len(model.raters_) > 1:
        report.append(_rater_table(model.raters_))
    return model, report


def _rater_table(raters: pd.DataFrame) -> Table:
    """Return a table of the raters with the most answers."""
    import numpy as np
    from rich.markup import escape
    from rich.table import Table

    printed = raters.sort_values("answers", ascending=False, kind="stable").head(MAX_RATERS_PRINTED)
    more = f"; {len(raters) - len(printed)} more gave fewer answers" if len(raters) > len(printed) else ""
    table = Table(
        title="Raters",
        caption="slope: how well they tell items apart, 1 is usual, 0 at random; bias: above 0 for what is shown first;"
        f" infit: 1 is as it should be, more is erratic{more}",
    )
    table.add_column("rater")
    for name in ("answers", "slope", "bias", "infit", "agreement"):
        table.add_column(name, justify="right")
    for rater, row in printed.iterrows():
        table.add_row(
            escape(printable(str(rater))),
            f"{row['answers']:g}",
            f"{row['slope']:.2f} ± {row['slope_error']:.2f}",
            "–" if np.isnan(row["bias"]) else f"{row['bias']:+.2f} ± {row['bias_error']:.2f}",
            f"{row['infit']:.2f}",
            f"{row['agreement']:.0%}",
        )
    return table


def _print_report(evidence: Evidence, report: list[Any], output: Path) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    recipe = [] if evidence.recipe is None else map(escape, evidence.recipe.sentences())
    for line in [*recipe, *evidence.notes, *report]:
        console.print(line, soft_wrap=isinstance(line, str))
    console.print(f"Wrote {escape(printable(str(output)))}")
