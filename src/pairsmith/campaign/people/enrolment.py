"""Links by which people invite themselves: whoever opens one gives a name and gets an invite, until places run out.

As with invites, the database keeps only a hash of a link, and a link counts only with this user's seal, which is made
anew with each place that is taken.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.people import seals
from pairsmith.campaign.store.changes import log
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.schema import enrolments

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

MOST = 10_000  # places of a link
VOID = "this link is not good (any more); ask for a new one"


def open_places(store: Store, places: int) -> str:
    """The token of a new link for so many people; it is told once and kept only as a hash."""
    if not 1 <= places <= MOST:
        raise ValueError(f"--enrol must be between 1 and {MOST} people, got {places}")
    token = secrets.token_urlsafe(32)
    own = people.hash_of(token)
    with store.writing() as connection:
        sealed = _seal(str(store.settings.id), own, places)
        connection.execute(enrolments.insert().values(hash=own, places=places, seal=sealed))
        log(connection, store.now(), None, "enrol", places=places)
    return token


def places_left(store: Store, token: str) -> int | None:
    """How many more people may come by this link; None where it is none."""
    with store.reading() as connection:
        found = _found(connection, store, token)
    return None if found is None else found.places


def enrol(store: Store, token: str, name: str) -> str:
    """The token of an invite of their own for whoever came by this link and gives this name."""
    with store.writing() as connection:
        link = _found(connection, store, token)
        if link is None:
            raise Refused(401, VOID)
        if link.places < 1:
            raise Refused(410, "all places of this link are taken; ask for a new one")
        try:
            name = people.check_name(name)
        except ValueError as error:
            raise Refused(422, str(error)) from None
        people.check_free(connection, name, new=True)
        left = link.places - 1
        values = {"places": left, "seal": _seal(str(store.settings.id), link.hash, left)}
        connection.execute(enrolments.update().where(enrolments.c.id == link.id).values(values))
        return people.add_invite(connection, store, name, "rater")


def close(store: Store) -> int:
    """Make all links worthless; how many places they had left. Who came by them stays."""
    with store.writing() as connection:
        lost = connection.execute(sa.select(sa.func.coalesce(sa.func.sum(enrolments.c.places), 0))).scalar_one()
        connection.execute(enrolments.update().values(places=0, seal=None))
        log(connection, store.now(), None, "close enrolment", places=int(lost))
    return int(lost)


def all_places(store: Store, confirmed: bool = True) -> int:
    """Places left by all links that are good, or by those that are void until confirmed."""
    with store.reading() as connection:
        found = connection.execute(sa.select(enrolments).where(enrolments.c.places > 0)).all()
    return sum(link.places for link in found if _is_sealed(store, link) == confirmed)


def confirm_links(connection: sa.Connection, campaign: str, good: bool) -> None:
    """Seal all links of the campaign with this id as this user's own, or make them worthless."""
    for link in connection.execute(sa.select(enrolments).where(enrolments.c.places > 0)).all():
        values = {"seal": _seal(campaign, link.hash, link.places)} if good else {"seal": None, "places": 0}
        connection.execute(enrolments.update().where(enrolments.c.id == link.id).values(values))


def _found(connection: sa.Connection, store: Store, token: str) -> Any:
    link = connection.execute(sa.select(enrolments).where(enrolments.c.hash == people.hash_of(token))).first()
    return link if link is not None and _is_sealed(store, link) else None


def _is_sealed(store: Store, link: Any) -> bool:
    return seals.holds(link.seal, "enrolment", store.settings.id, link.hash, str(link.places))


def _seal(campaign: str, own: str, places: int) -> str:
    return seals.seal("enrolment", campaign, own, str(places))
