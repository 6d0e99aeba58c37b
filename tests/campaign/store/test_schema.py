"""The tables of a campaign."""

import pytest
import sqlalchemy as sa

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import answer_next, answers_of


def test_a_new_campaign_has_all_tables(target, make):
    assert set(sa.inspect(make(target).engine).get_table_names()) == set(schema.tables.tables)


PAIR = ["first", "second", "round", "wanted"]
WRONG = {
    "a pair of one item": schema.pairs.insert().values(first=1, second=1, round=1, wanted=1),
    "a pair of an item that is not there": schema.pairs.insert().values(first=1, second=99, round=1, wanted=1),
    "a pair twice": schema.pairs.insert().from_select(PAIR, sa.select(*(schema.pairs.c[name] for name in PAIR))),
    "two answers to a lease": schema.answers.insert().values(lease=1, outcome=1, at=0),
    "an answer to no lease": schema.answers.insert().values(lease=99, outcome=1, at=0),
    "an undo of no answer": schema.undos.insert().values(answer=99, at=0),
    "two items of one name": schema.items.insert().values(row=50, name="000", features=b"", parts=[], lean=0),
    "two people of one name and role": schema.people.insert().values(name="anna", role="rater"),
}


def test_the_tables_refuse_invalid_rows(target, make):
    store = make(target)
    people.invite(store, "anna")
    answer_next(store)
    for what, statement in WRONG.items():
        try:
            with store.writing() as connection:
                connection.execute(statement)
        except CampaignError:
            continue
        pytest.fail(f"{what} found a place")


def test_a_pair_of_an_item_with_itself_is_refused(target, make):
    store = make(target)
    for pair in ((1, 1), (2, 1)):
        with pytest.raises(CampaignError, match="pairs_differ"):
            add_answers(store, answers_of([pair]))
    with pytest.raises(CampaignError, match="pairs_differ"), store.writing() as connection:
        connection.execute(schema.pairs.update().values(second=schema.pairs.c.first))
    assert len(take_snapshot(store).answers) == 0
