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
    from pairsmith.campaign.store.store import Store

HERE = "http://127.0.0.1:8000"  # where `pairsmith serve` serves by default


def invite(
    target: Campaign,
    names: Annotated[list[str] | None, typer.Argument(help="Whom to invite: a name each.", metavar="[NAME...]")] = None,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="To the dashboard instead of labelling.")] = False,
    url: Annotated[
        str | None,
        typer.Option(
            help=f"The address at which people reach the server. Default: {HERE}, which only this machine can open.",
            metavar="URL",
        ),
    ] = None,
    quota: Annotated[
        int | None, typer.Option(help="They are done after so many answers.", metavar="COUNT", min=1, max=10**9)
    ] = None,
    enrol: Annotated[
        int | None,
        typer.Option(help="One link instead, by which so many people invite themselves with a name.", metavar="COUNT"),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Make new links for people who have one; the old links stop working.")
    ] = False,
) -> None:
    """Make invite links, which are shown once. They are needed wherever the campaign is served beyond this machine.

    [bold]pairsmith campaign invite retina.db anna ben --url https://label.example.org[/bold]
    """
    address = HERE if url is None else url.rstrip("/")
    scheme, _, server = address.partition("://")
    if scheme not in ("http", "https") or not server or not server.isprintable() or " " in server:
        raise ValueError(f"--url {url!r} is not of the form https://label.example.org")
    if (enrol is None) == (not names):
        raise ValueError("name the people to invite, or give --enrol with their number, and not both")
    if quota is not None and (dashboard or enrol is not None):
        raise ValueError("--quota is of raters by name; everybody's is that of pairsmith campaign goals --quota")
    if dashboard and enrol is not None:
        raise ValueError("--enrol is for raters; invite to the --dashboard by name")
    if again and enrol is not None:
        raise ValueError("--again is for people by name; --enrol makes one more link")
    needs_app()
    from pairsmith.campaign.people import enrolment
    from pairsmith.campaign.people import invites as people

    role, path = ("organiser", "organise") if dashboard else ("rater", "join")
    invited = [people.check_name(name) for name in names or ()]
    with open_campaign(target) as store:
        if enrol is not None:
            say(f"{counted(enrol, 'place')}: {address}/enrol/{enrolment.open_places(store, enrol)}")
        else:
            for name, token in zip(invited, people.invite_all(store, invited, role, quota, again), strict=True):
                say(f"{name}: {address}/{path}/{token}")
    if url is None:
        repeat = "repeat the command with --again" if enrol is None else "make another"
        say(
            f"Warning: only this machine can open {'this link' if len(invited) < 2 else 'these links'}. For others,"
            f" {repeat} and with the address of the server: --url https://label.example.org",
            sys.stderr,
        )


def revoke(
    target: Campaign,
    names: Annotated[list[str] | None, typer.Argument(help="Whose links.", metavar="[NAME...]")] = None,
    enrol: Annotated[bool, typer.Option("--enrol", help="The links by which people invite themselves.")] = False,
) -> None:
    """Make invite links worthless. Answers given stay, and so do people who came by a link for many."""
    if not names and not enrol:
        raise ValueError("name the people whose links to revoke, or give --enrol")
    needs_app()
    from pairsmith.campaign.people import enrolment
    from pairsmith.campaign.people import invites as people

    with open_campaign(target) as store:
        invited = [name for good in (True, False) for name, _ in people.invited(store, good)]
        for name in names or ():  # all of them, before the first is revoked
            if name not in invited:
                raise ValueError(f"{name!r} has no invite; invited: {', '.join(invited) or 'nobody'}")
        if enrol:
            say(f"{counted(enrolment.close(store), 'place')} revoked.")
        for name in names or ():
            people.revoke(store, name)
            say(f"{name}: revoked.")


def list_people(target: Campaign) -> None:
    """Who has an invite."""
    needs_app()
    from pairsmith.campaign.people import enrolment
    from pairsmith.campaign.people import invites as people

    with open_campaign(target, changes=False) as store:
        good, void = people.invited(store), people.invited(store, confirmed=False)
        places = enrolment.all_places(store)
    for name, role in good:
        say(f"{role}  {name}")
    for name, role in void:
        say(f"{role}  {name}  (void: made elsewhere; pairsmith campaign trust confirms it)")
    if places:
        say(f"{counted(places, 'place')} left by link")
    if not good and not void and not places:
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
    from pairsmith.campaign.people import trust
    from pairsmith.campaign.store.media import MediaError, open_file

    files = trust.files(store)
    if media is not None and not media.is_dir():
        raise ValueError(f"--media {media}: there is no such folder")
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
    from pairsmith.campaign.people import enrolment, trust
    from pairsmith.campaign.people import invites as people

    files = len(trust.files(store))
    names = ", ".join(f"{name} ({role})" for good in (True, False) for name, role in people.invited(store, good))
    lines = [f"  shows {counted(files, 'file')} of {folder}"] if files else []
    if places := sum(enrolment.all_places(store, good) for good in (True, False)):
        names += f"{', ' if names else ''}{counted(places, 'place')} for whoever has the link"
    return lines + ([f"  {'lets in by invite link' if invites else 'revoked'}: {names}"] if names else [])
