"""Compiled inner loops over plain arrays that more than one room needs. No validation, no objects, no global state.

Candidate pairs come as the arrays of `candidates.Rows`: row i holds the pairs of i with
partner[first[i] : first[i] + count[i]], numbered from start[i].
"""

import numpy as np

from pairsmith.design.compiling import compiled, inlined

# A value got by subtraction has lost digits once it is this small beside the last one computed afresh.
CANCELLED = 1e-2

_TILE = 64  # partners whose features stay in the second-level cache while 32 rows pass over them
_STRIP = 32


@compiled
def distances(Z, partner, first, count, start, low, high, out):
    """out[e - start[low]] = |z_i - z_j|^2 for every pair e of the rows low to high - 1.

    Differences are taken before squaring: |z_i|^2 + |z_j|^2 - 2 z_i'z_j would be one GEMM, but cancels for
    near pairs. Four partners at a time share the loads of z_i (N = 3000, d = 400: 2.5 times one at a time).
    """
    d = Z.shape[1]
    base = start[low]
    for strip in range(low, high, _STRIP):
        end = min(strip + _STRIP, high)
        left, right, total = np.int64(2**62), np.int64(0), np.int64(0)
        for i in range(strip, end):
            if count[i] > 0:
                left = min(left, first[i])
                right = max(right, first[i] + count[i])
                total += count[i]
        if total == 0:
            continue
        # Rows of far apart groups span many tiles and fill few: then one pass a row is best.
        tile = _TILE if total >= right - left else right - left
        for p_low in range(left, right, tile):
            for i in range(strip, end):
                p = max(first[i], p_low)
                p_high = min(first[i] + count[i], p_low + tile)
                e = start[i] - base + p - first[i]
                while p < p_high:
                    # The rest of fewer than four goes the same way, so that equal pairs get equal sums.
                    last = p_high - 1
                    j0, j1 = partner[p], partner[min(p + 1, last)]
                    j2, j3 = partner[min(p + 2, last)], partner[min(p + 3, last)]
                    s0 = s1 = s2 = s3 = 0.0
                    for c in range(d):
                        z = Z[i, c]
                        s0 += (z - Z[j0, c]) ** 2
                        s1 += (z - Z[j1, c]) ** 2
                        s2 += (z - Z[j2, c]) ** 2
                        s3 += (z - Z[j3, c]) ** 2
                    out[e] = s0
                    if p < last:
                        out[e + 1] = s1
                    if p + 1 < last:
                        out[e + 2] = s2
                    if p + 2 < last:
                        out[e + 3] = s3
                    p += 4
                    e += 4


@compiled
def pair_distances(Y, Z, i, j, out):
    """out_e = |y_i - z_j|^2."""
    for e in range(len(i)):
        total = 0.0
        for c in range(Y.shape[1]):
            total += (Y[i[e], c] - Z[j[e], c]) ** 2
        out[e] = total


@inlined
def include_inlined(root, u, s, v):
    """Include x in the design A, where u = W'x and s = |u|^2: W becomes a root of (A + x x')^-1, in place.

    Fills v = A^-1 x / sqrt(1 + s), the v of Alg. 4, with A as it was, and overwrites u.

    For any orthogonal Q, the new inverse W (I - u u' / (1 + s)) W' (Sherman-Morrison, Eq. 11) has the root W Q in which
    the direction Q'u is shrunk by sqrt(1 + s). Q is the reflection that turns u into a column of its own, so that the
    shrinking is a scaling and not a difference: a direction whose variance falls by 1e24 keeps its digits.
    """
    d = len(u)
    q = np.sqrt(1 + s)
    for a in range(d):
        total = 0.0
        for b in range(d):
            total += root[a, b] * u[b]
        v[a] = total / q
    if s > 0:
        own = 0  # the largest: a reflection onto a small one would cancel
        for b in range(d):
            if abs(u[b]) > abs(u[own]):
                own = b
        signed = np.copysign(np.sqrt(s), u[own])
        u[own] += signed
        scale = 1 / (signed * u[own])
        for a in range(d):
            image = (q * v[a] + signed * root[a, own]) * scale
            for b in range(d):
                root[a, b] -= image * u[b]
            root[a, own] = v[a] / np.sqrt(s)


@compiled
def include(root, u, s, v):
    """`include_inlined` as a kernel of its own, for Python to call."""
    include_inlined(root, u, s, v)


@compiled
def best(gains, partner, first, count, start, low, high, full, taken):
    """The largest gain among the rows low to high - 1 and its pair's number: the first of equals, or -1."""
    base = start[low]
    largest, where = -np.inf, np.int64(-1)
    for i in range(low, high):
        if full[i]:
            continue
        e, p = start[i], first[i]
        for t in range(count[i]):
            if gains[e - base + t] > largest and not full[partner[p + t]] and not _holds(taken, e + t):
                largest, where = gains[e - base + t], e + t
    return largest, where


@compiled
def _holds(ascending, value):
    at = np.searchsorted(ascending, value)
    return at < len(ascending) and ascending[at] == value
