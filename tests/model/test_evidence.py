import warnings

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.model.bradley_terry import regression_data
from pairsmith.model.evidence import check_input, merge_answers, warn_of_islands
from support.simulate import labels_and_answers

MASKED = np.ma.array([1, -1], mask=[False, True])


@pytest.mark.parametrize(
    ("given", "message"),
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
def test_invalid_input_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        ps.BradleyTerry().fit(**{"X": np.eye(3), **given})


@pytest.mark.filterwarnings("error")
def test_overflowing_features_are_refused_with_the_name_of_their_column():
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


def test_word_labels_need_better():
    X, data = labels_and_answers()
    labeled, y = data["labeled"], data["y"]
    right = ps.BradleyTerry().fit(X, y, labeled=labeled)
    words = np.where(y > 0, "high", "low")  # the better one comes first in the alphabet
    for given in (words, words.astype(object), words.tolist(), pd.Series(words)):
        for model in (ps.BradleyTerry(), ps.BradleyTerryCV([1.0])):
            with pytest.raises(ValueError, match=r"'high' and 'low' are words.*for example 'high'.*-1 and \+1"):
                model.fit(X, given, labeled=labeled)
        model = ps.BradleyTerry(better="high").fit(X, given, labeled=labeled)
        np.testing.assert_array_equal(model.coef_, right.coef_)
        assert model.classes_.tolist() == ["low", "high"]
        assert set(model.predict(X)) == {"low", "high"}
        assert model.score(X, model.predict(X)) == 1
    turned = ps.BradleyTerry(better="low").fit(X, words, labeled=labeled)
    np.testing.assert_allclose(turned.coef_, -right.coef_)
    chosen = ps.BradleyTerryCV([1.0], better="high").fit(X, words, labeled=labeled)
    np.testing.assert_allclose(chosen.coef_, right.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match="better='best' is none of the labels, which are 'high' and 'low'"):
        ps.BradleyTerry(better="best").fit(X, words, labeled=labeled)


def test_greater_number_is_better_by_default():
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
def test_single_class_is_completed_where_that_is_safe(label, better, classes):
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


def test_weights_repeat_answers_and_ties_count_half_a_win_each_way():
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


def test_regression_rows_are_features_for_labels_and_differences_for_answers():
    X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    found = regression_data(
        ps.BradleyTerry(), X, [1, -1], [2, 0], [(2, 1), (0, 1), (1, 0)], [0, -1, 1], [1, 2, 3, 4, 5]
    )
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
    rows, y, weights = found.subset(found.tie)
    np.testing.assert_array_equal(rows, [X[2] - X[1]] * 2)
    assert (y.tolist(), weights.tolist()) == ([1, -1], [1.5, 1.5])
    assert found.subset(np.ones(6, dtype=bool))[0] is found.rows


def test_regression_rows_are_right_beyond_one_cache_block():
    rng = np.random.default_rng(0)
    X, labeled = rng.standard_normal((50, 3)), rng.integers(50, size=3000)
    pairs = np.column_stack([rng.integers(25, size=2500), rng.integers(25, 50, size=2500)])
    found = regression_data(
        ps.BradleyTerry(), X, rng.choice([0, 1], 3000), labeled, pairs, rng.choice([-1, 1], 2500), None
    )
    np.testing.assert_array_equal(found.rows, np.vstack([X[labeled], X[pairs[:, 0]] - X[pairs[:, 1]]]))


X = np.random.default_rng(0).standard_normal((6, 2))


def checked(**arguments):
    model = ps.BradleyTerryGP()
    defaults = {"y": None, "labeled": None, "comparisons": None, "outcomes": None, "sample_weight": None}
    return check_input(model, X, *(defaults | arguments).values(), allow_empty=True)


def test_merging_combines_answers_to_a_pair_in_either_order():
    pairs, outcomes = [(4, 1), (1, 4), (0, 2), (1, 4), (3, 5)], [1, 1, 0, -1, 1]
    merged = merge_answers(checked(comparisons=pairs, outcomes=outcomes))
    answers, places = merged.answers, merged.places
    table = {
        (int(i), int(j)): (won, lost)
        for i, j, won, lost in zip(answers.first, answers.second, answers.won, answers.lost, strict=True)
    }
    assert table == {(0, 2): (0.5, 0.5), (1, 4): (1.0, 2.0), (3, 5): (1.0, 0.0)}
    assert merged.rater_names == []
    assert not merged.side.any()
    for e, (i, j) in enumerate(pairs):
        there = (answers.first[places.index[e]], answers.second[places.index[e]])
        assert there == ((j, i) if places.swapped[e] else (i, j))


def test_merging_separates_raters_and_sides():
    pairs, outcomes = [(4, 1), (1, 4), (4, 1)], [1, 1, -1]
    merged = merge_answers(checked(comparisons=pairs, outcomes=outcomes), ["b", "a", "b"], shown_first=[4, 1, 4])
    answers = merged.answers
    assert merged.rater_names == ["b", "a"]
    assert sorted(zip(answers.first, answers.second, merged.rater, answers.won, answers.lost, strict=True)) == [
        (1, 4, 1, 1.0, 0.0),
        (4, 1, 0, 1.0, 1.0),
    ]
    assert merged.side.tolist() == [1, 1]
    assert not merged.places.swapped.any()


@pytest.mark.parametrize(
    "shown_first",
    [
        [4, 1, None, np.nan],
        [4, 1, -1, -1.0],
        np.array([4, 1, np.nan, -1]),
        pd.Series([4, 1, None, -1], dtype="Int64"),
    ],
)
def test_item_shown_first_comes_first_and_otherwise_the_smaller_number(shown_first):
    pairs, outcomes = [(4, 1), (4, 1), (4, 1), (1, 4)], [1, 1, 1, 1]
    merged = merge_answers(checked(comparisons=pairs, outcomes=outcomes), ["a"] * 4, shown_first)
    answers, side = merged.answers, merged.side
    table = sorted(zip(answers.first, answers.second, side, answers.won, answers.lost, strict=True))
    assert table == [(1, 4, 0.0, 1.0, 1.0), (1, 4, 1.0, 0.0, 1.0), (4, 1, 1.0, 1.0, 0.0)]
    assert merged.places.swapped.tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("raters", "shown_first", "message"),
    [
        (None, [4, 1], "shown_first tells how much raters prefer a side; give raters= too"),
        (["a", "b"], [4], "shown_first names 1 items for 2 comparisons"),
        (["a", "b"], 4, "shown_first must be a list"),
        (["a", "b"], [-1, 2], "answer number 1 names item 2, but compares 1 and 3; name one of these, or -1 where"),
        (["a", "b"], [4, -2], "answer number 1 names item -2, but"),
        (["a", "b"], [4, 1.5], "shown_first must be whole row numbers"),
        (["a", "b"], ["left", "right"], "shown_first must be whole row numbers"),
        (["a", "b"], np.ma.array([4, 1], mask=[True, False]), "shown_first is a masked array"),
    ],
)
def test_invalid_shown_first_is_refused(raters, shown_first, message):
    with pytest.raises(ValueError, match=message):
        merge_answers(checked(comparisons=[(4, 1), (1, 3)], outcomes=[1, 1]), raters, shown_first)


