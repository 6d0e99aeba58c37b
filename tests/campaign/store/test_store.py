"""Transactions and caches of an open campaign."""

import threading

import pytest
import sqlalchemy as sa

from pairsmith.campaign.store import items, schema
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.store import Store
from support.campaigns import Clock


def notes(connection):
    return connection.execute(sa.select(schema.reports.c.content)).scalars().all()


def note(connection, text):
    connection.execute(schema.reports.insert().values(name=text, content=text))


def test_a_change_is_whole_or_not_at_all(target, make):
    store = make(target)

    def twice(connection):
        for _ in range(2):  # the second of one name is refused
            note(connection, "half")

    with pytest.raises(CampaignError), store.writing() as connection:
        twice(connection)
    with store.reading() as connection:
        assert notes(connection) == []
    with store.writing() as connection:
        note(connection, "whole")
    with Store(target) as other, other.reading() as connection:
        assert notes(connection) == ["whole"]


def test_a_reader_sees_one_state(target, make):
    store = make(target)
    with store.reading() as connection:
        before = notes(connection)
        with Store(target) as other, other.writing() as writing:
            note(writing, "meanwhile")
        assert notes(connection) == before
    with store.reading() as connection:
        assert notes(connection) == ["meanwhile"]


def test_writers_take_turns(target, make):
    """Each counts what is there and adds one more: had two counted at once, a number would come twice."""
    store = make(target)

    def add(_):
        with store.writing() as connection:
            note(connection, str(len(notes(connection))))

    threads = [threading.Thread(target=add, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.reading() as connection:
        assert sorted(notes(connection)) == [str(at) for at in range(8)]


def test_time_is_in_microseconds(tmp_path, make):
    clock = Clock()
    store = make(str(tmp_path / "t.db"), clock=clock)
    clock.now += 0.25
    assert store.now() == 1_700_000_000_250_000


def test_constant_content_is_read_once(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"))
    assert store.items is store.items
    assert store.settings is store.settings
    shown = store.parts(2)
    assert shown == [("text", "002")]
    monkeypatch.setattr(items, "parts", None)
    assert store.parts(2) == shown
