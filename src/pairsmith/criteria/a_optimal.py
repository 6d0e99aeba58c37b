"""A-optimality: the least summed variance of the coefficients."""

from __future__ import annotations

import numpy as np

from pairsmith.criteria.work import Work
from pairsmith.data.arrays import Floats
from pairsmith.design.compiling import compiled
from pairsmith.design.information import Design, terms_of
from pairsmith.design.kernels import CANCELLED, distances
from pairsmith.design.steps import Step, Steps, best_pair


def steps(work: Work, k: int) -> Steps:
    """Greedily minimise tr(A^-1), the mean variance of the estimate: the paper's open question, in O(N^2 (K + d)).

    By Sherman-Morrison a pair lowers the trace by n_e / (1 + d_e), d_e = x_e'A^-1 x_e, n_e = |A^-1 x_e|^2. When another
    pair joins, A^-1 becomes A^-1 - v v' (Alg. 4), so with rho_i = v'x_i and tau_i = v'A^-1 x_i

        d_e <- d_e - (rho_i - rho_j)^2
        n_e <- n_e - 2 (rho_i - rho_j)(tau_i - tau_j) + |v|^2 (rho_i - rho_j)^2,

    two numbers a pair and O(1) a step. tr(A^-1) is not supermodular in general, so nothing is skipped: every pair is
    looked at in every step. Once subtraction has taken digits, both are computed from scratch.
    """
    design, remaining = work.design, work.remaining
    rows = remaining.rows
    arrays = rows.partner, rows.first, rows.count, rows.start
    d, n = np.empty((2, len(rows)))
    computed_at, stale, v, tau = np.inf, False, np.zeros(0), np.zeros(0)
    Z = Y = rho = np.zeros(0)

    def gains(low: int, high: int, out: Floats) -> Floats:
        part = slice(rows.start[low], rows.start[high])
        if stale:
            _subtract_traces(
                d[part], n[part], rho, rho[rows.partner], tau, tau[rows.partner], float(v @ v), *arrays[1:], low, high
            )
        else:
            distances(Z, *arrays, low, high, d[part])
            distances(Y, *arrays, low, high, n[part])
        return np.divide(n[part], 1 + d[part], out=out[: part.stop - part.start])

    with best_pair(remaining, work.threads) as best:
        while True:
            if not stale:
                Z = design.X @ design.root
                Y = Z @ design.root.T
            i, j, largest = best(gains)
            if stale and largest < CANCELLED * computed_at:
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
            yield Step(i, j, largest, design.logdet)


def replay(design: Design, i: int, j: int) -> Step:
    """Include a pair that was picked in an earlier run: it takes n_e / (1 + d_e) = |v|^2 off the trace."""
    _, v = design.add(i, j)
    return Step(i, j, float(v @ v), design.logdet)


@compiled
def _subtract_traces(d, n, rho, rho_partner, tau, tau_partner, length, first, count, start, low, high):
    """d_e <- d_e - a^2 and n_e <- n_e - 2 a b + length a^2, a = rho_i - rho_j, b = tau_i - tau_j (A-optimality)."""
    base = start[low]
    for i in range(low, high):
        e, p, r, t = start[i] - base, first[i], rho[i], tau[i]
        for at in range(count[i]):
            a = r - rho_partner[p + at]
            n[e + at] += a * (length * a - 2 * (t - tau_partner[p + at]))
            d[e + at] -= a * a
