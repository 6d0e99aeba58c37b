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

from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.sparse import coo_array, csr_array, diags_array, eye_array

from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.design.sparse_inverse import dense_inverse, inverse

_ROWS = 512  # of a large matrix that are gone through at a time


@dataclass(frozen=True)
class Prior:
    """f = Psi beta + sqrt(D) u over the items that were compared."""

    features: Floats  # (n, p) Psi
    effects: Floats  # (n,) the diagonal of D


@dataclass(frozen=True)
class Answers:
    """Pairs of items, each once for everyone who answered it, and how often either of the two won (a tie is half)."""

    first: Ints
    second: Ints
    won: Floats
    lost: Floats
    slope: Floats
    shift: Floats

    def __len__(self) -> int:
        return len(self.first)

    def total(self) -> float:
        """How many answers there are, each as often as it was given."""
        return float(np.sum(self.won + self.lost))

    def part(self, which: Ints | Bools) -> Answers:
        """Some of them."""
        return Answers(*(getattr(self, field.name)[which] for field in fields(self)))

    def joined(self, others: Answers) -> Answers:
        """These, and then others."""
        return Answers(
            *(np.concatenate([getattr(self, field.name), getattr(others, field.name)]) for field in fields(self))
        )

    def graph(self, weights: Floats, n: int) -> csr_array:
        """B'diag(weights)B, B the matrix with +1 for the first and -1 for the second of each pair."""
        i, j = self.first, self.second
        rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
        return coo_array(
            (np.concatenate([weights, weights, -weights, -weights]), (rows, columns)), shape=(n, n)
        ).tocsr()

    def matrix(self, n: int) -> csr_array:
        """B: a row for each pair, +1 for its first item and -1 for its second."""
        rows = np.arange(len(self))
        signs = np.concatenate([np.ones(len(self)), -np.ones(len(self))])
        places = np.concatenate([rows, rows]), np.concatenate([self.first, self.second])
        return coo_array((signs, places), shape=(len(self), n)).tocsr()

    def spread(self, values: Floats, n: int) -> Floats:
        """B'values."""
        return summed(self.first, values, n) - summed(self.second, values, n)


def summed(places: Ints, values: Floats, n: int) -> Floats:
    """How much of the values falls on each of n places."""
    return np.bincount(places, values, n).astype(np.float64)


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
