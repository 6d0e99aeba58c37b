"""Compiled inner loops of the paper's algorithms: scalar updates of all gains, and a heap of stale gains."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.compiling import compiled
from pairsmith.design.kernels import CANCELLATION_RATIO

NAIVE, FACTORIZATION, SCALAR = 0, 1, 2
NO_PAIR, UNFINISHED = -1, -2  # results of `lazy_maximum` that are no pair


@compiled
def subtract_squares(gains, rho, rho_partner, first, count, start, low, high):
    """Set d_e <- d_e - (rho_i - rho_j)^2 for the pairs in rows low to high - 1 (Eq. 14)."""
    base = start[low]
    for i in range(low, high):
        e, p, r = start[i] - base, first[i], rho[i]
        for t in range(count[i]):
            gains[e + t] -= (r - rho_partner[p + t]) ** 2


# The max-heap of the lazy algorithms is a set of parallel arrays, with the root at 0 and the children of h at 4h + 1 to
# 4h + 4. Four gains share a cache line, and with half the levels of a binary heap there are half the cache misses.
# Entries are ordered by gain, then by smaller pair; the pair (i, j) has the code i * n + j.


class Heap(NamedTuple):
    """Entry h is the pair code[h], with the gain that it had at step[h]."""

    gain: Floats
    code: Ints
    step: npt.NDArray[np.int32]
    scratch_gain: npt.NDArray[np.float32]  # scalar rule: the gain at its last computation from scratch; else empty


class GainSources(NamedTuple):
    """The arrays from which gains are updated; those that a rule does not need are empty."""

    X: Floats
    factor: Floats  # F with A^-1 = F F' at this step
    Z: Floats  # z_i = F'x_i, with the F of step Z_step[i]
    Z_step: npt.NDArray[np.int32]
    V: Floats  # v of every pick so far (Alg. 4)
    rho: Floats  # rho[i, l] = v_l'x_i, or nan if it has not been computed


@compiled
def fill_codes(code, partner, first, count, start, low, high):
    """Set code[e] = i n + j for the pairs in rows low to high - 1."""
    n = len(count)
    for i in range(low, high):
        for t in range(count[i]):
            code[start[i] + t] = i * n + partner[first[i] + t]


@compiled
def heapify(gain, code):
    """Build the heap in place (Floyd's algorithm). All entries are of step 0, so only two arrays are needed."""
    size = len(gain)
    unused_step, unused_gain = np.zeros(1, np.int32), np.zeros(1, np.float32)
    for h in range((size - 2) // 4, -1, -1):
        _sift_down(gain, code, unused_step, unused_gain, size, h, gain[h], code[h], np.int32(0), np.float32(0))


@compiled
def _first_child(gain, code, size, h):
    """Return the child of h that comes first in the heap's order, or -1."""
    c = 4 * h + 1
    if c >= size:
        return np.int64(-1)
    top = c
    for other in range(c + 1, min(c + 4, size)):
        if gain[other] > gain[top] or (gain[other] == gain[top] and code[other] < code[top]):
            top = other
    return top


@compiled
def _sift_down(gain, code, step, scratch_gain, size, h, g, c, s, f):
    """Place the entry (g, c, s, f) at h or below. Arrays `step` and `scratch_gain` of another length are not used."""
    has_step, has_scratch_gain = len(step) == len(gain), len(scratch_gain) == len(gain)
    while True:
        child = _first_child(gain, code, size, h)
        if child < 0 or g > gain[child] or (g == gain[child] and c < code[child]):
            break
        gain[h], code[h] = gain[child], code[child]
        if has_step:
            step[h] = step[child]
        if has_scratch_gain:
            scratch_gain[h] = scratch_gain[child]
        h = child
    gain[h], code[h] = g, c
    if has_step:
        step[h] = s
    if has_scratch_gain:
        scratch_gain[h] = f


@compiled
def lazy_maximum(heap, size, k, full, rule, sources, max_evaluations):
    """Find the pair whose gain at step k is the largest: FindMax of Alg. 5, on the first `size` entries of the heap.

    Returns the pair's code, the heap's new size, and the number of gains evaluated. The code is NO_PAIR if no pair is
    left. It is UNFINISHED after `max_evaluations`, so that the caller can report progress or be interrupted, and then
    call again.
    """
    gain, code, step, scratch_gain = heap
    X, factor, Z, Z_step, V, rho = sources
    n = len(full)
    work = np.empty(X.shape[1])
    evaluations = 0
    while size > 0:
        pair = code[0]
        i, j = pair // n, pair % n
        if not (full[i] or full[j]):
            g, f = gain[0], np.float32(0)
            if rule == SCALAR:
                f = scratch_gain[0]
            if step[0] < k:
                if evaluations == max_evaluations:
                    return np.int64(UNFINISHED), size, evaluations
                evaluations += 1
                if rule == NAIVE:
                    g = _quadratic_form(X, factor, i, j, work)
                elif rule == FACTORIZATION:
                    g = _memoized_distance(X, factor, True, Z, Z_step, k, i, j)
                else:
                    g = _memoized_scalar(g, step[0], X, V, rho, k, i, j)
                    if g < CANCELLATION_RATIO * f:
                        g = _memoized_distance(X, factor, False, Z, Z_step, k, i, j)
                        f = np.float32(g)
            child = _first_child(gain, code, size, 0)
            if child >= 0 and (gain[child] > g or (gain[child] == g and code[child] < pair)):
                _sift_down(gain, code, step, scratch_gain, size, 0, g, pair, np.int32(k), f)
                continue
        size -= 1
        f = scratch_gain[size] if rule == SCALAR else np.float32(0)
        _sift_down(gain, code, step, scratch_gain, size, 0, gain[size], code[size], step[size], f)
        if not (full[i] or full[j]):
            return pair, size, evaluations
    return np.int64(NO_PAIR), size, evaluations


@compiled
def _quadratic_form(X, factor, i, j, work):
    """Return x'A^-1 x for x = x_i - x_j and A^-1 = L L'. Reading L is the bottleneck, so only its triangle is read."""
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
def _memoized_distance(X, factor, triangular, Z, Z_step, k, i, j):
    """Return |z_i - z_j|^2, for z = F'x and A^-1 = F F', after computing each z that is not of step k."""
    for item in (i, j):
        if Z_step[item] < k:
            Z[item] = 0.0
            for a in range(X.shape[1]):
                x = X[item, a]
                for b in range(a + 1 if triangular else X.shape[1]):
                    Z[item, b] += x * factor[a, b]
            Z_step[item] = k
    return _squared_distance(Z, i, j)


@compiled
def _memoized_scalar(g, since, X, V, rho, k, i, j):
    """Return g minus the sum of (rho_li - rho_lj)^2 over steps since <= l < k, after computing each missing rho_li."""
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
