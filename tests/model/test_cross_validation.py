import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairsmith as ps
from pairsmith.design.blas import single_threaded_blas
from pairsmith.model.bradley_terry import regression_data
from pairsmith.model.cross_validation import RIDGES, _folds
from support.simulate import labels_and_answers


def not_for_us(estimator):
    return {
        "check_classifiers_classes": "its labels are words, which need better= to say which is the better",
        "check_sample_weight_equivalence_on_dense_data": "which items are held out depends on how many there are",
    }


@parametrize_with_checks([ps.BradleyTerryCV(ridges=[100.0, 1.0, 0.01])], expected_failed_checks=not_for_us)
def test_as_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "answers", "scale"), [(100, 10, 300, 1.0), (60, 6, 300, 0.5)])
def test_intervals_under_the_chosen_ridge_cover_the_truth_at_their_level(n, d, answers, scale):
    """An AUC ignores the scale of scores, and chose ridges under which 90% intervals covered 46%."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(80):
        X, beta = rng.standard_normal((n, d)), scale * rng.standard_normal(d)
        first = rng.integers(n, size=answers)
        pairs = np.column_stack([first, (first + rng.integers(1, n, size=answers)) % n])
        wins = np.where(rng.random(answers) < expit((X[pairs[:, 0]] - X[pairs[:, 1]]) @ beta), 1, -1)
        with single_threaded_blas():  # such small matrices are quicker so
            model = ps.BradleyTerryCV(ridges=RIDGES[30:80:3]).fit(X, comparisons=pairs, outcomes=wins)
        ranking = model.rank(X, level=0.9)
        truth = X[ranking.index] @ beta
        inside.append(np.mean((ranking.low < truth) & (truth < ranking.high)))
    assert 0.87 <= np.mean(inside) <= 0.93


def test_chosen_ridge_does_not_shrink_scores_to_zero():
    rng = np.random.default_rng(13)
    X, beta = rng.standard_normal((100, 10)), rng.standard_normal(10)
    pairs = np.array([rng.choice(100, 2, replace=False) for _ in range(300)])
    wins = np.where(rng.random(300) < expit((X[pairs[:, 0]] - X[pairs[:, 1]]) @ beta), 1, -1)
    model = ps.BradleyTerryCV().fit(X, comparisons=pairs, outcomes=wins)
    assert model.ridge_ < 10
    assert np.std(model.decision_function(X)) > 0.5 * np.std(X @ beta)


def test_ridge_is_chosen_by_the_likelihood_of_held_out_answers():
    X, data = labels_and_answers(seed=3, n=60, d=5, m=90)
    pairs, outcomes = data["comparisons"][:70], data["outcomes"][:70].copy()
    outcomes[[2, 5]] = 0
    pairs[1] = pairs[0][::-1]  # the same pair again: it is held out together with the first
    model = ps.BradleyTerryCV(ridges=[10.0, 0.1], held_out=1 / 3).fit(X, comparisons=pairs, outcomes=outcomes)
    assert model.n_validated_ == 70
    # The folds are those of the class; what is computed on them is the definition.
    rows = regression_data(clone(model), X, None, None, pairs, outcomes, None)
    folds = _folds(rows, 3, np.random.default_rng(0))
    assert [bool(held[0]) for _, held in folds] == [bool(held[1]) for _, held in folds]
    for ridge, score in zip(model.ridges_, model.scores_, strict=True):
        total = 0.0
        for _, held in folds:
            own = held[:70]
            beta = ps.BradleyTerry(ridge).fit(X, comparisons=pairs[~own], outcomes=outcomes[~own]).coef_
            total += sum(
                -(1 + win) / 2 * np.logaddexp(0, -(X[i] - X[j]) @ beta)
                - (1 - win) / 2 * np.logaddexp(0, (X[i] - X[j]) @ beta)
                for (i, j), win in zip(pairs[own], outcomes[own], strict=True)
            )
        assert score == pytest.approx(total / 70, rel=1e-6)
    fits = [ps.BradleyTerry(ridge).fit(X, comparisons=pairs, outcomes=outcomes) for ridge in model.ridges_]
    own = fits[int(np.argmax(model.scores_))]
    np.testing.assert_allclose(model.coef_, own.coef_, rtol=1e-6)
    shares = np.exp(70 * (model.scores_ - model.scores_.max()))
    spread = sum(
        share * np.outer(fit.coef_ - own.coef_, fit.coef_ - own.coef_)
        for share, fit in zip(shares / shares.sum(), fits, strict=True)
    )
    expected = own.covariance_root_ @ own.covariance_root_.T + spread
    np.testing.assert_allclose(model.covariance_root_ @ model.covariance_root_.T, expected, rtol=1e-6)


def test_ridge_is_chosen_by_the_auc_of_held_out_items():
    X, data = labels_and_answers(seed=1, n=300, d=20, m=600)
    model = ps.BradleyTerryCV(metric="auc").fit(X, **data)
    assert model.auc_ == model.scores_.max()
    assert len(model.scores_) == 100
    assert model.scores_[model.ridges_ == model.ridge_] == model.scores_.max()
    np.testing.assert_allclose(model.coef_, ps.BradleyTerry(model.ridge_).fit(X, **data).coef_, rtol=1e-5)

    held = np.arange(200, 300)
    pairs, outcomes = data["comparisons"], data["outcomes"]
    ours, theirs = np.all(pairs < 200, axis=1), np.all(pairs >= 200, axis=1)
    only = ps.BradleyTerryCV(metric="auc-comparisons", refit=False)
    only.fit(X, comparisons=pairs, outcomes=outcomes, validation=held)
    assert only.n_validated_ == theirs.sum()
    for at in (0, 30, 60, 99):
        alone = ps.BradleyTerry(only.ridges_[at]).fit(X, comparisons=pairs[ours], outcomes=outcomes[ours])
        gaps = (X[pairs[theirs, 0]] - X[pairs[theirs, 1]]) @ alone.coef_
        both = np.concatenate([outcomes[theirs], -outcomes[theirs]]), np.concatenate([gaps, -gaps])
        assert only.scores_[at] == pytest.approx(roc_auc_score(*both), abs=1e-3)
    best = ps.BradleyTerry(only.ridge_).fit(X, comparisons=pairs[ours], outcomes=outcomes[ours])
    np.testing.assert_allclose(only.coef_, best.coef_, rtol=1e-5)


def test_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match="ridges must be a positive number"):
        ps.BradleyTerryCV([1, 0]).fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="ridges is empty"):
        ps.BradleyTerryCV([]).fit(np.eye(2), [0, 1])
    for wrong in ({"held_out": "a"}, {"held_out": 2.0}, {"random_state": "a"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ps.BradleyTerryCV(**wrong).fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="metric: 'accuracy' is unknown"):
        ps.BradleyTerryCV(metric="accuracy").fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="validation: for an AUC labels"):
        ps.BradleyTerryCV(metric="auc").fit(np.eye(4), comparisons=[(0, 1)], outcomes=[1])
    with pytest.raises(ValueError, match="validation: labels or comparisons are needed"):
        ps.BradleyTerryCV().fit(np.eye(4), comparisons=[(0, 1), (1, 2)], outcomes=[1, 1], validation=[3])
    with pytest.raises(ValueError, match="refit=False needs one set"):
        ps.BradleyTerryCV(refit=False).fit(np.eye(4), comparisons=[(0, 1), (1, 2)], outcomes=[1, 1])
    with pytest.raises(ValueError, match=r"one sample .* leaves nothing to hold out"):
        ps.BradleyTerryCV().fit(np.eye(4), comparisons=[(0, 1)], outcomes=[1])
