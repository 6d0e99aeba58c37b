"""The paper's eight greedy algorithms (Sections 4 and 5, Appendix A), written to be read beside the paper.

An algorithm is a rule times a search. A *rule* computes a pair's proxy gain d_e = x_e'A^-1 x_e at the current step:
naively, through a factorization, or by scalar updates. A *search* finds the largest gain: exhaustively, or lazily with
a heap of stale gains, which are upper bounds by submodularity. Each algorithm is a generator of steps. All eight yield
the greedy sequence, with the smaller (i, j) first among gains that are equal in floating point. They keep the paper's
complexity, so that their timings can be compared with the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.kernels import CANCELLATION_RATIO, distances
from pairsmith.design.steps import Step, Steps, best_pair_finder
from pairsmith.paper import kernels

_PAIRS_PER_TASK = 1 << 18  # of a thread: their gains (2 MB) stay in its cache
_DIFFERENCES_PER_PRODUCT = 1 << 12  # difference vectors that are multiplied with the root together
_EVALUATIONS_PER_CALL = 1 << 20  # of the lazy search, so that Python can handle an interrupt in between


@dataclass
class Run:
    """The inputs of an algorithm, and the diagnostics it fills in."""

    design: Design
    remaining: Remaining
    k: int
    threads: int
    diagnostics: dict[str, Any]  # "evaluations" counts the gains computed

    def __post_init__(self) -> None:
        self.diagnostics["evaluations"] = 0

    def row_arrays(self) -> tuple[Any, ...]:
        """Return the arrays of the candidate rows, as the kernels take them."""
        rows = self.remaining.rows
        return rows.partner, rows.first, rows.count, rows.start


class Naive:
    """Compute d_e = x_e'A^-1 x_e from scratch, in O(d^2) per pair (Alg. 2, Alg. 6)."""

    code = kernels.NAIVE
    threads = False  # each step is a sequence of GEMMs, for which BLAS has its own threads

    def __init__(self, run: Run) -> None:
        self.run = run

    def gains(self, low: int, high: int, out: Floats) -> Floats:
        """Return the gains of the pairs in rows low to high - 1."""
        rows, design = self.run.remaining.rows, self.run.design
        begin, end = rows.start[low], rows.start[high]
        for number in range(begin, end, _DIFFERENCES_PER_PRODUCT):
            i, j = rows.pairs(np.arange(number, min(number + _DIFFERENCES_PER_PRODUCT, end))).T
            projected = (design.X[i] - design.X[j]) @ design.root
            out[number - begin : number - begin + len(i)] = np.einsum("ed,ed->e", projected, projected)
        return out[: end - begin]

    def update(self, v: Floats) -> None:
        """Do nothing: the next gains are computed from the new root."""


class Factorization:
    """Compute d_e = |z_i - z_j|^2 in O(d) per pair, with z = U x and A^-1 = U'U factorized at each step (Alg. 3)."""

    code = kernels.FACTORIZATION
    threads = True

    def __init__(self, run: Run) -> None:
        self.run = run
        self.Z = run.design.whiten(run.design.factor())

    def update(self, v: Floats) -> None:
        """Whiten the features anew after a pick."""
        self.run.design.whiten(self.run.design.factor(), out=self.Z)

    def gains(self, low: int, high: int, out: Floats) -> Floats:
        """Return the gains of the pairs in rows low to high - 1."""
        start = self.run.remaining.rows.start
        distances(self.Z, *self.run.row_arrays(), low, high, out)
        return out[: start[high] - start[low]]


class Scalar:
    """Update d_e <- d_e - (v'x_i - v'x_j)^2 for every pair at each step, in O(1) per pair (Alg. 4)."""

    code = kernels.SCALAR
    threads = True

    def __init__(self, run: Run) -> None:
        self.run = run
        self.all_gains = np.empty(len(run.remaining.rows))
        self.from_scratch = Factorization(run)
        self.largest_from_scratch = np.inf
        self.rho: Floats | None = None  # None: compute the next gains from scratch

    def cancelled(self, largest: float) -> bool:
        """Return whether subtraction has cost too many digits; if so, compute the next gains from scratch.

        This happens when the gains collapse, as k passes d.
        """
        if self.rho is None:
            self.largest_from_scratch = largest
        elif largest < CANCELLATION_RATIO * self.largest_from_scratch:
            self.from_scratch.update(self.rho)
            self.rho = None
            return True
        return False

    def update(self, v: Floats) -> None:
        """Compute rho = X v, by which the next gains fall."""
        self.rho = self.run.design.X @ v
        self.rho_partner = self.rho[self.run.remaining.rows.partner]

    def gains(self, low: int, high: int, out: Floats) -> Floats:
        """Update the stored gains of the pairs in rows low to high - 1, and return them."""
        _, first, count, start = self.run.row_arrays()
        stored = self.all_gains[start[low] : start[high]]
        if self.rho is None:
            return self.from_scratch.gains(low, high, stored)
        kernels.subtract_squares(stored, self.rho, self.rho_partner, first, count, start, low, high)
        return stored


Rule = Naive | Factorization | Scalar


