"""What the model claimed at the time, and what it said of answers before they were given."""

from dataclasses import replace

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.campaign.answering import leases
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import history
from pairsmith.campaign.reporting.history import Memory, first_answers, follow, name_of
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import answer_next, answers_of


@pytest.fixture
def answered(tmp_path, make):
    """A campaign with 22 answers of people who know a linear score."""
    store = make(str(tmp_path / "t.db"), n=12, d=3, k=40)
    score = take_snapshot(store).features.to_numpy() @ [2.0, -1.0, 0.5]
    pairs = take_snapshot(store).planned[:22]
    won = np.where(score[pairs[:, 0]] > score[pairs[:, 1]], 1, -1)
    at = (1_700_000_000 + np.arange(22)) * 1_000_000
    add_answers(store, answers_of(pairs, outcome=won, at=at))
    return take_snapshot(store)


def test_marks_stay_where_they_are(answered, monkeypatch):
    class Model:
        certainty = staticmethod(lambda *_: (0.3, 0.5))
        compare = staticmethod(lambda _, pairs: np.full(len(pairs), 0.7))

    monkeypatch.setattr(history, "fit_model", lambda *_: Model)
    assert [mark for mark, _ in follow(first_answers(answered, 10), Memory())] == [4, 8, 10]
    many = replace(answered, answers=answered.answers.loc[answered.answers.index.repeat(5)])
    assert [mark for mark, _ in follow(many, Memory())] == [16, 32, 48, 64, 80, 96, 110]


def test_where_answers_come_faster_than_models_marks_are_left_out(answered, monkeypatch):
    fitted = []

    class Model:
        certainty = staticmethod(lambda *_: (0.3, 0.5))
        compare = staticmethod(lambda _, pairs: np.full(len(pairs), 0.7))

    def fit(snapshot, _model):
        fitted.append(len(snapshot.answers))
        return Model

    monkeypatch.setattr(history, "fit_model", fit)
    memory = Memory()
    many = replace(answered, answers=answered.answers.loc[answered.answers.index.repeat(5)])
    follow(first_answers(many, 16), memory)
    assert fitted == [4, 8, 12, 16]
    assert [mark for mark, _ in follow(many, memory)] == [16, 48, 80, 110]
    assert fitted[4:] == [48, 80, 110]
    assert len(memory.foretold) == 110
    again = Memory.from_json(memory.to_json())
    assert [mark for mark, _ in follow(many, again)] == [16, 48, 80, 110]
    assert fitted[7:] == [110]  # what is there is not taken for something that was lost


def test_answers_are_foretold_by_a_model_that_was_not_told_them(answered):
    memory = Memory()
    doubts = dict(follow(answered, memory))
    assert np.isnan(memory.foretold[:4]).all()
    for mark in (8, 20):
        model = fit_model(first_answers(answered, mark))
        assert doubts[mark] == pytest.approx(model.doubt_, abs=0.02)
        pairs = answered.answers[["first", "second"]].to_numpy()[mark : mark + 2]
        np.testing.assert_allclose(memory.foretold[mark : mark + 2], model.compare(answered.features, pairs), atol=0.1)
    changed = answered.answers.copy()
    changed.loc[changed.index[8:], "outcome"] *= -1  # what comes later changes nothing
    other = Memory()
    follow(replace(answered, answers=changed), other)
    np.testing.assert_allclose(other.foretold[4:12], memory.foretold[4:12])


def test_labels_foretell_the_first_answers(answered):
    memory = Memory()
    follow(replace(answered, labeled=np.array([0, 1]), labels=np.array([1, -1])), memory)
    assert np.isfinite(memory.foretold).all()


def test_a_report_computes_what_the_last_one_did_not(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), n=10, k=40)
    memory, fits = Memory(), []

    def counted(snapshot, model=None):
        fits.append(len(snapshot.answers))
        return fit_model(snapshot, model)

    monkeypatch.setattr(history, "fit_model", counted)
    for total in (6, 7, 7):
        while len(take_snapshot(store).answers) < total:
            answer_next(store)
        found = follow(take_snapshot(store), memory)
        assert [mark for mark, _ in found] == [4, total]
    assert fits == [4, 6, 7]
    assert len(memory.foretold) == 7
    # The process ends, and another one goes on.
    other = Memory.from_json(memory.to_json())
    assert follow(take_snapshot(store), other) == found
    assert fits == [4, 6, 7, 7]
    np.testing.assert_allclose(other.foretold, memory.foretold, atol=1e-4)
    # The other answer in place of the last one: back to the last mark before it.
    me = people.local_person(store)
    last = take_snapshot(store).answers.iloc[-1]
    winner = last["first"] if last["outcome"] > 0 else last["second"]
    leases.undo(store, me, leases.progress(store, me)["undo"])
    again = leases.next_pair(store, me)
    leases.answer(store, me, again.token, "right" if again.left == winner else "left")
    changed = follow(take_snapshot(store), memory)
    assert fits == [4, 6, 7, 7, 4, 7]
    assert changed[0] == found[0]
    assert changed[1] != found[1]


def test_names_tell_answers_apart(answered):
    assert name_of(answered) == name_of(replace(answered, answers=answered.answers.reset_index(drop=True)))
    for column in ("outcome", "left", "rater", "strength"):
        changed = answered.answers.copy()
        changed.loc[changed.index[3], column] = {"outcome": 0, "left": 11}.get(column, "much")
        assert name_of(replace(answered, answers=changed)) != name_of(answered)


def test_nothing_is_nothing(tmp_path, make):
    memory = Memory()
    assert follow(take_snapshot(make(str(tmp_path / "t.db"))), memory) == []
    assert memory.model is None
    assert Memory.from_json(None, {"from": 3}).outlook == {"from": 3}


def test_doubt_is_within_groups(answered):
    grouped = replace(answered, groups=np.array(["a", "b"] * 6, dtype=object))
    memory = Memory()
    (_, doubt), *_ = follow(first_answers(grouped, 4), memory)
    assert isinstance(memory.model, ps.BradleyTerryGP)
    assert doubt == pytest.approx(memory.model.certainty(grouped.features, grouped.groups)[0])
    assert doubt != pytest.approx(memory.model.doubt_, abs=1e-4)
