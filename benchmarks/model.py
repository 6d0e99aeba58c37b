"""BradleyTerry beside scikit-learn's LogisticRegression on the same rows: 100,000 comparisons of 10,000 items, d = 400.

python benchmarks/model.py
"""

from __future__ import annotations

import time

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import pairsmith as ps


def main() -> None:
    rng = np.random.default_rng(0)
    n, m, d, ridge = 10_000, 100_000, 400, 1.0
    X = rng.standard_normal((n, d))
    beta = rng.standard_normal(d) / 10
    first = rng.integers(n, size=m)
    pairs = np.column_stack([first, (first + rng.integers(1, n, size=m)) % n])
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    y = np.where(rng.random(m) < expit(rows @ beta), 1, -1)
    for _ in range(3):
        began = time.perf_counter()
        peer = LogisticRegression(C=1 / (2 * ridge), fit_intercept=False, solver="newton-cholesky").fit(rows, y)
        theirs = time.perf_counter() - began
        began = time.perf_counter()
        model = ps.BradleyTerry(ridge).fit(X, comparisons=pairs, outcomes=y)
        ours = time.perf_counter() - began
        norms = []
        for coef in (peer.coef_[0], model.coef_):
            gradient = 2 * ridge * coef - rows.T @ (y * expit(-y * (rows @ coef)))
            norms.append(np.linalg.norm(gradient) / np.linalg.norm(rows, axis=1).sum())
        print(
            f"LogisticRegression {theirs:.2f} s (gradient {norms[0]:.1e} of its scale), BradleyTerry with differences"
            f" and posterior {ours:.2f} s ({norms[1]:.1e}): {ours / theirs:.2f} times"
        )


if __name__ == "__main__":
    main()
