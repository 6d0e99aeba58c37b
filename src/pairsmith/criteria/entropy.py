"""The pairs whose answer is most open under a model."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from pairsmith.criteria.mutual_information import binary_entropy
from pairsmith.criteria.work import Work
from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Rows
from pairsmith.design.steps import Step, Steps


def steps(work: Work, k: int) -> Steps:
    """The pairs whose answer is most uncertain under the model: the smallest differences of scores (Appendix C).

    The gain is the entropy of the answer, in nats. In each group the scores are sorted; a pair (a, b) of the sorted
    comes after all (a, a + 1), ..., (a, b - 1), so a heap with one entry for each a brings them in order, and only the
    k smallest neighbours can start one: O(N log N + k log k), and no list of pairs.
    """
    design, remaining, scores = work.design, work.remaining, work.belief.scores
    rows, wanted = remaining.rows, k
    while True:
        found = 0
        for i, j in _closest(rows, scores, wanted + len(remaining.taken)):
            if remaining.allows(i, j):
                design.add(i, j)
                remaining.take(i, j)
                found += 1
                yield Step(i, j, float(binary_entropy(expit(scores[i] - scores[j]))), design.logdet)
        if found == 0 and wanted + len(remaining.taken) >= len(rows):
            return
        # An exposure cap has used up those: look further, among items that have room.
        rows, wanted = rows.among(~remaining.full) if rows.is_list else rows, 4 * wanted


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
