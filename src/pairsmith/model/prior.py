"""The parts of the scores of the items compared, in three forms that tell the same and differ in what they cost.

A part's variance is a multiple of its covariance: a X X' of the linear part, b K_s of the smooth one, e I of the items'
own. `Parts` are coordinates, X and those of K_s, and the posterior is by items with features; `ScoreParts` are the
covariances of the scores, and `GapParts` those of the gaps of the pairs asked (see `posterior`). `cheaper` says which
form takes the least time.
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
from pairsmith.model.posterior import GapPosterior, Posterior, Prior, ScorePosterior, Sites
from pairsmith.model.propagation import Propagated, propagate

PARTS = ("linear", "smooth", "items")
_FEW = 0.2  # of the items: with so many sites that changed, it is about as fast to begin anew
_AT_REST = 0.8  # of the tolerance: there sites stay, as changing them takes time
# Where rounding would show in what is computed by scores, it is computed by items with features instead:
_LEAST_OWN = 1e-6  # the least share of the items' own in all variances, with which a covariance can be inverted
_MOST_TOLD = 1e7  # the most that variances times what answers tell of an item may be: `taken` is a difference
_MOST_SCORES = 2000  # items whose scores' covariances are written out


@dataclass(frozen=True)
class Told:
    """What answers tell about a part: the squared length of its coefficients' mean, and how many are determined."""

    size: float
    determined: float


@dataclass(frozen=True)
class Known:
    """A posterior of some of the items, from which that of a few more answers follows."""

    posterior: Posterior
    places: Ints  # its items have among those of now
    tau: Floats  # of the answers of now in it, 0 where they are new


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

    def propagate(
        self, variances: dict[str, float], answers: Answers, sites: Sites | None, tolerance: float
    ) -> Propagated[Posterior]:
        prior = self.prior(variances)
        return propagate(lambda sites: Posterior.of(prior, answers, sites), answers, sites, tolerance)

    def propagate_from(
        self, variances: dict[str, float], answers: Answers, sites: Sites, known: Known, tolerance: float
    ) -> Propagated[Posterior]:
        """As `propagate`, where there are a few more answers than there were to a posterior that is known."""
        prior = self.prior(variances)
        posterior, tau = known.posterior.among(known.places, prior), known.tau

        def follow(sites: Sites) -> Posterior:
            nonlocal posterior, tau
            few = np.count_nonzero(sites.tau != tau) <= _FEW * len(prior.effects)
            posterior = posterior.moved(prior, answers, tau, sites) if few else Posterior.of(prior, answers, sites)
            tau = sites.tau
            return posterior

        return propagate(follow, answers, sites, tolerance, at_rest=_AT_REST * tolerance)

    def told(self, variances: dict[str, float], posterior: Posterior) -> dict[str, Told]:
        d, items = self.linear.shape[1], len(self.linear) - len(self.fixed)
        coefficients = self.prior(variances).features.T @ posterior.pull
        certain = 1 - np.einsum("ab,ab->a", posterior.root, posterior.root)
        through = posterior.graph @ posterior.features
        own = 1 - np.diag(posterior.effects)[:items] / max(variances["items"], 1e-300)
        own -= variances["items"] * np.einsum("ea,ea->e", through[:items], through[:items])
        effects = variances["items"] * float(posterior.pull[:items] @ posterior.pull[:items])
        return {
            "linear": Told(float(coefficients[:d] @ coefficients[:d]), float(certain[:d].sum())),
            "smooth": Told(float(coefficients[d:] @ coefficients[d:]), float(certain[d:].sum())),
            "items": Told(effects, float(own.sum())),
        }


@dataclass(frozen=True)
class Covariances:
    """Of which each part's variance is a multiple, and those of effects whose variances are fixed."""

    linear: Floats  # (n, n), as all of them
    smooth: Floats
    items: Floats
    fixed: Floats

    def total(self, variances: dict[str, float]) -> Floats:
        total: Floats = self.fixed + sum(variances[name] * getattr(self, name) for name in PARTS)
        return total

    def told(self, variances: dict[str, float], pull: Floats, taken: Floats) -> dict[str, Told]:
        """By alpha = `pull` and R = `taken`: alpha'G_a alpha and tr(R G_a) of each part."""
        of = {name: getattr(self, name) for name in PARTS}
        return {
            name: Told(
                variances[name] * float(pull @ of[name] @ pull), variances[name] * float(np.vdot(taken, of[name]))
            )
            for name in PARTS
        }


def _own(parts: Parts) -> tuple[Floats, Floats]:
    """1 for the items whose effects have the variance of `items`, and the fixed variances of the others."""
    n, last = len(parts.linear), len(parts.fixed)
    return np.append(np.ones(n - last), np.zeros(last)), np.append(np.zeros(n - last), parts.fixed)


