"""How far picks can be from the best possible ones, proved for the data at hand.

Relax the choice of K pairs to weights 0 <= w_e <= 1 that add up to K. f(w) = log det(A_0 + sum w_e x_e x_e') is
concave, so at any w the tangent bounds the optimum S* from above:

    f(S*) <= f(w) + (the sum of the K largest d_e) - sum w_e d_e,    d_e = x_e' A(w)^-1 x_e,

and one scan of the candidates finds the K largest. Frank-Wolfe steps toward those pairs tighten it. f is submodular as
well, so for any set S also f(S*) <= f(S) + the sum of the K largest gains log(1 + d_e) outside S; a greedy run knows
their maximum at each of its steps without a scan, which is where the 63% of the theory come from. The least of these
bounds is the certificate. An exposure cap is left out of account: the bound is then valid, only looser.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine.backend import ProgressCallback
from pairsmith.engine.scan import Scan
from pairsmith.engine.search import MAX_ENUMERATED_PAIRS
from pairsmith.engine.threads import thread_team

_POOL = 100_000  # pairs that a scan may keep, if they are not fewer than needed
_ROUNDING = 1e-9  # added to the bound, relatively: far more than float64 gets wrong


def upper_bound(
    design: Design,
    candidates: Remaining,
    pairs: Ints,
    gains: Floats,
    greedy: bool,
    refinements: int,
    threads: int,
    memory: int,
    tell: ProgressCallback,
    scan: Callable[..., Scan] = Scan,
    before_picks: Callable[[], Design] | None = None,
) -> float:
    """An upper bound on f(S*) - f(empty) over all sets of len(pairs) candidates.

    `design` includes the pairs, `candidates` still has them; `greedy` says that each had the largest gain of all. The
    design `before_picks` is needed where items have effects of their own.
    """
    k, reached, uncertainty = len(pairs), float(np.sum(gains)), design.uncertainty
    bound = np.inf
    if greedy:
        bound = float(np.min(np.cumsum(gains) - gains + k * gains))
    weighted, weights, value = pairs, np.ones(k), reached
    for_features = memory // 2  # bytes: the rest is for what the scan finds, and for its tiles
    with thread_team(threads) as team:
        for step in range(refinements + 1):
            tell(f"certifying, scan {step + 1} of {refinements + 1}")
            passes = scan(design, candidates, team, {"tiles": 0}, tell, for_features)
            best, d_best = _largest(passes, 2 * k if step == 0 else k)
            if step == 0:
                known = {(i, j) for i, j in pairs.tolist()}
                inside = np.array(
                    [tuple(pair) in known for pair in best.tolist()] + [False] * (len(d_best) - len(best))
                )
                bound = min(bound, reached + float(np.sum(np.log1p(d_best[~inside][:k]))))
                best, d_best = best[:k], d_best[:k]
            Y, Y_best = _whitened_differences(design, weighted, best)
            bound = min(bound, value + float(np.sum(d_best) - weights @ np.einsum("ea,ea->e", Y, Y)))
            if step == refinements:
                break
            # Along A(w) + g (A(best) - A(w)), log det grows by sum log(1 + g delta): concave, so find where it is flat.
            delta, Q = np.linalg.eigh(Y_best.T @ Y_best - (Y.T * weights) @ Y)
            delta = np.maximum(delta, -1 + 1e-12)
            if _slope(0.0, delta) <= 0:
                break
            g = 1.0 if _slope(1.0, delta) >= 0 else brentq(_slope, 0.0, 1.0, args=(delta,), xtol=1e-9)
            value += float(np.sum(np.log1p(g * delta)))
            weighted, weights = _merged(weighted, (1 - g) * weights, best, g, design.n)
            if design.effects is None:
                design = design.stretched(Q, 1 + g * delta)
            else:
                assert before_picks is not None
                design = before_picks()
                for (i, j), part in zip(weighted.tolist(), weights.tolist(), strict=True):
                    design.add(i, j, part)
    # What is reached is no more than the optimum, and what rounding may have moved is allowed for.
    return max(bound, reached) * (1 + _ROUNDING) + k * uncertainty


def _largest(scan: Scan, count: int) -> tuple[Ints, Floats]:
    """The `count` candidates of largest d_e, in descending order, and upper bounds on those d_e.

    Should rounding hide some, the bounds are there all the same.
    """
    candidates = scan.remaining
    count = min(count, len(candidates.rows) - len(candidates.taken))
    whitened = scan.whiten()
    if len(candidates.rows) <= MAX_ENUMERATED_PAIRS:
        (i, j, gains), floor = scan.enumerate_pairs(whitened), 0.0
    elif candidates.rows.is_list:
        (i, j, gains), floor = scan.exact(whitened, 0.0, count)
    else:
        far = whitened.far()  # so many gains are attained, so the count-th largest is no lower
        floor = float(far[-count]) if len(far) >= count else 0.0
        (i, j, _), floor = scan.screened(whitened, floor, max(2 * count, _POOL))
        gains = whitened.gains(i, j)
    order = np.argsort(-gains, kind="stable")[:count]
    bounds = np.full(count, floor)
    bounds[: len(order)] = np.maximum(gains[order], floor)
    return np.column_stack([i[order], j[order]]).astype(np.int64), bounds


def _slope(g: float, delta: Floats) -> float:
    return float(np.sum(delta / (1 + g * delta)))


def _whitened_differences(design: Design, *several: Ints) -> list[Floats]:
    """For each of several lists of pairs a row a pair, whose squared length is its d_ij; in the same coordinates."""
    items, place = np.unique(np.concatenate(several), return_inverse=True)
    points = design.rows(items)
    if design.effects is None:
        points = points @ design.root
    else:  # effects add columns, for the items of these pairs only
        own = np.linalg.cholesky(design.effects.covariance(items))
        points = np.hstack([(points + design.effects.shifts(items)) @ design.root, own])
    first, second = place.reshape(-1, 2).T
    weight = np.sqrt(design.weight(items[first], items[second]))
    return np.split((points[first] - points[second]) * weight[:, None], np.cumsum([len(one) for one in several])[:-1])


def _merged(pairs: Ints, weights: Floats, best: Ints, g: float, n: int) -> tuple[Ints, Floats]:
    """Weights plus g for each of `best`, without those that have gone."""
    codes = np.concatenate([pairs, best]) @ np.array([n, 1])
    unique, where = np.unique(codes, return_inverse=True)
    total: Any = np.bincount(where, np.concatenate([weights, np.full(len(best), g)]))
    kept = total > 1e-12
    return np.column_stack(np.divmod(unique[kept], n)), total[kept]
