"""Compiled inner loops of the engine: the tiles of a scan, the bounds of the pool, the picks from the working set.

Candidate pairs come as the arrays of `candidates.Rows`, as in `pairsmith.design.kernels`.
"""

from typing import Any, NamedTuple

import numpy as np

from pairsmith.design.compiling import compiled, inlined
from pairsmith.design.kernels import update_root_inlined

# Arguments that travel together; numba accepts named tuples.


class StripSide(NamedTuple):
    """The items on one side of a strip, as `Screening.write_float32_rows` prepares them."""

    rows: Any
    place: int  # of the first row, in the order of the scan


class ScreenFloor(NamedTuple):
    """The current floor of a screen, in the units of its products."""

    shift: Any  # how far the floor has risen since the rows were written
    growth: Any  # the current floor over the one the rows were written for, with scores; otherwise 0
    floor: float
    unit: float  # the decrease of d_ij when the product g_ij increases by one


class ScreenScratch(NamedTuple):
    """Memory of one thread for one tile and for the hits it finds."""

    left: Any
    products: Any
    i: Any
    j: Any
    bound: Any


class PoolArrays(NamedTuple):
    """The arrays of `pool.Pool`, one entry per pooled pair."""

    bound: Any  # an upper bound on the gain
    applied: Any  # the number of updates since the scan that the bound takes into account
    i: Any  # the pair's two items, as places in Pool.items
    j: Any
    weight: Any  # empty if all weights are 1


class WorkingArrays(NamedTuple):
    """The arrays of `working_set.WorkingSet`, one entry per pair unless noted."""

    gain: Any  # the gain, or an upper bound close to it
    first: Any  # the pair's two items, as rows of X
    second: Any
    weight: Any  # empty if all weights are 1
    X: Any  # the features, one row per item
    marked: Any  # scratch; with item effects, 1 where the gain was recomputed
    rho: Any  # scratch, one entry per item
    u: Any  # scratch, one entry per feature


class PickRule(NamedTuple):
    """Which pair is picked, and when picking stops. All numbers but the first are shares of the best gain."""

    min_gain: float  # stop when the best gain, lowered by the margin, is below this
    margin: float
    near: float  # recompute gains this close to the best
    tie: float  # treat gains this close to the best as equal, and pick the first pair


class PickLog(NamedTuple):
    """Output of the picks, one entry per pick."""

    place: Any  # in the working set
    d: Any  # d_ij times the weight
    terms: Any  # Design.sum_of_term_norms() before the pick
    V: Any  # row m is the v of pick m


@compiled
def narrow_to_float32(Z, order, columns, factor, out, squared_norms):
    """Write factor Z[order][:, columns] in float32, and the squared norms of these rows before rounding."""
    for a in range(len(order)):
        i = order[a]
        total = 0.0
        for c in range(len(columns)):
            value = Z[i, columns[c]] * factor
            out[a, c] = value
            total += value * value
        squared_norms[a] = total


@compiled
def screen(left, right, strips, position, tile, current, scratch):
    """Write the pairs i < j of the strips with g_ij < 0, and their bounds, to the scratch; return their number.

    A strip (a, a_end, b, b_end) holds the pairs with a <= i < a_end and b <= j < b_end.

    Rows are (z, -1, -h). The left side is turned into (z, h - shift, 1), so that one product per tile gives
    g = z_i'z_j - h_i - h_j + shift. The test is the sign of g, and an integer OR tests 32 signs at once, so the
    comparison is hidden behind the product. The bound is floor - unit g. With growth > 0, rows are (z, a, b, -1, -h),
    and the left side is (z, growth b, growth a, h - shift, 1).

    The loop stops when the scratch may be too small for another tile. `position` (strip, column or -1) then says where
    to resume.
    """
    A, a0, B, b0 = left.rows, left.place, right.rows, right.place
    shift, growth, floor, unit = current.shift, current.growth, current.floor, current.unit
    products, out_i, out_j, out_bound = scratch.products, scratch.i, scratch.j, scratch.bound
    width = A.shape[1]
    count = 0
    while position[0] < len(strips):
        a, a_end, b_begin, b_end = strips[position[0]]
        height = a_end - a
        L = scratch.left[: height * width].reshape(height, width)
        for r in range(height):
            for c in range(width - 2):
                L[r, c] = A[a - a0 + r, c]
            if growth > 0:
                L[r, width - 4] = growth * A[a - a0 + r, width - 3]
                L[r, width - 3] = growth * A[a - a0 + r, width - 4]
            L[r, width - 2] = -A[a - a0 + r, width - 1] - shift
            L[r, width - 1] = np.float32(1)
        b = max(b_begin, position[1])
        while b < b_end:
            if count + height * tile > len(out_i):
                position[1] = b
                return count
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
                            out_i[count], out_j[count] = a + r, b + c
                            out_bound[count] = floor - unit * P[r, c]
                            count += P[r, c] < 0
            b += tile
        position[0] += 1
        position[1] = -1
    return count


@compiled
def add_effect_variances(gains, own, E, place, partner, first, count, start, low, high):
    """Add own_i + own_j - 2 E_ij to the gains of rows low to high - 1.

    `place` maps items to rows of E. If it is empty, every E_ij is 0.
    """
    base = start[low]
    for i in range(low, high):
        for t in range(count[i]):
            j = partner[first[i] + t]
            variance = own[i] + own[j]
            if len(place) > 0:
                variance -= 2 * E[place[i], place[j]]
            gains[start[i] - base + t] += max(variance, 0.0)


