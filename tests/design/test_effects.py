"""Compare designs with item effects to the design they stand for: d + N columns, written out in full."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import solve_triangular
from scipy.special import expit

import pairsmith as ps
from pairsmith.engine import search
from support.effects import (
    assert_greedy,
    closed_pairs,
    extended,
    information,
    largest_gains,
    weights_of,
)
from support.oracle import all_pairs, pairs_within

LIST = [(0, 1), (0, 2), (1, 5), (3, 4), (2, 3), (4, 5), (6, 8), (1, 8), (0, 8), (9, 11), (10, 13), (5, 13), (2, 12)]
GROUPS = [row % 3 for row in range(14)]
KINDS = {
    "all pairs": ({}, all_pairs(14)),
    "groups": ({"candidates": ps.WithinGroups(GROUPS)}, pairs_within(GROUPS)),
    "a list": ({"candidates": LIST}, LIST),
    "capped": ({"max_per_item": 2}, all_pairs(14)),
}
COMPARED = [(0, 1), (1, 2), (7, 9), (3, 9)]


@pytest.mark.parametrize("pool_size", [None, 1, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_every_pick_reaches_the_largest_gain(kind, pool_size):
    """Try all kinds of candidates, with and without weights, labels and comparisons, with weak and strong effects."""
    kind_options, candidates = KINDS[kind]
    for seed, effect, weighted, labeled in ((0, 0.01, False, []), (1, 1, True, [0, 4]), (2, 25.0, False, [5])):
        rng = np.random.default_rng(seed)
        X, ridge, scores = rng.standard_normal((14, 1 + seed)), 0.3, None
        options = {
            **kind_options,
            "labeled": labeled,
            "comparisons": COMPARED,
            "pool_size": pool_size,
            "n_jobs": 1 + seed % 2,
        }
        if weighted:
            model = ps.BradleyTerry(1.0).fit(X, rng.integers(2, size=14))
            options |= {"model": model, "objective": "local-d-optimal"}
            scores = X @ model.coef_
        selection = ps.select(X, 7, ridge=ridge, item_effects=effect, **options)
        assert len(selection) == 7
        A = information(X, ridge, effect, labeled, COMPARED, scores)
        assert selection.logdet_before == pytest.approx(np.linalg.slogdet(A)[1])
        weights = np.ones((14, 14)) if scores is None else weights_of(scores)
        assert_greedy(selection, extended(X, effect), A, weights, candidates, COMPARED, options.get("max_per_item"))


@pytest.mark.parametrize("pool_size", [1, 200, 5000])
@pytest.mark.parametrize("effect", [1e-3, 1.0, 50.0])
def test_picks_of_many_scans_with_touched_and_untouched_items_are_greedy(effect, pool_size):
    """These problems are large enough for the engine to screen in float32."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((130, 6)) + 5
    compared = np.sort(rng.permutation(130)[:40].reshape(20, 2), axis=1)
    k = 12 if pool_size == 1 else 30
    selection = ps.select(X, k, ridge=0.1, item_effects=effect, comparisons=compared, pool_size=pool_size)
    A = information(X, 0.1, effect, (), compared)
    reached, best = largest_gains(
        extended(X, effect), A, np.ones((130, 130)), selection.pairs, closed_pairs(130, compared)
    )
    np.testing.assert_allclose(reached, best, rtol=1e-9)
    np.testing.assert_allclose(selection.gains, np.log1p(reached), rtol=1e-9)
    other = ps.select(X, k, ridge=0.1, item_effects=effect, comparisons=compared, pool_size=pool_size, n_jobs=2)
    np.testing.assert_array_equal(other.pairs, selection.pairs)


