"""Item effects: their posterior covariance after some answers, without a column for each item.

A score is f_i = x_i'beta + sqrt(e) u_i, with beta ~ N(0, I / ridge) and u ~ N(0, I). In the d + N coordinates
x~_i = (x_i, sqrt(e) e_i), this is the design of the paper again, and d_ij = |W'(x~_i - x~_j)|^2 is the variance of
f_i - f_j. But answers say something only about the effects of *touched* items T: those that were compared, labelled or
picked. Given beta, their effects have a covariance E. With beta ~ N(., W W'), the scores have the posterior

    f_i = y_i'beta + delta_i,    delta ~ N(0, E) over T,    y_i = x_i + shift_i,

where the shift of a touched item is the change of its expected effect with beta. An untouched item has shift 0 and an
independent effect of variance e. So d_ij is a squared distance over the d columns plus the variance of the effects:

    d_ij = |W'(y_i - y_j)|^2 + E_ii + E_jj - 2 E_ij,        E_ii = e and E_ij = 0 if i is untouched.

When a pair (i, j) of weight w is added, with b = e_i - e_j, q = b'E b and y = y_i - y_j,

    eps = E b sqrt(w / (1 + w q)),    eta = y sqrt(w / (1 + w q)),
    E <- E - eps eps',    Y <- Y - eps eta',    A <- A + eta eta',
    log(1 + w d_ij) = log(1 + w q) + log(1 + |W'eta|^2),

because to beta, the two effects are noise of variance q in the answer. Item k changes by
rho_k = x_k'v + r_k, where v = W W'y f, r_k = shift_k'v + (E b)_k f and f = sqrt(w / (1 + w d_ij)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, eye_array

from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.sparse_inverse import inverse

_MAX_PENDING = 128  # pairs whose updates of E and the shifts are applied together
_ROWS_PER_BLOCK = 512  # of E, updated by one task

Task = Callable[[int], None]


def _run_serially(task: Task, arguments: Iterable[int]) -> None:
    for argument in arguments:
        task(argument)


class Effects:
    """The posterior covariance of the effects of n items, and the shifts of their features (see the module)."""

    def __init__(self, variance: float, n: int, d: int) -> None:
        self.variance = float(variance)  # of an untouched item's effect
        self.place = np.full(n, -1, dtype=np.int32)  # of each item among the touched; -1: untouched
        self.count = 0  # of touched items
        # The arrays have room for more touched items. E and the shifts lack the updates of the pending pairs.
        self.items = np.zeros(0, dtype=np.int64)
        self.E, self.shift = np.zeros((0, 0)), np.zeros((0, d))
        self.eps, self.eta = np.zeros((_MAX_PENDING, 0)), np.zeros((_MAX_PENDING, d))
        self.pending = 0
        self._copy_before_write = False  # E and the shifts belong to the caller of `from_covariance`
        self._run: Callable[[Task, Iterable[int]], None] = _run_serially

    @classmethod
    def from_covariance(cls, variance: float, n: int, items: Ints, E: Floats, shift: Floats) -> Effects:
        """Return the effects of n items of which `items` are touched, with this covariance and these shifts.

        The arrays are not written to.
        """
        effects = cls(variance, n, shift.shape[1])
        effects.place[items] = np.arange(len(items))
        effects.count, effects.items, effects.E, effects.shift = len(items), items, E, shift
        effects.eps, effects._copy_before_write = np.zeros((_MAX_PENDING, len(items))), True
        return effects

    @property
    def touched(self) -> Ints:
        """The touched items, by their places."""
        return self.items[: self.count]

    def reserve(self, more: int) -> None:
        """Reserve memory for this many more touched items; the operating system provides it only as it is used."""
        t, room = self.count, min(len(self.place), self.count + more)
        if room <= len(self.items) and not self._copy_before_write:
            return
        room, self._copy_before_write = max(room, len(self.items)), False
        items, E, shift, eps = self.items, self.E, self.shift, self.eps
        self.items, self.E = np.zeros(room, dtype=np.int64), np.zeros((room, room))
        self.shift, self.eps = np.zeros((room, shift.shape[1])), np.zeros((_MAX_PENDING, room))
        self.items[:t], self.shift[:t], self.eps[:, :t] = items[:t], shift[:t], eps[:, :t]
        for low in range(0, t, _ROWS_PER_BLOCK):
            self.E[low : min(low + _ROWS_PER_BLOCK, t), :t] = E[low : min(low + _ROWS_PER_BLOCK, t), :t]

    @contextmanager
    def run_with(self, run: Callable[[Task, Iterable[int]], None]) -> Iterator[None]:
        """Use `run`, which may call a function in several threads, for long loops during a `with` block."""
        self._run = run
        try:
            yield
        finally:
            self._run = _run_serially

    def variances(self) -> Floats:
        """Return the variances E_ii of all items."""
        t, variances = self.count, np.full(len(self.place), self.variance)
        reduction = np.sum(self.eps[: self.pending, :t] ** 2, axis=0)
        variances[self.touched] = np.maximum(np.diag(self.E)[:t] - reduction, 0.0)
        return variances

    def difference_variances(self, i: Any, j: Any) -> Floats:
        """Return the variances E_ii + E_jj - 2 E_ij of delta_i - delta_j, for pairs of items."""
        a, b = self.place[i], self.place[j]
        variance: Floats
        if len(a) > self.count:
            own = np.append(np.diag(self.E)[: self.count], self.variance)  # place -1 reads the last entry
            variance = own[a] + own[b]
        else:
            variance = np.where(a >= 0, self.E[a, a], self.variance) + np.where(b >= 0, self.E[b, b], self.variance)
        both = np.flatnonzero((a >= 0) & (b >= 0))
        variance[both] -= 2 * self.E[a[both], b[both]]
        if self.pending:
            eps = self.eps[: self.pending]
            some = np.flatnonzero((a >= 0) | (b >= 0))  # pending pairs do not change untouched items
            first, second = (np.where(one[some] >= 0, eps[:, one[some]], 0.0) for one in (a, b))
            variance[some] -= np.sum((first - second) ** 2, axis=0)
        return np.maximum(variance, 0.0, out=variance)

    def covariance(self, items: Ints) -> Floats:
        """Return the covariance of the effects of some items."""
        place = self.place[items]
        touched = np.flatnonzero(place >= 0)
        covariance = np.diag(np.full(len(items), self.variance))
        eps = self.eps[: self.pending, place[touched]]
        covariance[np.ix_(touched, touched)] = self.E[np.ix_(place[touched], place[touched])] - eps.T @ eps
        return covariance

    def shifts(self, items: Ints) -> Floats:
        """Return y - x of some items."""
        place = self.place[items]
        shifts = np.zeros((len(items), self.shift.shape[1]))
        touched = np.flatnonzero(place >= 0)
        shifts[touched] = self.shift[place[touched]]
        if self.pending:
            shifts[touched] -= self.eps[: self.pending, place[touched]].T @ self.eta[: self.pending]
        return shifts

    def include(self, i: int, j: int, weight: float, y: Floats, q: float, d: float, v: Floats) -> Floats:
        """Add a pair, with y = y_i - y_j, q, d = d_ij and v as in the module's docstring; return r of the touched."""
        if self.pending == _MAX_PENDING:
            self.apply_pending()
        a, b = self._touch(i), self._touch(j)
        t, m = self.count, self.pending
        Eb = self.E[a, :t] - self.E[b, :t]
        Eb -= (self.eps[:m, a] - self.eps[:m, b]) @ self.eps[:m, :t]
        r: Floats = Eb * np.sqrt(weight / (1 + weight * d)) + self.shift[:t] @ v
        r -= (self.eta[:m] @ v) @ self.eps[:m, :t]
        scale = np.sqrt(weight / (1 + weight * q))
        self.eps[m, :t], self.eta[m] = Eb * scale, y * scale
        self.pending += 1
        return r

    def add_alike_pair(self, i: int, j: int, weight: float) -> None:
        """Add a pair of untouched items that have the same features: only the effects of these two change."""
        a, b = self._touch(i), self._touch(j)
        reduction = self.variance**2 * weight / (1 + 2 * self.variance * weight)
        self.E[a, a] = self.E[b, b] = self.variance - reduction
        self.E[a, b] = self.E[b, a] = reduction

    def touch_all(self) -> None:
        """Give every item a place among the touched, even if no answer was about it."""
        self.reserve(len(self.place))
        for item in np.flatnonzero(self.place < 0).tolist():
            self._touch(item)

    def _touch(self, item: int) -> int:
        """Return the item's place among the touched, which it gets now if it has none."""
        if self.place[item] < 0:
            if self.count == len(self.items):
                self.reserve(max(64, self.count))
            place = self.count
            self.place[item], self.items[place] = place, item
            self.E[place, place] = self.variance
            self.eps[: self.pending, place] = 0.0
            self.count += 1
        return int(self.place[item])

    def apply_pending(self) -> None:
        """Apply the updates of the pending pairs to E and the shifts."""
        t, eps, eta = self.count, self.eps[: self.pending, : self.count], self.eta[: self.pending]
        if self.pending == 0:
            return
        self.reserve(0)

        def update_block(low: int) -> None:
            rows = slice(low, min(low + _ROWS_PER_BLOCK, t))
            self.E[rows, :t] -= eps[:, rows].T @ eps
            self.shift[rows] -= eps[:, rows].T @ eta

        self._run(update_block, range(0, t, _ROWS_PER_BLOCK))
        self.pending = 0


