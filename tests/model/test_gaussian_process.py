import doctest

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairsmith as ps
from support.simulate import scored_answers

pytestmark = pytest.mark.filterwarnings("ignore:the answers leave")

ONE = {"n_items": 3, "comparisons": [(0, 1)], "outcomes": [1]}


def in_order(found, scores):
    i, j = np.triu_indices(len(scores), 1)
    return np.mean((found[i] > found[j]) == (scores[i] > scores[j]))


def test_doubt_is_calibrated_where_features_explain_nothing():
    """Five features unrelated to quality, 400 answers without error: a linear model claims 3% where 29% are wrong."""
    rng = np.random.default_rng(0)
    X, scores = rng.standard_normal((60, 5)), rng.standard_normal(60)
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(400)])
    outcomes = np.sign(scores[pairs[:, 0]] - scores[pairs[:, 1]])
    model = ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes)
    linear = ps.BradleyTerry(ridge=1.0).fit(X, comparisons=pairs, outcomes=outcomes)
    wrong = 1 - in_order(model.decision_function(X), scores)
    assert wrong < 0.15 < 1 - in_order(linear.decision_function(X), scores)
    assert abs(model.doubt_ - wrong) < 0.05
    assert model.shares_["items"] > 0.5
    assert sum(model.shares_.values()) == pytest.approx(1)


def test_units_of_columns_do_not_matter():
    X, _, pairs, outcomes = scored_answers(1)
    plain = ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes)
    other = X * np.array([1e-3, 1, 1e2, 1e3]) + np.array([0, 5, 0, -1e4])
    scaled = ps.BradleyTerryGP().fit(other, comparisons=pairs, outcomes=outcomes)
    np.testing.assert_allclose(scaled.decision_function(other), plain.decision_function(X), atol=1e-4)
    constant = np.insert(X, 1, 3.0, axis=1)
    dropped = ps.BradleyTerryGP().fit(constant, comparisons=pairs, outcomes=outcomes)
    np.testing.assert_allclose(dropped.decision_function(constant), plain.decision_function(X), atol=1e-4)


def test_model_without_features_ranks_by_answers_alone():
    _, scores, pairs, outcomes = scored_answers(2, n=20, count=400, items=3.0)
    model = ps.BradleyTerryGP().fit(n_items=20, comparisons=pairs, outcomes=outcomes)
    assert in_order(model.decision_function(), scores) > 0.85
    assert model.variances_["linear"] == model.variances_["smooth"] == 0
    ranking = model.rank()
    assert sorted(ranking.index) == list(range(20))
    same = ps.BradleyTerryGP().fit(np.zeros((20, 0)), comparisons=pairs, outcomes=outcomes)
    np.testing.assert_allclose(same.decision_function(np.zeros((20, 0))), model.decision_function(), atol=1e-9)
    named = pd.DataFrame(index=[f"item {at}" for at in range(20)])
    by_name = ps.BradleyTerryGP().fit(named, comparisons=pairs, outcomes=outcomes)
    assert by_name.rank().index[0] == f"item {ranking.index[0]}"


def test_model_without_answers_is_the_prior():
    X = scored_answers(3)[0]
    model = ps.BradleyTerryGP().fit(X)
    assert model.doubt_ == pytest.approx(0.5)
    assert model.reliability_ == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(model.decision_function(X), 0, atol=1e-12)
    assert model.evidence_ == 0
    np.testing.assert_allclose(model.compare(X, [(0, 1), (5, 9)]), 0.5)
    assert ps.BradleyTerryGP().fit(n_items=5).doubt_ == pytest.approx(0.5)


def test_new_items_are_ranked_by_features_with_wider_intervals():
    X, scores, pairs, outcomes = scored_answers(4, n=120, count=1500, items=1.0)
    seen = np.arange(90)
    inside = np.all(pairs < 90, axis=1)
    model = ps.BradleyTerryGP().fit(X[seen], comparisons=pairs[inside], outcomes=outcomes[inside])
    new = model.rank(X[90:])
    old = model.rank(X[seen])
    assert new["error"].min() > np.sqrt(0.99 * model.variances_["items"]) > old["error"].mean()
    assert in_order(model.decision_function(X[90:]), scores[90:]) > 0.6
    # By ids, an item that is known is known beside others, and in any order.
    frame = pd.DataFrame(X, index=[f"i{at}" for at in range(120)])
    named = ps.BradleyTerryGP().fit(frame.iloc[:90], comparisons=pairs[inside], outcomes=outcomes[inside])
    mixed = named.rank(frame.iloc[[100, 3, 50]])
    assert mixed.loc["i3", "score"] == pytest.approx(old.loc[3, "score"], abs=1e-6)
    assert mixed.loc["i100", "score"] == pytest.approx(new.loc[10, "score"], abs=1e-6)


