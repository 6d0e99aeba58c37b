"""The log of what organisers did to a campaign."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pairsmith.campaign.store.schema import changes, people


def log(connection: sa.Connection, at: int, by: int | None, what: str, **content: Any) -> None:
    """Record what an organiser did. `by` is None for a command."""
    connection.execute(changes.insert().values(at=at, person=by, what=what, content=content))


def logged(connection: sa.Connection, limit: int = 50) -> list[Any]:
    """Return the newest entries of the log, newest first: at, person (their name, or None), what, content."""
    query = sa.select(changes.c.at, people.c.name.label("person"), changes.c.what, changes.c.content)
    return list(connection.execute(query.join(people, isouter=True).order_by(changes.c.id.desc()).limit(limit)))