def test_labels_become_answers_about_the_threshold_and_zero_weights_are_dropped():
    weights = [1.0, 0.0, 2.0]  # of the two labels and the answer
    arguments = checked(y=[1, 0], labeled=[3, 5], comparisons=[(0, 1)], outcomes=[-1], sample_weight=weights)
    merged = merge_answers(arguments)
    answers = merged.answers
    assert sorted(zip(answers.first, answers.second, merged.rater, answers.won, answers.lost, strict=True)) == [
        (0, 1, 0, 0.0, 2.0),
        (3, 6, -1, 1.0, 0.0),
    ]
    assert merged.places.index.tolist() == [0]


def test_island_warning_ignores_items_without_answers():
    answers = merge_answers(checked(comparisons=[(0, 1), (1, 2), (3, 4)], outcomes=[1, 1, 1])).answers
    with pytest.warns(UserWarning, match="in 2 islands"):
        warn_of_islands(answers, 6)
    answers = merge_answers(checked(comparisons=[(0, 1), (1, 2)], outcomes=[1, 1])).answers
    warn_of_islands(answers, 6)


rng = np.random.default_rng(0)
N = 15
PAIRS = np.array([rng.choice(N, 2, replace=False) for _ in range(60)])
OUTCOMES = np.where(PAIRS[:, 0] > PAIRS[:, 1], 1, -1)


def table(ids, rows=slice(None)):
    return pd.DataFrame({"id": list(ids), "a": rng.standard_normal(N)}).iloc[rows]


def fit(frame):
    return ps.BradleyTerryGP().fit(frame, comparisons=PAIRS, outcomes=OUTCOMES)


