"""The problem that the arguments of select() state. test_select.py has the arguments that are refused."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.data.features import from_array
from pairsmith.selection.problem import as_problem
from pairsmith.selection.start import StartingPoint
from support.oracle import all_pairs, allowed_pairs, pairs_within

START = StartingPoint(from_array(np.random.default_rng(0).standard_normal((10, 3))))


def enumerate_pairs(remaining):
    numbers = np.setdiff1d(np.arange(len(remaining.rows)), remaining.taken)
    return [tuple(pair) for pair in remaining.rows.pairs(numbers).tolist()]


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        (None, all_pairs(10)),
        (ps.AllPairs(), all_pairs(10)),
        (ps.WithinGroups(np.arange(10) % 2), pairs_within(np.arange(10) % 2)),
        ([(3, 1), (1, 3), (4, 9), (0, 1)], [(0, 1), (1, 3), (4, 9)]),
        (ps.PairList([(3, 1), (4, 9)]), [(1, 3), (4, 9)]),
    ],
)
def test_candidates_that_were_not_compared_may_be_picked(candidates, expected):
    compared = [(1, 0), (3, 1), (3, 1), (2, 5)]
    problem = as_problem(START, 1, candidates=candidates, comparisons=compared)
    assert enumerate_pairs(problem.remaining()) == allowed_pairs(expected, compared, [], None)
    assert problem.remaining().max_picks() == len(enumerate_pairs(problem.remaining()))
    assert problem.compared.tolist() == [[0, 1], [1, 3], [1, 3], [2, 5]]
    assert problem.comparisons.tolist() == [[1, 0], [3, 1], [3, 1], [2, 5]]  # outcomes refer to this order


@pytest.mark.parametrize("cap", [1, 2, 3, 100, 2**70])
def test_the_bound_on_the_picks_respects_the_cap(cap):
    """In a star, the middle is in every pair, so a cap of c allows at most c pairs; the bound may be larger."""
    star = [(0, j) for j in range(1, 10)]
    problem = as_problem(START, 1, candidates=star, max_per_item=cap)
    assert problem.remaining().max_picks() >= min(cap, 9)
    everything = as_problem(START, 1, max_per_item=cap).remaining().max_picks()
    assert everything == min(10 * min(cap, 9) // 2, 45)
