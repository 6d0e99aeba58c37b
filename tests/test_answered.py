import numpy as np
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
    answers, _, names, places = merged(given(comparisons=pairs, outcomes=outcomes), None)
    table = {
        (int(i), int(j)): (won, lost)
        for i, j, won, lost in zip(answers.first, answers.second, answers.won, answers.lost, strict=True)
    }
    assert table == {(0, 2): (0.5, 0.5), (1, 4): (1.0, 2.0), (3, 5): (1.0, 0.0)}
    assert names == []
    for e, (i, j) in enumerate(pairs):
        there = (answers.first[places.place[e]], answers.second[places.place[e]])
        assert there == ((j, i) if places.turned[e] else (i, j))


def test_raters_keep_their_answers_and_the_side_apart():
    pairs, outcomes = [(4, 1), (1, 4), (4, 1)], [1, 1, -1]
    answers, rater, names, _ = merged(given(comparisons=pairs, outcomes=outcomes), ["b", "a", "b"])
    assert names == ["b", "a"]
    assert sorted(zip(answers.first, answers.second, rater, answers.won, answers.lost, strict=True)) == [
        (1, 4, 1, 1.0, 0.0),
        (4, 1, 0, 1.0, 1.0),
    ]


def test_labels_are_answers_about_the_threshold_and_weights_of_zero_are_nothing():
    weights = [1.0, 0.0, 2.0]  # of the two labels and the answer
    what = given(y=[1, 0], labeled=[3, 5], comparisons=[(0, 1)], outcomes=[-1], sample_weight=weights)
    answers, rater, _, places = merged(what, None)
    assert sorted(zip(answers.first, answers.second, rater, answers.won, answers.lost, strict=True)) == [
        (0, 1, 0, 0.0, 2.0),
        (3, 6, -1, 1.0, 0.0),
    ]
    assert places.place.tolist() == [0]


def test_islands_are_counted_without_items_that_were_never_compared():
    answers, *_ = merged(given(comparisons=[(0, 1), (1, 2), (3, 4)], outcomes=[1, 1, 1]), None)
    with pytest.warns(UserWarning, match="in 2 islands"):
        tell_islands(answers, 6)
    answers, *_ = merged(given(comparisons=[(0, 1), (1, 2)], outcomes=[1, 1]), None)
    tell_islands(answers, 6)
