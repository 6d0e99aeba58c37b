"""Data that need no download."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from pairsmith.data.arrays import Floats, Ints
from pairsmith.datasets.base import Dataset, of_scores


def synthetic(
    n: int = 500,
    d: int = 20,
    *,
    comparisons: int | None = None,
    sigma_x: float = 1.0,
    sigma_beta: float = 1.0,
    c_a: float = 1.2,
    seed: int = 0,
) -> Dataset:
    """The paper's (Sec. 6.1): x ~ N(0, sigma_x I), beta ~ N(0, sigma_beta I), answers of the Bradley-Terry model.

    Absolute labels follow beta / c_a, comparisons beta, so that the former are noisier. `comparisons` pairs are drawn
    and answered; None answers all of them.
    """
    for name, value in (("n", n), ("d", d)):
        if value < (2 if name == "n" else 1):
            raise ValueError(f"{name}={value} is too small; use at least {2 if name == 'n' else 1}")
    rng = np.random.default_rng(seed)
    X = rng.normal(0, np.sqrt(sigma_x), (n, d))
    scores = X @ rng.normal(0, np.sqrt(sigma_beta), d)
    labels = np.where(rng.random(n) < expit(scores / c_a), 1, -1)
    total = n * (n - 1) // 2
    if comparisons is None:
        pairs = np.column_stack(np.triu_indices(n, 1))
    else:
        if not 0 <= comparisons <= total:
            raise ValueError(f"comparisons={comparisons}, but {n} items have {total} pairs")
        from pairsmith.data.candidates import AllPairs

        pairs = AllPairs().rows(n).pairs(rng.choice(total, comparisons, replace=False, shuffle=False))
    outcomes = np.where(rng.random(len(pairs)) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), 1, -1)
    source = f"drawn from the paper's model, seed {seed}"
    return Dataset("synthetic", X, source, labeled=np.arange(n), labels=labels, pairs=pairs, outcomes=outcomes)


def diabetes() -> Dataset:
    """442 patients, d = 10: who progressed farther? Labels: above the median."""
    from sklearn.datasets import load_diabetes

    X, progression = load_diabetes(return_X_y=True)
    return _scored("diabetes", X, progression, "scikit-learn (Efron et al., 2004)")


def breast_cancer() -> Dataset:
    """569 tumours, d = 30: which is malignant? Comparisons between the two kinds only."""
    from sklearn.datasets import load_breast_cancer

    X, benign = load_breast_cancer(return_X_y=True)
    return _scored("breast_cancer", X, 1.0 - benign, "scikit-learn (Wolberg et al., 1995)", ties=False)


def digits() -> Dataset:
    """1797 handwritten digits, d = 64: which is larger?"""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    return _scored("digits", X, digit.astype(float), "scikit-learn (Alpaydin and Kaynak, 1998)")


def _scored(name: str, X: Floats, scores: Floats, source: str, ties: bool = True) -> Dataset:
    labels: Ints = np.where(scores > np.median(scores), 1, -1)
    pairs, outcomes = of_scores(scores)
    if not ties:
        pairs, outcomes = pairs[outcomes != 0], outcomes[outcomes != 0]
    return Dataset(name, X, source, labeled=np.arange(len(X)), labels=labels, pairs=pairs, outcomes=outcomes)
