import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairsmith as ps
from pairsmith.data.features import from_array
from pairsmith.model.bradley_terry import default_ridge
from support.simulate import labels_and_answers


def not_for_us(estimator):
    return {"check_classifiers_classes": "its labels are words, which need better= to say which is the better"}


@parametrize_with_checks([ps.BradleyTerry()], expected_failed_checks=not_for_us)
def test_as_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def objective(beta, X, ridge, labeled=(), y=(), comparisons=(), outcomes=(), weights=None):
    """Return the objective of the paper, term by term."""
    total = ridge * beta @ beta
    weights = [1.0] * (len(y) + len(outcomes)) if weights is None else list(weights)
    for i, label, weight in zip(labeled, y, weights[: len(y)], strict=True):
        total += weight * np.logaddexp(0, -label * beta @ X[i])
    for (i, j), win, weight in zip(comparisons, outcomes, weights[len(y) :], strict=True):
        for side, share in ((1, (1 + win) / 2), (-1, (1 - win) / 2)):
            total += weight * share * np.logaddexp(0, -side * beta @ (X[i] - X[j]))
    return total


def variants():
    X, whole = labels_and_answers()
    labels = {name: whole[name] for name in ("labeled", "y")}
    pairs = {name: whole[name] for name in ("comparisons", "outcomes")}
    ties = pairs["outcomes"] * (np.arange(60) % 3 > 0)
    weights = np.random.default_rng(1).uniform(0, 5, 70)
    return {
        "both": (X, whole),
        "labels alone": (X, labels),
        "comparisons alone": (X, pairs),
        "ties": (X, {**pairs, "outcomes": ties}),
        "weights": (X, {**whole, "sample_weight": weights}),
        "weighted ties": (X, {**whole, "outcomes": ties, "sample_weight": weights}),
        "one class": (X, {**labels, "y": np.ones(10)}),
        "one comparison": (X, {"comparisons": [(3, 1)], "outcomes": [1]}),
        "one tie": (X, {"comparisons": [(3, 1)], "outcomes": [0]}),
        "the second always": (X, {**pairs, "outcomes": -np.ones(60)}),
    }


@pytest.mark.slow
@pytest.mark.parametrize("case", variants())
@pytest.mark.parametrize("ridge", [1e-3, 0.5, 100.0])
def test_fit_minimises_the_objective_of_the_paper(case, ridge):
    X, data = variants()[case]
    model = ps.BradleyTerry(ridge).fit(X, **data)
    terms = {name: value for name, value in data.items() if name != "sample_weight"}

    def f(beta):
        return objective(beta, X, ridge, weights=data.get("sample_weight"), **terms)

    found = minimize(f, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert f(model.coef_) <= found.fun + 1e-9 * (1 + abs(found.fun))
    assert np.linalg.norm(approx_fprime(model.coef_, f, 1e-7)) < 1e-4
    step = 1e-4
    hessian = np.array(
        [
            [
                (f(model.coef_ + step * (a + b)) - f(model.coef_ + step * (a - b)) - f(model.coef_ - step * (a - b))
                 + f(model.coef_ - step * (a + b))) / (4 * step**2)
                for b in np.eye(4)
            ]
            for a in np.eye(4)
        ]
    )  # fmt: skip
    covariance = model.covariance_root_ @ model.covariance_root_.T
    np.testing.assert_allclose(hessian @ covariance, np.eye(4), atol=2e-4)


def gradient(model, rows, y, ridge):
    return 2 * ridge * model.coef_ - rows.T @ (y * expit(-y * (rows @ model.coef_)))


@pytest.mark.parametrize("ridge", [1e-8, 1e-3, 1.0])
def test_fit_is_accurate_for_badly_conditioned_features(ridge):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    X = rng.standard_normal((300, 8)) @ Q * np.geomspace(1, 1e-8, 8) @ Q.T
    pairs = rng.integers(300, size=(500, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    y = np.where(rng.random(len(rows)) < expit(rows @ rng.standard_normal(8)), 1, -1)
    model = ps.BradleyTerry(ridge).fit(X, comparisons=pairs, outcomes=y)
    assert np.linalg.norm(gradient(model, rows, y, ridge)) < 1e-8 * np.linalg.norm(rows, axis=1).sum()


def test_fit_converges_on_separable_data():
    X = np.random.default_rng(0).standard_normal((100, 5))
    y = np.where(X @ np.arange(1, 6) > 0, 1, -1)
    model = ps.BradleyTerry(1e-8).fit(X, y)
    assert model.score(X, y) == 1
    # Both terms of the gradient vanish together here, so it has to be small beside each.
    assert np.linalg.norm(gradient(model, X, y, 1e-8)) < 1e-8 * 2e-8 * np.linalg.norm(model.coef_)


def test_compare_returns_probabilities_at_the_estimate_or_averaged():
    X, data = labels_and_answers()
    model = ps.BradleyTerry().fit(X, **data)
    pairs = data["comparisons"]
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.compare(X, pairs), expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]))
    np.testing.assert_allclose(model.compare(X, pairs) + model.compare(X, pairs[:, ::-1]), 1)
    averaged = model.compare(X, pairs, integrate=True)
    assert np.all(np.abs(averaged - 0.5) <= np.abs(model.compare(X, pairs) - 0.5) + 1e-12)


