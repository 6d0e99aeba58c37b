"""The ridge of a model where nobody chose one: how far apart scores may be expected to lie before any answer."""

from __future__ import annotations

import numpy as np

from pairsmith.data.features import Features, some_rows


def usual_ridge(features: Features) -> float:
    """The ridge under which scores have a standard deviation of 2 before any answer.

    The penalty ridge |beta|^2 is that of beta ~ N(0, I / (2 ridge)), so that the score of an item at x from the mean
    has the variance |x|^2 / (2 ridge); it is 4 for the mean of |x|^2.
    """
    some = some_rows(features, 5000)
    spread = float(np.mean(np.sum((some - some.mean(axis=0)) ** 2, axis=1)))
    return spread / 8 if spread > 0 else 1.0
