"""Compiled inner loops of the criterion `order`."""

import math

import numpy as np

from pairsmith.design.compiling import compiled

MIN_RELATIVE_VARIANCE = 1e-12  # of a difference of scores, relative to the sum of their variances; below: zero


@compiled
def lower_and_find(M, C, weights, c, b, row):
    """Subtract c b' + b c' from M and c c' from C, and return the largest gain after that, with its pair.

    The gain of a pair (i, j) of weight w is 1/2 (M_ii + M_jj - 2 M_ij) w / (1 + w (C_ii + C_jj - 2 C_ij)). A pair with
    a negative weight is not a candidate. Only the upper triangle of each matrix is read and written, in one pass. Among
    equal gains the first pair in row order is returned, and (-inf, 0, 0) if there is no candidate. `row` is scratch
    memory with one entry per item.
    """
    n = len(c)
    own_M, own_C = np.empty(n), np.empty(n)
    for i in range(n):
        M[i, i] -= 2 * b[i] * c[i]
        C[i, i] -= c[i] * c[i]
        own_M[i], own_C[i] = M[i, i], C[i, i]
    best, first, second = -np.inf, 0, 0
    for i in range(n):
        for j in range(i + 1, n):
            m = M[i, j] - b[i] * c[j] - c[i] * b[j]
            v = C[i, j] - c[i] * c[j]
            M[i, j], C[i, j] = m, v
            w = weights[i, j]
            gain = 0.5 * (own_M[i] + own_M[j] - 2 * m) * w / (1 + w * (own_C[i] + own_C[j] - 2 * v))
            row[j] = gain if w >= 0 else -np.inf
        for j in range(i + 1, n):
            if row[j] > best:
                best, first, second = row[j], i, j
    return best, first, second


@compiled
def importance(mean, covariance):
    """Return omega_kl = phi(z)^2 / (p (1 - p)) / v of all pairs of scores with this mean and covariance (see `order`).

    p (1 - p) = erfc(z / sqrt(2)) erfc(-z / sqrt(2)) / 4. If v is zero but for rounding, as between two equal items,
    their difference is certain and omega is 0.
    """
    n = len(mean)
    omega = np.zeros((n, n))
    for k in range(n):
        for other in range(k + 1, n):
            v = covariance[k, k] + covariance[other, other] - 2 * covariance[k, other]
            if v > MIN_RELATIVE_VARIANCE * (covariance[k, k] + covariance[other, other]):
                a = (mean[k] - mean[other]) / math.sqrt(2 * v)
                p_times_q = max(math.erfc(a) * math.erfc(-a) / 4, 1e-300)
                omega[k, other] = math.exp(-2 * a * a) / (2 * math.pi) / p_times_q / v
                omega[other, k] = omega[k, other]
    return omega
