"""Commands for who takes part in a campaign, and whether its maker is trusted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairsmith.campaign import counted
from pairsmith.cli.opening import Campaign, needs_app, open_campaign, say, shown

if TYPE_CHECKING:
    from pairsmith.campaign.store import Store


def invite(
    target: Campaign,
    names: Annotated[list[str], typer.Argument(help="Whom to invite: a name each.", metavar="NAME...")],
    dashboard: Annotated[bool, typer.Option("--dashboard", help="To the dashboard instead of labelling.")] = False,
    url: Annotated[
        str, typer.Option(help="How the server is reached from outside.", metavar="URL")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Make invite links, which are shown once. They are needed wherever the campaign is served beyond this machine.

    [bold]pairsmith campaign invite retina.db anna ben --url https://label.example.org[/bold]
    """
    scheme, _, server = url.partition("://")
    if scheme not in ("http", "https") or not server.strip("/"):
        raise ValueError(f"--url {url!r} is not of the form https://label.example.org")
    needs_app()
    from pairsmith.campaign import people

    role, path = ("organiser", "organise") if dashboard else ("labeller", "join")
    with open_campaign(target) as store:
        for name in names:
            if not name.strip() or not name.isprintable() or len(name) > 200:
                raise ValueError(f"{name[:200]!r} is no name; use 1 to 200 characters on one line")
            say(f"{name}: {url.rstrip('/')}/{path}/{people.invite(store, name, role)}")


def revoke(
    target: Campaign, names: Annotated[list[str], typer.Argument(help="Whose links.", metavar="NAME...")]
) -> None:
    """Make invite links worthless. Answers given stay."""
    needs_app()
    from pairsmith.campaign import people

    with open_campaign(target) as store:
        for name in names:
            if people.revoke(store, name) == 0:
                invited = ", ".join(found for found, _ in people.invited(store)) or "nobody"
                raise ValueError(f"{name!r} has no invite; invited: {invited}")
            say(f"{name}: revoked.")


def list_people(target: Campaign) -> None:
    """Who has an invite."""
    needs_app()
    from pairsmith.campaign import people

    with open_campaign(target, changes=False) as store:
        good, void = people.invited(store), people.invited(store, confirmed=False)
    for name, role in good:
        say(f"{role}  {name}")
    for name, role in void:
        say(f"{role}  {name}  (void: made elsewhere; pairsmith campaign trust confirms it)")
    if not good and not void:
        say(f"Nobody is invited yet: pairsmith campaign invite {shown(target)} NAME")


def confirm_trust(
    target: Campaign,
    media: Annotated[
        Path | None,
        typer.Option(help="Where its files are, if not where they were when it was made.", metavar="FOLDER"),
    ] = None,
    invites: Annotated[
        bool, typer.Option("--invites/--no-invites", help="Whether its invite links are good, or revoked.")
    ] = True,
) -> None:
    """Confirm a campaign that another user or machine made: the folder it shows files of, and its invite links.

    [bold]pairsmith campaign trust retina.db --media pictures[/bold]
    """
    with open_campaign(target) as store:
        confirm(store, media, invites)


def confirm(store: Store, media: Path | None = None, invites: bool = True) -> None:
    """Make a campaign this user's own, and say what that means."""
    from pairsmith.campaign import trust
    from pairsmith.campaign.media_files import MediaError, open_file

    files = trust.files(store)
    named = media or store.settings.folder
    folder = os.path.realpath(named) if files and named else None
    if files and not (folder and os.path.isdir(folder)):
        raise ValueError(
            f"{shown(store.target)} shows {counted(len(files), 'file')} of {folder or 'no folder'}, which is not there;"
            f" say where {'it is' if len(files) == 1 else 'they are'} with --media"
        )
    for line in wants(store, folder, invites):
        say(line)
    for kind, path in files:
        try:
            open_file(str(folder), path, kind).close()
        except MediaError as error:
            say(f"Warning: {path} {error}", sys.stderr)
    trust.confirm(store, folder, invites)
    say(f"Confirmed {shown(store.target)}.")


def wants(store: Store, folder: str | None, invites: bool = True) -> list[str]:
    """What a campaign shows and whom it lets in, a line each."""
    from pairsmith.campaign import people, trust

    files = len(trust.files(store))
    names = ", ".join(f"{name} ({role})" for good in (True, False) for name, role in people.invited(store, good))
    lines = [f"  shows {counted(files, 'file')} of {folder}"] if files else []
    return lines + ([f"  {'lets in by invite link' if invites else 'revoked'}: {names}"] if names else [])