METHODS = {
    "rank": lambda model, X: model.rank(X),
    "rank in groups": lambda model, X: model.rank(X, groups=["g"] * len(X)),
    "rank by": lambda model, X: model.rank(X, by=list("abcde") * (len(X) // 5)),
    "compare": lambda model, X: model.compare(X, [(0, 1)]),
    "predict": lambda model, X: model.predict(X),
    "decision_function": lambda model, X: model.decision_function(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "certainty": lambda model, X: model.certainty(X),
    "select": lambda model, X: ps.select(X, 2, model=model),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("rows", [slice(None), slice(10)])
def test_every_method_warns_of_ids_of_another_type(method, rows):
    model = fit(table(range(N)))
    with pytest.warns(UserWarning, match="ids are") as caught:
        method(model, table(map(str, range(N)), rows))
    (message,) = {str(warning.message) for warning in caught}
    assert message.startswith("X's ids are text, the model's are whole numbers: '0' is not 0. The model knows 0 of")


@pytest.mark.parametrize(
    ("model_ids", "ids", "message"),
    [
        (map(str, range(N)), range(N), "X's ids are whole numbers, the model's are text: 0 is not '0'"),
        (range(N), [f"{at:03}" for at in range(N)], "X's ids are text, the model's are whole numbers: '000' is not 0"),
        (map(str, range(N)), np.arange(N) * 1.0, "X's ids are fractions, the model's are text: 0.0 is not '0'"),
        (
            [f"i{at}" for at in range(N)],
            [f"i{at} " for at in range(N)],
            "differently from the model's: 'i0 ",
        ),
        (
            range(N),
            [f"i{at}" for at in range(N)],
            "X's ids are text, the model's are whole numbers. The model knows 0 of",
        ),
        ([*range(N - 1), "x"], [*map(str, range(N - 1)), "x"], "'0' is not 0. The model knows 1 of the 15 items"),
    ],
)
def test_warning_names_how_the_ids_differ(model_ids, ids, message):
    model = fit(table(model_ids))
    with pytest.warns(UserWarning, match=message):
        model.rank(table(ids))


def test_new_items_cause_no_warning_unless_as_many_as_in_the_fit():
    model = fit(table([f"i{at}" for at in range(N)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.rank(table([f"new{at}" for at in range(N)], slice(10)))
        model.rank(table([f"i{at}" for at in range(10)] + [f"new{at}" for at in range(5)]))
        model.rank(table(range(N)).drop(columns="id").head(5))
    with pytest.warns(UserWarning, match="no item of X is one that the model was fitted to.*by their ids"):
        model.rank(table([f"new{at}" for at in range(N)]))  # as many: probably the same items


def test_error_about_other_items_names_how_the_ids_differ():
    model = fit(table(range(N)))
    text = table(map(str, range(N)))
    cause = "in that order; X's ids are text, the model's are whole numbers: '0' is not 0"
    with pytest.raises(ValueError, match=cause):
        model.with_answers(text, PAIRS[:1], OUTCOMES[:1])
    with pytest.raises(ValueError, match=cause):
        ps.forecast(text, model=model, simulations=2, answers=[5])


@pytest.mark.parametrize("method", [*METHODS, "known"])
def test_duplicate_ids_are_refused_after_the_fit_too(method):
    X = table([f"i{at}" for at in range(N)])
    model = fit(X)
    method = METHODS.get(method, lambda model, X: model.known(X))
    for ids in (["i0"] * N, [None, *X["id"][1:]]):
        with pytest.raises(ValueError, match=r"X has (more than one item with the id 'i0'; ids must|no id at row 0)"):
            method(model, X.assign(id=ids))


def test_linear_model_accepts_an_item_twice():
    X = table(range(N))
    model = ps.BradleyTerry().fit(X, comparisons=PAIRS, outcomes=OUTCOMES)
    assert model.rank(X.iloc[[0, 0]]).index.tolist() == [0, 0]


@pytest.mark.parametrize("argument", ["groups", "by"])
def test_series_with_the_ids_in_another_order_is_refused(argument):
    X = table([f"i{at}" for at in range(N)])
    model, makers = fit(X), pd.Series(list("abc") * 5, index=X["id"])
    expected = model.rank(X, **{argument: makers.tolist()})
    for aligned in (makers, makers.reset_index(drop=True), pd.Series(makers.tolist(), index=X.index)):
        pd.testing.assert_frame_equal(model.rank(X, **{argument: aligned}), expected)
    with pytest.raises(ValueError, match=f"{argument} has the ids of X in another order; reorder it with"):
        model.rank(X, **{argument: makers[::-1]})
    with pytest.raises(ValueError, match="groups has the ids of X in another order"):
        model.certainty(X, makers[::-1])
    numbered = table(range(N))
    shuffled = numbered.sample(frac=1, random_state=0).assign(id=range(N))  # the column goes with its table's rows
    fit(numbered).rank(shuffled, **{argument: makers.set_axis(shuffled.index)})
