"""A fitted Gaussian-process model as a file of plain JSON.

What is saved are the variances, what turns features into coordinates, the items that were compared, and the sites of
their answers: the posterior follows from these by one factorization, and none of its large matrices is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats, Ints
from pairsmith.files.json_reader import RepeatedKey, parse_json
from pairsmith.files.write import write_whole
from pairsmith.model.evidence import Answers
from pairsmith.model.fitting import Learned, parts_of, posterior_of
from pairsmith.model.logistic import check_ridge
from pairsmith.model.posterior import Sites
from pairsmith.model.prior import PARTS, FeatureMap

VERSION = 2
PARAMETERS = ("linear", "smooth", "items", "landmarks", "better", "warm_start", "random_state")  # of BradleyTerryGP


@dataclass(frozen=True)
class SavedGP:
    """What is kept of a fitted model."""

    learned: Learned
    parameters: dict[str, Any]  # that the model was made with
    classes: npt.NDArray[Any]
    features: list[Any]  # the names of its columns, or their numbers where they had none
    ids: list[Any] | None  # of the items, where they had any
    n_items: int
    fingerprint: str  # of the features of all items, by which they are known without ids
    figures: dict[str, float]  # doubt, reliability and the like, which would take a while to compute again

    def write(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the file, whole or not at all; `recipe` is what made the features, as JSON."""
        _check_ids(self.ids)
        learned, map = self.learned, self.learned.map
        content = {
            "pairsmith model": VERSION,
            "parameters": self.parameters,
            "variances": learned.variances | {"scale": learned.scale},
            "figures": self.figures,
            "classes": self.classes.tolist(),
            "features": self.features,
            "items": self.n_items,
            "ids": self.ids,
            "fingerprint": self.fingerprint,
            "columns": {
                "used": map.used.tolist(),
                "center": map.center.tolist(),
                "scale": map.scale.tolist(),
                "median distance": map.median,
                "landmarks": map.landmarks.tolist(),
            },
            "compared": {"items": learned.items.tolist(), "coordinates": learned.linear.tolist()},
            "threshold": learned.threshold,
            "answers": {name: values.tolist() for name, values in vars(learned.answers).items()},
            "sites": {"tau": learned.sites.tau.tolist(), "nu": learned.sites.nu.tolist()},
            "evidence": learned.evidence,
            "learned from": learned.learned_from,
        } | ({} if recipe is None else {"recipe": recipe})
        text = (
            "{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()) + "\n}\n"
        )
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))

    @staticmethod
    def read(path: str | os.PathLike[str]) -> SavedGP:
        """Read what `write` wrote; anything else is refused."""
        return read_checked(path, VERSION, _checked_gp)


def storable_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a model as JSON takes them; a generator cannot be saved, and the usual seed stands for it."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    seed = plain["random_state"]
    return plain | {"random_state": seed if seed is None or isinstance(seed, int) else 0}


def _check_ids(ids: list[Any] | None) -> None:
    """Refuse ids that JSON does not give back as they are."""
    for at, name in enumerate(ids or []):
        if not isinstance(name, str | int | float):
            raise ValueError(
                f"the id of item {at}, {name!r}, is neither text nor a number, so that a model that is loaded would not"
                " know it; give X ids that are, such as its str()"
            )


def _checked_gp(content: Any) -> SavedGP:
    """The model that a file holds."""
    map, n = _checked_map(content["columns"]), int(content["items"])
    names, ids = checked_names(content["features"]), content["ids"]
    if len(map.used) != len(names):
        raise ValueError("the parts do not agree")
    if ids is not None:
        _check_ids(ids)
        if not isinstance(ids, list) or len(set(ids)) != n or len(ids) != n:
            raise ValueError("the ids are not those of the items")
    parameters = dict(content.get("parameters", {}))  # earlier versions wrote none
    if not set(parameters) <= set(PARAMETERS):
        raise ValueError("a parameter is unknown")
    seed = parameters.get("random_state")
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        raise ValueError("the seed is none")
    figures = {str(name): float(value) for name, value in content["figures"].items()}
    if not {"doubt", "reliability", *PARTS} <= set(figures):
        raise ValueError("a figure is missing")
    return SavedGP(
        _checked_learned(content, map, n),
        parameters,
        checked_classes(content["classes"]),
        names,
        ids,
        n,
        str(content["fingerprint"]),
        figures,
    )


def _checked_map(columns: Any) -> FeatureMap:
    used = np.array(columns["used"], dtype=bool)
    d = int(used.sum())
    landmarks = _floats(columns["landmarks"], -1, d) if d else np.zeros((0, 0))
    center, scale = _floats(columns["center"], d), _floats(columns["scale"], d)
    return FeatureMap(used, center, scale, landmarks, float(columns["median distance"]))


def _checked_learned(content: Any, map: FeatureMap, n: int) -> Learned:
    items = _places(content["compared"]["items"], n)
    linear = _floats(content["compared"]["coordinates"], len(items), int(map.used.sum()))
    threshold = bool(content["threshold"])
    given, count = content["answers"], len(content["answers"]["first"])
    first, second = (_places(given[name], len(items) + threshold) for name in ("first", "second"))
    answers = Answers(first, second, *(_floats(given[name], count) for name in ("won", "lost", "slope", "shift")))
    sites = Sites(*(_floats(content["sites"][name], count) for name in ("tau", "nu")))
    variances = {name: float(content["variances"][name]) for name in PARTS}
    if not all(0 <= variance < np.inf for variance in variances.values()):
        raise ValueError("a variance is negative or infinite")
    scale = float(content["variances"]["scale"])
    parts = parts_of(map, linear, threshold, variances, scale)
    return Learned(
        map,
        variances,
        scale,
        items,
        linear,
        threshold,
        answers,
        sites,
        float(content["evidence"]),
        float(content["learned from"]),
        parts,
        posterior_of(parts, variances, answers, sites),
    )


def _floats(values: Any, *shape: int) -> Floats:
    found = np.array(values, dtype=np.float64).reshape(shape)
    if not np.isfinite(found).all():
        raise ValueError("a number is not finite")
    return found


def _places(values: Any, below: int) -> Ints:
    """Numbers of items, of which there are so many."""
    found = np.array(values, dtype=np.int64)
    if found.ndim != 1 or np.any(found < 0) or np.any(found >= below):
        raise ValueError("a number is no place")
    return found


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
        return read_checked(path, _VERSION, _checked_linear)


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


def _checked_linear(content: Any) -> SavedModel:
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
