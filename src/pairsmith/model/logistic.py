"""The numerics of logistic regression: an accurate fit even on badly conditioned data, AUC, averaged probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit, log_expit, ndtr, roots_hermitenorm
from sklearn.linear_model import LogisticRegression

from pairsmith.data.arrays import Floats
from pairsmith.data.errors import ArgumentError

_ROWS_IN_CACHE = 2048
_MAX_QR_OPERATIONS = 2e8  # with more, the Hessian is formed and factorized if its condition allows it
_MAX_NEWTON_STEPS = 100


def check_ridge(ridge: Any, name: str) -> None:
    """Refuse a ridge that is not a positive number of a sensible size."""
    if isinstance(ridge, bool) or not isinstance(ridge, int | float | np.number) or not 1e-300 < ridge < 1e300:
        raise ArgumentError(name, f" must be a positive number, from 1e-300 to 1e300, got {ridge!r}")


def minimise(
    rows: Floats, y: Floats, weights: Floats, ridge: float, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Minimise ridge |beta|^2 + sum of weight log(1 + exp(-y beta'row)); return beta and the Hessian's factor there.

    Newton's method takes less time than scikit-learn's solvers, and ends with the factor that the posterior needs. If
    it does not converge, scikit-learn finds a better start.
    """
    used = weights > 0
    if not used.all():
        rows, y, weights = rows[used], y[used], weights[used]
    d = rows.shape[1]
    if len(rows) == 0:
        return np.zeros(d), np.sqrt(2 * ridge) * np.eye(d)
    beta, factor, converged = _newton(np.zeros(d) if start is None else start, rows, y, weights, ridge)
    if converged:
        return beta, factor
    solver = LogisticRegression(C=1 / (2 * ridge), fit_intercept=False, max_iter=1000)
    two_class_rows, two_class_y, two_class_weights = rows, y, weights
    if np.all(y == y[0]):  # the solver needs two classes; a row and its mirror image are equivalent, so split one
        two_class_rows, two_class_y = np.vstack([rows, -rows[:1]]), np.append(y, -y[0])
        two_class_weights = np.append(weights, weights[0] / 2)
        two_class_weights[0] /= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the Newton steps below finish what it leaves undone
        solver.fit(two_class_rows, two_class_y, sample_weight=two_class_weights)
    other, other_factor, _ = _newton(solver.coef_[0], rows, y, weights, ridge)
    if _objective(other, rows, y, weights, ridge) < _objective(beta, rows, y, weights, ridge):
        return other, other_factor
    return beta, factor


def _objective(beta: Floats, rows: Floats, y: Floats, weights: Floats, ridge: float) -> float:
    return ridge * float(beta @ beta) - float(weights @ log_expit(y * (rows @ beta)))


def _factor(rows: Floats, curvature: Floats, ridge: float) -> Floats:
    """Return the upper triangular R with R'R = H = rows' diag(curvature) rows + 2 ridge I."""
    d = rows.shape[1]
    if len(rows) * d * d > _MAX_QR_OPERATIONS:
        with suppress(np.linalg.LinAlgError):
            hessian = 2 * ridge * np.eye(d)
            for part in slices_in_cache(len(rows)):
                block = rows[part] * np.sqrt(curvature[part])[:, None]
                hessian += block.T @ block
            return np.asarray(np.linalg.cholesky(hessian, upper=True), dtype=np.float64)
    stacked = np.vstack([rows * np.sqrt(curvature)[:, None], np.sqrt(2 * ridge) * np.eye(d)])
    factor: Floats = np.asarray(np.linalg.qr(stacked, mode="r"))
    return factor


def slices_in_cache(count: int, begin: int = 0) -> Iterator[slice]:
    """Yield slices of rows whose temporaries stay in the cache."""
    for low in range(begin, count, _ROWS_IN_CACHE):
        yield slice(low, min(low + _ROWS_IN_CACHE, count))


def _newton(beta: Floats, rows: Floats, y: Floats, weights: Floats, ridge: float) -> tuple[Floats, Floats, bool]:
    """Take Newton steps from `beta`; return the last point, the Hessian's factor there, and whether they converged."""
    factor, moved, converged = None, np.inf, False
    scale = float(weights @ np.sqrt(np.einsum("ra,ra->r", rows, rows)))
    for _ in range(_MAX_NEWTON_STEPS):
        surprise = expit(-y * (rows @ beta))  # 1 - P(the given answer)
        gradient = 2 * ridge * beta - rows.T @ (weights * y * surprise)
        # Near the minimum of separable data both terms of the gradient vanish, so it has to be small beside them too.
        tolerance = 1e-9 * min(scale, 2 * ridge * float(np.linalg.norm(beta)))
        converged = float(np.linalg.norm(gradient)) <= max(tolerance, 1e-14 * scale * min(1.0, float(surprise.max())))
        if converged and factor is not None and moved < 1e-6:
            break  # the factor of the previous step is as good
        factor = _factor(rows, weights * surprise * (1 - surprise), ridge)
        if converged:
            break
        step = -solve_triangular(factor, solve_triangular(factor, gradient, trans="T"))
        length, now = 1.0, _objective(beta, rows, y, weights, ridge)
        if -float(gradient @ step) > 1e-10 * now:  # otherwise values differ by rounding only
            while not _objective(beta + length * step, rows, y, weights, ridge) <= now and length > 1e-10:
                length /= 2
        if length <= 1e-10 or float(np.linalg.norm(step)) <= 1e-14 * float(np.linalg.norm(beta)):
            converged = float(np.linalg.norm(gradient)) <= 1e-8 * scale
            break
        moved = float(np.linalg.norm(step)) / max(float(np.linalg.norm(beta)), 1e-300)
        beta = beta + length * step
    assert factor is not None
    return beta, factor, converged


def auc(y: Floats, scores: Floats, weights: Floats) -> float:
    """Return the area under the ROC curve, like roc_auc_score but without its checks, which dominate its time."""
    _, level = np.unique(scores, return_inverse=True)
    better = np.bincount(level, np.where(y > 0, weights, 0.0))
    worse = np.bincount(level, np.where(y > 0, 0.0, weights))
    return float(better @ (np.cumsum(worse) - worse / 2) / (better.sum() * worse.sum()))


def auc_of_comparisons(outcomes: Floats, gaps: Floats, weights: Floats) -> float:
    """Return the AUC of comparisons and their mirror images, so that the order within a pair does not matter."""
    both = np.concatenate([outcomes, -outcomes]), np.concatenate([gaps, -gaps])
    return auc(*both, np.concatenate([weights, weights]))


def average(mean: Floats, deviation: Floats) -> Floats:
    """Return E[1 / (1 + exp(-s))] for s ~ N(mean, deviation^2), to about 1e-12.

    A narrow s uses Gauss-Hermite quadrature. A wide s uses that the expectation is E[Phi((mean - l) / deviation)] over
    a logistic l, by the trapezoid rule, whose error falls exponentially for such functions.
    """
    nodes, node_weights = roots_hermitenorm(40)
    narrow = expit(mean[:, None] + deviation[:, None] * nodes) @ (node_weights / node_weights.sum())
    steps = np.arange(-40, 40.25, 0.25)
    density = expit(steps) * expit(-steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = ndtr((mean[:, None] - steps) / deviation[:, None]) @ (density / density.sum())
    return np.asarray(np.where(deviation < 0.4, narrow, wide))
