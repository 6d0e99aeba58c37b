"""Commands for the people of a campaign: invites, trust, how well raters answer, and whose answers count."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairsmith.campaign import counted
from pairsmith.cli.inputs import (
    Campaign,
    WhichQuestion,
    check_app_installed,
    display_name,
    nothing_to_learn,
    open_campaign,
    question_index,
)
from pairsmith.cli.output import say
from pairsmith.data.names import printable

if TYPE_CHECKING:
    from rich.table import Table

    from pairsmith.campaign.store.store import Store

Names = Annotated[list[str], typer.Argument(help="The names of raters.", metavar="NAME...")]
LOCAL_URL = "http://127.0.0.1:8000"  # the default of pairsmith serve


def invite(
    target: Campaign,
    names: Annotated[
        list[str] | None, typer.Argument(help="The names of the people to invite.", metavar="[NAME...]")
    ] = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Invite to the dashboard, as organisers, instead of as raters.")
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(
            help=f"The address at which people reach the server. Default: {LOCAL_URL}, which only this machine can"
            " open.",
            metavar="URL",
        ),
    ] = None,
    quota: Annotated[
        int | None,
        typer.Option(
            help="The number of answers after which these raters are done.", metavar="COUNT", min=1, max=10**9
        ),
    ] = None,
    enrol: Annotated[
        int | None,
        typer.Option(
            help="Make one link instead, through which this many people can join under a name that they choose.",
            metavar="COUNT",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Make new links for people who have one already; their old links stop working."),
    ] = False,
) -> None:
    """Make invite links, which are printed only once. Everybody who is not on this machine needs one.

    [bold]pairsmith campaign invite retina.db anna ben --url https://label.example.org[/bold]
    """
    address = LOCAL_URL if url is None else url.rstrip("/")
    scheme, _, server = address.partition("://")
    if scheme not in ("http", "https") or not server or not server.isprintable() or " " in server:
        raise ValueError(f"--url {url!r} is not of the form https://label.example.org")
    if (enrol is None) == (not names):
        raise ValueError("name the people to invite, or give --enrol with their number, and not both")
    if quota is not None and (dashboard or enrol is not None):
        raise ValueError(
            "--quota is for raters invited by name; pairsmith campaign goals --quota sets it for everybody"
        )
    if dashboard and enrol is not None:
        raise ValueError("--enrol is for raters; invite to the --dashboard by name")
    if again and enrol is not None:
        raise ValueError("--again is for people by name; --enrol makes one more link")
    check_app_installed()
    from pairsmith.campaign.people import enrolment, invites

    role, path = ("organiser", "organise") if dashboard else ("rater", "join")
    invited = [invites.check_name(name) for name in names or ()]
    with open_campaign(target) as store:
        if enrol is not None:
            say(f"{counted(enrol, 'place')}: {address}/enrol/{enrolment.open_places(store, enrol)}")
        else:
            for name, token in zip(invited, invites.invite_all(store, invited, role, quota, again), strict=True):
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
    names: Annotated[
        list[str] | None, typer.Argument(help="The people whose links to revoke.", metavar="[NAME...]")
    ] = None,
    enrol: Annotated[
        bool, typer.Option("--enrol", help="Revoke the links through which people join by themselves.")
    ] = False,
) -> None:
    """Revoke invite links. Answers stay, and so do people who have joined through a link for many."""
    if not names and not enrol:
        raise ValueError("name the people whose links to revoke, or give --enrol")
    check_app_installed()
    from pairsmith.campaign.people import enrolment, invites

    with open_campaign(target) as store:
        invited = [name for good in (True, False) for name, _ in invites.invited(store, good)]
        for name in names or ():  # check all names before the first is revoked
            if name not in invited:
                raise ValueError(f"{name!r} has no invite; invited: {', '.join(invited) or 'nobody'}")
        if enrol:
            say(f"{counted(enrolment.close(store), 'place')} revoked.")
        for name in names or ():
            invites.revoke(store, name)
            say(f"{name}: revoked.")


def list_people(target: Campaign) -> None:
    """List the people who have an invite."""
    check_app_installed()
    from pairsmith.campaign.people import enrolment, invites

    with open_campaign(target, changes=False) as store:
        good, void = invites.invited(store), invites.invited(store, confirmed=False)
        places = enrolment.all_places(store)
    for name, role in good:
        say(f"{role}  {name}")
    for name, role in void:
        say(f"{role}  {name}  (void: made elsewhere; pairsmith campaign trust confirms it)")
    if places:
        say(f"{counted(places, 'place')} left by link")
    if not good and not void and not places:
        say(f"Nobody is invited yet: pairsmith campaign invite {display_name(target)} NAME")


def confirm_trust(
    target: Campaign,
    media: Annotated[
        Path | None,
        typer.Option(
            help="The folder of its files, if they have moved since the campaign was created.", metavar="FOLDER"
        ),
    ] = None,
    invites: Annotated[
        bool, typer.Option("--invites/--no-invites", help="Keep its invite links valid, or revoke them.")
    ] = True,
) -> None:
    """Confirm a campaign that another user or machine made: the folder that it shows files from, and its invites.

    [bold]pairsmith campaign trust retina.db --media pictures[/bold]
    """
    with open_campaign(target) as store:
        confirm(store, media, invites)


def confirm(store: Store, media: Path | None = None, invites: bool = True) -> None:
    """Make a campaign this user's own, and print which files it shows and whom it lets in."""
    from pairsmith.campaign.people import trust
    from pairsmith.campaign.store.media import MediaError, open_file

    files = trust.files(store)
    if media is not None and not media.is_dir():
        raise ValueError(f"--media {media}: there is no such folder")
    named = media or store.settings.folder
    folder = os.path.realpath(named) if files and named else None
    if files and not (folder and os.path.isdir(folder)):
        raise ValueError(
            f"{display_name(store.target)} shows {counted(len(files), 'file')} of {folder or 'no folder'}, which is not"
            f" there; say where {'it is' if len(files) == 1 else 'they are'} with --media"
        )
    for line in describe_access(store, folder, invites):
        say(line)
    for kind, path in files:
        try:
            open_file(str(folder), path, kind).close()
        except MediaError as error:
            say(f"Warning: {path} {error}", sys.stderr)
    trust.confirm(store, folder, invites)
    say(f"Confirmed {display_name(store.target)}.")


