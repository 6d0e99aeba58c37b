"""The variances of a score's parts, chosen by the evidence that answers give for them.

The prior covariance of the scores is a X X' + b K_s + e I: linear in the features, smooth in them at the scale s, and
one effect for each item. By the evidence Z of expectation propagation, with beta the posterior mean of a
part's p coefficients and S their posterior covariance, or with G_a the part's share of the covariance of the gaps
beforehand, alpha and R = (T^-1 + G)^-1 (see `posterior`),

    d log Z / d log a = 1/2 (|beta|^2 - (p - tr S)) = 1/2 (alpha'G_a alpha - tr(R G_a)),

and the same for b and e: a part's variance is right when its coefficients are as large, in the mean, as the number of
them that the answers determine. Steps are those of BFGS in the logarithms, begun with minus half that number as the
curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.model.evidence import Answers
from pairsmith.model.posterior import Sites
from pairsmith.model.prior import PARTS, Form
from pairsmith.model.propagation import Propagated

USUAL = {"linear": 1.0, "smooth": 4.0, "items": 0.3}  # before any answer
SCALES = (0.3, 1.0, 0.1)  # of the smooth part, as shares of the median squared distance; the likeliest first
_SHARES = {"linear": 0.5, "smooth": 0.75, "items": 0.5}  # of their total, by the Dirichlet prior of these counts
_BENT = 0.25  # about the curvature of the prior along a logarithm
_LEAST, _MOST = 1e-6, 1e6  # variances
_ROUGHLY = 0.02  # the tolerance of expectation propagation while variances are looked for
_LONGEST = 1.5  # step in the logarithm of a variance
_FARTHER = 4  # times as long a step as before where the slope has become steeper
_STEPS, _RETRIES = 30, 4
_TRIED = 4  # times as many variances are looked at as are drawn
_TAILS = 3  # degrees of freedom of the t distribution that these come from
_APART = 0.5  # in the logarithm of a variance: so far to either side, slopes tell how bent the evidence is
_SETTLED = 0.05  # in nats of evidence, and in logarithms of variances: less than this is no difference


def fixed_variances(**parts: Any) -> dict[str, float]:
    """The variances that are not learned, by what a user said of each part: "auto", a variance, or False."""
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


def without_features(fixed: dict[str, float]) -> dict[str, float]:
    """The variances that are not learned where no feature differs between items: those of the features are 0."""
    if fixed.get("items") == 0:
        raise ValueError(
            "items=False leaves the features alone, and there is none that differs between items; leave it out"
        )
    return fixed | {"linear": 0.0, "smooth": 0.0}


@dataclass(frozen=True)
class Evaluated:
    """Variances, what the answers tell under them, and how well they explain the answers."""

    variances: dict[str, float]
    found: Propagated[Any]
    worth: float  # the evidence, less what the variances are unlikely beforehand


def learn(
    parts: Form,
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
    inverse = np.diag(1 / (0.5 * determined + _BENT))
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
        flatter = moved @ bent > 1e-8
        if flatter:
            share = np.eye(len(x)) - np.outer(moved, bent) / (moved @ bent)
            inverse = share @ inverse @ share.T + np.outer(moved, moved) / (moved @ bent)
        else:  # it becomes steeper, so the top is far
            inverse = _FARTHER * inverse
        x, slope, best = tried, new_slope, found
        # A long step that gained nothing may have passed over the top: what the next one promises tells.
        if flatter and abs(gained) < _SETTLED and 0.5 * slope @ inverse @ slope < _SETTLED:
            break
    return best


def drawn(
    parts: Form,
    answers: Answers,
    variances: dict[str, float],
    free: tuple[str, ...],
    sites: Sites,
    rng: np.random.Generator,
    count: int,
) -> list[dict[str, float]]:
    """Variances as they could be: `count` draws from their posterior, of which these are about the likeliest.

    By importance: more are drawn from the t distribution that fits the logarithms of the free variances at these, whose
    tails are as long as those that few answers leave, and of them `count` are taken in proportion to how much likelier
    the posterior has each than the t distribution.
    """
    steps = rng.standard_normal((_TRIED * count, len(free)))
    steps /= np.sqrt(rng.chisquare(_TAILS, len(steps)) / _TAILS)[:, None]
    moved = np.exp(steps @ _spread(parts, answers, variances, free, sites).T)
    tried = [
        variances | {name: variances[name] * float(by) for name, by in zip(free, row, strict=True)} for row in moved
    ]
    worth = np.array([evaluate(parts, answers, one, sites).worth for one in tried])
    weight = worth + 0.5 * (_TAILS + len(free)) * np.log1p(np.einsum("ea,ea->e", steps, steps) / _TAILS)
    share = np.cumsum(np.exp(weight - weight.max()))
    # One from each of `count` equal shares of the total, so that no more is left to chance than has to be.
    taken = np.searchsorted(share, share[-1] * (np.arange(count) + rng.random(count)) / count)
    return [tried[at] for at in rng.permutation(np.minimum(taken, len(tried) - 1))]


def _spread(parts: Form, answers: Answers, variances: dict[str, float], free: tuple[str, ...], sites: Sites) -> Floats:
    """R with R R' the covariance of the logarithms of the free variances, by the curvature of `worth` at these.

    Where answers tell next to nothing the curvature is taken for that of the prior where it is largest.
    """

    def slopes(name: str, step: float) -> Floats:
        there = evaluate(parts, answers, variances | {name: variances[name] * float(np.exp(step))}, sites)
        return _slopes(parts, there, free)[0]

    bent = np.array([slopes(name, -_APART) - slopes(name, _APART) for name in free]) / (2 * _APART)
    values, vectors = np.linalg.eigh((bent + bent.T) / 2)
    root: Floats = vectors / np.sqrt(np.maximum(values, _BENT))
    return root


def evaluate(parts: Form, answers: Answers, variances: dict[str, float], sites: Sites | None) -> Evaluated:
    """What the answers tell under these variances, and how well they explain the answers."""
    found = parts.propagate(variances, answers, sites, _ROUGHLY)
    return Evaluated(variances, found, found.evidence - _unlikeliness(variances))


def _unlikeliness(variances: dict[str, float]) -> float:
    """Minus the log of the prior density of the logarithms, without its constant; a part that is switched off has none.

    The square root of the total t of the variances has a half-Cauchy prior of scale 1, and the parts' shares s of the
    total have a Dirichlet prior, so the density is sqrt(t) / (1 + t) times the product of s^_SHARES. Were each variance
    drawn by itself, three parts of which answers tell nothing would add up to three times as much as one, and designed
    answers tell little of variances: their pairs are those of which either answer is as likely.
    """
    there = [name for name in PARTS if variances[name] > 0]
    total = sum(variances[name] for name in there)
    shares = sum(_SHARES[name] * np.log(variances[name] / total) for name in there)
    return float(np.log1p(total) - 0.5 * np.log(total) - shares)


def _point(evaluated: Evaluated, free: tuple[str, ...]) -> Floats:
    return np.log([max(evaluated.variances[name], _LEAST) for name in free])


def _slopes(parts: Form, evaluated: Evaluated, free: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Of `worth` along the logarithm of each free variance; how many of each part's coefficients are determined."""
    variances = evaluated.variances
    told = parts.told(variances, evaluated.found.posterior)
    total = sum(variances.values())
    of_total = total / (1 + total) - 0.5 + sum(_SHARES[name] for name in PARTS if variances[name] > 0)
    away = {name: variances[name] / total * of_total - _SHARES[name] for name in free}
    slopes = [0.5 * (told[name].size - told[name].determined) - away[name] for name in free]
    return np.array(slopes), np.array([max(told[name].determined, 0.5) for name in free])
