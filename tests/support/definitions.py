"""Criteria as they are defined, by enumeration: what the tests of each compare with."""

import numpy as np
import pytest
from scipy.special import expit

import pairsmith as ps
from support.oracle import all_pairs

RIDGE = 0.2


def problem(seed, n=9, d=3, steep=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    model = ps.BradleyTerry(1.0).fit(X, np.where(X @ rng.standard_normal(d) > 0, 1, -1))
    model.coef_ = model.coef_ * steep
    return X, model


def weight(X, model, i, j):
    p = expit(model.coef_ @ (X[i] - X[j]))
    return p * (1 - p)


def information(X, pairs, weights, ridge, labeled=(), label_weights=()):
    A = ridge * np.eye(X.shape[1])
    for i, w in zip(labeled, label_weights, strict=True):
        A += w * np.outer(X[i], X[i])
    for (i, j), w in zip(pairs, weights, strict=True):
        A += w * np.outer(X[i] - X[j], X[i] - X[j])
    return A


def value(objective, X, model, pairs, candidates, compared=(), labeled=()):
    """f(S) as it is defined."""
    both = [*compared, *pairs]
    if objective == "a-optimal":
        A = information(X, both, np.ones(len(both)), RIDGE, labeled, np.ones(len(labeled)))
        return -np.trace(np.linalg.inv(A))
    if objective == "local-d-optimal":
        p = expit(X[list(labeled)] @ model.coef_)
        A = information(X, both, [weight(X, model, i, j) for i, j in both], RIDGE, labeled, p * (1 - p))
        return np.linalg.slogdet(A)[1]
    if objective == "entropy":
        p = np.array([expit(model.coef_ @ (X[i] - X[j])) for i, j in pairs])
        return -np.sum(p * np.log(p) + (1 - p) * np.log(1 - p))
    assert objective == "fisher"
    delta = RIDGE * np.eye(X.shape[1])
    I_p = delta + sum(weight(X, model, i, j) * np.outer(X[i] - X[j], X[i] - X[j]) for i, j in candidates) / len(
        candidates
    )
    I_q = delta + sum(weight(X, model, i, j) * np.outer(X[i] - X[j], X[i] - X[j]) for i, j in both) / max(1, len(both))
    return -np.trace(np.linalg.solve(I_q, I_p))


def assert_greedy_for(objective, selection, X, model, candidates, compared=(), labeled=(), cap=None):
    chosen, counts = [], np.zeros(len(X), dtype=int)
    gone = {tuple(sorted(pair)) for pair in compared}
    for (i, j), gain in zip(selection.pairs.tolist(), selection.gains, strict=True):
        known = (candidates, compared, labeled)
        before = value(objective, X, model, chosen, *known)
        allowed = [
            pair for pair in candidates
            if pair not in gone and (cap is None or (counts[pair[0]] < cap and counts[pair[1]] < cap))
        ]  # fmt: skip
        gains = {pair: value(objective, X, model, [*chosen, pair], *known) - before for pair in allowed}
        best = max(gains.values())
        assert gains[i, j] >= best - 1e-8 * (1 + abs(best))
        assert gain == pytest.approx(gains[i, j], rel=1e-6, abs=1e-9)
        chosen.append((i, j))
        gone.add((i, j))
        counts[[i, j]] += 1


SETTINGS = {
    "plain": {},
    "labelled and compared": {"labeled": [0, 4], "comparisons": [(1, 0), (2, 5)]},
    "groups": {"candidates": ps.WithinGroups([0, 1, 0, 1, 0, 1, 0, 1, 1])},
    "a list": {"candidates": [(0, 1), (0, 2), (1, 5), (3, 4), (2, 3), (4, 5), (6, 8), (1, 8), (0, 8)]},
    "capped": {"max_per_item": 2},
}


def assert_attains_the_maximum(objective, setting):
    """Every pick of seven is the best by the definition, in one of the SETTINGS, for models of different slopes."""
    options = SETTINGS[setting]
    given = options.get("candidates")
    candidates = all_pairs(9)
    if isinstance(given, ps.WithinGroups):
        candidates = [(i, j) for i, j in candidates if given.codes[i] == given.codes[j]]
    elif given is not None:
        candidates = given
    for seed, steep in ((0, 1.0), (1, 5.0), (2, 0.0)):
        X, model = problem(seed, steep=steep)
        selection = ps.select(X, 7, ridge=RIDGE, objective=objective, model=model, n_jobs=1 + seed % 2, **options)
        assert len(selection) == 7
        assert_greedy_for(
            objective, selection, X, model, candidates,
            options.get("comparisons", ()), options.get("labeled", ()), options.get("max_per_item"),
        )  # fmt: skip
        assert selection.logdet.shape == (7,)


def assert_attains_the_maximum_on_ties(objective, seed, d):
    """All pairs of six items with features of 0 and 1."""
    X = np.random.default_rng(seed).integers(0, 2, (6, d)).astype(float)
    model = problem(seed, 9, d)[1]
    selection = ps.select(X, 15, ridge=RIDGE, objective=objective, model=model)
    assert_greedy_for(objective, selection, X, model, all_pairs(6))
