"""Models that users pass to select(), and the one that is fitted if they pass none."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.criteria import CRITERIA
from pairsmith.data.features import from_array
from pairsmith.model.bradley_terry import default_ridge
from support.definitions import RIDGE, problem


@pytest.mark.parametrize(
    "objective",
    [name for name, criterion in CRITERIA.items() if criterion.needs_model and not criterion.needs_gaussian_process],
)
def test_without_a_model_one_is_fitted_to_labels_and_outcomes(objective):
    X, _ = problem(0, n=30)
    labeled, labels = [1, 2, 3, 4], [1, -1, 1, 1]
    pairs, outcomes = [(5, 3), (6, 2), (0, 1)], [1, 0, -1]
    options = {"ridge": RIDGE, "objective": objective, "random_state": 0}
    answers = {"labeled": labeled, "comparisons": pairs}
    fitted = ps.select(X, 5, **options, **answers, labels=labels, outcomes=outcomes)
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    model = ps.BradleyTerry(spread / 8).fit(X, labels, labeled=labeled, comparisons=pairs, outcomes=outcomes)
    passed = ps.select(X, 5, **options, **answers, model=model)
    np.testing.assert_array_equal(fitted.pairs, passed.pairs)
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


def test_the_usual_ridge_gives_scores_a_prior_deviation_of_two():
    """Draw coefficients from the prior that corresponds to the penalty, exp(-ridge |beta|^2)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4)) * [1.0, 3.0, 0.2, 1.0] + 7
    ridge = default_ridge(from_array(X))
    betas = rng.standard_normal((4, 5000)) / np.sqrt(2 * ridge)
    assert np.sqrt(np.mean(((X - X.mean(axis=0)) @ betas) ** 2)) == pytest.approx(2, rel=0.05)
    assert default_ridge(from_array(np.ones((5, 2)))) == 1.0


@pytest.mark.parametrize("objective", [name for name, criterion in CRITERIA.items() if criterion.supports_item_effects])
def test_select_does_not_change_the_posterior_of_the_model(objective):
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(20, 2, replace=False) for _ in range(60)])
    model = ps.BradleyTerryGP().fit(n_items=20, comparisons=pairs, outcomes=rng.choice([-1, 1], 60))
    before = [array.copy() for array in (model.fitted_.posterior.effects, model.fitted_.posterior.mean)]
    ps.select(None, 40, model=model, objective=objective, random_state=0)
    after = model.fitted_.posterior.effects, model.fitted_.posterior.mean
    for array, same in zip(after, before, strict=True):
        np.testing.assert_array_equal(array, same)
