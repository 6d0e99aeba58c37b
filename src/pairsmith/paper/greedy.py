"""The paper's eight greedy algorithms (Sections 4 and 5, Appendix A), readable beside the paper.

Two axes. A *rule* says how a pair's proxy gain d_e = x_e'A^-1 x_e is known at the current step: naive, through a
factorization, or by scalar updates. A *search* finds the largest: exhaustively, or lazily through a heap of
stale gains, which submodularity makes upper bounds. Each algorithm is a generator of steps; all eight
give the greedy sequence, the smaller (i, j) among gains that are equal in floating point. They keep the paper's
complexity, so that their timings mean what the paper's mean.
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
from pairsmith.design.kernels import CANCELLED, distances
from pairsmith.design.steps import Step, Steps, best_pair
from pairsmith.paper import kernels

_PAIRS_AT_ONCE = 1 << 18  # that one thread treats: their gains (2 MB) stay in the cache
_DIFFERENCES_AT_ONCE = 1 << 12  # pairs whose difference vectors are multiplied with the root together
_EVALUATIONS_AT_ONCE = 1 << 20  # of the lazy search, between two looks at the outside world


@dataclass
class Run:
    """What an algorithm works on, and what it counts on the way."""

    design: Design
    remaining: Remaining
    k: int
    threads: int
    diagnostics: dict[str, Any]  # "evaluations" counts gains computed

    def __post_init__(self) -> None:
        self.diagnostics["evaluations"] = 0

    def row_arrays(self) -> tuple[Any, ...]:
        rows = self.remaining.rows
        return rows.partner, rows.first, rows.count, rows.start


class Naive:
    """d_e = x_e'A^-1 x_e from scratch, O(d^2) a pair (Alg. 2, Alg. 6)."""

    code = kernels.NAIVE
    threads = False  # the work is one GEMM after another, and BLAS has threads of its own

    def __init__(self, run: Run) -> None:
        self.run = run

    def gains(self, low: int, high: int, out: Floats) -> Floats:
        rows, design = self.run.remaining.rows, self.run.design
        begin, end = rows.start[low], rows.start[high]
        for at in range(begin, end, _DIFFERENCES_AT_ONCE):
            i, j = rows.pairs(np.arange(at, min(at + _DIFFERENCES_AT_ONCE, end))).T
            projected = (design.X[i] - design.X[j]) @ design.root
            out[at - begin : at - begin + len(i)] = np.einsum("ed,ed->e", projected, projected)
        return out[: end - begin]

    def update(self, v: Floats) -> None:
        """Nothing is kept between steps: the next gains come from the new root."""


class Factorization:
    """d_e = |z_i - z_j|^2 with z = U x and A^-1 = U'U factorized at each step, O(d) a pair (Alg. 3)."""

    code = kernels.FACTORIZATION
    threads = True

    def __init__(self, run: Run) -> None:
        self.run = run
        self.Z = run.design.whiten(run.design.factor())

    def update(self, v: Floats) -> None:
        self.run.design.whiten(self.run.design.factor(), out=self.Z)

    def gains(self, low: int, high: int, out: Floats) -> Floats:
        start = self.run.remaining.rows.start
        distances(self.Z, *self.run.row_arrays(), low, high, out)
        return out[: start[high] - start[low]]


class Scalar:
    """d_e <- d_e - (v'x_i - v'x_j)^2 for every pair at each step, O(1) a pair (Alg. 4)."""

    code = kernels.SCALAR
    threads = True

    def __init__(self, run: Run) -> None:
        self.run = run
        self.all_gains = np.empty(len(run.remaining.rows))
        self.from_scratch = Factorization(run)
        self.computed_at = np.inf
        self.rho: Floats | None = None

    def cancelled(self, largest: float) -> bool:
        """Whether subtraction has eaten the digits (gains collapse when k passes d); then the next gains are afresh."""
        if self.rho is None:
            self.computed_at = largest
        elif largest < CANCELLED * self.computed_at:
            self.from_scratch.update(self.rho)
            self.rho = None
            return True
        return False

    def update(self, v: Floats) -> None:
        self.rho = self.run.design.X @ v
        self.rho_partner = self.rho[self.run.remaining.rows.partner]

    def gains(self, low: int, high: int, out: Floats) -> Floats:
        _, first, count, start = self.run.row_arrays()
        kept = self.all_gains[start[low] : start[high]]
        if self.rho is None:
            return self.from_scratch.gains(low, high, kept)
        kernels.subtract_squares(kept, self.rho, self.rho_partner, first, count, start, low, high)
        return kept


Rule = Naive | Factorization | Scalar


