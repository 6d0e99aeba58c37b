"""How the tables of earlier versions become those of this one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

import sqlalchemy as sa

from pairsmith.campaign.store import schema
from pairsmith.campaign.store.media import common_folder, parts_with_files
from pairsmith.campaign.store.schema import campaign, items


def _refuse_self_pairs(connection: sa.Connection) -> None:
    """The constraint pairs_differ. Pairs of an item with itself, made by imports of version 1, stay, but are not asked.

    They are mended by `repair`. SQLite cannot add a constraint to a table that is there, and a new table would
    need foreign keys off, which no transaction can turn off, and a place for those pairs: triggers do the same.
    """
    run = connection.exec_driver_sql
    run('UPDATE pairs SET wanted = 0 WHERE "first" = "second"')
    run(
        "UPDATE leases SET expires = 0 WHERE state = 'open' AND"
        ' pair IN (SELECT id FROM pairs WHERE "first" = "second")'
    )
    if connection.dialect.name == "sqlite":
        for event in ("INSERT", "UPDATE"):
            run(
                f'CREATE TRIGGER pairs_differ_{event} BEFORE {event} ON pairs WHEN NEW."first" >= NEW."second"'
                " BEGIN SELECT RAISE(ABORT, 'CHECK constraint failed: pairs_differ'); END"
            )
    else:  # NOT VALID: rows that are there already are not checked, so self-pairs may stay
        run('ALTER TABLE pairs ADD CONSTRAINT pairs_differ CHECK ("first" < "second") NOT VALID')


def _confine_files(connection: sa.Connection) -> None:
    """Name files by their place in one folder of the campaign, and add seals.

    A campaign that was made before has no seal: it counts as confirmed by nobody.
    """
    connection.exec_driver_sql("ALTER TABLE people ADD COLUMN seal TEXT")
    connection.exec_driver_sql("CREATE INDEX pairs_second ON pairs (second)")
    shown = {row.row: row.parts for row in connection.execute(sa.select(items.c.row, items.c.parts))}
    folder = common_folder(path for parts in shown.values() for _, _, path in parts_with_files(parts))
    for row, parts in shown.items():
        for at, kind, path in parts_with_files(parts):
            if folder and os.path.isabs(path):
                parts[at] = [kind, os.path.relpath(path, folder)]
        connection.execute(items.update().where(items.c.row == row).values(parts=parts))
    settings = connection.execute(sa.select(campaign.c.settings)).scalar_one()
    settings = {**settings, "id": secrets.token_hex(16), "media": folder or None, "seal": None}
    connection.execute(campaign.update().values(settings=settings))


def _grade_and_comment(connection: sa.Connection) -> None:
    """Answers may say how much better, and have a comment."""
    for column in ("strength", "comment"):
        connection.exec_driver_sql(f"ALTER TABLE answers ADD COLUMN {column} TEXT")


def _let_organisers_act(connection: sa.Connection) -> None:
    """Why pairs are asked, what organisers change, and when a campaign is over.

    A campaign that was made before has one question, so that its own constraint, each pair once, may stay.
    """
    for table in (schema.enrolments, schema.wordings, schema.changes):
        table.create(connection)
    no = "false" if connection.dialect.name == "postgresql" else "0"
    for column in (
        "campaign ADD COLUMN state TEXT NOT NULL DEFAULT 'open'",
        "campaign ADD COLUMN goals JSON NOT NULL DEFAULT '{}'",
        "campaign ADD COLUMN gold_rate FLOAT",
        "items ADD COLUMN prompt TEXT",
        "items ADD COLUMN author TEXT",
        "pairs ADD COLUMN why TEXT NOT NULL DEFAULT 'designed'",
        "pairs ADD COLUMN gold INTEGER",
        "pairs ADD COLUMN question INTEGER NOT NULL DEFAULT 0",
        "people ADD COLUMN quota INTEGER",
        f"people ADD COLUMN excluded BOOLEAN NOT NULL DEFAULT {no}",
        f"people ADD COLUMN program BOOLEAN NOT NULL DEFAULT {no}",
        "leases ADD COLUMN why TEXT NOT NULL DEFAULT 'designed'",
        "leases ADD COLUMN wording INTEGER",
    ):
        connection.exec_driver_sql(f"ALTER TABLE {column}")
    connection.exec_driver_sql("CREATE UNIQUE INDEX pairs_once ON pairs (first, second, question)")
    connection.exec_driver_sql(f"UPDATE leases SET why = 'imported' WHERE expires = {schema.MADE_ELSEWHERE}")
    connection.exec_driver_sql("UPDATE pairs SET why = 'imported' WHERE round = 0")


# MIGRATIONS[v - 1] turns version v into v + 1; all that are needed run in one transaction.
MIGRATIONS: list[Callable[[sa.Connection], None]] = [
    _refuse_self_pairs,
    _confine_files,
    _grade_and_comment,
    _let_organisers_act,
]


def migrate(engine: sa.Engine) -> None:
    """Bring a campaign to this version, or leave it as it was."""
    with engine.execution_options(write=True).begin() as connection:
        version = connection.execute(sa.select(campaign.c.version)).scalar_one()  # somebody else may have been faster
        for step in MIGRATIONS[version - 1 :]:
            step(connection)
        connection.execute(sa.update(campaign).values(version=schema.VERSION))
