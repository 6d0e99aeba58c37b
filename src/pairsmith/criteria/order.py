"""What an answer says about the order of items, under a Gaussian process: the default for rounds.

Whether f_k > f_l is a question that the posterior leaves open. Let m and v be the mean and variance of f_k - f_l,
z = m / sqrt(v) and p = Phi(z). If the answer to another pair lowers v by delta, it gives, to first order in delta,

    1/2 omega_kl delta nats,        omega_kl = phi(z)^2 / (p (1 - p)) / v,

about the question. This is largest if the two scores are close together relative to what is known about them, and
almost nothing if their order is known. The answer to the pair (i, j), of weight w, lowers v_kl by
(c_k - c_l)^2 w / (1 + w d_ij), where c = C (e_i - e_j) is a difference of columns of the posterior covariance C of the
scores, and d_ij = c_i - c_j. Summed over all pairs of items, with Lambda = diag(omega 1) - omega and M = C Lambda C,

    gain(i, j) = 1/2 (M_ii + M_jj - 2 M_ij) w / (1 + w d_ij).

The weight w = k sigma'(k m), with k = 1 / sqrt(1 + pi v / 8), is the mean of p (1 - p) over the model's uncertainty
about the pair. After a pick, C and M change by ranks one and two; omega and w stay as they were before the first pick.

Any pair among equal gains is as good as another, but not any set of them. Without features and answers all gains are
equal, and in a table sorted by quality, neighbours are the pairs whose answers say least. So items are visited in a
random order, seeded by `random_state`, and the first of equal pairs in this order is picked.

`goal` says whose order matters: "ranking" counts all pairs of items, "top" weighs them by the probability that one of
the two is among the best. Counting pairs of new items with similar features, in order to predict the order of new
items, was not better at this than "ranking" (docs/worth.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dsymv

from pairsmith.criteria.kernels import importance, lower_and_find
from pairsmith.criteria.problem import Run
from pairsmith.criteria.random import draw
from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.steps import Step, Steps
from pairsmith.design.weights import logistic_weight

# The covariance is computed for at most this many items, a random sample if there are more. If fewer than half of all
# pairs are candidates, a sample of the same size has fewer of them, so it is larger.
MAX_SAMPLED_ITEMS, MAX_SAMPLED_ITEMS_IF_SPARSE = 1000, 2000
_PAIRS_PER_UPDATE = 500  # unanswered pairs that are included at once


def steps(run: Run, k: int) -> Steps:
    """Greedily maximise what the answers say about the order of items.

    With many items only a random sample of them is considered. A new sample is drawn after half as many picks as the
    sample has items.
    """
    # The seed depends on how many pairs have been asked, so that every round draws other samples.
    problem = run.problem
    rng = np.random.default_rng([int(run.rng.integers(1 << 32)), len(problem.comparisons), problem.touched])
    unanswered, was_sampled = problem.unanswered, np.zeros(run.remaining.rows.n_items, dtype=bool)
    if run.design.effects is not None:
        run.design.effects.reserve(2 * k)
    while k > 0:
        items = _sample_items(run.remaining, rng)
        was_sampled[items] = True
        run.diagnostics["items looked at"] = int(np.count_nonzero(was_sampled))
        picked, has_all_items = [], len(items) == len(was_sampled)
        count = k if has_all_items else min(k, max(1, len(items) // 2))
        for step in _steps_among(run, items, unanswered, count):
            picked.append((step.i, step.j))
            yield step
        if not picked or has_all_items:
            return
        unanswered, k = np.concatenate([unanswered, picked]), k - len(picked)


def _steps_among(run: Run, items: Ints, unanswered: Ints, k: int) -> Steps:
    """Take up to k steps among pairs of these items, as if the unanswered pairs had been answered."""
    order = _OrderInformation.after(run, items, unanswered)
    for _ in range(k):
        gain, i, j = order.best
        if gain == -np.inf:
            return
        weight = order.weights[i, j]
        first, second = sorted((int(items[i]), int(items[j])))
        run.design.add(first, second)
        run.remaining.take(first, second)
        order.exclude(i, j)
        for at in (i, j):
            if run.remaining.full[items[at]]:
                order.exclude(at, slice(None))
                order.exclude(slice(None), at)
        yield Step(first, second, gain, run.design.logdet)
        order.include(i, j, weight)


@dataclass
class _OrderInformation:
    """The matrices C, Lambda and M of some items (see the module), and the pair of largest gain.

    `include` updates C, M and the best pair. C and M are symmetric: only their upper triangles are kept up to date, and
    only the upper triangle of the weights is read.
    """

    C: Floats  # (n, n)
    Lambda: Floats  # (n, n)
    M: Floats  # (n, n)
    weights: Floats  # (n, n), negative where a pair is not a candidate
    best: tuple[float, int, int] = (-np.inf, 0, 0)  # the largest gain, and its pair

    @classmethod
    def after(cls, run: Run, items: Ints, unanswered: Ints) -> _OrderInformation:
        """Return the matrices as if the unanswered pairs had been answered.

        With a sample of the items, only the last MAX_SAMPLED_ITEMS of the unanswered pairs are included.
        """
        n, n_items = len(items), run.remaining.rows.n_items
        unanswered = unanswered if n == n_items else unanswered[-MAX_SAMPLED_ITEMS:]
        among = np.concatenate([items, np.setdiff1d(unanswered, items)])
        place = np.full(n_items, -1)
        place[among] = np.arange(len(among))
        joint, every = run.estimate.joint(among), np.arange(len(among))
        mean, C = joint.mean, joint.covariance(every, every)
        Lambda = importance(mean[:n], C[:n, :n])
        if run.goal.name == "top":
            below_top = 1 - run.estimate.joint(np.arange(n_items)).top_probabilities(run.rng, run.goal.top)[items]
            Lambda *= 1 - np.outer(below_top, below_top)
        np.negative(Lambda, out=Lambda)
        Lambda.flat[:: n + 1] = -Lambda.sum(axis=1)
        weights = np.full((n, n), -1.0)
        i, j = np.nonzero(_candidates(run.remaining, items))
        weights[i, j] = _mean_weights(mean, C, i, j)
        i, j = place[unanswered].T
        C = _condition(C, i, j, _mean_weights(mean, C, i, j))[:n, :n].copy()
        information = cls(C, Lambda, C @ Lambda @ C, weights)
        information._lower(np.zeros(n), np.zeros(n))
        return information

    def exclude(self, i: Any, j: Any) -> None:
        """Drop these pairs from the candidates."""
        self.weights[i, j] = -1.0

    def include(self, i: int, j: int, weight: float) -> None:
        """Update C and M as if the pair had been answered: C loses c c', so M = C Lambda C loses b c' + c b'."""
        c = _column(self.C, i) - _column(self.C, j)
        c *= np.sqrt(weight / (1 + weight * max(c[i] - c[j], 0.0)))
        with single_threaded_blas():  # one pass over a matrix is not faster on two threads
            # BLAS reads matrices by columns, so they are passed transposed.
            Lambda_c = dsymv(1.0, self.Lambda.T, c, lower=1)
            C_Lambda_c = dsymv(1.0, self.C.T, Lambda_c, lower=1)
        self._lower(c, C_Lambda_c - 0.5 * float(c @ Lambda_c) * c)

    def _lower(self, c: Floats, b: Floats) -> None:
        self.best = lower_and_find(self.M, self.C, self.weights, c, b, np.empty(len(c)))


