"""The steps that every algorithm and criterion yields, and the exhaustive search for the best remaining pair."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Remaining
from pairsmith.design import kernels

PAIRS_AT_ONCE = 1 << 17  # pairs per block: each block is one task of a thread


class Step(NamedTuple):
    """A pick: the pair i < j, its gain in the objective, and log det of the information matrix after it."""

    i: int
    j: int
    gain: float
    logdet: float


Steps = Generator[Step]

# gains(low, high, out) returns the gains of the pairs in rows low to high - 1. It may write them into `out`.
Gains = Callable[[int, int, Floats], Floats]
FindBest = Callable[[Gains], tuple[int, int, float]]


@contextmanager
def best_pair_finder(remaining: Remaining, threads: int, pairs_at_once: int = PAIRS_AT_ONCE) -> Iterator[FindBest]:
    """Provide a function that returns the remaining pair of largest gain, and that gain.

    Among equal gains it returns the smallest pair, and (-1, -1, -inf) if no pair remains.
    """
    rows = remaining.rows
    arrays = rows.partner, rows.first, rows.count, rows.start
    blocks = rows.blocks(pairs_at_once)
    largest_block = max(int(rows.start[high] - rows.start[low]) for low, high in blocks)
    pool = ThreadPoolExecutor(threads)

    def find_best(gains: Gains) -> tuple[int, int, float]:
        taken = remaining.taken

        def best_of_block(block: tuple[int, int]) -> tuple[float, int]:
            block_gains = gains(*block, np.empty(largest_block))
            largest, number = kernels.largest_gain(block_gains, *arrays, *block, remaining.full, taken)
            return largest, -number  # so that max() takes the smaller number among equal gains

        largest, number = max((pool.map if threads > 1 and len(blocks) > 1 else map)(best_of_block, blocks))
        if number > 0 or largest == -np.inf:
            return -1, -1, -np.inf
        i, j = rows.pairs(np.array([-number]))[0].tolist()
        return i, j, float(largest)

    try:
        yield find_best
    finally:
        pool.shutdown(cancel_futures=True)