def test_picks_stay_greedy_after_many_updates_of_pending_pairs():
    """After 300 picks every item is touched, and pending pairs were folded several times."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    selection = ps.select(X, 300, ridge=1.0, item_effects=2.0, pool_size=200)
    A = information(X, 1.0, 2.0)
    reached, best = largest_gains(extended(X, 2.0), A, np.ones((40, 40)), selection.pairs, closed_pairs(40, ()))
    np.testing.assert_allclose(reached, best, rtol=1e-9)


def fit_to_random_answers(n, d, answers, seed=0, **model):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) if d else None
    quality = (X @ rng.standard_normal(d) if d else 0) + rng.standard_normal(n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(answers)])
    outcomes = np.where(rng.random(answers) < expit(quality[pairs[:, 0]] - quality[pairs[:, 1]]), 1, -1)
    fitted = ps.BradleyTerryGP(**model).fit(X, comparisons=pairs, outcomes=outcomes, n_items=None if d else n)
    return X, pairs, fitted


def assert_greedy_under(gp, X, selection, objective, closed):
    """Each pick must be the best by the covariance of all scores, which is then updated by its answer."""
    joint = gp._scores(X)[0].without_last()
    every = np.arange(len(joint.mean))
    C, mean = joint.covariance(every, every), joint.mean
    gap, v = mean[:, None] - mean[None, :], np.diag(C)[:, None] + np.diag(C)[None, :] - 2 * C
    k = 1 / np.sqrt(1 + np.pi * v / 8)
    weights = {
        "d-optimal": np.ones_like(C),
        "local-d-optimal": expit(gap) * expit(-gap),
        "averaged-d-optimal": k * expit(k * gap) * expit(-k * gap),
    }[objective]
    for (i, j), gain in zip(selection.pairs, selection.gains, strict=True):
        d = weights * (np.diag(C)[:, None] + np.diag(C)[None, :] - 2 * C)
        assert not closed[i, j]
        assert d[i, j] >= np.where(closed, -np.inf, d).max() * (1 - 1e-9)
        assert gain == pytest.approx(np.log1p(d[i, j]), rel=1e-8)
        apart = C[:, i] - C[:, j]
        C = C - weights[i, j] * np.outer(apart, apart) / (1 + d[i, j])
        closed[i, j] = True


@pytest.mark.filterwarnings("ignore:the answers leave the items")
@pytest.mark.parametrize("pool_size", [None, 1, 100])
@pytest.mark.parametrize("objective", ["d-optimal", "local-d-optimal", "averaged-d-optimal"])
def test_picks_under_a_gaussian_process_are_greedy(objective, pool_size):
    for d, parts in ((3, {"linear": 3.0, "smooth": 2.0, "items": 0.5}), (3, {"items": False}), (0, {"items": 4.0})):
        X, pairs, gp = fit_to_random_answers(40, d, 60, **parts)
        selection = ps.select(
            X, 15, model=gp, objective=objective, comparisons=pairs[:20], pool_size=pool_size, n_jobs=1 + d % 2
        )
        assert_greedy_under(gp, X, selection, objective, closed_pairs(40, pairs[:20]))


@pytest.mark.parametrize("objective", ["d-optimal", "local-d-optimal", "averaged-d-optimal"])
def test_picks_are_greedy_when_the_pool_holds_a_whole_long_list(monkeypatch, objective):
    """The pool holds all candidates if that takes little of the memory that is needed anyway."""
    monkeypatch.setattr(search, "MAX_ENUMERATED_PAIRS", 0)
    X, pairs, gp = fit_to_random_answers(40, 3, 60, linear=3.0, smooth=2.0, items=0.5)
    listed = [pair for pair in combinations(range(40), 2) if sum(pair) % 3]
    closed = np.ones((40, 40), dtype=bool)
    closed[tuple(np.transpose(listed))] = False
    closed |= closed_pairs(40, pairs)
    selection = ps.select(X, 15, model=gp, objective=objective, comparisons=pairs, candidates=listed)
    assert len(selection) == 15
    assert_greedy_under(gp, X, selection, objective, closed)


@pytest.mark.parametrize("refinements", [True, 6])
@pytest.mark.parametrize("kind", ["all pairs", "groups", "a list"])
def test_the_certificate_is_never_below_the_optimum(kind, refinements):
    """The optimum is the best of all sets of k pairs of the extended features."""
    groups, listed = [0, 0, 0, 1, 1, 1], [(0, 1), (2, 5), (1, 4), (0, 5)]
    candidates = {"all pairs": all_pairs(6), "groups": pairs_within(groups), "a list": listed}[kind]
    options = {"groups": {"candidates": ps.WithinGroups(groups)}, "a list": {"candidates": listed}}
    for seed, compared in ((0, []), (1, [(0, 1), (3, 4)])):
        X = np.random.default_rng(seed).standard_normal((6, 2))
        Xe, A = extended(X, 0.7), information(X, 0.3, 0.7, (), compared)
        outer = [np.outer(Xe[i] - Xe[j], Xe[i] - Xe[j]) for i, j in candidates if (i, j) not in compared]
        for k in (1, 3):
            best = max(np.linalg.slogdet(A + sum(some))[1] for some in combinations(outer, k)) - np.linalg.slogdet(A)[1]
            selection = ps.select(
                X, k, ridge=0.3, item_effects=0.7, comparisons=compared, certify=refinements, **options.get(kind, {})
            )
            assert selection.bound >= best
            assert selection.gains.sum() <= best + 1e-9


@pytest.mark.parametrize("refinements", [1, 2])
def test_threads_do_not_change_the_certificate_of_many_touched_items(refinements):
    """There are more touched items than one task updates, and threads share the tasks."""
    rng = np.random.default_rng(0)
    X, compared = rng.standard_normal((800, 5)), [rng.choice(800, 2, replace=False) for _ in range(600)]
    options = {"item_effects": 0.5, "comparisons": compared, "certify": refinements}
    one, two = (ps.select(X, 25, n_jobs=threads, **options) for threads in (1, 2))
    np.testing.assert_array_equal(one.pairs, two.pairs)
    assert one.bound == pytest.approx(two.bound, rel=1e-9)
    assert 0.9 < two.optimality <= 1


def test_refinements_tighten_the_certificate():
    X = np.random.default_rng(0).standard_normal((60, 3))
    once, often = (ps.select(X, 30, ridge=0.3, item_effects=0.5, certify=scans) for scans in (True, 15))
    assert 0.5 < once.optimality < often.optimality <= 1
    assert often.optimality > 0.85


def test_a_resumed_run_ends_with_the_same_pairs(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 3))
    options = {"ridge": 0.3, "item_effects": 0.5, "comparisons": [(0, 1), (2, 3)]}
    whole = ps.select(X, 30, **options)
    ps.select(X, 11, checkpoint=tmp_path / "run.json", **options)
    resumed = ps.select(X, 30, checkpoint=tmp_path / "run.json", **options)
    np.testing.assert_array_equal(resumed.pairs, whole.pairs)
    np.testing.assert_allclose(resumed.logdet, whole.logdet, rtol=1e-9)
    for changed, message in (
        ({"item_effects": 0.6}, "item effects was 0.5, not 0.6"),
        ({"item_effects": None}, "item effects was 0.5, not None"),
    ):
        with pytest.raises(ValueError, match=message):
            ps.select(X, 30, checkpoint=tmp_path / "run.json", **{**options, **changed})


def test_a_run_under_a_gaussian_process_is_resumed_only_with_the_same_model(tmp_path):
    X, pairs, gp = fit_to_random_answers(40, 3, 100, linear=2.0, smooth=False, items=1.0)
    options = {"model": gp, "comparisons": pairs, "objective": "averaged-d-optimal"}
    whole = ps.select(X, 20, certify=3, **options)
    ps.select(X, 7, checkpoint=tmp_path / "run.json", **options)
    np.testing.assert_array_equal(ps.select(X, 20, checkpoint=tmp_path / "run.json", **options).pairs, whole.pairs)
    assert 0.8 < whole.optimality <= 1
    other = fit_to_random_answers(40, 3, 120, linear=2.0, smooth=False, items=1.0)[2]
    with pytest.raises(ValueError, match="differs"):
        ps.select(X, 20, checkpoint=tmp_path / "run.json", **{**options, "model": other})


def test_effects_of_tiny_variance_change_nothing():
    X = np.random.default_rng(0).standard_normal((60, 5))
    plain = ps.select(X, 30, ridge=0.3, labeled=[1], comparisons=[(0, 1)])
    nearly = ps.select(X, 30, ridge=0.3, labeled=[1], comparisons=[(0, 1)], item_effects=1e-12)
    np.testing.assert_array_equal(nearly.pairs, plain.pairs)
    np.testing.assert_allclose(nearly.logdet, plain.logdet, rtol=1e-9)


@pytest.mark.parametrize(("ridge", "offset"), [(1e-12, 0.0), (1e-6, 1e6), (1e6, 0.0)])
def test_gains_keep_their_digits_with_a_small_ridge_or_an_offset(ridge, offset):
    """Compare gains with a QR of the rows of A, which forms neither A nor its inverse."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 6)) + offset
    compared = [(0, 1), (1, 2), (5, 6)]
    selection = ps.select(X, 25, ridge=ridge, item_effects=0.5, comparisons=compared, pool_size=100)
    Xe = extended(X, 0.5)
    rows = np.vstack([np.diag(np.concatenate([np.full(6, np.sqrt(ridge)), np.ones(50)]))])
    picked = [*compared]
    for (i, j), gain in zip(selection.pairs.tolist(), selection.gains, strict=True):
        pairs = np.array(picked)
        R = np.linalg.qr(np.vstack([rows, Xe[pairs[:, 0]] - Xe[pairs[:, 1]]]), mode="r")
        centred = np.hstack([X - np.median(X, axis=0), Xe[:, 6:]])
        Z = solve_triangular(R, centred.T, trans="T").T
        d = np.sum((Z[:, None] - Z[None, :]) ** 2, axis=2)
        d[tuple(pairs.T)] = -np.inf
        assert d[i, j] >= np.triu(d).max() * (1 - 1e-6)
        assert gain == pytest.approx(np.log1p(d[i, j]), rel=1e-6)
        picked.append((i, j))


