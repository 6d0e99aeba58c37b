"""Compiled inner loops over plain arrays. No validation, no objects, no global state.

Candidate pairs come as the arrays of `candidates.Rows`: row i holds the pairs of i with
partner[first[i] : first[i] + count[i]], numbered from start[i].
"""

import warnings

import numpy as np
from numba import njit, types

# Sums may be reassociated and fused, which is what lets them vectorise. fastmath=True would also let the
# compiler assume that there is no inf or nan, which breaks every test for them.
_HOW = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
_cached = True


def _compiled(function):
    """Compiled when it is first called, and kept on disk for the next process if numba finds a place there."""
    global _cached
    if _cached:
        try:
            return njit(function, cache=True, **_HOW)
        except RuntimeError:  # neither NUMBA_CACHE_DIR, nor beside this file, nor in the home folder
            _cached = False
            warnings.warn(
                "there is no place that can be written to for what numba compiles, so every process compiles it again,"
                " which takes some seconds; name a folder in the environment variable NUMBA_CACHE_DIR",
                stacklevel=2,
            )
    return njit(function, **_HOW)


NAIVE, FACTORIZATION, SCALAR = 0, 1, 2

# A value got by subtraction has lost digits once it is this small beside the last one computed afresh.
CANCELLED = 1e-2

_TILE = 64  # partners whose features stay in the second-level cache while 32 rows pass over them
_STRIP = 32


@_compiled
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


@_compiled
def _squared_distance(Z, i, j):
    total = 0.0
    for c in range(Z.shape[1]):
        total += (Z[i, c] - Z[j, c]) ** 2
    return total


@_compiled
def subtract_squares(gains, rho, rho_partner, first, count, start, low, high):
    """d_e <- d_e - (rho_i - rho_j)^2 for the pairs of the rows low to high - 1 (Eq. 14)."""
    base = start[low]
    for i in range(low, high):
        e, p, r = start[i] - base, first[i], rho[i]
        for t in range(count[i]):
            gains[e + t] -= (r - rho_partner[p + t]) ** 2


@_compiled
def subtract_traces(d, n, rho, rho_partner, tau, tau_partner, length, first, count, start, low, high):
    """d_e <- d_e - a^2 and n_e <- n_e - 2 a b + length a^2, a = rho_i - rho_j, b = tau_i - tau_j (A-optimality)."""
    base = start[low]
    for i in range(low, high):
        e, p, r, t = start[i] - base, first[i], rho[i], tau[i]
        for at in range(count[i]):
            a = r - rho_partner[p + at]
            n[e + at] += a * (length * a - 2 * (t - tau_partner[p + at]))
            d[e + at] -= a * a


@_compiled
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


@_compiled
def _holds(ascending, value):
    at = np.searchsorted(ascending, value)
    return at < len(ascending) and ascending[at] == value


# The lazy algorithms' max-heap: parallel arrays, the root at 0, the children of h at 4h + 1 to 4h + 4 (four
# gains share a cache line, and half the levels of a binary heap mean half the misses). Ordered by gain, then
# by smaller pair; a pair (i, j) is coded as i * n + j.


@_compiled
def fill_codes(code, partner, first, count, start, low, high):
    """code[e] = i n + j for the pairs of the rows low to high - 1."""
    n = len(count)
    for i in range(low, high):
        for t in range(count[i]):
            code[start[i] + t] = i * n + partner[first[i] + t]


