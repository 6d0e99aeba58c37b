"""The information matrix of the design, kept as a square root of its inverse."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Steps = Iterator[tuple[int, int, float]]  # what every algorithm yields: a pair i < j and log(1 + d_ij) at its step

_CHUNK = 4096  # labelled items or earlier comparisons folded in at a time
_NONE: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class Design:
    """A = ridge I + sum over labelled items of x x' + sum over pairs of (x_i - x_j)(x_i - x_j)'  (Eq. 6).

    What is kept is a root W of the inverse, A^-1 = W W', so that d_ij = |W'(x_i - x_j)|^2: a sum of squares,
    in which nothing cancels. Forming A or A^-1 would square the condition number, and with a small ridge lose
    every digit. `logdet` is log det A.
    """

    def __init__(
        self,
        X: Floats,
        ridge: float,
        labeled: npt.NDArray[np.int64] = _NONE,
        comparisons: npt.NDArray[np.int64] = _NONE,
    ) -> None:
        d = X.shape[1]
        rows = np.zeros((0, d))
        for at in range(0, len(labeled), _CHUNK):
            rows = _fold(rows, X[labeled[at : at + _CHUNK]])
        for at in range(0, len(comparisons), _CHUNK):
            i, j = comparisons[at : at + _CHUNK].T
            rows = _fold(rows, X[i] - X[j])
        # rows'rows = V s^2 V', so A = V (s^2 + ridge) V'. hypot and the SVD survive scales that squares do not.
        _, singular, Vt = np.linalg.svd(rows, full_matrices=True)
        spectrum = np.full(d, np.sqrt(ridge))
        spectrum[: len(singular)] = np.hypot(singular, np.sqrt(ridge))
        self.root: Floats = np.ascontiguousarray(Vt.T / spectrum)
        self.logdet = float(2 * np.sum(np.log(spectrum)))
        self.X: Floats = X - X.mean(axis=0)  # from here on only differences count: centred, they keep more digits

    def add(self, i: int, j: int) -> tuple[float, Floats]:
        """Include pair (i, j); the gain log(1 + d_ij), and v = A^-1 x / sqrt(1 + d_ij) of Alg. 4.

        With u = W'x the root becomes W - W u u' / (q (q + 1)), q = sqrt(1 + u'u), whose product with its
        transpose is Sherman-Morrison on A^-1 (Eq. 11).
        """
        u = (self.X[i] - self.X[j]) @ self.root
        d_ij = float(u @ u)
        q = np.sqrt(1 + d_ij)
        v = (self.root @ u) / q
        self.root -= np.outer(v, u / (q + 1))
        gain = float(np.log1p(d_ij))
        self.logdet += gain
        return gain, v

    def factor(self) -> Floats:
        """Lower triangular L with A^-1 = L L', the Cholesky factor of Alg. 3 (there U = L').

        Read off a QR of the root: a Cholesky of A^-1 itself breaks down once A is badly conditioned.
        """
        return np.ascontiguousarray(np.linalg.qr(self.root.T, mode="r").T)

    def whiten(self, factor: Floats) -> Floats:
        """Z = X F: with A^-1 = F F', d_ij = |z_i - z_j|^2 (Eq. 12)."""
        return self.X @ factor


def _fold(rows: Floats, more: Floats) -> Floats:
    """At most d rows with the same rows'rows as both together."""
    stacked = np.vstack([rows, more])
    return stacked if len(stacked) <= stacked.shape[1] else np.linalg.qr(stacked, mode="r")
