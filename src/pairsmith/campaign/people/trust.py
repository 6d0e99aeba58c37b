"""Trust in a campaign: whether this user made it, or confirmed its folder and its invites."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from pairsmith.campaign.people import enrolment, invites, seals
from pairsmith.campaign.store import items
from pairsmith.campaign.store.schema import campaign

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


def is_confirmed(store: Store) -> bool:
    """Return whether this user made the campaign, or confirmed it with its present folder."""
    settings = store.settings
    return seals.is_valid(settings.seal, "campaign", settings.id, settings.folder or "")


def confirm(store: Store, folder: str | None, with_invites: bool = True) -> None:
    """Seal the campaign as this user's own, with its files in this folder. Accept its invites, or revoke them."""
    own = str(store.settings.id or secrets.token_hex(16))
    settings = replace(store.settings, id=own, folder=folder, seal=seals.seal("campaign", own, folder or ""))
    with store.writing() as connection:
        stored = connection.execute(sa.select(campaign.c.settings)).scalar_one()
        connection.execute(campaign.update().values(settings=stored | settings.to_stored()))
        invites.confirm_invites(connection, own, with_invites)
        enrolment.confirm_links(connection, own, with_invites)
    store.settings = settings


def files(store: Store) -> list[tuple[str, str]]:
    """Return (kind, path in the folder) of each file that raters see."""
    with store.reading() as connection:
        return items.files(connection)
