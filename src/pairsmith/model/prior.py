"""The Gaussian-process prior: features as coordinates of the parts of a score, in the form that is cheapest to use.

A score has a linear part, a smooth part, and an effect of the item's own. The prior covariance of the scores is
a X X' + b K_s + e I, so each part's variance multiplies a fixed covariance. `FeatureMap` turns raw features into
coordinates of the first two parts. Three classes run expectation propagation for given variances a, b and e:
`WeightSpaceParts` from the coordinates, `ScoreSpaceParts` from the covariances of the scores, and `GapSpaceParts` from
the covariances of the gaps of the answered pairs. The result is the same; `cheapest_form` picks the fastest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import diags_array
from sklearn.metrics.pairwise import euclidean_distances

from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.data.spread import spread_of
from pairsmith.design.sparse_inverse import dense_inverse
from pairsmith.model.evidence import Answers, summed
from pairsmith.model.posterior import GapSpacePosterior, Prior, ScoreSpacePosterior, Sites, WeightSpacePosterior
from pairsmith.model.propagation import EPResult, propagate

PARTS = ("linear", "smooth", "items")
_MIN_EIGENVALUE = 1e-6  # relative to the kernel's largest; smaller eigenvalues only add rounding errors
_ROWS_PER_BLOCK = 4096  # items whose distances to the landmarks are computed at a time
_MAX_UPDATED_SHARE = 0.2  # of the items; with more changed sites, a new factorization is about as fast as an update
_FREEZE_BELOW = 0.8  # of the tolerance: sites that would move less stay as they are, since changing them costs time
# Rounding would spoil the computation in score space outside these limits; it is done in weight space instead.
_MIN_EFFECT_SHARE = 1e-6  # effect variance over total variance; below it the prior covariance has no safe inverse
_MAX_INFORMATION = 1e7  # total variance times the precision of an item's answers; `downdate` is a difference
_MAX_DENSE_ITEMS = 2000  # items up to which the covariance matrices of the scores are stored


@dataclass(frozen=True)
class FeatureMap:
    """A map from rows of X to coordinates of the linear and the smooth part.

    Units of columns must not matter, so each column is standardised. All are then divided by the root mean squared
    length of a row, which makes the variance of the linear part a variance of scores. The smooth part is a Gaussian
    process with k(x, x') = exp(-|x - x'|^2 / (2 s m)), where m is the median squared distance between items, given by
    Nystroem features on some items, the landmarks: phi(x) = V^-1/2 U'k(landmarks, x), where U V U' is the kernel
    between the landmarks without negligible eigenvalues. The mean over the landmarks is subtracted from each feature,
    so the smooth part does not model a level that all scores share.
    """

    used: Bools  # (d,) the columns that are not constant
    center: Floats  # of the used columns
    scale: Floats
    landmarks: Floats  # (m, d used) in linear coordinates
    median: float  # squared distance between landmarks
    nystroem_cache: dict[float, tuple[Floats, Floats]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def fit(cls, X: Floats, landmarks: int, rng: np.random.Generator) -> FeatureMap:
        """Standardise the columns of X, and draw at most `landmarks` of its rows as landmarks."""
        center, deviation, used = spread_of(X)
        # Standardised columns have a mean square of 1, so the mean squared length of a row is the number of columns.
        scale = deviation[used] * np.sqrt(max(1, int(used.sum())))
        rows = X[np.sort(rng.choice(len(X), min(len(X), landmarks), replace=False))]
        map = cls(used, center[used], scale, np.zeros((0, int(used.sum()))), 1.0)
        if not used.any():
            return map
        rows = np.unique(map.linear(rows), axis=0)
        distances = euclidean_distances(rows, squared=True)[np.triu_indices(len(rows), 1)]
        return cls(used, map.center, scale, rows, float(np.median(distances)) if len(distances) else 1.0)

    def linear(self, X: Floats) -> Floats:
        """Return the (N, d used) linear coordinates, with a mean squared row length of 1 on the rows of the fit."""
        return (X[:, self.used] - self.center) / self.scale

    def smooth(self, linear: Floats, scale: float) -> Floats:
        """Return the (N, m) Nystroem features at the length scale s = `scale`, from linear coordinates."""
        projection, level = self._nystroem(scale)
        features = np.empty((len(linear), len(level)))
        for low in range(0, len(linear), _ROWS_PER_BLOCK):
            kernel = self._kernel(linear[low : low + _ROWS_PER_BLOCK], scale)
            features[low : low + _ROWS_PER_BLOCK] = kernel @ projection - level
        return features

    def _nystroem(self, scale: float) -> tuple[Floats, Floats]:
        """Return U V^-1/2, and the mean of the features over the landmarks."""
        if scale not in self.nystroem_cache:
            values, vectors = np.linalg.eigh(self._kernel(self.landmarks, scale))
            kept = values > _MIN_EIGENVALUE * values[-1]
            level = (vectors[:, kept] * np.sqrt(values[kept])).mean(axis=0)
            self.nystroem_cache[scale] = vectors[:, kept] / np.sqrt(values[kept]), level
        return self.nystroem_cache[scale]

    def _kernel(self, rows: Floats, scale: float) -> Floats:
        squared: Floats = euclidean_distances(rows, self.landmarks, squared=True)
        return np.exp(-squared / (2 * scale * self.median))


@dataclass(frozen=True)
class CoefficientStats:
    """What the gradient of the evidence needs to know about the coefficients of one part."""

    squared_norm: float  # of their posterior mean
    n_determined: float  # the effective number that the answers determine: their count minus tr(posterior covariance)


@dataclass(frozen=True)
class EarlierPosterior:
    """An earlier posterior, of fewer items and answers, that a new one can be computed from by updates."""

    posterior: WeightSpacePosterior
    rows: Ints  # of its items among the present ones
    tau: Floats  # the sites' tau in it for the present answers; 0 for new answers


@dataclass(frozen=True)
class WeightSpaceParts:
    """The compared items in coordinates, for unit variances."""

    linear: Floats  # (n, d)
    smooth: Floats  # (n, m)
    fixed: Floats = field(default_factory=lambda: np.zeros(0))  # effect variances of the last rows, instead of e

    def prior(self, variances: dict[str, float]) -> Prior:
        """Return the prior of the scores under these variances."""
        features = [np.sqrt(variances[name]) * getattr(self, name) for name in ("linear", "smooth")]
        items = np.full(len(self.linear) - len(self.fixed), variances["items"])
        return Prior(np.hstack(features), np.concatenate([items, self.fixed]))

    def propagate(
        self, variances: dict[str, float], answers: Answers, sites: Sites | None, tolerance: float
    ) -> EPResult[WeightSpacePosterior]:
        """Run expectation propagation under these variances, starting from `sites`."""
        prior = self.prior(variances)
        return propagate(
            lambda sites: WeightSpacePosterior.from_sites(prior, answers, sites), answers, sites, tolerance
        )

    def propagate_from(
        self,
        variances: dict[str, float],
        answers: Answers,
        sites: Sites,
        earlier: EarlierPosterior,
        tolerance: float,
    ) -> EPResult[WeightSpacePosterior]:
        """Run expectation propagation by updating an earlier posterior, which is faster after a few more answers."""
        prior = self.prior(variances)
        posterior, tau = earlier.posterior.extended(earlier.rows, prior), earlier.tau

        def update(sites: Sites) -> WeightSpacePosterior:
            nonlocal posterior, tau
            if np.count_nonzero(sites.tau != tau) <= _MAX_UPDATED_SHARE * len(prior.effects):
                posterior = posterior.updated(prior, answers, tau, sites)
            else:
                posterior = WeightSpacePosterior.from_sites(prior, answers, sites)
            tau = sites.tau
            return posterior

        return propagate(update, answers, sites, tolerance, freeze_below=_FREEZE_BELOW * tolerance)

    def coefficient_stats(
        self, variances: dict[str, float], posterior: WeightSpacePosterior
    ) -> dict[str, CoefficientStats]:
        """Return the statistics of each part's coefficients."""
        d, items = self.linear.shape[1], len(self.linear) - len(self.fixed)
        mean = self.prior(variances).features.T @ posterior.pull
        determined = 1 - np.einsum("ab,ab->a", posterior.root, posterior.root)
        weighted = posterior.graph @ posterior.features
        effects_determined = 1 - np.diag(posterior.effects)[:items] / max(variances["items"], 1e-300)
        effects_determined -= variances["items"] * np.einsum("ea,ea->e", weighted[:items], weighted[:items])
        effects_norm = variances["items"] * float(posterior.pull[:items] @ posterior.pull[:items])
        return {
            "linear": CoefficientStats(float(mean[:d] @ mean[:d]), float(determined[:d].sum())),
            "smooth": CoefficientStats(float(mean[d:] @ mean[d:]), float(determined[d:].sum())),
            "items": CoefficientStats(effects_norm, float(effects_determined.sum())),
        }


