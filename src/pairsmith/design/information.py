"""The information matrix of the design, stored as a square root of its inverse."""

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
from pairsmith.data.features import Features, ShiftedFeatures, column_extremes, evenly_spaced_rows, from_array
from pairsmith.design.effects import Effects, WeightedAnswers, eliminate_effects
from pairsmith.design.kernels import pair_distances, update_root
from pairsmith.design.weights import AveragedWeights, logistic_weight

_ROWS_PER_CHUNK = 4096  # labelled items or earlier comparisons that are folded in together
_NONE: Ints = np.zeros(0, dtype=np.int64)


class Design:
    """The information matrix A of a design, stored as a square root of its inverse.

    A = ridge I + sum over labelled items of x x' + sum over compared pairs of (x_i - x_j)(x_i - x_j)'  (Eq. 6).

    The root W of the inverse, A^-1 = W W', makes d_ij = |W'(x_i - x_j)|^2 a sum of squares, in which nothing cancels.
    Forming A or A^-1 would square the condition number and, with a small ridge, lose every digit.

    Given the scores of a model, each term of A has the weight p (1 - p) of its answer, and so has d_ij. Weights may
    also be averaged over what the model leaves open (`pairsmith.design.weights`).

    With item effects, the features of item i become (x_i, sqrt(item_effects) e_i). The root keeps only the columns of
    x, and `effects` keeps what belongs to the other columns (`pairsmith.design.effects`).

    Parameters
    ----------
    X : array of shape (n_items, n_features), or Features
        The items' features.
    ridge : float
        The weight lambda of the identity in A: the information about the coefficients before any answer.
    labeled : array of int, default none
        Row numbers of the items that have an absolute label.
    comparisons : array of int of shape (n_comparisons, 2), default none
        The pairs that have been compared.
    scores : array of shape (n_items,) or AveragedWeights, optional
        Scores that give the weights of answers, or averaged weights. By default every weight is 1.
    extent : array of shape (n_features,), optional
        The difference between the largest and the smallest value of each column. By default it is computed from X.
    prior : DesignPrior, optional
        The information about coefficients and item effects before the first pick. It includes the labels and
        comparisons, so `labeled`, `comparisons` and `item_effects` are then ignored.
    item_effects : float, optional
        The variance of the items' own effects. By default items have none.

    Attributes
    ----------
    root : array of shape (n_features, n_features)
        The root W.
    logdet : float
        log det A, of all columns.
    effects : Effects or None
        The posterior covariance of the item effects, if items have effects.
    uncertainty : float
        A bound on the relative error that rounding may have caused in the largest d_ij of any step so far.

    Examples
    --------
    >>> import numpy as np
    >>> from pairsmith import Design
    >>> design = Design(np.array([[0.0], [1.0], [3.0]]), ridge=1.0)
    >>> gain, _ = design.add(0, 2)
    >>> round(gain, 4), round(design.logdet, 4)  # log(1 + 3^2)
    (2.3026, 2.3026)
    """

    def __init__(
        self,
        X: npt.NDArray[Any] | Features,
        ridge: float,
        labeled: Ints = _NONE,
        comparisons: Ints = _NONE,
        scores: Floats | AveragedWeights | None = None,
        extent: Floats | None = None,
        prior: DesignPrior | None = None,
        item_effects: float | None = None,
    ) -> None:
        features = from_array(X) if isinstance(X, np.ndarray) else X
        self.n, d = features.shape
        self.averaged = scores if isinstance(scores, AveragedWeights) else None
        self.scores = scores = scores.scores if isinstance(scores, AveragedWeights) else scores
        self.effects: Effects | None = None
        rows = np.zeros((0, d))
        if prior is None and item_effects is not None:
            prior = DesignPrior.from_answers(features, item_effects, labeled, comparisons.reshape(-1, 2), scores)
        if prior is not None:
            rows, self.effects = prior.rows, prior.effects(self.n)
            labeled = comparisons = _NONE
        for low in range(0, len(labeled), _ROWS_PER_CHUNK):
            items = labeled[low : low + _ROWS_PER_CHUNK]
            weight = 1.0 if scores is None else logistic_weight(scores[items])[:, None]
            rows = compress_rows(rows, features.rows(items) * np.sqrt(weight))
        for low in range(0, len(comparisons), _ROWS_PER_CHUNK):
            i, j = comparisons[low : low + _ROWS_PER_CHUNK].T
            rows = compress_rows(rows, (features.rows(i) - features.rows(j)) * np.sqrt(self.weight(i, j))[:, None])
        self.root: Floats
        if prior is None or prior.root is None:
            self.root, self.logdet = inverse_root(rows, np.full(d, np.sqrt(ridge)))
        else:
            self.root, self.logdet = prior.root.copy(), 0.0
        self.logdet += 0.0 if prior is None else prior.logdet
        # From here on only differences count. Centring keeps more of their digits, and centring about the median keeps
        # them even if there is an outlier.
        self.features = features.centred(np.median(evenly_spaced_rows(features, 1001), axis=0))
        # `growth` bounds the effect of rounding in W relative to rounding in u = W'x (`note_rounding`). If the rows of
        # A have a relative error of eps, |u|^2 changes by at most 2 u'S' eps |rows||W||u|, where S = rows W. That is
        # |S u| times the effect of an error in u itself. S u = (A^-1 rows')'x, and with the singular values s of the
        # rows, A^-1 rows' = V s / (s^2 + ridge) U'.
        if extent is None:
            largest, smallest = column_extremes(features)
            extent = largest - smallest
        self.extent: Floats = extent
        self.sizes: Floats = np.maximum(self.extent, np.abs(rows).max(axis=0, initial=0.0))
        _, singular, Vt = np.linalg.svd(rows, full_matrices=False)
        whole = np.hypot(singular, np.sqrt(ridge))
        self.growth = 1 + sum_of_term_norms(self.extent, Vt.T * (singular / whole / whole))
        self.uncertainty = 0.0

    def sum_of_term_norms(self) -> float:
        """Bound the summed length of the terms of u = W'x, for any difference x of two items and any row x of A."""
        return sum_of_term_norms(self.sizes, self.root)

    def note_rounding(self, largest: Any, terms: Any) -> None:
        """Update `uncertainty` after picks of pairs whose d_ij was `largest` among all pairs.

        Rounding changes u by at most eps times `terms`, and that error matters relative to |u|^2 = `largest`.
        """
        relative = np.divide(terms, np.sqrt(largest), out=np.zeros(np.shape(terms)), where=np.greater(largest, 0))
        error = 8 * np.sqrt(len(self.extent)) * np.finfo(np.float64).eps * self.growth * relative
        self.uncertainty = max(self.uncertainty, float(np.max(error, initial=0.0)))

    def weight(self, i: Any, j: Any) -> Floats:
        """Return the weights w_ij of answers to pairs: p (1 - p) under the scores, or 1 without scores."""
        if self.averaged is not None:
            return self.averaged.of(i, j)
        if self.scores is None:
            return np.ones(np.shape(i))
        return logistic_weight(self.scores[i] - self.scores[j])

    def add(self, i: int, j: int, fraction: float = 1.0) -> tuple[float, Floats]:
        """Add the pair (i, j), with this fraction of its weight.

        Returns
        -------
        gain : float
            log(1 + d_ij), by which log det A grows.
        v : array of shape (n_features,)
            A^-1 x / sqrt(1 + d_ij), as in Alg. 4.
        """
        if self.effects is not None:
            d, v, _ = self.add_with_effects(i, j, fraction)
            gain = float(np.log1p(d))
            self.logdet += gain
            return gain, v
        x_i, x_j = self.rows([i, j])
        if self.scores is not None or fraction != 1:
            x_i, x_j = np.sqrt(fraction * self.weight(i, j)) * np.array([x_i, x_j])
        u = (x_i - x_j) @ self.root
        s, v = float(u @ u), np.empty(len(u))
        update_root(self.root, u, s, v)
        gain = float(np.log1p(s))
        self.logdet += gain
        return gain, v

    def add_with_effects(self, i: int, j: int, fraction: float = 1.0) -> tuple[float, Floats, Floats]:
        """Add the pair (i, j) when items have effects, without updating `logdet`; return d_ij, v and r.

        d_ij includes the weight. The change of item k is rho_k = x_k'v + r_k, where r holds a value for each touched
        item, by its place, and r_k = 0 for all others.
        """
        assert self.effects is not None
        pair = np.array([i, j])
        y_i, y_j = self.rows(pair) + self.effects.shifts(pair)
        weight, q = fraction * float(self.weight(i, j)), float(self.effects.difference_variances(pair[:1], pair[1:])[0])
        y = y_i - y_j
        u = y @ self.root
        d, v = float(u @ u) + q, np.empty(len(u))
        u *= np.sqrt(weight / (1 + weight * q))
        update_root(self.root, u, float(u @ u), v)
        return weight * d, v, self.effects.include(i, j, weight, y, q, d, v)

    def gains(self, i: Ints, j: Ints, weight: Floats | None = None) -> Floats:
        """Return d_ij of pairs of items, weight included, computed from the root."""
        items, place = np.unique(np.concatenate([i, j]), return_inverse=True)
        Y = self.rows(items)
        if self.effects is not None:
            Y = Y + self.effects.shifts(items)
        first, second = place.reshape(2, -1)
        if len(i) <= len(items):  # there are at most as many differences as items, so they are the cheaper product
            U = (Y[first] - Y[second]) @ self.root
            d: Floats = np.einsum("ea,ea->e", U, U)
        else:
            for factor in self.whitener():
                Y = Y @ factor
            d = np.empty(len(i))
            pair_distances(Y, Y, first, second, d)
        if self.effects is not None:
            d += self.effects.difference_variances(i, j)
        return d * (self.weight(i, j) if weight is None else weight)

    def record_picks(self, d: Floats, terms: Floats) -> tuple[Floats, Floats]:
        """Record pairs that a kernel has added to the root in place: update `logdet` and `uncertainty`.

        `d` holds each pair's d_ij, the largest at its step, and `terms` the value of `sum_of_term_norms()` before it.
        Returns each pair's gain log(1 + d_ij) and log det A after it.
        """
        self.note_rounding(d, terms)
        gains = np.log1p(d)
        after = np.cumsum(np.concatenate([[self.logdet], gains]))[1:]
        self.logdet = float(after[-1])
        return gains, after

    def scaled_along(self, directions: Floats, growth: Floats) -> Design:
        """Return a copy whose information along some directions of the whitened space is `growth` times as large.

        The directions are the columns of an orthogonal Q, and A of the copy is W^-T Q diag(growth) Q' W^-1.
        """
        other = copy.copy(self)
        other.root = self.root @ (directions / np.sqrt(growth))
        other.logdet = self.logdet + float(np.sum(np.log(growth)))
        return other

    def factor(self) -> Floats:
        """Return the lower triangular L with A^-1 = L L', the Cholesky factor of Alg. 3 (where U = L').

        It comes from a QR of the root: the Cholesky factorization of A^-1 fails once A is badly conditioned.
        """
        return np.ascontiguousarray(_triangular_factor(self.root.T).T)

    def rows(self, which: Any = slice(None)) -> Floats:
        """Return the centred features of some items, in float64."""
        return self.features.rows(which)

    @property
    def points(self) -> Features:
        """The items' y. W maps them to points whose squared distances, plus the variance of effects, are d_ij.

        They are valid until the next pair is added.
        """
        if self.effects is None:
            return self.features
        self.effects.apply_pending()
        return ShiftedFeatures(self.features, self.effects.place, self.effects.shift)

    @cached_property
    def X(self) -> Floats:
        """The centred features of all items, in float64."""
        return self.rows()

    def whitener(self) -> tuple[Floats, ...]:
        """Return the factors of W; X times each factor in turn is Z = X W, and d_ij = |z_i - z_j|^2.

        If the terms of the product X W cancel, there are two factors, of W = L Q': the triangular L keeps columns of
        different scale apart, and after it the rotation Q' is harmless.
        """
        some = self.rows(slice(None, None, max(1, self.n // 64)))
        terms = np.linalg.norm(np.abs(some) @ np.abs(self.root), axis=1)
        if np.any(terms > 1e3 * np.linalg.norm(some @ self.root, axis=1)):
            Q, R = np.linalg.qr(self.root.T)
            return np.ascontiguousarray(R.T), np.ascontiguousarray(Q.T)
        return (self.root,)

    def whiten(self, factor: Floats, out: Floats | None = None) -> Floats:
        """Return Z = X F. If A^-1 = F F', then d_ij = |z_i - z_j|^2 (Eq. 12)."""
        return np.matmul(self.X, factor, out=out)


@dataclass(frozen=True)
class DesignPrior:
    """The information about coefficients and item effects before the first pick (see `design.effects`).

    The information matrix of the coefficients is given by its root, or else as ridge I + rows'rows.
    """

    variance: float  # of an untouched item's effect; 0 if items have no effects
    items: Ints  # the touched items
    E: Floats  # the covariance of their effects
    shift: Floats  # of their features
    logdet: float  # log det A if `root` is given, else only what the effects add to it
    rows: Floats  # at most d
    root: Floats | None = None  # W

    @classmethod
    def from_answers(
        cls, features: Features, variance: float, labeled: Ints, comparisons: Ints, scores: Floats | None
    ) -> DesignPrior:
        """Return the information after labels and comparisons, with weights p (1 - p) under the scores, or 1."""
        touched, place = np.unique(np.concatenate([labeled, comparisons.ravel()]), return_inverse=True)
        label_place, (first, second) = place[: len(labeled)], place[len(labeled) :].reshape(-1, 2).T
        weight, label_weight = np.ones(len(first)), np.ones(len(label_place))
        if scores is not None:
            label_weight = logistic_weight(scores[labeled])
            weight = logistic_weight(scores[comparisons[:, 0]] - scores[comparisons[:, 1]])
        answers = WeightedAnswers(first, second, weight, label_place, label_weight)
        E, shift, order, rows, logdet = eliminate_effects(features.rows(touched), variance, answers)
        return cls(variance, touched[order], E, shift, logdet, compress_rows(np.zeros((0, shift.shape[1])), rows))

    def among(self, kept: Bools) -> DesignPrior:
        """Drop the effects of items that are not kept; the coefficients keep what their answers have said."""
        kept_places = np.flatnonzero(kept[self.items])
        if len(kept_places) == len(self.items):
            return self
        E = self.E[np.ix_(kept_places, kept_places)]
        return replace(self, items=self.items[kept_places], E=E, shift=self.shift[kept_places])

    def effects(self, n: int) -> Effects | None:
        """Return the effects of n items, to be updated by picks; None if items have no effects."""
        if self.variance == 0:
            return None
        return Effects.from_covariance(self.variance, n, self.items, self.E, self.shift)


def inverse_root(rows: Floats, prior: Floats) -> tuple[Floats, float]:
    """Return W with W W' = B^-1, and log det B, for B = rows'rows + diag(prior^2).

    A QR avoids forming B. The columns are brought to one scale, the longest rows come first, and the columns are
    pivoted: then a small column or row keeps its digits beside a large one (Cox and Higham, 1998).
    """
    scale = np.hypot(np.abs(rows).max(axis=0, initial=0.0), prior)
    stacked = _longest_first(np.vstack([rows / scale, np.diag(prior / scale)]))
    R, order = qr(stacked, mode="r", pivoting=True, check_finite=False)
    R = R[: len(prior)]
    W = np.empty_like(R)
    W[order], _ = dtrtri(R)
    return W / scale[:, None], float(2 * np.sum(np.log(np.abs(np.diag(R))) + np.log(scale)))


def sum_of_term_norms(extent: Floats, factor: Floats) -> float:
    """Bound the summed length of the terms x_c F_c of F'x, for F_c the rows of F and |x_c| at most `extent`."""
    return float(extent @ np.sqrt(np.einsum("cb,cb->c", factor, factor)))


def compress_rows(rows: Floats, more: Floats) -> Floats:
    """Return at most d rows that have the same rows'rows as `rows` and `more` together."""
    stacked = np.vstack([rows, more])
    return stacked if len(stacked) <= stacked.shape[1] else _triangular_factor(_longest_first(stacked))


def _longest_first(rows: Floats) -> Floats:
    """Sort the rows by length, the longest first: in a QR, short rows then keep their digits."""
    return rows[np.argsort(-np.abs(rows).max(axis=1), kind="stable")]


def _triangular_factor(rows: Floats) -> Floats:
    """Return the upper triangular R with R'R = rows'rows."""
    R: Floats = np.asarray(np.linalg.qr(rows, mode="r"))
    return R
