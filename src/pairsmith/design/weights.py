"""The weight of an answer under a model: its variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from pairsmith.data.arrays import Floats
from pairsmith.design.effects import Effects
from pairsmith.design.kernels import pair_distances


def logistic_weight(score: Any) -> Floats:
    """Return p (1 - p) for p = 1 / (1 + exp(-score)): the variance of an answer, which is at most 1/4."""
    return np.asarray(expit(score) * expit(-score))


@dataclass(frozen=True)
class AveragedWeights:
    """Weights averaged over what a model leaves open: w = k sigma'(k m) with k = 1 / sqrt(1 + pi v / 8).

    m and v are the mean and variance of f_i - f_j under the model, and sigma' = p (1 - p). This is MacKay's
    approximation to the mean of p (1 - p). The factor k in front accounts for the limit that an answer about an
    unknown pair tells at most one bit.

    A scan can only use weights that are functions of scores, so it uses upper bounds. Let k_0 be the smallest k of all
    pairs. With the scores k_0 m, no weight exceeds s k(v), where s = sigma'(k_0 m) <= 1/4. As v is at least d_ij,
    which only falls, a gain w d_ij is at most s K(d_ij), where K(d) = k(d) d. K is concave and K(0) = 0, so a pair
    whose gain reaches g has

        s d_ij >= s K^-1(g / s) >= K^-1(4 g) / 4 = `min_product(g)`.

    So a scan with the weights s and this floor misses no pair. Its hits are then given their exact weights.
    """

    mean: Floats  # of each score f_i
    Z: Floats  # v = |z_i - z_j|^2 plus the variance of the effects' difference
    effects: Effects | None

    @property
    def scores(self) -> Floats:
        """k_0 m: scores whose logistic weights are at least the averaged weights."""
        max_variance = 4 * float(np.einsum("ia,ia->i", self.Z, self.Z).max())
        max_variance += 0.0 if self.effects is None else 2 * float(self.effects.variances().max())
        scores: Floats = self.mean / np.sqrt(1 + np.pi * max_variance / 8)
        return scores

    def of(self, i: Any, j: Any) -> Floats:
        """Return the weights of pairs of items."""
        first, second = np.atleast_1d(i), np.atleast_1d(j)
        v = np.empty(len(first))
        pair_distances(self.Z, self.Z, first, second, v)
        if self.effects is not None:
            v += self.effects.difference_variances(first, second)
        k = 1 / np.sqrt(1 + np.pi * v / 8)
        weights = k * logistic_weight(k * (self.mean[first] - self.mean[second]))
        return weights if np.ndim(i) else weights[0]

    @staticmethod
    def min_product(gain: Any) -> Any:
        """Return the smallest s d_ij of a pair whose gain reaches `gain`: K^-1(4 gain) / 4."""
        return gain * (np.pi * gain + np.sqrt((np.pi * gain) ** 2 + 16)) / 4

    @staticmethod
    def max_gain(product: Any) -> Any:
        """Return the largest gain of a pair with this s d_ij: K(4 product) / 4, the inverse of `min_product`."""
        return product / np.sqrt(1 + np.pi * product / 2)
