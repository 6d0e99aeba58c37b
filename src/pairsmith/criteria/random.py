"""Pairs by chance: what every design is compared with."""

from __future__ import annotations

from pairsmith.criteria.work import Work
from pairsmith.design.steps import Step, Steps


def steps(work: Work, k: int) -> Steps:
    """Pairs uniformly at random from the remaining candidates, which are not enumerated (Sec. 6.1, "Ran").

    Draws pair numbers and rejects what is gone. Where that would reject too often, the candidates are narrowed to
    items with room, which is O(N), or, once few are left, listed. The gain is that of log det.
    """
    design, remaining, rng = work.design, work.remaining, work.rng
    rows = remaining.rows
    listed = False
    while not listed:
        listed = len(rows) <= 4 * len(remaining.taken) + 1000
        numbers = rng.permutation(len(rows)) if listed else rng.integers(len(rows), size=1000)
        accepted = 0
        for i, j in rows.pairs(numbers).tolist():
            if remaining.allows(i, j):
                gain, _ = design.add(i, j)
                remaining.take(i, j)
                accepted += 1
                yield Step(i, j, gain, design.logdet)
        if accepted < len(numbers) / 2:
            rows = rows.among(~remaining.full)
