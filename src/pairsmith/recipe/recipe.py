"""A recipe: what turned the columns of a table into numeric features, so that new rows get the same ones.

It is fitted once, to the items at hand, and then applied. A text is turned into coordinates of words and runs of
characters (`text`), a picture into statistics and coordinates (`images`), either into coordinates of an embedding that
is installed (`embeddings`); a category into a column for each frequent one, a date into days, and a number stays as it
is (`columns`). Every feature then has mean 0 and variance 1 over the items it was fitted to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.data.options import as_integer
from pairsmith.data.spread import spread_of
from pairsmith.files.json_reader import RepeatedKey, parse_json
from pairsmith.files.write import write_whole
from pairsmith.recipe.axes import PrincipalAxes
from pairsmith.recipe.columns import AsItIs, Categories
from pairsmith.recipe.images import ImageAxes
from pairsmith.recipe.ingredients import Wanted, checked, described, row_names, wanted_columns
from pairsmith.recipe.progress import Progress
from pairsmith.recipe.stored import from_stored, to_stored
from pairsmith.recipe.tables import as_table
from pairsmith.recipe.text import TextAxes

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1
_MOST_AXES = 30  # by default: with a few hundred answers, more axes ranked unseen items worse
_LEAST, _MOST = 1e-300, 1e300  # spread and size of a feature: beyond them it or its inverse is no float64
Made = TextAxes | ImageAxes | PrincipalAxes | Categories | AsItIs
_READERS: dict[str, Any] = {
    "text": TextAxes,
    "image": ImageAxes,
    "category": Categories,
    "number": AsItIs,
    "date": AsItIs,
}


class Options(TypedDict, total=False):
    """What `features` can be told, for whoever checks types; its docstring says what each means."""

    text: Sequence[str]
    image: Sequence[str]
    category: Sequence[str]
    columns: Sequence[str] | None
    dimensions: int | None
    text_embedding: str | None
    image_embedding: str | None
    folder: str | os.PathLike[str]
    cache: str | os.PathLike[str] | None
    progress: bool
    random_state: int


@dataclass(frozen=True, eq=False, repr=False)
class Recipe:
    """What turns the columns of a table into features. `fit` makes one, `apply` uses it."""

    columns: list[tuple[Wanted, Made]]
    center: Floats  # of all features
    scale: Floats
    left_out: dict[str, str]  # columns that were not used, and why

    @classmethod
    def fit(cls, table: Any, **options: Unpack[Options]) -> Recipe:
        """A recipe for tables like this one; options are those of `features`."""
        return cls.fit_apply(table, **options)[0]

    @classmethod
    def fit_apply(
        cls,
        table: Any,
        *,
        text: Sequence[str] = (),
        image: Sequence[str] = (),
        category: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        dimensions: int | None = None,
        text_embedding: str | None = None,
        image_embedding: str | None = None,
        folder: str | os.PathLike[str] = ".",
        cache: str | os.PathLike[str] | None = None,
        progress: bool = False,
        random_state: int = 0,
        first_row: int = 0,
    ) -> tuple[Recipe, pd.DataFrame]:
        """A recipe, and the features of the table that it was fitted to; options are those of `features`.

        Errors count rows from `first_row`: rows of files have the numbers 1, 2, ...
        """
        frame, ids = as_table(table)
        row_name = row_names(ids, first_row)
        if len(frame) < 2:
            raise ValueError(f"table has {len(frame)} row{'s' * (len(frame) != 1)}; at least two items are needed")
        most = min(_MOST_AXES, max(2, round(len(frame) ** 0.5)))
        most = most if dimensions is None else as_integer(dimensions, "dimensions")
        wanted, left_out = wanted_columns(
            frame, row_name, text, image, category, columns, text_embedding, image_embedding
        )
        values = [checked(frame, row_name, one, Path(folder), fitting=True) for one in wanted]
        found: list[tuple[Wanted, Made]] = []
        blocks = []
        with Progress(progress) as told:
            for one, own in zip(wanted, values, strict=True):
                raw = described(one, own, row_name, None if cache is None else Path(cache), told)
                made = _fitted(one, raw, most, random_state, told)
                found.append((one, made))
                blocks.append(_applied(one, made, raw, told))
        X = np.hstack(blocks)
        center, scale, varies = spread_of(X)
        recipe = cls(found, center, np.where(varies, scale, np.inf), left_out)
        recipe._check_names()
        recipe._check_scale(X)
        return recipe, recipe._framed(X, ids, len(frame))

    def apply(
        self,
        table: Any,
        *,
        folder: str | os.PathLike[str] = ".",
        cache: str | os.PathLike[str] | None = None,
        progress: bool = False,
        first_row: int = 0,
    ) -> pd.DataFrame:
        """The features of these rows, indexed by their ids. Errors count rows from `first_row`."""
        frame, ids = as_table(table)
        row_name = row_names(ids, first_row)
        if len(frame) == 0:
            raise ValueError("table has no rows; at least one is needed")
        values = [checked(frame, row_name, one, Path(folder), fitting=False) for one, _ in self.columns]
        with Progress(progress) as told:
            blocks = [
                _applied(one, made, described(one, own, row_name, None if cache is None else Path(cache), told), told)
                for (one, made), own in zip(self.columns, values, strict=True)
            ]
        return self._framed(np.hstack(blocks), ids, len(frame))

    def __repr__(self) -> str:
        return f"Recipe({', '.join(f'{one.column}: {one.kind}' for one, _ in self.columns)})"

    @property
    def names(self) -> list[str]:
        """Of the features."""
        return [one.name_of(part) for one, made in self.columns for part in made.names]

    @property
    def embeds(self) -> bool:
        """Whether it asks an embedding."""
        return any(one.embedding for one, _ in self.columns)

    @property
    def written_columns(self) -> list[str]:
        """The columns that are read as they are written, even where they look like numbers."""
        return [one.column for one, _ in self.columns if one.kind in ("text", "image", "category")]

    def sentences(self) -> list[str]:
        """Which columns were used and how, and how much of their variance is kept."""
        told = []
        for one, made in self.columns:
            count = len(made.names)
            features = f"{count} feature{'s' * (count != 1)}"
            how = f" by {one.embedding}" if one.embedding else ""
            kept = "" if made.kept is None else f", {made.kept:.0%} of the variance kept"
            told.append(f"{one.column}: {one.kind}{how}, {features}{kept}")
        return told + [f"{name}: not used, {why}" for name, why in self.left_out.items()]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, which `from_json` reads."""
        return {
            "pairsmith recipe": VERSION,
            "columns": [vars(one) | {"made": made.to_json()} for one, made in self.columns],
            "center": to_stored(self.center),
            "scale": to_stored(1 / self.scale),  # 0 for constant features, whose scale is infinite
        }

    @classmethod
    def from_json(cls, content: Any) -> Recipe:
        """What `to_json` gave; anything else is refused."""
        try:
            if content["pairsmith recipe"] != VERSION:
                raise ValueError("another version")
            columns: list[tuple[Wanted, Made]] = []
            for part in content["columns"]:
                one = Wanted(str(part["column"]), str(part["kind"]), part["embedding"])
                reader = _READERS[one.kind]
                if one.embedding is not None:
                    if not isinstance(one.embedding, str) or one.kind not in ("text", "image"):
                        raise ValueError("an embedding is of texts or of images")
                    reader = PrincipalAxes
                columns.append((one, reader.from_json(part["made"])))
            center, inverse = (from_stored(content[name], "<f8", 1) for name in ("center", "scale"))
            with np.errstate(divide="ignore"):
                recipe = cls(columns, center, 1 / inverse, {})
            if not len(recipe.names) == len(center) == len(inverse):
                raise ValueError("the parts do not agree")
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise ValueError("this is no recipe of pairsmith, or one of another version; make it again") from None
        return recipe

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as plain JSON, whole or not at all."""
        text = json.dumps(self.to_json())
        write_whole(path, lambda part: part.write_text(text + "\n", encoding="utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recipe:
        """Read what `save` wrote, or the recipe inside a model's file."""
        try:
            content = parse_json(Path(path).read_text(encoding="utf-8"))
            if isinstance(content, dict) and "pairsmith model" in content:
                content = content["recipe"]
            return cls.from_json(content)
        except FileNotFoundError:
            raise ValueError(f"{path}: there is no such file") from None
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from None
        except RepeatedKey as error:
            raise ValueError(f"{path}: {error}") from None
        except (ValueError, KeyError):
            raise ValueError(f"{path} is no recipe of pairsmith, and no model that has one") from None

    def _check_names(self) -> None:
        names = self.names
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two features would be called {twice[0]!r}; rename a column")

    def _check_scale(self, X: Floats) -> None:
        """Refuse a column that float64 cannot bring to the variance 1."""
        largest = np.abs(X).max(axis=0)
        for at in np.flatnonzero((largest > _MOST) | (self.scale < _LEAST)):
            raise ValueError(
                f"column {self.names[at]!r} has numbers up to {largest[at]:.1e} that spread by {self.scale[at]:.1e},"
                " which float64 cannot bring to one scale with others; give it in other units"
            )

    def _framed(self, X: Floats, ids: Any, n: int) -> pd.DataFrame:
        import pandas as pd

        index = pd.RangeIndex(n) if ids is None else ids
        return pd.DataFrame((X - self.center) / self.scale, index=index, columns=self.names)