def test_rank_returns_intervals_of_ranks_and_probabilities_of_the_top():
    X, scores, pairs, outcomes = scored_answers(5, n=40, count=600)
    model = ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes)
    ranking = model.rank(X, level=0.8, top=5)
    assert list(ranking["rank"]) == list(range(1, 41))
    assert np.all(np.diff(ranking["score"]) <= 0)
    assert ranking["in_top"].sum() == pytest.approx(5, abs=1e-9)
    assert np.all((ranking["best"] <= ranking["rank"]) & (ranking["rank"] <= ranking["worst"]))
    width = ndtri(0.9) * ranking["error"]
    np.testing.assert_allclose(ranking["high"] - ranking["score"], width)
    true = (-scores).argsort().argsort() + 1
    covered = [ranking.loc[item, "best"] <= true[item] <= ranking.loc[item, "worst"] for item in range(40)]
    assert np.mean(covered) > 0.65
    with pytest.raises(ValueError, match="top must be a number of items from 1 to 40"):
        model.rank(X, top=41)
    with pytest.raises(ValueError, match="level must be between"):
        model.rank(X, level=1)


def test_ties_weights_and_repeated_answers_are_equivalent():
    X, _, pairs, outcomes = scored_answers(6, n=15, count=60)
    fixed = {"linear": 1.0, "smooth": False, "items": 0.5}
    scores = (
        ps.BradleyTerryGP(**fixed)
        .fit(X, comparisons=np.vstack([pairs, pairs[:9]]), outcomes=np.concatenate([outcomes, outcomes[:9]]))
        .decision_function(X)
    )
    weighed = ps.BradleyTerryGP(**fixed).fit(
        X, comparisons=pairs, outcomes=outcomes, sample_weight=np.where(np.arange(60) < 9, 2.0, 1.0)
    )
    np.testing.assert_allclose(weighed.decision_function(X), scores, atol=1e-9)
    flipped = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs[:, ::-1], outcomes=-outcomes).decision_function(X)
    plain = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs, outcomes=outcomes).decision_function(X)
    np.testing.assert_allclose(flipped, plain, atol=1e-9)
    tied = ps.BradleyTerryGP(**fixed).fit(X, comparisons=[(0, 1)], outcomes=[0])
    assert tied.compare(X, [(0, 1)])[0] == pytest.approx(0.5)
    halves = ps.BradleyTerryGP(**fixed).fit(X, comparisons=[(0, 1), (0, 1)], outcomes=[1, -1], sample_weight=[0.5, 0.5])
    np.testing.assert_allclose(halves.decision_function(X), tied.decision_function(X), atol=1e-12)


def test_labels_are_predicted_with_a_learned_threshold():
    X, scores, pairs, outcomes = scored_answers(7, n=100, count=200)
    labels = np.where(scores > 1.0, "good", "bad")
    labeled = np.arange(60)
    model = ps.BradleyTerryGP(better="good").fit(
        X, labels[labeled], labeled=labeled, comparisons=pairs, outcomes=outcomes
    )
    assert model.classes_.tolist() == ["bad", "good"]
    assert np.mean(model.predict(X) == labels) > 0.75
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert np.mean(probability[labels == "good", 1]) > 1.3 * np.mean(probability[labels == "bad", 1])
    assert np.mean(probability[:, 1]) == pytest.approx(np.mean(labels == "good"), abs=0.1)
    ranking = model.rank(X)
    assert in_order(ranking["score"].sort_index().to_numpy(), scores) > 0.75


def test_warm_start_keeps_variances_until_answers_have_grown_by_a_fifth():
    X, _, pairs, outcomes = scored_answers(8, count=500)
    model = ps.BradleyTerryGP(warm_start=True).fit(X, comparisons=pairs[:400], outcomes=outcomes[:400])
    before = model.variances_
    model.fit(X, comparisons=pairs[:420], outcomes=outcomes[:420])
    assert model.variances_ == before
    fixed = {name: before[name] or False for name in ("linear", "smooth", "items")}
    cold = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs[:420], outcomes=outcomes[:420])
    if cold.variances_["scale"] == before["scale"]:
        np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=0.02)
    model.fit(X, comparisons=pairs, outcomes=outcomes)
    assert model.variances_ != before


