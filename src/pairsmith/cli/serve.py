"""The command that serves a campaign to the people who label, and the one that makes a campaign to try."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairsmith.campaign import counted, is_campaign
from pairsmith.cli.campaign_people import confirm, wants
from pairsmith.cli.opening import needs_app, open_campaign, say, shown

if TYPE_CHECKING:
    import socket

    from pairsmith.campaign.store.store import Store


def check_origin(store: Store, trusted: bool) -> None:
    """Refuse to serve files and invites of a campaign that this user neither made nor confirmed."""
    from pairsmith.campaign.people import invites as people
    from pairsmith.campaign.people import seals, trust

    if trust.is_confirmed(store):
        if void := people.invited(store, confirmed=False):
            names = ", ".join(name for name, _ in void)
            say(f"Void until confirmed with pairsmith campaign trust: the invites of {names}", sys.stderr)
        return
    lines = wants(store, store.settings.folder)
    made = f"{shown(store.target)} was made by another user or machine, or by an older pairsmith"
    if not lines:
        say(f"{made}; it shows no files and has no invites.", sys.stderr)
        return
    seals.key()  # or the error that there can be none
    if trusted:
        confirm(store)
        return
    for line in [f"{made}. It", *lines]:
        say(line, sys.stderr)
    raise ValueError(
        f"{shown(store.target)} is not served before you confirm this: pairsmith campaign trust {shown(store.target)}"
    )


def serve(
    target: Annotated[
        str,
        typer.Argument(
            help="A campaign, an SQLite file or a postgresql:// URL; or a folder, whose campaigns are listed and served"
            " on this machine.",
            metavar="CAMPAIGN|FOLDER",
        ),
    ],
    host: Annotated[
        str, typer.Option(help="The address to serve at; beyond this machine, everybody needs an invite.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 for any that is free.", min=0, max=65535)] = 8000,
    invited: Annotated[
        bool, typer.Option("--invited", help="Ask for invites on this machine too: behind a proxy.")
    ] = False,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Let the cookie of invites travel without TLS, e.g. in a trusted network."),
    ] = False,
    trusted: Annotated[
        bool,
        typer.Option("--trust", help="Confirm a campaign that another user or machine made, as campaign trust does."),
    ] = False,
) -> None:
    """Serve a campaign to the people who label, or list and serve all those of a folder to you.

    [bold]pairsmith serve retina.db[/bold]

    [bold]pairsmith serve campaigns/[/bold]
    """
    if os.path.isdir(target):
        from pairsmith.cli.serve_folder import serve_folder

        serve_folder(Path(target), host, port, invited or insecure, browse, trusted)
        return
    with open_campaign(target) as store:
        check_origin(store, trusted)
        here = host in ("127.0.0.1", "localhost", "::1")
        local = here and not invited
        listener = listen(host, port)
        from pairsmith.campaign.people import enrolment
        from pairsmith.campaign.people import invites as people
        from pairsmith.campaign.planning.worker import Worker
        from pairsmith.campaign.web import server
        from pairsmith.campaign.web.app import create_app

        url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
        print(f"Label at        {url}", flush=True)
        print(f"Dashboard at    {url}dashboard", flush=True)
        if store.settings.folder:
            say(f"Files from      {store.settings.folder}")
        if not local:
            roles = {role for _, role in people.invited(store)}
            if enrolment.all_places(store):
                roles.add("rater")
            for role, option in (("rater", "NAME"), ("organiser", "NAME --dashboard")):
                if role not in roles:
                    say(f"No {role} is invited yet: pairsmith campaign invite {shown(target)} {option} --url URL")
        if not here and not insecure:
            say("Browsers keep invites through TLS only: put a proxy in front; in a trusted network give --insecure.")
        print("Stop with Ctrl-C.", flush=True)
        if browse and local:
            open_page(url)
        with Worker(target), suppress(KeyboardInterrupt):
            server.serve(create_app(store, local, insecure), listener)
        store.check()
    say(f"Stopped. Every answer is in {shown(target)}.")


def demo_campaign(
    target: Annotated[
        Path | None,
        typer.Argument(help="Where to put it. Default: digits.db, or reviews.db with --texts.", metavar="FILE"),
    ] = None,
    texts: Annotated[bool, typer.Option("--texts", help="Of 60 short reviews instead: which is more helpful?")] = False,
    port: Annotated[int, typer.Option(help="0 for any that is free.", min=0, max=65535)] = 8000,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    at_once: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve it at once.")] = True,
) -> None:
    """Make a campaign from handwritten digits (which is larger?) and serve it; one that is there goes on.

    With --texts, from short texts and no numbers at all.

    [bold]pairsmith demo-campaign[/bold]
    """
    needs_app()
    target = target or Path("reviews.db" if texts else "digits.db")
    if not target.exists():
        from pairsmith.campaign.setup import demo
        from pairsmith.campaign.setup.create import check_place

        check_place(str(target))
        print(f"{'Reading reviews' if texts else 'Drawing digits'} and planning the first pairs ...", flush=True)
        if texts:
            count, recipe = demo.make_demo_of_texts(str(target))
            say(f"No numbers are given: features are made from {'; '.join(recipe.sentences())}.")
        else:
            count = demo.make_demo(str(target))
        say(f"Made {target}: {counted(count, 'pair')} planned.")
    elif not is_campaign(str(target)):
        raise ValueError(f"{target} is there already and is no campaign; name another file")
    elif not at_once:
        say(f"{target} is there already; it was not changed.")
    if at_once:
        serve(str(target), port=port, browse=browse)


def listen(host: str, port: int) -> socket.socket:
    import socket

    # With the protocol named, asyncio sends small answers at once; without, each waits 40 ms for others to join it.
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        raise ValueError(
            f"cannot serve at {host}, port {port}: {reason}; choose another port, or for serve another --host"
        ) from None
    return listener


def open_page(url: str) -> None:
    """Open this page in a browser, once it is served, where there is a screen."""
    import threading
    import webbrowser

    if _has_screen():
        threading.Timer(0.5, webbrowser.open, [url]).start()


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