def exhaustive_search(make_rule: type[Rule], *inputs: Any) -> Steps:
    """Run FindMax over every remaining pair at each step (Alg. 1)."""
    run = Run(*inputs)
    rule = make_rule(run)
    with best_pair_finder(run.remaining, run.threads if rule.threads else 1, _PAIRS_PER_TASK) as find_best:
        while True:
            i, j, largest = find_best(rule.gains)
            run.diagnostics["evaluations"] += len(run.remaining.rows)
            if isinstance(rule, Scalar) and rule.cancelled(largest):
                continue
            if i < 0:
                return  # every remaining pair has an item at its cap
            run.design.note_rounding(largest, run.design.sum_of_term_norms())
            gain, v = run.design.add(i, j)
            run.remaining.take(i, j)
            yield Step(i, j, gain, run.design.logdet)
            rule.update(v)


def lazy_search(make_rule: type[Rule], *inputs: Any, memoize: bool = False) -> Steps:
    """Keep a heap of stale gains, and update only the gains that come to its top (Alg. 5 to 8).

    With `memoize`, z_i and rho_li are computed when a pair first needs them; without it, for all items at each step.
    The heap takes 20 bytes per pair, or 24 with the scalar rule.
    """
    run = Run(*inputs)
    design, remaining = run.design, run.remaining
    rule = make_rule.code
    n, d = design.X.shape
    heap = _heap(make_rule, run)
    size = len(heap.gain)

    Z = np.zeros((n, d) if rule != kernels.NAIVE else (0, d))
    Z_step = np.full(n, -1, dtype=np.int32)
    V = np.zeros((run.k, d))
    rho = np.full((n, run.k) if rule == kernels.SCALAR else (0, 0), np.nan)

    for step in range(run.k):
        factor = design.root if rule == kernels.SCALAR else design.factor()
        if rule == kernels.FACTORIZATION and step and not memoize:
            design.whiten(factor, out=Z)
            Z_step[:] = step
        sources = kernels.GainSources(design.X, factor, Z, Z_step, V, rho)
        pair = kernels.UNFINISHED
        while pair == kernels.UNFINISHED:
            pair, size, evaluations = kernels.lazy_maximum(
                heap, size, step, remaining.full, rule, sources, _EVALUATIONS_PER_CALL
            )
            run.diagnostics["evaluations"] += evaluations
        if pair == kernels.NO_PAIR:
            return
        i, j = divmod(int(pair), n)
        terms = design.sum_of_term_norms()
        gain, V[step] = design.add(i, j)
        design.note_rounding(np.expm1(gain), terms)
        remaining.take(i, j)
        yield Step(i, j, gain, design.logdet)
        if rule == kernels.SCALAR and not memoize:
            rho[:, step] = design.X @ V[step]


def _heap(make_rule: type[Rule], run: Run) -> kernels.Heap:
    """Return a heap of every remaining pair with its gain at step 0 (PreProcessing of Alg. 5)."""
    rows = run.remaining.rows
    rule = make_rule(run) if make_rule is Naive else Factorization(run)
    gain, code = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)

    def fill(block: tuple[int, int]) -> None:
        rule.gains(*block, gain[rows.start[block[0]] : rows.start[block[1]]])
        kernels.fill_codes(code, *run.row_arrays(), *block)

    with ThreadPoolExecutor(run.threads) as pool:
        list((pool.map if rule.threads and run.threads > 1 else map)(fill, rows.blocks(_PAIRS_PER_TASK)))
    run.diagnostics["evaluations"] += len(rows)
    if len(run.remaining.taken):
        gain, code = np.delete(gain, run.remaining.taken), np.delete(code, run.remaining.taken)
    kernels.heapify(gain, code)
    step, scratch_gain = np.zeros(len(gain), dtype=np.int32), np.zeros(0, dtype=np.float32)
    if make_rule is Scalar:
        with np.errstate(over="ignore"):  # an infinite gain is computed from scratch each time
            scratch_gain = gain.astype(np.float32)
    return kernels.Heap(gain, code, step, scratch_gain)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the paper, with the memory it needs."""

    short: str  # the paper's abbreviation
    run: Callable[..., Steps]  # takes (design, remaining, k, threads, diagnostics)
    bytes_per_pair: int  # for each candidate pair
    bytes_per_item_and_step: int = 0  # for each of N times k


ALGORITHMS = {
    "naive": Algorithm("NG", partial(exhaustive_search, Naive), 0),
    "factorization": Algorithm("FG", partial(exhaustive_search, Factorization), 0),
    "scalar": Algorithm("SG", partial(exhaustive_search, Scalar), 8),
    "naive-lazy": Algorithm("NL", partial(lazy_search, Naive), 20),
    "factorization-lazy": Algorithm("FLP", partial(lazy_search, Factorization), 20),
    "factorization-lazy-memo": Algorithm("FLM", partial(lazy_search, Factorization, memoize=True), 20),
    "scalar-lazy": Algorithm("SLP", partial(lazy_search, Scalar), 24, 8),
    "scalar-lazy-memo": Algorithm("SLM", partial(lazy_search, Scalar, memoize=True), 24, 8),
}
