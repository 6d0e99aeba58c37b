"""Fitted models as files of plain JSON, which people can read and other programs can write.

A Gaussian process is saved as its variances, its feature map, the compared items, and the sites of their answers. The
posterior follows from these by one factorization, so none of its large matrices is written.
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
from pairsmith.model.fitting import FittedGP, weight_space_parts, weight_space_posterior
from pairsmith.model.logistic import check_ridge
from pairsmith.model.posterior import Sites
from pairsmith.model.prior import PARTS, FeatureMap

LINEAR_FORMAT, GP_FORMAT = 1, 2
KINDS = {LINEAR_FORMAT: "BradleyTerry", GP_FORMAT: "BradleyTerryGP"}  # the class that each format holds
GP_PARAMETERS = ("linear", "smooth", "items", "landmarks", "better", "warm_start", "random_state")
Result = TypeVar("Result")


class _UnknownFormat(ValueError):
    """The file holds a model in a format that this version does not read."""


class _OtherClass(ValueError):
    """The file holds a model of another class."""


@dataclass(frozen=True)
class SavedModel:
    """The saved state of a BradleyTerry."""

    ridge: float
    classes: npt.NDArray[Any]
    features: list[Any]  # names of the columns, or their numbers if they have none
    coef: Floats
    covariance_root: Floats

    def write(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the whole file or nothing, with the recipe of the features as JSON. The large matrix comes last."""
        content = {
            "pairsmith model": LINEAR_FORMAT,
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
        """Read a file of `write`, and refuse anything else."""
        return read_checked(path, LINEAR_FORMAT, _parse_linear)


@dataclass(frozen=True)
class SavedGP:
    """The saved state of a BradleyTerryGP."""

    fitted: FittedGP
    parameters: dict[str, Any]  # of the constructor
    classes: npt.NDArray[Any]
    features: list[Any]  # names of the columns, or their numbers if they have none
    ids: list[Any] | None  # of the items, if they have any
    n_items: int
    fingerprint: str  # of the features of all items, which identifies them if there are no ids
    summary: dict[str, float]  # doubt, reliability and shares, which would take a while to compute again

    def write(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the whole file or nothing, with the recipe of the features as JSON."""
        _check_ids(self.ids)
        fitted, map = self.fitted, self.fitted.map
        content = {
            "pairsmith model": GP_FORMAT,
            "parameters": self.parameters,
            "variances": fitted.variances | {"scale": fitted.scale},
            "figures": self.summary,
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
            "compared": {"items": fitted.items.tolist(), "coordinates": fitted.linear.tolist()},
            "threshold": fitted.threshold,
            "answers": {name: values.tolist() for name, values in vars(fitted.answers).items()},
            "sites": {"tau": fitted.sites.tau.tolist(), "nu": fitted.sites.nu.tolist()},
            "evidence": fitted.evidence,
            "learned from": fitted.learned_from,
        } | ({} if recipe is None else {"recipe": recipe})
        text = (
            "{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()) + "\n}\n"
        )
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))

    @staticmethod
    def read(path: str | os.PathLike[str]) -> SavedGP:
        """Read a file of `write`, and refuse anything else."""
        return read_checked(path, GP_FORMAT, _parse_gp)


def storable_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON values. A random generator cannot be saved, so seed 0 replaces it."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
    seed = plain["random_state"]
    return plain | {"random_state": seed if seed is None or isinstance(seed, int) else 0}


def kind_of(path: str | os.PathLike[str]) -> int:
    """Return the format of a model's file, LINEAR_FORMAT or GP_FORMAT."""
    return read_checked(path, None, lambda content: int(content["pairsmith model"]))


def read_checked(path: str | os.PathLike[str], version: int | None, parse: Callable[[Any], Result]) -> Result:
    """Parse a model's file of this format, or of any format if `version` is None.

    Any error that `parse` raises means that the file is no model.
    """
    if Path(path).exists() and not Path(path).is_file():  # reading a device may never end
        raise ValueError(f"{path} is no file; name one that a model's save or pairsmith fit wrote")
    try:
        content = parse_json(Path(path).read_text(encoding="utf-8"))
        file_format = content["pairsmith model"]
        if file_format not in KINDS:
            raise _UnknownFormat(f"format {file_format}")
        if version is not None and file_format != version:
            raise _OtherClass(f"{path} holds a {KINDS[file_format]}, not a {KINDS[version]}; load it as that class")
        return parse(content)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except _OtherClass:
        raise
    except RepeatedKey as error:
        raise ValueError(f"{path}: {error}") from None
    except _UnknownFormat as error:
        raise ValueError(f"{path} was written by another version of pairsmith ({error}); fit again") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise ValueError(f"{path} is no model of pairsmith; make one with its save or pairsmith fit") from None


def _check_ids(ids: list[Any] | None) -> None:
    """Refuse ids that JSON would not return unchanged."""
    for at, name in enumerate(ids or []):
        if not isinstance(name, str | int | float):
            raise ValueError(
                f"the id of item {at}, {name!r}, is neither text nor a number, so a loaded model would not recognise"
                " it; convert the ids of X, for example with str()"
            )


def _parse_classes(classes: Any) -> npt.NDArray[Any]:
    parsed = np.array(classes)
    if parsed.shape != (2,) or parsed.dtype.kind not in "biufU" or parsed[0] == parsed[1]:
        raise ValueError("there must be two different labels")
    return parsed


def _parse_column_names(names: Any) -> list[Any]:
    if not isinstance(names, list) or not (
        all(isinstance(name, str) for name in names) or names == list(range(len(names)))
    ):
        raise ValueError("columns must have names, or be numbered from 0")
    return names


def _parse_linear(content: Any) -> SavedModel:
    saved = SavedModel(
        float(content["ridge"]),
        _parse_classes(content["classes"]),
        _parse_column_names(content["features"]),
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


def _parse_gp(content: Any) -> SavedGP:
    map, n = _parse_feature_map(content["columns"]), int(content["items"])
    names, ids = _parse_column_names(content["features"]), content["ids"]
    if len(map.used) != len(names):
        raise ValueError("the numbers of columns do not agree")
    if ids is not None:
        _check_ids(ids)
        if not isinstance(ids, list) or len(set(ids)) != n or len(ids) != n:
            raise ValueError("there must be one id for each item")
    parameters = dict(content.get("parameters", {}))
    if not set(parameters) <= set(GP_PARAMETERS):
        raise ValueError("a parameter is unknown")
    seed = parameters.get("random_state")
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        raise ValueError("random_state must be a seed")
    summary = {str(name): float(value) for name, value in content["figures"].items()}
    if not {"doubt", "reliability", *PARTS} <= set(summary):
        raise ValueError("a figure is missing")
    return SavedGP(
        _parse_fitted(content, map, n),
        parameters,
        _parse_classes(content["classes"]),
        names,
        ids,
        n,
        str(content["fingerprint"]),
        summary,
    )


def _parse_feature_map(columns: Any) -> FeatureMap:
    used = np.array(columns["used"], dtype=bool)
    d = int(used.sum())
    landmarks = _parse_floats(columns["landmarks"], -1, d) if d else np.zeros((0, 0))
    center, scale = _parse_floats(columns["center"], d), _parse_floats(columns["scale"], d)
    return FeatureMap(used, center, scale, landmarks, float(columns["median distance"]))


def _parse_fitted(content: Any, map: FeatureMap, n: int) -> FittedGP:
    items = _parse_indices(content["compared"]["items"], n)
    linear = _parse_floats(content["compared"]["coordinates"], len(items), int(map.used.sum()))
    threshold = bool(content["threshold"])
    saved, count = content["answers"], len(content["answers"]["first"])
    first, second = (_parse_indices(saved[name], len(items) + threshold) for name in ("first", "second"))
    answers = Answers(first, second, *(_parse_floats(saved[name], count) for name in ("won", "lost", "slope", "shift")))
    sites = Sites(*(_parse_floats(content["sites"][name], count) for name in ("tau", "nu")))
    variances = {name: float(content["variances"][name]) for name in PARTS}
    if not all(0 <= variance < np.inf for variance in variances.values()):
        raise ValueError("a variance is negative or infinite")
    scale = float(content["variances"]["scale"])
    parts = weight_space_parts(map, linear, threshold, variances, scale)
    return FittedGP(
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
        weight_space_posterior(parts, variances, answers, sites),
    )


def _parse_floats(values: Any, *shape: int) -> Floats:
    parsed = np.array(values, dtype=np.float64).reshape(shape)
    if not np.isfinite(parsed).all():
        raise ValueError("a number is not finite")
    return parsed


def _parse_indices(values: Any, count: int) -> Ints:
    """Return the values as indices from 0 to count - 1."""
    parsed = np.array(values, dtype=np.int64)
    if parsed.ndim != 1 or np.any(parsed < 0) or np.any(parsed >= count):
        raise ValueError("an index is out of range")
    return parsed