def test_intervals_cover_the_truth_at_their_level():
    rng = np.random.default_rng(0)
    n, d, ridge = 60, 6, 0.5
    inside, sure = [], []
    for _ in range(60):
        X = rng.standard_normal((n, d))
        beta = rng.standard_normal(d) / np.sqrt(2 * ridge)  # the prior that the ridge stands for
        pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(150)])
        wins = np.where(rng.random(150) < expit((X[pairs[:, 0]] - X[pairs[:, 1]]) @ beta), 1, -1)
        ranking = ps.BradleyTerry(ridge).fit(X, comparisons=pairs, outcomes=wins).rank(X, level=0.9)
        truth = X[ranking.index] @ beta
        inside += list((ranking.low < truth) & (truth < ranking.high))
        sure += list(zip(ranking.above_next[:-1], truth[:-1] > truth[1:], strict=True))
    assert 0.85 <= np.mean(inside) <= 0.95
    said, right = np.array(sure).T
    for low, high in ((0.5, 0.6), (0.6, 0.8), (0.8, 1.0)):
        part = (said >= low) & (said < high)
        assert abs(right[part].mean() - said[part].mean()) < 0.06


def test_rank_orders_items_with_errors_and_intervals():
    X, data = labels_and_answers()
    frame = pd.DataFrame(X, index=[f"item {row}" for row in range(40)], columns=list("abcd"))
    model = ps.BradleyTerry().fit(frame, **data)
    assert model.feature_names_in_.tolist() == list("abcd")
    ranking = model.rank(frame)
    assert ranking["rank"].tolist() == list(range(1, 41))
    assert ranking.score.is_monotonic_decreasing
    at = [int(name.split()[1]) for name in ranking.index]
    np.testing.assert_allclose(ranking.score, model.decision_function(frame)[at])
    assert np.isnan(ranking.above_next.iloc[-1])
    assert ranking.above_next[:-1].between(0.5, 1).all()
    twins = model.rank(frame.iloc[[0, 0, 1]])
    assert 0.5 in twins.above_next.tolist()
    assert ps.BradleyTerry().fit(X, **data).rank(X).index.tolist() == at
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        model.rank(frame, level=90)


def test_estimator_works_in_pipelines_and_searches():
    X = labels_and_answers(n=200)[0]
    y = np.where(X[:, 0] > 0, "good", "bad")
    pipeline = make_pipeline(StandardScaler(), ps.BradleyTerry(better="good"))
    assert set(pipeline.fit(X, y).predict(X)) == {"bad", "good"}
    for better, labels in (("good", y), (None, y == "bad")):
        model = ps.BradleyTerry(better=better)
        search = GridSearchCV(model, {"ridge": [0.01, 1, 100]}, scoring="roc_auc").fit(X, labels)
        assert search.best_score_ > 0.95
    assert clone(ps.BradleyTerry(3.0, better="good")).get_params() == {"ridge": 3.0, "better": "good"}
    assert clone(ps.BradleyTerryCV(better="good")).better == "good"


def test_id_column_names_items_and_is_no_feature():
    X, data = labels_and_answers()
    ids = np.random.default_rng(0).permutation(np.arange(100_000, 100_040))
    plain = pd.DataFrame(X, columns=list("abcd"))
    right = ps.BradleyTerry().fit(plain, **data)
    ranking = right.rank(plain)
    pairs = data["comparisons"]
    frame = plain.assign(id=ids)
    for given in (frame, frame[["id", *"abcd"]], pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        for model in (ps.BradleyTerry(), ps.BradleyTerryCV([1.0])):
            model.fit(given, **data)
            assert model.feature_names_in_.tolist() == list("abcd")
            assert model.n_features_in_ == 4
            np.testing.assert_allclose(model.coef_, right.coef_, rtol=1e-6)
            np.testing.assert_array_equal(model.predict(given), right.predict(plain))
            np.testing.assert_allclose(model.decision_function(given), right.decision_function(plain), rtol=1e-6)
            np.testing.assert_allclose(model.compare(given, pairs), right.compare(plain, pairs), rtol=1e-6)
            assert model.rank(given).index.tolist() == ids[ranking.index].tolist()
            np.testing.assert_allclose(model.predict_proba(plain), right.predict_proba(plain), rtol=1e-6)
        labels = np.where(right.decision_function(plain) > 0, 1, -1)
        assert ps.BradleyTerry().fit(given, labels).n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names"):
        right.predict(pl.from_pandas(plain.rename(columns={"a": "e"}).assign(id=ids)))


def test_invalid_ridges_are_refused():
    for ridge in (0, -1, np.nan, "auto", True):
        with pytest.raises(ValueError, match="ridge must be a positive number"):
            ps.BradleyTerry(ridge).fit(np.eye(2), [0, 1])


def test_usual_ridge_gives_scores_a_prior_standard_deviation_of_2():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) * np.array([1, 2, 3, 4, 5, 60]) + 100
    ridge = default_ridge(from_array(X))
    scores = (X - X.mean(axis=0)) @ (rng.standard_normal((6, 4000)) / np.sqrt(2 * ridge))
    assert np.sqrt(np.mean(scores**2)) == pytest.approx(2, rel=0.05)


def test_usual_ridge_of_identical_items_is_1():
    assert default_ridge(from_array(np.ones((5, 2)))) == 1.0
