"""Where a campaign comes from: whether this user made it, or confirmed what it shows and whom it lets in."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from pairsmith.campaign.people import enrolment, seals
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import items
from pairsmith.campaign.store.schema import campaign

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


def is_confirmed(store: Store) -> bool:
    """Whether this user made the campaign, or confirmed it with this folder."""
    settings = store.settings
    return seals.holds(settings.seal, "campaign", settings.id, settings.folder or "")


def confirm(store: Store, folder: str | None, invites: bool = True) -> None:
    """Make the campaign this user's own, with its files in this folder and with its invites, or without them."""
    own = str(store.settings.id or secrets.token_hex(16))
    settings = replace(store.settings, id=own, folder=folder, seal=seals.seal("campaign", own, folder or ""))
    with store.writing() as connection:
        stored = connection.execute(sa.select(campaign.c.settings)).scalar_one()
        connection.execute(campaign.update().values(settings=stored | settings.to_stored()))
        people.confirm_invites(connection, own, invites)
        enrolment.confirm_links(connection, own, invites)
    store.settings = settings


def files(store: Store) -> list[tuple[str, str]]:
    """(kind, path in the folder) of each file that the campaign shows."""
    with store.reading() as connection:
        return items.files(connection)
