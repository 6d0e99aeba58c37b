"""What every command on a campaign begins with: the extra that campaigns need, and the campaign, opened."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from pairsmith.data.names import printable

if TYPE_CHECKING:
    from pairsmith.campaign.snapshot import CampaignSnapshot
    from pairsmith.campaign.store import Store

Campaign = Annotated[str, typer.Argument(help="A campaign: an SQLite file or a postgresql:// URL.", metavar="CAMPAIGN")]


def needs_app() -> None:
    """One line where the extra is not installed."""
    for module in ("sqlalchemy", "fastapi", "uvicorn", "jinja2", "markdown_it", "nh3"):
        if find_spec(module) is None:
            raise ValueError(f"campaigns need {module}; pip install 'pairsmith[app]'")


def open_campaign(target: str, changes: bool = True) -> Store:
    """The campaign at this place. Without `changes`, a read-only file will do."""
    needs_app()
    from pairsmith.campaign.store import Store

    return Store(target, changes=changes)


def snapshot_of(target: str, *refused: object) -> CampaignSnapshot:
    """A campaign as it is, for fit, rank and select; options that it has its own answer to are refused."""
    needs_app()
    from pairsmith.campaign.snapshot import take_snapshot

    if any(option for option in refused):
        raise ValueError(
            f"{shown(target)} is a campaign and brings its own items, features, groups, labels and answers; leave out"
            " the options that name others"
        )
    with open_campaign(target, changes=False) as store:
        return take_snapshot(store)


def nothing_to_learn(target: str) -> str:
    """Why no answer of this campaign counts: there are none, or all were left out."""
    from pairsmith.campaign import counted
    from pairsmith.campaign.corrections import left_out

    with open_campaign(target, changes=False) as store, store.reading() as connection:
        struck, excluded = left_out(connection)
    if struck + excluded == 0:
        return f"{shown(target)} has no answers yet; label some pairs first"
    return (
        f"of {shown(target)} all {counted(struck + excluded, 'answer')} are left out: {struck} struck out, {excluded}"
        " of excluded labellers; restore some on the dashboard, or count them with pairsmith campaign include"
    )


def say(text: str, to: TextIO | None = None) -> None:
    """Print what may hold names from files: control characters reach no terminal."""
    print(printable(text), file=to, flush=True)


def shown(target: str) -> str:
    """The campaign's name, without its password."""
    from pairsmith.campaign import database

    return database.shown(target)
