"""Gaussian posteriors of scores: `Posterior` for any items, and three forms that expectation propagation computes.

`Posterior` holds the mean and covariance of the scores of the items asked about. Doubt, reliability and ranks follow
from it. The other three classes describe the items of the fit while each answer is replaced by a Gaussian site
exp(nu g - tau g^2 / 2) in the gap g = f_i - f_j of its pair (see `propagation`). They give the same distribution at
different costs; `prior.cheapest_form` chooses.

Scores are f = Psi beta + sqrt(D) u with beta, u ~ N(0, I): features times coefficients, plus an effect per item with
variance D_ii. B is the incidence matrix of the pairs, g = B f; L = B'diag(tau)B is the Laplacian of the graph of
answers weighted by their sites, and r = B'nu.

In weight space, where E is the covariance that the effects would have without features, Y the features after
conditioning on the effects, and S the posterior covariance of beta:

    E = D^1/2 (I + D^1/2 L D^1/2)^-1 D^1/2
    Y = (I - E L) Psi
    S = (I + Psi'L Y)^-1
    Cov f = E + Y S Y',   E f = Cov f r,   log det(I + Cov_prior L) = log det(I + D^1/2 L D^1/2) - log det S

This takes the inverse of a sparse matrix of the size of the compared items, and a Cholesky factor of the size of the
features. If the sites of a few answers change, by delta in their tau, and B_c holds their rows of B, Woodbury's
identity updates all of it:

    N = diag(1/delta) + B_c E B_c',   E - E B_c'N^-1 B_c E,   Y - E B_c'N^-1 B_c Y

In score space, with K the prior covariance of the scores, Cov f = (K^-1 + L)^-1. Once K^-1 is known, this takes one
inverse of the size of the compared items, whatever the number of features.

In gap space, with G the prior covariance of the gaps and T = diag(tau):

    M = I + T^1/2 G T^1/2,   Var g_e = (1 - M^-1_ee) / tau_e,   E g = G alpha,   alpha = nu - T^1/2 M^-1 T^1/2 G nu

This takes one Cholesky factor of the size of the answers, which is the least work while answers are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.special import ndtr

from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.sparse_inverse import dense_inverse, inverse

if TYPE_CHECKING:
    from pairsmith.model.evidence import Answers

_ROWS_PER_BLOCK = 512  # rows of a large matrix that are processed at a time
_RANK_DRAWS, _MIN_RANK_DRAWS = 2000, 500  # draws of the scores from which ranks are counted; fewer for many items
_MAX_DRAWN_SCORES = 10_000_000  # lowers the number of draws for many items, down to _MIN_RANK_DRAWS
_MAX_SAMPLED_ITEMS = 3000  # averages over pairs use a random sample of this size if there are more items


@dataclass(frozen=True)
class Posterior:
    """Scores of items with distribution N(mean, root root' + diag(unseen_variance) + C).

    C is `compared_effects` at the items `compared`, and zero elsewhere: the posterior covariance of their effects. All
    other items have independent effects with their prior variance, `unseen_variance`.
    """

    mean: Floats  # (n,)
    root: Floats  # (n, p)
    unseen_variance: Floats  # (n,) zero at the compared items
    compared: Ints  # rows of the items that were compared
    compared_effects: Floats

    def without_last(self) -> Posterior:
        """Drop the last item."""
        return self.subset(np.arange(len(self.mean) - 1))

    def subset(self, rows: Ints) -> Posterior:
        """Return the posterior of the items in these rows, in this order."""
        place = self._places_among_compared()[rows]
        compared = np.flatnonzero(place >= 0)
        effects = self.compared_effects[np.ix_(place[compared], place[compared])]
        return Posterior(self.mean[rows], self.root[rows], self.unseen_variance[rows], compared, effects)

    def linear_combinations(self, weights: Floats) -> Posterior:
        """Return the posterior of the linear combinations `weights` f of the scores."""
        of_compared = weights[:, self.compared]
        covariance = of_compared @ self.compared_effects @ of_compared.T
        covariance = covariance + (weights * self.unseen_variance) @ weights.T
        count = len(weights)
        return Posterior(weights @ self.mean, weights @ self.root, np.zeros(count), np.arange(count), covariance)

    def variance(self) -> Floats:
        """Return the variance of each score."""
        variance: Floats = np.einsum("ia,ia->i", self.root, self.root) + self.unseen_variance
        variance[self.compared] += np.diag(self.compared_effects)
        return variance

    def covariance(self, rows: Ints, columns: Ints) -> Floats:
        """Return the covariance between the scores of two lists of items."""
        covariance = self.root[rows] @ self.root[columns].T
        covariance += np.where(rows[:, None] == columns[None, :], self.unseen_variance[columns], 0.0)
        place = self._places_among_compared()
        i, j = np.flatnonzero(place[rows] >= 0), np.flatnonzero(place[columns] >= 0)
        covariance[np.ix_(i, j)] += self.compared_effects[np.ix_(place[rows[i]], place[columns[j]])]
        return covariance

    def gaps(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Return the mean and variance of f_i - f_j for pairs of different items."""
        difference = self.root[i] - self.root[j]
        variance = np.einsum("ea,ea->e", difference, difference) + self.unseen_variance[i] + self.unseen_variance[j]
        place = self._places_among_compared()
        for one, other, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -2.0)):
            both = (place[one] >= 0) & (place[other] >= 0)
            variance[both] += sign * self.compared_effects[place[one[both]], place[other[both]]]
        return self.mean[i] - self.mean[j], np.maximum(variance, 0.0)

    def doubt(self, rng: np.random.Generator) -> float:
        """Return the mean probability that two items stand in the wrong order; 0 if there is no pair."""
        n = len(self.mean)
        if n < 2:
            return 0.0
        sample = sample_items(n, rng)
        variance, total = self.variance()[sample], 0.0
        for low in range(0, len(sample), _ROWS_PER_BLOCK):
            rows = sample[low : low + _ROWS_PER_BLOCK]
            gap_variance = variance[low : low + _ROWS_PER_BLOCK, None] + variance - 2 * self.covariance(rows, sample)
            gap = np.abs(self.mean[rows][:, None] - self.mean[sample])
            with np.errstate(divide="ignore", invalid="ignore"):
                wrong = np.where(gap_variance > 0, ndtr(-gap / np.sqrt(np.maximum(gap_variance, 0.0))), 0.5)
            total += float(wrong.sum()) - float(np.trace(wrong[:, low : low + len(rows)]))
        return total / (len(sample) * (len(sample) - 1))

    def reliability(self) -> float:
        """Return the share of the variance of scores that is known: var(mean) / (var(mean) + mean posterior variance).

        Without features this is the scale separation reliability of comparative judgement.
        """
        known, unknown = self.variance_split()
        return known / (known + unknown) if known + unknown > 0 else 0.0

    def variance_split(self) -> tuple[float, float]:
        """Return the variance of the means, and the mean posterior variance.

        Both leave out the level that all scores share: comparisons do not determine it, and no order depends on it.
        """
        n = len(self.mean)
        total = self.root.sum(axis=0)
        shared = float(total @ total) + float(self.unseen_variance.sum()) + float(self.compared_effects.sum())
        return float(np.var(self.mean)), float(self.variance().mean()) - shared / n**2

    def draws(self, rng: np.random.Generator, count: int = _RANK_DRAWS) -> Floats:
        """Draw (count, n) scores."""
        scores = rng.standard_normal((count, self.root.shape[1])) @ self.root.T + self.mean
        if len(self.compared):
            normal = rng.standard_normal((count, len(self.compared)))
            scores[:, self.compared] += normal @ _square_root(self.compared_effects).T
        return scores + rng.standard_normal((count, len(self.mean))) * np.sqrt(self.unseen_variance)

    def rank_intervals(
        self, rng: np.random.Generator, level: float, top: int | None
    ) -> tuple[Ints, Ints, Floats | None]:
        """Return the best and worst rank of each item at this level (1 is best), and P(it is among the best `top`)."""
        scores = self.draws(rng, max(_MIN_RANK_DRAWS, min(_RANK_DRAWS, _MAX_DRAWN_SCORES // max(1, len(self.mean)))))
        order = np.argsort(-scores, axis=1)
        ranks = np.empty(scores.shape, dtype=np.int32)
        np.put_along_axis(ranks, order, np.arange(1, scores.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
        low, high = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0, method="nearest")
        in_top = None if top is None else (ranks <= top).mean(axis=0)
        return low.astype(np.int64), high.astype(np.int64), in_top

    def top_probabilities(self, rng: np.random.Generator, top: int) -> Floats:
        """Return P(an item is among the best `top`) for each item, roughly: from few draws."""
        scores = self.draws(rng, _MIN_RANK_DRAWS)
        best = np.argpartition(-scores, top - 1, axis=1)[:, :top]
        probability: Floats = np.bincount(best.ravel(), minlength=scores.shape[1]) / len(scores)
        return probability

    def _places_among_compared(self) -> Ints:
        """Return each item's place in `compared`, -1 for the others."""
        place = np.full(len(self.mean), -1)
        place[self.compared] = np.arange(len(self.compared))
        return place


def _square_root(covariance: Floats) -> Floats:
    """Return R with R R' = covariance: the Cholesky factor, or if rounding denies one, a root by eigenvalues."""
    try:
        root: Floats = cholesky(covariance, lower=True)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def sample_items(n: int, rng: np.random.Generator) -> Ints:
    """Return all n items, or a random sample that stands for them in averages over pairs."""
    return np.arange(n) if n <= _MAX_SAMPLED_ITEMS else np.sort(rng.choice(n, _MAX_SAMPLED_ITEMS, replace=False))


def empty_posterior(_items: Ints) -> Posterior:
    """Return the posterior of no items, whichever are asked for."""
    return Posterior(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros((0, 0)))


@dataclass(frozen=True)
class Prior:
    """The prior f = Psi beta + sqrt(D) u of the scores of the compared items."""

    features: Floats  # (n, p) Psi
    effects: Floats  # (n,) the diagonal of D


@dataclass(frozen=True)
class Sites:
    """The Gaussian site exp(nu g - tau g^2 / 2) of each pair."""

    tau: Floats
    nu: Floats

    @classmethod
    def initial(cls, answers: Answers) -> Sites:
        """Return sites that are roughly the likelihood near g = 0, somewhat wider."""
        slope, total = answers.slope, answers.won + answers.lost
        return cls(0.1 * slope**2 * total, 0.4 * slope * (answers.won - answers.lost))


@dataclass(frozen=True)
class WeightSpacePosterior:
    """The scores of the compared items given the sites: N(mean, effects + features features')."""

    mean: Floats
    effects: Floats  # (n, n) E
    features: Floats  # (n, p) Y S^1/2
    root: Floats  # (p, p) S^1/2, S = root root'
    pull: Floats  # (n,) alpha: E f = Cov_prior alpha, so Psi'alpha is the posterior mean of beta
    graph: csr_array  # L
    logdet: float  # log det(I + Cov_prior L)

    @classmethod
    def from_sites(cls, prior: Prior, answers: Answers, sites: Sites) -> WeightSpacePosterior:
        """Compute the posterior from the prior and the sites of all answers."""
        n, p = prior.features.shape
        graph = answers.laplacian(sites.tau, n)
        if n == 0:  # LAPACK refuses empty matrices
            return cls(np.zeros(0), np.zeros((0, 0)), np.zeros((0, p)), np.eye(p), np.zeros(0), graph, 0.0)
        effects, logdet = _effect_covariance(graph, np.sqrt(prior.effects))
        conditioned = prior.features - effects @ (graph @ prior.features)
        return cls._with_features(prior, graph, answers.net_by_item(sites.nu, n), effects, conditioned, logdet)

    @classmethod
    def _with_features(
        cls, prior: Prior, graph: csr_array, r: Floats, effects: Floats, conditioned: Floats, logdet: float
    ) -> WeightSpacePosterior:
        """Add the features to the effects: E = `effects`, Y = `conditioned`, `logdet` what the effects contribute."""
        p = conditioned.shape[1]
        root = np.zeros((0, 0))
        if p:
            precision = (graph @ prior.features).T @ conditioned
            precision = (precision + precision.T) / 2
            precision.flat[:: p + 1] += 1
            upper = cholesky(precision, check_finite=False)
            root = solve_triangular(upper, np.eye(p), check_finite=False)
            logdet += 2 * float(np.sum(np.log(np.diag(upper))))
        features = conditioned @ root
        mean = effects @ r + features @ (features.T @ r)
        return cls(mean, effects, features, root, r - graph @ mean, graph, logdet)

    def extended(self, rows: Ints, prior: Prior) -> WeightSpacePosterior:
        """Return the posterior over more items; these had the given rows among them, the others have no answers yet."""
        n = len(prior.effects)
        if len(rows) == n:
            return self
        effects, features, pull = np.diag(prior.effects), prior.features @ self.root, np.zeros(n)
        effects[np.ix_(rows, rows)], features[rows], pull[rows] = self.effects, self.features, self.pull
        mean = prior.features @ (prior.features.T @ pull)
        mean[rows] = self.mean
        graph = self.graph.tocoo()
        graph = coo_array((graph.data, (rows[graph.row], rows[graph.col])), shape=(n, n)).tocsr()
        return WeightSpacePosterior(mean, effects, features, self.root, pull, graph, self.logdet)

    def updated(self, prior: Prior, answers: Answers, previous_tau: Floats, sites: Sites) -> WeightSpacePosterior:
        """Return the posterior under new sites by a low-rank update; `previous_tau` are the current sites' tau."""
        n = len(prior.effects)
        delta = sites.tau - previous_tau
        changed = np.flatnonzero(delta)
        # Remove the features' contribution to the log determinant; _with_features adds the new one.
        logdet = self.logdet + 2 * float(np.sum(np.log(np.diag(self.root))))
        effects = self.effects
        conditioned = solve_triangular(self.root, self.features.T, trans=1, check_finite=False).T
        if len(changed):
            rows = answers.part(changed).incidence(n)
            across = rows @ effects
            inner = rows @ across.T
            inner.flat[:: len(changed) + 1] += 1 / delta[changed]
            logdet += float(np.linalg.slogdet(delta[changed, None] * inner)[1])
            solved = solve(inner, np.hstack([across, rows @ conditioned]), assume_a="gen", check_finite=False)
            effects = effects - across.T @ solved[:, :n]
            conditioned -= across.T @ solved[:, n:]
        graph, r = answers.laplacian(sites.tau, n), answers.net_by_item(sites.nu, n)
        return self._with_features(prior, graph, r, effects, conditioned, logdet)

    def gaps(self, answers: Answers) -> tuple[Floats, Floats]:
        """Return the mean and variance of the gap of each pair of the answers."""
        i, j = answers.first, answers.second
        variance = _gap_variance(self.effects, i, j)
        for low in range(0, len(i), _ROWS_PER_BLOCK):
            rows = slice(low, low + _ROWS_PER_BLOCK)
            difference = self.features[i[rows]] - self.features[j[rows]]
            variance[rows] += np.einsum("ea,ea->e", difference, difference)
        return self.mean[i] - self.mean[j], variance


def _effect_covariance(graph: csr_array, deviation: Floats) -> tuple[Floats, float]:
    """Return E, and log det(I + D^1/2 L D^1/2), for D^1/2 = diag(deviation)."""
    scale = diags_array(deviation)
    covariance, order, logdet = inverse(csr_array(scale @ graph @ scale + eye_array(len(deviation))))
    if not np.array_equal(order, np.arange(len(order))):
        place = np.argsort(order)
        covariance = covariance[np.ix_(place, place)]
    covariance *= deviation
    covariance *= deviation[:, None]
    return covariance, logdet


@dataclass(frozen=True)
class ScoreSpacePosterior:
    """The scores of the compared items given the sites: N(mean, covariance)."""

    mean: Floats
    covariance: Floats  # (n, n)
    pull: Floats  # alpha: E f = K alpha
    graph: csr_array  # L
    logdet: float  # log det(I + K L)

    @classmethod
    def from_sites(cls, precision: Floats, logdet: float, answers: Answers, sites: Sites) -> ScoreSpacePosterior:
        """Compute the posterior from K^-1 = `precision`, log det K = `logdet` and the sites."""
        graph = answers.laplacian(sites.tau, len(precision))
        covariance, logdet_covariance = dense_inverse(precision + graph.toarray())
        r = answers.net_by_item(sites.nu, len(precision))
        mean = covariance @ r
        return cls(mean, covariance, r - graph @ mean, graph, logdet + logdet_covariance)

    def gaps(self, answers: Answers) -> tuple[Floats, Floats]:
        """Return the mean and variance of the gap of each pair of the answers."""
        i, j = answers.first, answers.second
        return self.mean[i] - self.mean[j], _gap_variance(self.covariance, i, j)

    def downdate(self) -> Floats:
        """Return R = B'(T^-1 + G)^-1 B = L - L Cov f L, which gives Cov f = K - K R K."""
        R: Floats = self.graph.toarray() - self.graph @ (self.graph @ self.covariance).T
        return R


def _gap_variance(covariance: Floats, i: Ints, j: Ints) -> Floats:
    """Return the variance of f_i - f_j."""
    variance: Floats = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    return variance


@dataclass(frozen=True)
class GapSpacePosterior:
    """The gaps of the answered pairs given the sites."""

    mean: Floats
    variance: Floats
    pull: Floats  # alpha: E g = G alpha
    root: Floats  # T^1/2
    lower: Floats  # the inverse of M's lower Cholesky factor
    logdet: float  # log det M

    @classmethod
    def from_sites(cls, covariance: Floats, sites: Sites) -> GapSpacePosterior:
        """Compute the posterior from G = `covariance` and the sites."""
        root = np.sqrt(sites.tau)
        inner = covariance * root
        inner *= root[:, None]
        inner.flat[:: len(root) + 1] += 1
        factor, _ = dpotrf(inner.T, lower=1, overwrite_a=1)
        logdet = 2 * float(np.sum(np.log(np.diag(factor))))
        lower, _ = dtrtri(factor, lower=1, overwrite_c=1)
        variance = (1 - np.einsum("ab,ab->b", lower, lower)) / sites.tau
        pull = sites.nu - root * (lower.T @ (lower @ (root * (covariance @ sites.nu))))
        return cls(covariance @ pull, variance, pull, root, lower, logdet)

    def gaps(self, answers: Answers) -> tuple[Floats, Floats]:
        """Return the mean and variance of the gap of each pair of the answers."""
        return self.mean, self.variance

    def downdate(self) -> Floats:
        """Return R = (T^-1 + G)^-1, which gives Cov g = G - G R G."""
        R: Floats = self.lower.T @ self.lower
        R *= self.root
        R *= self.root[:, None]
        return R