def exhaustive(make_rule: type[Rule], *problem: Any) -> Steps:
    """FindMax over every remaining pair at each step (Alg. 1)."""
    run = Run(*problem)
    rule = make_rule(run)
    with best_pair(run.remaining, run.threads if rule.threads else 1, _PAIRS_AT_ONCE) as best:
        while True:
            i, j, largest = best(rule.gains)
            run.diagnostics["evaluations"] += len(run.remaining.rows)
            if isinstance(rule, Scalar) and rule.cancelled(largest):
                continue
            if i < 0:
                return  # every pair that is left has an item at its cap
            run.design.note_rounding(largest, run.design.terms())
            gain, v = run.design.add(i, j)
            run.remaining.take(i, j)
            yield Step(i, j, gain, run.design.logdet)
            rule.update(v)


def lazy(make_rule: type[Rule], *problem: Any, memoize: bool = False) -> Steps:
    """A heap of stale gains; only what surfaces is brought up to date (Alg. 5 to 8).

    With `memoize`, z_i and rho_li are computed when a pair first needs them; without it, for all items at each
    step. The heap takes 20 bytes a pair, and 24 with the scalar rule.
    """
    run = Run(*problem)
    design, remaining = run.design, run.remaining
    rule = make_rule.code
    n, d = design.X.shape
    heap = _heap(make_rule, run)
    size = len(heap.gain)

    Z = np.zeros((n, d) if rule != kernels.NAIVE else (0, d))
    fresh = np.full(n, -1, dtype=np.int32)
    V = np.zeros((run.k, d))
    rho = np.full((n, run.k) if rule == kernels.SCALAR else (0, 0), np.nan)

    for step in range(run.k):
        factor = design.root if rule == kernels.SCALAR else design.factor()
        if rule == kernels.FACTORIZATION and step and not memoize:
            design.whiten(factor, out=Z)
            fresh[:] = step
        known = kernels.GainSources(design.X, factor, Z, fresh, V, rho)
        pair = -2
        while pair == -2:
            pair, size, evaluations = kernels.lazy_maximum(
                heap, size, step, remaining.full, rule, known, _EVALUATIONS_AT_ONCE
            )
            run.diagnostics["evaluations"] += evaluations
        if pair == -1:
            return
        i, j = divmod(int(pair), n)
        terms = design.terms()
        exact, V[step] = design.add(i, j)
        design.note_rounding(np.expm1(exact), terms)
        remaining.take(i, j)
        yield Step(i, j, exact, design.logdet)
        if rule == kernels.SCALAR and not memoize:
            rho[:, step] = design.X @ V[step]


def _heap(make_rule: type[Rule], run: Run) -> kernels.Heap:
    """PreProcessing of Alg. 5: every remaining pair with its gain at step 0."""
    rows = run.remaining.rows
    rule = make_rule(run) if make_rule is Naive else Factorization(run)
    gain, code = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)

    def fill(block: tuple[int, int]) -> None:
        rule.gains(*block, gain[rows.start[block[0]] : rows.start[block[1]]])
        kernels.fill_codes(code, *run.row_arrays(), *block)

    with ThreadPoolExecutor(run.threads) as pool:
        list((pool.map if rule.threads and run.threads > 1 else map)(fill, run.remaining.rows.blocks(_PAIRS_AT_ONCE)))
    run.diagnostics["evaluations"] += len(rows)
    if len(run.remaining.taken):
        gain, code = np.delete(gain, run.remaining.taken), np.delete(code, run.remaining.taken)
    kernels.heapify(gain, code)
    since, afresh = np.zeros(len(gain), dtype=np.int32), np.zeros(0, dtype=np.float32)
    if make_rule is Scalar:
        with np.errstate(over="ignore"):  # infinite: then such an entry is computed afresh each time
            afresh = gain.astype(np.float32)
    return kernels.Heap(gain, code, since, afresh)


@dataclass(frozen=True)
class Algorithm:
    short: str  # the paper's abbreviation
    run: Callable[..., Steps]  # (design, remaining, k, threads, diagnostics)
    bytes_per_pair: int  # memory that grows with the number of candidates
    bytes_per_item_and_step: int = 0  # memory that grows with N times k


ALGORITHMS = {
    "naive": Algorithm("NG", partial(exhaustive, Naive), 0),
    "factorization": Algorithm("FG", partial(exhaustive, Factorization), 0),
    "scalar": Algorithm("SG", partial(exhaustive, Scalar), 8),
    "naive-lazy": Algorithm("NL", partial(lazy, Naive), 20),
    "factorization-lazy": Algorithm("FLP", partial(lazy, Factorization), 20),
    "factorization-lazy-memo": Algorithm("FLM", partial(lazy, Factorization, memoize=True), 20),
    "scalar-lazy": Algorithm("SLP", partial(lazy, Scalar), 24, 8),
    "scalar-lazy-memo": Algorithm("SLM", partial(lazy, Scalar, memoize=True), 24, 8),
}
