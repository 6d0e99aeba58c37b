"""Problem: the design before the first pick, the pairs that may be picked, and the fingerprint for checkpoints."""

import dataclasses

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.data.features import from_array
from pairsmith.selection.problem import as_problem
from pairsmith.selection.start import StartingPoint
from support.oracle import all_pairs, logdet

X = np.random.default_rng(0).standard_normal((10, 3))
START = StartingPoint(from_array(X), ridge=0.3)


def test_picks_do_not_change_the_problem():
    problem = as_problem(START, 3, max_per_item=1)
    remaining = problem.remaining()
    remaining.take(0, 1)
    assert not remaining.allows(0, 2)
    assert problem.remaining().allows(0, 1)
    uncapped = problem.uncapped()
    uncapped.take(0, 1)
    assert uncapped.allows(0, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.k = 4


def test_the_design_includes_labels_and_comparisons():
    problem = as_problem(START, 1, labeled=[1, 1, 4], comparisons=[(3, 2)])
    assert problem.design(None).logdet == pytest.approx(logdet(X, 0.3, [1, 1, 4], [(2, 3)]))
    scores = X @ [1.0, -2.0, 0.5]
    p = 1 / (1 + np.exp(-np.array([*scores[[1, 1, 4]], scores[3] - scores[2]])))
    rows = np.vstack([X[[1, 1, 4]], X[3] - X[2]]) * np.sqrt(p * (1 - p))[:, None]
    assert problem.design(scores).logdet == pytest.approx(np.linalg.slogdet(0.3 * np.eye(3) + rows.T @ rows)[1])


def test_items_outside_a_list_do_not_count_for_the_extent():
    far = X.copy()
    far[9] = 1e12
    problem = as_problem(StartingPoint(from_array(far)), 1, candidates=[(0, 1), (2, 3)])
    np.testing.assert_allclose(problem.design(None).extent, np.ptp(X[:4], axis=0))


def test_the_design_starts_from_an_effect_variance_or_from_a_prior():
    comparisons = [(3, 2), (2, 9)]
    by_variance = as_problem(dataclasses.replace(START, effect_variance=0.5), 1, comparisons=comparisons)
    assert (by_variance.touched, by_variance.design(None).effects.variance) == (3, 0.5)
    gp = ps.BradleyTerryGP(linear=1.0, smooth=False, items=0.5).fit(X, comparisons=comparisons, outcomes=[1, -1])
    selection = ps.select(X, 1, model=gp, objective="d-optimal", comparisons=comparisons)
    assert selection.logdet_before == pytest.approx(gp.fitted_.posterior.logdet)
    assert as_problem(START, 1, comparisons=comparisons).touched == 0


def test_the_fingerprint_depends_on_what_determines_the_picks():
    def fingerprint(start=START, objective="d-optimal", scores=None, **options):
        return as_problem(start, 3, **options).fingerprint(objective, scores)

    plain = fingerprint(labeled=[1, 2], comparisons=[(0, 1), (5, 3)])
    assert plain == fingerprint(labeled=[2, 1], comparisons=[(3, 5), (1, 0)])  # in any order
    assert plain["max_per_item"] is None
    answers = {"labeled": [1, 2], "comparisons": [(0, 1), (5, 3)]}
    for changed in (
        {"start": dataclasses.replace(START, features=from_array(X + 1)), **answers},
        {"objective": "a-optimal", **answers},
        {"scores": X[:, 0], **answers},
        {"start": dataclasses.replace(START, ridge=2.0), **answers},
        {"start": dataclasses.replace(START, effect_variance=2.0), **answers},
        {"max_per_item": 3, **answers},
        {"candidates": all_pairs(9), **answers},
        {**answers, "labeled": [1, 2, 2]},
        {**answers, "comparisons": [(0, 1)]},
    ):
        assert fingerprint(**changed) != plain, changed
