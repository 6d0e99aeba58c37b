"""The memory that a search may use. A problem that needs more is refused before any work."""

from __future__ import annotations

import warnings

import numpy as np

from pairsmith.criteria import Criterion
from pairsmith.criteria.problem import Problem
from pairsmith.data.features import MAX_COPIED_BYTES
from pairsmith.data.memory import available_memory
from pairsmith.paper.greedy import ALGORITHMS

_MAX_PAIRS_UNCHECKED = 10_000_000  # with fewer pairs, the engine stays far below _ASSUMED_MEMORY
_ENGINE_BYTES_PER_ENTRY = 32  # of X, roughly: the engine's whitened items and their copies
_ASSUMED_MEMORY = 1 << 31  # bytes assumed to be free for a small problem, since asking the system takes a while
_MAX_TOUCHED_WITHOUT_WARNING = 20_000  # items with effects that are partly known
_SEARCH_SHARE = 0.5  # of the free memory; the rest is for buffers that the search does not count, and other processes


def memory_for(problem: Problem, criterion: Criterion, algorithm: str) -> int:
    """Return how many bytes a search may use. Refuse a problem that would not fit into memory."""
    n, d = problem.features.shape
    pairs = len(problem.rows)
    is_small = pairs <= _MAX_PAIRS_UNCHECKED and n * d * _ENGINE_BYTES_PER_ENTRY <= MAX_COPIED_BYTES
    available = _ASSUMED_MEMORY if is_small and algorithm == "engine" else available_memory()
    kind, instead, needed = "objective", "objective='local-d-optimal'", criterion.bytes_per_pair * pairs
    if algorithm in ALGORITHMS:
        chosen = ALGORITHMS[algorithm]
        kind, instead = "algorithm", "algorithm='engine'"
        needed = chosen.bytes_per_pair * pairs + chosen.bytes_per_item_and_step * n * problem.k
    if needed > available:
        raise ValueError(
            f"{kind}={algorithm!r} needs {needed / 1e9:.0f} GB for {pairs:,} pairs, but {available / 1e9:.0f} GB are"
            f" available; use {instead}, which keeps only the best pairs in memory"
        )
    return int(_SEARCH_SHARE * available)


def check_effects_fit(problem: Problem, memory: int, scans_all_pairs: bool) -> None:
    """Warn if the effects of the touched items need much memory; refuse them if they do not fit.

    `scans_all_pairs` says that the criterion looks at all pairs, as all but "order" do, and not at a sample of items.
    """
    rows = problem.rows
    items_with_pairs = int(np.sum(rows.degrees() > 0))
    touched = min(items_with_pairs, problem.touched + 2 * problem.k)
    size, pairs = 8 * touched**2, len(rows) / items_with_pairs**2 * touched**2
    cost = f"the effects of {touched:,} items that are or will be compared take {size / 1e9:.0f} GB"
    if scans_all_pairs:
        cost += f", and every scan computes {pairs:.1g} pairs of them in float64"
    less = "candidates=ps.Among(a random sample of the items) takes less"
    if size > memory:
        raise ValueError(f"{cost}; {memory / 1e9:.0f} GB may be used; {less}, or ask for fewer pairs")
    if touched > _MAX_TOUCHED_WITHOUT_WARNING:
        about_sample = ", and a certificate is then about that sample" if scans_all_pairs else ""
        warnings.warn(f"{cost}; {less}{about_sample}", stacklevel=3)