def _mean_weights(mean: Floats, C: Floats, i: Ints, j: Ints) -> Floats:
    """Return the mean of p (1 - p) of pairs of items whose scores are N(mean, C)."""
    own = np.diag(C)
    k = 1 / np.sqrt(1 + np.pi * np.maximum(own[i] + own[j] - 2 * C[i, j], 0.0) / 8)
    weights: Floats = k * logistic_weight(k * (mean[i] - mean[j]))
    return weights


def _condition(covariance: Floats, i: Ints, j: Ints, weights: Floats) -> Floats:
    """Return the covariance of the scores after answers to the pairs (i, j), with these weights."""
    for low in range(0, len(i), _PAIRS_PER_UPDATE):
        some = slice(low, low + _PAIRS_PER_UPDATE)
        first, second, roots = i[some], j[some], np.sqrt(weights[some])
        across = (covariance[:, first] - covariance[:, second]) * roots
        within = (across[first] - across[second]) * roots[:, None]
        across = solve_triangular(cholesky(within + np.eye(len(within)), lower=True), across.T, lower=True)
        covariance = covariance - across.T @ across
    return covariance


def _column(upper: Floats, i: int) -> Floats:
    """Return a column of a symmetric matrix, from its upper triangle."""
    return np.concatenate([upper[:i, i], upper[i, i:]])


def _sample_items(remaining: Remaining, rng: np.random.Generator) -> Ints:
    """Return items in a random order: all of them, or if there are too many, the items of randomly drawn candidates."""
    n = remaining.rows.n_items
    is_dense = 4 * len(remaining.rows) > n * (n - 1)
    size = MAX_SAMPLED_ITEMS if is_dense else MAX_SAMPLED_ITEMS_IF_SPARSE
    if n <= size:
        return rng.permutation(n)
    copied = Remaining(remaining.rows, remaining.taken, remaining.room.copy())
    drawn = np.array(list(islice(draw(copied, rng), size)), dtype=np.int64).ravel()
    items, first = np.unique(drawn, return_index=True)
    return rng.permutation(items[np.argsort(first)[:size]])


def _candidates(remaining: Remaining, items: Ints) -> Bools:
    """Return an (n, n) matrix, by places in `items`, that is True where i < j and the pair may still be picked."""
    rows = remaining.rows
    place = np.full(rows.n_items, -1)
    place[items] = np.arange(len(items))
    among = rows if len(items) == len(place) else rows.among(place >= 0)
    allowed = np.zeros((len(items), len(items)), dtype=bool)
    for at, item in enumerate(items.tolist()):
        begin = among.first[item]
        others = place[among.partner[begin : begin + among.count[item]]]
        allowed[np.minimum(at, others), np.maximum(at, others)] = True
    gone = np.sort(place[rows.pairs(remaining.taken)], axis=1)
    gone = gone[(gone >= 0).all(axis=1)]
    allowed[gone[:, 0], gone[:, 1]] = False
    full = remaining.full[items]
    allowed[full], allowed[:, full] = False, False
    return allowed
