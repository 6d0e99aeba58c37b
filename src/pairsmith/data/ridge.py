"""The ridge: the lambda of the information matrix, chosen by default and checked against the scale of X."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats
from pairsmith.data.errors import ArgumentError
from pairsmith.data.features import Features


def as_ridge(ridge: float | str, features: Features, bounds: tuple[Floats, Floats]) -> float:
    """Return the ridge as a number, after checking that float64 can work with it at the scale of X.

    `bounds` are the largest and smallest number of each column.
    """
    high, low = bounds
    largest = float(max(high.max(), -low.min()))
    if largest > 1e152 or 0 < largest < 1e-152:
        raise ValueError(f"X has a largest entry of {largest:.1e}, whose square float64 cannot hold; rescale X")
    if isinstance(ridge, str):
        if ridge != "auto":
            raise ArgumentError("ridge", f" must be a positive number or 'auto', got {ridge!r}")
        if largest == 0:
            raise ArgumentError(
                "ridge", "='auto' is 1e-5 times the mean norm of X, which is 0 here; give a positive number"
            )
        total = float(sum(features.apply_to_blocks(partial(_norms, largest))))
        lam = 1e-5 * largest * total / features.shape[0]
    else:
        try:
            if isinstance(ridge, bool | np.bool_):
                raise TypeError
            lam = float(ridge)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("ridge", f" must be a positive number or 'auto', got {ridge!r}") from None
        if not (np.isfinite(lam) and lam > 0):
            raise ArgumentError("ridge", f" must be a positive number, got {ridge!r}")
    # The largest gain is about spread^2 / ridge. It must neither overflow nor vanish.
    spread = float((high - low).max())
    if spread > 0:
        exponent = 2 * np.log10(spread) - np.log10(lam)
        if exponent + np.log10(features.shape[1]) > 300 or exponent < -290:
            raise ArgumentError(
                "ridge", f"={lam:.1e} is out of proportion to features that spread over {spread:.1e}; rescale X"
            )
    return lam


def _norms(unit: float, _low: int, block: npt.NDArray[Any]) -> float:
    return float(np.linalg.norm(block / np.float64(unit), axis=1).sum())
