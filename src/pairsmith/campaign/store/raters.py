"""Raters as the database knows them: by name, with or without an invite."""

from __future__ import annotations

import sqlalchemy as sa

from pairsmith.campaign.store.schema import people

LOCAL = "local"  # the name of whoever labels on this machine without an invite
UNNAMED = "imported"  # the rater of imported answers that name nobody


def rater_named(connection: sa.Connection, name: str) -> int:
    """The rater of this name, who needs no invite to exist."""
    found = connection.execute(sa.select(people.c.id).where(people.c.name == name, people.c.role == "rater")).scalar()
    if found is not None:
        return int(found)
    key = connection.execute(people.insert().values(name=name, role="rater")).inserted_primary_key
    assert key is not None
    return int(key[0])


def excluded_ids(connection: sa.Connection) -> set[int]:
    """Those whose answers do not count."""
    return set(connection.execute(sa.select(people.c.id).where(people.c.excluded)).scalars())