@dataclass(frozen=True)
class ScoreParts:
    """By the covariances of the scores of the items compared."""

    parts: Parts
    covariances: Covariances

    @classmethod
    def of(cls, parts: Parts) -> ScoreParts:
        own, fixed = _own(parts)
        return cls(
            parts,
            Covariances(parts.linear @ parts.linear.T, parts.smooth @ parts.smooth.T, np.diag(own), np.diag(fixed)),
        )

    def propagate(
        self, variances: dict[str, float], answers: Answers, sites: Sites | None, tolerance: float
    ) -> Propagated[ScorePosterior] | Propagated[Posterior]:
        total = sum(variances.values())
        if variances["items"] < _LEAST_OWN * total or total * _most_told(answers, len(self.parts.linear)) > _MOST_TOLD:
            return self.parts.propagate(variances, answers, sites, tolerance)
        precision, logdet = dense_inverse(self.covariances.total(variances))
        return propagate(lambda sites: ScorePosterior.of(precision, logdet, answers, sites), answers, sites, tolerance)

    def told(self, variances: dict[str, float], posterior: ScorePosterior | Posterior) -> dict[str, Told]:
        if isinstance(posterior, Posterior):
            return self.parts.told(variances, posterior)
        return self.covariances.told(variances, posterior.pull, posterior.taken())


def _most_told(answers: Answers, n: int) -> float:
    """The most that answers tell of one of n items: the sum of the tau that their sites can have."""
    each = answers.slope**2 * (answers.won + answers.lost) / 4
    return float(np.max(summed(answers.first, each, n) + summed(answers.second, each, n), initial=0.0))


@dataclass(frozen=True)
class GapParts:
    """By the covariances of the gaps of the pairs asked."""

    covariances: Covariances

    @classmethod
    def of(cls, parts: Parts, answers: Answers) -> GapParts:
        B = answers.matrix(len(parts.linear))
        linear, smooth = B @ parts.linear, B @ parts.smooth
        effects = ((B @ diags_array(of) @ B.T).toarray() for of in _own(parts))
        return cls(Covariances(linear @ linear.T, smooth @ smooth.T, *effects))

    def propagate(
        self, variances: dict[str, float], answers: Answers, sites: Sites | None, tolerance: float
    ) -> Propagated[GapPosterior]:
        covariance = self.covariances.total(variances)
        return propagate(lambda sites: GapPosterior.of(covariance, sites), answers, sites, tolerance)

    def told(self, variances: dict[str, float], posterior: GapPosterior) -> dict[str, Told]:
        return self.covariances.told(variances, posterior.pull, posterior.taken())


Form = Parts | ScoreParts | GapParts


def cheaper(parts: Parts, answers: Answers) -> Form:
    """In the form in which the posterior takes the fewest multiplications."""
    n, p, m = len(parts.linear), parts.linear.shape[1] + parts.smooth.shape[1], len(answers)
    by_items, by_answers = n**3 + 2 * n * n * p + 4 * n * p * p + 4 / 3 * p**3, 2 / 3 * m**3
    by_scores = 1.5 * n**3 if n <= _MOST_SCORES else np.inf  # the covariance beforehand is inverted, too
    if m == 0 or by_items <= min(by_scores, by_answers):
        return parts
    return GapParts.of(parts, answers) if by_answers < by_scores else ScoreParts.of(parts)


_LOST = 1e-6  # of the largest eigenvalue of the kernel: what is below only adds rounding
_ROWS = 4096  # whose distances to the landmarks are computed at a time


@dataclass(frozen=True)
class FeatureMap:
    """From rows of X to the coordinates of the linear and of the smooth part."""

    used: Bools  # (d,) the columns that are not constant
    center: Floats  # of these
    scale: Floats
    landmarks: Floats  # (m, d used) in linear coordinates
    median: float  # squared distance between landmarks
    known: dict[float, tuple[Floats, Floats]] = field(default_factory=dict, repr=False, compare=False)  # by scale

    @classmethod
    def of(cls, X: Floats, landmarks: int, rng: np.random.Generator) -> FeatureMap:
        center, deviation, used = spread_of(X)
        # Standardised, a column has the mean square 1, so the mean squared length of a row is the number of columns.
        scale = deviation[used] * np.sqrt(max(1, int(used.sum())))
        rows = X[np.sort(rng.choice(len(X), min(len(X), landmarks), replace=False))]
        map = cls(used, center[used], scale, np.zeros((0, int(used.sum()))), 1.0)
        if not used.any():
            return map
        rows = np.unique(map.linear(rows), axis=0)
        apart = euclidean_distances(rows, squared=True)[np.triu_indices(len(rows), 1)]
        return cls(used, map.center, scale, rows, float(np.median(apart)) if len(apart) else 1.0)

    def linear(self, X: Floats) -> Floats:
        """(N, d used) of mean square length 1."""
        return (X[:, self.used] - self.center) / self.scale

    def smooth(self, linear: Floats, scale: float) -> Floats:
        """(N, m) Nystroem features of length scale `scale`, from linear coordinates."""
        towards, level = self._towards(scale)
        found = np.empty((len(linear), len(level)))
        for low in range(0, len(linear), _ROWS):
            found[low : low + _ROWS] = self._kernel(linear[low : low + _ROWS], scale) @ towards - level
        return found

    def _towards(self, scale: float) -> tuple[Floats, Floats]:
        """U V^-1/2, and its mean k(landmarks, .) U V^-1/2 over the landmarks."""
        if scale not in self.known:
            values, vectors = np.linalg.eigh(self._kernel(self.landmarks, scale))
            kept = values > _LOST * values[-1]
            level = (vectors[:, kept] * np.sqrt(values[kept])).mean(axis=0)
            self.known[scale] = vectors[:, kept] / np.sqrt(values[kept]), level
        return self.known[scale]

    def _kernel(self, rows: Floats, scale: float) -> Floats:
        squared: Floats = euclidean_distances(rows, self.landmarks, squared=True)
        return np.exp(-squared / (2 * scale * self.median))
