"""Compiled inner loops over plain arrays that several packages need. They validate nothing and keep no state.

Candidate pairs are given by the arrays of `candidates.Rows`: row i holds the pairs of item i with the items
partner[first[i] : first[i] + count[i]], and its pairs are numbered from start[i].
"""

import numpy as np

from pairsmith.design.compiling import compiled, inlined

# A value updated by subtraction has lost digits once it is below this fraction of its last computation from scratch.
CANCELLATION_RATIO = 1e-2

_PARTNERS_PER_TILE = 64  # their features stay in the second-level cache while the rows of a strip pass over them
_ROWS_PER_STRIP = 32


@compiled
def distances(Z, partner, first, count, start, low, high, out):
    """Set out[e - start[low]] = |z_i - z_j|^2 for every pair e in rows low to high - 1.

    Differences are taken before squaring, because |z_i|^2 + |z_j|^2 - 2 z_i'z_j, a single GEMM, cancels for near pairs.
    Four partners at a time share the loads of z_i.
    """
    d = Z.shape[1]
    base = start[low]
    for strip in range(low, high, _ROWS_PER_STRIP):
        end = min(strip + _ROWS_PER_STRIP, high)
        left, right, total = np.int64(2**62), np.int64(0), np.int64(0)
        for i in range(strip, end):
            if count[i] > 0:
                left = min(left, first[i])
                right = max(right, first[i] + count[i])
                total += count[i]
        if total == 0:
            continue
        # The rows of groups that are far apart span many tiles but fill few of them; then one pass per row is faster.
        tile = _PARTNERS_PER_TILE if total >= right - left else right - left
        for p_low in range(left, right, tile):
            for i in range(strip, end):
                p = max(first[i], p_low)
                p_high = min(first[i] + count[i], p_low + tile)
                e = start[i] - base + p - first[i]
                while p < p_high:
                    # The last one to three partners use the same sums, so that equal pairs get equal distances.
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
    """Set out[e] = |y_i - z_j|^2 for the pairs (i[e], j[e])."""
    for e in range(len(i)):
        total = 0.0
        for c in range(Y.shape[1]):
            total += (Y[i[e], c] - Z[j[e], c]) ** 2
        out[e] = total


@inlined
def update_root_inlined(root, u, s, v):
    """Add x x' to A: given u = W'x and s = |u|^2, turn the root W of A^-1 into a root of (A + x x')^-1, in place.

    Sets v = A^-1 x / sqrt(1 + s), the v of Alg. 4 with A before the update, and overwrites u.

    The new inverse is W (I - u u' / (1 + s)) W' (Sherman-Morrison, Eq. 11). For any orthogonal Q it has the root W Q
    with the direction Q'u shrunk by sqrt(1 + s). Q is the reflection that maps u to a single column, so the shrinking
    scales that column instead of subtracting: a direction whose variance falls by 1e24 keeps its digits.
    """
    d = len(u)
    q = np.sqrt(1 + s)
    for a in range(d):
        total = 0.0
        for b in range(d):
            total += root[a, b] * u[b]
        v[a] = total / q
    if s > 0:
        c = 0  # the column of the largest |u_c|: a reflection onto a smaller one would cancel
        for b in range(d):
            if abs(u[b]) > abs(u[c]):
                c = b
        signed = np.copysign(np.sqrt(s), u[c])
        u[c] += signed
        scale = 1 / (signed * u[c])
        for a in range(d):
            image = (q * v[a] + signed * root[a, c]) * scale
            for b in range(d):
                root[a, b] -= image * u[b]
            root[a, c] = v[a] / np.sqrt(s)


@compiled
def update_root(root, u, s, v):
    """Call `update_root_inlined` from Python."""
    update_root_inlined(root, u, s, v)


@compiled
def largest_gain(gains, partner, first, count, start, low, high, full, taken):
    """Return the largest gain in rows low to high - 1 and its pair's number, the smallest among equals.

    `gains` starts at row low. Items in `full` and pairs in `taken` are left out; if nothing remains, the number is -1.
    """
    base = start[low]
    largest, number = -np.inf, np.int64(-1)
    for i in range(low, high):
        if full[i]:
            continue
        e, p = start[i], first[i]
        for t in range(count[i]):
            if gains[e - base + t] > largest and not full[partner[p + t]] and not _contains(taken, e + t):
                largest, number = gains[e - base + t], e + t
    return largest, number


@compiled
def _contains(ascending, value):
    at = np.searchsorted(ascending, value)
    return at < len(ascending) and ascending[at] == value
