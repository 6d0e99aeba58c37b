"""The pairs whose answers are most uncertain under a model."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from pairsmith.criteria.mutual_information import binary_entropy
from pairsmith.criteria.problem import Run
from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Rows
from pairsmith.design.steps import Step, Steps


def steps(run: Run, k: int) -> Steps:
    """Pick the pairs whose answers are most uncertain, which have the smallest differences of scores (Appendix C).

    The gain is the entropy of the answer, in nats. The items of each group are sorted by score. Then the pair (a, b)
    comes after (a, a + 1), ..., (a, b - 1), so a heap with one entry for each a yields the pairs in order. Only the k
    closest neighbours are needed as first entries: this takes O(N log N + k log k) and no list of pairs.
    """
    design, remaining, scores = run.design, run.remaining, run.estimate.scores
    rows, count = remaining.rows, k
    while True:
        picked = 0
        for i, j in _closest_pairs(rows, scores, count + len(remaining.taken)):
            if remaining.allows(i, j):
                design.add(i, j)
                remaining.take(i, j)
                picked += 1
                yield Step(i, j, float(binary_entropy(expit(scores[i] - scores[j]))), design.logdet)
        if picked == 0 and count + len(remaining.taken) >= len(rows):
            return
        # The exposure cap has excluded too many of these pairs: consider more of them, among items below the cap.
        rows, count = rows.among(~remaining.full) if rows.is_list else rows, 4 * count


def _closest_pairs(rows: Rows, scores: Floats, count: int) -> Iterator[tuple[int, int]]:
    """Yield about `count` pairs by increasing difference of scores; among equals the smaller pair comes first."""
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
    items, end = rows.partner[order].astype(np.int64), rows.groups[1:][group]  # sorted by score within each group
    s = scores[items]
    at = np.flatnonzero(np.arange(1, len(items) + 1) < end)  # places of items with a higher neighbour in their group
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
