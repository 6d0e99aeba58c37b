import multiprocessing
import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest
import threadpoolctl
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import qr, solve_triangular
from scipy.spatial.distance import cdist

import pairsmith as ps
from pairsmith.data import features as features_module
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine.search import greedy_sequence
from support.oracle import all_pairs, assert_exactly_greedy, assert_greedy


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def whitened(X, ridge, labeled, pairs):
    """Return Z = X R^-1, so that (x_i - x_j)'A^-1(x_i - x_j) = |z_i - z_j|^2, where R'R = A by QR.

    Columns are brought to one scale, rows are sorted and columns pivoted, so that small entries keep their digits.
    """
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    rows = np.vstack([np.sqrt(ridge) * np.eye(X.shape[1]), X[list(labeled)], X[pairs[:, 0]] - X[pairs[:, 1]]])
    scale = np.abs(rows).max(axis=0)
    rows = rows / scale
    R, order = qr(rows[np.argsort(-np.abs(rows).max(axis=1))], mode="r", pivoting=True)
    centred = (X - np.median(X, axis=0)) / scale
    return solve_triangular(R[: X.shape[1]], centred[:, order].T, trans="T").T


def assert_farthest(X, selection, labeled=(), steps=None, candidates=None, tolerance=1e-9):
    """Assert that the picks at these steps (default: all) attain the largest d_ij, enumerated in float64 by blocks."""
    for step, (i, j) in enumerate(selection.pairs):
        if steps is not None and step not in steps:
            continue
        before = selection.pairs[:step]
        Z = whitened(X, selection.ridge, labeled, before)
        largest = -np.inf
        for low in range(0, len(Z), 1000):
            high = min(low + 1000, len(Z))
            d = cdist(Z[low:high], Z[low:], "sqeuclidean") if len(Z) <= 1000 else by_products(Z, low, high)
            d[np.tril_indices(len(d))] = -np.inf
            inside = before[(before[:, 0] >= low) & (before[:, 0] < high)]
            d[inside[:, 0] - low, inside[:, 1] - low] = -np.inf
            if candidates is not None:
                d[~candidates[low:high, low:]] = -np.inf
            largest = max(largest, d.max())
        mine = np.sum((Z[i] - Z[j]) ** 2)
        assert mine >= largest - tolerance * abs(largest), f"step {step}: {mine} < {largest}"
        assert selection.gains[step] == pytest.approx(np.log1p(mine), rel=1e-8)


def by_products(Z, low, high):
    """Return squared distances of some rows to all rows that follow; for many rows, faster than by differences."""
    norms = np.einsum("ia,ia->i", Z, Z)
    return norms[low:high, None] + norms[None, low:] - 2 * Z[low:high] @ Z[low:].T


HARD = {
    "gaussian, k past d": (gaussian(300, 12), 60, 1e-4),
    "one feature": (gaussian(300, 1), 40, 1e-3),
    "more features than items": (gaussian(40, 90), 50, 1e-4),
    "low rank": (gaussian(300, 3) @ gaussian(3, 20, 1), 40, 1e-4),
    "offset of 1e6": (gaussian(300, 8) + 1e6, 40, 1e-2),
    "columns from 1e-6 to 1e6": (gaussian(300, 7) * 10.0 ** np.arange(-6, 7, 2), 40, 1e-6),
    "gains within 1e-7": (
        np.vstack([np.eye(40), -np.eye(40)]) * (1 + 1e-8 * np.random.default_rng(0).random((80, 1))), 60, 1e-3,
    ),
    "heavy tails": (np.random.default_rng(0).standard_t(1.5, (300, 10)), 60, 1e-4),
    "clusters": (gaussian(300, 10) * 0.01 + gaussian(5, 10, 1)[np.arange(300) % 5] * 10, 60, 1e-4),
    "small ridge": (gaussian(200, 10), 40, 1e-12),
    "large ridge": (gaussian(200, 10), 40, 1e6),
    "huge": (gaussian(200, 6) * 1e100, 30, 1e150),
    "tiny": (gaussian(200, 6) * 1e-100, 30, 1e-210),
}  # fmt: skip


