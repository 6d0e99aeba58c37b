"""Logistic regression as the model needs it: to the last digit, also on badly conditioned data."""

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


def check_ridge(ridge: Any, name: str) -> None:
    if isinstance(ridge, bool) or not isinstance(ridge, int | float | np.number) or not 1e-300 < ridge < 1e300:
        raise ArgumentError(name, f" must be a positive number, from 1e-300 to 1e300, got {ridge!r}")


def minimise(
    rows: Floats, y: Floats, weights: Floats, ridge: float, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """The minimum of ridge |beta|^2 + sum of weight log(1 + exp(-y beta'row)), and the factor of its Hessian there.

    Newton's method: less time than scikit-learn's solvers take, and it ends with the factor that the posterior needs.
    Where it comes to no end, they are asked for a better start.
    """
    used = weights > 0
    if not used.all():
        rows, y, weights = rows[used], y[used], weights[used]
    d = rows.shape[1]
    if len(rows) == 0:
        return np.zeros(d), np.sqrt(2 * ridge) * np.eye(d)
    beta, factor, done = _newton(np.zeros(d) if start is None else start, rows, y, weights, ridge)
    if done:
        return beta, factor
    solver = LogisticRegression(C=1 / (2 * ridge), fit_intercept=False, max_iter=1000)
    shown_rows, shown_y, shown_weights = rows, y, weights
    if np.all(y == y[0]):  # a row and its mirror image say the same, so one class is as good as two
        shown_rows, shown_y = np.vstack([rows, -rows[:1]]), np.append(y, -y[0])
        shown_weights = np.append(weights, weights[0] / 2)
        shown_weights[0] /= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it has left to do is done below
        solver.fit(shown_rows, shown_y, sample_weight=shown_weights)
    other, other_factor, _ = _newton(solver.coef_[0], rows, y, weights, ridge)
    if _value(other, rows, y, weights, ridge) < _value(beta, rows, y, weights, ridge):
        return other, other_factor
    return beta, factor


def _value(beta: Floats, rows: Floats, y: Floats, weights: Floats, ridge: float) -> float:
    return ridge * float(beta @ beta) - float(weights @ log_expit(y * (rows @ beta)))


def _factor(rows: Floats, curvature: Floats, ridge: float) -> Floats:
    """Upper triangular R with R'R = H = rows' diag(curvature) rows + 2 ridge I."""
    d = rows.shape[1]
    if len(rows) * d * d > 2e8:  # the short way, where the condition allows it
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
    """Slices of so many rows that stay in the cache, where temporaries as large as all rows would not."""
    for low in range(begin, count, _ROWS_IN_CACHE):
        yield slice(low, min(low + _ROWS_IN_CACHE, count))


def _newton(beta: Floats, rows: Floats, y: Floats, weights: Floats, ridge: float) -> tuple[Floats, Floats, bool]:
    """Newton steps from there: where they led, the Hessian's factor there, and whether they came to an end."""
    factor, moved, done = None, np.inf, False
    scale = float(weights @ np.sqrt(np.einsum("ra,ra->r", rows, rows)))
    for _ in range(100):
        pull = expit(-y * (rows @ beta))  # 1 - P(what was answered)
        gradient = 2 * ridge * beta - rows.T @ (weights * y * pull)
        # Near the minimum of separable data both terms vanish, so the gradient has to be small beside them too.
        wanted = 1e-9 * min(scale, 2 * ridge * float(np.linalg.norm(beta)))
        done = float(np.linalg.norm(gradient)) <= max(wanted, 1e-14 * scale * min(1.0, float(pull.max())))
        if done and factor is not None and moved < 1e-6:
            break  # the factor is that of a moment ago, which is as good
        factor = _factor(rows, weights * pull * (1 - pull), ridge)
        if done:
            break
        step = -solve_triangular(factor, solve_triangular(factor, gradient, trans="T"))
        length, now = 1.0, _value(beta, rows, y, weights, ridge)
        if -float(gradient @ step) > 1e-10 * now:  # else values differ by rounding only, and the step is right anyway
            while not _value(beta + length * step, rows, y, weights, ridge) <= now and length > 1e-10:
                length /= 2
        if length <= 1e-10 or float(np.linalg.norm(step)) <= 1e-14 * float(np.linalg.norm(beta)):
            done = float(np.linalg.norm(gradient)) <= 1e-8 * scale
            break
        moved = float(np.linalg.norm(step)) / max(float(np.linalg.norm(beta)), 1e-300)
        beta = beta + length * step
    assert factor is not None
    return beta, factor, done


def auc(y: Floats, scores: Floats, weights: Floats) -> float:
    """The area under the ROC curve: roc_auc_score without its checks, which take ten times as long."""
    _, level = np.unique(scores, return_inverse=True)
    better = np.bincount(level, np.where(y > 0, weights, 0.0))
    worse = np.bincount(level, np.where(y > 0, 0.0, weights))
    return float(better @ (np.cumsum(worse) - worse / 2) / (better.sum() * worse.sum()))


def auc_of_comparisons(outcomes: Floats, gaps: Floats, weights: Floats) -> float:
    """The AUC of comparisons and their mirror images, by differences of scores: who is called first does not matter."""
    both = np.concatenate([outcomes, -outcomes]), np.concatenate([gaps, -gaps])
    return auc(*both, np.concatenate([weights, weights]))


def average(mean: Floats, deviation: Floats) -> Floats:
    """E[1 / (1 + exp(-s))] for s ~ N(mean, deviation^2), to about 1e-12.

    For a narrow s by Gauss-Hermite. For a wide one the logistic is a step of width one: this is E[Phi((mean - l) /
    deviation)] over a logistic l, by the trapezoid rule, whose error falls exponentially for such functions.
    """
    nodes, shares = roots_hermitenorm(40)
    narrow = expit(mean[:, None] + deviation[:, None] * nodes) @ (shares / shares.sum())
    steps = np.arange(-40, 40.25, 0.25)
    density = expit(steps) * expit(-steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = ndtr((mean[:, None] - steps) / deviation[:, None]) @ (density / density.sum())
    return np.asarray(np.where(deviation < 0.4, narrow, wide))
