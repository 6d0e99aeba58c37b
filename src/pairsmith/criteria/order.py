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
from scipy.linalg.blas import dger, dsymv

from pairsmith.criteria.kernels import importance, lower_and_find
from pairsmith.criteria.work import Work
from pairsmith.data.arrays import Bools, Floats, Ints
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
    candidates = _candidates(work.remaining, place, items)
    there = int(np.count_nonzero(candidates))
    if there < k <= work.remaining.at_most():
        raise ValueError(
            f"objective='order' looks at {len(items):,} of {len(place):,} items, among which {there:,} candidate"
            f" pairs are left; ask for k of at most {there:,}"
        )
    work.diagnostics["items looked at"] = len(items)
    believed = _Believed.of(work, items, candidates)
    asked = place[work.problem.unanswered]
    asked = asked[(asked >= 0).all(axis=1)]
    for (i, j), weight in zip(asked.tolist(), believed.weights_of(*asked.T).tolist(), strict=True):
        believed.include(i, j, weight)
    for _ in range(k):
        gain, i, j = believed.best
        if gain == -np.inf:
            return
        weight = believed.weights[i, j]
        first, second = int(items[i]), int(items[j])
        work.design.add(first, second)
        work.remaining.take(first, second)
        believed.leave_out(i, j)
        for at in (i, j):
            if work.remaining.full[items[at]]:
                believed.leave_out(at, slice(None))
                believed.leave_out(slice(None), at)
        yield Step(first, second, gain, work.design.logdet)
        believed.include(i, j, weight)


@dataclass
class _Believed:
    """C, T and M, which `include` brings up to date, and the pair that then tells most.

    C and M, whose halves are alike, are known by the part above their diagonal, and so are the weights.
    """

    C: Floats  # (n, n)
    T: Floats  # (targets, n): C itself where the items at hand are the targets
    Lambda: Floats  # (targets, targets)
    M: Floats  # (n, n)
    weights: Floats  # (n, n), negative where a pair is no candidate
    mean: Floats
    best: tuple[float, int, int] = (-np.inf, 0, 0)  # the largest gain, and its pair

    @classmethod
    def of(cls, work: Work, items: Ints, candidates: Bools) -> _Believed:
        joint = work.belief.joint().without_last()
        mean, C = joint.mean[items], joint.covariance(items, items)
        if work.goal.name == "predict":
            features = work.problem.features.rows(items)
            spread = features @ work.belief.covariance_root
            T, own = spread @ joint.spread[items].T, work.belief.new_effect
            Lambda = importance(features @ work.belief.coef, spread @ spread.T + own * np.eye(len(items)))
        else:
            T, Lambda = C, importance(mean, C)
        if work.goal.name == "top":
            below = 1 - joint.among_best(work.rng, work.goal.top)[items]
            Lambda *= 1 - np.outer(below, below)
        np.negative(Lambda, out=Lambda)
        Lambda.flat[:: len(Lambda) + 1] = -Lambda.sum(axis=1)
        found = cls(C, T, Lambda, T.T @ Lambda @ T, np.full_like(C, -1.0), mean)
        i, j = np.nonzero(candidates)
        found.weights[i, j] = found.weights_of(i, j)
        nothing = np.zeros(len(items))
        found._lower(nothing, nothing)
        return found

    def weights_of(self, i: Ints, j: Ints) -> Floats:
        """The mean of p (1 - p), before the first pair is included; of any pairs, candidates or not."""
        own = np.diag(self.C)
        k = 1 / np.sqrt(1 + np.pi * np.maximum(own[i] + own[j] - 2 * self.C[i, j], 0.0) / 8)
        found: Floats = k * logistic_weight(k * (self.mean[i] - self.mean[j]))
        return found

    def leave_out(self, i: Any, j: Any) -> None:
        """These pairs are no candidates."""
        self.weights[i, j] = -1.0

    def include(self, i: int, j: int, weight: float) -> None:
        """As if the pair had been answered."""
        c = _column(self.C, i) - _column(self.C, j)
        t = c if self.T is self.C else self.T[:, i] - self.T[:, j]
        root = np.sqrt(weight / (1 + weight * max(c[i] - c[j], 0.0)))
        c, t = root * c, root * t
        with single_threaded_blas():  # a pass over a matrix is not faster on two threads, and waits for both
            # Transposed, matrices are as BLAS wants them, and are changed where they are.
            towards = dsymv(1.0, self.Lambda.T, t, lower=1)
            back = dsymv(1.0, self.C.T, towards, lower=1) if self.T is self.C else self.T.T @ towards
            if self.T is not self.C:
                dger(-1.0, c, t, a=self.T.T, overwrite_a=1)
        self._lower(c, back - 0.5 * float(t @ towards) * c)

    def _lower(self, c: Floats, bent: Floats) -> None:
        self.best = lower_and_find(self.M, self.C, self.weights, c, bent, np.empty(len(c)))


def _column(halved: Floats, i: int) -> Floats:
    """A column of a symmetric matrix that is known by the part above its diagonal."""
    return np.concatenate([halved[:i, i], halved[i, i:]])


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


def _candidates(remaining: Remaining, place: Ints, items: Ints) -> Bools:
    """(n, n) which pairs i < j of the items that are looked at may still be asked."""
    rows = remaining.rows
    among = rows if len(items) == len(place) else rows.among(place >= 0)
    found = np.zeros((len(items), len(items)), dtype=bool)
    for at, item in enumerate(items.tolist()):
        begin = among.first[item]
        found[at, place[among.partner[begin : begin + among.count[item]]]] = True
    gone = place[rows.pairs(remaining.taken)]
    gone = gone[(gone >= 0).all(axis=1)]
    found[gone[:, 0], gone[:, 1]] = False
    full = remaining.full[items]
    found[full], found[:, full] = False, False
    return found
