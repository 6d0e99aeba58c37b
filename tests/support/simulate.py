"""Data that people could have given, for tests of models."""

import numpy as np
from scipy.special import expit


def labels_and_answers(seed=0, n=40, d=4, m=60):
    """Features of n items, and what `fit` takes: labels of a quarter of them, and m answers, by one linear score."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    beta = rng.standard_normal(d)
    outcomes = np.where(rng.random(m) < expit((X[pairs[:, 0]] - X[pairs[:, 1]]) @ beta), 1, -1)
    labeled = rng.choice(n, n // 4, replace=False)
    y = np.where(rng.random(len(labeled)) < expit(X[labeled] @ beta), 1, -1)
    return X, {"labeled": labeled, "y": y, "comparisons": pairs, "outcomes": outcomes}


def scored_answers(seed, n=80, d=4, count=300, linear=2.0, items=1.0):
    """Features, true scores and answers with the model's noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = np.sqrt(linear / d) * X @ rng.standard_normal(d) + np.sqrt(items) * rng.standard_normal(n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(count)])
    gaps = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    return X, scores, pairs, np.where(rng.random(count) < expit(gaps), 1, -1)