@pytest.mark.parametrize("pool_size", [None, 1, 10, 1000])
@pytest.mark.parametrize("case", HARD)
def test_every_pick_is_the_farthest_pair(case, pool_size):
    X, k, ridge = HARD[case]
    selection = ps.select(X, k, ridge=ridge, labeled=[0, 1], algorithm="engine", pool_size=pool_size)
    assert len(selection) == k
    assert_farthest(X, selection, [0, 1], tolerance=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("case", HARD)
def test_picks_do_not_depend_on_pool_size_and_threads(case):
    X, k, ridge = HARD[case]
    runs = [
        ps.select(X, k, ridge=ridge, algorithm="engine", pool_size=pool_size, n_jobs=jobs)
        for pool_size, jobs in ((None, 1), (1, 1), (10, 2), (1000, 1), (1000, 2), (30_000, 2))
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.pairs, runs[0].pairs)


@settings(max_examples=40)
@given(data=st.data())
def test_picks_are_greedy_on_integer_data_full_of_ties(data):
    n, d = data.draw(st.integers(2, 10)), data.draw(st.integers(1, 4))
    X = np.random.default_rng(data.draw(st.integers(0, 10**6))).integers(0, 2, (n, d)).astype(float)
    k = data.draw(st.integers(1, n * (n - 1) // 2))
    runs = [ps.select(X, k, ridge=0.5, algorithm="engine", pool_size=size) for size in (None, 1, 3, 1000)]
    for run in runs:
        assert_greedy(run, X, all_pairs(n), 0.5)
        np.testing.assert_array_equal(run.pairs, runs[0].pairs)


def test_the_smallest_pair_wins_an_exact_tie():
    X = np.eye(6)
    assert ps.select(X, 15, ridge=0.7, algorithm="engine").pairs[:3].tolist() == [[0, 1], [2, 3], [4, 5]]
    same = ps.select(np.ones((700, 2)), 5, ridge=1.0, algorithm="engine", pool_size=100)
    assert same.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5]]
    assert same.gains.tolist() == [0.0] * 5


@pytest.mark.slow
@pytest.mark.parametrize("pool_size", [None, 5, 500])
def test_picks_respect_groups_caps_and_earlier_comparisons(pool_size):
    X, groups = gaussian(120, 5), np.arange(120) % 4
    within = np.equal.outer(groups, groups)
    selection = ps.select(
        X, 60, ridge=1e-3, candidates=ps.WithinGroups(groups), algorithm="engine", pool_size=pool_size
    )
    assert_farthest(X, selection, candidates=within)
    done = ps.select(X, 10, ridge=1e-3, algorithm="engine").pairs
    for options in ({"max_per_item": 2}, {"comparisons": done}, {"comparisons": done, "max_per_item": 3}):
        mine = ps.select(X, 60, ridge=1e-3, algorithm="engine", pool_size=pool_size, **options)
        np.testing.assert_array_equal(mine.pairs, ps.select(X, 60, ridge=1e-3, algorithm="scalar", **options).pairs)


@pytest.mark.parametrize(("ridge", "scales"), [(1e-12, [1, 1, 1]), (1e-6, [1e-6, 1, 1e6]), (1e140, [1e150] * 3)])
def test_picks_are_greedy_in_exact_arithmetic(ridge, scales):
    X = gaussian(6, 3, seed=8) * scales
    for pool_size in (None, 2):
        selection = ps.select(X, 15, ridge=ridge, algorithm="engine", pool_size=pool_size)
        assert_exactly_greedy(selection, X, all_pairs(6), ridge, tolerance=1e-8)


@pytest.mark.slow
def test_picks_are_greedy_on_the_largest_problem_of_the_paper():
    """Two of the 200 steps are compared with all 112,492,500 pairs in float64."""
    X = gaussian(15_000, 400)
    selection = ps.select(X, 200, ridge=1e-4, labeled=range(30), algorithm="engine")
    assert_farthest(X, selection, range(30), [71, 199])
    assert selection.diagnostics["scans"] < 10


@pytest.mark.usefixtures("two_blas_threads")
def test_select_runs_in_several_threads_and_restores_blas():
    before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    problems = [gaussian(900, 20, seed) for seed in range(4)]
    expected = [ps.select(X, 40, ridge=1e-3, algorithm="scalar").pairs for X in problems]
    selected = [None] * 4

    def work(at):
        selected[at] = ps.select(problems[at], 40, ridge=1e-3, algorithm="engine").pairs

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mine, right in zip(selected, expected, strict=True):
        np.testing.assert_array_equal(mine, right)
    after = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    assert after == before


@pytest.mark.slow
def test_features_that_are_not_copied_give_the_same_picks(tmp_path, monkeypatch):
    """Neither the dtype of X nor memory mapping changes the picks of a float64 array in memory."""
    narrow = gaussian(900, 12).astype(np.float32) * 3 + 1000
    expected = ps.select(narrow.astype(np.float64), 40, ridge=1e-3, labeled=[1])
    np.save(tmp_path / "narrow.npy", narrow)
    np.save(tmp_path / "whole.npy", np.round(narrow * 50).astype(np.int16))
    for comfortable in (0, 1 << 29):
        monkeypatch.setattr(features_module, "MAX_COPIED_BYTES", comfortable)
        for X in (narrow, np.load(tmp_path / "narrow.npy", mmap_mode="r"), np.asfortranarray(narrow)):
            for options in ({}, {"pool_size": 500}):
                np.testing.assert_array_equal(
                    ps.select(X, 40, ridge=1e-3, labeled=[1], **options).pairs, expected.pairs
                )
        mapped = np.load(tmp_path / "whole.npy", mmap_mode="r")
        plain = ps.select(np.array(mapped, dtype=float), 40, comparisons=[(0, 1)], certify=True)
        whole = ps.select(mapped, 40, comparisons=[(0, 1)], certify=True)
        np.testing.assert_array_equal(whole.pairs, plain.pairs)
        assert whole.ridge == pytest.approx(plain.ridge)
        assert whole.bound == pytest.approx(plain.bound)
        broken = narrow.copy()
        broken[700, 3] = np.nan
        with pytest.raises(ValueError, match=r"X: column 3 has 1 missing value .* at row 700"):
            ps.select(broken, 3)


@pytest.mark.slow
def test_float32_features_are_not_copied():
    """N = 80,000, d = 256 take 78 MB in float32. Copies in float64, raw and whitened, would add 490 MB."""
    script = """
import re, numpy as np, pairsmith as ps
from pairsmith.data import features

def peak():  # of this process alone: ru_maxrss starts at its parent's value
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) / 1024

features.MAX_COPIED_BYTES = 1 << 20
X = np.random.default_rng(0).standard_normal((80_000, 256), dtype=np.float32)
X[:, 4:] *= 1e-3
ps.select(X[:500], 2)
before = peak()
ps.select(X, 3, ridge=10.0)
print(peak() - before)
"""
    grown = float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    assert grown < 250


SELECTION = {"k": 30, "ridge": 1e-3, "algorithm": "engine", "pool_size": 2000}


def _select_pairs(X):
    return ps.select(X, **SELECTION).pairs


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_select_runs_in_joblib_workers(backend):
    problems = [gaussian(800, 15, seed) for seed in range(3)]
    expected = [_select_pairs(X) for X in problems]  # here first, so that forked processes inherit what has run
    calls = (joblib.delayed(ps.select)(X, **SELECTION) for X in problems)
    selected = joblib.Parallel(n_jobs=2, backend=backend)(calls)
    for mine, right in zip(selected, expected, strict=True):
        np.testing.assert_array_equal(mine.pairs, right)


def test_select_runs_in_a_forked_process():
    X = gaussian(800, 15)
    expected = _select_pairs(X)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for selected in pool.map(_select_pairs, [X] * 4):
            np.testing.assert_array_equal(selected, expected)


@pytest.mark.usefixtures("two_blas_threads")
def test_select_respects_threadpool_limits():
    X = gaussian(800, 15)
    expected = _select_pairs(X)
    with threadpoolctl.threadpool_limits(1):
        np.testing.assert_array_equal(_select_pairs(X), expected)
        limits = {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}
        assert limits == {1}


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_threads_are_restored_after_an_interrupt():
    before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    def interrupt(doing):
        raise KeyboardInterrupt

    design = Design(gaussian(300, 5), 1.0)
    steps = greedy_sequence(
        design, Remaining(ps.AllPairs().rows(300), np.zeros(0, int), np.full(300, 9)), 5, 2, {}, tell=interrupt
    )
    with pytest.raises(KeyboardInterrupt):
        next(steps)
    after = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    assert after == before


def test_large_groups_are_screened():
    X, groups = gaussian(3000, 6), np.arange(3000) % 7
    selection = ps.select(X, 40, ridge=1e-3, candidates=ps.WithinGroups(groups), pool_size=5000)
    assert selection.diagnostics["tiles"] > 0
    assert selection.diagnostics["float64_scans"] == 0
    assert_farthest(X, selection, candidates=np.equal.outer(groups, groups), steps={0, 5, 20, 39})


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [1e-12, 1e-8, 1e-6, 1.0])
def test_picks_attain_the_maximum_with_more_ties_than_the_pool_holds(ridge):
    """A thousand items at two or three points have hundreds of thousands of equal gains, split by rounding."""
    for seed in range(2):
        points = np.random.default_rng(seed).standard_normal((2 + seed % 2, 7))
        X = np.repeat(points, 500, axis=0)
        for comparisons in (None, [(0, 500), (1, 501)]):
            selection = ps.select(X, 6, ridge=ridge, comparisons=comparisons)
            expected = ps.select(X, 6, ridge=ridge, comparisons=comparisons, algorithm="scalar")
            assert len(selection) == 6
            np.testing.assert_allclose(selection.gains, expected.gains, rtol=1e-6, atol=1e-12)
