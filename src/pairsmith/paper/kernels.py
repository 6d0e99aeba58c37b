"""Compiled inner loops of the paper's algorithms: scalar updates of all gains, and a heap of stale ones."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.compiling import compiled
from pairsmith.design.kernels import CANCELLED

NAIVE, FACTORIZATION, SCALAR = 0, 1, 2


@compiled
def subtract_squares(gains, rho, rho_partner, first, count, start, low, high):
    """d_e <- d_e - (rho_i - rho_j)^2 for the pairs of the rows low to high - 1 (Eq. 14)."""
    base = start[low]
    for i in range(low, high):
        e, p, r = start[i] - base, first[i], rho[i]
        for t in range(count[i]):
            gains[e + t] -= (r - rho_partner[p + t]) ** 2


# The lazy algorithms' max-heap: parallel arrays, the root at 0, the children of h at 4h + 1 to 4h + 4 (four
# gains share a cache line, and half the levels of a binary heap mean half the misses). Ordered by gain, then
# by smaller pair; a pair (i, j) is coded as i * n + j.


class Heap(NamedTuple):
    """Entry h is the pair code[h] with the gain that it had at step since[h]."""

    gain: Floats
    code: Ints
    since: npt.NDArray[np.int32]
    afresh: npt.NDArray[np.float32]  # for the scalar rule, the gain when last computed from scratch; else empty


class GainSources(NamedTuple):
    """What gains are brought up to date from; what a rule does not need is empty."""

    X: Floats
    factor: Floats  # F with A^-1 = F F' at this step
    Z: Floats  # X F, of an item as of step fresh[item]
    fresh: npt.NDArray[np.int32]
    V: Floats  # v of every pick so far (Alg. 4)
    rho: Floats  # rho[i, l] = v_l'x_i, nan where it is not yet known


@compiled
def fill_codes(code, partner, first, count, start, low, high):
    """code[e] = i n + j for the pairs of the rows low to high - 1."""
    n = len(count)
    for i in range(low, high):
        for t in range(count[i]):
            code[start[i] + t] = i * n + partner[first[i] + t]


@compiled
def heapify(gain, code):
    """Floyd's construction; at that point every entry is of step 0."""
    size = len(gain)
    nothing, afresh = np.zeros(1, np.int32), np.zeros(1, np.float32)
    for h in range((size - 2) // 4, -1, -1):
        _sift_down(gain, code, nothing, afresh, size, h, gain[h], code[h], np.int32(0), np.float32(0))


@compiled
def _larger_child(gain, code, size, h):
    """The child of h that comes first in the heap's order, or -1."""
    c = 4 * h + 1
    if c >= size:
        return np.int64(-1)
    top = c
    for other in range(c + 1, min(c + 4, size)):
        if gain[other] > gain[top] or (gain[other] == gain[top] and code[other] < code[top]):
            top = other
    return top


@compiled
def _sift_down(gain, code, since, afresh, size, h, g, c, s, f):
    """Put (g, c, s, f) at h or below, where it belongs. `since` and `afresh` may be left out (of another length)."""
    timed, traced = len(since) == len(gain), len(afresh) == len(gain)
    while True:
        child = _larger_child(gain, code, size, h)
        if child < 0 or g > gain[child] or (g == gain[child] and c < code[child]):
            break
        gain[h], code[h] = gain[child], code[child]
        if timed:
            since[h] = since[child]
        if traced:
            afresh[h] = afresh[child]
        h = child
    gain[h], code[h] = g, c
    if timed:
        since[h] = s
    if traced:
        afresh[h] = f


@compiled
def lazy_maximum(heap, size, k, full, rule, known, budget):
    """FindMax of Alg. 5 at step k: the pair whose gain, brought up to date, still tops the heap's `size` entries.

    Returns (its code or -1, the heap's new size, gains evaluated). Stops early, with code -2, after `budget`
    evaluations, so that a caller can show progress and be interrupted; calling again goes on.
    """
    gain, code, since, afresh = heap
    X, factor, Z, fresh, V, rho = known
    n = len(full)
    work = np.empty(X.shape[1])
    evaluations = 0
    while size > 0:
        pair = code[0]
        i, j = pair // n, pair % n
        if not (full[i] or full[j]):
            g, f = gain[0], np.float32(0)
            if rule == SCALAR:
                f = afresh[0]
            if since[0] < k:
                if evaluations == budget:
                    return np.int64(-2), size, evaluations
                evaluations += 1
                if rule == NAIVE:
                    g = _quadratic_form(X, factor, i, j, work)
                elif rule == FACTORIZATION:
                    g = _memoized_distance(X, factor, True, Z, fresh, k, i, j)
                else:
                    g = _memoized_scalar(g, since[0], X, V, rho, k, i, j)
                    if g < CANCELLED * f:
                        g = _memoized_distance(X, factor, False, Z, fresh, k, i, j)
                        f = np.float32(g)
            child = _larger_child(gain, code, size, 0)
            if child >= 0 and (gain[child] > g or (gain[child] == g and code[child] < pair)):
                _sift_down(gain, code, since, afresh, size, 0, g, pair, np.int32(k), f)
                continue
        size -= 1
        f = afresh[size] if rule == SCALAR else np.float32(0)
        _sift_down(gain, code, since, afresh, size, 0, gain[size], code[size], since[size], f)
        if not (full[i] or full[j]):
            return pair, size, evaluations
    return np.int64(-1), size, evaluations


@compiled
def _quadratic_form(X, factor, i, j, work):
    """x'A^-1 x with A^-1 = L L' and x = x_i - x_j: O(d^2), bound by reading L, so only its lower triangle is."""
    work[:] = 0.0
    for a in range(X.shape[1]):
        x = X[i, a] - X[j, a]
        for b in range(a + 1):
            work[b] += x * factor[a, b]
    total = 0.0
    for b in range(X.shape[1]):
        total += work[b] * work[b]
    return total


@compiled
def _memoized_distance(X, factor, triangular, Z, fresh, k, i, j):
    """|z_i - z_j|^2, where z = F'x, A^-1 = F F', is computed if it is not yet of step k."""
    for item in (i, j):
        if fresh[item] < k:
            Z[item] = 0.0
            for a in range(X.shape[1]):
                x = X[item, a]
                for b in range(a + 1 if triangular else X.shape[1]):
                    Z[item, b] += x * factor[a, b]
            fresh[item] = k
    return _squared_distance(Z, i, j)


@compiled
def _memoized_scalar(g, since, X, V, rho, k, i, j):
    """g minus the sum over steps since <= l < k of (rho_li - rho_lj)^2; nan marks a rho_li = v_l'x_i not yet known."""
    total = _sum_of_squares(rho, since, k, i, j)
    if np.isnan(total):
        for item in (i, j):
            for step in range(since, k):
                if np.isnan(rho[item, step]):
                    product = 0.0
                    for c in range(X.shape[1]):
                        product += V[step, c] * X[item, c]
                    rho[item, step] = product
        total = _sum_of_squares(rho, since, k, i, j)
    return g - total


@compiled
def _squared_distance(Z, i, j):
    total = 0.0
    for c in range(Z.shape[1]):
        total += (Z[i, c] - Z[j, c]) ** 2
    return total


@compiled
def _sum_of_squares(rho, since, k, i, j):
    total = 0.0
    for step in range(since, k):
        total += (rho[i, step] - rho[j, step]) ** 2
    return total
