"""Every criterion against its definition, by enumeration."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import pairsmith as ps
from oracle import all_pairs, logdet
from pairsmith.criteria import CRITERIA, LOG_DET

GAINS = [name for name, criterion in CRITERIA.items() if criterion.gain_is != LOG_DET]

RIDGE = 0.2
WITH_MODEL = ("local-d-optimal", "averaged-d-optimal", "entropy", "fisher", "mutual-information")


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


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("objective", ["a-optimal", "local-d-optimal", "entropy", "fisher"])
def test_every_pick_attains_the_maximum(objective, setting):
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


@given(seed=st.integers(0, 10**6), d=st.integers(1, 3), objective=st.sampled_from(["a-optimal", "entropy", "fisher"]))
def test_on_integers_full_of_ties(seed, d, objective):
    X = np.random.default_rng(seed).integers(0, 2, (6, d)).astype(float)
    model = problem(seed, 9, d)[1]
    selection = ps.select(X, 15, ridge=RIDGE, objective=objective, model=model)
    assert_greedy_for(objective, selection, X, model, all_pairs(6))


def test_among_equals_the_smallest_pair_wins():
    X, model = np.zeros((5, 2)), problem(0, d=2)[1]
    for objective in ("a-optimal", "entropy", "fisher", "local-d-optimal"):
        selection = ps.select(X, 5, ridge=1.0, objective=objective, model=model)
        assert selection.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2]], objective


@pytest.mark.parametrize("pool_size", [None, 1, 30, 3000])
@pytest.mark.parametrize("steep", [0.0, 1.0, 30.0])
def test_local_d_optimal_at_the_engines_scale(pool_size, steep):
    """Weighted gains, screened: the largest of all pairs in float64, at every step."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 6)) + 5
    model = ps.BradleyTerry(1.0).fit(X, np.where(X @ rng.standard_normal(6) > 0, 1, -1))
    model.coef_ = model.coef_ * steep
    selection = ps.select(
        X, 40, ridge=1e-3, labeled=[3, 7], comparisons=[(0, 1)], objective="local-d-optimal", model=model,
        pool_size=pool_size,
    )  # fmt: skip
    s = X @ model.coef_
    w = expit(s[:, None] - s[None, :]) * expit(s[None, :] - s[:, None])
    own = expit(s) * expit(-s)
    A = 1e-3 * np.eye(6) + (X[[3, 7]].T * own[[3, 7]]) @ X[[3, 7]]
    A += w[0, 1] * np.outer(X[0] - X[1], X[0] - X[1])
    free = np.triu(np.ones((400, 400), dtype=bool), 1)
    free[0, 1] = False
    for (i, j), gain in zip(selection.pairs, selection.gains, strict=True):
        inverse = np.linalg.inv(A)
        r = np.einsum("ia,ab,ib->i", X, inverse, X)
        gains = np.where(free, w * (r[:, None] + r[None, :] - 2 * X @ inverse @ X.T), -np.inf)
        assert gains[i, j] >= gains.max() * (1 - 1e-6)
        assert gain == pytest.approx(np.log1p(gains[i, j]), rel=1e-6)
        A += w[i, j] * np.outer(X[i] - X[j], X[i] - X[j])
        free[i, j] = False


def test_without_a_slope_local_d_optimal_is_d_optimal_with_a_quarter_of_the_weight():
    X, model = problem(0, n=60, d=5, steep=0.0)
    local = ps.select(X, 30, ridge=RIDGE, objective="local-d-optimal", model=model)
    np.testing.assert_array_equal(local.pairs, ps.select(X, 30, ridge=4 * RIDGE).pairs)


def test_averaged_d_optimal_shrinks_scores_by_the_models_doubt():
    X, model = problem(0, n=60, d=5)
    gaps = np.array([X[i] - X[j] for i, j in all_pairs(60)])
    variance = np.mean(np.sum((gaps @ model.covariance_root_) ** 2, axis=1)) * 59 / 60  # with pairs of one item twice
    shrunk = ps.BradleyTerry().fit(X, np.sign(X[:, 0]))
    shrunk.coef_ = model.coef_ / np.sqrt(1 + np.pi * variance / 8)
    averaged = ps.select(X, 30, ridge=RIDGE, objective="averaged-d-optimal", model=model)
    local = ps.select(X, 30, ridge=RIDGE, objective="local-d-optimal", model=shrunk)
    np.testing.assert_array_equal(averaged.pairs, local.pairs)
    np.testing.assert_allclose(averaged.gains, local.gains, rtol=1e-9)


