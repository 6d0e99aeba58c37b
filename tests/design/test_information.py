import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairsmith as ps
from pairsmith import Design
from support.oracle import all_pairs, allowed_pairs, exact_det, exact_solve, information, log_fraction, logdet


@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1e-2, 1.0, 1e4]))
def test_root_gains_and_logdet_match_the_information_matrix(n, d, seed, ridge):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    labeled = rng.integers(n, size=rng.integers(4))
    compared = rng.permuted(np.tile(np.arange(n), (rng.integers(4), 1)), axis=1)[:, :2]
    design = Design(X, ridge, labeled, compared)
    assert design.logdet == pytest.approx(log_fraction(exact_det(X, ridge, labeled, compared)), abs=1e-9)
    pairs = []
    for _ in range(5):
        i, j = rng.choice(n, 2, replace=False)
        before = design.logdet
        gain, v = design.add(i, j)
        x, solved = X[i] - X[j], exact_solve(X, ridge, labeled, [*compared, *pairs], i, j)
        np.testing.assert_allclose(v, solved / np.sqrt(1 + x @ solved), rtol=1e-6)
        pairs.append((i, j))
        assert design.logdet == pytest.approx(before + gain)
        assert design.logdet == pytest.approx(log_fraction(exact_det(X, ridge, labeled, [*compared, *pairs])), abs=1e-8)
    A = information(X, ridge, labeled, [*compared, *pairs])
    scale = np.linalg.norm(np.linalg.inv(A))
    for factor in (design.root, design.factor()):
        np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(A), atol=1e-8 * scale)
    assert np.allclose(np.triu(design.factor(), 1), 0)
    Z = design.whiten(design.factor())
    i, j = pairs[0]
    x = X[i] - X[j]
    assert np.sum((Z[i] - Z[j]) ** 2) == pytest.approx(
        x @ exact_solve(X, ridge, labeled, [*compared, *pairs], i, j), rel=1e-7
    )


def test_more_labels_and_comparisons_than_a_chunk_give_the_same_logdet():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    compared = np.array([rng.choice(50, 2, replace=False) for _ in range(10_000)])
    labeled = rng.integers(50, size=9_000)
    A = 0.1 * np.eye(4) + X[labeled].T @ X[labeled]
    differences = X[compared[:, 0]] - X[compared[:, 1]]
    expected = np.linalg.slogdet(A + differences.T @ differences)[1]
    assert Design(X, 0.1, labeled, compared).logdet == pytest.approx(expected, rel=1e-12)


def test_logdet_stays_accurate_for_far_more_pairs_than_dimensions():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 40))
    design = Design(X, 1e-4, np.arange(5))
    pairs = [rng.choice(200, 2, replace=False) for _ in range(500)]
    for i, j in pairs:
        design.add(i, j)
    assert design.logdet == pytest.approx(logdet(X, 1e-4, range(5), pairs), rel=1e-9)


@pytest.mark.parametrize("ridge", [1e-12, 1e-4, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_logdet_matches_exact_arithmetic(ridge, scale, offset):
    rng = np.random.default_rng(2)
    X = scale * rng.standard_normal((8, 4)) + offset
    pairs = [(0, 1), (2, 3), (0, 4), (5, 6), (6, 7), (1, 2)]
    design = Design(X, ridge, np.array([0, 1]))
    for i, j in pairs:
        design.add(i, j)
    # Labelled rows of size 1e6 fix directions of size `scale` only to eps 1e6 / scale.
    digits = np.finfo(float).eps * np.abs(X).max() / scale
    assert design.logdet == pytest.approx(log_fraction(exact_det(X, ridge, [0, 1], pairs)), rel=1e-9, abs=digits)


def random_scales(seed):
    """Return a problem whose columns, and often rows, differ by up to 30 orders of magnitude, rotated or not."""
    rng = np.random.default_rng(seed)
    orders = rng.choice([0, 4, 8, 16, 30])
    X = rng.standard_normal((6, 3)) * 10.0 ** rng.uniform(-orders / 2, orders / 2, 3)
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.uniform(-orders / 4, orders / 4, (6, 1))
    if rng.random() < 0.3:
        X = X @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    labeled = rng.choice(6, rng.integers(0, 4), replace=False)
    return X, 10.0 ** rng.uniform(-10, 2), labeled.tolist(), [(0, 1)] if rng.random() < 0.5 else []


@pytest.mark.slow
def test_picks_without_a_warning_are_the_best_in_exact_arithmetic():
    """Without a warning about rounding, each pick must be (nearly) the best one, and its gain must be right."""
    silent = 0
    for seed in range(120):
        X, ridge, labeled, compared = random_scales(seed)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            selection = ps.select(X, 3, ridge=ridge, labeled=labeled, comparisons=compared)
        if warned:
            continue
        silent += 1
        picked = []
        for pair, gain in zip(map(tuple, selection.pairs.tolist()), selection.gains, strict=True):
            now = exact_det(X, ridge, labeled, [*compared, *picked])
            worth = {
                other: exact_det(X, ridge, labeled, [*compared, *picked, other]) / now - 1
                for other in allowed_pairs(all_pairs(6), compared, picked, None)
            }
            assert float(worth[pair]) >= (1 - 1e-6) * float(max(worth.values())), f"seed {seed}: another pair is better"
            assert gain == pytest.approx(np.log1p(float(worth[pair])), rel=1e-6), f"seed {seed}: the gain is wrong"
            picked.append(pair)
    assert silent > 90  # most problems are harmless, so a warning for each of them would say nothing


def test_a_small_column_keeps_its_digits_beside_a_large_one():
    """Labelled rows of 1e21 must not take the digits of a column of 1e-10."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 4)) * [1e-10, 1.0, 1e10, 1e21]
    design = Design(X, 1.0, np.array([0, 1, 2]))
    assert design.logdet == pytest.approx(log_fraction(exact_det(X, 1.0, [0, 1, 2])), rel=1e-12)
    for i, j in all_pairs(6):
        exact = exact_det(X, 1.0, [0, 1, 2], [(i, j)]) / exact_det(X, 1.0, [0, 1, 2]) - 1
        u = (X[i] - X[j]) @ design.root
        assert float(u @ u) == pytest.approx(float(exact), rel=1e-9)


def test_stretching_scales_the_information_of_a_copy_along_directions():
    """The information is doubled, halved and tripled along three directions; the original does not change."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    design = Design(X, 0.5, np.arange(6))
    A, root, before = information(X, 0.5, range(6)), design.root.copy(), design.logdet
    whitener = np.linalg.inv(root)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    other = design.scaled_along(Q, np.array([2.0, 0.5, 3.0]))
    expected = whitener.T @ Q @ np.diag([2.0, 0.5, 3.0]) @ Q.T @ whitener
    np.testing.assert_allclose(np.linalg.inv(other.root @ other.root.T), expected, rtol=1e-9)
    assert other.logdet == pytest.approx(np.linalg.slogdet(expected)[1])
    np.testing.assert_array_equal(design.root, root)
    assert design.logdet == before == pytest.approx(np.linalg.slogdet(A)[1])
