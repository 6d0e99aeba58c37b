import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.model.evidence import gather
from support.simulate import labels_and_answers

MASKED = np.ma.array([1, -1], mask=[False, True])


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


@pytest.mark.filterwarnings("error")
def test_numbers_that_overflow_are_refused_by_their_column():
    X = pd.DataFrame({"a": np.arange(4.0), "b": 1e160 * np.arange(4)})
    answers = {"comparisons": [(0, 1), (1, 2), (2, 3)], "outcomes": [-1, -1, 1]}
    for model in (ps.BradleyTerry(), ps.BradleyTerryCV()):
        with pytest.raises(ValueError, match=r"X: column 'b' has numbers up to 3.0e\+160, beyond 1e\+150"):
            model.fit(X, **answers)
    far = ps.BradleyTerryGP().fit(X, **answers).decision_function(X)
    near = ps.BradleyTerryGP().fit(X.assign(b=np.arange(4.0)), **answers).decision_function(X.assign(b=np.arange(4.0)))
    np.testing.assert_allclose(far, near, atol=1e-9)
    with pytest.raises(ValueError, match=r"X: column 1 has numbers up to 1.7e\+308, beyond 1e\+300"):
        ps.BradleyTerryGP().fit(np.column_stack([X["a"], [-1.7e308, 0, 1, 1.7e308]]), **answers)


def test_of_two_words_somebody_has_to_say_which_is_better():
    X, data = labels_and_answers()
    labeled, y = data["labeled"], data["y"]
    right = ps.BradleyTerry().fit(X, y, labeled=labeled)
    words = np.where(y > 0, "high", "low")  # the better one comes first in the alphabet
    for given in (words, words.astype(object), words.tolist(), pd.Series(words)):
        for model in (ps.BradleyTerry(), ps.BradleyTerryCV([1.0])):
            with pytest.raises(ValueError, match=r"'high' and 'low' are words.*for example 'high'.*-1 and \+1"):
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
    X, data = labels_and_answers()
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


def test_a_weight_is_so_many_answers_and_a_tie_half_a_win_each_way():
    X, data = labels_and_answers()
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


def test_rows_are_features_of_labels_and_differences_of_answers():
    X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    found = gather(ps.BradleyTerry(), X, [1, -1], [2, 0], [(2, 1), (0, 1), (1, 0)], [0, -1, 1], [1, 2, 3, 4, 5])
    expected = [  # first, second, row, y, weight, half a tie
        (2, 2, X[2], 1, 1, False),
        (0, 0, X[0], -1, 2, False),
        (2, 1, X[2] - X[1], 1, 1.5, True),
        (0, 1, X[0] - X[1], -1, 4, False),
        (1, 0, X[1] - X[0], 1, 5, False),
        (2, 1, X[2] - X[1], -1, 1.5, True),
    ]
    columns = found.first, found.second, found.rows, found.y, found.weights, found.tie
    for column, wanted in zip(columns, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(column, np.array(wanted))
    assert (found.total, found.n_items, found.classes.tolist()) == (5, 3, [-1, 1])
    rows, y, weights = found.part(found.tie)
    np.testing.assert_array_equal(rows, [X[2] - X[1]] * 2)
    assert (y.tolist(), weights.tolist()) == ([1, -1], [1.5, 1.5])
    assert found.part(np.ones(6, dtype=bool))[0] is found.rows


def test_more_rows_than_fit_the_cache():
    rng = np.random.default_rng(0)
    X, labeled = rng.standard_normal((50, 3)), rng.integers(50, size=3000)
    pairs = np.column_stack([rng.integers(25, size=2500), rng.integers(25, 50, size=2500)])
    found = gather(ps.BradleyTerry(), X, rng.choice([0, 1], 3000), labeled, pairs, rng.choice([-1, 1], 2500), None)
    np.testing.assert_array_equal(found.rows, np.vstack([X[labeled], X[pairs[:, 0]] - X[pairs[:, 1]]]))
