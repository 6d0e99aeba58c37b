"""Who may take part: invites, and whoever labels on this machine.

An invite is a link with a secret token, of which the database keeps only a hash. It counts only with the seal of the
user who serves the campaign: a file from elsewhere may hold invites whose links its sender knows.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign import seals
from pairsmith.campaign import statements as sql
from pairsmith.campaign.database import CampaignError
from pairsmith.campaign.schema import leases, people

if TYPE_CHECKING:
    from pairsmith.campaign.store import Store

LONGEST = 200  # characters of a name
LOCAL = "local"  # the name of whoever labels on this machine without an invite


def check_name(name: str) -> str:
    """The name without the spaces around it, which has to be one line."""
    name = name.strip()
    if not name or not name.isprintable() or len(name) > LONGEST:
        raise ValueError(f"{name[:LONGEST]!r} is no name; use 1 to {LONGEST} characters on one line")
    return name


def invite(store: Store, name: str, role: str = "labeller", quota: int | None = None) -> str:
    """A new token for this person, who is done after `quota` answers; it is told once and kept only as a hash."""
    with store.writing() as connection:
        return add_invite(connection, store, name, role, quota)


def add_invite(connection: sa.Connection, store: Store, name: str, role: str, quota: int | None = None) -> str:
    """The same, as part of a transaction."""
    found = connection.execute(
        sa.select(people.c.id, people.c.hash).where(people.c.name == name, people.c.role == role)
    ).first()
    if found is not None and found.hash is not None:
        raise CampaignError(f"{name!r} has an invite already; revoke that first to make a new one")
    token = secrets.token_urlsafe(32)
    own = hash_of(token)
    values = {"hash": own, "seal": seals.seal("invite", str(store.settings.id), name, role, own), "quota": quota}
    if found is None:
        connection.execute(people.insert().values(name=name, role=role, **values))
    else:
        connection.execute(people.update().where(people.c.id == found.id).values(**values))
    return token


def revoke(store: Store, name: str) -> int:
    """Make the links of this person worthless; how many there were. Pairs they hold return to the queue."""
    now = store.now()
    with store.writing() as connection:
        invited = sa.select(people.c.id).where(people.c.name == name, people.c.hash.is_not(None))
        found = connection.execute(invited).scalars().all()
        held = (leases.c.state == "open") & leases.c.person.in_(found) & (leases.c.expires > now)
        connection.execute(leases.update().where(held).values(expires=now))
        connection.execute(people.update().where(people.c.id.in_(found)).values(hash=None, seal=None))
    return len(found)


def person_of(store: Store, token: str, role: str) -> int | None:
    """Whose token this is, None where it is nobody's, or of an invite that came from elsewhere unconfirmed."""
    own = hash_of(token)
    with store.reading() as connection:
        found = connection.execute(sql.PERSON, {"hash": own, "role": role}).first()
    if found is None or not hmac.compare_digest(found.hash, own) or not _is_sealed(store, found):
        return None
    return int(found.id)


def invited(store: Store, confirmed: bool = True) -> list[tuple[str, str]]:
    """(name, role) of those whose links are good, or of those whose links are void until confirmed."""
    with store.reading() as connection:
        found = connection.execute(sa.select(people).where(people.c.hash.is_not(None)).order_by(people.c.id)).all()
    return [(row.name, row.role) for row in found if _is_sealed(store, row) == confirmed]


def confirm_invites(connection: sa.Connection, campaign: str, good: bool) -> None:
    """Seal all invites of the campaign with this id as this user's own, or revoke them."""
    for row in connection.execute(sa.select(people).where(people.c.hash.is_not(None))).all():
        sealed = seals.seal("invite", campaign, row.name, row.role, row.hash)
        values = {"seal": sealed} if good else {"seal": None, "hash": None}
        connection.execute(people.update().where(people.c.id == row.id).values(**values))


def local_person(store: Store) -> int:
    """Whoever labels on this machine."""
    with store.writing() as connection:
        return labeller_named(connection, LOCAL)


def labeller_named(connection: sa.Connection, name: str) -> int:
    """The labeller of this name, who needs no invite to exist."""
    found = connection.execute(
        sa.select(people.c.id).where(people.c.name == name, people.c.role == "labeller")
    ).scalar()
    if found is not None:
        return int(found)
    key = connection.execute(people.insert().values(name=name, role="labeller")).inserted_primary_key
    assert key is not None
    return int(key[0])


def excluded_ids(connection: sa.Connection) -> set[int]:
    """Those whose answers do not count."""
    return set(connection.execute(sa.select(people.c.id).where(people.c.excluded)).scalars())


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _is_sealed(store: Store, invite: Any) -> bool:
    return seals.holds(invite.seal, "invite", store.settings.id, invite.name, invite.role, invite.hash)
