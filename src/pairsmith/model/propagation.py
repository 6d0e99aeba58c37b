"""Expectation propagation: a Gaussian posterior of scores, given answers, and the evidence for the prior.

The answers to a pair (i, j) have the likelihood sigma(h)^won sigma(-h)^lost, h = slope (f_i - f_j) + shift,
sigma(h) = 1 / (1 + exp(-h)). Each is replaced by a *site* exp(nu g - tau g^2 / 2) in the gap g = f_i - f_j, so chosen
that with all other sites (the *cavity*) it has the mean and variance that the likelihood itself would have there.
Laplace's method would put the posterior at its mode instead: where answers hardly err, that is far from the mean, and
says something else about the order of items. What the posterior is, given sites, is in `posterior`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from scipy.special import expit, log_expit

from pairsmith.data.arrays import Floats
from pairsmith.model.evidence import Answers, Places
from pairsmith.model.logistic import average
from pairsmith.model.posterior import GapPosterior, Posterior, ScorePosterior, Sites

if TYPE_CHECKING:
    import pandas as pd


_NODES, _SHARES = np.polynomial.legendre.leggauss(24)  # in each of three panels: errors of moments are below 1e-6
_NEAR_MODE = 0.1  # so well the mode of a tilted density is found, in the least standard deviation it can have
_EDGE, _EDGE_HALVINGS = 19.0, 12  # a density is integrated to where it has fallen by exp(-19), found to 1 in 4,000 ...
_EDGE_WITHIN = 0.25  # ... or, where that is more, to this share of the least standard deviation it can have
_CURVED = 6.0  # beyond it log sigma is a straight line or nothing, to 0.003: what is smooth needs no panel of its own.
# With n answers to a pair there are n log sigma, which is so beyond _CURVED + log n.
_HASTY = 20  # sweeps in which sites move all the way to what they should be; if they have not settled, then half way
_LEAST_CAVITY = 1e-7  # of the marginal precision: rounding leaves no less of it where one pair has all the answers
_LEAST_VARIANCE = 1e-12  # of a gap; two items that are alike in all that the model knows of them have none
_LEAST_SITE = 1e-8  # of the precision of its cavity: what an answer tells at least, so that its site can be divided by

P = TypeVar("P", Posterior, ScorePosterior, GapPosterior)


@dataclass(frozen=True)
class Propagated(Generic[P]):
    """What expectation propagation ends with."""

    posterior: P
    sites: Sites
    evidence: float  # log of the probability of the answers under the prior
    cavity_mean: Floats  # of each gap, as all answers but those to this pair tell it
    cavity_variance: Floats
    moving: float  # how far the gap that is furthest from settled still moved, as a share of its standard deviation


def propagate(
    posterior_of: Callable[[Sites], P],
    answers: Answers,
    sites: Sites | None = None,
    tolerance: float = 1e-2,
    sweeps: int = 60,
    at_rest: float = 0.0,
) -> Propagated[P]:
    """The posterior, given the answers; `posterior_of` says what it is, given their sites.

    All sites are brought up to date at once, from `sites` or the beginning on, until the mean of no gap moves by more
    than `tolerance` of its standard deviation, nor its variance by that share. Sites of gaps that would move by less
    than `at_rest` stay as they are: for where `posterior_of` takes the longer, the more sites have changed.
    Where this does not settle from `sites`, it starts again from the beginning.
    """
    start, sites = sites, Sites.beginning(answers) if sites is None else sites
    for sweep in range(sweeps):
        posterior = posterior_of(sites)
        mean, variance = posterior.gaps(answers)
        variance = np.maximum(variance, _LEAST_VARIANCE)
        left = 1 - sites.tau * variance  # of the precision, without the site
        # While sites do not agree yet, one may claim more than is known: it is left as it is for a sweep.
        usable = left > -_LEAST_CAVITY
        precision = np.where(left > _LEAST_CAVITY, 1 / variance - sites.tau, _LEAST_CAVITY / variance)
        cavity_mean = (mean / variance - sites.nu) / precision
        log_mass, tilted_mean, tilted_variance = tilted(cavity_mean, 1 / precision, answers)
        # Each site is scaled so that it has the mass of its likelihood in its cavity.
        push = cavity_mean * precision + sites.nu
        own = 0.5 * (push**2 / (precision + sites.tau) - cavity_mean**2 * precision)
        scaled = log_mass + 0.5 * np.log1p(sites.tau / precision) - own
        evidence = float(np.sum(scaled) - 0.5 * posterior.logdet + 0.5 * sites.nu @ mean)
        off = np.maximum(np.abs(tilted_mean - mean) / np.sqrt(variance), np.abs(np.log(tilted_variance / variance)))
        moving = float(np.max(off, initial=0.0))
        if moving < tolerance:
            break
        tau, nu = _site(cavity_mean, precision, tilted_mean, tilted_variance)
        moved = np.where(usable & (off >= at_rest), 1.0 if sweep < _HASTY else 0.5, 0.0)
        sites = Sites(sites.tau + moved * (tau - sites.tau), sites.nu + moved * (nu - sites.nu))
    found = Propagated(posterior, sites, evidence, cavity_mean, 1 / precision, moving)
    if moving < tolerance or start is None or sweeps == 1:
        return found
    # Answers that contradict the ones before can make sites from an earlier fit oscillate for ever.
    anew = propagate(posterior_of, answers, None, tolerance, sweeps, at_rest)
    return min(found, anew, key=lambda one: one.moving)


def told_alone(mean: Floats, variance: Floats, answers: Answers) -> tuple[Floats, Floats]:
    """tau and nu of answers to pairs, by what is known of each gap without them."""
    variance = np.maximum(variance, _LEAST_VARIANCE)
    _, tilted_mean, tilted_variance = tilted(mean, variance, answers)
    return _site(mean, 1 / variance, tilted_mean, tilted_variance)


def _site(cavity_mean: Floats, precision: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """tau and nu that lead from a cavity to this mean and variance."""
    # The likelihood is log-concave, so a tilted density is narrower than its cavity; rounding may deny it.
    tau = np.maximum(1 / variance - precision, _LEAST_SITE * precision)
    return tau, mean / variance - cavity_mean * precision


def tilted(mean: Floats, variance: Floats, answers: Answers) -> tuple[Floats, Floats, Floats]:
    """Of N(g; mean, variance) times the likelihood of each pair's answers: log of the mass, mean and variance.

    By Gauss-Legendre in h = slope g + shift, over three panels that together reach from where the density begins to
    where it ends: below, in and above the range in which log sigma is curved.
    """
    won, lost, slope = answers.won, answers.lost, answers.slope
    total = won + lost
    mean, deviation = slope * mean + answers.shift, slope * np.sqrt(variance)
    scale = deviation**2

    def height(h: Floats) -> Floats:
        bent: Floats = total * log_expit(h) - lost * h - 0.5 * (h - mean) ** 2 / scale
        return bent

    low, high = mean - scale * lost, mean + scale * won  # the slope of `height` changes its sign in between
    near = _NEAR_MODE / np.sqrt(1 / scale + total / 4)  # the narrowest that the density can be
    while np.any(high - low > near):
        mode = 0.5 * (low + high)
        rising = won - total * expit(mode) > (mode - mean) / scale
        low, high = np.where(rising, mode, low), np.where(rising, high, mode)
    mode = 0.5 * (low + high)
    top = height(mode)
    sides = np.array([[-1.0], [1.0]])
    inside = np.broadcast_to(mode, (2, len(mode)))
    outside = mode + sides * (np.sqrt(2 * _EDGE) + _NEAR_MODE) * deviation  # at least as curved as the normal
    wider = np.max(deviation / near, initial=1.0) * _NEAR_MODE * np.sqrt(2 * _EDGE) / _EDGE_WITHIN
    for _ in range(max(_EDGE_HALVINGS, int(np.ceil(np.log2(wider))))):
        middle = 0.5 * (inside + outside)
        ended = height(middle) < top - _EDGE
        inside, outside = np.where(ended, inside, middle), np.where(ended, middle, outside)
    begin, end = outside
    curved = _CURVED + np.log(np.maximum(total, 1.0))
    cuts = np.array([begin, np.clip(-curved, begin, end), np.clip(curved, begin, end), end])
    half, middle = 0.5 * np.diff(cuts, axis=0), 0.5 * (cuts[1:] + cuts[:-1])
    h = (middle[:, None] + half[:, None] * _NODES[:, None]).reshape(3 * len(_NODES), len(mean))
    density = np.exp(height(h) - top) * (half[:, None] * _SHARES[:, None]).reshape(h.shape)
    mass = density.sum(axis=0)
    center = (density * h).sum(axis=0) / mass
    width = (density * (h - center) ** 2).sum(axis=0) / mass
    log_mass = np.log(mass) + top - 0.5 * np.log(2 * np.pi * scale)
    return log_mass, (center - answers.shift) / slope, width / slope**2


def left_out(answers: Answers, found: Propagated[Any], places: Places) -> pd.DataFrame:
    """A row for each answer: `gap`, the mean of f_first - f_second, its `error`, and `p`, P(rater prefers first)."""
    import pandas as pd

    deviation = np.sqrt(found.cavity_variance)
    p = average(answers.slope * found.cavity_mean + answers.shift, answers.slope * deviation)
    side = np.where(places.turned, -1.0, 1.0)

    def of_each(values: Floats) -> Floats:
        return np.where(places.place >= 0, np.append(values, np.nan)[places.place], np.nan)

    return pd.DataFrame(
        {
            "gap": side * of_each(found.cavity_mean),
            "error": of_each(deviation),
            "p": np.where(places.turned, 1 - of_each(p), of_each(p)),
        }
    )


def share_right(p: Floats, outcomes: Floats, weights: Floats) -> tuple[float, float]:
    """Of answers predicted with the probabilities p: the share predicted right, ties left out, and the mean log loss.

    A tie is half a win each way. NaN where there is nothing to tell by.
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
