import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairsmith as ps
from pairsmith.model.bradley_terry import RIDGES, _Data, _folds
from pairsmith.model.logistic import auc

MASKED = np.ma.array([1, -1], mask=[False, True])


def not_for_us(estimator):
    words = {"check_classifiers_classes": "its labels are words, which need better= to say which is the better"}
    if isinstance(estimator, ps.BradleyTerryCV):
        return words | {
            "check_sample_weight_equivalence_on_dense_data": "which items are held out depends on how many there are"
        }
    return words


@parametrize_with_checks(
    [ps.BradleyTerry(), ps.BradleyTerryCV(ridges=[100.0, 1.0, 0.01])], expected_failed_checks=not_for_us
)
def test_as_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def objective(beta, X, ridge, labeled=(), y=(), comparisons=(), outcomes=(), weights=None):
    """The paper's, term by term."""
    total = ridge * beta @ beta
    weights = [1.0] * (len(y) + len(outcomes)) if weights is None else list(weights)
    for i, label, weight in zip(labeled, y, weights[: len(y)], strict=True):
        total += weight * np.logaddexp(0, -label * beta @ X[i])
    for (i, j), win, weight in zip(comparisons, outcomes, weights[len(y) :], strict=True):
        for side, share in ((1, (1 + win) / 2), (-1, (1 - win) / 2)):
            total += weight * share * np.logaddexp(0, -side * beta @ (X[i] - X[j]))
    return total


