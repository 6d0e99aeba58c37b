"""Compiled inner loops of the engine: the tiles of a scan, bounds of the pool, picks from the front."""

from typing import Any, NamedTuple

import numpy as np

from pairsmith.design.kernels import compiled, include_inlined, inlined

# Arguments that belong together. numba takes named tuples as they are.


class Side(NamedTuple):
    """The rows of one side of a strip, as `Screening.write_float32_rows` makes them."""

    rows: Any
    place: int  # of the first row, in the order of the pass


class Level(NamedTuple):
    """The floor of a screen, in the units of its products."""

    shift: Any  # by how much the floor has risen since the rows were made
    growth: Any  # the floor now over the floor then, where there are scores; else 0
    floor: float
    unit: float  # by how much d_ij falls when the product g_ij grows by one


class Scratch(NamedTuple):
    """Memory of one thread, for one tile and for what it finds."""

    left: Any
    products: Any
    i: Any
    j: Any
    bound: Any


class PoolArrays(NamedTuple):
    """One entry a pooled pair; see `pool.Pool`."""

    bound: Any
    since: Any
    i: Any
    j: Any
    weight: Any  # empty where all weights are 1


class FrontArrays(NamedTuple):
    """One entry a pair of the front, but for X; see `front.Front`."""

    value: Any  # the gain, or a bound close to it
    first: Any  # its two items, by their places in X
    second: Any
    weight: Any  # empty where all weights are 1
    X: Any  # the features of its items
    listed: Any  # scratch, a number a pair
    rho: Any  # scratch, a number an item
    u: Any  # scratch, a number a feature


class PickRule(NamedTuple):
    """Which pair is picked, and when picking ends; all but the limit are relative."""

    limit: float  # the best must reach this ...
    margin: float  # ... even when it is lowered by so much
    near: float  # gains this close to the best are computed afresh
    equal: float  # gains this close are equal: the first pair is picked


class Picked(NamedTuple):
    """One entry a pick."""

    place: Any  # in the front
    d: Any  # d_ij, weight included
    terms: Any  # Design.terms() before it
    V: Any  # row m is the v of pick m


@compiled
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


@compiled
def screen(left, right, strips, at, tile, level, scratch):
    """The pairs of strips (a, a_end, b, b_end), a <= i < a_end, b <= j < b_end, i < j, with g_ij < 0; how many.

    Rows are (z, -1, -h), turned into (z, h - shift, 1) on the left. So one product a tile gives
    g = z_i'z_j - h_i - h_j + shift, and the test is its sign, 32 of which an integer OR tells at once (d = 370,
    1.1e8 pairs, one in 160 kept: no slower than the bare product). The bound kept is floor - unit g.
    With growth > 0, rows are (z, a, b, -1, -h), on the left (z, growth b, growth a, h - shift, 1).
    Stops when the output may not hold another tile; `at` (strip, column or -1) tells where to go on.
    """
    A, a0, B, b0 = left.rows, left.place, right.rows, right.place
    shift, growth, floor, unit = level.shift, level.growth, level.floor, level.unit
    products, out_i, out_j, out_bound = scratch.products, scratch.i, scratch.j, scratch.bound
    width = A.shape[1]
    found = 0
    while at[0] < len(strips):
        a, a_end, b_begin, b_end = strips[at[0]]
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


@compiled
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


@compiled
def subtract_steps(pool, rho, m, low, high, threshold):
    """Bring bounds that reach the threshold up to step m: minus w_e times the sum of (rho_i - rho_j)^2 they miss."""
    bound, since, i, j, weight = pool.bound, pool.since, pool.i, pool.j, pool.weight
    for e in range(low, high):
        if bound[e] >= threshold and since[e] < m:
            lost = 0.0
            for step in range(since[e], m):
                lost += (rho[i[e], step] - rho[j[e], step]) ** 2
            bound[e] -= weight[e] * lost if len(weight) > 0 else lost
            since[e] = m


@compiled
def widen(gains, own, E, place, partner, first, count, start, low, high):
    """d_ij <- d_ij + own_i + own_j - 2 E_ij for the pairs of the rows low to high - 1.

    `place` says where in E an item is; where it is empty, E_ij is 0.
    """
    base = start[low]
    for i in range(low, high):
        for t in range(count[i]):
            j = partner[first[i] + t]
            beside = own[i] + own[j]
            if len(place) > 0:
                beside -= 2 * E[place[i], place[j]]
            gains[start[i] - base + t] += max(beside, 0.0)


@compiled
def weigh(gains, scores, partner, first, count, start, low, high):
    """d_ij <- p (1 - p) d_ij for the pairs of the rows low to high - 1, p = 1 / (1 + exp(s_j - s_i))."""
    base = start[low]
    for i in range(low, high):
        for t in range(count[i]):
            small = np.exp(-abs(scores[i] - scores[partner[first[i] + t]]))
            gains[start[i] - base + t] *= small / (1 + small) ** 2


@compiled
def _project(X, root, i, j, u):
    """u = W'(x_i - x_j); returns |u|^2."""
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


# Compiling them is most of what a first pick takes, so these three do without np.empty, min and max, which numba would
# compile too.


@inlined
def refine(front, root, near):
    """Gains, from the root, for the best of the front and whatever comes near it; returns the largest and how many.

    Until then values are upper bounds. `front.listed` gets the places of those computed now, ascending; they depend on
    nothing but the picks so far. Chunks are compared at once, and few need a closer look.
    """
    value, first, second, weight, X, listed, _, u = front
    top, best, size = -np.inf, 0, len(value)
    for low in range(0, size, 32):
        high = low + 32 if low + 32 < size else size
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
        high = low + 32 if low + 32 < size else size
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
                    if value[e] > top:
                        top = value[e]
    return top, count


@inlined
def _take(front, root, v, equal, close):
    """The best pair, of gains within `equal` the first in the front, joins the design: its place and d_e.

    It is among the first `close` of those listed.
    """
    value, first, second, weight, X, listed, rho, u = front
    place, s = -1, -1.0
    for e in listed[:close]:
        if value[e] > s + equal * abs(s):
            place, s = e, value[e]
    _project(X, root, first[place], second[place], u)
    if len(weight) > 0:
        for b in range(len(u)):
            u[b] *= np.sqrt(weight[place])
    include_inlined(root, u, s, v)
    # A loop and not np.dot, which takes half a second to compile and is no faster.
    for i in range(len(X)):
        total = 0.0
        for a in range(len(v)):
            total += X[i, a] * v[a]
        rho[i] = total
    if len(weight) > 0:
        for e in range(len(value)):
            value[e] -= weight[e] * (rho[first[e]] - rho[second[e]]) ** 2
    else:
        for e in range(len(value)):
            value[e] -= (rho[first[e]] - rho[second[e]]) ** 2
    value[place] = -np.inf
    return place, s


@compiled
def picks(front, root, sizes, count, rule, picked):
    """Take up to `count` times the best pair of the front into the design: how many times it could, the best before.

    `sizes` is the design's. Ends when the best no longer reaches the limit. With a count of 0 it only finds the best.
    """
    m = 0
    while True:
        top, close = refine(front, root, rule.near)
        if m >= count or top == -np.inf or top - rule.margin * abs(top) < rule.limit:
            return m, top
        picked.terms[m] = 0.0
        for a in range(root.shape[0]):
            total = 0.0
            for b in range(root.shape[1]):
                total += root[a, b] ** 2
            picked.terms[m] += sizes[a] * np.sqrt(total)
        picked.place[m], picked.d[m] = _take(front, root, picked.V[m], rule.equal, close)
        m += 1
        if m == count:
            return m, top
