"""The inverse of a large positive definite matrix that is sparse, as that of a graph of answers is.

Items that were compared with a few others only are eliminated one by one, those with the fewest neighbours first: of an
item v with pivot p and entries a_u beside it, M_uw <- M_uw - a_u a_w / p. What is left, the *core*, is small or dense
and goes to LAPACK. Then, in the reverse order, rows of the inverse G follow from rows that are known:

    G_vu = -sum_w (a_w / p) G_wu,    G_vv = 1 / p - sum_w (a_w / p) G_wv,    w the neighbours that v had.

So a row costs as much as v had neighbours, times t, instead of t^2.
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import csr_array

from pairsmith.data.arrays import Floats, Ints

_MOST_NEIGHBOURS = 16  # of an item that is eliminated
_FEW = 1500  # rows: LAPACK is quick with them
_ROWS = 64  # mirrored at a time; of larger squares on the diagonal more would be computed and thrown away


class _Eliminated(NamedTuple):
    item: int
    neighbours: Ints
    shares: Floats  # a_w / p
    pivot: float


def inverse(M: csr_array) -> tuple[Floats, Ints, float]:
    """G = M^-1 for the rows and columns in the order returned with it, and log det M."""
    t = M.shape[0]
    gone = _eliminate(entries := _entries(M)) if t > _FEW else []
    core = np.setdiff1d(np.arange(t), [each.item for each in gone])
    order = np.concatenate([core, [each.item for each in reversed(gone)]]).astype(np.int64)
    place = np.empty(t, dtype=np.int64)
    place[order] = np.arange(t)
    G = np.zeros((t, t))
    s = len(core)
    if gone:
        small = np.zeros((s, s))
        for item in core.tolist():
            for other, value in entries[item].items():
                small[place[item], place[other]] = value
    else:
        small = M.toarray()
    logdet = sum(float(np.log(each.pivot)) for each in gone)
    if s:  # LAPACK has no patience for nothing
        small, own = dense_inverse(small)
        logdet += own
    G[:s, :s] = small
    for at, (_, neighbours, shares, pivot) in enumerate(reversed(gone), start=s):
        known = place[neighbours]
        row = -(shares @ G[known, :at])
        G[at, :at] = G[:at, at] = row
        G[at, at] = 1 / pivot - shares @ row[known]
    return G, order, logdet


def _entries(M: csr_array) -> list[dict[int, float]]:
    """Of each row, by column."""
    values, columns, start = M.data.tolist(), M.indices.tolist(), M.indptr.tolist()
    return [dict(zip(columns[low:high], values[low:high], strict=True)) for low, high in pairwise(start)]


def _eliminate(entries: list[dict[int, float]]) -> list[_Eliminated]:
    """Eliminate items in place, as long as one has few neighbours; in their order."""
    waiting = [(len(row), item) for item, row in enumerate(entries)]
    heapq.heapify(waiting)
    gone: list[_Eliminated] = []
    while waiting:
        size, item = heapq.heappop(waiting)
        row = entries[item]
        if size != len(row) or item not in row:
            continue  # it has other neighbours by now, and waits a second time, or is gone
        if size > _MOST_NEIGHBOURS + 1:
            break
        pivot = row.pop(item)
        for other, value in row.items():
            theirs = entries[other]
            del theirs[item]
            for third, beside in row.items():
                theirs[third] = theirs.get(third, 0.0) - value * beside / pivot
            heapq.heappush(waiting, (len(theirs), other))
        neighbours, values = np.array(list(row), dtype=np.int64), np.array(list(row.values()))
        gone.append(_Eliminated(item, neighbours, values / pivot, pivot))
        entries[item] = {}
    return gone


def dense_inverse(M: Floats) -> tuple[Floats, float]:
    """M^-1 and log det M, in the memory of M, which is symmetric: so it is, transposed, as LAPACK wants it."""
    factor, _ = dpotrf(M.T, lower=1, overwrite_a=1)
    logdet = 2 * float(np.sum(np.log(np.diag(factor))))
    found, _ = dpotri(factor, lower=1, overwrite_c=1)
    for low in range(0, len(found), _ROWS):
        high = min(low + _ROWS, len(found))
        found[low:high, high:] = found[high:, low:high].T
        block = found[low:high, low:high]
        found[low:high, low:high] = np.tril(block) + np.tril(block, -1).T
    return found.T, logdet
