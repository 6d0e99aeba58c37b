"""Problem: the arguments of select(), checked; what they come to. What is refused, and how, is in test_selection.py."""

import dataclasses

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.criteria.problem import as_problem
from pairsmith.data.features import from_array
from support.oracle import all_pairs, allowed_pairs, logdet, pairs_within

X = np.random.default_rng(0).standard_normal((10, 3))
FEATURES = from_array(X)


def listed(remaining):
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
def test_what_may_be_picked_is_what_was_not_compared(candidates, expected):
    compared = [(1, 0), (3, 1), (3, 1), (2, 5)]
    problem = as_problem(FEATURES, 1, candidates=candidates, comparisons=compared)
    assert listed(problem.remaining()) == allowed_pairs(expected, compared, [], None)
    assert problem.remaining().at_most() == len(listed(problem.remaining()))
    assert problem.compared.tolist() == [[0, 1], [1, 3], [1, 3], [2, 5]]
    assert problem.comparisons.tolist() == [[1, 0], [3, 1], [3, 1], [2, 5]]  # as outcomes have them


def test_picks_leave_the_problem_as_it_was():
    problem = as_problem(FEATURES, 3, max_per_item=1)
    remaining = problem.remaining()
    remaining.take(0, 1)
    assert not remaining.allows(0, 2)
    assert problem.remaining().allows(0, 1)
    uncapped = problem.uncapped()
    uncapped.take(0, 1)
    assert uncapped.allows(0, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.k = 4


@pytest.mark.parametrize("cap", [1, 2, 3, 100, 2**70])
def test_no_more_than_a_cap_allows_is_asked_for(cap):
    """A star: its middle is in every pair, so a cap of c allows c pairs at most, and the bound may be larger."""
    star = [(0, j) for j in range(1, 10)]
    problem = as_problem(FEATURES, 1, candidates=star, max_per_item=cap)
    assert problem.remaining().at_most() >= min(cap, 9)
    everything = as_problem(FEATURES, 1, max_per_item=cap).remaining().at_most()
    assert everything == min(10 * min(cap, 9) // 2, 45)


def test_the_design_holds_what_is_known():
    problem = as_problem(FEATURES, 1, labeled=[1, 1, 4], comparisons=[(3, 2)], ridge=0.3)
    assert problem.design(None).logdet == pytest.approx(logdet(X, 0.3, [1, 1, 4], [(2, 3)]))
    scores = X @ [1.0, -2.0, 0.5]
    p = 1 / (1 + np.exp(-np.array([*scores[[1, 1, 4]], scores[3] - scores[2]])))
    rows = np.vstack([X[[1, 1, 4]], X[3] - X[2]]) * np.sqrt(p * (1 - p))[:, None]
    assert problem.design(scores).logdet == pytest.approx(np.linalg.slogdet(0.3 * np.eye(3) + rows.T @ rows)[1])


def test_items_outside_a_list_do_not_count_for_its_extent():
    far = X.copy()
    far[9] = 1e12
    problem = as_problem(from_array(far), 1, candidates=[(0, 1), (2, 3)])
    np.testing.assert_allclose(problem.design(None).extent, np.ptp(X[:4], axis=0))


def test_a_fingerprint_is_of_what_decides_the_picks():
    def fingerprint(features=FEATURES, objective="d-optimal", scores=None, **options):
        return as_problem(features, 3, **{"ridge": 1.0, **options}).fingerprint(objective, scores)

    plain = fingerprint(labeled=[1, 2], comparisons=[(0, 1), (5, 3)])
    assert plain == fingerprint(labeled=[2, 1], comparisons=[(3, 5), (1, 0)])  # in any order
    assert plain["max_per_item"] is None
    known = {"labeled": [1, 2], "comparisons": [(0, 1), (5, 3)]}
    for changed in (
        {"features": from_array(X + 1), **known},
        {"objective": "a-optimal", **known},
        {"scores": X[:, 0], **known},
        {"ridge": 2.0, **known},
        {"max_per_item": 3, **known},
        {"candidates": all_pairs(9), **known},
        {**known, "labeled": [1, 2, 2]},
        {**known, "comparisons": [(0, 1)]},
    ):
        assert fingerprint(**changed) != plain, changed
