"""Criteria other than D-optimality (Sec. 6.1, Appendix C). Each is a generator of (i, j, gain), like the algorithms.

Mutual information has a module of its own, `information`.

Those that use a model take the scores s = beta'x of a fitted one: an answer then has the probability
p_ij = 1 / (1 + exp(-(s_i - s_j))), and a pair the weight w_ij = p_ij (1 - p_ij).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from pairsmith import kernels
from pairsmith.candidates import Ints, Remaining, Rows
from pairsmith.design import Design, Floats, Steps, fold, inverse_root, logistic_weight, terms_of
from pairsmith.information import binary_entropy

_BLOCK = 1 << 17  # pairs that one thread treats at a time


def random(design: Design, remaining: Remaining, rng: np.random.Generator) -> Steps:
    """Pairs uniformly at random from the remaining candidates, which are not enumerated (Sec. 6.1, "Ran").

    Draws pair numbers and rejects what is gone. Where that would reject too often, the candidates are narrowed to
    items with room, which is O(N), or, once few are left, listed. The gain is that of log det.
    """
    rows = remaining.rows
    listed = False
    while not listed:
        listed = len(rows) <= 4 * len(remaining.taken) + 1000
        numbers = rng.permutation(len(rows)) if listed else rng.integers(len(rows), size=1000)
        accepted = 0
        for i, j in rows.pairs(numbers).tolist():
            if remaining.allows(i, j):
                gain, _ = design.add(i, j)
                remaining.take(i, j)
                accepted += 1
                yield i, j, gain
        if accepted < len(numbers) / 2:
            rows = rows.among(~remaining.full)


def entropy(design: Design, remaining: Remaining, k: int, scores: Floats) -> Steps:
    """The pairs whose answer is most uncertain under the model: the smallest differences of scores (Appendix C).

    The gain is the entropy of the answer, in nats. In each group the scores are sorted; a pair (a, b) of the sorted
    comes after all (a, a + 1), ..., (a, b - 1), so a heap with one entry for each a brings them in order, and only the
    k smallest neighbours can start one: O(N log N + k log k), and no list of pairs.
    """
    rows, wanted = remaining.rows, k
    while True:
        found = 0
        for i, j in _closest(rows, scores, wanted + len(remaining.taken)):
            if remaining.allows(i, j):
                design.add(i, j)
                remaining.take(i, j)
                found += 1
                yield i, j, float(binary_entropy(expit(scores[i] - scores[j])))
        if found == 0 and wanted + len(remaining.taken) >= len(rows):
            return
        # An exposure cap has used up those: look further, among items that have room.
        rows, wanted = rows.among(~remaining.full) if rows.groups is None else rows, 4 * wanted


def _closest(rows: Rows, scores: Floats, count: int) -> Iterator[tuple[int, int]]:
    """About `count` pairs in the order of their difference of scores, the smaller pair among equals."""
    if len(rows) == 0:
        return
    if rows.groups is None:
        i, j = rows.pairs(np.arange(len(rows))).T
        gap = np.abs(scores[i] - scores[j])
        count = min(count, len(gap))
        near = np.flatnonzero(gap <= np.partition(gap, count - 1)[count - 1])
        near = near[np.argsort(gap[near], kind="stable")]
        yield from zip(i[near].tolist(), j[near].tolist(), strict=True)
        return
    group = np.repeat(np.arange(len(rows.groups) - 1), np.diff(rows.groups))
    order = np.lexsort((rows.partner, scores[rows.partner], group))
    items, end = rows.partner[order].astype(np.int64), rows.groups[1:][group]  # sorted by score within their group
    s = scores[items]
    at = np.flatnonzero(np.arange(1, len(items) + 1) < end)  # who has a neighbour above
    gap = s[at + 1] - s[at]
    smaller, larger = np.minimum(items[at], items[at + 1]), np.maximum(items[at], items[at + 1])
    if count < len(at):
        near = np.flatnonzero(gap <= np.partition(gap, count - 1)[count - 1])
        near = near[np.lexsort((larger[near], smaller[near], gap[near]))[:count]]
    else:
        near = np.arange(len(at))
    heap = [(float(gap[e]), int(smaller[e]), int(larger[e]), int(at[e]), int(at[e]) + 1) for e in near.tolist()]
    heapq.heapify(heap)
    for _ in range(count):
        if not heap:
            return
        _, i, j, a, b = heap[0]
        yield i, j
        if b + 1 < end[a]:
            one, other = int(items[a]), int(items[b + 1])
            heapq.heapreplace(heap, (float(s[b + 1] - s[a]), min(one, other), max(one, other), a, b + 1))
        else:
            heapq.heappop(heap)


def a_optimal(design: Design, remaining: Remaining, threads: int) -> Steps:
    """Greedily minimise tr(A^-1), the mean variance of the estimate: the paper's open question, in O(N^2 (K + d)).

    By Sherman-Morrison a pair lowers the trace by n_e / (1 + d_e), d_e = x_e'A^-1 x_e, n_e = |A^-1 x_e|^2. When another
    pair joins, A^-1 becomes A^-1 - v v' (Alg. 4), so with rho_i = v'x_i and tau_i = v'A^-1 x_i

        d_e <- d_e - (rho_i - rho_j)^2
        n_e <- n_e - 2 (rho_i - rho_j)(tau_i - tau_j) + |v|^2 (rho_i - rho_j)^2,

    two numbers a pair and O(1) a step. tr(A^-1) is not supermodular in general, so nothing is skipped: every pair is
    looked at in every step. Once subtraction has taken digits, both are computed from scratch.
    """
    rows = remaining.rows
    arrays = rows.partner, rows.first, rows.count, rows.start
    d, n = np.empty((2, len(rows)))
    computed_at, stale, v, tau = np.inf, False, np.zeros(0), np.zeros(0)
    Z = Y = rho = np.zeros(0)

    def gains(low: int, high: int, out: Floats) -> Floats:
        part = slice(rows.start[low], rows.start[high])
        if stale:
            kernels.subtract_traces(
                d[part], n[part], rho, rho[rows.partner], tau, tau[rows.partner], float(v @ v), *arrays[1:], low, high
            )
        else:
            kernels.distances(Z, *arrays, low, high, d[part])
            kernels.distances(Y, *arrays, low, high, n[part])
        return np.divide(n[part], 1 + d[part], out=out[: part.stop - part.start])

    with _search(remaining, threads) as best:
        while True:
            if not stale:
                Z = design.X @ design.root
                Y = Z @ design.root.T
            i, j, largest = best(gains)
            if stale and largest < kernels.CANCELLED * computed_at:
                stale = False
                continue
            if not stale:
                computed_at = largest
            if i < 0:
                return
            root = design.root.copy()
            # Of Y, whose terms are longer than those of Z: the gain is |y_i - y_j|^2 / (1 + d).
            design.note_rounding(float(np.sum((Y[i] - Y[j]) ** 2)), terms_of(design.extent, root @ root.T))
            _, v = design.add(i, j)
            rho, tau = design.X @ v, design.X @ (root @ (root.T @ v))
            remaining.take(i, j)
            stale = True
            yield i, j, largest


def fisher(design: Design, remaining: Remaining, scores: Floats, compared: Ints, ridge: float, threads: int) -> Steps:
    """Greedily maximise f(S) = -tr(I_q(S)^-1 I_p), the Fisher information ratio (Appendix C).

    I_p is the mean of w_ij x_ij x_ij' over all candidates plus delta I, I_q the same over S (the pairs compared before
    included), delta the ridge. With M = sum_S w x x' + |S| delta I, f = -|S| tr(M^-1 I_p), and a candidate lowers
    tr(M^-1 I_p) by w |C x_e|^2 / (1 + w |U x_e|^2), where U'U = M^-1 and C'C = M^-1 I_p M^-1: two passes over the pairs
    a step, not the O(N^4) of the paper. The gain is the change of f.
    """
    rows, X = remaining.rows, design.X
    arrays = rows.partner, rows.first, rows.count, rows.start
    w = np.empty(len(rows))
    prior = np.full(X.shape[1], np.sqrt(ridge))
    root_p = np.hstack([_population(rows, X, design.extent, scores, w) / np.sqrt(len(rows)), np.diag(prior)])
    weights = logistic_weight(scores[compared[:, 0]] - scores[compared[:, 1]])
    terms = fold(np.zeros((0, X.shape[1])), (X[compared[:, 0]] - X[compared[:, 1]]) * np.sqrt(weights)[:, None])
    size = len(compared)
    f = -float(np.sum((inverse_root(terms / np.sqrt(max(size, 1)), prior)[0].T @ root_p) ** 2))
    Z_u = Z_c = X

    def gains(low: int, high: int, out: Floats) -> Floats:
        part = slice(rows.start[low], rows.start[high])
        along, out = np.empty(part.stop - part.start), out[: part.stop - part.start]
        kernels.distances(Z_u, *arrays, low, high, along)
        kernels.distances(Z_c, *arrays, low, high, out)
        return np.divide(w[part] * out, 1 + w[part] * along, out=out)

    with _search(remaining, threads) as best:
        while True:
            size += 1
            half, _ = inverse_root(terms, np.sqrt(size) * prior)  # U'
            across = half @ (half.T @ root_p)  # C'
            Z_u, Z_c = X @ half, X @ across
            i, j, _ = best(gains)
            if i < 0:
                return
            weight = float(logistic_weight(scores[i] - scores[j]))
            design.note_rounding(float(np.sum((Z_c[i] - Z_c[j]) ** 2)), terms_of(design.extent, across))
            terms = fold(terms, np.sqrt(weight) * (X[i] - X[j])[None, :])
            # Afresh: the trace falls by orders of magnitude, so `largest` taken from it would leave few digits.
            before, f = f, -float(np.sum((inverse_root(terms, np.sqrt(size) * prior)[0].T @ root_p) ** 2)) * size
            design.add(i, j)
            remaining.take(i, j)
            yield i, j, f - before


def _population(rows: Rows, X: Floats, extent: Floats, scores: Floats, w: Floats) -> Floats:
    """A root R of the sum over all candidates of w_ij x_ij x_ij' = X'(D - W)X, a graph Laplacian; fills in w.

    In columns brought to one scale, so that none takes the digits of another.
    """
    scale = np.where(extent > 0, extent, 1.0)
    X = X / scale
    degree, W_X = np.zeros(len(X)), np.zeros_like(X)
    for low, high in rows.blocks(_BLOCK):
        i, j = rows.pairs(np.arange(rows.start[low], rows.start[high])).T
        part = w[rows.start[low] : rows.start[high]]
        part[:] = logistic_weight(scores[i] - scores[j])
        degree += np.bincount(i, part, len(X)) + np.bincount(j, part, len(X))
        W_X[low:high] += csr_array((part, (i - low, j)), shape=(high - low, len(X))) @ X
    total = (X.T * degree) @ X - X.T @ W_X - W_X.T @ X
    values, vectors = np.linalg.eigh((total + total.T) / 2)
    root: Floats = scale[:, None] * (vectors * np.sqrt(np.maximum(values, 0)))
    return root


Gains = Callable[[int, int, Floats], Floats]  # of the rows low to high - 1, into the array given


@contextmanager
def _search(remaining: Remaining, threads: int) -> Iterator[Callable[[Gains], tuple[int, int, float]]]:
    """A function that finds the remaining pair of largest gain, the smallest of equals; (-1, -1, -inf) if none."""
    rows = remaining.rows
    arrays = rows.partner, rows.first, rows.count, rows.start
    blocks = rows.blocks(_BLOCK)
    largest_block = max(int(rows.start[high] - rows.start[low]) for low, high in blocks)
    pool = ThreadPoolExecutor(threads)

    def best(gains: Gains) -> tuple[int, int, float]:
        taken = remaining.taken

        def work(block: tuple[int, int]) -> tuple[float, int]:
            found = gains(*block, np.empty(largest_block))
            largest, number = kernels.best(found, *arrays, *block, remaining.full, taken)
            return largest, -number  # so that the maximum is the smaller number among equals

        largest, number = max((pool.map if threads > 1 and len(blocks) > 1 else map)(work, blocks))
        if number > 0 or largest == -np.inf:
            return -1, -1, -np.inf
        i, j = rows.pairs(np.array([-number]))[0].tolist()
        return i, j, float(largest)

    try:
        yield best
    finally:
        pool.shutdown(cancel_futures=True)