def test_warm_start_is_ignored_if_parts_or_items_change():
    X, _, pairs, outcomes = scored_answers(11, count=200)
    model = ps.BradleyTerryGP(warm_start=True, smooth=False).fit(X, comparisons=pairs, outcomes=outcomes)
    before = model.variances_
    model.set_params(items=0.7).fit(X, comparisons=pairs, outcomes=outcomes)
    assert model.variances_["items"] == 0.7
    model.set_params(items="auto", smooth="auto").fit(X, comparisons=pairs, outcomes=outcomes)
    assert model.variances_["smooth"] > 0
    model.set_params(smooth=False).fit(1000 * X, comparisons=pairs, outcomes=outcomes)
    assert model.variances_ == pytest.approx(before, rel=1e-6)


def test_items_are_recognised_with_and_without_ids():
    X, _, pairs, outcomes = scored_answers(12)
    frame = pd.DataFrame(X, index=[f"i{at}" for at in range(len(X))])
    plain = ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes)
    with_ids = ps.BradleyTerryGP().fit(
        frame.set_axis(["a", "b", "c", "d"], axis=1), comparisons=pairs, outcomes=outcomes
    )
    expected = plain.rank(X)["score"].to_numpy()
    np.testing.assert_allclose(plain.rank(frame)["score"], expected)
    np.testing.assert_allclose(with_ids.rank(frame.set_axis(["a", "b", "c", "d"], axis=1))["score"], expected)
    assert plain.rank(X[:50])["error"].min() > plain.rank(X)["error"].min()  # some of them are not known again


def test_constant_columns_switch_the_feature_parts_off():
    _, _, pairs, outcomes = scored_answers(13, n=20, count=80)
    model = ps.BradleyTerryGP().fit(np.ones((20, 3)), comparisons=pairs, outcomes=outcomes)
    assert model.variances_["linear"] == model.variances_["smooth"] == 0
    assert model.shares_["items"] == 1


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({}, {}, "the number of items is unknown; give n_items="),
        ({}, {"n_items": 1}, "n_items must be a whole number of at least 2"),
        ({}, {"X": np.ones((4, 2)), "n_items": 5}, "n_items=5, but X has 4 items"),
        ({"linear": -1}, {"n_items": 3}, "linear must be 'auto', a positive variance below 1e9 or False, got -1"),
        ({"items": True}, {"n_items": 3}, "items must be 'auto'"),
        ({"landmarks": 2.5}, {"n_items": 3}, "landmarks must be a whole number, got 2.5"),
        ({"random_state": -1}, {"n_items": 3}, "random_state must be None, a whole number"),
        ({"linear": False, "smooth": False, "items": False}, {"n_items": 3}, "keep at least one part"),
        ({}, {"n_items": 3, "comparisons": [(0, 3)], "outcomes": [1]}, "comparisons holds 3"),
        ({}, {"n_items": 3, "comparisons": [(0, 0)], "outcomes": [1]}, "pairs item 0 with itself"),
        ({}, {"n_items": 3, "comparisons": [(0, 1)]}, "belong together"),
        ({}, {"n_items": 3, "comparisons": [(0, 1)], "outcomes": [2]}, "outcomes must be"),
        ({"items": False}, {"n_items": 3}, "items=False leaves the features alone, and there is none that differs"),
        ({"items": False}, {"X": np.ones((4, 2))}, "items=False leaves the features alone"),
        ({}, {**ONE, "sample_weight": [1e-20]}, "must be 0 or from 1e-09 to 1e\\+06; number 0 is 1e-20"),
        ({}, {**ONE, "sample_weight": [1e12]}, "sample_weight must be 0 or from"),
        ({}, {**ONE, "raters": "a"}, "raters must be a list"),
        ({}, {**ONE, "raters": [["a"]]}, "raters must be a list"),
        ({}, {"X": pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "x"])}, "more than one item with the id 'x'"),
        ({}, {"X": pd.DataFrame({"id": ["x", None], "a": [1.0, 2.0]})}, "X has no id at row 1"),
        ({}, {"X": pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]})}, "column 'b' is not numeric"),
        ({}, {"X": "items.csv"}, "X is a path, items.csv; read it first"),
    ],
)
def test_invalid_input_is_refused(options, given, message):
    with pytest.raises(ValueError, match=message):
        ps.BradleyTerryGP(**options).fit(**given)


def test_fit_handles_one_answer_and_items_without_answers():
    X = scored_answers(10, n=12)[0]
    one = ps.BradleyTerryGP().fit(X, comparisons=[(0, 1)], outcomes=[1])
    assert one.compare(X, [(0, 1)])[0] > 0.5
    alike = ps.BradleyTerryGP().fit(X, comparisons=[(0, at) for at in range(1, 6)], outcomes=np.ones(5))
    assert alike.rank(X).index[0] == 0
    assert np.isfinite(alike.rank(X)[["score", "error"]]).all(axis=None)
    with pytest.raises(ValueError, match="X is missing"):
        one.rank()


