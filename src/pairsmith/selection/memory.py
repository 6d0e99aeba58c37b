"""What a search may use of the memory, and what it would take: said, or refused, before any work."""

from __future__ import annotations

import warnings

import numpy as np

from pairsmith.criteria import Criterion
from pairsmith.criteria.problem import Problem
from pairsmith.data.features import COMFORTABLE
from pairsmith.data.memory import available_memory
from pairsmith.paper.greedy import ALGORITHMS

_FEW_PAIRS = 10_000_000  # up to so many, the engine stays far below _ENOUGH
_BYTES_PER_FEATURE = 32  # that the engine takes for each entry of X, roughly: its whitened forms and their copies
_ENOUGH = 1 << 31  # bytes that are taken to be free where the problem is small: asking the system takes a while
_MANY_TOUCHED = 20_000  # items with effects of which something is known: more are worth a warning
_SHARE = 0.5  # of the memory that is free, for the search; the rest: buffers it does not count, other processes


def memory_for(problem: Problem, criterion: Criterion, algorithm: str) -> int:
    """Bytes that a search may use; what would not fit is refused before any work."""
    n, d = problem.features.shape
    pairs = len(problem.rows)
    small = pairs <= _FEW_PAIRS and n * d * _BYTES_PER_FEATURE <= COMFORTABLE
    available = _ENOUGH if small and algorithm == "engine" else available_memory()
    kind, instead, needed = "objective", "objective='local-d-optimal'", criterion.bytes_per_pair * pairs
    if algorithm in ALGORITHMS:
        chosen = ALGORITHMS[algorithm]
        kind, instead = "algorithm", "algorithm='engine'"
        needed = chosen.bytes_per_pair * pairs + chosen.bytes_per_item_and_step * n * problem.k
    if needed > available:
        raise ValueError(
            f"{kind}={algorithm!r} needs {needed / 1e9:.0f} GB for {pairs:,} pairs, and {available / 1e9:.0f} GB are"
            f" available; use {instead}, which keeps only what matters"
        )
    return int(_SHARE * available)


def tell_cost(problem: Problem, memory: int, scanned: bool) -> None:
    """What effects of many items take is said before any work, and refused where there is no memory for it.

    `scanned` says that all pairs are looked at, and not those of a sample of the items as by "order".
    """
    rows = problem.rows
    concerned = int(np.sum(rows.degrees() > 0))
    touched = min(concerned, problem.touched + 2 * problem.k)
    size, pairs = 8 * touched**2, len(rows) / concerned**2 * touched**2
    told = f"the effects of {touched:,} items that are or will be compared take {size / 1e9:.0f} GB"
    if scanned:
        told += f", and every scan looks at {pairs:.1g} pairs of them in float64"
    less = "candidates=ps.Among(a random sample of the items) takes less"
    if size > memory:
        raise ValueError(f"{told}; {memory / 1e9:.0f} GB may be used; {less}, or ask for fewer pairs")
    if touched > _MANY_TOUCHED:
        of_sample = ", and a certificate then speaks of that sample" if scanned else ""
        warnings.warn(f"{told}; {less}{of_sample}", stacklevel=3)
