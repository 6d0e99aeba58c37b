"""Local and averaged D-optimality: what the answer to a pair counts, p (1 - p) under a model.

Both give scores s for the design to weigh answers by: w_ij = p (1 - p) with p = 1 / (1 + exp(s_j - s_i)). An answer
that is known beforehand tells little about the coefficients, and one that is open tells most.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from pairsmith.criteria.belief import FEW, Belief
from pairsmith.data.arrays import Floats
from pairsmith.data.features import Features, Shifted, some_rows
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.weights import Averaged


def local(features: Features, belief: Belief) -> Floats:
    """The scores themselves: the information at the model's estimate, as if that were the truth."""
    return belief.scores


def averaged(features: Features, belief: Belief) -> Floats | Averaged:
    """Scores shrunk so that p is, roughly, its average over what the model leaves open: s / sqrt(1 + pi v / 8).

    v is the variance of a difference of scores under the model, for a pair of items drawn at random (MacKay's
    approximation). One v for all pairs leaves the weights a function of scores. Under a Gaussian process each pair has
    the weight of its own v, which differ more there (`design.weights.Averaged`).
    """
    if belief.open is not None:
        effects, points = belief.open.effects(features.shape[0]), features
        if effects is not None:
            points = Shifted(features, effects.place, effects.shift)
        centred = points.rows(slice(None)) - np.median(some_rows(features, 1001), axis=0)
        with single_threaded_blas() if len(centred) <= FEW else nullcontext():
            return Averaged(belief.scores, centred @ belief.covariance_root, effects)
    some = some_rows(features, 5000) @ belief.covariance_root
    variance = 2 * float(np.mean(np.sum((some - some.mean(axis=0)) ** 2, axis=1)))
    return belief.scores * float(1 / np.sqrt(1 + np.pi * variance / 8))
