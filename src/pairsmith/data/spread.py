"""Mean and standard deviation of columns whose numbers may be very large, very small or very close to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairsmith.data.arrays import MAX_EXACT_INT, Bools, Floats

_ROUNDING = 1e-14  # fractions whose deviation is below this fraction of their size differ only by rounding
_CLOSE = 1e-6  # columns whose deviation is below this fraction of their size are centred before they are averaged
_SMALL, _LARGE = 1e-100, 1e100  # columns of numbers beyond these are scaled towards 1 before they are squared


class Spread(NamedTuple):
    """The mean and standard deviation of each column, and whether it varies."""

    mean: Floats
    deviation: Floats
    varies: Bools  # by more than rounding


def spread_of(X: Floats) -> Spread:
    """Return the mean and the standard deviation of each column, and whether it varies by more than rounding.

    Whole numbers below 2^53 are exact, so a column of them varies even if they are as close as 1e15 and 1e15 + 1.
    """
    size = np.abs(X).max(axis=0, initial=0.0)
    far = (size > _LARGE) | ((size > 0) & (size < _SMALL))
    unit = np.where(far, np.exp2(np.floor(np.log2(np.where(far, size, 1.0)))), 1.0)  # powers of 2
    scaled = X / unit if far.any() else X  # exact, because the units are powers of 2
    mean, deviation = scaled.mean(axis=0), scaled.std(axis=0)
    for column in np.flatnonzero(deviation <= _CLOSE * size / unit):
        offsets = scaled[:, column] - scaled[0, column]  # exact, as the numbers are close
        mean[column], deviation[column] = scaled[0, column] + offsets.mean(), offsets.std()
    mean, deviation = unit * mean, unit * deviation
    varies = deviation > _ROUNDING * size
    for column in np.flatnonzero(~varies & (deviation > 0) & (size <= MAX_EXACT_INT)):
        varies[column] = np.all(X[:, column] == np.rint(X[:, column]))
    return Spread(mean, deviation, varies)
