"""Tests of the doubt claimed over time, and of predictions made before the answers."""

from dataclasses import replace

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.campaign.answering import leases
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.people import invites
from pairsmith.campaign.reporting import history
from pairsmith.campaign.reporting.history import ReportState, fingerprint, first_answers, update_history
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import answer_next, answers_of


@pytest.fixture
def answered(tmp_path, make):
    """A campaign with 22 answers by people who know a linear score."""
    store = make(str(tmp_path / "t.db"), n=12, d=3, k=40)
    score = take_snapshot(store).features.to_numpy() @ [2.0, -1.0, 0.5]
    pairs = take_snapshot(store).planned[:22]
    won = np.where(score[pairs[:, 0]] > score[pairs[:, 1]], 1, -1)
    at = (1_700_000_000 + np.arange(22)) * 1_000_000
    add_answers(store, answers_of(pairs, outcome=won, at=at))
    return take_snapshot(store)


def test_marks_stay_in_place_as_answers_come_in(answered, monkeypatch):
    class Model:
        certainty = staticmethod(lambda *_: (0.3, 0.5))
        compare = staticmethod(lambda _, pairs: np.full(len(pairs), 0.7))

    monkeypatch.setattr(history, "fit_model", lambda *_: Model)
    assert [mark for mark, _ in update_history(first_answers(answered, 10), ReportState())] == [4, 8, 10]
    many = replace(answered, answers=answered.answers.loc[answered.answers.index.repeat(5)])
    assert [mark for mark, _ in update_history(many, ReportState())] == [16, 32, 48, 64, 80, 96, 110]


def test_marks_are_left_out_when_answers_come_faster_than_models(answered, monkeypatch):
    fitted = []

    class Model:
        certainty = staticmethod(lambda *_: (0.3, 0.5))
        compare = staticmethod(lambda _, pairs: np.full(len(pairs), 0.7))

    def fit(snapshot, _model):
        fitted.append(len(snapshot.answers))
        return Model

    monkeypatch.setattr(history, "fit_model", fit)
    state = ReportState()
    many = replace(answered, answers=answered.answers.loc[answered.answers.index.repeat(5)])
    update_history(first_answers(many, 16), state)
    assert fitted == [4, 8, 12, 16]
    assert [mark for mark, _ in update_history(many, state)] == [16, 48, 80, 110]
    assert fitted[4:] == [48, 80, 110]
    assert len(state.predictions) == 110
    again = ReportState.from_json(state.to_json())
    assert [mark for mark, _ in update_history(many, again)] == [16, 48, 80, 110]
    assert fitted[7:] == [110]  # kept predictions are not discarded


def test_answers_are_predicted_by_a_model_of_earlier_answers_only(answered):
    state = ReportState()
    doubts = dict(update_history(answered, state))
    assert np.isnan(state.predictions[:4]).all()
    for mark in (8, 20):
        model = fit_model(first_answers(answered, mark))
        assert doubts[mark] == pytest.approx(model.doubt_, abs=0.02)
        pairs = answered.answers[["first", "second"]].to_numpy()[mark : mark + 2]
        np.testing.assert_allclose(
            state.predictions[mark : mark + 2], model.compare(answered.features, pairs), atol=0.1
        )
    changed = answered.answers.copy()
    changed.loc[changed.index[8:], "outcome"] *= -1  # later answers change nothing
    other = ReportState()
    update_history(replace(answered, answers=changed), other)
    np.testing.assert_allclose(other.predictions[4:12], state.predictions[4:12])


def test_labels_predict_the_first_answers(answered):
    state = ReportState()
    update_history(replace(answered, labeled=np.array([0, 1]), labels=np.array([1, -1])), state)
    assert np.isfinite(state.predictions).all()


def test_update_fits_only_the_marks_that_the_last_one_did_not(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), n=10, k=40)
    state, fits = ReportState(), []

    def counted(snapshot, model=None):
        fits.append(len(snapshot.answers))
        return fit_model(snapshot, model)

    monkeypatch.setattr(history, "fit_model", counted)
    for total in (6, 7, 7):
        while len(take_snapshot(store).answers) < total:
            answer_next(store)
        found = update_history(take_snapshot(store), state)
        assert [mark for mark, _ in found] == [4, total]
    assert fits == [4, 6, 7]
    assert len(state.predictions) == 7
    # Another process continues from the stored state.
    other = ReportState.from_json(state.to_json())
    assert update_history(take_snapshot(store), other) == found
    assert fits == [4, 6, 7, 7]
    np.testing.assert_allclose(other.predictions, state.predictions, atol=1e-4)
    # The last answer is replaced by its opposite: the history goes back to the mark before it.
    me = invites.local_rater(store)
    last = take_snapshot(store).answers.iloc[-1]
    winner = last["first"] if last["outcome"] > 0 else last["second"]
    leases.undo(store, me, leases.progress(store, me)["undo"])
    again = leases.next_pair(store, me)
    leases.answer(store, me, again.token, "right" if again.left == winner else "left")
    changed = update_history(take_snapshot(store), state)
    assert fits == [4, 6, 7, 7, 4, 7]
    assert changed[0] == found[0]
    assert changed[1] != found[1]


def test_fingerprints_differ_with_the_answers(answered):
    assert fingerprint(answered) == fingerprint(replace(answered, answers=answered.answers.reset_index(drop=True)))
    for column in ("outcome", "left", "rater", "strength"):
        changed = answered.answers.copy()
        changed.loc[changed.index[3], column] = {"outcome": 0, "left": 11}.get(column, "much")
        assert fingerprint(replace(answered, answers=changed)) != fingerprint(answered)


def test_history_without_answers_is_empty(tmp_path, make):
    state = ReportState()
    assert update_history(take_snapshot(make(str(tmp_path / "t.db"))), state) == []
    assert state.model is None
    assert ReportState.from_json(None, {"from": 3}).forecast == {"from": 3}


def test_doubt_is_about_pairs_within_groups(answered):
    grouped = replace(answered, groups=np.array(["a", "b"] * 6, dtype=object))
    state = ReportState()
    (_, doubt), *_ = update_history(first_answers(grouped, 4), state)
    assert isinstance(state.model, ps.BradleyTerryGP)
    assert doubt == pytest.approx(state.model.certainty(grouped.features, grouped.groups)[0])
    assert doubt != pytest.approx(state.model.doubt_, abs=1e-4)
