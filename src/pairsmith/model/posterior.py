"""The posterior of scores, given answers of which each has been replaced by a site: by items, scores or answers.

Scores are f = Psi beta + sqrt(D) u with beta, u ~ N(0, I): features times coefficients, and beside them an effect of
each item's own, of variance D_ii. A site exp(nu g - tau g^2 / 2) stands for the answers to a pair (i, j) (see
`expectation_propagation`); g = f_i - f_j is the pair's *gap*, g = B f. By items, with L = B'diag(tau)B, the Laplacian
of the graph of answers weighted by their sites, and r = B'nu:

    E = D^1/2 (I + D^1/2 L D^1/2)^-1 D^1/2        the covariance of the effects, were there no features
    Y = (I - E L) Psi                              what features still say beside the effects
    S = (I + Psi'L Y)^-1                           the posterior covariance of beta
    Cov f = E + Y S Y',   E f = Cov f r,   log det(I + Cov_prior L) = log det(I + D^1/2 L D^1/2) - log det S

which takes the inverse of a sparse matrix as large as there are items compared, and a Cholesky factor as large as there
are features. Where the sites of a few answers change, by delta in their tau, and B_c are the rows of B of these, all of
it follows by Woodbury's identity from what it was:

    N = diag(1/delta) + B_c E B_c',   E - E B_c'N^-1 B_c E,   Y - E B_c'N^-1 B_c Y

By scores, with K the covariance of the scores beforehand, Cov f = (K^-1 + L)^-1: once K^-1 is known, one inverse as
large as there are items compared, whatever the number of features.

By answers, with G the covariance of the gaps beforehand and T = diag(tau):

    M = I + T^1/2 G T^1/2,   Var g_e = (1 - M^-1_ee) / tau_e,   E g = G alpha,   alpha = nu - T^1/2 M^-1 T^1/2 G nu

which takes one Cholesky factor as large as there are answers: less, where these are few.
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

_ROWS = 512  # of a large matrix that are gone through at a time


@dataclass(frozen=True)
class Prior:
    """f = Psi beta + sqrt(D) u over the items that were compared."""

    features: Floats  # (n, p) Psi
    effects: Floats  # (n,) the diagonal of D


@dataclass(frozen=True)
class Sites:
    """exp(nu g - tau g^2 / 2) for each pair."""

    tau: Floats
    nu: Floats

    @classmethod
    def beginning(cls, answers: Answers) -> Sites:
        """About what the likelihood is near g = 0, somewhat wider."""
        slope, total = answers.slope, answers.won + answers.lost
        return cls(0.1 * slope**2 * total, 0.4 * slope * (answers.won - answers.lost))


@dataclass(frozen=True)
class Posterior:
    """Scores f of the items compared, given the sites: N(mean, effects + features features')."""

    mean: Floats
    effects: Floats  # (n, n) E
    features: Floats  # (n, p) Y S^1/2
    root: Floats  # (p, p) S^1/2, S = root root'
    pull: Floats  # (n,) alpha: E f = Cov_prior alpha, so Psi'alpha is the posterior mean of beta
    graph: csr_array  # L
    logdet: float  # log det(I + Cov_prior L)

    @classmethod
    def of(cls, prior: Prior, answers: Answers, sites: Sites) -> Posterior:
        n, p = prior.features.shape
        graph = answers.graph(sites.tau, n)
        if n == 0:  # for which LAPACK has no patience
            return cls(np.zeros(0), np.zeros((0, 0)), np.zeros((0, p)), np.eye(p), np.zeros(0), graph, 0.0)
        effects, logdet = _effects(graph, np.sqrt(prior.effects))
        beside = prior.features - effects @ (graph @ prior.features)
        return cls._given(prior, graph, answers.spread(sites.nu, n), effects, beside, logdet)

    @classmethod
    def _given(
        cls, prior: Prior, graph: csr_array, pushed: Floats, effects: Floats, beside: Floats, logdet: float
    ) -> Posterior:
        """With r = `pushed`, E = `effects` and Y = `beside`; `logdet` is what effects add to the logarithm."""
        p = beside.shape[1]
        root = np.zeros((0, 0))
        if p:
            precision = (graph @ prior.features).T @ beside
            precision = (precision + precision.T) / 2
            precision.flat[:: p + 1] += 1
            upper = cholesky(precision, check_finite=False)
            root = solve_triangular(upper, np.eye(p), check_finite=False)
            logdet += 2 * float(np.sum(np.log(np.diag(upper))))
        features = beside @ root
        mean = effects @ pushed + features @ (features.T @ pushed)
        return cls(mean, effects, features, root, pushed - graph @ mean, graph, logdet)

    def among(self, places: Ints, prior: Prior) -> Posterior:
        """Of more items, of which these had these places among them; of the others no answer tells anything."""
        n = len(prior.effects)
        if len(places) == n:
            return self
        effects, features, pull = np.diag(prior.effects), prior.features @ self.root, np.zeros(n)
        effects[np.ix_(places, places)], features[places], pull[places] = self.effects, self.features, self.pull
        mean = prior.features @ (prior.features.T @ pull)
        mean[places] = self.mean
        graph = self.graph.tocoo()
        graph = coo_array((graph.data, (places[graph.row], places[graph.col])), shape=(n, n)).tocsr()
        return Posterior(mean, effects, features, self.root, pull, graph, self.logdet)

    def moved(self, prior: Prior, answers: Answers, before: Floats, sites: Sites) -> Posterior:
        """Given these sites, where this one is given sites whose tau were these `before`."""
        n = len(prior.effects)
        delta = sites.tau - before
        some = np.flatnonzero(delta)
        # The factor of S has what the features add to the logarithm.
        logdet = self.logdet + 2 * float(np.sum(np.log(np.diag(self.root))))
        effects = self.effects
        beside = solve_triangular(self.root, self.features.T, trans=1, check_finite=False).T
        if len(some):
            rows = answers.part(some).matrix(n)
            across = rows @ effects
            inner = rows @ across.T
            inner.flat[:: len(some) + 1] += 1 / delta[some]
            logdet += float(np.linalg.slogdet(delta[some, None] * inner)[1])
            solved = solve(inner, np.hstack([across, rows @ beside]), assume_a="gen", check_finite=False)
            effects = effects - across.T @ solved[:, :n]
            beside -= across.T @ solved[:, n:]
        return self._given(prior, answers.graph(sites.tau, n), answers.spread(sites.nu, n), effects, beside, logdet)

    def gaps(self, answers: Answers) -> tuple[Floats, Floats]:
        """Mean and variance of the gap of each pair that was asked."""
        i, j = answers.first, answers.second
        variance = _apart(self.effects, i, j)
        for low in range(0, len(i), _ROWS):
            rows = slice(low, low + _ROWS)
            apart = self.features[i[rows]] - self.features[j[rows]]
            variance[rows] += np.einsum("ea,ea->e", apart, apart)
        return self.mean[i] - self.mean[j], variance


def _effects(graph: csr_array, deviation: Floats) -> tuple[Floats, float]:
    """E, and log det(I + D^1/2 L D^1/2)."""
    scale = diags_array(deviation)
    found, order, logdet = inverse(csr_array(scale @ graph @ scale + eye_array(len(deviation))))
    if not np.array_equal(order, np.arange(len(order))):
        place = np.argsort(order)
        found = found[np.ix_(place, place)]
    found *= deviation
    found *= deviation[:, None]
    return found, logdet


@dataclass(frozen=True)
class ScorePosterior:
    """Scores f of the items compared, given the sites: N(mean, covariance)."""

    mean: Floats
    covariance: Floats  # (n, n)
    pull: Floats  # alpha: E f = K alpha
    graph: csr_array  # L
    logdet: float  # log det(I + K L)

    @classmethod
    def of(cls, precision: Floats, logdet: float, answers: Answers, sites: Sites) -> ScorePosterior:
        """With K^-1 = `precision` and log det K = `logdet`."""
        graph = answers.graph(sites.tau, len(precision))
        covariance, own = dense_inverse(precision + graph.toarray())
        pushed = answers.spread(sites.nu, len(precision))
        mean = covariance @ pushed
        return cls(mean, covariance, pushed - graph @ mean, graph, logdet + own)

    def gaps(self, answers: Answers) -> tuple[Floats, Floats]:
        """Mean and variance of the gap of each pair that was asked."""
        i, j = answers.first, answers.second
        return self.mean[i] - self.mean[j], _apart(self.covariance, i, j)

    def taken(self) -> Floats:
        """B'(T^-1 + G)^-1 B = L - L Cov f L: Cov f = K - K taken K."""
        found: Floats = self.graph.toarray() - self.graph @ (self.graph @ self.covariance).T
        return found


def _apart(covariance: Floats, i: Ints, j: Ints) -> Floats:
    """The variance of f_i - f_j."""
    apart: Floats = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    return apart


@dataclass(frozen=True)
class GapPosterior:
    """The gaps of the pairs asked, given the sites."""

    mean: Floats
    variance: Floats
    pull: Floats  # alpha: E g = G alpha
    root: Floats  # T^1/2
    lower: Floats  # the inverse of M's lower Cholesky factor
    logdet: float  # log det M

    @classmethod
    def of(cls, covariance: Floats, sites: Sites) -> GapPosterior:
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
        """Mean and variance of the gap of each pair that was asked."""
        return self.mean, self.variance

    def taken(self) -> Floats:
        """(T^-1 + G)^-1: Cov g = G - G taken G."""
        found: Floats = self.lower.T @ self.lower
        found *= self.root
        found *= self.root[:, None]
        return found


_DRAWS, _FEW_DRAWS = 2000, 500  # of the joint posterior, for ranks; for many items, or a chance that need not be exact
_MOST_SCORES = 10_000_000  # that are drawn for ranks, unless these would be too few draws
_MOST_ITEMS = 3000  # so many, drawn at random, stand for all where pairs of items are averaged over


@dataclass(frozen=True)
class Joint:
    """Scores of items, N(mean, effects + spread spread' + own I).

    `effects` is the covariance of the effects of the items `compared`; all others have an effect of variance `own` of
    which nothing is known.
    """

    mean: Floats  # (n,)
    spread: Floats  # (n, p)
    own: Floats  # (n,) zero where compared
    compared: Ints  # places of the items that `effects` is of
    effects: Floats

    def without_last(self) -> Joint:
        """Of all items but the last."""
        return self.part(np.arange(len(self.mean) - 1))

    def part(self, rows: Ints) -> Joint:
        """Of these items only, in this order."""
        place = np.full(len(self.mean), -1)
        place[self.compared] = np.arange(len(self.compared))
        kept = place[rows]
        compared = np.flatnonzero(kept >= 0)
        effects = self.effects[np.ix_(kept[compared], kept[compared])]
        return Joint(self.mean[rows], self.spread[rows], self.own[rows], compared, effects)

    def combined(self, weights: Floats) -> Joint:
        """Of the sums `weights` f of the scores."""
        those = weights[:, self.compared]
        effects = those @ self.effects @ those.T + (weights * self.own) @ weights.T
        count = len(weights)
        return Joint(weights @ self.mean, weights @ self.spread, np.zeros(count), np.arange(count), effects)

    def variance(self) -> Floats:
        """Of each score."""
        found: Floats = np.einsum("ia,ia->i", self.spread, self.spread) + self.own
        found[self.compared] += np.diag(self.effects)
        return found

    def covariance(self, rows: Ints, columns: Ints) -> Floats:
        """Between the scores of these items."""
        found = self.spread[rows] @ self.spread[columns].T
        found += np.where(rows[:, None] == columns[None, :], self.own[columns], 0.0)
        place = np.full(len(self.mean), -1)
        place[self.compared] = np.arange(len(self.compared))
        i, j = np.flatnonzero(place[rows] >= 0), np.flatnonzero(place[columns] >= 0)
        found[np.ix_(i, j)] += self.effects[np.ix_(place[rows[i]], place[columns[j]])]
        return found

    def gaps(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Mean and variance of f_i - f_j for pairs of different items."""
        apart = self.spread[i] - self.spread[j]
        variance = np.einsum("ea,ea->e", apart, apart) + self.own[i] + self.own[j]
        place = np.full(len(self.mean), -1)
        place[self.compared] = np.arange(len(self.compared))
        for one, other, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -2.0)):
            both = (place[one] >= 0) & (place[other] >= 0)
            variance[both] += sign * self.effects[place[one[both]], place[other[both]]]
        return self.mean[i] - self.mean[j], np.maximum(variance, 0.0)

    def doubt(self, rng: np.random.Generator) -> float:
        """The mean, over pairs of items, of the probability that they stand in the wrong order; 0 without a pair."""
        n = len(self.mean)
        if n < 2:
            return 0.0
        some = some_of(n, rng)
        variance, total = self.variance()[some], 0.0
        for low in range(0, len(some), _ROWS):
            rows = some[low : low + _ROWS]
            across = variance[low : low + _ROWS, None] + variance - 2 * self.covariance(rows, some)
            gap = np.abs(self.mean[rows][:, None] - self.mean[some])
            with np.errstate(divide="ignore", invalid="ignore"):
                wrong = np.where(across > 0, ndtr(-gap / np.sqrt(np.maximum(across, 0.0))), 0.5)
            total += float(wrong.sum()) - float(np.trace(wrong[:, low : low + len(rows)]))
        return total / (len(some) * (len(some) - 1))

    def reliability(self) -> float:
        """The share of the variance of scores that is known: var(mean) / (var(mean) + mean posterior variance).

        Without features this is the scale separation reliability of comparative judgement.
        """
        known, unknown = self.spreads()
        return known / (known + unknown) if known + unknown > 0 else 0.0

    def spreads(self) -> tuple[float, float]:
        """The variance of the means, and the mean posterior variance.

        What all scores have in common is left out of both: comparisons do not tell it, and no order depends on it.
        """
        n = len(self.mean)
        total = self.spread.sum(axis=0)
        shared = float(total @ total) + float(self.own.sum()) + float(self.effects.sum())
        return float(np.var(self.mean)), float(self.variance().mean()) - shared / n**2

    def draws(self, rng: np.random.Generator, count: int = _DRAWS) -> Floats:
        """(count, n) scores drawn from the joint posterior."""
        found = rng.standard_normal((count, self.spread.shape[1])) @ self.spread.T + self.mean
        if len(self.compared):
            found[:, self.compared] += rng.standard_normal((count, len(self.compared))) @ _root(self.effects).T
        return found + rng.standard_normal((count, len(self.mean))) * np.sqrt(self.own)

    def ranks(self, rng: np.random.Generator, level: float, top: int | None) -> tuple[Ints, Ints, Floats | None]:
        """From which to which rank, 1 the best, each item is at this level; and P(it is among the best `top`)."""
        scores = self.draws(rng, max(_FEW_DRAWS, min(_DRAWS, _MOST_SCORES // max(1, len(self.mean)))))
        order = np.argsort(-scores, axis=1)
        ranks = np.empty(scores.shape, dtype=np.int32)
        np.put_along_axis(ranks, order, np.arange(1, scores.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
        low, high = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0, method="nearest")
        among = None if top is None else (ranks <= top).mean(axis=0)
        return low.astype(np.int64), high.astype(np.int64), among

    def among_best(self, rng: np.random.Generator, top: int) -> Floats:
        """P(an item is among the best `top`), of each."""
        scores = self.draws(rng, _FEW_DRAWS)
        best = np.argpartition(-scores, top - 1, axis=1)[:, :top]
        found: Floats = np.bincount(best.ravel(), minlength=scores.shape[1]) / len(scores)
        return found


def _root(covariance: Floats) -> Floats:
    """R with R R' the covariance: its Cholesky factor, the fastest to find, or where there is none, another."""
    try:
        root: Floats = cholesky(covariance, lower=True)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def some_of(n: int, rng: np.random.Generator) -> Ints:
    """All of n items, or of too many so many drawn at random: where pairs are averaged over, they stand for all."""
    return np.arange(n) if n <= _MOST_ITEMS else np.sort(rng.choice(n, _MOST_ITEMS, replace=False))


def no_scores(_items: Ints) -> Joint:
    """Of no items, whichever are asked for."""
    return Joint(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros((0, 0)))
