"""Expectation propagation: a Gaussian posterior of the scores given the answers, and the evidence for the prior.

The answers to a pair (i, j) have the likelihood sigma(h)^won sigma(-h)^lost with h = slope (f_i - f_j) + shift and
sigma(h) = 1 / (1 + exp(-h)). Each likelihood is replaced by a *site*, exp(nu g - tau g^2 / 2) in the gap g = f_i - f_j.
The site is chosen so that, multiplied by the *cavity* (the posterior of g under all other sites), it has the mean and
variance that the likelihood itself would have there. Laplace's method would use the posterior's mode instead: where
answers hardly err the mode is far from the mean, and would misstate how certain the order of the items is.

The cavity also predicts each answer from all others, without another fit: see `leave_one_out`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from scipy.special import expit, log_expit

from pairsmith.data.arrays import Floats
from pairsmith.model.evidence import AnswerPlaces, Answers
from pairsmith.model.logistic import average
from pairsmith.model.posterior import GapSpacePosterior, ScoreSpacePosterior, Sites, WeightSpacePosterior

if TYPE_CHECKING:
    import pandas as pd

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)  # per panel, of three; errors of moments stay below 1e-6
_MODE_TOLERANCE = 0.1  # of the mode of a tilted density, in the smallest standard deviation that it can have
# A tilted density is integrated to where it has fallen by exp(-_LOG_EDGE). Bisection finds that point to 1 in 4,000, or
# to _EDGE_TOLERANCE of the smallest standard deviation that the density can have, whichever is finer.
_LOG_EDGE, _MIN_EDGE_HALVINGS, _EDGE_TOLERANCE = 19.0, 12, 0.25
# Beyond this, log sigma is linear or zero to 0.003 and needs no panel of its own. For n answers to a pair the
# likelihood has n such terms, and the limit is _CURVED_UNTIL + log n.
_CURVED_UNTIL = 6.0
_FULL_STEP_SWEEPS = 20  # sites move all the way to their targets in the first sweeps, and half way after that
_MIN_CAVITY_SHARE = 1e-7  # of the marginal precision; where one pair has all the answers, the rest is rounding
_MIN_GAP_VARIANCE = 1e-12  # the gap of two items that the model cannot tell apart has none
_MIN_SITE_SHARE = 1e-8  # of the cavity's precision; keeps tau positive, so that it can be divided by

P = TypeVar("P", WeightSpacePosterior, ScoreSpacePosterior, GapSpacePosterior)


@dataclass(frozen=True)
class EPResult(Generic[P]):
    """The result of expectation propagation."""

    posterior: P
    sites: Sites
    evidence: float  # the log probability of the answers under the prior
    cavity_mean: Floats  # of each gap, given all answers but those to its pair
    cavity_variance: Floats
    max_change: float  # of any gap in the last sweep, as a share of its standard deviation


def propagate(
    posterior_of: Callable[[Sites], P],
    answers: Answers,
    sites: Sites | None = None,
    tolerance: float = 1e-2,
    sweeps: int = 60,
    freeze_below: float = 0.0,
) -> EPResult[P]:
    """Run expectation propagation, where `posterior_of` computes the posterior given the sites.

    Each sweep updates all sites at once, starting from `sites` or from scratch, until no gap's mean moves by more than
    `tolerance` standard deviations, nor its variance by that share. Sites of gaps that would move by less than
    `freeze_below` stay as they are, which saves time if `posterior_of` is faster the fewer sites have changed. If the
    iteration does not converge from `sites`, it starts again from scratch.
    """
    start, sites = sites, Sites.initial(answers) if sites is None else sites
    for sweep in range(sweeps):
        posterior = posterior_of(sites)
        mean, variance = posterior.gaps(answers)
        variance = np.maximum(variance, _MIN_GAP_VARIANCE)
        cavity_share = 1 - sites.tau * variance  # of the marginal precision
        # Before convergence a site may claim more precision than the marginal has. Leave it as it is for a sweep.
        usable = cavity_share > -_MIN_CAVITY_SHARE
        precision = np.where(cavity_share > _MIN_CAVITY_SHARE, 1 / variance - sites.tau, _MIN_CAVITY_SHARE / variance)
        cavity_mean = (mean / variance - sites.nu) / precision
        log_mass, tilted_mean, tilted_variance = tilted_moments(cavity_mean, 1 / precision, answers)
        # Scale each site so that it has the mass of its likelihood under the cavity.
        total_nu = cavity_mean * precision + sites.nu
        log_site_mass = 0.5 * (total_nu**2 / (precision + sites.tau) - cavity_mean**2 * precision)
        log_scale = log_mass + 0.5 * np.log1p(sites.tau / precision) - log_site_mass
        evidence = float(np.sum(log_scale) - 0.5 * posterior.logdet + 0.5 * sites.nu @ mean)
        change = np.maximum(np.abs(tilted_mean - mean) / np.sqrt(variance), np.abs(np.log(tilted_variance / variance)))
        max_change = float(np.max(change, initial=0.0))
        if max_change < tolerance:
            break
        tau, nu = _match_moments(cavity_mean, precision, tilted_mean, tilted_variance)
        step = np.where(usable & (change >= freeze_below), 1.0 if sweep < _FULL_STEP_SWEEPS else 0.5, 0.0)
        sites = Sites(sites.tau + step * (tau - sites.tau), sites.nu + step * (nu - sites.nu))
    result = EPResult(posterior, sites, evidence, cavity_mean, 1 / precision, max_change)
    if max_change < tolerance or start is None or sweeps == 1:
        return result
    # Answers that contradict earlier ones can make the sites of an earlier fit oscillate for ever.
    restarted = propagate(posterior_of, answers, None, tolerance, sweeps, freeze_below)
    return min(result, restarted, key=lambda one: one.max_change)


def sites_from_cavities(mean: Floats, variance: Floats, answers: Answers) -> tuple[Floats, Floats]:
    """Return tau and nu of the sites of answers, given the mean and variance of each gap without them."""
    variance = np.maximum(variance, _MIN_GAP_VARIANCE)
    _, tilted_mean, tilted_variance = tilted_moments(mean, variance, answers)
    return _match_moments(mean, 1 / variance, tilted_mean, tilted_variance)


def _match_moments(
    cavity_mean: Floats, cavity_precision: Floats, mean: Floats, variance: Floats
) -> tuple[Floats, Floats]:
    """Return tau and nu of the sites that take the cavities to this mean and variance."""
    # The likelihood is log-concave, so a tilted density is narrower than its cavity, up to rounding.
    tau = np.maximum(1 / variance - cavity_precision, _MIN_SITE_SHARE * cavity_precision)
    return tau, mean / variance - cavity_mean * cavity_precision


def tilted_moments(mean: Floats, variance: Floats, answers: Answers) -> tuple[Floats, Floats, Floats]:
    """Return the log mass, mean and variance of N(g; mean, variance) times the likelihood of each pair's answers.

    The integral is by Gauss-Legendre quadrature in h = slope g + shift. Three panels reach from where the density
    begins to where it ends: below, inside and above the range in which log sigma is curved.
    """
    won, lost, slope = answers.won, answers.lost, answers.slope
    total = won + lost
    mean, deviation = slope * mean + answers.shift, slope * np.sqrt(variance)
    scale = deviation**2

    def log_density(h: Floats) -> Floats:
        value: Floats = total * log_expit(h) - lost * h - 0.5 * (h - mean) ** 2 / scale
        return value

    low, high = mean - scale * lost, mean + scale * won  # the slope of log_density changes sign in between
    tolerance = _MODE_TOLERANCE / np.sqrt(1 / scale + total / 4)  # in the narrowest that the density can be
    while np.any(high - low > tolerance):
        mode = 0.5 * (low + high)
        rising = won - total * expit(mode) > (mode - mean) / scale
        low, high = np.where(rising, mode, low), np.where(rising, high, mode)
    mode = 0.5 * (low + high)
    top = log_density(mode)
    sides = np.array([[-1.0], [1.0]])
    inside = np.broadcast_to(mode, (2, len(mode)))
    # The density is at least as curved as the normal, so it has ended here.
    outside = mode + sides * (np.sqrt(2 * _LOG_EDGE) + _MODE_TOLERANCE) * deviation
    width_ratio = (
        np.max(deviation / tolerance, initial=1.0) * _MODE_TOLERANCE * np.sqrt(2 * _LOG_EDGE) / _EDGE_TOLERANCE
    )
    for _ in range(max(_MIN_EDGE_HALVINGS, int(np.ceil(np.log2(width_ratio))))):
        middle = 0.5 * (inside + outside)
        ended = log_density(middle) < top - _LOG_EDGE
        inside, outside = np.where(ended, inside, middle), np.where(ended, middle, outside)
    begin, end = outside
    curved = _CURVED_UNTIL + np.log(np.maximum(total, 1.0))
    cuts = np.array([begin, np.clip(-curved, begin, end), np.clip(curved, begin, end), end])
    half, middle = 0.5 * np.diff(cuts, axis=0), 0.5 * (cuts[1:] + cuts[:-1])
    h = (middle[:, None] + half[:, None] * _NODES[:, None]).reshape(3 * len(_NODES), len(mean))
    density = np.exp(log_density(h) - top) * (half[:, None] * _WEIGHTS[:, None]).reshape(h.shape)
    mass = density.sum(axis=0)
    center = (density * h).sum(axis=0) / mass
    width = (density * (h - center) ** 2).sum(axis=0) / mass
    log_mass = np.log(mass) + top - 0.5 * np.log(2 * np.pi * scale)
    return log_mass, (center - answers.shift) / slope, width / slope**2


def leave_one_out(answers: Answers, result: EPResult[Any], places: AnswerPlaces) -> pd.DataFrame:
    """Predict each answer from all others: `gap`, the mean of f_first - f_second, its `error`, and `p`, P(first wins).

    The predictions use each pair's cavity, which excludes all answers to the pair, or with raters, the same rater's
    answers to it. The variances were learned with the answer, but they depend little on a single one.
    """
    import pandas as pd

    deviation = np.sqrt(result.cavity_variance)
    p = average(answers.slope * result.cavity_mean + answers.shift, answers.slope * deviation)
    sign = np.where(places.swapped, -1.0, 1.0)

    def by_answer(values: Floats) -> Floats:
        return np.where(places.index >= 0, np.append(values, np.nan)[places.index], np.nan)

    return pd.DataFrame(
        {
            "gap": sign * by_answer(result.cavity_mean),
            "error": by_answer(deviation),
            "p": np.where(places.swapped, 1 - by_answer(p), by_answer(p)),
        }
    )


def prediction_accuracy(p: Floats, outcomes: Floats, weights: Floats) -> tuple[float, float]:
    """Return the share of answers that the probabilities p predict right, and the mean log loss.

    The share leaves ties out; in the log loss a tie is half a win each way. Both are NaN if no answer is decided.
    """
    used = np.isfinite(p) & (weights > 0)
    p, outcomes, weights = np.clip(p[used], 1e-12, 1 - 1e-12), outcomes[used], weights[used]
    decided = weights * (outcomes != 0)
    if not decided.any():
        return np.nan, np.nan
    right = np.where(p == 0.5, 0.5, (p > 0.5) == (outcomes > 0))
    won = (outcomes + 1) / 2
    loss = -(won * np.log(p) + (1 - won) * np.log1p(-p))
    return float(decided @ right / decided.sum()), float(weights @ loss / weights.sum())
