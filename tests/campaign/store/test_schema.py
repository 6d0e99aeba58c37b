"""The tables of a campaign."""

import pytest
import sqlalchemy as sa

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next, version_1


def shape_of(store):
    """Tables, columns, uniques, foreign keys and indexes, as the database itself tells them."""
    inspector = sa.inspect(store.engine)
    return {
        table: {
            "columns": {
                (column["name"], str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)
            },
            "primary": inspector.get_pk_constraint(table)["constrained_columns"],
            "unique": {tuple(unique["column_names"]) for unique in inspector.get_unique_constraints(table)},
            "foreign": {
                (*key["constrained_columns"], key["referred_table"]) for key in inspector.get_foreign_keys(table)
            },
            "indexes": {(index["name"], *index["column_names"]) for index in inspector.get_indexes(table)},
        }
        for table in inspector.get_table_names()
    }


def test_a_campaign_that_was_migrated_has_the_tables_of_a_new_one(tmp_path, make):
    """SQLite cannot add a constraint to a table, so `pairs_differ` is held by other means there.

    Nor can it drop one: each pair once, which holds where there is one question, stays.
    """
    new = make(str(tmp_path / "new.db"))
    version_1(str(tmp_path / "old.db"), [(0, 1, 1, 0)])
    with Store(str(tmp_path / "old.db")) as old:
        found = shape_of(old)
        assert found["pairs"]["unique"] == {("first", "second")}
        found["pairs"]["unique"] = set()
        assert found == shape_of(new)
    assert set(shape_of(new)) == set(schema.tables.tables)


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


def test_what_cannot_be_is_refused_by_the_tables_themselves(target, make):
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