def test_items_are_matched_with_the_model_by_id_and_new_ones_are_allowed():
    """The table has some of the model's items in another order, and new items, which only their features describe."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((30, 3)), index=[f"item {row}" for row in range(30)])
    table.columns = ["a", "b", "c"]
    pairs = np.array([rng.choice(20, 2, replace=False) for _ in range(80)])
    gp = ps.BradleyTerryGP(linear=2.0, smooth=1.0, items=1.0).fit(
        table[:20], comparisons=pairs, outcomes=np.sign(rng.standard_normal(80))
    )
    chosen = table.iloc[rng.permutation(30)[:22]]
    selection = ps.select(chosen, 10, model=gp, objective="d-optimal")
    assert_greedy_under(gp, chosen, selection, "d-optimal", closed_pairs(22, ()))
    assert set(selection.to_frame()["first"]) <= set(chosen.index)


def test_pairs_without_an_answer_yet_count_as_picked():
    X, pairs, gp = fit_to_random_answers(30, 2, 60, linear=2.0, smooth=False, items=1.0)
    first = ps.select(X, 12, model=gp, objective="d-optimal", comparisons=pairs)
    then = ps.select(X, 7, model=gp, objective="d-optimal", comparisons=[*pairs.tolist(), *first.pairs[:5].tolist()])
    np.testing.assert_array_equal(then.pairs, first.pairs[5:])
    assert then.logdet_before == pytest.approx(first.logdet[4])


def test_random_and_entropy_take_item_effects_into_account():
    X, _, gp = fit_to_random_answers(30, 2, 60, linear=2.0, smooth=False, items=1.0)
    drawn = ps.select(X, 5, model=gp, objective="random", random_state=1, certify=True)
    best = ps.select(X, 5, model=gp, objective="d-optimal")
    assert drawn.gains.sum() < best.gains.sum() <= drawn.bound
    mean = gp.decision_function(X)
    closest = ps.select(X, 1, model=gp, objective="entropy").pairs[0]
    gaps = np.abs(mean[:, None] - mean[None, :])[np.triu_indices(30, 1)]
    assert abs(mean[closest[0]] - mean[closest[1]]) == pytest.approx(gaps.min())


@pytest.mark.parametrize("pool_size", [None, 1, 12])
def test_among_picks_the_same_pairs_as_the_list_of_its_pairs(pool_size):
    """The effects of other items are dropped, but what their answers say about the features is kept."""
    rng = np.random.default_rng(0)
    X, some = rng.standard_normal((30, 3)), np.sort(rng.choice(30, 12, replace=False))
    compared = np.array([rng.choice(30, 2, replace=False) for _ in range(25)])
    candidates = [(int(i), int(j)) for i, j in combinations(some, 2)]
    for effect in (None, 0.5):
        options = {"ridge": 0.3, "comparisons": compared, "pool_size": pool_size, "certify": 2}
        selection = ps.select(X, 9, item_effects=effect, candidates=ps.Among(some), **options)
        listed = ps.select(X, 9, item_effects=effect, candidates=candidates, **options)
        np.testing.assert_array_equal(selection.pairs, listed.pairs)
        assert selection.bound == pytest.approx(listed.bound)
        if effect is not None:
            A = information(X, 0.3, effect, (), compared)
            assert_greedy(selection, extended(X, effect), A, np.ones((30, 30)), candidates, np.sort(compared, axis=1))
    with pytest.raises(ValueError, match="items"):
        ps.select(X, 3, candidates=ps.Among([1, 30]))


@pytest.mark.parametrize("objective", ["d-optimal", "local-d-optimal", "averaged-d-optimal"])
def test_picks_before_the_first_answer_are_greedy(objective):
    X = np.random.default_rng(0).standard_normal((30, 3))
    gp = ps.BradleyTerryGP().fit(X)
    selection = ps.select(X, 12, model=gp, objective=objective)
    assert_greedy_under(gp, X, selection, objective, closed_pairs(30, ()))
    alone = ps.BradleyTerryGP().fit(n_items=30)
    selection = ps.select(None, 20, model=alone, objective=objective)
    assert selection.diagnostics["paired_at_random"] == 15
    assert_greedy_under(alone, None, selection, objective, closed_pairs(30, ()))


def test_picks_are_greedy_under_a_model_that_has_labels():
    """The model treats the threshold between labels as one more item, which must not be picked."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 2))
    labeled, pairs = np.arange(0, 20, 2), np.array([(0, 1), (1, 3), (3, 5), (5, 20)])
    y = np.where(X[labeled, 0] > 0, 1, -1)
    gp = ps.BradleyTerryGP(linear=2.0, smooth=1.0, items=0.5).fit(
        X, y, labeled=labeled, comparisons=pairs, outcomes=[1, -1, 1, 1]
    )
    for objective in ("d-optimal", "averaged-d-optimal"):
        selection = ps.select(X, 10, model=gp, labeled=labeled, comparisons=pairs, objective=objective, pool_size=30)
        assert_greedy_under(gp, X, selection, objective, closed_pairs(25, pairs))
