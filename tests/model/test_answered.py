import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.model.answered import merged, tell_islands
from pairsmith.model.evidence import check

X = np.random.default_rng(0).standard_normal((6, 2))


def given(**what):
    model = ps.BradleyTerryGP()
    wanted = {"y": None, "labeled": None, "comparisons": None, "outcomes": None, "sample_weight": None} | what
    return check(model, X, *wanted.values(), spare=True)


def test_a_pair_is_there_once_whichever_way_round_it_was_asked():
    pairs, outcomes = [(4, 1), (1, 4), (0, 2), (1, 4), (3, 5)], [1, 1, 0, -1, 1]
    answers, _, side, names, places = merged(given(comparisons=pairs, outcomes=outcomes))
    table = {
        (int(i), int(j)): (won, lost)
        for i, j, won, lost in zip(answers.first, answers.second, answers.won, answers.lost, strict=True)
    }
    assert table == {(0, 2): (0.5, 0.5), (1, 4): (1.0, 2.0), (3, 5): (1.0, 0.0)}
    assert names == []
    assert not side.any()
    for e, (i, j) in enumerate(pairs):
        there = (answers.first[places.place[e]], answers.second[places.place[e]])
        assert there == ((j, i) if places.turned[e] else (i, j))


def test_raters_keep_their_answers_and_the_side_apart():
    pairs, outcomes = [(4, 1), (1, 4), (4, 1)], [1, 1, -1]
    given_answers = given(comparisons=pairs, outcomes=outcomes)
    answers, rater, side, names, places = merged(given_answers, ["b", "a", "b"], shown_first=[4, 1, 4])
    assert names == ["b", "a"]
    assert sorted(zip(answers.first, answers.second, rater, answers.won, answers.lost, strict=True)) == [
        (1, 4, 1, 1.0, 0.0),
        (4, 1, 0, 1.0, 1.0),
    ]
    assert side.tolist() == [1, 1]
    assert not places.turned.any()


@pytest.mark.parametrize(
    "shown_first",
    [
        [4, 1, None, np.nan],
        [4, 1, -1, -1.0],
        np.array([4, 1, np.nan, -1]),
        pd.Series([4, 1, None, -1], dtype="Int64"),
    ],
)
def test_an_item_comes_first_where_it_was_shown_first_and_else_by_its_number(shown_first):
    pairs, outcomes = [(4, 1), (4, 1), (4, 1), (1, 4)], [1, 1, 1, 1]
    answers, _, side, _, places = merged(given(comparisons=pairs, outcomes=outcomes), ["a"] * 4, shown_first)
    table = sorted(zip(answers.first, answers.second, side, answers.won, answers.lost, strict=True))
    assert table == [(1, 4, 0.0, 1.0, 1.0), (1, 4, 1.0, 0.0, 1.0), (4, 1, 1.0, 1.0, 0.0)]
    assert places.turned.tolist() == [False, True, True, False]


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
def test_what_was_shown_first_is_checked(raters, shown_first, message):
    with pytest.raises(ValueError, match=message):
        merged(given(comparisons=[(4, 1), (1, 3)], outcomes=[1, 1]), raters, shown_first)


def test_labels_are_answers_about_the_threshold_and_weights_of_zero_are_nothing():
    weights = [1.0, 0.0, 2.0]  # of the two labels and the answer
    what = given(y=[1, 0], labeled=[3, 5], comparisons=[(0, 1)], outcomes=[-1], sample_weight=weights)
    answers, rater, _, _, places = merged(what)
    assert sorted(zip(answers.first, answers.second, rater, answers.won, answers.lost, strict=True)) == [
        (0, 1, 0, 0.0, 2.0),
        (3, 6, -1, 1.0, 0.0),
    ]
    assert places.place.tolist() == [0]


def test_islands_are_counted_without_items_that_were_never_compared():
    answers, *_ = merged(given(comparisons=[(0, 1), (1, 2), (3, 4)], outcomes=[1, 1, 1]))
    with pytest.warns(UserWarning, match="in 2 islands"):
        tell_islands(answers, 6)
    answers, *_ = merged(given(comparisons=[(0, 1), (1, 2)], outcomes=[1, 1]))
    tell_islands(answers, 6)
