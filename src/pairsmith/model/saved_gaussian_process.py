"""A fitted Gaussian-process model as a file of plain JSON.

What is saved are the variances, what turns features into coordinates, the items that were compared, and the sites of
their answers: the posterior follows from these by one factorization, and none of its large matrices is written.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats, Ints
from pairsmith.files.write import write_whole
from pairsmith.model.feature_map import FeatureMap
from pairsmith.model.learned import Learned, parts_of, posterior_of
from pairsmith.model.parts import PARTS
from pairsmith.model.posterior import Answers, Sites
from pairsmith.model.saved import checked_classes, checked_names, read_checked

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
        return read_checked(path, VERSION, _checked)


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


def _checked(content: Any) -> SavedGP:
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
