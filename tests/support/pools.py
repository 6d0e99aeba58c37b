"""Thirty random items for the tests of the pool, and gains of pairs by the definition."""

import numpy as np

N, D = 30, 4
X = np.random.default_rng(0).standard_normal((N, D))


def gains_of(design, i, j, weight=1.0):
    """Return the weighted d_ij, computed from the inverse of the information matrix."""
    inverse = design.root @ design.root.T
    differences = X[i] - X[j]
    return weight * np.einsum("ea,ab,eb->e", differences, inverse, differences)
