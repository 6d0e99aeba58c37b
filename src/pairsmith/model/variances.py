"""The variances of the parts of a score, chosen by the evidence of the answers.

The prior covariance of the scores is a X X' + b K_s + e I: linear in the features, smooth in them at the length scale
s, plus one effect per item. Let Z be the evidence by expectation propagation, beta the posterior mean of a part's p
coefficients and S their posterior covariance; or in score or gap space, G_a the part's share of the prior covariance,
with alpha and R as in `posterior`. Then

    d log Z / d log a = 1/2 (|beta|^2 - (p - tr S)) = 1/2 (alpha'G_a alpha - tr(R G_a)),

and the same for b and e. So a variance is right when the squared length of its coefficients equals the number of them
that the answers determine. The maximisation uses BFGS in the logarithms; the initial curvature is half that number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.model.evidence import Answers
from pairsmith.model.posterior import Sites
from pairsmith.model.prior import PARTS, PartsForm
from pairsmith.model.propagation import EPResult

INITIAL_VARIANCES = {"linear": 1.0, "smooth": 4.0, "items": 0.3}  # before any answer
LENGTH_SCALES = (0.3, 1.0, 0.1)  # of the smooth part, as shares of the median squared distance; the likeliest first
_DIRICHLET_COUNTS = {"linear": 0.5, "smooth": 0.75, "items": 0.5}  # the prior of each part's share of the total
_PRIOR_CURVATURE = 0.25  # of the log prior along the logarithm of a variance, roughly
_MIN_VARIANCE, _MAX_VARIANCE = 1e-6, 1e6
_SEARCH_TOLERANCE = 0.02  # of expectation propagation during the search
_MAX_LOG_STEP = 1.5
_STEEPER_FACTOR = 4  # lengthens the steps where the gradient has become steeper
_MAX_STEPS, _MAX_STEP_CUTS = 30, 4
_CANDIDATES_PER_DRAW = 4  # importance sampling evaluates this many candidates per variance drawn
_T_DEGREES_OF_FREEDOM = 3  # of the proposal distribution
_CURVATURE_STEP = 0.5  # in the logarithm of a variance, for finite differences of the gradient
_NEGLIGIBLE = 0.05  # difference in nats of evidence, and in logarithms of variances


def fixed_variances(**parts: Any) -> dict[str, float]:
    """Return the variances that the user fixed; each part is "auto", a variance, or False."""
    fixed = {}
    for name, value in parts.items():
        if isinstance(value, str) and value == "auto":
            continue
        if value is False:
            fixed[name] = 0.0
        elif isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < 1e9:
            raise ValueError(f"{name} must be 'auto', a positive variance below 1e9 or False, got {value!r}")
        else:
            fixed[name] = float(value)
    if len(fixed) == len(PARTS) and not any(fixed.values()):
        raise ValueError("linear, smooth and items are all False; keep at least one part")
    return fixed


def without_feature_parts(fixed: dict[str, float]) -> dict[str, float]:
    """Return the fixed variances for items whose features do not differ: the feature parts are switched off too."""
    if fixed.get("items") == 0:
        raise ValueError(
            "items=False leaves the features alone, and there is none that differs between items; leave it out"
        )
    return fixed | {"linear": 0.0, "smooth": 0.0}


@dataclass(frozen=True)
class Evaluation:
    """Variances, the posterior under them, and how plausible they are."""

    variances: dict[str, float]
    result: EPResult[Any]
    log_density: float  # the evidence plus the log prior density of the variances


def maximise_evidence(
    parts: PartsForm,
    answers: Answers,
    start: dict[str, float],
    free: tuple[str, ...],
    sites: Sites | None = None,
) -> Evaluation:
    """Return the likeliest variances given the answers; those that are not `free` keep their start values."""
    best = evaluate(parts, answers, start, sites)
    if not free:
        return best
    x = np.log([max(best.variances[name], _MIN_VARIANCE) for name in free])
    gradient, determined = _gradient(parts, best, free)
    inverse_hessian = np.diag(1 / (0.5 * determined + _PRIOR_CURVATURE))
    for _ in range(_MAX_STEPS):
        step = inverse_hessian @ gradient
        step *= min(1.0, _MAX_LOG_STEP / np.max(np.abs(step), initial=1e-300))
        if np.max(np.abs(step)) < _NEGLIGIBLE:
            break
        for _ in range(_MAX_STEP_CUTS):
            new_x = np.clip(x + step, np.log(_MIN_VARIANCE), np.log(_MAX_VARIANCE))
            variances = start | dict(zip(free, np.exp(new_x).tolist(), strict=True))
            new = evaluate(parts, answers, variances, best.result.sites)
            if new.log_density > best.log_density - _NEGLIGIBLE:
                break
            step /= 3
        else:
            break
        new_gradient, _ = _gradient(parts, new, free)
        moved, bent, gained = new_x - x, gradient - new_gradient, new.log_density - best.log_density
        flatter = moved @ bent > 1e-8
        if flatter:
            projection = np.eye(len(x)) - np.outer(moved, bent) / (moved @ bent)
            inverse_hessian = projection @ inverse_hessian @ projection.T + np.outer(moved, moved) / (moved @ bent)
        else:  # the gradient has become steeper, so the maximum is far away
            inverse_hessian = _STEEPER_FACTOR * inverse_hessian
        x, gradient, best = new_x, new_gradient, new
        # A long step that gained nothing may have passed over the maximum; stop only if the next promises nothing.
        if flatter and abs(gained) < _NEGLIGIBLE and 0.5 * gradient @ inverse_hessian @ gradient < _NEGLIGIBLE:
            break
    return best


def sample_variances(
    parts: PartsForm,
    answers: Answers,
    variances: dict[str, float],
    free: tuple[str, ...],
    sites: Sites,
    rng: np.random.Generator,
    count: int,
) -> list[dict[str, float]]:
    """Draw `count` variances from their posterior, given its approximate mode `variances`.

    This is importance sampling. The proposal is a t distribution of the logarithms around the mode, with tails as long
    as few answers leave them. More candidates are drawn than needed, and `count` of them resampled in proportion to the
    ratio of the posterior density to the proposal's.
    """
    steps = rng.standard_normal((_CANDIDATES_PER_DRAW * count, len(free)))
    steps /= np.sqrt(rng.chisquare(_T_DEGREES_OF_FREEDOM, len(steps)) / _T_DEGREES_OF_FREEDOM)[:, None]
    factors = np.exp(steps @ _log_covariance_root(parts, answers, variances, free, sites).T)
    candidates = [
        variances | {name: variances[name] * float(by) for name, by in zip(free, row, strict=True)} for row in factors
    ]
    log_density = np.array([evaluate(parts, answers, candidate, sites).log_density for candidate in candidates])
    squared_length = np.einsum("ea,ea->e", steps, steps)
    dimension = _T_DEGREES_OF_FREEDOM + len(free)
    log_weight = log_density + 0.5 * dimension * np.log1p(squared_length / _T_DEGREES_OF_FREEDOM)
    cumulative = np.cumsum(np.exp(log_weight - log_weight.max()))
    # Stratified resampling, one draw from each of `count` equal shares, has the least variance.
    chosen = np.searchsorted(cumulative, cumulative[-1] * (np.arange(count) + rng.random(count)) / count)
    return [candidates[at] for at in rng.permutation(np.minimum(chosen, len(candidates) - 1))]


def _log_covariance_root(
    parts: PartsForm, answers: Answers, variances: dict[str, float], free: tuple[str, ...], sites: Sites
) -> Floats:
    """Return R, with R R' the covariance of the logarithms of the free variances by the curvature of their density.

    Directions in which the density is nearly flat get the largest curvature of the prior.
    """

    def gradient_at(name: str, step: float) -> Floats:
        there = evaluate(parts, answers, variances | {name: variances[name] * float(np.exp(step))}, sites)
        return _gradient(parts, there, free)[0]

    hessian = np.array([gradient_at(name, -_CURVATURE_STEP) - gradient_at(name, _CURVATURE_STEP) for name in free])
    hessian = hessian / (2 * _CURVATURE_STEP)
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    root: Floats = vectors / np.sqrt(np.maximum(values, _PRIOR_CURVATURE))
    return root


def evaluate(parts: PartsForm, answers: Answers, variances: dict[str, float], sites: Sites | None) -> Evaluation:
    """Run expectation propagation under these variances, and return their log density."""
    result = parts.propagate(variances, answers, sites, _SEARCH_TOLERANCE)
    return Evaluation(variances, result, result.evidence - _negative_log_prior(variances))


def _negative_log_prior(variances: dict[str, float]) -> float:
    """Return minus the log prior density of the logarithms, up to a constant; parts that are off contribute nothing.

    The square root of the total t of the variances has a half-Cauchy prior of scale 1, and the parts' shares s of the
    total have a Dirichlet prior, so the density is sqrt(t) / (1 + t) times the product of s^_DIRICHLET_COUNTS. With
    independent priors, three parts that answers do not inform would add up to three times the variance of one. Designed
    answers carry little information about variances, because either answer to their pairs is about equally likely.
    """
    active = [name for name in PARTS if variances[name] > 0]
    total = sum(variances[name] for name in active)
    log_shares = sum(_DIRICHLET_COUNTS[name] * np.log(variances[name] / total) for name in active)
    return float(np.log1p(total) - 0.5 * np.log(total) - log_shares)


def _gradient(parts: PartsForm, at: Evaluation, free: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Return the gradient of the log density in the logarithms of the free variances, and each part's n_determined."""
    variances = at.variances
    stats = parts.coefficient_stats(variances, at.result.posterior)
    total = sum(variances.values())
    of_total = total / (1 + total) - 0.5 + sum(_DIRICHLET_COUNTS[name] for name in PARTS if variances[name] > 0)
    prior = {name: variances[name] / total * of_total - _DIRICHLET_COUNTS[name] for name in free}
    gradient = [0.5 * (stats[name].squared_norm - stats[name].n_determined) - prior[name] for name in free]
    return np.array(gradient), np.array([max(stats[name].n_determined, 0.5) for name in free])
