"""Outcomes of comparisons: +1 where the first item was preferred, -1 where the second was, 0 for a tie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats, refuse_masked

WORDS = {"first": 1.0, "second": -1.0, "tie": 0.0}
_MEANING = "outcomes must be +1 (first preferred), -1 (second) or 0 (tie), or the words first, second and tie"


def as_outcomes(outcomes: npt.ArrayLike, count: int) -> Floats:
    """Return the outcomes of so many comparisons as +1, -1 or 0.

    Numbers with 0 and 1 but without -1 are refused: most likely 0 is meant as a loss, and would count as a tie.
    """
    refuse_masked(outcomes, "outcomes")
    spoken = False
    try:
        given: npt.NDArray[Any] = np.asarray(outcomes)
        if given.dtype.kind == "b":
            raise ValueError
        spoken = isinstance(given.flat[0], str) if given.size else False
        wins = _of_words(given) if spoken else given.astype(np.float64)
    except (TypeError, KeyError, ValueError):
        raise ValueError(f"{_MEANING}; of true and false make numpy.where(outcomes, 1, -1)") from None
    if wins.shape != (count,):
        raise ValueError(f"outcomes has shape {wins.shape} for {count} comparisons; give one for each")
    wrong = ~np.isin(wins, (-1.0, 0.0, 1.0))
    if wrong.any():
        raise ValueError(f"{_MEANING}; number {int(np.argmax(wrong))} is {wins[wrong][0]:g}")
    if not spoken and lacks_losses(wins):
        raise ValueError(
            "outcomes hold 0 and 1 but no -1, and 0 means a tie; use 2 * outcomes - 1 if 0 means that the second was"
            " preferred, or the words 'first', 'second' and 'tie' if these are ties"
        )
    return wins


def lacks_losses(wins: Floats) -> bool:
    """Whether there are ties and wins of the first, but none of the second, as where 0 is meant as a loss."""
    return bool(np.any(wins == 0) and np.any(wins > 0) and not np.any(wins < 0))


def as_words(wins: Floats) -> npt.NDArray[np.str_]:
    """Return outcomes that were checked already as words, which `as_outcomes` takes for what they say."""
    return np.array(["second", "tie", "first"])[wins.astype(np.int64) + 1]


def _of_words(given: npt.NDArray[Any]) -> Floats:
    words, place = np.unique(given.astype(str), return_inverse=True)
    numbers: Floats = np.array([WORDS[word] for word in words.tolist()])[place].reshape(given.shape)
    return numbers
