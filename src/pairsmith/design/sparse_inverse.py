"""The inverse of a large sparse positive definite matrix, such as the matrix of a graph of answers.

Items that were compared with only a few others are eliminated one by one, fewest neighbours first. To eliminate an
item v with pivot p = M_vv and entries a_u = M_vu, set M_uw <- M_uw - a_u a_w / p. What remains, the *core*, is small or
dense and goes to LAPACK. Then the rows of the inverse G are computed in reverse order, each from earlier ones:

    G_vu = -sum_w (a_w / p) G_wu,    G_vv = 1 / p - sum_w (a_w / p) G_wv,    w the neighbours that v had.

So in a matrix of t rows, a row costs t times the number of its neighbours instead of t^2.
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import csr_array

from pairsmith.data.arrays import Floats, Ints

_MAX_NEIGHBOURS = 16  # of an item that is eliminated
_MAX_DENSE_ROWS = 1500  # up to which LAPACK inverts the whole matrix quickly
_ROWS_PER_BLOCK = 64  # mirrored together; larger blocks on the diagonal waste more work


class _Eliminated(NamedTuple):
    item: int
    neighbours: Ints
    shares: Floats  # a_w / p
    pivot: float


def inverse(M: csr_array) -> tuple[Floats, Ints, float]:
    """Return G = M^-1 with its rows and columns reordered, that order, and log det M."""
    t = M.shape[0]
    eliminated = _eliminate(entries := _entries_by_row(M)) if t > _MAX_DENSE_ROWS else []
    core = np.setdiff1d(np.arange(t), [each.item for each in eliminated])
    order = np.concatenate([core, [each.item for each in reversed(eliminated)]]).astype(np.int64)
    place = np.empty(t, dtype=np.int64)
    place[order] = np.arange(t)
    G = np.zeros((t, t))
    s = len(core)
    if eliminated:
        dense = np.zeros((s, s))
        for item in core.tolist():
            for other, value in entries[item].items():
                dense[place[item], place[other]] = value
    else:
        dense = M.toarray()
    logdet = sum(float(np.log(each.pivot)) for each in eliminated)
    if s:  # LAPACK refuses an empty matrix
        dense, core_logdet = dense_inverse(dense)
        logdet += core_logdet
    G[:s, :s] = dense
    for v, (_, neighbours, shares, pivot) in enumerate(reversed(eliminated), start=s):
        w = place[neighbours]
        row = -(shares @ G[w, :v])
        G[v, :v] = G[:v, v] = row
        G[v, v] = 1 / pivot - shares @ row[w]
    return G, order, logdet


def _entries_by_row(M: csr_array) -> list[dict[int, float]]:
    """Return a dictionary for each row that maps columns to values."""
    values, columns, start = M.data.tolist(), M.indices.tolist(), M.indptr.tolist()
    return [dict(zip(columns[low:high], values[low:high], strict=True)) for low, high in pairwise(start)]


def _eliminate(entries: list[dict[int, float]]) -> list[_Eliminated]:
    """Eliminate items in place while one has few neighbours; return them in the order of elimination."""
    queue = [(len(row), item) for item, row in enumerate(entries)]
    heapq.heapify(queue)
    eliminated: list[_Eliminated] = []
    while queue:
        size, item = heapq.heappop(queue)
        row = entries[item]
        if size != len(row) or item not in row:
            continue  # a stale entry: the item has other neighbours now and is queued again, or it is eliminated
        if size > _MAX_NEIGHBOURS + 1:
            break
        pivot = row.pop(item)
        for u, a_u in row.items():
            row_u = entries[u]
            del row_u[item]
            for w, a_w in row.items():
                row_u[w] = row_u.get(w, 0.0) - a_u * a_w / pivot
            heapq.heappush(queue, (len(row_u), u))
        neighbours, values = np.array(list(row), dtype=np.int64), np.array(list(row.values()))
        eliminated.append(_Eliminated(item, neighbours, values / pivot, pivot))
        entries[item] = {}
    return eliminated


def dense_inverse(M: Floats) -> tuple[Floats, float]:
    """Return M^-1 and log det M for a symmetric M, which is overwritten.

    LAPACK wants columns stored one after the other; the transpose of M, which equals M, is stored that way.
    """
    factor, _ = dpotrf(M.T, lower=1, overwrite_a=1)
    logdet = 2 * float(np.sum(np.log(np.diag(factor))))
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    for low in range(0, len(lower), _ROWS_PER_BLOCK):
        high = min(low + _ROWS_PER_BLOCK, len(lower))
        lower[low:high, high:] = lower[high:, low:high].T
        block = lower[low:high, low:high]
        lower[low:high, low:high] = np.tril(block) + np.tril(block, -1).T
    return lower.T, logdet
