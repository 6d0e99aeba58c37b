"""What every algorithm and criterion yields, and the exhaustive search for the best remaining pair."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Remaining
from pairsmith.design import kernels

PAIRS_AT_ONCE = 1 << 17  # that one thread treats, unless a caller knows better


class Step(NamedTuple):
    """A pick: the pair i < j, what it added to its objective, and log det of the information after it."""

    i: int
    j: int
    gain: float
    logdet: float


Steps = Generator[Step]

# The gains of the pairs of the rows low to high - 1. They may be written into the array given, or be kept elsewhere.
Gains = Callable[[int, int, Floats], Floats]
Best = Callable[[Gains], tuple[int, int, float]]


@contextmanager
def best_pair(remaining: Remaining, threads: int, pairs_at_once: int = PAIRS_AT_ONCE) -> Iterator[Best]:
    """A function that finds the remaining pair of largest gain, the smallest of equals; (-1, -1, -inf) if none."""
    rows = remaining.rows
    arrays = rows.partner, rows.first, rows.count, rows.start
    blocks = rows.blocks(pairs_at_once)
    largest_block = max(int(rows.start[high] - rows.start[low]) for low, high in blocks)
    pool = ThreadPoolExecutor(threads)

    def best(gains: Gains) -> tuple[int, int, float]:
        taken = remaining.taken

        def work(block: tuple[int, int]) -> tuple[float, int]:
            found = gains(*block, np.empty(largest_block))
            largest, number = kernels.best(found, *arrays, *block, remaining.full, taken)
            return largest, -number  # so that the maximum is the smaller number among equals

        largest, number = max((pool.map if threads > 1 and len(blocks) > 1 else map)(work, blocks))
        if number > 0 or largest == -np.inf:
            return -1, -1, -np.inf
        i, j = rows.pairs(np.array([-number]))[0].tolist()
        return i, j, float(largest)

    try:
        yield best
    finally:
        pool.shutdown(cancel_futures=True)