@dataclass(frozen=True)
class WeightedAnswers:
    """Comparisons and labels of touched items, by their places, each with a weight."""

    first: Ints
    second: Ints
    weight: Floats
    labeled: Ints
    label_weight: Floats


def eliminate_effects(
    X: Floats, variance: float, answers: WeightedAnswers
) -> tuple[Floats, Floats, Ints, Floats, float]:
    """Eliminate the effects of touched items with features X from the information matrix, given their answers.

    Let B have a row sqrt(w) (e_i - e_j) for each pair and a row sqrt(w) e_i for each label, and let L = B'B. Then
    E = (I / e + L)^-1 and shift = -E L X: that is, -shift is the ridge regression of B X on B with the penalty 1 / e.
    The information about beta is X'(L - L E L)X, what the regression leaves unexplained. So its rows are the
    regression's residuals: B Y, and shift / sqrt(e). No step squares anything, so with a small ridge the digits are
    kept (`information.Design`).

    Returns
    -------
    E, shift : arrays
        The covariance and the shifts, both in the order of `order`.
    order : array of int
        The places of the items in the order in which elimination keeps the factor sparse.
    rows : array
        The rows with which A = ridge I + rows'rows is the information about beta.
    logdet : float
        log det(I + e L).
    """
    t, i, j, labeled = len(X), answers.first, answers.second, answers.labeled
    root, label_root = np.sqrt(answers.weight), np.sqrt(answers.label_weight)
    pair_rows, label_rows = np.arange(len(i)), len(i) + np.arange(len(labeled))
    entries = np.concatenate([root, -root, label_root])
    places = np.concatenate([pair_rows, pair_rows, label_rows]), np.concatenate([i, j, labeled])
    B = coo_array((entries, places), shape=(len(i) + len(labeled), t)).tocsr()
    E, order, logdet = inverse((eye_array(t) + variance * (B.T @ B)).tocsr())
    E *= variance
    BX = np.vstack([(X[i] - X[j]) * root[:, None], X[labeled] * label_root[:, None]])
    shift = -(E @ (B.T @ BX)[order])
    rows = np.vstack([BX + B[:, order] @ shift, shift / np.sqrt(variance)])
    return E, shift, order, rows, logdet
