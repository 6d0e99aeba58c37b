"""What several commands read: model files, numbers among the options, a cluster."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pairsmith.recipe import check_unused

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.files.items import Items
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.recipe.recipe import Recipe

IdColumn = Annotated[
    str | None,
    typer.Option("--id", help="The column of item ids. Default: id, or else the first.", metavar="COLUMN"),
]
FeatureColumns = Annotated[
    list[str] | None, typer.Option(help="Feature columns, by name or pattern; may be repeated.", metavar="PATTERN")
]
NoFeatures = Annotated[bool, typer.Option("--no-features", help="Use no columns: each item has a score of its own.")]
TextColumns = Annotated[
    list[str] | None,
    typer.Option("--text", help="A column of texts to make features from; may be repeated.", metavar="COLUMN"),
]
ImageColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--image",
        help="A column of image files, seen from the table's folder, to make features from; may be repeated.",
        metavar="COLUMN",
    ),
]
MadeBy = Annotated[
    str | None,
    typer.Option(
        "--by", help="Who made each item, a column; rank --by then ranks those, as an arena does.", metavar="COLUMN"
    ),
]
Dimensions = Annotated[
    int | None,
    typer.Option(
        help="How many axes a column of --text or --image gets at most. Default: the root of the number of items, up"
        " to 30.",
        metavar="COUNT",
    ),
]


TextEmbedding = Annotated[
    str | None,
    typer.Option(
        help="Embed texts by what is installed: sentence-transformers[:MODEL] or fastembed[:MODEL], whose weights are"
        " on disk. Nothing is downloaded.",
        metavar="NAME",
    ),
]
ImageEmbedding = Annotated[
    str | None, typer.Option(help="Embed images by a model in a file: onnx:FILE.", metavar="NAME")
]


def cache_of(output: Path | None) -> Path | None:
    """Where what embeddings give is kept: beside the output."""
    return None if output is None else output.with_name(f"{output.name}.cache")


def making(
    dimensions: int | None, text_embedding: str | None, image_embedding: str | None, output: Path | None
) -> dict[str, Any]:
    """How features are made, as `Recipe.fit` takes it."""
    return {
        "dimensions": dimensions,
        "text_embedding": text_embedding,
        "image_embedding": image_embedding,
        "cache": cache_of(output) if text_embedding or image_embedding else None,
        "progress": sys.stderr.isatty(),
    }


def read_features(
    path: Path,
    id_column: str | None,
    features: list[str] | None,
    group_by: str | None = None,
    *,
    text: list[str] | None = None,
    image: list[str] | None = None,
    by: str | None = None,
    may_lack_features: bool = False,
    **made: Any,
) -> tuple[Items, Recipe | None]:
    """The items of a table: features as they are, or made from texts and images, and then by which recipe.

    `by` names a column that says who made them, which is a feature too; `made` is what `making` gives.
    """
    if text or image or by:
        from pairsmith.recipe.from_files import read_and_fit

        return read_and_fit(
            path,
            text=text or (),
            image=image or (),
            category=[by] if by else (),
            features=features,
            id_column=id_column,
            group_by=group_by,
            **made,
        )
    check_unused(made)
    from pairsmith.files.items import read_items

    return read_items(path, id_column, features, group_by, may_lack_features=may_lack_features), None


def read_items_of(
    fitted: BradleyTerry | BradleyTerryGP,
    model: Path,
    path: Path,
    id_column: str | None,
    group_by: str | None = None,
) -> Items:
    """The items of a table with the features that this model was fitted to, made by its recipe where it has one."""
    recipe = recipe_of(model)
    if recipe is not None:
        from pairsmith.recipe.from_files import read_and_apply

        return read_and_apply(path, recipe, id_column, group_by, progress=sys.stderr.isatty())
    from pairsmith.files.items import read_items

    if fitted.n_features_in_ == 0:
        return read_items(path, id_column, None, group_by)
    names = [glob.escape(str(name)) for name in getattr(fitted, "feature_names_in_", [])]
    return read_items(path, id_column, names, group_by, named_by="the model's feature")


def as_answers_per_pair(given: str) -> int | Literal["auto"]:
    """A number, or auto."""
    if given == "auto":
        return "auto"
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"--answers-per-pair {given!r} is neither a number, such as 3, nor auto") from None


def check_recipe(model: Path, own: dict[str, Any] | None) -> None:
    """Refuse a model whose features were made otherwise than those of a campaign: names alone do not tell."""
    if _stored_recipe(model) != own:
        raise ValueError(f"{model}: its features were made otherwise than those of the campaign; fit the campaign")


def _stored_recipe(model: Path) -> Any:
    from pairsmith.model.saving import read_checked

    return read_checked(model, None, lambda content: content.get("recipe"))


def recipe_of(model: Path) -> Recipe | None:
    """What made the features of a model that pairsmith fit wrote, None where they were there already."""
    content = _stored_recipe(model)
    if content is None:
        return None
    from pairsmith.recipe.recipe import Recipe

    try:
        return Recipe.from_json(content)
    except ValueError as error:
        raise ValueError(f"{model}: {error}") from None


def load_model(path: Path) -> BradleyTerry | BradleyTerryGP:
    """Load a model of either kind; its ids become text, as all ids in files are."""
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.model.saving import KINDS, kind_of

    if KINDS[kind_of(path)] == "BradleyTerry":
        return BradleyTerry.load(path)
    model = BradleyTerryGP.load(path)
    if model.ids_ is not None and (as_text := model.ids_.astype(str)).is_unique:
        model.ids_ = as_text
    return model


def matching(model: BradleyTerry | BradleyTerryGP, features: pd.DataFrame) -> pd.DataFrame:
    """These features in the model's order, or an error that says what is missing."""
    if model.n_features_in_ == 0:
        return features.iloc[:, :0]
    if hasattr(model, "feature_names_in_"):
        wanted = list(model.feature_names_in_)
        missing = [name for name in wanted if name not in features.columns]
        if missing:
            raise ValueError(f"the items have no column {missing[0]!r}, which the model was fitted to")
        if len(features.columns) != len(wanted) or list(features.columns) != wanted:
            features = features[wanted]
    elif features.shape[1] != model.n_features_in_:
        raise ValueError(
            f"the items have {features.shape[1]} features, but the model was fitted to {model.n_features_in_}"
        )
    return features


@contextmanager
def cluster(where: str | None) -> Iterator[Any]:
    """A client of the Dask cluster that --dask names, if any."""
    if where is None:
        yield None
        return
    if find_spec("distributed") is None:
        raise ValueError("--dask needs Dask; pip install 'pairsmith[distributed]'")
    from pairsmith.cluster.client import connect

    with connect(where) as client:
        yield client


def as_number(text: str, option: str) -> float:
    """The value of an option that is a number, or auto."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a positive number or auto, got {text!r}") from None


def read_instructions(path: Path) -> str:
    """A text or Markdown file for the people who label."""
    from pairsmith.files.sources import contents

    try:
        return contents(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--instructions {path} cannot be read as UTF-8 text: {error}") from None