def problem(seed=0, n=40, d=4, m=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    beta = rng.standard_normal(d)
    outcomes = np.where(rng.random(m) < expit((X[pairs[:, 0]] - X[pairs[:, 1]]) @ beta), 1, -1)
    labeled = rng.choice(n, n // 4, replace=False)
    y = np.where(rng.random(len(labeled)) < expit(X[labeled] @ beta), 1, -1)
    return X, {"labeled": labeled, "y": y, "comparisons": pairs, "outcomes": outcomes}


def variants():
    X, whole = problem()
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


@pytest.mark.parametrize("case", variants())
@pytest.mark.parametrize("ridge", [1e-3, 0.5, 100.0])
def test_it_minimises_the_papers_objective(case, ridge):
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
def test_badly_conditioned_features(ridge):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    X = rng.standard_normal((300, 8)) @ Q * np.geomspace(1, 1e-8, 8) @ Q.T
    pairs = rng.integers(300, size=(500, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    y = np.where(rng.random(len(rows)) < expit(rows @ rng.standard_normal(8)), 1, -1)
    model = ps.BradleyTerry(ridge).fit(X, comparisons=pairs, outcomes=y)
    assert np.linalg.norm(gradient(model, rows, y, ridge)) < 1e-8 * np.linalg.norm(rows, axis=1).sum()


def test_separable_data():
    X = np.random.default_rng(0).standard_normal((100, 5))
    y = np.where(X @ np.arange(1, 6) > 0, 1, -1)
    model = ps.BradleyTerry(1e-8).fit(X, y)
    assert model.score(X, y) == 1
    # Both terms of the gradient vanish together here, so it has to be small beside each.
    assert np.linalg.norm(gradient(model, X, y, 1e-8)) < 1e-8 * 2e-8 * np.linalg.norm(model.coef_)


def test_a_weight_is_so_many_answers_and_a_tie_half_a_win_each_way():
    X, data = problem()
    pairs, outcomes = data["comparisons"], data["outcomes"]
    times = np.random.default_rng(0).integers(0, 4, len(pairs))
    weighted = ps.BradleyTerry().fit(X, comparisons=pairs, outcomes=outcomes, sample_weight=times)
    repeated = ps.BradleyTerry().fit(X, comparisons=np.repeat(pairs, times, 0), outcomes=np.repeat(outcomes, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    tied = ps.BradleyTerry().fit(X, comparisons=pairs, outcomes=0 * outcomes, sample_weight=np.full(len(pairs), 2.0))
    both = ps.BradleyTerry().fit(X, comparisons=np.vstack([pairs, pairs[:, ::-1]]), outcomes=np.ones(2 * len(pairs)))
    np.testing.assert_allclose(tied.coef_, both.coef_, atol=1e-8)
    turned = ps.BradleyTerry().fit(X, comparisons=pairs[:, ::-1], outcomes=-outcomes)
    straight = ps.BradleyTerry().fit(X, comparisons=pairs, outcomes=outcomes)
    np.testing.assert_allclose(turned.coef_, straight.coef_, rtol=1e-7)


def test_compare():
    X, data = problem()
    model = ps.BradleyTerry().fit(X, **data)
    pairs = data["comparisons"]
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.compare(X, pairs), expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]))
    np.testing.assert_allclose(model.compare(X, pairs) + model.compare(X, pairs[:, ::-1]), 1)
    averaged = model.compare(X, pairs, integrate=True)
    assert np.all(np.abs(averaged - 0.5) <= np.abs(model.compare(X, pairs) - 0.5) + 1e-12)


@pytest.mark.parametrize("mean", [0.0, 0.3, -2.0, 8.0])
@pytest.mark.parametrize("deviation", [0.0, 0.01, 0.39, 0.41, 1.0, 30.0])
def test_averaging_over_the_posterior_is_the_integral(mean, deviation):
    model = ps.BradleyTerry().fit(np.eye(2), comparisons=[(0, 1)], outcomes=[1])
    model.coef_, model.covariance_root_ = np.array([mean, 0.0]), np.diag([deviation, 0.0])

    def density(t):
        return expit(mean + deviation * t) * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)

    step = [-mean / deviation] if deviation else [0.0]
    expected = quad(density, -12, 12, points=np.clip(step, -11, 11), epsabs=1e-13, limit=500)[0]
    assert model.compare([[1, 0], [0, 0]], [(0, 1)], integrate=True)[0] == pytest.approx(expected, abs=1e-9)


def test_intervals_contain_the_truth_as_often_as_they_say():
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


def test_rank():
    X, data = problem()
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


def test_in_pipelines_and_searches():
    X = problem(n=200)[0]
    y = np.where(X[:, 0] > 0, "good", "bad")
    pipeline = make_pipeline(StandardScaler(), ps.BradleyTerry(better="good"))
    assert set(pipeline.fit(X, y).predict(X)) == {"bad", "good"}
    for better, labels in (("good", y), (None, y == "bad")):
        model = ps.BradleyTerry(better=better)
        search = GridSearchCV(model, {"ridge": [0.01, 1, 100]}, scoring="roc_auc").fit(X, labels)
        assert search.best_score_ > 0.95
    assert clone(ps.BradleyTerry(3.0, better="good")).get_params() == {"ridge": 3.0, "better": "good"}
    assert clone(ps.BradleyTerryCV(better="good")).better == "good"


def test_of_two_words_somebody_has_to_say_which_is_better():
    X, data = problem()
    labeled, y = data["labeled"], data["y"]
    right = ps.BradleyTerry().fit(X, y, labeled=labeled)
    words = np.where(y > 0, "high", "low")  # the better one comes first in the alphabet
    for given in (words, words.astype(object), words.tolist(), pd.Series(words)):
        for model in (ps.BradleyTerry(), ps.BradleyTerryCV([1.0])):
            with pytest.raises(ValueError, match=r"'high' and 'low' are words.*better='high'.*-1 and \+1"):
                model.fit(X, given, labeled=labeled)
        told = ps.BradleyTerry(better="high").fit(X, given, labeled=labeled)
        np.testing.assert_array_equal(told.coef_, right.coef_)
        assert told.classes_.tolist() == ["low", "high"]
        assert set(told.predict(X)) == {"low", "high"}
        assert told.score(X, told.predict(X)) == 1
    turned = ps.BradleyTerry(better="low").fit(X, words, labeled=labeled)
    np.testing.assert_allclose(turned.coef_, -right.coef_)
    chosen = ps.BradleyTerryCV([1.0], better="high").fit(X, words, labeled=labeled)
    np.testing.assert_allclose(chosen.coef_, right.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match="better='best' is none of the labels, which are 'high' and 'low'"):
        ps.BradleyTerry(better="best").fit(X, words, labeled=labeled)


def test_of_two_numbers_the_greater_is_better_unless_said_otherwise():
    X, data = problem()
    labeled, y = data["labeled"], data["y"]
    right = ps.BradleyTerry().fit(X, y, labeled=labeled)
    for given in (y > 0, y + 3, np.where(y > 0, 2.0, -7.0)):
        np.testing.assert_array_equal(ps.BradleyTerry().fit(X, given, labeled=labeled).coef_, right.coef_)
        greater = ps.BradleyTerry(better=given.max()).fit(X, given, labeled=labeled)
        np.testing.assert_array_equal(greater.coef_, right.coef_)
        smaller = ps.BradleyTerry(better=given.min()).fit(X, given, labeled=labeled)
        np.testing.assert_allclose(smaller.coef_, -right.coef_)
        assert smaller.classes_.tolist() == [given.max(), given.min()]
    with pytest.raises(ValueError, match="better=5 is none of the labels, which are -1 and 1"):
        ps.BradleyTerry(better=5).fit(X, y, labeled=labeled)


@pytest.mark.parametrize(
    ("label", "better", "classes"),
    [
        ("good", "good", ["not good", "good"]),
        ("bad", "good", ["bad", "good"]),
        (1, None, [-1, 1]),
        (np.uint8(1), None, [0, 1]),
        (1, -1, [1, -1]),
        (True, False, [True, False]),
        (0, 0, [1, 0]),
        (3, 5, [3, 5]),
        (5, 5, [0, 5]),
    ],
)
def test_a_single_class_is_the_better_or_not(label, better, classes):
    estimator = ps.BradleyTerry(better=better)
    if (label, better) in (("bad", "good"), (3, 5)):  # which may be a slip of the pen
        with pytest.warns(UserWarning, match=f"no label is {better!r}: all are {label!r}, and count as the worse"):
            model = estimator.fit(np.eye(3) + 1, [label] * 3, labeled=[0, 1, 2])
    else:
        model = estimator.fit(np.eye(3) + 1, [label] * 3, labeled=[0, 1, 2])
    assert model.classes_.tolist() == classes
    assert set(model.predict(np.eye(3) + 1)) == {label}
    for single, wrong in ((3, None), ("good", None), ("good", 1), (3, "good")):
        with pytest.raises(ValueError, match=r"single class|none of the labels"):
            ps.BradleyTerry(better=wrong).fit(np.eye(3), [single], labeled=[0])


def test_an_id_names_an_item_and_is_no_feature():
    X, data = problem()
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


@pytest.mark.parametrize(("n", "d", "answers", "scale"), [(100, 10, 300, 1.0), (60, 6, 300, 0.5)])
def test_intervals_under_a_chosen_ridge_contain_the_truth_as_often_as_they_say(n, d, answers, scale):
    """An AUC, which does not see the scale of scores, chose ridges under which 46% of 90% intervals did."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(120):
        X, beta = rng.standard_normal((n, d)), scale * rng.standard_normal(d)
        first = rng.integers(n, size=answers)
        pairs = np.column_stack([first, (first + rng.integers(1, n, size=answers)) % n])
        wins = np.where(rng.random(answers) < expit((X[pairs[:, 0]] - X[pairs[:, 1]]) @ beta), 1, -1)
        ranking = ps.BradleyTerryCV(ridges=RIDGES[30:80:3]).fit(X, comparisons=pairs, outcomes=wins).rank(X, level=0.9)
        truth = X[ranking.index] @ beta
        inside.append(np.mean((ranking.low < truth) & (truth < ranking.high)))
    assert 0.87 <= np.mean(inside) <= 0.93


def test_a_chosen_ridge_does_not_shrink_scores_to_nothing():
    rng = np.random.default_rng(13)
    X, beta = rng.standard_normal((100, 10)), rng.standard_normal(10)
    pairs = np.array([rng.choice(100, 2, replace=False) for _ in range(300)])
    wins = np.where(rng.random(300) < expit((X[pairs[:, 0]] - X[pairs[:, 1]]) @ beta), 1, -1)
    model = ps.BradleyTerryCV().fit(X, comparisons=pairs, outcomes=wins)
    assert model.ridge_ < 10
    assert np.std(model.decision_function(X)) > 0.5 * np.std(X @ beta)


def test_the_ridge_is_chosen_by_the_likelihood_of_what_was_held_out():
    X, data = problem(seed=3, n=60, d=5, m=90)
    pairs, outcomes = data["comparisons"][:70], data["outcomes"][:70].copy()
    outcomes[[2, 5]] = 0
    pairs[1] = pairs[0][::-1]  # the same pair again: it is held out together with the first
    model = ps.BradleyTerryCV(ridges=[10.0, 0.1], held_out=1 / 3).fit(X, comparisons=pairs, outcomes=outcomes)
    assert model.n_validated_ == 70
    # The folds are those of the class; what is computed on them is the definition.
    rows = _Data(clone(model), X, None, None, pairs, outcomes, None)
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


def test_the_ridge_is_chosen_by_items_held_out():
    X, data = problem(seed=1, n=300, d=20, m=600)
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


def test_models_are_saved_as_plain_json(tmp_path):
    X, data = problem()
    frame = pd.DataFrame(X, columns=list("abcd"))
    for model in (ps.BradleyTerry(0.3).fit(frame, **data), ps.BradleyTerryCV([1.0, 2.0]).fit(X, **data)):
        model.save(tmp_path / "model.json")
        content = json.loads((tmp_path / "model.json").read_text())
        assert content["pairsmith model"] == 1
        again = ps.BradleyTerry.load(tmp_path / "model.json")
        given = frame if hasattr(model, "feature_names_in_") else X
        pd.testing.assert_frame_equal(again.rank(given), model.rank(given))
        np.testing.assert_array_equal(again.predict(given), model.predict(given))
    for broken in ("", "{}", "[1]", '{"pairsmith model": 1}', json.dumps({**content, "coef": [1.0]})):
        (tmp_path / "broken.json").write_text(broken)
        with pytest.raises(ValueError, match="is no model of pairsmith"):
            ps.BradleyTerry.load(tmp_path / "broken.json")
    (tmp_path / "newer.json").write_text(json.dumps({**content, "pairsmith model": 2}))
    with pytest.raises(ValueError, match="another version"):
        ps.BradleyTerry.load(tmp_path / "newer.json")
    with pytest.raises(ValueError, match="no such file"):
        ps.BradleyTerry.load(tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "requires y to be passed"),
        ({"comparisons": [(0, 1)]}, "comparisons and outcomes belong together"),
        ({"outcomes": [1]}, "comparisons and outcomes belong together"),
        ({"labeled": [0]}, "give y"),
        ({"labeled": [0, 1], "y": [1]}, "y has 1 labels for 2 items in labeled"),
        ({"labeled": [0, 9], "y": [1, -1]}, "labeled holds 9"),
        ({"labeled": [0, 1, 2], "y": [0, 1, 2]}, "Only binary"),
        ({"labeled": [0], "y": ["good"]}, "single class"),
        ({"labeled": [0, 1], "y": MASKED}, "y is a masked array"),
        ({"y": np.ma.array([1, -1, 1], mask=[0, 0, 1])}, "y is a masked array"),
        ({"labeled": MASKED, "y": [1, -1]}, "labeled is a masked array"),
        ({"labeled": [0, 1], "y": [1, -1], "sample_weight": MASKED}, "sample_weight is a masked array"),
        ({"comparisons": [(0, 1), (1, 2)], "outcomes": MASKED}, "outcomes is a masked array"),
        ({"comparisons": [(0, 1), (1, 2)], "outcomes": [1, np.ma.masked]}, "outcomes is a masked array"),
        ({"comparisons": np.ma.array([(0, 1)], mask=[(0, 1)]), "outcomes": [1]}, "comparisons is a masked array"),
        ({"comparisons": [np.ma.array([0, 1], mask=[0, 1])], "outcomes": [1]}, "comparisons is a masked array"),
        ({"X": np.ma.array(np.eye(2), mask=np.eye(2)), "y": [0, 1]}, "X is a masked array"),
        ({"X": [[2**60], [2**60 + 1]], "y": [0, 1]}, "X holds a whole number beyond 2\\^53 at row 0, column 0"),
        ({"X": pd.DataFrame({"id": ["u", "v"], "x": [1, 2**60]}), "y": [0, 1]}, "row 1 \\(item 'v'\\), column 'x'"),
        ({"comparisons": [(0, 0)], "outcomes": [1]}, "pairs item 0 with itself"),
        ({"comparisons": [(0, 7)], "outcomes": [1]}, "comparisons holds 7"),
        ({"comparisons": [(0, 1)], "outcomes": [2]}, "number 0 is 2"),
        ({"comparisons": [(0, 1)], "outcomes": [np.nan]}, "number 0 is nan"),
        ({"comparisons": [(0, 1)], "outcomes": ["a"]}, "outcomes must be"),
        ({"comparisons": [(0, 1)], "outcomes": [True]}, "outcomes must be"),
        ({"comparisons": [(0, 1)], "outcomes": [1, 1]}, "for 1 comparisons"),
        ({"comparisons": [(0, 1)], "outcomes": [1], "sample_weight": [1, 2]}, "0 labels and 1 comparisons"),
        ({"comparisons": [(0, 1)], "outcomes": [1], "sample_weight": [-1]}, "egative"),
        ({"comparisons": [], "outcomes": []}, "both empty"),
    ],
)
def test_what_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        ps.BradleyTerry().fit(**{"X": np.eye(3), **given})


def test_ridges_are_positive():
    for ridge in (0, -1, np.nan, "auto", True):
        with pytest.raises(ValueError, match="ridge must be a positive number"):
            ps.BradleyTerry(ridge).fit(np.eye(2), [0, 1])
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


@pytest.mark.parametrize("levels", [3, 1000])
def test_auc_is_scikit_learns(levels):
    rng = np.random.default_rng(levels)
    y, scores, weights = rng.choice([-1.0, 1.0], 60), rng.integers(levels, size=60) / 7, rng.random(60)
    assert auc(y, scores, weights) == pytest.approx(roc_auc_score(y, scores, sample_weight=weights), abs=1e-13)
