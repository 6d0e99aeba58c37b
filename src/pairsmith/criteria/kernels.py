"""Compiled inner loops of criteria."""

import math

import numpy as np

from pairsmith.design.compiling import compiled

KNOWN = 1e-12  # of two variances, below which that of the difference counts as none


@compiled
def lower_and_find(M, C, weights, c, bent, row):
    """Subtract c bent' + bent c' from M and c c' from C; then the largest of the gains below, and its pair.

    The gain of (i, j), of weight w, is 1/2 (M_ii + M_jj - 2 M_ij) w / (1 + w (C_ii + C_jj - 2 C_ij)); a pair of
    negative weight is no candidate. All matrices are known by the part above their diagonal, and each is gone through
    once. Of equal gains the first in the order of rows counts; -inf and the pair (0, 0) where there is no candidate.
    `row` is scratch, a number an item.
    """
    n = len(c)
    own_M, own_C = np.empty(n), np.empty(n)
    for i in range(n):
        M[i, i] -= 2 * bent[i] * c[i]
        C[i, i] -= c[i] * c[i]
        own_M[i], own_C[i] = M[i, i], C[i, i]
    best, first, second = -np.inf, 0, 0
    for i in range(n):
        for j in range(i + 1, n):
            m = M[i, j] - bent[i] * c[j] - c[i] * bent[j]
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
    """omega_kl = phi(z)^2 / (p (1 - p)) / v of all pairs of scores of this mean and covariance (see `order`).

    p (1 - p) = erfc(z / sqrt(2)) erfc(-z / sqrt(2)) / 4; 0 for two whose difference is known: where v is no more than
    rounding leaves of it, as for two items that are the same.
    """
    n = len(mean)
    found = np.zeros((n, n))
    for k in range(n):
        for other in range(k + 1, n):
            v = covariance[k, k] + covariance[other, other] - 2 * covariance[k, other]
            if v > KNOWN * (covariance[k, k] + covariance[other, other]):
                a = (mean[k] - mean[other]) / math.sqrt(2 * v)
                chance = max(math.erfc(a) * math.erfc(-a) / 4, 1e-300)
                omega = math.exp(-2 * a * a) / (2 * math.pi) / chance / v
                found[k, other], found[other, k] = omega, omega
    return found
