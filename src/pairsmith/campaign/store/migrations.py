"""Bring the tables of an earlier version up to this one."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from pairsmith.campaign.store import schema
from pairsmith.campaign.store.schema import campaign

# MIGRATIONS[v - 1] turns version v into v + 1. All that are needed run in one transaction.
MIGRATIONS: list[Callable[[sa.Connection], None]] = []


def migrate(engine: sa.Engine) -> None:
    """Bring a campaign up to this version, or leave it as it was."""
    with engine.execution_options(write=True).begin() as connection:
        version = connection.execute(sa.select(campaign.c.version)).scalar_one()  # another process may have been faster
        for step in MIGRATIONS[version - 1 :]:
            step(connection)
        connection.execute(sa.update(campaign).values(version=schema.VERSION))
