"""The variances of a score's parts, chosen by the evidence that answers give for them.

The prior covariance of the scores is a X X' + b K_s + e I: linear in the features, smooth in them at the scale s, and
one effect for each item. By the evidence Z of expectation propagation, with alpha = Psi'pull the posterior mean of a
part's coefficients beta and S their posterior covariance,

    d log Z / d log a = 1/2 (|alpha|^2 - (p - tr S)),

and the same for b and e: a part's variance is right when its coefficients are as large, in the mean, as the number of
them that the answers determine. Steps are those of BFGS in the logarithms, begun with the curvature -(p - tr S) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.model.expectation_propagation import Answers, Prior, Propagated, Sites, propagate

PARTS = ("linear", "smooth", "items")
USUAL = {"linear": 1.0, "smooth": 4.0, "items": 0.3}  # before any answer, and the middle of what is thought likely
SCALES = (0.3, 1.0, 0.1)  # of the smooth part, as shares of the median squared distance; the likeliest first
_WIDTH = 3.0  # of that, as a standard deviation of the logarithm: from a 20th to 20 times as much is usual
_LEAST, _MOST = 1e-6, 1e6  # variances
_ROUGHLY = 0.02  # the tolerance of expectation propagation while variances are looked for
_LONGEST = 1.5  # step in the logarithm of a variance
_STEPS, _RETRIES = 30, 4
_SETTLED = 0.05  # in nats of evidence, and in logarithms of variances: less than this is no difference


@dataclass(frozen=True)
class Parts:
    """The items compared in coordinates of which each part's variance is a multiple."""

    linear: Floats  # (n, d)
    smooth: Floats  # (n, m)
    fixed: Floats = field(default_factory=lambda: np.zeros(0))  # variances of the last rows' effects, where not `items`

    def prior(self, variances: dict[str, float]) -> Prior:
        features = [np.sqrt(variances[name]) * getattr(self, name) for name in ("linear", "smooth")]
        items = np.full(len(self.linear) - len(self.fixed), variances["items"])
        return Prior(np.hstack(features), np.concatenate([items, self.fixed]))


@dataclass(frozen=True)
class Evaluated:
    """Variances, what the answers tell under them, and how well they explain the answers."""

    variances: dict[str, float]
    found: Propagated
    worth: float  # the evidence, less what the variances are unlikely beforehand


def learn(
    parts: Parts,
    answers: Answers,
    start: dict[str, float],
    free: tuple[str, ...],
    sites: Sites | None = None,
) -> Evaluated:
    """The variances under which the answers are likeliest; those that are not `free` stay as they are."""
    best = evaluate(parts, answers, start, sites)
    if not free:
        return best
    x, slope, determined = _point(best, free), *_slopes(parts, best, free)
    inverse = np.diag(1 / (0.5 * determined + _WIDTH**-2))
    for _ in range(_STEPS):
        step = inverse @ slope
        step *= min(1.0, _LONGEST / np.max(np.abs(step), initial=1e-300))
        if np.max(np.abs(step)) < _SETTLED:
            break
        for _ in range(_RETRIES):
            tried = np.clip(x + step, np.log(_LEAST), np.log(_MOST))
            found = evaluate(
                parts, answers, start | dict(zip(free, np.exp(tried).tolist(), strict=True)), best.found.sites
            )
            if found.worth > best.worth - _SETTLED:
                break
            step /= 3
        else:
            break
        new_slope, _ = _slopes(parts, found, free)
        moved, bent, gained = tried - x, slope - new_slope, found.worth - best.worth
        if moved @ bent > 1e-8:
            share = np.eye(len(x)) - np.outer(moved, bent) / (moved @ bent)
            inverse = share @ inverse @ share.T + np.outer(moved, moved) / (moved @ bent)
        x, slope, best = tried, new_slope, found
        if abs(gained) < _SETTLED:
            break
    return best


def evaluate(parts: Parts, answers: Answers, variances: dict[str, float], sites: Sites | None) -> Evaluated:
    """What the answers tell under these variances, and how well they explain the answers."""
    found = propagate(parts.prior(variances), answers, sites, _ROUGHLY)
    return Evaluated(variances, found, found.evidence - _unlikeliness(variances))


def _unlikeliness(variances: dict[str, float]) -> float:
    """Minus the log of a log-normal prior, without its constant; a part that is switched off has none."""
    far = [np.log(variances[name] / USUAL[name]) / _WIDTH for name in PARTS if variances[name] > 0]
    return 0.5 * float(np.sum(np.square(far)))


def _point(evaluated: Evaluated, free: tuple[str, ...]) -> Floats:
    return np.log([max(evaluated.variances[name], _LEAST) for name in free])


def _slopes(parts: Parts, evaluated: Evaluated, free: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Of `worth` along the logarithm of each free variance; how many of each part's coefficients are determined."""
    posterior, variances = evaluated.found.posterior, evaluated.variances
    prior = parts.prior(variances)
    d, items = parts.linear.shape[1], len(parts.linear) - len(parts.fixed)
    coefficients = prior.features.T @ posterior.pull
    certain = 1 - np.einsum("ab,ab->a", posterior.root, posterior.root)
    through = posterior.graph @ posterior.features
    own = 1 - np.diag(posterior.effects)[:items] / max(variances["items"], 1e-300)
    own -= variances["items"] * np.einsum("ea,ea->e", through[:items], through[:items])
    size = {
        "linear": coefficients[:d] @ coefficients[:d],
        "smooth": coefficients[d:] @ coefficients[d:],
        "items": variances["items"] * (posterior.pull[:items] @ posterior.pull[:items]),
    }
    determined = {"linear": certain[:d].sum(), "smooth": certain[d:].sum(), "items": own.sum()}
    away = {name: np.log(variances[name] / USUAL[name]) / _WIDTH**2 for name in free}
    slopes = [0.5 * (size[name] - determined[name]) - away[name] for name in free]
    return np.array(slopes), np.maximum([determined[name] for name in free], 0.5)
