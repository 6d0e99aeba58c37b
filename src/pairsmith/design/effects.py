"""Effects of the items' own, beside their features: what is still open of them, without a column for each item.

A score is f_i = x_i'beta + sqrt(e) u_i, with beta ~ N(0, I / ridge) and u ~ N(0, I). In the coordinates
x~_i = (x_i, sqrt(e) e_i), d + N of them, that is the design of the paper again, and d_ij = |W'(x~_i - x~_j)|^2 the
variance of f_i - f_j. But only the items that were compared, labelled or picked, the *touched* ones T, have effects of
which anything is known. Given beta, those have a covariance E, and with beta ~ N(., W W') what is left open is

    f_i = y_i'beta + delta_i,    delta ~ N(0, E) over T,    y_i = x_i + shift_i,

where a touched item's y is what its features still say beside its effect. An item that is not touched has shift 0 and
an effect of its own of variance e. So d_ij is a distance over the d columns and, beside it, what effects leave open:

    d_ij = |W'(y_i - y_j)|^2 + E_ii + E_jj - 2 E_ij,        E_ii = e and E_ij = 0 for what is not touched.

A pair (i, j) of weight w joins, with b = e_i - e_j, q = b'E b and y = y_i - y_j:

    eps = E b sqrt(w / (1 + w q)),    eta = y sqrt(w / (1 + w q)),
    E <- E - eps eps',    Y <- Y - eps eta',    A <- A + eta eta',
    log(1 + w d_ij) = log(1 + w q) + log(1 + |W'eta|^2),

because the two effects are noise of variance q in what the answer tells of beta. Every f_k changes with the answer by
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

_PENDING = 128  # pairs that may join before E and the shifts are brought up to date, all at once
_ROWS = 512  # of E, brought up to date at a time


def _one_by_one(work: Callable[[int], None], tasks: Iterable[int]) -> None:
    for task in tasks:
        work(task)


class Effects:
    """What is open of the effects of n items, of variance `variance` each, and the shifts of features."""

    def __init__(self, variance: float, n: int, d: int) -> None:
        self.variance = float(variance)
        self.place = np.full(n, -1, dtype=np.int32)  # of each item among the touched; -1: not touched
        self.count = 0  # touched so far
        # With room for more. E and the shifts are as of the last `fold`; the pairs since are pending.
        self.items = np.zeros(0, dtype=np.int64)
        self.E, self.shift = np.zeros((0, 0)), np.zeros((0, d))
        self.eps, self.eta = np.zeros((_PENDING, 0)), np.zeros((_PENDING, d))
        self.pending = 0
        self.borrowed = False  # whether E and the shifts are somebody else's, to be copied before they change
        self.share: Callable[[Callable[[int], None], Iterable[int]], None] = _one_by_one  # or by threads

    @classmethod
    def known(cls, variance: float, n: int, items: Ints, E: Floats, shift: Floats) -> Effects:
        """Of these items effects have the covariance E, and features the shifts; neither array is written to."""
        effects = cls(variance, n, shift.shape[1])
        effects.place[items] = np.arange(len(items))
        effects.count, effects.items, effects.E, effects.shift = len(items), items, E, shift
        effects.eps, effects.borrowed = np.zeros((_PENDING, len(items))), True
        return effects

    @property
    def touched(self) -> Ints:
        """The items touched so far, by their places."""
        return self.items[: self.count]

    def make_room(self, more: int) -> None:
        """For so many items to be touched: memory is taken once, and most of it is never written to."""
        t, room = self.count, min(len(self.place), self.count + more)
        if room <= len(self.items) and not self.borrowed:
            return
        room, self.borrowed = max(room, len(self.items)), False
        old = self.items, self.E, self.shift, self.eps
        self.items, self.E = np.zeros(room, dtype=np.int64), np.zeros((room, room))
        self.shift, self.eps = np.zeros((room, old[2].shape[1])), np.zeros((_PENDING, room))
        self.items[:t], self.shift[:t], self.eps[:, :t] = old[0][:t], old[2][:t], old[3][:, :t]
        for low in range(0, t, _ROWS):
            self.E[low : min(low + _ROWS, t), :t] = old[1][low : min(low + _ROWS, t), :t]

    @contextmanager
    def shared_by(self, share: Callable[[Callable[[int], None], Iterable[int]], None]) -> Iterator[None]:
        """Have long loops done by threads, as long as these are there."""
        self.share = share
        try:
            yield
        finally:
            self.share = _one_by_one

    def own(self) -> Floats:
        """E_ii of all items."""
        t, own = self.count, np.full(len(self.place), self.variance)
        own[self.touched] = np.maximum(np.diag(self.E)[:t] - np.sum(self.eps[: self.pending, :t] ** 2, axis=0), 0.0)
        return own

    def between(self, i: Any, j: Any) -> Floats:
        """E_ii + E_jj - 2 E_ij of pairs of items: the variance of delta_i - delta_j."""
        a, b = self.place[i], self.place[j]
        found: Floats
        if len(a) > self.count:
            own = np.append(np.diag(self.E)[: self.count], self.variance)  # for -1: the last
            found = own[a] + own[b]
        else:
            found = np.where(a >= 0, self.E[a, a], self.variance) + np.where(b >= 0, self.E[b, b], self.variance)
        both = np.flatnonzero((a >= 0) & (b >= 0))
        found[both] -= 2 * self.E[a[both], b[both]]
        if self.pending:
            # An item that is not touched has no part in what is pending.
            eps = self.eps[: self.pending]
            some = np.flatnonzero((a >= 0) | (b >= 0))
            first, second = (np.where(one[some] >= 0, eps[:, one[some]], 0.0) for one in (a, b))
            found[some] -= np.sum((first - second) ** 2, axis=0)
        return np.maximum(found, 0.0, out=found)

    def covariance(self, items: Ints) -> Floats:
        """E of these items."""
        at = self.place[items]
        some = np.flatnonzero(at >= 0)
        found = np.diag(np.full(len(items), self.variance))
        eps = self.eps[: self.pending, at[some]]
        found[np.ix_(some, some)] = self.E[np.ix_(at[some], at[some])] - eps.T @ eps
        return found

    def shifts(self, items: Ints) -> Floats:
        """y - x of these items."""
        at = self.place[items]
        found = np.zeros((len(items), self.shift.shape[1]))
        some = np.flatnonzero(at >= 0)
        found[some] = self.shift[at[some]]
        if self.pending:
            found[some] -= self.eps[: self.pending, at[some]].T @ self.eta[: self.pending]
        return found

    def include(self, i: int, j: int, weight: float, y: Floats, q: float, d: float, v: Floats) -> Floats:
        """The pair joins; y = y_i - y_j, q, d = d_ij and v as in the module's docstring. Returns r of the touched."""
        if self.pending == _PENDING:
            self.fold()
        a, b = self._touch(i), self._touch(j)
        t, m = self.count, self.pending
        column = self.E[a, :t] - self.E[b, :t]
        column -= (self.eps[:m, a] - self.eps[:m, b]) @ self.eps[:m, :t]
        r: Floats = column * np.sqrt(weight / (1 + weight * d)) + self.shift[:t] @ v
        r -= (self.eta[:m] @ v) @ self.eps[:m, :t]
        share = np.sqrt(weight / (1 + weight * q))
        self.eps[m, :t], self.eta[m] = column * share, y * share
        self.pending += 1
        return r

    def pair_up(self, i: int, j: int, weight: float) -> None:
        """Two items join that are alike in their features and not touched: nothing else has to do with them."""
        a, b = self._touch(i), self._touch(j)
        lost = self.variance**2 * weight / (1 + 2 * self.variance * weight)
        self.E[a, a] = self.E[b, b] = self.variance - lost
        self.E[a, b] = self.E[b, a] = lost

    def touch_all(self) -> None:
        """Count every item among the touched, even if nothing is known of it."""
        self.make_room(len(self.place))
        for item in np.flatnonzero(self.place < 0).tolist():
            self._touch(item)

    def _touch(self, item: int) -> int:
        if self.place[item] < 0:
            if self.count == len(self.items):
                self.make_room(max(64, self.count))
            at = self.count
            self.place[item], self.items[at] = at, item
            self.E[at, at] = self.variance
            self.eps[: self.pending, at] = 0.0
            self.count += 1
        return int(self.place[item])

    def fold(self) -> None:
        """Bring E and the shifts up to date."""
        t, eps, eta = self.count, self.eps[: self.pending, : self.count], self.eta[: self.pending]
        if self.pending == 0:
            return
        self.make_room(0)

        def work(low: int) -> None:
            rows = slice(low, min(low + _ROWS, t))
            self.E[rows, :t] -= eps[:, rows].T @ eps
            self.shift[rows] -= eps[:, rows].T @ eta

        self.share(work, range(0, t, _ROWS))
        self.pending = 0


