"""Brute force: the definition of the problem, enumerated. Nothing here shares a formula with the library."""

from fractions import Fraction
from itertools import combinations

import numpy as np


def information(X, ridge, labeled=(), pairs=()):
    """A of the paper's Eq. 6, summed term by term."""
    A = ridge * np.eye(X.shape[1])
    for i in labeled:
        A = A + np.outer(X[i], X[i])
    for i, j in pairs:
        A = A + np.outer(X[i] - X[j], X[i] - X[j])
    return A


def logdet(X, ridge, labeled=(), pairs=()):
    sign, value = np.linalg.slogdet(information(X, ridge, labeled, pairs))
    assert sign > 0
    return value


def exact_information(X, ridge, labeled=(), pairs=()):
    """A in rational arithmetic: no rounding at all."""
    rows = [[Fraction(float(value)) for value in row] for row in X]
    d = X.shape[1]
    vectors = [rows[i] for i in labeled] + [[a - b for a, b in zip(rows[i], rows[j], strict=True)] for i, j in pairs]
    return [
        [Fraction(float(ridge)) * (r == c) + sum((v[r] * v[c] for v in vectors), Fraction(0)) for c in range(d)]
        for r in range(d)
    ]


def exact_det(X, ridge, labeled=(), pairs=()):
    """det A in rational arithmetic, by elimination."""
    A, d = exact_information(X, ridge, labeled, pairs), X.shape[1]
    det = Fraction(1)
    for p in range(d):
        det *= A[p][p]  # positive definite: no pivoting needed
        for r in range(p + 1, d):
            ratio = A[r][p] / A[p][p]
            A[r] = [a - ratio * b for a, b in zip(A[r], A[p], strict=True)]
    return det


def exact_solve(X, ridge, labeled, pairs, i, j):
    """A^-1 (x_i - x_j), in rational arithmetic up to the last step."""
    A, d = exact_information(X, ridge, labeled, pairs), X.shape[1]
    A = [[*row, Fraction(float(a)) - Fraction(float(b))] for row, a, b in zip(A, X[i], X[j], strict=True)]
    for p in range(d):
        A[p] = [a / A[p][p] for a in A[p]]
        for r in range(d):
            if r != p:
                A[r] = [a - A[r][p] * b for a, b in zip(A[r], A[p], strict=True)]
    return np.array([float(row[d]) for row in A])


def log_fraction(value):
    """The logarithm of a Fraction whose parts may not fit a float."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return shift * np.log(2) + np.log(float(value / Fraction(2) ** shift))


def all_pairs(n):
    return list(combinations(range(n), 2))


def pairs_within(groups):
    return [(i, j) for i, j in all_pairs(len(groups)) if groups[i] == groups[j]]


def allowed_pairs(candidates, compared, picked, cap):
    """What may be picked next, from the definition."""
    gone = {tuple(sorted(pair)) for pair in compared} | {tuple(pair) for pair in picked}
    used = [item for pair in picked for item in pair]
    full = {item for item in used if cap is not None and used.count(item) >= cap}
    return [(i, j) for i, j in candidates if (i, j) not in gone and i not in full and j not in full]


def assert_greedy(selection, X, candidates, ridge, labeled=(), compared=(), cap=None, tolerance=1e-8):
    """Every pick attains the largest gain at its step; gains and log dets are slogdet's."""
    X = np.asarray(X, dtype=np.float64)
    compared = [tuple(int(item) for item in pair) for pair in compared]
    picked = []
    for step, pair in enumerate(map(tuple, selection.pairs.tolist())):
        choices = allowed_pairs(candidates, compared, picked, cap)
        assert pair in choices, f"step {step}: {pair} may not be picked"
        A = information(X, ridge, labeled, [*compared, *picked])
        differences = np.array([X[i] - X[j] for i, j in choices])
        after = np.linalg.slogdet(A + np.einsum("ea,eb->eab", differences, differences))[1]
        now = np.linalg.slogdet(A)[1]
        mine = after[choices.index(pair)]
        assert mine >= after.max() - tolerance, f"step {step}: {pair} gains {mine - now}, another {after.max() - now}"
        assert abs(selection.gains[step] - (mine - now)) < tolerance
        assert abs(selection.logdet[step] - mine) < tolerance
        picked.append(pair)


def assert_exactly_greedy(selection, X, candidates, ridge, labeled=(), compared=(), tolerance=1e-9):
    """As assert_greedy, in rational arithmetic: for scales and ridges at which slogdet itself is lost."""
    compared = [tuple(pair) for pair in compared]
    picked = []
    for step, pair in enumerate(map(tuple, selection.pairs.tolist())):
        choices = allowed_pairs(candidates, compared, picked, None)
        assert pair in choices
        now = exact_det(X, ridge, labeled, [*compared, *picked])
        after = {other: exact_det(X, ridge, labeled, [*compared, *picked, other]) for other in choices}
        d_picked, d_best = after[pair] / now - 1, max(after.values()) / now - 1
        assert d_picked >= d_best * (1 - Fraction(tolerance)), f"step {step}: {float(d_picked)} < {float(d_best)}"
        assert np.isclose(selection.gains[step], log_fraction(after[pair] / now), rtol=tolerance, atol=1e-15)
        assert np.isclose(selection.logdet[step], log_fraction(after[pair]), rtol=tolerance, atol=tolerance)
        picked.append(pair)
