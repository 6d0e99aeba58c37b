"""Links by which people enrol themselves: they give a name and get an invite, until the link's places run out.

As with invites, the database keeps only a hash of a link, and a link is valid only with this user's seal. The seal
covers the number of places left, so it is renewed with each enrolment.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign.people import invites, seals
from pairsmith.campaign.store.changes import log
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.schema import enrolments

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

MAX_PLACES = 10_000
VOID = "this link is not good (any more); ask for a new one"


def open_places(store: Store, places: int) -> str:
    """Return the token of a new link with this many places. It cannot be read again: the database keeps its hash."""
    if not 1 <= places <= MAX_PLACES:
        raise ValueError(f"--enrol must be between 1 and {MAX_PLACES} people, got {places}")
    token = secrets.token_urlsafe(32)
    link_hash = invites.hash_of(token)
    with store.writing() as connection:
        sealed = _seal(str(store.settings.id), link_hash, places)
        connection.execute(enrolments.insert().values(hash=link_hash, places=places, seal=sealed))
        log(connection, store.now(), None, "enrol", places=places)
    return token


def places_left(store: Store, token: str) -> int | None:
    """Return how many more people may enrol by this link, or None if it is not valid."""
    with store.reading() as connection:
        link = _find_link(connection, store, token)
    return None if link is None else link.places


def enrol(store: Store, token: str, name: str) -> str:
    """Enrol a rater by this link and under this name, and return the token of their own invite."""
    with store.writing() as connection:
        link = _find_link(connection, store, token)
        if link is None:
            raise Refused(401, VOID)
        if link.places < 1:
            raise Refused(410, "all places of this link are taken; ask for a new one")
        try:
            name = invites.check_name(name)
        except ValueError as error:
            raise Refused(422, str(error)) from None
        invites.check_free(connection, name, new=True)
        left = link.places - 1
        values = {"places": left, "seal": _seal(str(store.settings.id), link.hash, left)}
        connection.execute(enrolments.update().where(enrolments.c.id == link.id).values(values))
        return invites.add_invite(connection, store, name, "rater")


def close(store: Store) -> int:
    """Close all links and return how many places they had left. Raters who enrolled by them stay."""
    with store.writing() as connection:
        lost = connection.execute(sa.select(sa.func.coalesce(sa.func.sum(enrolments.c.places), 0))).scalar_one()
        connection.execute(enrolments.update().values(places=0, seal=None))
        log(connection, store.now(), None, "close enrolment", places=int(lost))
    return int(lost)


def all_places(store: Store, confirmed: bool = True) -> int:
    """Return how many places all valid links have left, or all links that are void until this user confirms them."""
    with store.reading() as connection:
        links = connection.execute(sa.select(enrolments).where(enrolments.c.places > 0)).all()
    return sum(link.places for link in links if _is_sealed(store, link) == confirmed)


def confirm_links(connection: sa.Connection, campaign: str, accept: bool) -> None:
    """Seal all links of the campaign with this id as this user's own, or close them."""
    for link in connection.execute(sa.select(enrolments).where(enrolments.c.places > 0)).all():
        values = {"seal": _seal(campaign, link.hash, link.places)} if accept else {"seal": None, "places": 0}
        connection.execute(enrolments.update().where(enrolments.c.id == link.id).values(values))


def _find_link(connection: sa.Connection, store: Store, token: str) -> Any:
    link = connection.execute(sa.select(enrolments).where(enrolments.c.hash == invites.hash_of(token))).first()
    return link if link is not None and _is_sealed(store, link) else None


def _is_sealed(store: Store, link: Any) -> bool:
    return seals.is_valid(link.seal, "enrolment", store.settings.id, link.hash, str(link.places))


def _seal(campaign: str, link_hash: str, places: int) -> str:
    return seals.seal("enrolment", campaign, link_hash, str(places))
