from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pairsmith as ps
from pairsmith.paper.greedy import ALGORITHMS
from support.oracle import all_pairs, assert_exactly_greedy, assert_greedy, logdet, pairs_within

every_algorithm = pytest.mark.parametrize("algorithm", [*ALGORITHMS, "engine"])


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


# for each name: the features, the candidates for select, and the list of the candidate pairs
CASES = {
    "gaussian": (gaussian(12, 4), None, all_pairs(12)),
    "one feature": (gaussian(10, 1), None, all_pairs(10)),
    "more features than items": (gaussian(6, 15), None, all_pairs(6)),
    "low rank": (gaussian(12, 2) @ gaussian(2, 6, 1), None, all_pairs(12)),
    "integers, many ties": (np.random.default_rng(3).integers(0, 2, (12, 3)).astype(float), None, all_pairs(12)),
    "duplicates, constant column": (np.column_stack([gaussian(5, 2).repeat(2, 0), np.ones(10)]), None, all_pairs(10)),
    "groups": (gaussian(14, 3), ps.WithinGroups([0, 1, 2, 0, 1, 2, 0, 1, 1, 1, 3, 0, 2, 2]), None),
    "list": (gaussian(9, 3), [[0, 1], [4, 2], [2, 4], [8, 0], [5, 6], [7, 3], [1, 8], [6, 0], [3, 2], [5, 1]], None),
}  # fmt: skip


def problem(name):
    X, candidates, pairs = CASES[name]
    if name == "groups":
        pairs = pairs_within(candidates.codes)
    elif name == "list":
        pairs = sorted({tuple(sorted(pair)) for pair in candidates})
    return X, candidates, pairs


@pytest.mark.slow
@every_algorithm
@pytest.mark.parametrize("case", CASES)
def test_every_pick_reaches_the_largest_gain(case, algorithm):
    X, candidates, pairs = problem(case)
    for ridge, labeled, compared, cap in [
        (0.1, [], [], None),
        (1e-4, [0, 1, 2], [], None),
        (1.0, [3], [pairs[0], pairs[-1], pairs[0][::-1]], None),
        (1e-2, [0], [pairs[3]], 2),
    ]:
        k = min(8, len(pairs) - 3) if cap is None else 4
        selection = ps.select(
            X, k, labeled=labeled, comparisons=compared, candidates=candidates, max_per_item=cap, ridge=ridge,
            algorithm=algorithm,
        )  # fmt: skip
        assert len(selection) == k
        assert_greedy(selection, X, pairs, ridge, labeled, compared, cap)


@every_algorithm
@settings(max_examples=15)
@given(data=st.data())
def test_picks_are_greedy_for_random_problems(algorithm, data):
    n = data.draw(st.integers(2, 9), "n")
    d = data.draw(st.integers(1, 5), "d")
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6), "seed"))
    X = (
        rng.integers(-2, 3, (n, d)).astype(float)
        if data.draw(st.booleans(), "integer")
        else rng.standard_normal((n, d))
    )
    kind = data.draw(st.sampled_from(["all", "groups", "list"]), "candidates")
    candidates, pairs = None, all_pairs(n)
    if kind == "groups":
        groups = rng.integers(0, 3, n)
        candidates, pairs = ps.WithinGroups(groups), pairs_within(groups)
    elif kind == "list":
        pairs = [pair for pair in pairs if rng.random() < 0.6]
        candidates = np.array(pairs)
    assume(pairs)
    labeled = rng.integers(0, n, data.draw(st.integers(0, 3), "labeled"))
    compared = [pair for pair in all_pairs(n) if rng.random() < 0.15]
    left = [pair for pair in pairs if pair not in compared]
    assume(left)
    k = data.draw(st.integers(1, len(left)), "k")
    ridge = 10.0 ** data.draw(st.integers(-4, 3), "log10 ridge")
    selection = ps.select(
        X, k, labeled=labeled, comparisons=compared, candidates=candidates, ridge=ridge, algorithm=algorithm
    )
    assert len(selection) == k
    assert_greedy(selection, X, pairs, ridge, labeled, compared)


