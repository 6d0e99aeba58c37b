"""Expectation propagation: a Gaussian posterior of scores, given answers, and the evidence for the prior.

Scores are f = Psi beta + sqrt(D) u with beta, u ~ N(0, I): features times coefficients, and beside them an effect of
each item's own, of variance D_ii. The answers to a pair (i, j) have the likelihood sigma(h)^won sigma(-h)^lost,
h = slope (f_i - f_j) + shift, sigma(h) = 1 / (1 + exp(-h)). Each is replaced by a *site* exp(nu g - tau g^2 / 2) in
g = f_i - f_j, so chosen that with all other sites (the *cavity*) it has the mean and variance that the likelihood
itself would have there. Laplace's method would put the posterior at its mode instead: where answers hardly err, that is
far from the mean, and says something else about the order of items.

With L = B'diag(tau)B, the Laplacian of the graph of answers weighted by their sites, and r = B'nu:

    E = D^1/2 (I + D^1/2 L D^1/2)^-1 D^1/2        the covariance of the effects, were there no features
    Y = (I - E L) Psi                              what features still say beside the effects
    S = (I + Psi'L Y)^-1                           the posterior covariance of beta
    Cov f = E + Y S Y',   E f = Cov f r,   log det(I + Cov_prior L) = log det(I + D^1/2 L D^1/2) - log det S

which takes one Cholesky factor as large as there are items compared, and one as large as there are features.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import coo_array, csr_array
from scipy.special import expit, log_expit

from pairsmith.data.arrays import Bools, Floats, Ints

_NODES, _SHARES = np.polynomial.legendre.leggauss(24)  # in each of three panels: errors of moments are below 1e-6
_HALVINGS = 40  # of the range that holds the mode of a tilted density
_EDGE, _EDGE_HALVINGS = 19.0, 12  # a density is integrated to where it has fallen by exp(-19), found to 1 in 4,000
_CURVED = 6.0  # beyond it log sigma is a straight line or nothing, to 0.003: what is smooth needs no panel of its own
_DAMPING = 0.8  # how far sites move toward what they should be; all move at once, and undamped they can overshoot
_LEAST_CAVITY = 1e-4  # of the marginal precision: below it a site is left as it is for a sweep


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

    def part(self, which: Ints | Bools) -> Answers:
        """Some of them."""
        return Answers(*(getattr(self, field.name)[which] for field in fields(self)))

    def graph(self, weights: Floats, n: int) -> csr_array:
        """B'diag(weights)B, B the matrix with +1 for the first and -1 for the second of each pair."""
        i, j = self.first, self.second
        rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
        return coo_array(
            (np.concatenate([weights, weights, -weights, -weights]), (rows, columns)), shape=(n, n)
        ).tocsr()

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
        graph, pushed = answers.graph(sites.tau, n), answers.spread(sites.nu, n)
        if n == 0:  # for which LAPACK has no patience
            return cls(np.zeros(0), np.zeros((0, 0)), np.zeros((0, p)), np.eye(p), np.zeros(0), graph, 0.0)
        deviation = np.sqrt(prior.effects)
        inner = graph.toarray()
        inner *= deviation
        inner *= deviation[:, None]
        inner.flat[:: n + 1] += 1
        factor, _ = dpotrf(inner, lower=1, overwrite_a=1)
        logdet = 2 * float(np.sum(np.log(np.diag(factor))))
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        effects = np.tril(inverse) + np.tril(inverse, -1).T
        effects *= deviation
        effects *= deviation[:, None]
        if p:
            beside = prior.features - effects @ (graph @ prior.features)
            precision = prior.features.T @ (graph @ beside)
            precision = (precision + precision.T) / 2
            precision.flat[:: p + 1] += 1
            upper = cholesky(precision, check_finite=False)
            root = solve_triangular(upper, np.eye(p), check_finite=False)
            logdet += 2 * float(np.sum(np.log(np.diag(upper))))
        else:
            beside, root = np.zeros((n, 0)), np.zeros((0, 0))
        features = beside @ root
        mean = effects @ pushed + features @ (features.T @ pushed)
        return cls(mean, effects, features, root, pushed - graph @ mean, graph, logdet)

    def differences(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Mean and variance of f_i - f_j."""
        apart = self.features[i] - self.features[j]
        own = self.effects[i, i] + self.effects[j, j] - 2 * self.effects[i, j]
        return self.mean[i] - self.mean[j], own + np.einsum("ea,ea->e", apart, apart)


@dataclass(frozen=True)
class Propagated:
    """What expectation propagation ends with."""

    posterior: Posterior
    sites: Sites
    evidence: float  # log of the probability of the answers under the prior
    cavity_mean: Floats  # of each g, as all answers but those to this pair tell it
    cavity_variance: Floats


def propagate(
    prior: Prior, answers: Answers, sites: Sites | None = None, tolerance: float = 1e-3, sweeps: int = 60
) -> Propagated:
    """The posterior of the scores of the items compared.

    All sites are brought up to date at once, from `sites` or the beginning on, until the mean of no g moves by more
    than `tolerance` of its standard deviation, nor its variance by that share.
    """
    sites = Sites.beginning(answers) if sites is None else sites
    i, j = answers.first, answers.second
    for _ in range(sweeps):
        posterior = Posterior.of(prior, answers, sites)
        mean, variance = posterior.differences(i, j)
        precision = 1 / variance - sites.tau
        usable = precision * variance > _LEAST_CAVITY
        precision = np.where(usable, precision, _LEAST_CAVITY / variance)
        cavity_mean = (mean / variance - sites.nu) / precision
        log_mass, tilted_mean, tilted_variance = tilted(cavity_mean, 1 / precision, answers)
        # Each site is scaled so that it has the mass of its likelihood in its cavity.
        push = cavity_mean * precision + sites.nu
        own = 0.5 * (push**2 / (precision + sites.tau) - cavity_mean**2 * precision)
        scaled = log_mass + 0.5 * np.log1p(sites.tau / precision) - own
        evidence = float(np.sum(scaled) - 0.5 * posterior.logdet + 0.5 * sites.nu @ mean)
        moved = np.maximum(np.abs(tilted_mean - mean) / np.sqrt(variance), np.abs(np.log(tilted_variance / variance)))
        if np.max(moved, initial=0.0) < tolerance:
            break
        # The likelihood is log-concave, so a tilted density is narrower than its cavity; rounding may deny it.
        tau = np.maximum(1 / tilted_variance - precision, 0.0)
        nu = tilted_mean / tilted_variance - cavity_mean * precision
        step = np.where(usable, _DAMPING, 0.0)
        sites = Sites(sites.tau + step * (tau - sites.tau), sites.nu + step * (nu - sites.nu))
    return Propagated(posterior, sites, evidence, cavity_mean, 1 / precision)


def tilted(mean: Floats, variance: Floats, answers: Answers) -> tuple[Floats, Floats, Floats]:
    """Of N(g; mean, variance) times the likelihood of each pair's answers: log of the mass, mean and variance.

    By Gauss-Legendre in h = slope g + shift, over three panels that together reach from where the density begins to
    where it ends: below, in and above the range in which log sigma is curved.
    """
    won, lost, slope = answers.won, answers.lost, answers.slope
    mean, deviation = slope * mean + answers.shift, slope * np.sqrt(variance)
    scale = deviation**2

    def height(h: Floats) -> Floats:
        bent: Floats = won * log_expit(h) + lost * log_expit(-h) - 0.5 * (h - mean) ** 2 / scale
        return bent

    low, high = mean - scale * lost, mean + scale * won  # the slope of `height` changes its sign in between
    for _ in range(_HALVINGS):
        mode = 0.5 * (low + high)
        rising = won * expit(-mode) - lost * expit(mode) > (mode - mean) / scale
        low, high = np.where(rising, mode, low), np.where(rising, high, mode)
    top = height(mode)
    ends = []
    for side in (-1.0, 1.0):
        inside, outside = mode, mode + side * np.sqrt(2 * _EDGE) * deviation * 1.01  # at least as curved as the normal
        for _ in range(_EDGE_HALVINGS):
            middle = 0.5 * (inside + outside)
            ended = height(middle) < top - _EDGE
            inside, outside = np.where(ended, inside, middle), np.where(ended, middle, outside)
        ends.append(outside)
    begin, end = ends
    cuts = np.array([begin, np.clip(-_CURVED, begin, end), np.clip(_CURVED, begin, end), end])
    half, middle = 0.5 * np.diff(cuts, axis=0), 0.5 * (cuts[1:] + cuts[:-1])
    h = (middle[:, None] + half[:, None] * _NODES[:, None]).reshape(3 * len(_NODES), len(mean))
    density = np.exp(height(h) - top) * (half[:, None] * _SHARES[:, None]).reshape(h.shape)
    mass = density.sum(axis=0)
    center = (density * h).sum(axis=0) / mass
    width = (density * (h - center) ** 2).sum(axis=0) / mass
    log_mass = np.log(mass) + top - 0.5 * np.log(2 * np.pi * scale)
    return log_mass, (center - answers.shift) / slope, width / slope**2