def describe_access(store: Store, folder: str | None, invites: bool = True) -> list[str]:
    """Say in a line each which files a campaign shows and whom it lets in."""
    from pairsmith.campaign.people import enrolment, trust
    from pairsmith.campaign.people import invites as invite_links

    files = len(trust.files(store))
    names = ", ".join(f"{name} ({role})" for good in (True, False) for name, role in invite_links.invited(store, good))
    lines = [f"  shows {counted(files, 'file')} of {folder}"] if files else []
    if places := sum(enrolment.all_places(store, good) for good in (True, False)):
        names += f"{', ' if names else ''}{counted(places, 'place')} for whoever has the link"
    return lines + ([f"  {'lets in by invite link' if invites else 'revoked'}: {names}"] if names else [])


def exclude(target: Campaign, names: Names) -> None:
    """Leave all answers of these raters out of the model, the design and exports. Nothing is deleted.

    [bold]pairsmith campaign exclude retina.db anna[/bold]
    """
    _exclude(target, names, True)


def include(target: Campaign, names: Names) -> None:
    """Count the answers of excluded raters again.

    [bold]pairsmith campaign include retina.db anna[/bold]
    """
    _exclude(target, names, False)


def _exclude(target: str, names: list[str], excluded: bool) -> None:
    check_app_installed()
    from pairsmith.campaign.answering import corrections

    with open_campaign(target) as store:
        with store.reading() as connection:
            corrections.check_raters(connection, names)  # check all names before the first is excluded
        for name in names:
            answers = counted(corrections.exclude(store, name, excluded), "answer")
            say(f"{name}: excluded, {answers} left out." if excluded else f"{name}: included, {answers} counted.")


def raters(target: Campaign, question: WhichQuestion = None) -> None:
    """Print how well each rater answers, and who seems to answer at random or prefers one side.

    [bold]pairsmith campaign raters retina.db[/bold]
    """
    with open_campaign(target, changes=False) as store:
        from pairsmith.campaign.answering import corrections
        from pairsmith.campaign.reporting import dashboard
        from pairsmith.campaign.reporting.history import ReportState, update_history
        from pairsmith.campaign.reporting.raters import rate_raters
        from pairsmith.campaign.store.snapshot import take_snapshot

        index = question_index(store, question)
        snapshot, state = take_snapshot(store, index), ReportState.from_json(*dashboard.last_state(store, index))
        with store.reading() as connection:
            excluded = corrections.excluded(connection)
    update_history(snapshot, state)
    rows = [] if state.model is None else rate_raters(snapshot, state.model, state.predictions)
    if rows:
        from rich.console import Console

        Console(highlight=False).print(_rater_table(rows))
    for row in rows:
        for reason in row["flags"]:
            say(f"{row['name']} {reason}.")
    for row in excluded:
        say(f"{row['name']} is excluded, with {counted(row['answers'], 'answer')}.")
    if not rows and not excluded:
        say(nothing_to_learn(target))


def _rater_table(rows: list[dict[str, Any]]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        caption="left: the share of answers for the left item; foretold: the share of answers to random pairs that the"
        " model predicted, 50% by guessing; repeated: agreement with other answers to the same pairs; slope: how well"
        " they tell items apart, 1 is usual, 0 at random; bias: above 0 for the left item; infit: 1 is as it should be,"
        " more is erratic",
    )
    table.add_column("name", min_width=4)
    for name in ("answers", "seconds", "left", "foretold", "repeated", "slope", "bias", "infit"):
        table.add_column(name, justify="right", min_width=len(name))  # whole headings even in 80 columns
    for row in rows:
        slope, bias = row["slope"], row["bias"]
        table.add_row(
            escape(printable(row["name"])),
            str(row["answers"]),
            "–" if row["seconds"] is None else f"{row['seconds']:.1f}",
            "–" if row["share_left"] is None else f"{row['share_left']:.0%}",
            *(
                "–" if share is None else "{:.0%} ({:.0%}–{:.0%})".format(*share)
                for share in (row["foretold"], row["agrees_on_repeated"])
            ),
            "–" if slope is None else "{:.2f} ± {:.2f}".format(*slope),
            "–" if bias is None else "{:+.2f} ± {:.2f}".format(*bias),
            f"{row['infit']:.2f}",
        )
    return table