def test_all_algorithms_pick_the_same_sequence():
    X = gaussian(60, 12, seed=5)
    done = [[0, 1], [5, 9]]
    for options in ({}, {"max_per_item": 3}, {"candidates": ps.WithinGroups(np.arange(60) % 4)}):
        runs = [
            ps.select(X, 70, labeled=range(4), comparisons=done, ridge=1e-4, algorithm=algorithm, **options)
            for algorithm in [*ALGORITHMS, "engine"]
        ]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.pairs, runs[0].pairs)
            np.testing.assert_allclose(run.logdet, runs[0].logdet, rtol=1e-12)


@every_algorithm
def test_among_equal_gains_the_smaller_pair_is_picked(algorithm):
    X = np.array([[0.0], [1.0], [0.0], [1.0], [1.0]])
    first = ps.select(X, 1, ridge=1.0, algorithm=algorithm).pairs[0]
    assert first.tolist() == [0, 1]
    # With powers of two the arithmetic is exact, so that equal gains are equal in floating point.
    X = np.eye(4)
    assert ps.select(X, 1, ridge=0.25, algorithm=algorithm).pairs.tolist() == [[0, 1]]
    assert ps.select(X, 1, ridge=0.25, comparisons=[[0, 1]], algorithm=algorithm).pairs.tolist() == [[2, 3]]


@pytest.mark.slow
@every_algorithm
def test_logdet_stays_accurate_past_the_dimension_with_a_small_ridge(algorithm):
    """Gains fall from 1e5 to 1 as k passes d, and log det still has nine digits at the end."""
    X = gaussian(80, 15, seed=7)
    selection = ps.select(X, 500, ridge=1e-4, algorithm=algorithm)
    assert selection.logdet[-1] == pytest.approx(logdet(X, 1e-4, pairs=selection.pairs), rel=1e-9)
    assert selection.gains[14] > 8
    assert selection.gains[15] < 3
    reference = ps.select(X, 500, ridge=1e-4, algorithm="factorization")
    np.testing.assert_allclose(selection.gains, reference.gains, rtol=1e-7)


@pytest.mark.slow
@every_algorithm
@pytest.mark.parametrize(
    ("scales", "ridge", "offset"),
    [
        ([1.0, 1.0, 1.0], 1e-12, 0.0),
        ([1.0, 1.0, 1.0], 1e6, 0.0),
        ([1e-6, 1.0, 1e6], 1e-6, 0.0),
        ([1.0, 1.0, 1.0], 1e-4, 1e6),
        ([1e150, 1e150, 1e150], 1e140, 0.0),
        ([1e-150, 1e-150, 1e-150], 1e-160, 0.0),
    ],
)
def test_picks_at_hard_scales_match_exact_arithmetic(algorithm, scales, ridge, offset):
    X = gaussian(6, 3, seed=8) * scales + offset
    selection = ps.select(X, 7, ridge=ridge, labeled=[] if offset else [0], algorithm=algorithm)
    assert_exactly_greedy(selection, X, all_pairs(6), ridge, [] if offset else [0], tolerance=1e-8)


@every_algorithm
def test_every_candidate_can_be_picked(algorithm):
    X = gaussian(7, 3)
    selection = ps.select(X, 21, ridge=1e-3, algorithm=algorithm)
    assert sorted(map(tuple, selection.pairs.tolist())) == all_pairs(7)
    assert ps.select(gaussian(2, 3), 1, algorithm=algorithm).pairs.tolist() == [[0, 1]]


@every_algorithm
def test_identical_items_gain_nothing(algorithm):
    selection = ps.select(np.ones((4, 2)), 6, ridge=1.0, algorithm=algorithm)
    assert selection.gains.tolist() == [0.0] * 6
    assert selection.pairs.tolist() == [list(pair) for pair in all_pairs(4)]


@every_algorithm
def test_a_run_ends_with_a_warning_when_the_exposure_cap_leaves_no_pair(algorithm):
    path = [[0, 1], [1, 2], [2, 3]]
    with pytest.warns(UserWarning, match="only 1 of k=2 pairs"):
        stuck = ps.select(
            [[0.0], [1.0], [9.0], [2.0]], 2, candidates=path, max_per_item=1, ridge=1.0, algorithm=algorithm
        )
    assert stuck.pairs.tolist() == [[1, 2]]