def test_local_d_optimal_is_certified_and_resumed(tmp_path):
    X, model = problem(0, n=60, d=5)
    options = {"ridge": RIDGE, "objective": "local-d-optimal", "model": model}
    whole = ps.select(X, 30, certify=10, **options)
    assert 0.9 < whole.optimality <= 1
    ps.select(X, 11, checkpoint=tmp_path / "run.json", **options)
    went_on = ps.select(X, 30, checkpoint=tmp_path / "run.json", **options)
    np.testing.assert_array_equal(went_on.pairs, whole.pairs)
    with pytest.raises(ValueError, match="model differs"):
        ps.select(X, 30, checkpoint=tmp_path / "run.json", **{**options, "model": problem(1, n=60, d=5)[1]})
    with pytest.raises(ValueError, match="objective differs"):
        ps.select(X, 30, ridge=RIDGE, checkpoint=tmp_path / "run.json")


def test_a_optimal_when_gains_collapse():
    """k past d with a small ridge: n_e falls by 1e14, and subtraction alone would keep no digit."""
    X = problem(0, n=12, d=4)[0]
    selection = ps.select(X, 20, ridge=1e-7, objective="a-optimal")
    chosen = []
    for i, j in selection.pairs.tolist():
        A = information(X, chosen, np.ones(len(chosen)), 1e-7)
        inverse = np.linalg.inv(A)
        gains = {
            (a, b): np.sum((inverse @ (X[a] - X[b])) ** 2) / (1 + (X[a] - X[b]) @ inverse @ (X[a] - X[b]))
            for a, b in all_pairs(12) if (a, b) not in chosen
        }  # fmt: skip
        assert gains[i, j] >= max(gains.values()) * (1 - 1e-5)
        chosen.append((i, j))


@pytest.mark.parametrize("objective", WITH_MODEL)
def test_a_model_is_fitted_to_what_is_known(objective):
    X, _ = problem(0, n=30)
    labeled, labels = [1, 2, 3, 4], [1, -1, 1, 1]
    pairs, outcomes = [(5, 3), (6, 2), (0, 1)], [1, 0, -1]
    options = {"ridge": RIDGE, "objective": objective, "random_state": 0}
    known = {"labeled": labeled, "comparisons": pairs}
    told = ps.select(X, 5, **options, **known, labels=labels, outcomes=outcomes)
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    model = ps.BradleyTerry(spread / 8).fit(X, labels, labeled=labeled, comparisons=pairs, outcomes=outcomes)
    given = ps.select(X, 5, **options, **known, model=model)
    np.testing.assert_array_equal(told.pairs, given.pairs)
    ps.select(X, 5, **options, labeled=labeled, labels=labels)
    ps.select(X, 5, **options, comparisons=np.array(pairs), outcomes=outcomes)
    for wrong, message in (
        ({}, f"objective='{objective}' needs a model"),
        ({"labeled": labeled, "labels": [1, 1]}, "labels has shape"),
        ({"comparisons": pairs, "outcomes": [1]}, "outcomes has shape"),
        ({"comparisons": pairs, "outcomes": [1, 5, 1]}, "outcomes must be"),
        ({"model": ps.BradleyTerry()}, "model must be a fitted BradleyTerry"),
        ({"model": "mine"}, "model must be a fitted BradleyTerry"),
        ({"model": problem(0, d=2)[1]}, "model was fitted to 2 features, but X has 3"),
    ):
        with pytest.raises(ValueError, match=message):
            ps.select(X, 5, **{**options, **wrong})


def test_what_does_not_go_together():
    X, model = problem(0)
    for objective in ("a-optimal", "entropy", "fisher", "mutual-information", "random"):
        with pytest.raises(ValueError, match="algorithm='scalar' is for objective='d-optimal'"):
            ps.select(X, 3, objective=objective, model=model, algorithm="scalar")
        with pytest.raises(ValueError, match="pool_size is for the engine"):
            ps.select(X, 3, objective=objective, model=model, pool_size=10)
    for objective in ("entropy", "fisher", "mutual-information", "random"):
        with pytest.raises(ValueError, match="checkpoint is for"):
            ps.select(X, 3, objective=objective, model=model, checkpoint="run.json")


def test_too_large_is_refused_before_any_work():
    X = np.random.default_rng(0).standard_normal((1_000_000, 2))
    with pytest.raises(ValueError, match="objective='a-optimal' needs 8000 GB"):
        ps.select(X, 3, objective="a-optimal")


def test_entropy_of_two_hundred_thousand_items():
    X = np.random.default_rng(0).standard_normal((200_000, 3))
    model = ps.BradleyTerry(1.0).fit(X[:50], np.where(X[:50, 0] > 0, 1, -1))
    selection = ps.select(X, 500, objective="entropy", model=model, max_per_item=3)
    s = np.sort(X @ model.coef_)
    gaps = np.abs((X[selection.pairs[:, 0]] - X[selection.pairs[:, 1]]) @ model.coef_)
    assert np.all(np.diff(gaps) >= -1e-15)
    assert gaps[0] == pytest.approx(np.diff(s).min(), abs=1e-15)
    assert np.bincount(selection.pairs.ravel()).max() <= 3