def _fitted(one: Wanted, raw: Any, dimensions: int, seed: int, told: Progress) -> Made:
    if one.kind == "category":
        return Categories.fit(raw)
    if one.kind in ("number", "date"):
        return AsItIs.fit(raw)
    maker = PrincipalAxes if one.embedding else TextAxes if one.kind == "text" else ImageAxes
    with told.during(f"{one.column}: principal axes"):
        return maker.fit(raw, dimensions, seed)


def _applied(one: Wanted, made: Made, raw: Any, told: Progress) -> Floats:
    """Features before they are brought to one scale; texts take their time."""
    return made.apply(raw, told.over(one.column, len(raw))) if isinstance(made, TextAxes) else made.apply(raw)


def features(table: Any, **options: Unpack[Options]) -> pd.DataFrame:
    """Numeric features of the rows of a table, made from raw texts, images and plain columns.

    Parameters
    ----------
    table : pandas or polars frame, or Arrow table; its column `id` or its index names the items.
    text : columns of texts.
    image : columns with the paths of image files, seen from `folder`.
    category : columns whose values only say which items are alike.
    columns : other columns to use; None for all others that hold numbers, dates, or few different values.
    dimensions : how many axes a text or image column gets at most; by default the root of the number of rows, up to 30.
    text_embedding, image_embedding : an embedding that is installed, such as "sentence-transformers:all-MiniLM-L6-v2",
        "fastembed:BAAI/bge-small-en-v1.5" or "onnx:resnet18.onnx"; None for what needs no download.
    cache : a file in which what embeddings gave is kept.
    progress : show a progress bar on standard error.
    random_state : a seed.

    The features of rows that come later are those of a `Recipe`: `recipe = ps.Recipe.fit(table, ...)` takes the same
    options, and `recipe.apply(new)` gives their features.
    """
    return Recipe.fit_apply(table, **options)[1]
