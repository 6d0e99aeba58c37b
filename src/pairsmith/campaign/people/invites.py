"""Invites of raters and organisers, and the rater at this machine, who needs none.

An invite is a link with a secret token, of which the database keeps only a hash. It is valid only with the seal of the
user who serves the campaign: a file from elsewhere may hold invites whose links its sender knows.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign.people import seals
from pairsmith.campaign.people.lookalikes import find_lookalike, is_visible
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.database import CampaignError, Refused
from pairsmith.campaign.store.raters import LOCAL, UNNAMED, find_or_add_rater
from pairsmith.campaign.store.schema import leases, people

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

MAX_NAME_LENGTH = 200
RESERVED = {LOCAL: "the rater at this machine", UNNAMED: "answers that are imported without a name"}


def check_name(name: str) -> str:
    """Return the name with single spaces, or raise unless it is one line with something to see."""
    single = " ".join(name.split())
    one_line = len(name.strip().splitlines()) == 1 and single.isprintable()
    if not one_line or not is_visible(single) or len(single) > MAX_NAME_LENGTH:
        raise ValueError(f"{name[:MAX_NAME_LENGTH]!r} is no name; use 1 to {MAX_NAME_LENGTH} characters on one line")
    return single


def check_free(connection: sa.Connection, name: str, new: bool = False) -> None:
    """Refuse a name that is reserved, or that people would mistake for another name in the campaign.

    Exactly the same name means the same person, and is refused only if the person must be `new`.
    """
    reserved = find_lookalike(name, RESERVED)
    if reserved is not None:
        raise Refused(409, f"{_spelt(name)} is reserved for {RESERVED[reserved]}; choose another name")
    names = connection.execute(sa.select(people.c.name).distinct().order_by(people.c.name)).scalars().all()
    if name in names:
        if new:
            raise Refused(409, f"somebody is called {name!r} already; choose another name")
        return
    similar = find_lookalike(name, names)
    if similar is not None:
        raise Refused(409, f"{_spelt(name)} looks like {_spelt(similar)}, who is there already; choose another name")


def _spelt(name: str) -> str:
    """Return the name in quotes, also with escapes if its letters may not be what they look like."""
    return repr(name) if name.isascii() else f"{name!r} (spelt {name!a})"


def invite(store: Store, name: str, role: str = "rater", quota: int | None = None) -> str:
    """Return a new token for this person, who is done after `quota` answers. The database keeps only its hash."""
    (token,) = invite_all(store, [name], role, quota)
    return token


def invite_all(
    store: Store, names: Sequence[str], role: str = "rater", quota: int | None = None, again: bool = False
) -> list[str]:
    """Return a new token for each of these people, or raise and invite nobody.

    People who have an invite are refused unless they are invited `again`. Then new tokens replace the old ones.
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise CampaignError(f"{twice[0]!r} is named twice; name each person once")
    with store.writing() as connection:
        has_invite = sa.select(people.c.name).where(people.c.role == role, people.c.hash.is_not(None))
        invited_names = set(connection.execute(has_invite).scalars())
        refused = [repr(name) for name in names if name in invited_names]
        if refused and not again:
            raise CampaignError(
                f"{', '.join(refused)} {'has an invite' if len(refused) == 1 else 'have invites'} already; repeat the"
                " command with --again to replace the old links"
            )
        return [add_invite(connection, store, name, role, quota) for name in names]


def add_invite(connection: sa.Connection, store: Store, name: str, role: str, quota: int | None = None) -> str:
    """Return a new token for this person, as part of a transaction.

    If they have a token, the new one replaces it, and their quota stays unless another is given.
    """
    check_free(connection, name)
    person = connection.execute(sa.select(people).where(people.c.name == name, people.c.role == role)).first()
    if person is not None and person.program:
        raise CampaignError(f"{name!r} is a program that judges in this campaign; choose another name")
    if quota is None and person is not None and person.hash is not None:
        quota = person.quota
    token = secrets.token_urlsafe(32)
    token_hash = hash_of(token)
    sealed = seals.seal("invite", str(store.settings.id), name, role, token_hash)
    values = {"hash": token_hash, "seal": sealed, "quota": quota}
    if person is None:
        connection.execute(people.insert().values(name=name, role=role, **values))
    else:
        connection.execute(people.update().where(people.c.id == person.id).values(**values))
    return token


def revoke(store: Store, name: str) -> int:
    """Revoke the invites of this person and return how many there were. Pairs they hold return to the queue."""
    now = store.now()
    with store.writing() as connection:
        invited_ids = sa.select(people.c.id).where(people.c.name == name, people.c.hash.is_not(None))
        ids = connection.execute(invited_ids).scalars().all()
        held = (leases.c.state == "open") & leases.c.person.in_(ids) & (leases.c.expires > now)
        connection.execute(leases.update().where(held).values(expires=now))
        connection.execute(people.update().where(people.c.id.in_(ids)).values(hash=None, seal=None))
    return len(ids)


def person_with_token(store: Store, token: str, role: str) -> int | None:
    """Return the id of the person with this token, or None unless this user made or confirmed such an invite."""
    token_hash = hash_of(token)
    with store.reading() as connection:
        person = connection.execute(sql.PERSON, {"hash": token_hash, "role": role}).first()
    if person is None or not hmac.compare_digest(person.hash, token_hash) or not _is_sealed(store, person):
        return None
    return int(person.id)


def invited(store: Store, confirmed: bool = True) -> list[tuple[str, str]]:
    """Return (name, role) of everybody with a valid invite, or with one that is void until this user confirms it."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(people).where(people.c.hash.is_not(None)).order_by(people.c.id)).all()
    return [(row.name, row.role) for row in rows if _is_sealed(store, row) == confirmed]


def confirm_invites(connection: sa.Connection, campaign: str, accept: bool) -> None:
    """Seal all invites of the campaign with this id as this user's own, or revoke them."""
    for row in connection.execute(sa.select(people).where(people.c.hash.is_not(None))).all():
        sealed = seals.seal("invite", campaign, row.name, row.role, row.hash)
        values = {"seal": sealed} if accept else {"seal": None, "hash": None}
        connection.execute(people.update().where(people.c.id == row.id).values(**values))


def local_rater(store: Store) -> int:
    """Return the id of the rater at this machine."""
    with store.writing() as connection:
        return find_or_add_rater(connection, LOCAL)


def hash_of(token: str) -> str:
    """Return the hash that the database keeps of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _is_sealed(store: Store, invite: Any) -> bool:
    return seals.is_valid(invite.seal, "invite", store.settings.id, invite.name, invite.role, invite.hash)
