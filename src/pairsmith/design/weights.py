"""What an answer weighs under a model: its variance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from pairsmith.data.arrays import Floats


def logistic_weight(score: Any) -> Floats:
    """p (1 - p), p = 1 / (1 + exp(-score)): the variance of an answer, at most 1/4."""
    return np.asarray(expit(score) * expit(-score))