@dataclass(frozen=True)
class Covariances:
    """Prior covariances of the scores or gaps: one per part with unit variance, plus the fixed effects'."""

    linear: Floats  # (n, n), like the others
    smooth: Floats
    items: Floats
    fixed: Floats

    def total(self, variances: dict[str, float]) -> Floats:
        """Return the prior covariance under these variances."""
        total: Floats = self.fixed + sum(variances[name] * getattr(self, name) for name in PARTS)
        return total

    def coefficient_stats(self, variances: dict[str, float], alpha: Floats, R: Floats) -> dict[str, CoefficientStats]:
        """Return alpha'G_a alpha and tr(R G_a) for each part's share G_a of the covariance, with R by `downdate`."""
        stats = {}
        for name in PARTS:
            unit, variance = getattr(self, name), variances[name]
            stats[name] = CoefficientStats(variance * float(alpha @ unit @ alpha), variance * float(np.vdot(R, unit)))
        return stats


def _effect_variances(parts: WeightSpaceParts) -> tuple[Floats, Floats]:
    """Return each item's effect variance as a multiple of e, and its fixed effect variance; one of them is zero."""
    n, last = len(parts.linear), len(parts.fixed)
    return np.append(np.ones(n - last), np.zeros(last)), np.append(np.zeros(n - last), parts.fixed)


