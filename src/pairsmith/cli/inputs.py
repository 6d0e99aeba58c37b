"""What commands read: the options they share, tables of items, model files, campaigns, a Dask cluster."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pairsmith.recipe import check_unused

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.campaign.store.snapshot import CampaignSnapshot
    from pairsmith.campaign.store.store import Store
    from pairsmith.files.items import Items
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.recipe.recipe import Recipe

Campaign = Annotated[
    str, typer.Argument(help="The campaign: an SQLite file or a postgresql:// URL.", metavar="CAMPAIGN")
]
WhichQuestion = Annotated[
    int | None,
    typer.Option(
        "--question",
        help="The number of the question, for a campaign that asks several questions.",
        metavar="NUMBER",
        min=1,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", help="The column of item ids. Default: id, or else the first column.", metavar="COLUMN"),
]
FeatureColumns = Annotated[
    list[str] | None,
    typer.Option(
        help="A feature column, by name or by a pattern such as 'f_*'. May be repeated. Default: all remaining columns,"
        " which must be numeric.",
        metavar="PATTERN",
    ),
]
NoFeatures = Annotated[
    bool, typer.Option("--no-features", help="Use no features: each item gets a score of its own from its answers.")
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option("--text", help="A column of texts to turn into features. May be repeated.", metavar="COLUMN"),
]
ImageColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--image",
        help="A column of image files to turn into features. Paths are relative to the table's folder. May be"
        " repeated.",
        metavar="COLUMN",
    ),
]
MadeBy = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="A column that says who made each item. Then rank --by can rank the makers, as an arena does.",
        metavar="COLUMN",
    ),
]
Dimensions = Annotated[
    int | None,
    typer.Option(
        help="The largest number of features made from one column of texts or images. Default: the square root of the"
        " number of items, up to 30.",
        metavar="COUNT",
    ),
]
TextEmbedding = Annotated[
    str | None,
    typer.Option(
        help="Embed texts with an installed library: sentence-transformers[:MODEL] or fastembed[:MODEL]. The model's"
        " weights must be on disk; nothing is downloaded.",
        metavar="NAME",
    ),
]
ImageEmbedding = Annotated[
    str | None, typer.Option(help="Embed images with a model in an ONNX file: onnx:FILE.", metavar="NAME")
]


@dataclass(frozen=True)
class FeatureOptions:
    """The columns of a table that become features, and how."""

    columns: list[str] | None  # names and patterns; empty for all other columns, None for no features
    text: list[str] | None = None
    image: list[str] | None = None
    by: str | None = None  # the column that says who made each item, which is a feature too
    recipe: dict[str, Any] = field(default_factory=dict)  # how texts and images become numbers: `recipe_options`


def cache_beside(output: Path | None) -> Path | None:
    """Return the file beside the output that caches embeddings, or None without an output."""
    return None if output is None else output.with_name(f"{output.name}.cache")


def recipe_options(
    dimensions: int | None = None,
    text_embedding: str | None = None,
    image_embedding: str | None = None,
    output: Path | None = None,
) -> dict[str, Any]:
    """Return the keyword arguments of `Recipe.fit` that say how texts and images become numbers."""
    return {
        "dimensions": dimensions,
        "text_embedding": text_embedding,
        "image_embedding": image_embedding,
        "cache": cache_beside(output) if text_embedding or image_embedding else None,
        "progress": sys.stderr.isatty(),
    }


def read_features(
    path: Path,
    id_column: str | None,
    options: FeatureOptions,
    group_by: str | None = None,
    *,
    may_lack_features: bool = False,
) -> tuple[Items, Recipe | None]:
    """Read the items of a table.

    Return them with the recipe that made their features, or None if the columns are features as they are.
    """
    if options.text or options.image or options.by:
        from pairsmith.recipe.from_files import read_and_fit

        return read_and_fit(
            path,
            text=options.text or (),
            image=options.image or (),
            category=[options.by] if options.by else (),
            features=options.columns,
            id_column=id_column,
            group_by=group_by,
            **options.recipe,
        )
    check_unused(options.recipe)
    from pairsmith.files.items import read_items

    return read_items(path, id_column, options.columns, group_by, may_lack_features=may_lack_features), None


def read_items_for_model(
    model: BradleyTerry | BradleyTerryGP,
    model_path: Path,
    path: Path,
    id_column: str | None,
    group_by: str | None = None,
) -> Items:
    """Read the items of a table with the features that the model was fitted to, using its recipe if it has one."""
    recipe = read_recipe(model_path)
    if recipe is not None:
        from pairsmith.recipe.from_files import read_and_apply

        return read_and_apply(path, recipe, id_column, group_by, progress=sys.stderr.isatty())
    from pairsmith.files.items import read_items

    if model.n_features_in_ == 0:
        return read_items(path, id_column, None, group_by)
    names = [glob.escape(str(name)) for name in getattr(model, "feature_names_in_", [])]
    return read_items(path, id_column, names, group_by, named_by="the model's feature")


def parse_answers_per_pair(text: str) -> int | Literal["auto"]:
    """Return the value of --answers-per-pair: a whole number or "auto"."""
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--answers-per-pair {text!r} is neither a number, such as 3, nor auto") from None


def parse_number(text: str, option: str) -> float:
    """Return the value of an option that takes a number or auto, if it is a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a positive number or auto, got {text!r}") from None


def check_better(better: str | None, labels: Path | None) -> None:
    """Refuse --better without --labels."""
    if better is not None and labels is None:
        raise ValueError("--better names one of the labels of --labels; give that too")


