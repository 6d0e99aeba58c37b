"""Pairs by chance: what every design is compared with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pairsmith.criteria.work import Work
from pairsmith.data.candidates import Remaining
from pairsmith.design.steps import Step, Steps


def steps(work: Work, k: int) -> Steps:
    """Pairs uniformly at random from the remaining candidates (Sec. 6.1, "Ran"). The gain is that of log det."""
    for i, j in draw(work.remaining, work.rng):
        gain, _ = work.design.add(i, j)
        yield Step(i, j, gain, work.design.logdet)


def draw(remaining: Remaining, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Pairs uniformly at random from what remains, which is not enumerated; each is taken before it is given.

    Draws pair numbers and rejects what is gone. Where that would reject too often, the candidates are narrowed to
    items with room, which is O(N), or, once few are left, listed.
    """
    rows = remaining.rows
    listed = False
    while not listed:
        listed = len(rows) <= 4 * len(remaining.taken) + 1000
        numbers = rng.permutation(len(rows)) if listed else rng.integers(len(rows), size=1000)
        accepted = set()
        pairs = rows.pairs(numbers)
        for i, j in pairs[~remaining.are_taken(pairs)].tolist():
            if (i, j) not in accepted and not (remaining.full[i] or remaining.full[j]):
                remaining.take(i, j)
                accepted.add((i, j))
                yield i, j
        if len(accepted) < len(numbers) / 2:
            rows = rows.among(~remaining.full)
