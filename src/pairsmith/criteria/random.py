"""Random pairs, the baseline for every design."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pairsmith.criteria.problem import Run
from pairsmith.data.candidates import Remaining
from pairsmith.design.steps import Step, Steps


def steps(run: Run, k: int) -> Steps:
    """Pick uniformly at random among the remaining candidates (Sec. 6.1, "Ran"). The gain is that in log det."""
    for i, j in draw(run.remaining, run.rng):
        gain, _ = run.design.add(i, j)
        yield Step(i, j, gain, run.design.logdet)


def draw(remaining: Remaining, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Take remaining pairs uniformly at random, without enumerating them, and yield each one after it is taken.

    Pair numbers are drawn, and pairs that are gone are rejected. If that rejects too many, the candidates are narrowed
    to items below the exposure cap, in O(N). Once few candidates are left, they are enumerated.
    """
    rows = remaining.rows
    enumerated = False
    while not enumerated:
        enumerated = len(rows) <= 4 * len(remaining.taken) + 1000
        numbers = rng.permutation(len(rows)) if enumerated else rng.integers(len(rows), size=1000)
        accepted = set()
        pairs = rows.pairs(numbers)
        for i, j in pairs[~remaining.are_taken(pairs)].tolist():
            if (i, j) not in accepted and not (remaining.full[i] or remaining.full[j]):
                remaining.take(i, j)
                accepted.add((i, j))
                yield i, j
        if len(accepted) < len(numbers) / 2:
            rows = rows.among(~remaining.full)
