"""Raters in the database: found by name, with or without an invite."""

from __future__ import annotations

import sqlalchemy as sa

from pairsmith.campaign.store.schema import people

LOCAL = "local"  # the rater at this machine, who needs no invite
UNNAMED = "imported"  # the rater of imported answers without a name


def find_or_add_rater(connection: sa.Connection, name: str) -> int:
    """Return the id of the rater of this name, who is added if there is none."""
    rater = connection.execute(sa.select(people.c.id).where(people.c.name == name, people.c.role == "rater")).scalar()
    if rater is not None:
        return int(rater)
    key = connection.execute(people.insert().values(name=name, role="rater")).inserted_primary_key
    assert key is not None
    return int(key[0])


def excluded_rater_ids(connection: sa.Connection) -> set[int]:
    """Return the ids of the people whose answers do not count."""
    return set(connection.execute(sa.select(people.c.id).where(people.c.excluded)).scalars())
