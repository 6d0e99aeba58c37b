"""Load and add answers."""

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import leases
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers, strength_weights
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import Clock, answers_of, invite_people


def test_one_file_imported_by_two_at_once_counts_once(target, make, monkeypatch):
    one, two = make(target), Store(target)
    given = answers_of([(0, 1), (0, 1), (2, 5), (3, 4)], at=[1e15, np.nan, np.nan, 3e15])
    writing = two.writing

    def late():
        assert add_answers(one, given) == 4  # between whatever the other has read and its right to write
        return writing()

    monkeypatch.setattr(two, "writing", late)
    assert add_answers(two, given) == 0
    assert len(take_snapshot(one).answers) == 4
    two.close()


def test_imported_answers_lower_the_answers_wanted(target, make):
    store = make(target, answers_per_pair=3, k=4)
    planned = tuple(map(int, take_snapshot(store).planned[0]))
    elsewhere = next(
        (i, j) for i in range(12) for j in range(i + 1, 12) if [i, j] not in take_snapshot(store).planned.tolist()
    )
    given = answers_of([planned, elsewhere, planned], seconds=[1.25, np.nan, 1e9], rater=["anna", "ben", "ben"])
    assert add_answers(store, given) == 3
    assert add_answers(store, given) == 0
    assert add_answers(store, given[:0]) == 0
    with store.reading() as connection:
        rows = connection.execute(sa.select(schema.pairs)).all()
    wanted = {(row.first, row.second): (row.wanted, row.round) for row in rows}
    assert wanted[planned] == (1, 1)
    assert wanted[elsewhere] == (2, 0)
    assert sorted(take_snapshot(store).answers["seconds"].dropna()) == [1.25, 86400]
    assert dashboard.count(store)["answers"] == 3


def test_each_answer_has_the_reason_its_pair_was_asked(target, make):
    """As it was when the pair was shown, whatever happens to the pair afterwards."""
    store = make(target, n=20, k=8, random_share=0.5, answers_per_pair=2)
    anna, ben = invite_people(store, 2)
    rows, pairs = sa.select(schema.pairs).order_by(schema.pairs.c.id), schema.pairs
    with store.reading() as connection:
        asked = {(row.first, row.second): row.why for row in connection.execute(rows)}
    assert sorted(asked.values()) == 4 * ["designed"] + 4 * ["random"]
    for _ in range(8):
        lease = leases.next_pair(store, anna)
        leases.answer(store, anna, lease.token, "left")
    again = leases.undo(store, anna, lease.token)
    with store.writing() as connection:
        connection.execute(pairs.update().values(why="repeated"))
    leases.answer(store, anna, again.token, "right")
    given = take_snapshot(store).answers
    assert {(row.first, row.second): row.why for row in given.itertuples()} == asked
    leases.answer(store, ben, leases.next_pair(store, ben).token, "left")
    assert take_snapshot(store).answers["why"].iloc[-1] == "repeated"
    planned = next(iter(asked))
    add_answers(store, answers_of([planned, (18, 19)]))
    given = take_snapshot(store).answers
    assert given.loc[given["elsewhere"], "why"].tolist() == ["imported", "imported"]


def test_an_abandoned_pair_is_taken_up_for_its_newest_reason(tmp_path, make):
    clock = Clock()
    store = make(str(tmp_path / "t.db"), random_share=0, clock=clock)
    (anna,) = invite_people(store, 1)
    left = leases.next_pair(store, anna)
    clock.now += 3600
    with store.writing() as connection:
        connection.execute(schema.pairs.update().values(why="repeated"))
    taken_up = leases.next_pair(store, anna)
    assert taken_up.token == left.token
    leases.answer(store, anna, taken_up.token, "left")
    assert take_snapshot(store).answers["why"].tolist() == ["repeated"]


@pytest.mark.parametrize("much", [1, 3, 7])
def test_strength_weights_are_the_scores_of_the_cumulative_logit_model(much):
    """Of ten answers so many "much": what is learned from each beside a plain answer, by numeric derivatives."""

    def logit(x):
        return 1 / (1 + np.exp(-x))

    threshold = -np.log(much / 20 / (1 - much / 20))  # beyond it lies half of the share on either side
    learned = [
        (np.log(chance(1e-5)) - np.log(chance(-1e-5))) / 2e-5
        for chance in (logit, lambda f: logit(f - threshold), lambda f: logit(f) - logit(f - threshold))
    ]
    strengths = much * ["much"] + (10 - much) * ["slightly"] + ["", "much"]
    given = pd.DataFrame({"strength": strengths, "rater": 11 * ["anna"] + ["ben"]})
    found = strength_weights(given)
    np.testing.assert_allclose(found[0], learned[1] / learned[0], rtol=1e-6)
    np.testing.assert_allclose(found[9], learned[2] / learned[0], rtol=1e-6)
    np.testing.assert_allclose(found[:10].mean(), 1)  # no more is claimed than without grades
    assert found[10:].tolist() == [1, 1]  # not graded; and one whose "much" distinguishes nothing