@pytest.mark.parametrize("algorithm", ["factorization", "scalar", "factorization-lazy", "scalar-lazy-memo"])
def test_threads_do_not_change_the_picks(algorithm):
    X = gaussian(900, 6)  # 404,550 pairs: more than one block
    one, two = (ps.select(X, 15, ridge=1e-3, algorithm=algorithm, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.pairs, two.pairs)
    np.testing.assert_array_equal(one.gains, two.gains)


def test_picks_among_many_blocks_of_rows_match_a_matrix_of_distances():
    """The rows span several tiles, strips and blocks of the distance kernel."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 7))
    groups = rng.integers(0, 3, 800)
    for candidates, mask in [
        (None, np.ones((800, 800), dtype=bool)),
        (ps.WithinGroups(groups), groups[:, None] == groups[None, :]),
    ]:
        candidate = np.triu(mask, 1)
        for algorithm in ("factorization", "scalar", "scalar-lazy", "factorization-lazy-memo"):
            selection = ps.select(X, 12, ridge=1e-2, candidates=candidates, algorithm=algorithm)
            A_inverse, mask = np.eye(7) / 1e-2, candidate.copy()
            for (i, j), gain in zip(selection.pairs, selection.gains, strict=True):
                norms = np.einsum("ia,ab,ib->i", X, A_inverse, X)
                d = np.where(mask, norms[:, None] + norms[None, :] - 2 * X @ A_inverse @ X.T, -np.inf)
                assert np.log1p(d.max()) == pytest.approx(gain, rel=1e-9)
                assert d[i, j] == pytest.approx(d.max(), rel=1e-9)
                x = X[i] - X[j]
                A_inverse = np.linalg.inv(np.linalg.inv(A_inverse) + np.outer(x, x))
                mask[i, j] = False


def test_lazy_search_evaluates_fewer_gains_in_high_dimension():
    X = gaussian(150, 60)
    counts = {
        name: ps.select(X, 30, labeled=range(5), ridge=1e-4, algorithm=name).diagnostics["evaluations"]
        for name in ALGORITHMS
    }
    assert counts["naive"] == counts["factorization"] == counts["scalar"] == 30 * 150 * 149 // 2
    lazy = [counts[name] for name in ALGORITHMS if "lazy" in name]
    assert len(set(lazy)) == 1
    assert lazy[0] < counts["naive"] / 5


@pytest.mark.slow
@every_algorithm
def test_gains_that_fall_over_many_steps_stay_accurate(algorithm):
    """With powers of one variable, d_e falls by a factor of 1e20, spread over the steps."""
    X = np.vander(np.linspace(0, 100, 12), 7)[:, :-1]
    selection = ps.select(X, 12, algorithm=algorithm)
    assert_exactly_greedy(selection, X, all_pairs(12), selection.ridge, tolerance=1e-6)
    if algorithm != "engine":  # the engine takes the smaller of two pairs whose gains differ by 1e-15
        np.testing.assert_allclose(_gains_of_powers(algorithm), _gains_of_powers("naive"), rtol=1e-6)


@cache
def _gains_of_powers(algorithm):
    return ps.select(np.vander(np.linspace(0, 100, 60), 9)[:, :-1], 30, algorithm=algorithm).gains


@every_algorithm
def test_an_outlier_takes_no_digits_from_the_others(algorithm):
    X = np.array([[1e17], [0.0], [1.0], [2.0], [3.0]])
    selection = ps.select(X, 1, ridge=1.0, candidates=[(1, 2), (1, 3), (2, 3)], algorithm=algorithm)
    assert selection.pairs.tolist() == [[1, 3]]
    assert selection.gains[0] == pytest.approx(np.log(5))


def test_a_warning_says_when_rounding_may_spoil_the_picks():
    rng = np.random.default_rng(5)
    far_out = np.vstack([[1e12, 1e12], rng.standard_normal((6, 2))])
    with pytest.warns(UserWarning, match="orders of magnitude"):
        ps.select(far_out, 6, ridge=1e-3)
    collinear = np.vstack([np.outer(np.arange(1, 6) * 1e12, [1, 2, 3]), rng.standard_normal((4, 3))])
    with pytest.warns(UserWarning, match="orders of magnitude"):
        ps.select(collinear, 2, labeled=range(5), ridge=1e-6)


@every_algorithm
def test_identical_rows_tie_exactly_at_the_first_step(algorithm):
    for seed, d in ((31, 31), (2, 3), (3, 70)):
        two = np.random.default_rng(seed).standard_normal((2, d))
        X = np.vstack([two[:1], np.repeat(two[1:], 7, axis=0)])
        assert ps.select(X, 1, ridge=0.1, algorithm=algorithm).pairs.tolist() == [[0, 1]]
