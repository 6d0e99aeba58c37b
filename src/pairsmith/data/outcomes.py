"""Outcomes of comparisons: +1 where the first item was preferred, -1 where the second was, 0 for a tie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats, refuse_masked

WORDS = {"first": 1.0, "second": -1.0, "tie": 0.0}
_MEANING = "outcomes must be +1 (first preferred), -1 (second) or 0 (tie), or the words first, second and tie"


def as_outcomes(outcomes: npt.ArrayLike, count: int) -> Floats:
    """Return the outcomes of `count` comparisons as +1, -1 or 0.

    Numbers with 0 and 1 but no -1 are refused, because 0 would count as a tie although it most likely means a loss.
    """
    refuse_masked(outcomes, "outcomes")
    are_words = False
    try:
        array: npt.NDArray[Any] = np.asarray(outcomes)
        if array.dtype.kind == "b":
            raise ValueError
        are_words = isinstance(array.flat[0], str) if array.size else False
        wins = _from_words(array) if are_words else array.astype(np.float64)
    except (TypeError, KeyError, ValueError):
        raise ValueError(f"{_MEANING}; convert true and false by numpy.where(outcomes, 1, -1)") from None
    if wins.shape != (count,):
        raise ValueError(f"outcomes has shape {wins.shape} for {count} comparisons; give one for each")
    wrong = ~np.isin(wins, (-1.0, 0.0, 1.0))
    if wrong.any():
        raise ValueError(f"{_MEANING}; number {int(np.argmax(wrong))} is {wins[wrong][0]:g}")
    if not are_words and lacks_losses(wins):
        raise ValueError(
            "outcomes hold 0 and 1 but no -1, and 0 means a tie; use 2 * outcomes - 1 if 0 means that the second was"
            " preferred, or the words 'first', 'second' and 'tie' if these are ties"
        )
    return wins


def lacks_losses(wins: Floats) -> bool:
    """Return whether there are ties and wins of the first item but no losses, which suggests that 0 means a loss."""
    return bool(np.any(wins == 0) and np.any(wins > 0) and not np.any(wins < 0))


def as_words(wins: Floats) -> npt.NDArray[np.str_]:
    """Return checked outcomes as words, which `as_outcomes` accepts even without losses."""
    return np.array(["second", "tie", "first"])[wins.astype(np.int64) + 1]


def _from_words(outcomes: npt.NDArray[Any]) -> Floats:
    words, place = np.unique(outcomes.astype(str), return_inverse=True)
    numbers: Floats = np.array([WORDS[word] for word in words.tolist()])[place].reshape(outcomes.shape)
    return numbers
