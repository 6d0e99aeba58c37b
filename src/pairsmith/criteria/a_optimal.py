"""A-optimality: the smallest total variance of the coefficients."""

from __future__ import annotations

import numpy as np

from pairsmith.criteria.problem import Run
from pairsmith.data.arrays import Floats
from pairsmith.design.compiling import compiled
from pairsmith.design.information import Design, sum_of_term_norms
from pairsmith.design.kernels import CANCELLATION_RATIO, distances
from pairsmith.design.steps import Step, Steps, best_pair_finder


def steps(run: Run, k: int) -> Steps:
    """Greedily minimise tr(A^-1), the total variance of the estimate, in O(N^2 (K + d)); the paper leaves this open.

    By Sherman-Morrison, a pair lowers the trace by n_e / (1 + d_e), with d_e = x_e'A^-1 x_e and n_e = |A^-1 x_e|^2.
    When another pair is added, A^-1 becomes A^-1 - v v' (Alg. 4), so with rho_i = v'x_i and tau_i = v'A^-1 x_i

        d_e <- d_e - (rho_i - rho_j)^2
        n_e <- n_e - 2 (rho_i - rho_j)(tau_i - tau_j) + |v|^2 (rho_i - rho_j)^2,

    which is O(1) per pair and step, for two numbers per pair. tr(A^-1) is not supermodular in general, so no pair may
    be skipped: every step updates all pairs. Once the subtraction has cost digits, both numbers are computed anew.
    """
    design, remaining = run.design, run.remaining
    rows = remaining.rows
    arrays = rows.partner, rows.first, rows.count, rows.start
    d, n = np.empty((2, len(rows)))
    largest_computed, update, v, tau = np.inf, False, np.zeros(0), np.zeros(0)
    Z = Y = rho = np.zeros(0)

    def gains(low: int, high: int, out: Floats) -> Floats:
        part = slice(rows.start[low], rows.start[high])
        if update:
            _subtract_traces(
                d[part], n[part], rho, rho[rows.partner], tau, tau[rows.partner], float(v @ v), *arrays[1:], low, high
            )
        else:
            distances(Z, *arrays, low, high, d[part])
            distances(Y, *arrays, low, high, n[part])
        return np.divide(n[part], 1 + d[part], out=out[: part.stop - part.start])

    with best_pair_finder(remaining, run.threads) as best:
        while True:
            if not update:
                Z = design.X @ design.root
                Y = Z @ design.root.T
            i, j, largest = best(gains)
            if update and largest < CANCELLATION_RATIO * largest_computed:
                update = False
                continue
            if not update:
                largest_computed = largest
            if i < 0:
                return
            root = design.root.copy()
            # The gain is |y_i - y_j|^2 / (1 + d), and the terms of Y are longer than those of Z.
            design.note_rounding(float(np.sum((Y[i] - Y[j]) ** 2)), sum_of_term_norms(design.extent, root @ root.T))
            _, v = design.add(i, j)
            rho, tau = design.X @ v, design.X @ (root @ (root.T @ v))
            remaining.take(i, j)
            update = True
            yield Step(i, j, largest, design.logdet)


def replay(design: Design, i: int, j: int) -> Step:
    """Add a pair that an earlier run picked. It lowers the trace by n_e / (1 + d_e) = |v|^2."""
    _, v = design.add(i, j)
    return Step(i, j, float(v @ v), design.logdet)


@compiled
def _subtract_traces(d, n, rho, rho_partner, tau, tau_partner, length, first, count, start, low, high):
    """Update d_e <- d_e - a^2 and n_e <- n_e - 2 a b + length a^2, with a = rho_i - rho_j and b = tau_i - tau_j."""
    base = start[low]
    for i in range(low, high):
        e, p, r, t = start[i] - base, first[i], rho[i], tau[i]
        for at in range(count[i]):
            a = r - rho_partner[p + at]
            n[e + at] += a * (length * a - 2 * (t - tau_partner[p + at]))
            d[e + at] -= a * a