@_compiled
def heapify(gain, code):
    """Floyd's construction; at that point every entry is of step 0."""
    size = len(gain)
    nothing, afresh = np.zeros(1, np.int32), np.zeros(1, np.float32)
    for h in range((size - 2) // 4, -1, -1):
        _sift_down(gain, code, nothing, afresh, size, h, gain[h], code[h], np.int32(0), np.float32(0))


@_compiled
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


@_compiled
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


@_compiled
def lazy_maximum(gain, code, since, afresh, size, k, full, rule, X, factor, Z, fresh, V, rho, budget):
    """FindMax of Alg. 5 at step k: the pair whose gain, brought up to date, still tops the heap.

    `since` is the step of each entry's gain; `afresh`, for the scalar rule, its gain when last computed from scratch.

    Returns (its code or -1, the heap's new size, gains evaluated). Stops early, with code -2, after `budget`
    evaluations, so that a caller can show progress and be interrupted; calling again goes on.
    """
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


@_compiled
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


@_compiled
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


@_compiled
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


@_compiled
def _sum_of_squares(rho, since, k, i, j):
    total = 0.0
    for step in range(since, k):
        total += (rho[i, step] - rho[j, step]) ** 2
    return total


# The engine's kernels.


@_compiled
def measure(Z, norms, energy):
    """norms_i = |z_i|^2 and energy_c += the sum over i of z_ic^2, in one pass."""
    for i in range(Z.shape[0]):
        total = 0.0
        for c in range(Z.shape[1]):
            square = Z[i, c] * Z[i, c]
            energy[c] += square
            total += square
        norms[i] = total


@_compiled
def narrow(Z, order, columns, factor, out, kept):
    """out = factor Z[order][:, columns] in float32, and what that counts for in the squared lengths."""
    for a in range(len(order)):
        i = order[a]
        total = 0.0
        for c in range(len(columns)):
            value = Z[i, columns[c]] * factor
            out[a, c] = value
            total += value * value
        kept[a] = total


@_compiled
def screen(A, B, a0, b0, strips, at, tile, shift, growth, floor, unit, products, left, out_i, out_j, out_bound):
    """The pairs of strips (a, a_end, b, b_end), a <= i < a_end, b <= j < b_end, i < j, with g_ij < 0; how many.

    A holds the rows from a0 on, B those from b0 on: (z, -1, -h), turned into (z, h - shift, 1) on the left. So one
    product a tile gives g = z_i'z_j - h_i - h_j + shift, and the test is its sign, 32 of which an integer OR tells at
    once (d = 370, 1.1e8 pairs, one in 160 kept: no slower than the bare product). The bound kept is floor - unit g.
    With growth > 0, rows are (z, a, b, -1, -h), on the left (z, growth b, growth a, h - shift, 1).
    Stops when the output may not hold another tile; `at` (strip, column or -1) tells where to go on.
    """
    width = A.shape[1]
    found = 0
    while at[0] < len(strips):
        a, a_end, b_begin, b_end = strips[at[0]]
        height = a_end - a
        L = left[: height * width].reshape(height, width)
        for r in range(height):
            for c in range(width - 2):
                L[r, c] = A[a - a0 + r, c]
            if growth > 0:
                L[r, width - 4] = growth * A[a - a0 + r, width - 3]
                L[r, width - 3] = growth * A[a - a0 + r, width - 4]
            L[r, width - 2] = -A[a - a0 + r, width - 1] - shift
            L[r, width - 1] = np.float32(1)
        b = max(b_begin, at[1])
        while b < b_end:
            if found + height * tile > len(out_i):
                at[1] = b
                return found
            wide = min(tile, b_end - b)
            P = products[: height * wide].reshape(height, wide)
            np.dot(L, B[b - b0 : b - b0 + wide].T, P)
            bits = products[: height * wide].view(np.int32).reshape(height, wide)
            for r in range(height):
                begin = max(0, a + r + 1 - b)
                for low in range(begin - begin % 32, wide, 32):
                    signs = np.int32(-1)
                    if low + 32 <= wide:
                        signs = np.int32(0)
                        for c in range(low, low + 32):
                            signs |= bits[r, c]
                    if signs < 0:
                        for c in range(max(low, begin), min(low + 32, wide)):
                            out_i[found], out_j[found] = a + r, b + c
                            out_bound[found] = floor - unit * P[r, c]
                            found += P[r, c] < 0
            b += tile
        at[0] += 1
        at[1] = -1
    return found


@_compiled
def reaching(gains, partner, first, count, start, low, high, floor, out_i, out_j, out_gain):
    """The pairs of the rows low to high - 1 whose gain reaches the floor; returns how many."""
    base = start[low]
    found = 0
    for i in range(low, high):
        for t in range(count[i]):
            gain = gains[start[i] - base + t]
            out_i[found], out_j[found], out_gain[found] = i, partner[first[i] + t], gain
            found += gain >= floor
    return found


@_compiled
def pair_distances(Y, Z, i, j, out):
    """out_e = |y_i - z_j|^2."""
    for e in range(len(i)):
        total = 0.0
        for c in range(Y.shape[1]):
            total += (Y[i[e], c] - Z[j[e], c]) ** 2
        out[e] = total


@_compiled
def subtract_steps(bound, since, i, j, weight, rho, m, low, high, threshold):
    """Bring bounds that reach the threshold up to step m: minus w_e times the sum of (rho_i - rho_j)^2 they miss.

    `weight` is empty where all weights are 1.
    """
    for e in range(low, high):
        if bound[e] >= threshold and since[e] < m:
            lost = _sum_of_squares(rho, since[e], m, i[e], j[e])
            bound[e] -= weight[e] * lost if len(weight) > 0 else lost
            since[e] = m


@_compiled
def weigh(gains, scores, partner, first, count, start, low, high):
    """d_ij <- p (1 - p) d_ij for the pairs of the rows low to high - 1, p = 1 / (1 + exp(s_j - s_i))."""
    base = start[low]
    for i in range(low, high):
        for t in range(count[i]):
            small = np.exp(-abs(scores[i] - scores[partner[first[i] + t]]))
            gains[start[i] - base + t] *= small / (1 + small) ** 2


@_compiled
def refine(value, first, second, weight, X, root, near, listed):
    """Gains, from the root, for the best of the front and whatever comes near it; returns the largest and how many.

    Until then values are upper bounds. `listed` are the places of those computed now, ascending; they depend on nothing
    but the picks so far. Chunks are compared at once, and few need a closer look.
    """
    u = np.empty(X.shape[1])
    top, best, size = -np.inf, 0, len(value)
    for low in range(0, size, 32):
        high = min(low + 32, size)
        larger = 0
        for e in range(low, high):
            larger += value[e] > top
        if larger > 0:
            for e in range(low, high):
                if value[e] > top:
                    top, best = value[e], e
    if top == -np.inf:
        return top, 0
    weighted = len(weight) > 0
    top = value[best] = _project(X, root, first[best], second[best], u) * (weight[best] if weighted else 1.0)
    count = 0
    for low in range(0, size, 32):
        high = min(low + 32, size)
        reach = top - near * abs(top)
        close = 0
        for e in range(low, high):
            close += value[e] >= reach
        if close > 0:
            for e in range(low, high):
                if value[e] >= top - near * abs(top):
                    if e != best:
                        value[e] = _project(X, root, first[e], second[e], u) * (weight[e] if weighted else 1.0)
                    listed[count] = e
                    count += 1
                    top = max(top, value[e])
    return top, count


@_compiled
def picks(
    value, first, second, weight, X, root, V, sizes, count, limit, margin, near, equal, listed, place, gain, terms
):
    """Take up to `count` times the best pair of the front into the design; returns how many times it could.

    Fills in their place, d_e, Design.terms() before each, and V with their v. Ends when the best no longer reaches
    the limit.
    """
    for m in range(count):
        top, close = refine(value, first, second, weight, X, root, near, listed)
        if top == -np.inf or top - margin * abs(top) < limit:
            return m
        terms[m] = 0.0
        for a in range(root.shape[0]):
            total = 0.0
            for b in range(root.shape[1]):
                total += root[a, b] ** 2
            terms[m] += sizes[a] * np.sqrt(total)
        place[m], gain[m] = _include(value, first, second, weight, X, root, V[m], equal, listed[:close])
    return count


@_compiled
def _include(value, first, second, weight, X, root, v, equal, listed):
    """The best pair, of gains within `equal` the first in the front, joins the design: its place and d_e."""
    place, s = -1, -1.0
    for e in listed:
        if value[e] > s + equal * abs(s):
            place, s = e, value[e]
    d = X.shape[1]
    u = np.empty(d)
    _project(X, root, first[place], second[place], u)
    if len(weight) > 0:
        u *= np.sqrt(weight[place])
    # Design.add, on the same root.
    q = np.sqrt(1 + s)
    for a in range(d):
        total = 0.0
        for b in range(d):
            total += root[a, b] * u[b]
        v[a] = total / q
    if s > 0:
        own = 0
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
    rho = np.dot(X, v)
    if len(weight) > 0:
        for e in range(len(value)):
            value[e] -= weight[e] * (rho[first[e]] - rho[second[e]]) ** 2
    else:
        for e in range(len(value)):
            value[e] -= (rho[first[e]] - rho[second[e]]) ** 2
    value[place] = -np.inf
    return place, s


@_compiled
def _project(X, root, i, j, u):
    """u = W'(x_i - x_j); returns |u|^2."""
    u[:] = 0.0
    for a in range(X.shape[1]):
        x = X[i, a] - X[j, a]
        for b in range(X.shape[1]):
            u[b] += x * root[a, b]
    total = 0.0
    for b in range(X.shape[1]):
        total += u[b] * u[b]
    return total


_pread = types.ExternalFunction("pread", types.intp(types.intc, types.uintp, types.uintp, types.int64))


@_compiled
def read_rows(descriptor, offset, items, ascending, out):
    """out[r] = the bytes of row items[r] of an open file whose rows begin at `offset`; how many could be read.

    `ascending` sorts the items. Rows that follow each other in both are read at once.
    """
    size = out.shape[1]
    at = 0
    while at < len(ascending):
        first, run = ascending[at], 1
        while (
            at + run < len(ascending)
            and ascending[at + run] == first + run
            and items[first + run] == items[first] + run
        ):
            run += 1
        done = 0
        while done < run * size:
            read = _pread(
                descriptor,
                types.uintp(out.ctypes.data + first * size + done),
                types.uintp(run * size - done),
                types.int64(offset + items[first] * size + done),
            )
            if read <= 0:
                return at
            done += read
        at += run
    return at
