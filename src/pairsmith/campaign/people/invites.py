"""Who may take part: invites, and whoever labels on this machine.

An invite is a link with a secret token, of which the database keeps only a hash. It counts only with the seal of the
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
from pairsmith.campaign.people.lookalikes import is_visible, resembling
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.database import CampaignError, Refused
from pairsmith.campaign.store.raters import LOCAL, UNNAMED, rater_named
from pairsmith.campaign.store.schema import leases, people

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

LONGEST = 200  # characters of a name
RESERVED = {LOCAL: "whoever labels on this machine", UNNAMED: "answers that are imported without a name"}


def check_name(name: str) -> str:
    """Return the name with single blanks, or raise if it is not one line that can be seen."""
    single = " ".join(name.split())
    one_line = len(name.strip().splitlines()) == 1 and single.isprintable()
    if not one_line or not is_visible(single) or len(single) > LONGEST:
        raise ValueError(f"{name[:LONGEST]!r} is no name; use 1 to {LONGEST} characters on one line")
    return single


def check_free(connection: sa.Connection, name: str, new: bool = False) -> None:
    """Refuse a name that is reserved, or that people would take for another name in the campaign.

    A name that is there letter by letter means the same person again; it is refused only where they have to be `new`.
    """
    reserved = resembling(name, RESERVED)
    if reserved is not None:
        raise Refused(409, f"{_spelt(name)} is reserved for {RESERVED[reserved]}; choose another name")
    there = connection.execute(sa.select(people.c.name).distinct().order_by(people.c.name)).scalars().all()
    if name in there:
        if new:
            raise Refused(409, f"somebody is called {name!r} already; choose another name")
        return
    taken = resembling(name, there)
    if taken is not None:
        raise Refused(409, f"{_spelt(name)} looks like {_spelt(taken)}, who is there already; choose another name")


def _spelt(name: str) -> str:
    """Return the name in quotes, and letter by letter where these may not be what they look like."""
    return repr(name) if name.isascii() else f"{name!r} (spelt {name!a})"


def invite(store: Store, name: str, role: str = "rater", quota: int | None = None) -> str:
    """A new token for this person, who is done after `quota` answers; it is told once and kept only as a hash."""
    (token,) = invite_all(store, [name], role, quota)
    return token


def invite_all(
    store: Store, names: Sequence[str], role: str = "rater", quota: int | None = None, again: bool = False
) -> list[str]:
    """Return a new token for each of these people; either all of them get one or nobody.

    Those who have an invite are refused, unless they are invited `again`: their new tokens replace the old ones.
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise CampaignError(f"{twice[0]!r} is named twice; name each person once")
    with store.writing() as connection:
        has_invite = sa.select(people.c.name).where(people.c.role == role, people.c.hash.is_not(None))
        invited = set(connection.execute(has_invite).scalars())
        have = [repr(name) for name in names if name in invited]
        if have and not again:
            raise CampaignError(
                f"{', '.join(have)} {'has an invite' if len(have) == 1 else 'have invites'} already; repeat the command"
                " with --again to replace the old links"
            )
        return [add_invite(connection, store, name, role, quota) for name in names]


def add_invite(connection: sa.Connection, store: Store, name: str, role: str, quota: int | None = None) -> str:
    """Return a new token for this person, as part of a transaction.

    It replaces a token that they have, and then keeps their quota unless another is given.
    """
    check_free(connection, name)
    found = connection.execute(sa.select(people).where(people.c.name == name, people.c.role == role)).first()
    if found is not None and found.program:
        raise CampaignError(f"{name!r} is a program that judges in this campaign; choose another name")
    if quota is None and found is not None and found.hash is not None:
        quota = found.quota
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
        return rater_named(connection, LOCAL)


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _is_sealed(store: Store, invite: Any) -> bool:
    return seals.holds(invite.seal, "invite", store.settings.id, invite.name, invite.role, invite.hash)
