"""What an answer weighs under a model: its variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from pairsmith.data.arrays import Floats
from pairsmith.design.effects import Effects
from pairsmith.design.kernels import pair_distances


def logistic_weight(score: Any) -> Floats:
    """p (1 - p), p = 1 / (1 + exp(-score)): the variance of an answer, at most 1/4."""
    return np.asarray(expit(score) * expit(-score))


@dataclass(frozen=True)
class Averaged:
    """Weights averaged over what a model leaves open of each pair: w = k sigma'(k m), k = 1 / sqrt(1 + pi v / 8).

    m and v are mean and variance of f_i - f_j under the model, and sigma' = p (1 - p) (MacKay's approximation to the
    mean of p (1 - p)). A pair of which everything is open tells at most one bit: the factor k in front says so.

    A scan knows weights of scores only. With scores least m, `least` the smallest k of all pairs, no weight is more
    than sigma'(least m) k(v); and v is at least d_ij, which only falls, so with K(d) = k(d) d and
    s = sigma'(least m) <= 1/4 a gain w d_ij is at most s K(d_ij). K is concave and K(0) = 0, so where that reaches g,

        s d_ij >= s K^-1(g / s) >= K^-1(4 g) / 4 = `least_product(g)`.

    So a scan with the weights s and that floor misses nothing, and what it finds is weighed as it should be.
    """

    mean: Floats  # of f_i
    Z: Floats  # with v = |z_i - z_j|^2 plus what the effects leave open between the two
    effects: Effects | None

    @property
    def scores(self) -> Floats:
        """Least m, of which weights are at least these."""
        most = 4 * float(np.einsum("ia,ia->i", self.Z, self.Z).max())
        most += 0.0 if self.effects is None else 2 * float(self.effects.own().max())
        shrunk: Floats = self.mean / np.sqrt(1 + np.pi * most / 8)
        return shrunk

    def of(self, i: Any, j: Any) -> Floats:
        """Of pairs of items."""
        first, second = np.atleast_1d(i), np.atleast_1d(j)
        v = np.empty(len(first))
        pair_distances(self.Z, self.Z, first, second, v)
        if self.effects is not None:
            v += self.effects.between(first, second)
        k = 1 / np.sqrt(1 + np.pi * v / 8)
        weights = k * logistic_weight(k * (self.mean[first] - self.mean[second]))
        return weights if np.ndim(i) else weights[0]

    @staticmethod
    def least_product(gain: Any) -> Any:
        """K^-1(4 g) / 4: v with v / sqrt(1 + pi v / 8) = 4 g, over 4."""
        return gain * (np.pi * gain + np.sqrt((np.pi * gain) ** 2 + 16)) / 4

    @staticmethod
    def most_gain(product: Any) -> Any:
        """K(4 p) / 4: undoes `least_product`."""
        return product / np.sqrt(1 + np.pi * product / 2)
