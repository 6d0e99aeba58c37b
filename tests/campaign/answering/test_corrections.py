"""Tests of excluded raters and struck answers: they count nowhere, and are asked for again."""

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import corrections, leases
from pairsmith.campaign.answering.leases import Refused
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers, load_answers
from pairsmith.campaign.store.changes import logged
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import Clock, answer_next, answers_of, invite_people


def wanted(store):
    with store.reading() as connection:
        rows = connection.execute(sa.select(schema.pairs.c.id, schema.pairs.c.wanted)).all()
    return {row.id: row.wanted for row in rows}


def last_answer(store):
    with store.reading() as connection:
        return connection.execute(sa.select(sa.func.max(schema.answers.c.id))).scalar_one()


def test_excluded_rater_counts_nowhere_until_included_again(target, make):
    store = make(target, answers_per_pair=2, k=6)
    anna, ben = invite_people(store, 2)
    for _ in range(4):
        answer_next(store, "left", anna)
    for _ in range(3):
        answer_next(store, "right", ben)
    before, asked, seen = take_snapshot(store).answers, wanted(store), [dashboard.changes(store)]
    assert corrections.exclude(store, "p0") == 4
    seen.append(dashboard.changes(store))
    left = take_snapshot(store).answers
    assert set(left["rater"]) == {"p1"}
    assert dashboard.count(store)["answers"] == leases.progress(store, ben)["answers"] == 3
    assert sum(wanted(store).values()) == sum(asked.values()) + 4
    np.testing.assert_allclose(  # the model is fitted to the others' answers only
        fit_model(take_snapshot(store)).decision_function(store.items.features),
        fit_model(alone(store, "p1")).decision_function(store.items.features),
    )
    answer_next(store, "left", anna)  # later answers do not count either
    assert len(take_snapshot(store).answers) == 3
    assert sum(wanted(store).values()) == sum(asked.values()) + 4
    assert leases.progress(store, anna)["yours"] == 5
    leases.undo(store, anna, leases.progress(store, anna)["undo"])
    assert sum(wanted(store).values()) == sum(asked.values()) + 4
    corrections.exclude(store, "p0")  # the request came twice
    assert corrections.exclude(store, "p0", False) == 4
    seen.append(dashboard.changes(store))
    pd.testing.assert_frame_equal(take_snapshot(store).answers, before)
    assert wanted(store) == asked
    assert len(set(seen)) == 3
    with store.reading() as connection:
        assert [(row.what, row.content) for row in logged(connection)] == [
            ("included", {"name": "p0"}), ("excluded", {"name": "p0"}),
        ]  # fmt: skip


def alone(store, rater):
    snapshot = take_snapshot(store)
    given = snapshot.answers[snapshot.answers["rater"] == rater].reset_index(drop=True)
    return type(snapshot)(**{**vars(snapshot), "answers": given})


def test_unknown_rater_is_refused(target, make):
    store = make(target)
    answer_next(store)
    with pytest.raises(Refused, match="there is no rater 'carla'; there are: local"):
        corrections.exclude(store, "carla")


def test_struck_answer_is_asked_for_again_and_can_be_restored(target, make):
    clock = Clock()
    store = make(target, k=3, clock=clock)
    me = people.local_rater(store)
    for choice in ("left", "right"):
        answer_next(store, choice)
    before, asked = take_snapshot(store).answers, wanted(store)
    number = last_answer(store)
    corrections.strike(store, number, by=me)
    corrections.strike(store, number, by=me)  # the request came twice
    assert len(take_snapshot(store).answers) == dashboard.count(store)["answers"] == 1
    assert sum(wanted(store).values()) == sum(asked.values()) + 1
    with store.reading() as connection:
        every = load_answers(connection, uncounted_too=True)
        assert sorted(every["status"]) == ["counts", "struck"]
        assert corrections.left_out(connection) == (1, 0)
        (row,) = logged(connection)
        assert (row.what, row.person, row.content) == ("struck", "local", {"answer": number, "name": "local"})
    corrections.strike(store, number, False)
    pd.testing.assert_frame_equal(take_snapshot(store).answers, before)
    assert wanted(store) == asked
    # After a second strike the same person may answer the pair again, and then the old answer stays out.
    corrections.strike(store, number)
    given = {tuple(row) for row in take_snapshot(store).answers[["first", "second"]].to_numpy()}
    for _ in range(2):
        answer_next(store)
    assert len(take_snapshot(store).answers) == 3
    assert {tuple(row) for row in take_snapshot(store).answers[["first", "second"]].to_numpy()} > given
    with pytest.raises(Refused, match="has answered this pair again since"):
        corrections.strike(store, number, False)


def test_skips_and_answers_taken_back_cannot_be_struck_out(target, make):
    store = make(target)
    me = people.local_rater(store)
    answer_next(store, "skip")
    with pytest.raises(Refused, match="was skipped"):
        corrections.strike(store, last_answer(store))
    answer_next(store)
    leases.undo(store, me, leases.progress(store, me)["undo"])
    with pytest.raises(Refused, match="was taken back"):
        corrections.strike(store, last_answer(store))
    with pytest.raises(Refused, match="there is no answer 99"):
        corrections.strike(store, 99)


def test_import_does_not_restore_struck_answers(target, make):
    store = make(target)
    given = answers_of([(0, 1), (2, 3)], rater=["anna", "ben"])
    assert add_answers(store, given) == 2
    corrections.strike(store, last_answer(store))
    corrections.exclude(store, "anna")
    asked = wanted(store)
    assert add_answers(store, given) == 0
    assert len(take_snapshot(store).answers) == 0
    assert add_answers(store, answers_of([(0, 1)], rater="anna", outcome=-1)) == 1  # new, but its rater is excluded
    assert len(take_snapshot(store).answers) == 0
    assert wanted(store) == asked
    with store.reading() as connection:
        assert corrections.excluded(connection) == [{"name": "anna", "answers": 2}]


def test_struck_answer_of_an_excluded_rater_is_asked_for_once(target, make):
    store = make(target, k=4)
    (anna,) = invite_people(store, 1)
    answer_next(store, "left", anna)
    asked = wanted(store)
    corrections.exclude(store, "p0")
    corrections.strike(store, last_answer(store))
    assert sum(wanted(store).values()) == sum(asked.values()) + 1
    corrections.exclude(store, "p0", False)
    assert sum(wanted(store).values()) == sum(asked.values()) + 1
    corrections.strike(store, last_answer(store), False)
    assert wanted(store) == asked


def test_skips_are_taken_back_for_one_person(target, make):
    store = make(target, k=3)
    anna, ben = invite_people(store, 2)
    for person, choices in ((anna, ("skip", "left", "skip")), (ben, ("skip",))):
        for choice in choices:
            answer_next(store, choice, person)
    assert (corrections.skipped(store, anna), corrections.skipped(store, ben)) == (2, 1)
    assert leases.next_pair(store, anna) is None
    assert corrections.undo_skips(store, anna) == 2
    assert corrections.undo_skips(store, anna) == 0
    assert (corrections.skipped(store, anna), corrections.skipped(store, ben)) == (0, 1)
    for _ in range(2):
        answer_next(store, "right", anna)
    assert dashboard.count(store)["undone"] == 2


def test_pair_skipped_with_all_its_questions_counts_once(tmp_path, make):
    store = make(str(tmp_path / "t.db"), k=3, question=["Which is better?", "Which is longer?"])
    for _ in range(4):
        answer_next(store, "skip")
    assert corrections.skipped(store, people.local_rater(store)) == 2
