"""What an answer tells about the order of items, under a Gaussian process: the default for rounds.

Whether f_k > f_l is a yes or no that the posterior leaves open: with m and v the mean and variance of f_k - f_l,
z = m / sqrt(v) and p = Phi(z), the answer to a pair e that lowers v by delta tells about it, to first order in delta,

    1/2 omega_kl delta nats,        omega_kl = phi(z)^2 / (p (1 - p)) / v,

most where the two lie close together for what is known of them, and next to nothing where their order is known
already. The answer to e = (i, j), of weight w, lowers v_kl by (c_k - c_l)^2 w / (1 + w d_ij), where c = C (e_i - e_j)
is a difference of columns of the posterior covariance C of the scores and d_ij = c_i - c_j. Summed over all pairs of
items, with Lambda = diag(omega 1) - omega and M = C Lambda C, what a pair is worth is

    gain(i, j) = 1/2 (M_ii + M_jj - 2 M_ij) w / (1 + w d_ij).

w = k sigma'(k m), k = 1 / sqrt(1 + pi v / 8), is the mean of p (1 - p) over what the model leaves open of the pair.
After a pick C and M change by ranks one and two; omega and w stay as they were before the first pick.

The items whose order is wanted may be others than those that are asked about: then M = T'Lambda T, T the covariance of
their scores with those of the items at hand. `goal` says which: "ranking" is about all pairs of items at hand, "top"
weighs those by the chance that one of the two is among the best, "predict" is about new items with features like these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dger, dsyr2
from scipy.special import ndtr

from pairsmith.criteria.work import Work
from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.steps import Step, Steps
from pairsmith.design.weights import logistic_weight

MOST_ITEMS = 2000  # whose covariance is written out; of more, so many drawn at random are looked at


def steps(work: Work, k: int) -> Steps:
    """Greedily maximise what the answers tell about the order of items."""
    items = _looked_at(work)
    place = np.full(work.remaining.rows.n_items, -1)
    place[items] = np.arange(len(items))
    pairs = _pairs(work.remaining, place)
    if len(pairs) < k <= work.remaining.at_most():
        raise ValueError(
            f"objective='order' looks at {len(items):,} of {len(place):,} items, among which {len(pairs):,} candidate"
            f" pairs are left; ask for k of at most {len(pairs):,}"
        )
    work.diagnostics["items looked at"] = len(items)
    believed = _Believed.of(work, items)
    known = place[work.problem.unanswered]
    for first, second in known[(known >= 0).all(axis=1)].tolist():
        believed.include(first, second, believed.weights(first, second))
    i, j = place[pairs].T
    weights = believed.weights(i, j)
    there = np.ones(len(pairs), dtype=bool)
    for _ in range(k):
        there &= ~work.remaining.full[pairs].any(axis=1)
        if not there.any():
            return
        gains = np.where(there, believed.gains(i, j, weights), -np.inf)
        best = int(np.argmax(gains))
        there[best] = False
        believed.include(i[best], j[best], weights[best])
        first, second = pairs[best].tolist()
        work.design.add(first, second)
        work.remaining.take(first, second)
        yield Step(first, second, float(gains[best]), work.design.logdet)


@dataclass
class _Believed:
    """C, T and M, which `include` brings up to date; of M, whose halves are alike, only the part above the diagonal."""

    mean: Floats
    C: Floats  # (n, n)
    T: Floats  # (targets, n): C itself where the items at hand are the targets
    Lambda: Floats  # (targets, targets)
    M: Floats  # (n, n)

    @classmethod
    def of(cls, work: Work, items: Ints) -> _Believed:
        joint = work.belief.joint().without_last()
        mean, C = joint.mean[items], joint.covariance(items, items)
        if work.goal.name == "predict":
            features = work.problem.features.rows(items)
            spread = features @ work.belief.covariance_root
            T, own = spread @ joint.spread[items].T, work.belief.new_effect
            Lambda = _importance(features @ work.belief.coef, spread @ spread.T + own * np.eye(len(items)))
        else:
            T, Lambda = C, _importance(mean, C)
        if work.goal.name == "top":
            below = 1 - joint.among_best(work.rng, work.goal.top)[items]
            Lambda *= 1 - np.outer(below, below)
        np.negative(Lambda, out=Lambda)
        Lambda.flat[:: len(Lambda) + 1] = -Lambda.sum(axis=1)
        return cls(mean, C, T, Lambda, T.T @ Lambda @ T)

    def gaps(self, i: Any, j: Any) -> Floats:
        """The variance of f_i - f_j."""
        own = np.diag(self.C)
        found: Floats = np.maximum(own[i] + own[j] - 2 * self.C[i, j], 0.0)
        return found

    def weights(self, i: Any, j: Any) -> Floats:
        """The mean of p (1 - p)."""
        k = 1 / np.sqrt(1 + np.pi * self.gaps(i, j) / 8)
        found: Floats = k * logistic_weight(k * (self.mean[i] - self.mean[j]))
        return found

    def gains(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        own = np.diag(self.M)
        told = own[i] + own[j] - 2 * self.M[i, j]
        found: Floats = 0.5 * told * weights / (1 + weights * self.gaps(i, j))
        return found

    def include(self, i: int, j: int, weight: Any) -> None:
        """As if the pair had been answered."""
        c, t = self.C[:, i] - self.C[:, j], self.T[:, i] - self.T[:, j]
        root = np.sqrt(weight / (1 + weight * max(c[i] - c[j], 0.0)))
        c, t = root * c, root * t
        with single_threaded_blas():  # a pass over a matrix is not faster on two threads, and waits for both
            towards = self.Lambda @ t
            bent = self.T.T @ towards - 0.5 * float(t @ towards) * c
            # Transposed, matrices are as BLAS wants them, and are changed where they are.
            dsyr2(-1.0, bent, c, lower=1, a=self.M.T, overwrite_a=1)
            dger(-1.0, c, t, a=self.T.T, overwrite_a=1)
            if self.C is not self.T:
                dger(-1.0, c, c, a=self.C.T, overwrite_a=1)


def _importance(mean: Floats, covariance: Floats) -> Floats:
    """omega, of all pairs of items."""
    own = np.diag(covariance)
    v = own[:, None] + own - 2 * covariance
    open_still = v > 0
    v = np.where(open_still, v, 1.0)
    z = (mean[:, None] - mean) / np.sqrt(v)
    density = np.exp(-(z**2)) / (2 * np.pi)
    chance = ndtr(z)
    found: Floats = np.where(open_still, density / np.maximum(chance * chance.T, 1e-300) / v, 0.0)
    np.fill_diagonal(found, 0.0)
    return found


def _looked_at(work: Work) -> Ints:
    """All items, or where these are too many, those of candidates drawn at random: so that they may meet.

    In every round others: the draw depends on how many pairs were asked before.
    """
    rows = work.remaining.rows
    if rows.n_items <= MOST_ITEMS:
        return np.arange(rows.n_items)
    rng = np.random.default_rng([int(work.rng.integers(1 << 32)), len(work.problem.comparisons), work.problem.touched])
    drawn = rows.pairs(rng.integers(len(rows), size=MOST_ITEMS)).ravel()
    items, first = np.unique(drawn, return_index=True)
    return np.sort(items[np.argsort(first)[:MOST_ITEMS]])


def _pairs(remaining: Remaining, place: Ints) -> Ints:
    """The candidates that are left among the items that are looked at."""
    rows = remaining.rows
    among = rows if place.min() >= 0 else rows.among(place >= 0)
    pairs = among.pairs(np.arange(len(among)))
    return pairs[~np.isin(rows.numbers(pairs), remaining.taken)]
