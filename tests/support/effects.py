"""The design of items with effects of their own, with d + N columns written out and enumerated."""

import numpy as np
import pytest
from scipy.special import expit

from support.oracle import allowed_pairs


def extended(X, effect):
    """Return the features (x, sqrt(e) e_i) of every item."""
    return np.hstack([X, np.sqrt(effect) * np.eye(len(X))])


def weights_of(scores):
    gap = scores[:, None] - scores[None, :]
    return expit(gap) * expit(-gap)


def information(X, ridge, effect, labeled=(), compared=(), scores=None):
    """Return A of the extended features; before any answer it is 1 in the column of an effect."""
    Xe, n = extended(X, effect), len(X)
    weights = np.ones((n, n)) if scores is None else weights_of(scores)
    A = np.diag(np.concatenate([np.full(X.shape[1], ridge), np.ones(n)]))
    for i in labeled:
        A += (1 if scores is None else expit(scores[i]) * expit(-scores[i])) * np.outer(Xe[i], Xe[i])
    for i, j in compared:
        A += weights[i, j] * np.outer(Xe[i] - Xe[j], Xe[i] - Xe[j])
    return A


def assert_greedy(selection, Xe, A, weights, candidates, compared=(), cap=None):
    """Every pick must reach the largest log det of all pairs allowed at its step, and report it."""
    picked = []
    for step, pair in enumerate(map(tuple, selection.pairs.tolist())):
        choices = allowed_pairs(candidates, compared, picked, cap)
        assert pair in choices
        i, j = np.array(choices).T
        apart = (Xe[i] - Xe[j]) * np.sqrt(weights[i, j])[:, None]
        after = np.linalg.slogdet(A + np.einsum("ea,eb->eab", apart, apart))[1]
        now, reached = np.linalg.slogdet(A)[1], after[choices.index(pair)]
        assert reached >= after.max() - 1e-9, f"step {step}: {pair} gains {reached - now}, another {after.max() - now}"
        assert selection.gains[step] == pytest.approx(reached - now, rel=1e-7)
        assert selection.logdet[step] == pytest.approx(reached, rel=1e-9, abs=1e-9)
        own = apart[choices.index(pair)]
        A = A + np.outer(own, own)
        picked.append(pair)


def largest_gains(Xe, A, weights, pairs, closed):
    """Return w d of each pick, and the largest w d of all open pairs at its step, from inverses of A."""
    closed, reached, best = closed.copy(), [], []
    for i, j in pairs:
        C = Xe @ np.linalg.solve(A, Xe.T)
        d = weights * (np.diag(C)[:, None] + np.diag(C)[None, :] - 2 * C)
        reached.append(d[i, j])
        best.append(np.where(closed, -np.inf, d).max())
        A = A + weights[i, j] * np.outer(Xe[i] - Xe[j], Xe[i] - Xe[j])
        closed[i, j] = True
    return np.array(reached), np.array(best)


def closed_pairs(n, pairs):
    """Return a matrix that is True where (i, j) is not a pair i < j, or one of these pairs."""
    closed = np.tril(np.ones((n, n), dtype=bool))
    for i, j in pairs:
        closed[min(i, j), max(i, j)] = True
    return closed
