"""The model of a campaign."""

from dataclasses import replace

import numpy as np
import pytest

import pairsmith as ps
from campaigns import answer_next
from pairsmith.campaign.learning import evidence, fit_model
from pairsmith.campaign.snapshot import take_snapshot


def test_the_model_is_fitted_to_labels_and_answers(tmp_path, make):
    store = make(str(tmp_path / "t.db"), labels=(np.array([0, 4]), np.array([1, -1])))
    for choice in ("left", "right", "tie", "skip", "left"):
        answer_next(store, choice)
    snapshot = take_snapshot(store)
    answers = snapshot.answers
    assert len(answers) == 4
    X = snapshot.features.to_numpy()
    model = fit_model(snapshot)
    expected = ps.BradleyTerry(ridge=model.ridge).fit(
        X,
        np.array([1, -1]),
        labeled=np.array([0, 4]),
        comparisons=answers[["first", "second"]].to_numpy(),
        outcomes=answers["outcome"].to_numpy(),
    )
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)


def test_without_labels_and_answers_there_is_no_model(tmp_path, make):
    snapshot = take_snapshot(make(str(tmp_path / "t.db")))
    assert evidence(snapshot) == {}
    assert fit_model(snapshot) is None


def test_labels_that_are_words_say_nothing(tmp_path, make):
    snapshot = take_snapshot(make(str(tmp_path / "t.db")))
    words = replace(snapshot, labeled=np.array([0, 1]), labels=np.array(["good", "bad"]))
    with pytest.raises(ValueError, match="'bad' and 'good'"):
        fit_model(words)
