"""The experiments about those who made the items, and those who answer."""

import authors
import numpy as np
import pytest
import raters


def test_answers_are_to_pairs_of_one_prompt():
    pairs = authors.random_pairs(3, 5, np.random.default_rng(0))
    assert pairs.shape == (authors.AN_ANSWER * 15, 2)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert (pairs[:, 0] // 3 == pairs[:, 1] // 3).all()
    assert set(pairs.ravel()) == set(range(15))


@pytest.mark.parametrize(("features", "share"), [(0, 0.0), (3, 0.5)])
def test_intervals_of_authors_are_looked_at(features, share):
    inside, width = authors.covered(3, 4, features, share, 0)
    assert inside.shape == width.shape == (3,)
    assert (width > 0.5).all()  # four answers that differ by 1 are not known to be worth more exactly than that
    again, _ = authors.covered(3, 4, features, share, 0)
    np.testing.assert_array_equal(inside, again)


def test_who_is_who_among_the_raters():
    snapshot = raters.campaign(200, 0)
    given = snapshot.answers
    assert given["labeller"].value_counts().to_dict() == {
        **{f"honest {at}": 200 for at in range(4)}, "random": 200, "one-sided": 200}  # fmt: skip
    assert (given["first"] < given["second"]).all()
    assert ((given["left"] == given["first"]) | (given["left"] == given["second"])).all()
    chose_left = (given["outcome"] > 0) == (given["left"] == given["first"])
    share = chose_left.groupby(given["labeller"]).mean()
    assert share["one-sided"] == pytest.approx(0.9, abs=0.06)
    assert share["random"] == pytest.approx(0.5, abs=0.1)


def test_flags_are_counted_by_who_people_are(monkeypatch, capsys):
    found = raters.flagged(60, 1)
    assert sorted(row["who"] for row in found) == ["honest"] * 4 + ["one-sided", "random"]
    assert [row["one-sided"] for row in found if row["who"] == "one-sided"] == [True]
    monkeypatch.setattr(raters, "flagged", lambda each, seed: found)
    monkeypatch.setattr("sys.argv", ["raters.py", "--campaigns", "1"])
    raters.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(raters.EACH)
    assert lines[2].startswith("| 20 | ")


def test_the_table_of_authors(monkeypatch, capsys):
    monkeypatch.setattr(authors, "covered", lambda *given: (np.array([True, False]), np.array([1.0, 2.0])))
    monkeypatch.setattr("sys.argv", ["authors.py", "--simulations", "1"])
    authors.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(authors.FEATURES) * len(authors.AUTHORS)
    assert lines[-1] == "| 20 features, a tenth | 20 | 50.0 ± 0.0 | 1.50 | 50.0 ± 0.0 | 1.50 |"
