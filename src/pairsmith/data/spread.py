"""Mean and standard deviation of columns whose numbers may be very large, very small, or very close to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairsmith.data.arrays import EXACT, Bools, Floats

_ROUNDING = 1e-14  # a column of fractions that spreads over less than this share of its size varies by rounding only
_CLOSE = 1e-6  # columns that spread over less than this share of their size are centred before they are averaged
_SMALL, _LARGE = 1e-100, 1e100  # numbers beyond these are brought nearer to 1 before they are squared


class Spread(NamedTuple):
    """Of each column."""

    mean: Floats
    deviation: Floats  # standard deviation
    varies: Bools  # by more than rounding


def spread_of(X: Floats) -> Spread:
    """Return the mean and the standard deviation of each column, and whether it varies by more than rounding.

    Whole numbers below 2^53 are exact, so a column of them varies however close they are: 1e15, 1e15 + 1.
    """
    size = np.abs(X).max(axis=0, initial=0.0)
    far = (size > _LARGE) | ((size > 0) & (size < _SMALL))
    unit = np.where(far, np.exp2(np.floor(np.log2(np.where(far, size, 1.0)))), 1.0)  # dividing by it is exact
    within = X / unit if far.any() else X
    mean, deviation = within.mean(axis=0), within.std(axis=0)
    for at in np.flatnonzero(deviation <= _CLOSE * size / unit):
        apart = within[:, at] - within[0, at]  # exact, as the numbers are close
        mean[at], deviation[at] = within[0, at] + apart.mean(), apart.std()
    mean, deviation = unit * mean, unit * deviation
    varies = deviation > _ROUNDING * size
    for at in np.flatnonzero(~varies & (deviation > 0) & (size <= EXACT)):
        varies[at] = np.all(X[:, at] == np.rint(X[:, at]))
    return Spread(mean, deviation, varies)
