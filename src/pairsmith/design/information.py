"""The information matrix of the design, kept as a square root of its inverse."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr
from scipy.linalg.lapack import dtrtri

from pairsmith.data.arrays import Floats
from pairsmith.data.features import Features, extremes, from_array, some_rows
from pairsmith.design.kernels import include
from pairsmith.design.weights import logistic_weight

_CHUNK = 4096  # labelled items or earlier comparisons folded in at a time
_NONE: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class Design:
    """A = ridge I + sum over labelled items of x x' + sum over pairs of (x_i - x_j)(x_i - x_j)'  (Eq. 6).

    What is kept is a root W of the inverse, A^-1 = W W', so that d_ij = |W'(x_i - x_j)|^2: a sum of squares,
    in which nothing cancels. Forming A or A^-1 would square the condition number, and with a small ridge lose
    every digit. With the `scores` of a model each term of A has the weight p (1 - p) of its answer, and so has d_ij.
    `logdet` is log det A; `uncertainty` bounds how far rounding may have moved d_ij, relatively, of pairs that were
    picked because none had a larger one. `extent` is how far apart items are in each column, where it is known.
    """

    def __init__(
        self,
        X: npt.NDArray[Any] | Features,
        ridge: float,
        labeled: npt.NDArray[np.int64] = _NONE,
        comparisons: npt.NDArray[np.int64] = _NONE,
        scores: Floats | None = None,
        extent: Floats | None = None,
    ) -> None:
        features = from_array(X) if isinstance(X, np.ndarray) else X
        self.n, d = features.shape
        self.scores = scores
        rows = np.zeros((0, d))
        for at in range(0, len(labeled), _CHUNK):
            own = labeled[at : at + _CHUNK]
            weight = 1.0 if scores is None else logistic_weight(scores[own])[:, None]
            rows = fold(rows, features.rows(own) * np.sqrt(weight))
        for at in range(0, len(comparisons), _CHUNK):
            i, j = comparisons[at : at + _CHUNK].T
            rows = fold(rows, (features.rows(i) - features.rows(j)) * np.sqrt(self.weight(i, j))[:, None])
        self.root: Floats
        self.root, self.logdet = inverse_root(rows, np.full(d, np.sqrt(ridge)))
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
        if self.scores is None:
            return np.ones(np.shape(i))
        return logistic_weight(self.scores[i] - self.scores[j])

    def add(self, i: int, j: int) -> tuple[float, Floats]:
        """Include pair (i, j); the gain log(1 + d_ij), and v = A^-1 x / sqrt(1 + d_ij) of Alg. 4."""
        x_i, x_j = self.rows([i, j])
        if self.scores is not None:
            x_i, x_j = np.sqrt(self.weight(i, j)) * np.array([x_i, x_j])
        u = (x_i - x_j) @ self.root
        s, v = float(u @ u), np.empty(len(u))
        include(self.root, u, s, v)
        gain = float(np.log1p(s))
        self.logdet += gain
        return gain, v

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