def test_fit_warns_once_of_islands():
    with pytest.warns(UserWarning, match="in 2 islands") as told:
        ps.BradleyTerryGP().fit(n_items=6, comparisons=[(0, 1), (2, 3)], outcomes=[1, 1])
    assert len(told) == 1


@pytest.mark.parametrize("items", [0.2, 1.0])
@pytest.mark.slow
def test_intervals_and_reliability_are_calibrated_if_the_model_is_true(items):
    covered, reliability, truth = [], [], []
    for seed in range(40):
        X, scores, pairs, outcomes = scored_answers(100 + seed, n=60, d=4, count=400, linear=2.0, items=items)
        model = ps.BradleyTerryGP(smooth=False).fit(X, comparisons=pairs, outcomes=outcomes)
        ranking = model.rank(X).sort_index()
        center = ranking["score"].mean() - scores.mean()  # of which comparisons say nothing
        low, high = (ranking[name].to_numpy() - center for name in ("low", "high"))
        covered.append(np.mean((low <= scores) & (scores <= high)))
        reliability.append(model.reliability_)
        truth.append(np.corrcoef(ranking["score"], scores)[0, 1] ** 2)
    assert 0.87 < np.mean(covered) < 0.93
    assert np.mean(reliability) == pytest.approx(np.mean(truth), abs=0.03)


NOT_FOR_ITEMS = {
    "check_methods_subset_invariance": "the items it was fitted to are known together; a few of their rows are not",
    "check_methods_sample_order_invariance": "in another order its items are not known again, unless they have ids",
    "check_sample_weight_equivalence_on_dense_data": "an item that comes twice is two items, each with its own effect",
    "check_estimators_empty_data_messages": "no features is fine: scores are then the items' own effects",
    "check_classifiers_classes": "of two words nobody knows which is the better, unless `better` says so",
}


@pytest.mark.slow
@parametrize_with_checks([ps.BradleyTerryGP(landmarks=50)], expected_failed_checks=lambda _: NOT_FOR_ITEMS)
@pytest.mark.filterwarnings("ignore")
def test_as_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("labels", [False, True])
def test_with_answers_matches_a_fit_to_all_answers(labels, tmp_path):
    """This holds for a loaded model too, and a pair may be asked again the other way round."""
    X, scores, pairs, outcomes = scored_answers(5, count=120)
    pairs[100], outcomes[100] = pairs[0][::-1], -outcomes[0]
    known = {"labeled": [0, 1, 2], "y": np.where(scores[:3] > 0, 1, -1)} if labels else {}
    fixed = {"linear": 2.0, "smooth": 0.5, "items": 1.0}
    whole = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs, outcomes=outcomes, **known)
    model = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs[:80], outcomes=outcomes[:80], **known)
    before = model.doubt_
    model.save(tmp_path / "model.json")
    loaded = ps.BradleyTerryGP.load(tmp_path / "model.json").set_params(**fixed)
    for start in (model, loaded):
        found = start.with_answers(X, pairs[80:], outcomes[80:])
        assert found.doubt_ == pytest.approx(whole.doubt_, abs=1e-3)
        assert found.reliability_ == pytest.approx(whole.reliability_, abs=2e-3)
        np.testing.assert_allclose(found.decision_function(X), whole.decision_function(X), atol=0.02)
        assert found.fitted_.count() == 120
    assert (model.doubt_, model.fitted_.count()) == (before, 80)


def test_with_answers_learns_variances_again_after_a_fifth_more_answers():
    X, _, pairs, outcomes = scored_answers(6, count=150)
    model = ps.BradleyTerryGP().fit(X, comparisons=pairs[:100], outcomes=outcomes[:100])
    few, many = (
        model.with_answers(X, pairs[100:110], outcomes[100:110]),
        model.with_answers(X, pairs[100:], outcomes[100:]),
    )
    assert few.variances_ == model.variances_
    whole = ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes)
    assert many.variances_ == pytest.approx(whole.variances_, rel=0.05)
    with pytest.raises(AttributeError, match="leave_one_out_ exists only after fit"):
        _ = few.leave_one_out_


def test_with_answers_refuses_other_items():
    X, _, pairs, outcomes = scored_answers(6, count=50)
    model = ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes)
    with pytest.raises(ValueError, match="X must have the items that the model was fitted to, all of them and in that"):
        model.with_answers(X[::-1], pairs, outcomes)
    with pytest.raises(ValueError, match="comparisons"):
        model.with_answers(X, [[0, 80]], [1])