@pytest.mark.parametrize("objective", ["d-optimal", "random", *GAINS])
def test_log_det_is_told_as_it_is_whatever_a_gain_is(objective):
    X, model = problem(0)
    labeled, compared = [0, 3], [(1, 2), (4, 7)]
    known = {"labeled": labeled, "comparisons": compared, "model": model}
    selection = ps.select(X, 5, ridge=0.5, objective=objective, random_state=0, **known)
    assert selection.logdet_before == pytest.approx(logdet(X, 0.5, labeled, compared))
    for step in range(5):
        expected = logdet(X, 0.5, labeled, [*compared, *selection.pairs[: step + 1]])
        assert selection.logdet[step] == pytest.approx(expected)
    if "log det" in selection.gain_is:
        np.testing.assert_allclose(np.diff(selection.logdet, prepend=selection.logdet_before), selection.gains)


def test_only_log_det_is_certified():
    X, model = problem(0)
    for objective in GAINS:
        with pytest.raises(ValueError, match=f"certify bounds log det, which is not what objective='{objective}'"):
            ps.select(X, 3, objective=objective, certify=True, model=model)


def test_a_optimal_resumed_has_the_gains_of_a_whole_run(tmp_path):
    X = np.random.default_rng(2).standard_normal((30, 4))
    path, options = tmp_path / "run.json", {"objective": "a-optimal", "ridge": 1e-3, "labeled": [1, 2]}
    whole = ps.select(X, 8, **options)
    ps.select(X, 3, checkpoint=path, **options)
    resumed = ps.select(X, 8, checkpoint=path, **options)
    np.testing.assert_array_equal(resumed.pairs, whole.pairs)
    np.testing.assert_allclose(resumed.gains, whole.gains, rtol=1e-6)


def exact_ratio(X, weights, pairs, candidates, ridge):
    """The Fisher information ratio by its definition, in rational arithmetic."""
    d = X.shape[1]
    rows = [[Fraction(float(value)) for value in row] for row in X]
    vector = {(i, j): [a - b for a, b in zip(rows[i], rows[j], strict=True)] for i, j in candidates}

    def mean(some):
        return [
            [
                sum(Fraction(weights[e]) * vector[e][r] * vector[e][c] for e in some) / len(some)
                + Fraction(ridge) * (r == c)
                for c in range(d)
            ]
            for r in range(d)
        ]

    I_q, I_p = mean(pairs), mean(candidates)
    for p in range(d):  # I_q^-1 I_p by elimination
        for r in range(d):
            if r != p:
                ratio = I_q[r][p] / I_q[p][p]
                I_q[r] = [a - ratio * b for a, b in zip(I_q[r], I_q[p], strict=True)]
                I_p[r] = [a - ratio * b for a, b in zip(I_p[r], I_p[p], strict=True)]
    return -sum(I_p[p][p] / I_q[p][p] for p in range(d))


@pytest.mark.parametrize("scales", [[1.0, 1.0, 1.0], [1.0, 1.0, 1e4], [1e-4, 1.0, 1e4], [1e-6, 1e3, 1e6]])
@pytest.mark.parametrize("ridge", [1e-2, 1e-8])
def test_fisher_on_columns_of_any_scale(scales, ridge):
    X, model = problem(4, n=6)
    X = X * scales
    model.coef_ = model.coef_ / scales
    selection = ps.select(X, 3, ridge=ridge, objective="fisher", model=model)
    candidates = all_pairs(6)
    weights = {pair: float(weight(X, model, *pair)) for pair in candidates}
    picked, total = [], 0
    for pair, gain in zip(map(tuple, selection.pairs.tolist()), selection.gains, strict=True):
        worth = {
            other: exact_ratio(X, weights, [*picked, other], candidates, ridge)
            for other in candidates
            if other not in picked
        }
        assert float(worth[pair] / max(worth.values())) == pytest.approx(1, rel=1e-6)
        if picked:
            assert gain == pytest.approx(float(worth[pair] - total), rel=1e-6)
        picked.append(pair)
        total = worth[pair]


@pytest.mark.parametrize("objective", ["entropy", "a-optimal", "fisher", "mutual-information", "random"])
def test_a_cap_that_gets_stuck_in_a_list_ends_the_run(objective):
    """After 1-2, the path 0-1-2-3 has no pair left whose items are both below a cap of 1."""
    X = np.array([[0.0], [1.0], [1.1], [2.2]])
    model = ps.BradleyTerry(1.0).fit(X, comparisons=[(0, 3)], outcomes=[-1])
    for seed in range(20):
        options = {"max_per_item": 1, "ridge": 1.0, "objective": objective, "model": model, "random_state": seed}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            selection = ps.select(X, 2, candidates=[(0, 1), (1, 2), (2, 3)], **options)
        stuck = selection.pairs.tolist() == [[1, 2]]
        assert stuck == (len(selection) == 1) == any("only 1 of k=2 pairs" in str(one.message) for one in told)
        if stuck or objective not in ("entropy", "random"):
            break
    assert stuck or objective not in ("entropy", "random")
