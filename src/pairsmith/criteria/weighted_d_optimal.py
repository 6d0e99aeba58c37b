"""Local and averaged D-optimality: the weight of an answer is p (1 - p) under a model.

Each function returns scores s, from which the design computes the weights w_ij = p (1 - p), with
p = 1 / (1 + exp(s_j - s_i)). An answer that is almost certain beforehand says little about the coefficients, and an
open one says most.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from pairsmith.criteria.problem import MAX_ITEMS_ON_ONE_THREAD, ModelEstimate
from pairsmith.data.arrays import Floats
from pairsmith.data.features import Features, ShiftedFeatures, evenly_spaced_rows
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.weights import AveragedWeights


def local(features: Features, estimate: ModelEstimate) -> Floats:
    """Return the mean scores: the information at the model's estimate, as if the estimate were the truth."""
    return estimate.scores


def averaged(features: Features, estimate: ModelEstimate) -> Floats | AveragedWeights:
    """Return scores shrunk so that p is roughly its average over the model's uncertainty: s / sqrt(1 + pi v / 8).

    This is MacKay's approximation, where v is the variance of the difference of two scores under the model, for a
    random pair of items. With one v for all pairs, the weights remain a function of the scores. Under a Gaussian
    process v varies more between pairs, so each pair has its own (`design.weights.AveragedWeights`).
    """
    if estimate.prior is not None:
        effects, points = estimate.prior.effects(features.shape[0]), features
        if effects is not None:
            points = ShiftedFeatures(features, effects.place, effects.shift)
        centred = points.rows(slice(None)) - np.median(evenly_spaced_rows(features, 1001), axis=0)
        with single_threaded_blas() if len(centred) <= MAX_ITEMS_ON_ONE_THREAD else nullcontext():
            return AveragedWeights(estimate.scores, centred @ estimate.covariance_root, effects)
    some = evenly_spaced_rows(features, 5000) @ estimate.covariance_root
    variance = 2 * float(np.mean(np.sum((some - some.mean(axis=0)) ** 2, axis=1)))
    return estimate.scores * float(1 / np.sqrt(1 + np.pi * variance / 8))
