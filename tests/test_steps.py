import numpy as np
import pytest

from pairsmith.data.candidates import AllPairs, PairList, WithinGroups, remaining_pairs
from pairsmith.design.steps import best_pair

N = 14
VALUES = np.random.default_rng(0).integers(5, size=(N, N)).astype(float)  # many are equal


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("at_once", [1, 7, 1000])
@pytest.mark.parametrize(
    "candidates",
    [AllPairs(), WithinGroups(np.arange(N) % 3), PairList([(3, 9), (1, 2), (0, 13), (2, 9), (5, 6)])],
    ids=["all", "groups", "list"],
)
def test_the_largest_remaining_is_found_and_of_equals_the_smallest_pair(candidates, at_once, threads):
    remaining = remaining_pairs(candidates, N, np.array([(0, 3), (1, 2)]), 2)
    rows = remaining.rows

    def gains(low, high, _out):
        i, j = rows.pairs(np.arange(rows.start[low], rows.start[high])).T
        return VALUES[i, j]

    left = {tuple(pair) for pair in rows.pairs(np.arange(len(rows))).tolist()} - {(0, 3), (1, 2)}
    often = np.zeros(N, dtype=int)
    with best_pair(remaining, threads, at_once) as best:
        while True:
            allowed = [pair for pair in left if often[pair[0]] < 2 and often[pair[1]] < 2]
            i, j, value = best(gains)
            if not allowed:
                assert (i, j, value) == (-1, -1, -np.inf)
                return
            largest = max(VALUES[pair] for pair in allowed)
            assert (value, (i, j)) == (largest, min(pair for pair in allowed if VALUES[pair] == largest))
            remaining.take(i, j)
            left.remove((i, j))
            often[[i, j]] += 1
