"""A proved bound on how much better any other k pairs could be, for the data at hand.

Relax the choice of K pairs to weights 0 <= w_e <= 1 that add up to K. f(w) = log det(A_0 + sum w_e x_e x_e') is
concave, so the tangent at any w bounds the value of the optimum S* from above:

    f(S*) <= f(w) + (the sum of the K largest d_e) - sum w_e d_e,    d_e = x_e' A(w)^-1 x_e,

and one scan of the candidates finds the K largest. Frank-Wolfe steps toward these pairs tighten the bound. f is also
submodular, so any set S satisfies f(S*) <= f(S) + the sum of the K largest gains log(1 + d_e) outside S. A greedy run
knows the largest gain at each of its steps without another scan; this is the source of the 63% of the theory. The
certificate is the smallest of these bounds. They ignore an exposure cap, which makes them looser but still valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from pairsmith.criteria.problem import Run
from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.information import Design
from pairsmith.engine.scan import Scan
from pairsmith.engine.search import MAX_ENUMERATED_PAIRS
from pairsmith.engine.threads import thread_team

_MIN_POOL = 100_000  # pairs that a scan may keep, if not more are needed
_ROUNDING = 1e-9  # relative, added to the bound: far more than the rounding errors of float64


def upper_bound(run: Run, pairs: Ints, gains: Floats, *, is_greedy: bool, refinements: int) -> float:
    """Return an upper bound on f(S*) - f(empty) over all sets of len(pairs) candidates.

    The design of the run includes the pairs. `is_greedy` says that each pair had the largest gain of all candidates
    when it was picked.
    """
    k, reached = len(pairs), float(np.sum(gains))
    design, candidates, uncertainty = run.design, run.problem.uncapped(), run.design.uncertainty
    bound = np.inf
    if is_greedy:
        bound = float(np.min(np.cumsum(gains) - gains + k * gains))
    weighted, weights, value = pairs, np.ones(k), reached
    bytes_for_items = run.memory // 2  # the rest is for the pairs that the scan finds, and for its tiles
    with thread_team(run.threads) as team:
        for step in range(refinements + 1):
            run.report_progress(f"certifying, scan {step + 1} of {refinements + 1}")
            scan = run.scan(design, candidates, team, {"tiles": 0}, run.report_progress, bytes_for_items)
            best, d_best = _largest(scan, 2 * k if step == 0 else k)
            if step == 0:
                picked = {(i, j) for i, j in pairs.tolist()}
                inside = np.array(
                    [tuple(pair) in picked for pair in best.tolist()] + [False] * (len(d_best) - len(best))
                )
                bound = min(bound, reached + float(np.sum(np.log1p(d_best[~inside][:k]))))
                best, d_best = best[:k], d_best[:k]
            Y, Y_best = _whitened_differences(design, weighted, best)
            bound = min(bound, value + float(np.sum(d_best) - weights @ np.einsum("ea,ea->e", Y, Y)))
            if step == refinements:
                break
            # Along A(w) + g (A(best) - A(w)), log det grows by sum log(1 + g delta). It is concave in g, so the best g
            # is where its slope is 0.
            delta, Q = np.linalg.eigh(Y_best.T @ Y_best - (Y.T * weights) @ Y)
            delta = np.maximum(delta, -1 + 1e-12)
            if _slope(0.0, delta) <= 0:
                break
            g = 1.0 if _slope(1.0, delta) >= 0 else brentq(_slope, 0.0, 1.0, args=(delta,), xtol=1e-9)
            value += float(np.sum(np.log1p(g * delta)))
            weighted, weights = _add_weight(weighted, (1 - g) * weights, best, g, design.n)
            if design.effects is None:
                design = design.scaled_along(Q, 1 + g * delta)
            else:
                assert run.initial_design is not None
                design = run.initial_design()
                for (i, j), weight in zip(weighted.tolist(), weights.tolist(), strict=True):
                    design.add(i, j, weight)
    # The optimum is at least the value reached; the last term allows for rounding in the gains.
    return max(bound, reached) * (1 + _ROUNDING) + k * uncertainty


def _largest(scan: Scan, count: int) -> tuple[Ints, Floats]:
    """Return the `count` candidates of largest d_e, in descending order, and upper bounds on these d_e.

    If rounding hides some of the candidates, there are still `count` bounds.
    """
    candidates = scan.remaining
    count = min(count, len(candidates.rows) - len(candidates.taken))
    whitened = scan.whiten()
    if len(candidates.rows) <= MAX_ENUMERATED_PAIRS:
        (i, j, gains), floor = scan.enumerate_pairs(whitened), 0.0
    elif candidates.rows.is_list:
        (i, j, gains), floor = scan.exact(whitened, 0.0, count)
    else:
        far = whitened.far()  # the gains of some pairs, so the count-th largest of all is at least their count-th
        floor = float(far[-count]) if len(far) >= count else 0.0
        (i, j, _), floor = scan.screened(whitened, floor, max(2 * count, _MIN_POOL))
        gains = whitened.gains(i, j)
    order = np.argsort(-gains, kind="stable")[:count]
    bounds = np.full(count, floor)
    bounds[: len(order)] = np.maximum(gains[order], floor)
    return np.column_stack([i[order], j[order]]).astype(np.int64), bounds


def _slope(g: float, delta: Floats) -> float:
    return float(np.sum(delta / (1 + g * delta)))


def _whitened_differences(design: Design, *lists: Ints) -> list[Floats]:
    """Return, for each list of pairs, one row per pair whose squared length is d_ij, all in the same coordinates."""
    items, place = np.unique(np.concatenate(lists), return_inverse=True)
    points = design.rows(items)
    if design.effects is None:
        points = points @ design.root
    else:  # the effects of these items add columns
        own = np.linalg.cholesky(design.effects.covariance(items))
        points = np.hstack([(points + design.effects.shifts(items)) @ design.root, own])
    first, second = place.reshape(-1, 2).T
    weight = np.sqrt(design.weight(items[first], items[second]))
    return np.split((points[first] - points[second]) * weight[:, None], np.cumsum([len(one) for one in lists])[:-1])


def _add_weight(pairs: Ints, weights: Floats, best: Ints, g: float, n: int) -> tuple[Ints, Floats]:
    """Add g to the weight of each pair of `best`, and drop pairs of weight 0."""
    codes = np.concatenate([pairs, best]) @ np.array([n, 1])
    unique, where = np.unique(codes, return_inverse=True)
    total: Any = np.bincount(where, np.concatenate([weights, np.full(len(best), g)]))
    kept = total > 1e-12
    return np.column_stack(np.divmod(unique[kept], n)), total[kept]