@compiled
def apply_logistic_weights(gains, scores, partner, first, count, start, low, high):
    """Multiply the gains of rows low to high - 1 by p (1 - p), where p = 1 / (1 + exp(s_j - s_i))."""
    base = start[low]
    for i in range(low, high):
        for t in range(count[i]):
            small = np.exp(-abs(scores[i] - scores[partner[first[i] + t]]))
            gains[start[i] - base + t] *= small / (1 + small) ** 2


@compiled
def select_above_floor(gains, partner, first, count, start, low, high, floor, out_i, out_j, out_gain):
    """Write the pairs of rows low to high - 1 whose gain reaches the floor, and return their number."""
    base = start[low]
    size = 0
    for i in range(low, high):
        for t in range(count[i]):
            gain = gains[start[i] - base + t]
            out_i[size], out_j[size], out_gain[size] = i, partner[first[i] + t], gain
            size += gain >= floor
    return size


@compiled
def apply_updates(pool, rho, m, low, high, threshold):
    """Lower the bounds that reach the threshold by the updates below m that they lack.

    Update l lowers the gain of pair (i, j) by its weight times (rho_il - rho_jl)^2.
    """
    bound, applied, i, j, weight = pool.bound, pool.applied, pool.i, pool.j, pool.weight
    for e in range(low, high):
        if bound[e] >= threshold and applied[e] < m:
            decrease = 0.0
            for update in range(applied[e], m):
                decrease += (rho[i[e], update] - rho[j[e], update]) ** 2
            bound[e] -= weight[e] * decrease if len(weight) > 0 else decrease
            applied[e] = m


@compiled
def _project(X, root, i, j, u):
    """Write u = W'(x_i - x_j) and return |u|^2."""
    for b in range(len(u)):
        u[b] = 0.0
    for a in range(X.shape[1]):
        x = X[i, a] - X[j, a]
        for b in range(X.shape[1]):
            u[b] += x * root[a, b]
    total = 0.0
    for b in range(X.shape[1]):
        total += u[b] * u[b]
    return total


# Compiling the next three takes most of the time of a first pick. They avoid np.empty, min and max, which numba would
# have to compile as well.


@inlined
def _refresh_best(working, root, near):
    """Recompute from the root the best gain and all gains near it; return the best and how many were recomputed.

    Gains are upper bounds until they are recomputed. The places of the recomputed pairs, which depend only on the picks
    so far, go to `working.marked`, ascending. Gains are compared in chunks of 32, few of which need a closer look.
    """
    gain, first, second, weight, X, marked, _, u = working
    top, best, size = -np.inf, 0, len(gain)
    for low in range(0, size, 32):
        high = low + 32 if low + 32 < size else size
        larger = 0
        for e in range(low, high):
            larger += gain[e] > top
        if larger > 0:
            for e in range(low, high):
                if gain[e] > top:
                    top, best = gain[e], e
    if top == -np.inf:
        return top, 0
    weighted = len(weight) > 0
    top = gain[best] = _project(X, root, first[best], second[best], u) * (weight[best] if weighted else 1.0)
    count = 0
    for low in range(0, size, 32):
        high = low + 32 if low + 32 < size else size
        threshold = top - near * abs(top)
        close = 0
        for e in range(low, high):
            close += gain[e] >= threshold
        if close > 0:
            for e in range(low, high):
                if gain[e] >= top - near * abs(top):
                    if e != best:
                        gain[e] = _project(X, root, first[e], second[e], u) * (weight[e] if weighted else 1.0)
                    marked[count] = e
                    count += 1
                    if gain[e] > top:
                        top = gain[e]
    return top, count


@inlined
def _include_best(working, root, v, tie, close):
    """Include the best pair in the design and lower all gains; return its place and its gain.

    The best is the first pair, up to ties, among the first `close` of those marked.
    """
    gain, first, second, weight, X, marked, rho, u = working
    place, s = -1, -1.0
    for e in marked[:close]:
        if gain[e] > s + tie * abs(s):
            place, s = e, gain[e]
    _project(X, root, first[place], second[place], u)
    if len(weight) > 0:
        for b in range(len(u)):
            u[b] *= np.sqrt(weight[place])
    update_root_inlined(root, u, s, v)
    # A loop, because np.dot takes half a second to compile and is no faster.
    for i in range(len(X)):
        total = 0.0
        for a in range(len(v)):
            total += X[i, a] * v[a]
        rho[i] = total
    if len(weight) > 0:
        for e in range(len(gain)):
            gain[e] -= weight[e] * (rho[first[e]] - rho[second[e]]) ** 2
    else:
        for e in range(len(gain)):
            gain[e] -= (rho[first[e]] - rho[second[e]]) ** 2
    gain[place] = -np.inf
    return place, s


@compiled
def pick_best(working, root, sizes, count, rule, log):
    """Include the best pair in the design, up to `count` times; return the number of picks and the last best gain.

    `sizes` is the design's. Picking stops early when the best gain fails the rule. With a count of 0, the kernel only
    finds the best gain.
    """
    m = 0
    while True:
        top, close = _refresh_best(working, root, rule.near)
        if m >= count or top == -np.inf or top - rule.margin * abs(top) < rule.min_gain:
            return m, top
        log.terms[m] = 0.0
        for a in range(root.shape[0]):
            total = 0.0
            for b in range(root.shape[1]):
                total += root[a, b] ** 2
            log.terms[m] += sizes[a] * np.sqrt(total)
        log.place[m], log.d[m] = _include_best(working, root, log.V[m], rule.tie, close)
        m += 1
        if m == count:
            return m, top
