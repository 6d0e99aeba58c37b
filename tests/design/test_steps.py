import numpy as np
import pytest

from pairsmith.data.candidates import AllPairs, PairList, WithinGroups, remaining_pairs
from pairsmith.design.steps import best_pair_finder

N = 14
GAINS = np.random.default_rng(0).integers(5, size=(N, N)).astype(float)  # many gains are equal


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("pairs_per_block", [1, 7, 1000])
@pytest.mark.parametrize(
    "candidates",
    [AllPairs(), WithinGroups(np.arange(N) % 3), PairList([(3, 9), (1, 2), (0, 13), (2, 9), (5, 6)])],
    ids=["all", "groups", "list"],
)
def test_the_best_pair_has_the_largest_gain_and_is_the_smallest_among_equals(candidates, pairs_per_block, threads):
    remaining = remaining_pairs(candidates, N, np.array([(0, 3), (1, 2)]), 2)
    rows = remaining.rows

    def gains(low, high, _out):
        i, j = rows.pairs(np.arange(rows.start[low], rows.start[high])).T
        return GAINS[i, j]

    open_pairs = {tuple(pair) for pair in rows.pairs(np.arange(len(rows))).tolist()} - {(0, 3), (1, 2)}
    picks = np.zeros(N, dtype=int)
    with best_pair_finder(remaining, threads, pairs_per_block) as find_best:
        while True:
            allowed = [pair for pair in open_pairs if picks[pair[0]] < 2 and picks[pair[1]] < 2]
            i, j, value = find_best(gains)
            if not allowed:
                assert (i, j, value) == (-1, -1, -np.inf)
                return
            largest = max(GAINS[pair] for pair in allowed)
            assert (value, (i, j)) == (largest, min(pair for pair in allowed if GAINS[pair] == largest))
            remaining.take(i, j)
            open_pairs.remove((i, j))
            picks[[i, j]] += 1