def read_instructions(path: Path) -> str:
    """Read a text or Markdown file of instructions for raters."""
    from pairsmith.files.sources import contents

    try:
        return contents(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--instructions {path} cannot be read as UTF-8 text: {error}") from None


def load_model(path: Path) -> BradleyTerry | BradleyTerryGP:
    """Load a model of either kind. Its item ids become text, because ids in files are text."""
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.model.saving import KINDS, kind_of

    if KINDS[kind_of(path)] == "BradleyTerry":
        return BradleyTerry.load(path)
    model = BradleyTerryGP.load(path)
    if model.ids_ is not None and (ids := model.ids_.astype(str)).is_unique:
        model.ids_ = ids
    return model


def read_recipe(model: Path) -> Recipe | None:
    """Read the recipe that made the features of a saved model, or None if they were numbers to begin with."""
    content = _read_stored_recipe(model)
    if content is None:
        return None
    from pairsmith.recipe.recipe import Recipe

    try:
        return Recipe.from_json(content)
    except ValueError as error:
        raise ValueError(f"{model}: {error}") from None


def check_recipe(model: Path, recipe: dict[str, Any] | None) -> None:
    """Refuse a model whose features were not made by the campaign's recipe; equal names would not prove that."""
    if _read_stored_recipe(model) != recipe:
        raise ValueError(f"{model}: its features were made differently from the campaign's; fit the campaign instead")


def _read_stored_recipe(model: Path) -> Any:
    from pairsmith.model.saving import read_checked

    return read_checked(model, None, lambda content: content.get("recipe"))


def match_features(model: BradleyTerry | BradleyTerryGP, features: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that the model was fitted to, in its order. The error names a missing column."""
    if model.n_features_in_ == 0:
        return features.iloc[:, :0]
    if hasattr(model, "feature_names_in_"):
        expected = list(model.feature_names_in_)
        missing = [name for name in expected if name not in features.columns]
        if missing:
            raise ValueError(f"the items have no column {missing[0]!r}, which the model was fitted to")
        if list(features.columns) != expected:
            features = features[expected]
    elif features.shape[1] != model.n_features_in_:
        raise ValueError(
            f"the items have {features.shape[1]} features, but the model was fitted to {model.n_features_in_}"
        )
    return features


@contextmanager
def dask_client(address: str | None) -> Iterator[Any]:
    """Yield a client of the Dask cluster that --dask names, or None without that option."""
    if address is None:
        yield None
        return
    if find_spec("distributed") is None:
        raise ValueError("--dask needs Dask; pip install 'pairsmith[distributed]'")
    from pairsmith.cluster.client import connect

    with connect(address) as client:
        yield client


def check_app_installed() -> None:
    """Raise an error that names the missing extra if campaigns cannot run."""
    for module in ("sqlalchemy", "fastapi", "uvicorn", "jinja2", "markdown_it", "nh3"):
        if find_spec(module) is None:
            raise ValueError(f"campaigns need {module}; pip install 'pairsmith[app]'")


def open_campaign(target: str, changes: bool = True) -> Store:
    """Open a campaign. Without `changes`, a read-only file is enough."""
    check_app_installed()
    from pairsmith.campaign.store.store import Store

    return Store(target, changes=changes)


def question_index(store: Store, number: int | None, option: str = "--question") -> int:
    """Return the index of the question with this number, counted from 1. A single question needs no number."""
    from pairsmith.campaign.store import wordings

    questions = wordings.questions(store)
    listed = ", ".join(f"{number} ({question})" for number, question in enumerate(questions, 1))
    name = display_name(store.target)
    if number is None and len(questions) > 1:
        raise ValueError(f"{name} asks {len(questions)} questions; say which with {option}: {listed}")
    if number is not None and number > len(questions):
        raise ValueError(f"{option} {number}: {name} asks {listed}; choose one by its number")
    return (number or 1) - 1


def refuse_question(number: int | None) -> None:
    """Refuse --question for a table of items."""
    if number is not None:
        raise ValueError("--question is for campaigns that ask several; leave it out")


def read_campaign(target: str, *refused: object, question: int | None = None) -> CampaignSnapshot:
    """Return the current state of a campaign.

    `refused` are the values of options that would replace the campaign's own data: none of them may be set.
    """
    check_app_installed()
    from pairsmith.campaign.store.snapshot import take_snapshot

    if any(refused):
        raise ValueError(
            f"{display_name(target)} is a campaign and brings its own items, features, groups, labels and answers;"
            " leave out the options that name others"
        )
    with open_campaign(target, changes=False) as store:
        return take_snapshot(store, question_index(store, question))


def nothing_to_learn(target: str) -> str:
    """Explain why no answer of this campaign counts: there are none, or all are left out."""
    from pairsmith.campaign import counted
    from pairsmith.campaign.answering.corrections import left_out

    name = display_name(target)
    with open_campaign(target, changes=False) as store, store.reading() as connection:
        struck_out, excluded = left_out(connection)
    if struck_out + excluded == 0:
        return f"{name} has no answers yet; label some pairs first"
    return (
        f"of {name} all {counted(struck_out + excluded, 'answer')} are left out: {struck_out} struck out, {excluded}"
        " of excluded raters; restore some on the dashboard, or count them with pairsmith campaign include"
    )


def display_name(target: str) -> str:
    """Return the campaign's name without its password."""
    from pairsmith.campaign.store import database

    return database.without_passwords(target)
