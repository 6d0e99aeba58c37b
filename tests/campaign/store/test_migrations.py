"""Campaigns of earlier versions."""

import os

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.people import trust
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.store import database, migrations, schema
from pairsmith.campaign.store.answers import add as add_answers
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import SVG, answer_next, version_1


def test_an_older_version_is_migrated_whole_or_not_at_all(target, make, monkeypatch):
    store = make(target)
    lease = leases.next_pair(store, people.local_person(store))
    leases.answer(store, people.local_person(store), lease.token, "left")
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


def test_a_pair_of_an_item_with_itself_has_no_place(target, make, tmp_path):
    made = make(target)
    version_1(str(tmp_path / "old.db"), [(0, 1, 1, 0)])
    old = Store(str(tmp_path / "old.db"))
    if "postgresql" in target:
        old.close()
        with made.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE pairs DROP CONSTRAINT pairs_differ")
            migrations.MIGRATIONS[0](connection)
        old = made
    for store in (made, old):
        before = len(take_snapshot(store).answers)
        for first, second in ((1, 1), (2, 1)):
            wrong = pd.DataFrame(
                {"first": [first], "second": [second], "outcome": [1], "left": [1], "rater": ["a"],
                 "seconds": [np.nan], "at": [np.nan]}
            )  # fmt: skip
            with pytest.raises(CampaignError, match="pairs_differ"):
                add_answers(store, wrong)
        with pytest.raises(CampaignError, match="pairs_differ"), store.writing() as connection:
            connection.execute(schema.pairs.update().values(second=schema.pairs.c.first))
        assert len(take_snapshot(store).answers) == before
    old.close()


@pytest.mark.parametrize("shown", ["files", "text"])
def test_campaigns_of_the_first_version_open_and_count_as_not_confirmed(target, make, tmp_path, run, shown):
    (tmp_path / "deep").mkdir()
    for name in ("a.svg", "deep/b.svg"):
        (tmp_path / name).write_bytes(SVG)
    parts = [[("image", "a.svg"), ("image", "deep/b.svg"), ("text", "/text")]] * 12 if shown == "files" else None
    store = make(target, parts=parts, media=tmp_path)
    token = people.invite(store, "anna")
    downgrade(store, tmp_path)
    with Store(target) as again:
        assert again.settings.folder == (os.path.realpath(tmp_path) if shown == "files" else None)
        assert again.parts(3) == store.parts(3)
        assert not trust.is_confirmed(again)
        assert people.person_of(again, token, "rater") is None
    assert run("serve", target, "--no-open")[0] == 2
    assert run("campaign", "trust", target)[0] == 0
    with Store(target) as again:
        assert trust.is_confirmed(again)
        assert people.person_of(again, token, "rater") is not None


def downgrade(store, folder):
    """Make it what the first version would have made, with files in this folder."""
    with store.writing() as connection:
        for table in ("enrolments", "wordings", "changes"):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        later = {
            "campaign": ["state", "goals", "gold_rate"],
            "items": ["prompt", "author"],
            "pairs": ["why", "gold", "question"],
            "people": ["seal", "quota", "excluded", "program"],
            "leases": ["why", "wording"],
            "answers": ["strength", "comment"],
        }
        connection.exec_driver_sql("DROP INDEX pairs_once")
        for table, columns in later.items():
            for column in columns:
                connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.exec_driver_sql("DROP INDEX pairs_second")
        if store.engine.dialect.name == "postgresql":  # SQLite's migration leaves a constraint that is there alone
            connection.exec_driver_sql("ALTER TABLE pairs DROP CONSTRAINT pairs_differ")
        for row, parts in connection.execute(sa.select(schema.items.c.row, schema.items.c.parts)).all():
            absolute = [[kind, value if kind == "text" else os.path.realpath(folder / value)] for kind, value in parts]
            connection.execute(schema.items.update().where(schema.items.c.row == row).values(parts=absolute))
        old = {key: value for key, value in store.settings.to_stored().items() if key not in ("id", "media", "seal")}
        connection.execute(schema.campaign.update().values(version=1, settings=old))


def test_migrated_tables_are_those_of_a_new_campaign(target):
    version_1(target, [(0, 1, 1, 0)])
    with Store(target) as store:
        inspector = sa.inspect(store.engine)
        for table in schema.tables.sorted_tables:
            found = {column["name"]: column["nullable"] for column in inspector.get_columns(table.name)}
            assert found == {column.name: column.nullable for column in table.columns}
        with store.reading() as connection:
            assert connection.execute(sa.select(schema.campaign.c.state, schema.campaign.c.goals)).one() == ("open", {})
            assert connection.execute(sa.select(schema.leases.c.why)).scalars().all() == [schema.IMPORTED]


def test_hostile_parts_do_not_stop_the_migration(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    downgrade(store, tmp_path)
    odd = [5, {}, [], [[]], [["image"]], [["image", 5]], [["image", "x.png"]], [["image", "/etc/a.png"]]]
    with store.writing() as connection:
        for row, parts in enumerate(odd):
            connection.execute(schema.items.update().where(schema.items.c.row == row).values(parts=parts))
    with Store(store.target) as again:
        assert again.settings.folder == "/etc"
        assert trust.files(again) == [("image", "a.png"), ("image", "x.png")]


def test_a_campaign_of_the_second_version_opens(target):
    """Between the first two migrations: pairs differ, and there are no seals yet."""
    version_1(target, [(0, 1, 1, 0), (0, 2, -1, 2)])
    engine = database.connect(target)
    with engine.execution_options(write=True).begin() as connection:
        migrations.MIGRATIONS[0](connection)
        connection.execute(sa.update(schema.campaign).values(version=2))
    engine.dispose()
    with Store(target) as store:
        with store.reading() as connection:
            assert connection.execute(sa.select(schema.campaign.c.version)).scalar_one() == schema.VERSION
        assert store.settings.answers_per_pair == 1
        assert store.settings.id
        assert take_snapshot(store).answers["outcome"].tolist() == [1, -1]
        assert planning.plan_round(store)
        answer_next(store)
        given = take_snapshot(store).answers
        assert len(given) == 3
        assert set(given["strength"]) == set(given["comment"]) == {""}
        assert people.person_of(store, people.invite(store, "anna"), "rater") is not None
