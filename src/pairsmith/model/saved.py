"""A fitted model as a file of plain JSON, which people can read and other programs can write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats
from pairsmith.files.json_reader import RepeatedKey, parse_json
from pairsmith.files.write import write_whole
from pairsmith.model.logistic import check_ridge

_VERSION = 1
KINDS = {1: "BradleyTerry", 2: "BradleyTerryGP"}  # what a file of each format holds
Result = TypeVar("Result")


class _OtherVersion(ValueError):
    """The file is a model, of a format that this version does not read."""


class _OtherKind(ValueError):
    """The file is a model of another kind."""


@dataclass(frozen=True)
class SavedModel:
    """What is kept of a fitted model; `features` are the names of its columns, or their numbers where they had none."""

    ridge: float
    classes: npt.NDArray[Any]
    features: list[Any]
    coef: Floats
    covariance_root: Floats

    def write(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the file, whole or not at all. The large matrix comes last, a row a line.

        `recipe` is what made the features, as JSON.
        """
        content = {
            "pairsmith model": _VERSION,
            "ridge": self.ridge,
            "classes": self.classes.tolist(),
            "features": self.features,
            "coef": self.coef.tolist(),
        } | ({} if recipe is None else {"recipe": recipe})
        rows = ",\n  ".join(json.dumps(row) for row in self.covariance_root.tolist())
        text = json.dumps(content, indent=1)[:-2] + f',\n "covariance root": [\n  {rows}\n ]\n}}\n'
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))

    @staticmethod
    def read(path: str | os.PathLike[str]) -> SavedModel:
        """Read what `write` wrote; anything else is refused."""
        return read_checked(path, _VERSION, _checked)


def kind_of(path: str | os.PathLike[str]) -> int:
    """The format of a model's file: 1 for a linear model, 2 for a Gaussian process."""
    return read_checked(path, None, lambda content: int(content["pairsmith model"]))


def read_checked(path: str | os.PathLike[str], version: int | None, checked: Callable[[Any], Result]) -> Result:
    """What `checked` makes of a model's file of this format (None: of any). Errors of any kind mean that it is none."""
    if Path(path).exists() and not Path(path).is_file():  # a device may never end
        raise ValueError(f"{path} is no file; name one that a model's save or pairsmith fit wrote")
    try:
        content = parse_json(Path(path).read_text(encoding="utf-8"))
        found = content["pairsmith model"]
        if found not in KINDS:
            raise _OtherVersion(f"format {found}")
        if version is not None and found != version:
            raise _OtherKind(f"{path} holds a {KINDS[found]}, not a {KINDS[version]}; load it as that")
        return checked(content)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except _OtherKind:
        raise
    except RepeatedKey as error:
        raise ValueError(f"{path}: {error}") from None
    except _OtherVersion as error:
        raise ValueError(f"{path} was written by another version of pairsmith ({error}); fit again") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise ValueError(f"{path} is no model of pairsmith; make one with its save or pairsmith fit") from None


def checked_classes(classes: Any) -> npt.NDArray[Any]:
    """Return the two labels that a file holds."""
    found = np.array(classes)
    if found.shape != (2,) or found.dtype.kind not in "biufU" or found[0] == found[1]:
        raise ValueError("these are no two labels")
    return found


def checked_names(names: Any) -> list[Any]:
    """Return the columns that a file holds: their names, or their numbers where they had none."""
    if not isinstance(names, list) or not (
        all(isinstance(name, str) for name in names) or names == list(range(len(names)))
    ):
        raise ValueError("these name no columns")
    return names


def _checked(content: Any) -> SavedModel:
    """The linear model that a file holds."""
    saved = SavedModel(
        float(content["ridge"]),
        checked_classes(content["classes"]),
        checked_names(content["features"]),
        np.array(content["coef"], dtype=np.float64),
        np.array(content["covariance root"], dtype=np.float64),
    )
    d = len(saved.features)
    if saved.coef.shape != (d,) or saved.covariance_root.shape != (d, d):
        raise ValueError("the shapes do not agree")
    if not (np.isfinite(saved.coef).all() and np.isfinite(saved.covariance_root).all()):
        raise ValueError("a number is not finite")
    check_ridge(saved.ridge, "ridge")
    return saved
