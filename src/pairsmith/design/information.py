"""The information matrix of the design, kept as a square root of its inverse."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr
from scipy.linalg.lapack import dtrtri

from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.data.features import Features, Shifted, extremes, from_array, some_rows
from pairsmith.design.effects import Answered, Effects, eliminate
from pairsmith.design.kernels import include, pair_distances
from pairsmith.design.weights import Averaged, logistic_weight

_CHUNK = 4096  # labelled items or earlier comparisons folded in at a time
_NONE: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class Design:
    """A = ridge I + sum over labelled items of x x' + sum over pairs of (x_i - x_j)(x_i - x_j)'  (Eq. 6).

    What is kept is a root W of the inverse, A^-1 = W W', so that d_ij = |W'(x_i - x_j)|^2: a sum of squares,
    in which nothing cancels. Forming A or A^-1 would square the condition number, and with a small ridge lose
    every digit. With the `scores` of a model each term of A has the weight p (1 - p) of its answer, and so has d_ij;
    the weights may also be averaged ones (`design.weights`).
    `logdet` is log det A; `uncertainty` bounds how far rounding may have moved d_ij, relatively, of pairs that were
    picked because none had a larger one. `extent` is how far apart items are in each column, where it is known.

    With `item_effects` every item has an effect of its own, of that variance: the design is that of x~ = (x, sqrt(e)
    e_i), of which the root keeps the part that belongs to the features, and `effects` the rest (`design.effects`).
    `item_effects` may also be a Beginning, all that is known when labels and comparisons are counted in.
    """

    def __init__(
        self,
        X: npt.NDArray[Any] | Features,
        ridge: float,
        labeled: npt.NDArray[np.int64] = _NONE,
        comparisons: npt.NDArray[np.int64] = _NONE,
        scores: Floats | Averaged | None = None,
        extent: Floats | None = None,
        item_effects: float | Beginning | None = None,
    ) -> None:
        features = from_array(X) if isinstance(X, np.ndarray) else X
        self.n, d = features.shape
        self.averaged = scores if isinstance(scores, Averaged) else None
        self.scores = scores = scores.scores if isinstance(scores, Averaged) else scores
        self.effects: Effects | None = None
        rows = np.zeros((0, d))
        given: Beginning | None = None
        if isinstance(item_effects, Beginning):
            given = item_effects
        elif item_effects is not None:
            given = Beginning.after(features, item_effects, labeled, comparisons.reshape(-1, 2), scores)
        if given is not None:
            rows, self.effects = given.rows, given.effects(self.n)
            labeled = comparisons = _NONE
        for at in range(0, len(labeled), _CHUNK):
            own = labeled[at : at + _CHUNK]
            weight = 1.0 if scores is None else logistic_weight(scores[own])[:, None]
            rows = fold(rows, features.rows(own) * np.sqrt(weight))
        for at in range(0, len(comparisons), _CHUNK):
            i, j = comparisons[at : at + _CHUNK].T
            rows = fold(rows, (features.rows(i) - features.rows(j)) * np.sqrt(self.weight(i, j))[:, None])
        self.root: Floats
        if given is None or given.root is None:
            self.root, self.logdet = inverse_root(rows, np.full(d, np.sqrt(ridge)))
        else:
            self.root, self.logdet = given.root.copy(), 0.0
        self.logdet += 0.0 if given is None else given.logdet
        # From here on only differences count. Centred they keep more digits, and about a median an outlier takes none.
        self.features = features.centred(np.median(some_rows(features, 1001), axis=0))
        # What rounding takes from the root and from u = W'x (`note_rounding`). Rows of A that are off by eps,
        # relatively, move |u|^2 by 2 u'S' eps |rows||W||u| at most, S = rows W: by so much more than u itself is off as
        # S u is long. S u = (A^-1 rows')'x, and A^-1 rows' = V s / (s^2 + ridge) U' by the singular values.
        if extent is None:
            high, low = extremes(features)
            extent = high - low
        self.extent: Floats = extent
        self.sizes: Floats = np.maximum(self.extent, np.abs(rows).max(axis=0, initial=0.0))
        _, singular, Vt = np.linalg.svd(rows, full_matrices=False)
        whole = np.hypot(singular, np.sqrt(ridge))
        self.growth = 1 + terms_of(self.extent, Vt.T * (singular / whole / whole))
        self.uncertainty = 0.0

    def terms(self) -> float:
        """How long all terms of a u = W'x can be together, x any difference of two items or row of A."""
        return terms_of(self.sizes, self.root)

    def note_rounding(self, largest: Any, terms: Any) -> None:
        """Pairs were picked for their d_ij, the largest: how far may rounding have moved that, or another's?

        eps takes as much from u as its `terms` are long, and |u|^2 is to be compared with the largest.
        """
        share = np.divide(terms, np.sqrt(largest), out=np.zeros(np.shape(terms)), where=np.greater(largest, 0))
        blur = 8 * np.sqrt(len(self.extent)) * np.finfo(np.float64).eps * self.growth * share
        self.uncertainty = max(self.uncertainty, float(np.max(blur, initial=0.0)))

    def weight(self, i: Any, j: Any) -> Floats:
        """w_ij of pairs: p (1 - p) under the scores, or 1."""
        if self.averaged is not None:
            return self.averaged.of(i, j)
        if self.scores is None:
            return np.ones(np.shape(i))
        return logistic_weight(self.scores[i] - self.scores[j])

    def add(self, i: int, j: int, part: float = 1.0) -> tuple[float, Floats]:
        """Include pair (i, j); the gain log(1 + d_ij), and v = A^-1 x / sqrt(1 + d_ij) of Alg. 4.

        Of its weight only that part, where it is given.
        """
        if self.effects is not None:
            d, v, _ = self.take(i, j, part)
            gain = float(np.log1p(d))
            self.logdet += gain
            return gain, v
        x_i, x_j = self.rows([i, j])
        if self.scores is not None or part != 1:
            x_i, x_j = np.sqrt(part * self.weight(i, j)) * np.array([x_i, x_j])
        u = (x_i - x_j) @ self.root
        s, v = float(u @ u), np.empty(len(u))
        include(self.root, u, s, v)
        gain = float(np.log1p(s))
        self.logdet += gain
        return gain, v

    def take(self, i: int, j: int, part: float = 1.0) -> tuple[float, Floats, Floats]:
        """Include pair (i, j), where items have effects, in all but `logdet`: d_ij, weight included, v and r.

        Those say how every item changes: rho_k = x_k'v + r_k, r_k of the touched items by their places, else 0.
        """
        assert self.effects is not None
        pair = np.array([i, j])
        y_i, y_j = self.rows(pair) + self.effects.shifts(pair)
        weight, q = part * float(self.weight(i, j)), float(self.effects.between(pair[:1], pair[1:])[0])
        y = y_i - y_j
        u = y @ self.root
        d, v = float(u @ u) + q, np.empty(len(u))
        share = weight / (1 + weight * q)
        u *= np.sqrt(share)
        include(self.root, u, float(u @ u), v)
        return weight * d, v, self.effects.include(i, j, weight, y, q, d, v)

    def gains(self, i: Ints, j: Ints, weight: Floats | None = None) -> Floats:
        """d_ij of pairs of items, weight included, each from the root alone."""
        items, place = np.unique(np.concatenate([i, j]), return_inverse=True)
        Y = self.rows(items)
        if self.effects is not None:
            Y = Y + self.effects.shifts(items)
        first, second = place.reshape(2, -1)
        if len(i) <= len(items):  # differences first: they are no more rows than there are items
            U = (Y[first] - Y[second]) @ self.root
            found: Floats = np.einsum("ea,ea->e", U, U)
        else:
            for factor in self.whitener():
                Y = Y @ factor
            found = np.empty(len(i))
            pair_distances(Y, Y, first, second, found)
        if self.effects is not None:
            found += self.effects.between(i, j)
        return found * (self.weight(i, j) if weight is None else weight)

    def included(self, d: Floats, terms: Floats) -> tuple[Floats, Floats]:
        """A kernel has included pairs in the root, in place, that had these d_ij, the largest, at their steps.

        `terms` is what `terms()` was before each. Returns each pair's gain log(1 + d_ij) and log det A after it.
        """
        self.note_rounding(d, terms)
        gains = np.log1p(d)
        after = np.cumsum(np.concatenate([[self.logdet], gains]))[1:]
        self.logdet = float(after[-1])
        return gains, after

    def stretched(self, directions: Floats, growth: Floats) -> Design:
        """Another design, whose information along these directions of the whitened space is `growth` times as large.

        They are the columns of an orthogonal Q: the other's A is W^-T Q diag(growth) Q' W^-1.
        """
        other = copy.copy(self)
        other.root = self.root @ (directions / np.sqrt(growth))
        other.logdet = self.logdet + float(np.sum(np.log(growth)))
        return other

    def factor(self) -> Floats:
        """Lower triangular L with A^-1 = L L', the Cholesky factor of Alg. 3 (there U = L').

        Read off a QR of the root: a Cholesky of A^-1 itself breaks down once A is badly conditioned.
        """
        return np.ascontiguousarray(_upper(self.root.T).T)

    def rows(self, which: Any = slice(None)) -> Floats:
        """These items' features in float64, centred."""
        return self.features.rows(which)

    @property
    def points(self) -> Features:
        """y of the items, which W takes to points whose distance, and what effects add to it, is d_ij.

        Good until the next pair is included.
        """
        if self.effects is None:
            return self.features
        self.effects.fold()
        return Shifted(self.features, self.effects.place, self.effects.shift)

    @cached_property
    def X(self) -> Floats:
        """The features of all items in float64, centred."""
        return self.rows()

    def whitener(self) -> tuple[Floats, ...]:
        """The factors of W, to be multiplied with X from the left on: Z = X W, d_ij = |z_i - z_j|^2.

        Where the terms of that product would cancel, X meets the triangular factor of W = L Q' first. L keeps apart
        what differs in scale, and after it a rotation is harmless.
        """
        some = self.rows(slice(None, None, max(1, self.n // 64)))
        terms = np.linalg.norm(np.abs(some) @ np.abs(self.root), axis=1)
        if np.any(terms > 1e3 * np.linalg.norm(some @ self.root, axis=1)):
            Q, R = np.linalg.qr(self.root.T)
            return np.ascontiguousarray(R.T), np.ascontiguousarray(Q.T)
        return (self.root,)

    def whiten(self, factor: Floats, out: Floats | None = None) -> Floats:
        """Z = X F: with A^-1 = F F', d_ij = |z_i - z_j|^2 (Eq. 12)."""
        return np.matmul(self.X, factor, out=out)


@dataclass(frozen=True)
class Beginning:
    """What is known before the first pick, where items have effects of their own; see `design.effects`."""

    variance: float  # of the effects; 0 where there are none
    items: Ints  # the touched
    E: Floats
    shift: Floats
    logdet: float  # what the effects add to log det A; or all of it, where the root is given
    rows: Floats  # at most d, with A = ridge I + rows'rows the information on beta
    root: Floats | None = None  # W, where it is known

    @classmethod
    def after(
        cls, features: Features, variance: float, labeled: Ints, comparisons: Ints, scores: Floats | None
    ) -> Beginning:
        """Labels and comparisons, each of the weight p (1 - p) under the scores, or 1."""
        touched, place = np.unique(np.concatenate([labeled, comparisons.ravel()]), return_inverse=True)
        own, (first, second) = place[: len(labeled)], place[len(labeled) :].reshape(-1, 2).T
        weight, label_weight = np.ones(len(first)), np.ones(len(own))
        if scores is not None:
            label_weight = logistic_weight(scores[labeled])
            weight = logistic_weight(scores[comparisons[:, 0]] - scores[comparisons[:, 1]])
        answered = Answered(first, second, weight, own, label_weight)
        E, shift, order, rows, logdet = eliminate(features.rows(touched), variance, answered)
        return cls(variance, touched[order], E, shift, logdet, fold(np.zeros((0, shift.shape[1])), rows))

    def among(self, kept: Bools) -> Beginning:
        """Without the effects of items that are not kept, which have told beta what they know."""
        own = np.flatnonzero(kept[self.items])
        if len(own) == len(self.items):
            return self
        return replace(self, items=self.items[own], E=self.E[np.ix_(own, own)], shift=self.shift[own])

    def effects(self, n: int) -> Effects | None:
        """Of n items, to go on from."""
        if self.variance == 0:
            return None
        return Effects.known(self.variance, n, self.items, self.E, self.shift)


def inverse_root(rows: Floats, prior: Floats) -> tuple[Floats, float]:
    """W with W W' = B^-1 and log det B, B = rows'rows + diag(prior^2).

    By QR, which never forms B. Columns are brought to one scale, and rows go in with the longest first and the columns
    pivoted: then a small column or row keeps its digits beside a large one (Cox and Higham, 1998).
    """
    scale = np.hypot(np.abs(rows).max(axis=0, initial=0.0), prior)
    stacked = _longest_first(np.vstack([rows / scale, np.diag(prior / scale)]))
    R, order = qr(stacked, mode="r", pivoting=True, check_finite=False)
    R = R[: len(prior)]
    W = np.empty_like(R)
    W[order], _ = dtrtri(R)
    return W / scale[:, None], float(2 * np.sum(np.log(np.abs(np.diag(R))) + np.log(scale)))


def terms_of(extent: Floats, factor: Floats) -> float:
    """How long the terms x_c F_c of F'x can be together, F_c the rows of F, |x_c| at most `extent`."""
    return float(extent @ np.sqrt(np.einsum("cb,cb->c", factor, factor)))


def fold(rows: Floats, more: Floats) -> Floats:
    """At most d rows with the same rows'rows as both together."""
    stacked = np.vstack([rows, more])
    return stacked if len(stacked) <= stacked.shape[1] else _upper(_longest_first(stacked))


def _longest_first(rows: Floats) -> Floats:
    """For a QR: then short rows keep their digits."""
    return rows[np.argsort(-np.abs(rows).max(axis=1), kind="stable")]


def _upper(rows: Floats) -> Floats:
    """Upper triangular R with R'R = rows'rows."""
    R: Floats = np.asarray(np.linalg.qr(rows, mode="r"))
    return R
