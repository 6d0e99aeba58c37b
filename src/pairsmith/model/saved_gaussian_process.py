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

from pairsmith.files.write import write_whole
from pairsmith.model.feature_map import FeatureMap
from pairsmith.model.learned import Learned, parts_of, posterior_of
from pairsmith.model.parts import PARTS
from pairsmith.model.posterior import Answers, Sites
from pairsmith.model.saved import read_checked

VERSION = 2


@dataclass(frozen=True)
class SavedGP:
    """What is kept of a fitted model."""

    learned: Learned
    classes: npt.NDArray[Any]
    features: list[Any]  # the names of its columns, or their numbers where they had none
    ids: list[Any] | None  # of the items, where they had any
    n_items: int
    fingerprint: str  # of the features of all items, by which they are known without ids
    figures: dict[str, float]  # doubt, reliability and the like, which would take a while to compute again

    def write(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the file, whole or not at all; `recipe` is what made the features, as JSON."""
        learned, map = self.learned, self.learned.map
        content = {
            "pairsmith model": VERSION,
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


def _checked(content: Any) -> SavedGP:
    """The model that a file holds."""

    def floats(values: Any, *shape: int) -> npt.NDArray[np.float64]:
        found = np.array(values, dtype=np.float64).reshape(shape)
        if not np.isfinite(found).all():
            raise ValueError("a number is not finite")
        return found

    def places(values: Any, below: int) -> npt.NDArray[np.int64]:
        found = np.array(values, dtype=np.int64)
        if found.ndim != 1 or np.any(found < 0) or np.any(found >= below):
            raise ValueError("a number is no place")
        return found

    columns = content["columns"]
    used = np.array(columns["used"], dtype=bool)
    d = int(used.sum())
    landmarks = floats(columns["landmarks"], -1, d) if d else np.zeros((0, 0))
    center, scale = floats(columns["center"], d), floats(columns["scale"], d)
    map = FeatureMap(used, center, scale, landmarks, float(columns["median distance"]))
    n = int(content["items"])
    items = places(content["compared"]["items"], n)
    linear = floats(content["compared"]["coordinates"], len(items), d)
    threshold = bool(content["threshold"])
    answers, count = content["answers"], len(content["answers"]["first"])
    ends = [places(answers[name], len(items) + threshold) for name in ("first", "second")]
    weights = [floats(answers[name], count) for name in ("won", "lost", "slope", "shift")]
    sites = Sites(*(floats(content["sites"][name], count) for name in ("tau", "nu")))
    variances = {name: float(content["variances"][name]) for name in PARTS}
    smooth_scale = float(content["variances"]["scale"])
    if len(used) != len(content["features"]) or len(content["classes"]) != 2 or min(variances.values()) < 0:
        raise ValueError("the parts do not agree")
    if content["ids"] is not None and len(content["ids"]) != n:
        raise ValueError("the parts do not agree")
    parts = parts_of(map, linear, threshold, variances, smooth_scale)
    between = Answers(ends[0], ends[1], *weights)
    learned = Learned(
        map,
        variances,
        smooth_scale,
        items,
        linear,
        threshold,
        between,
        sites,
        float(content["evidence"]),
        int(content["learned from"]),
        parts,
        posterior_of(parts, variances, between, sites),
    )
    figures = {str(name): float(value) for name, value in content["figures"].items()}
    return SavedGP(
        learned, np.array(content["classes"]), content["features"], content["ids"], n, content["fingerprint"], figures
    )