def test_single_item_has_no_doubt():
    model = ps.BradleyTerryGP().fit(np.ones((1, 3)))
    assert model.doubt_ == 0
    assert model.rank(np.ones((1, 3)))["rank"].tolist() == [1]


def of_two_items(variance, won, lost):
    """Return the posterior mean of f_0 - f_1 by a fine grid around the maximum of the likelihood."""
    peak, width = np.log(won / lost), 12 * np.sqrt(1 / won + 1 / lost)
    gap = np.linspace(peak - width, peak + width, 200_001)
    height = won * -np.logaddexp(0, -gap) + lost * -np.logaddexp(0, gap) - gap**2 / (4 * variance)
    density = np.exp(height - height.max())
    return float(np.sum(density * gap) / np.sum(density))


@pytest.mark.parametrize(
    ("variance", "won", "lost"), [(1.0, 6000, 4000), (1.0, 60_000, 40_000), (1.0, 9e5, 1e5), (100.0, 600, 400)]
)
def test_scores_are_accurate_for_a_pair_with_very_many_answers(variance, won, lost):
    """The cavity has a tiny share of the precision of such a pair, and its site must still be updated."""
    pair = {"comparisons": [(0, 1), (0, 1)], "outcomes": [1, -1], "sample_weight": [won, lost]}
    scores = ps.BradleyTerryGP(items=variance).fit(n_items=2, **pair).decision_function()
    assert scores[0] - scores[1] == pytest.approx(of_two_items(variance, won, lost), abs=1e-6)


def test_one_answer_under_a_wide_prior_gives_half_a_normal():
    scores = ps.BradleyTerryGP(items=1e5).fit(**ONE).decision_function()
    assert scores[0] == pytest.approx(np.sqrt(2e5) * np.sqrt(2 / np.pi) / 2, rel=1e-4)  # the mean of half a normal


def test_answers_about_identical_items_change_only_the_evidence():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    parts = {"linear": 1.0, "smooth": 1.0, "items": False}
    one = ps.BradleyTerryGP(**parts).fit(X, comparisons=[(0, 1)], outcomes=[1])
    more = ps.BradleyTerryGP(**parts).fit(X, comparisons=[(0, 1), (0, 2), (0, 2)], outcomes=[1, 1, 1])
    np.testing.assert_allclose(more.decision_function(X), one.decision_function(X), atol=1e-6)
    assert more.evidence_ == pytest.approx(one.evidence_ - 2 * np.log(2), abs=1e-6)
    assert len(ps.select(X, 2, model=more).pairs) == 2


def test_warm_start_counts_answers_and_not_pairs():
    rng = np.random.default_rng(1)
    every = np.array([(i, j) for i in range(8) for j in range(i)])
    model = ps.BradleyTerryGP(warm_start=True).fit(n_items=8, comparisons=every, outcomes=np.ones(len(every)))
    again, coins = np.repeat(every, 10, axis=0), np.where(rng.random(10 * len(every)) < 0.5, 1, -1)
    model.fit(n_items=8, comparisons=again, outcomes=coins)
    cold = ps.BradleyTerryGP().fit(n_items=8, comparisons=again, outcomes=coins)
    assert model.variances_["items"] == pytest.approx(cold.variances_["items"], rel=0.05)


def test_unrecognised_items_cause_a_warning():
    X, _, pairs, outcomes = scored_answers(12, n=20, count=40)
    model = ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes)
    assert len(model.rank(X[:10])) == 10
    for other in (X[::-1], X.astype(np.float32)):
        with pytest.warns(UserWarning, match="no item of X is one that the model was fitted to"):
            model.rank(other)
        with pytest.warns(UserWarning, match="no item of X is one that the model was fitted to"):
            ps.select(other, 3, model=model)
    named = pd.DataFrame(X, index=[f"i{at}" for at in range(20)])
    model.fit(named, comparisons=pairs, outcomes=outcomes)
    assert not model.known(named.rename(index=str.upper)).any()
    with pytest.warns(UserWarning, match="it knows items by their ids"):
        ps.select(named.rename(index=str.upper), 3, model=model)
    ps.select(named[:5].rename(index=str.upper).combine_first(named[5:]), 3, model=model)  # some are known


@pytest.mark.parametrize("estimator", [ps.BradleyTerry, ps.BradleyTerryCV, ps.BradleyTerryGP])
def test_examples_in_docstrings_run(estimator):
    (examples,) = doctest.DocTestFinder(recurse=False).find(estimator)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0
