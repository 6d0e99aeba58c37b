"""Principal axes of dense vectors: what describes pictures, and what embeddings give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA

from pairsmith.data.arrays import Bools, Floats
from pairsmith.recipe.stored import from_stored, to_stored

_SAMPLE = 20_000  # vectors that the axes are found from
_ROUNDING = 1e-5  # of the largest singular value


def real_axes(singular_values: Floats) -> Bools:
    """Which axes are more than rounding, that of float32: where few vectors differ, there are fewer than asked for."""
    return np.asarray(singular_values > _ROUNDING * singular_values.max(initial=0.0))


@dataclass(frozen=True)
class PrincipalAxes:
    """From vectors to coordinates: (v - center) @ axes."""

    center: Floats
    axes: npt.NDArray[np.float32]  # (length of a vector, d), in the precision that files keep
    kept: float  # share of the variance

    @classmethod
    def fit(cls, vectors: Floats, dimensions: int, seed: int, blocks: Sequence[int] = ()) -> PrincipalAxes:
        """At most so many axes of these vectors.

        `blocks` are lengths of parts of a vector that are to have the same variance, whatever their units.
        """
        some = np.random.default_rng(seed).choice(len(vectors), min(len(vectors), _SAMPLE), replace=False)
        sample = vectors[np.sort(some)]
        scale = np.ones(sample.shape[1])
        for part in np.split(np.arange(sample.shape[1]), np.cumsum(blocks)):
            spread = np.sqrt(sample[:, part].var(axis=0).sum()) if len(part) else 0.0
            scale[part] = 1 / spread if spread > 0 else 0.0
        center = sample.mean(axis=0)
        scaled = (sample - center) * scale
        if not np.any(scaled):  # all alike
            return cls(center, np.zeros((len(center), 1), dtype=np.float32), 0.0)
        found = PCA(min(dimensions, *scaled.shape), random_state=seed).fit(scaled)
        axes = (scale[:, None] * found.components_[real_axes(found.singular_values_)].T).astype(np.float32)
        return cls(center, axes, float(min(1.0, found.explained_variance_ratio_.sum())))

    @property
    def names(self) -> list[str]:
        """Of the columns that `apply` gives."""
        return [str(at + 1) for at in range(self.axes.shape[1])]

    def apply(self, vectors: Floats) -> Floats:
        coordinates: Floats = (vectors - self.center) @ self.axes.astype(np.float64)
        return coordinates

    def to_json(self) -> dict[str, Any]:
        return {"center": to_stored(self.center), "axes": to_stored(self.axes), "kept": self.kept}

    @classmethod
    def from_json(cls, content: Any) -> PrincipalAxes:
        center, axes = from_stored(content["center"], "<f8", 1), from_stored(content["axes"], "<f4", 2)
        if len(center) != len(axes):
            raise ValueError("the parts do not agree")
        return cls(center, axes, float(content["kept"]))
