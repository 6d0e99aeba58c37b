"""Features as the Gaussian-process model sees them: standardised, and beside them smooth functions of them.

A column in dollars and one in years must not matter for their units, so each gets mean 0 and variance 1; all are then
divided by the root mean squared length of a row, so that the variance of a linear part is that of scores. The smooth
part is a Gaussian process with k(x, x') = exp(-|x - x'|^2 / (2 s m)), m the median squared distance of two items. It is
given by Nystroem features of some of the items, the landmarks: phi(x) = V^-1/2 U'k(landmarks, x), where U V U' is the
kernel between the landmarks, without what is below 1e-6 of its largest eigenvalue; from each its mean over the
landmarks is taken away, so that the smooth part says nothing about a level that all scores have in common.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from pairsmith.data.arrays import Bools, Floats
from pairsmith.data.spread import spread_of

_LOST = 1e-6  # of the largest eigenvalue of the kernel: what is below only adds rounding
_ROWS = 4096  # whose distances to the landmarks are computed at a time


@dataclass(frozen=True)
class FeatureMap:
    """From rows of X to the coordinates of the linear and of the smooth part."""

    used: Bools  # (d,) the columns that are not constant
    center: Floats  # of these
    scale: Floats
    landmarks: Floats  # (m, d used) in linear coordinates
    median: float  # squared distance between landmarks
    known: dict[float, tuple[Floats, Floats]] = field(default_factory=dict, repr=False, compare=False)  # by scale

    @classmethod
    def of(cls, X: Floats, landmarks: int, rng: np.random.Generator) -> FeatureMap:
        center, deviation, used = spread_of(X)
        # Standardised, a column has the mean square 1, so the mean squared length of a row is the number of columns.
        scale = deviation[used] * np.sqrt(max(1, int(used.sum())))
        rows = X[np.sort(rng.choice(len(X), min(len(X), landmarks), replace=False))]
        map = cls(used, center[used], scale, np.zeros((0, int(used.sum()))), 1.0)
        if not used.any():
            return map
        rows = np.unique(map.linear(rows), axis=0)
        apart = euclidean_distances(rows, squared=True)[np.triu_indices(len(rows), 1)]
        return cls(used, map.center, scale, rows, float(np.median(apart)) if len(apart) else 1.0)

    def linear(self, X: Floats) -> Floats:
        """(N, d used) of mean square length 1."""
        return (X[:, self.used] - self.center) / self.scale

    def smooth(self, linear: Floats, scale: float) -> Floats:
        """(N, m) Nystroem features of length scale `scale`, from linear coordinates."""
        towards, level = self._towards(scale)
        found = np.empty((len(linear), len(level)))
        for low in range(0, len(linear), _ROWS):
            found[low : low + _ROWS] = self._kernel(linear[low : low + _ROWS], scale) @ towards - level
        return found

    def _towards(self, scale: float) -> tuple[Floats, Floats]:
        """U V^-1/2, and its mean k(landmarks, .) U V^-1/2 over the landmarks."""
        if scale not in self.known:
            values, vectors = np.linalg.eigh(self._kernel(self.landmarks, scale))
            kept = values > _LOST * values[-1]
            level = (vectors[:, kept] * np.sqrt(values[kept])).mean(axis=0)
            self.known[scale] = vectors[:, kept] / np.sqrt(values[kept]), level
        return self.known[scale]

    def _kernel(self, rows: Floats, scale: float) -> Floats:
        squared: Floats = euclidean_distances(rows, self.landmarks, squared=True)
        return np.exp(-squared / (2 * scale * self.median))