@dataclass(frozen=True)
class ScoreSpaceParts:
    """The compared items by the prior covariances of their scores."""

    parts: WeightSpaceParts
    covariances: Covariances

    @classmethod
    def from_parts(cls, parts: WeightSpaceParts) -> ScoreSpaceParts:
        """Compute the covariances of the scores."""
        items, fixed = _effect_variances(parts)
        linear, smooth = parts.linear @ parts.linear.T, parts.smooth @ parts.smooth.T
        return cls(parts, Covariances(linear, smooth, np.diag(items), np.diag(fixed)))

    def propagate(
        self, variances: dict[str, float], answers: Answers, sites: Sites | None, tolerance: float
    ) -> EPResult[ScoreSpacePosterior] | EPResult[WeightSpacePosterior]:
        """Run expectation propagation under these variances, in weight space where rounding requires it."""
        total = sum(variances.values())
        information = total * _max_item_precision(answers, len(self.parts.linear))
        if variances["items"] < _MIN_EFFECT_SHARE * total or information > _MAX_INFORMATION:
            return self.parts.propagate(variances, answers, sites, tolerance)
        precision, logdet = dense_inverse(self.covariances.total(variances))
        return propagate(
            lambda sites: ScoreSpacePosterior.from_sites(precision, logdet, answers, sites), answers, sites, tolerance
        )

    def coefficient_stats(
        self, variances: dict[str, float], posterior: ScoreSpacePosterior | WeightSpacePosterior
    ) -> dict[str, CoefficientStats]:
        """Return the statistics of each part's coefficients."""
        if isinstance(posterior, WeightSpacePosterior):
            return self.parts.coefficient_stats(variances, posterior)
        return self.covariances.coefficient_stats(variances, posterior.pull, posterior.downdate())


def _max_item_precision(answers: Answers, n: int) -> float:
    """Bound the precision that answers contribute to any of n items: the largest sum of its sites' tau."""
    tau = answers.slope**2 * (answers.won + answers.lost) / 4
    return float(np.max(summed(answers.first, tau, n) + summed(answers.second, tau, n), initial=0.0))


@dataclass(frozen=True)
class GapSpaceParts:
    """The answered pairs by the prior covariances of their gaps."""

    covariances: Covariances

    @classmethod
    def from_parts(cls, parts: WeightSpaceParts, answers: Answers) -> GapSpaceParts:
        """Compute the covariances of the gaps."""
        B = answers.incidence(len(parts.linear))
        linear, smooth = B @ parts.linear, B @ parts.smooth
        effects = ((B @ diags_array(diagonal) @ B.T).toarray() for diagonal in _effect_variances(parts))
        return cls(Covariances(linear @ linear.T, smooth @ smooth.T, *effects))

    def propagate(
        self, variances: dict[str, float], answers: Answers, sites: Sites | None, tolerance: float
    ) -> EPResult[GapSpacePosterior]:
        """Run expectation propagation under these variances, starting from `sites`."""
        covariance = self.covariances.total(variances)
        return propagate(lambda sites: GapSpacePosterior.from_sites(covariance, sites), answers, sites, tolerance)

    def coefficient_stats(
        self, variances: dict[str, float], posterior: GapSpacePosterior
    ) -> dict[str, CoefficientStats]:
        """Return the statistics of each part's coefficients."""
        return self.covariances.coefficient_stats(variances, posterior.pull, posterior.downdate())


PartsForm = WeightSpaceParts | ScoreSpaceParts | GapSpaceParts


def cheapest_form(parts: WeightSpaceParts, answers: Answers) -> PartsForm:
    """Return the parts in the form whose posterior takes the fewest multiplications."""
    n, p, m = len(parts.linear), parts.linear.shape[1] + parts.smooth.shape[1], len(answers)
    in_weight_space, in_gap_space = n**3 + 2 * n * n * p + 4 * n * p * p + 4 / 3 * p**3, 2 / 3 * m**3
    in_score_space = 1.5 * n**3 if n <= _MAX_DENSE_ITEMS else np.inf  # counts the inverse of the prior covariance
    if m == 0 or in_weight_space <= min(in_score_space, in_gap_space):
        return parts
    return (
        GapSpaceParts.from_parts(parts, answers) if in_gap_space < in_score_space else ScoreSpaceParts.from_parts(parts)
    )
