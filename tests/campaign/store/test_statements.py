"""The SQL of every request: what it selects is tested by who asks (test_leases.py), here how, and in which
order."""

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import leases
from pairsmith.campaign.store import schema
from pairsmith.campaign.store import statements as sql
from support.campaigns import Clock, invite_people


@pytest.mark.parametrize("repeats", [False, True])
def test_the_next_pair_is_found_by_the_partial_index(tmp_path, make, repeats):
    """Among a million answered pairs it would take a second to look at all of them, each time."""
    store = make(str(tmp_path / "t.db"))
    told = []

    @sa.event.listens_for(store.engine, "before_cursor_execute")
    def explain(connection, cursor, statement, values, context, many):
        if "EXPLAIN" not in statement and "SELECT" in statement:
            told.extend(row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values))

    with store.reading() as connection:
        connection.execute(sql.NEXT_FREE_PAIR[repeats], {"now": 0, "person": 1})
    (pairs,) = [line for line in told if " pairs" in line]
    assert "INDEX pairs_wanted" in pairs
    assert not [line for line in told if line.startswith("SCAN leases")]


def test_the_newest_undone_pair_is_held_first_and_then_the_oldest(target, make):
    clock = Clock()
    store = make(target, clock=clock, lease_seconds=60.0)
    (anna,) = invite_people(store, 1)
    one = leases.next_pair(store, anna)
    two = leases.next_pair(store, anna, [one.token])
    with store.reading() as connection:
        ask = {"person": anna, "now": store.now()}
        assert [row.token for row in connection.execute(sql.HELD, ask)] == [one.token, two.token]
    leases.answer(store, anna, two.token, "left")
    again = leases.undo(store, anna, two.token)
    with store.reading() as connection:
        assert [row.token for row in connection.execute(sql.HELD, ask)] == [again.token, one.token]
        late = ask | {"now": store.now() + 61 * schema.SECOND}
        assert connection.execute(sql.HELD, late).all() == []


def test_shown_finds_the_items_a_person_saw(target, make):
    store = make(target)
    anna, ben = invite_people(store, 2)
    lease = leases.next_pair(store, anna)
    with store.reading() as connection:
        for person, items in ((anna, {lease.left, lease.right}), (ben, set())):
            asked = ((row, {"person": person, "row": row}) for row in range(12))
            assert {row for row, values in asked if connection.execute(sql.SHOWN, values).scalar()} == items


def test_progress_counts_all_answers_own_answers_and_answers_wanted(target, make):
    store = make(target, k=6, answers_per_pair=2)
    anna, ben = invite_people(store, 2)
    for person, choice in ((anna, "left"), (anna, "skip"), (ben, "right")):
        leases.answer(store, person, leases.next_pair(store, person).token, choice)
    with store.reading() as connection:
        row = connection.execute(sql.PROGRESS, {"person": anna}).one()
        wanted = connection.execute(sa.select(sa.func.sum(schema.pairs.c.wanted))).scalar_one()
    assert (row.total, row.own, row.wanted) == (2, 1, wanted) == (2, 1, 10)
