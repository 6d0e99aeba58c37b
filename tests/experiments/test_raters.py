"""Tests of experiments/raters.py."""

import pytest
import raters


def test_simulated_raters_answer_as_their_names_say():
    snapshot = raters.simulate_campaign(200, 0)
    given = snapshot.answers
    assert given["rater"].value_counts().to_dict() == {
        **{f"honest {at}": 200 for at in range(4)}, "random": 200, "one-sided": 200}  # fmt: skip
    assert (given["first"] < given["second"]).all()
    assert ((given["left"] == given["first"]) | (given["left"] == given["second"])).all()
    chose_left = (given["outcome"] > 0) == (given["left"] == given["first"])
    share = chose_left.groupby(given["rater"]).mean()
    assert share["one-sided"] == pytest.approx(0.9, abs=0.06)
    assert share["random"] == pytest.approx(0.5, abs=0.1)


def test_flags_are_counted_by_kind_of_rater(monkeypatch, capsys):
    found = raters.simulate_flags(60, 1)
    assert sorted(row["who"] for row in found) == ["honest"] * 4 + ["one-sided", "random"]
    assert [row["one-sided"] for row in found if row["who"] == "one-sided"] == [True]
    monkeypatch.setattr(raters, "simulate_flags", lambda each, seed: found)
    monkeypatch.setattr("sys.argv", ["raters.py", "--campaigns", "1"])
    raters.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(raters.ANSWERS_EACH)
    assert lines[2].startswith("| 20 | ")