@dataclass(frozen=True)
class Answered:
    """Answers between some items, by their places: pairs and labels, each with a weight."""

    first: Ints
    second: Ints
    weight: Floats
    labeled: Ints
    label_weight: Floats


def eliminate(X: Floats, variance: float, answered: Answered) -> tuple[Floats, Floats, Ints, Floats, float]:
    """E and the shifts of items with features X and effects of this variance, given answers between them.

    Both are for the items in the order that comes third, in which elimination keeps the factor sparse.

    Also rows with which A = ridge I + rows'rows is the information on beta, and log det(I + e L), where L = B'B and B
    has the rows sqrt(w) (e_i - e_j) of pairs and sqrt(w) e_i of labels.

    E = (I / e + L)^-1 and shift = -E L X: -shift is the ridge regression of B X on B, with the penalty 1 / e. What
    that least-squares problem leaves over is X'(L - L E L)X, so the rows are its residuals: B Y, and the effects
    themselves over sqrt(e). Nothing is squared on the way, so that a small ridge keeps its digits
    (`information.Design`).
    """
    t, i, j, alone = len(X), answered.first, answered.second, answered.labeled
    root, label_root = np.sqrt(answered.weight), np.sqrt(answered.label_weight)
    answers, labels = np.arange(len(i)), len(i) + np.arange(len(alone))
    entries = np.concatenate([root, -root, label_root])
    places = np.concatenate([answers, answers, labels]), np.concatenate([i, j, alone])
    B = coo_array((entries, places), shape=(len(i) + len(alone), t)).tocsr()
    E, order, logdet = inverse((eye_array(t) + variance * (B.T @ B)).tocsr())
    E *= variance
    apart = np.vstack([(X[i] - X[j]) * root[:, None], X[alone] * label_root[:, None]])
    shift = -(E @ (B.T @ apart)[order])
    rows = np.vstack([apart + B[:, order] @ shift, shift / np.sqrt(variance)])
    return E, shift, order, rows, logdet
