"""Campaigns of an earlier version."""

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites
from pairsmith.campaign.store import migrations, schema
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store


def test_an_older_version_is_migrated_whole_or_not_at_all(target, make, monkeypatch):
    store = make(target)
    lease = leases.next_pair(store, invites.local_rater(store))
    leases.answer(store, invites.local_rater(store), lease.token, "left")
    store.close()

    def note(connection):
        connection.exec_driver_sql("ALTER TABLE answers ADD COLUMN note TEXT")

    def fail(connection):
        raise CampaignError("no")

    now, steps = schema.VERSION, migrations.MIGRATIONS
    monkeypatch.setattr(schema, "VERSION", now + 2)
    monkeypatch.setattr(migrations, "MIGRATIONS", [*steps, note, fail])
    with pytest.raises(CampaignError, match="no"):
        Store(target)
    monkeypatch.setattr(schema, "VERSION", now + 1)
    monkeypatch.setattr(migrations, "MIGRATIONS", [*steps, note])
    for _ in range(2):  # the second time there is nothing to do
        store = Store(target)
        with store.reading() as connection:
            assert connection.exec_driver_sql("SELECT note FROM answers").all() == [(None,)]
            assert connection.execute(sa.select(schema.campaign.c.version)).scalar_one() == now + 1
        assert len(take_snapshot(store).answers) == 1
        store.close()


def test_each_version_before_this_one_has_its_migration():
    assert len(migrations.MIGRATIONS) == schema.VERSION - 1
