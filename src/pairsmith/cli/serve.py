"""pairsmith serve and demo-campaign: serve a campaign, or all campaigns of a folder, to raters."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairsmith.campaign import ENDINGS, counted, is_campaign
from pairsmith.cli.campaign_people import confirm, describe_access
from pairsmith.cli.inputs import check_app_installed, display_name, open_campaign
from pairsmith.cli.output import say

if TYPE_CHECKING:
    import socket

    from pairsmith.campaign.store.store import Store
    from pairsmith.campaign.web.folder import Listed

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


def serve(
    target: Annotated[
        str,
        typer.Argument(
            help="A campaign: an SQLite file or a postgresql:// URL. Or a folder, to list its campaigns and serve them"
            " on this machine.",
            metavar="CAMPAIGN|FOLDER",
        ),
    ],
    host: Annotated[
        str, typer.Option(help="The address to serve at. Beyond this machine, everybody needs an invite.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to serve at, or 0 for any free port.", min=0, max=65535)] = 8000,
    invited: Annotated[
        bool, typer.Option("--invited", help="Ask for invites on this machine too, as is needed behind a proxy.")
    ] = False,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Let browsers send the invite's cookie without TLS, for example in a trusted network."
        ),
    ] = False,
    trusted: Annotated[
        bool,
        typer.Option(
            "--trust", help="Confirm a campaign that another user or machine made, as pairsmith campaign trust does."
        ),
    ] = False,
) -> None:
    """Serve a campaign to its raters, or list and serve the campaigns of a folder on this machine.

    [bold]pairsmith serve retina.db[/bold]

    [bold]pairsmith serve campaigns/[/bold]
    """
    if os.path.isdir(target):
        _serve_folder(Path(target), host, port, invited or insecure, browse, trusted)
    else:
        _serve_campaign(target, host, port, invited, insecure, browse, trusted)


def _serve_campaign(
    target: str, host: str, port: int, invited: bool, insecure: bool, browse: bool, trusted: bool
) -> None:
    with open_campaign(target) as store:
        check_origin(store, trusted)
        on_this_machine = host in LOCAL_HOSTS
        without_invites = on_this_machine and not invited
        listener = listen(host, port)
        from pairsmith.campaign.people import enrolment, invites
        from pairsmith.campaign.planning.worker import Worker
        from pairsmith.campaign.web import server
        from pairsmith.campaign.web.app import create_app

        url = _url(host, listener)
        print(f"Label at        {url}", flush=True)
        print(f"Dashboard at    {url}dashboard", flush=True)
        if store.settings.folder:
            say(f"Files from      {store.settings.folder}")
        if not without_invites:
            roles = {role for _, role in invites.invited(store)}
            if enrolment.all_places(store):
                roles.add("rater")
            for role, arguments in (("rater", "NAME"), ("organiser", "NAME --dashboard")):
                if role not in roles:
                    command = f"pairsmith campaign invite {display_name(target)} {arguments} --url URL"
                    say(f"No {role} is invited yet: {command}")
        if not on_this_machine and not insecure:
            say("Browsers keep invites through TLS only: put a proxy in front; in a trusted network give --insecure.")
        print("Stop with Ctrl-C.", flush=True)
        if browse and without_invites:
            open_page(url)
        with Worker(target), suppress(KeyboardInterrupt):
            server.serve(create_app(store, without_invites, insecure), listener)
        store.check()
    say(f"Stopped. Every answer is in {display_name(target)}.")


def _serve_folder(folder: Path, host: str, port: int, for_others: bool, browse: bool, trusted: bool) -> None:
    """Serve a page that lists the campaigns of a folder, and each campaign at a port of its own."""
    if for_others or host not in LOCAL_HOSTS:
        raise ValueError(
            f"{folder} is a folder, and is served to this machine only: an invite is to one campaign; serve each with a"
            " pairsmith serve of its own"
        )
    paths = sorted(path for path in folder.iterdir() if path.suffix in ENDINGS and path.is_file())
    if not paths:
        raise ValueError(f"{folder} holds no campaign; make one with pairsmith campaign create {folder / 'name.db'}")
    names: dict[Path, Path] = {}  # for each file the one name, among links, under which it is served
    for path in sorted(paths, key=lambda path: (path.is_symlink(), path)):
        names.setdefault(path.resolve(), path)
    check_app_installed()
    from pairsmith.campaign.planning.worker import Worker
    from pairsmith.campaign.web.app import create_app
    from pairsmith.campaign.web.folder import ByPort, create_listing
    from pairsmith.campaign.web.server import serve

    with ExitStack() as stack:
        listener = stack.enter_context(listen(host, port))
        listeners = {}
        campaigns = []
        for path in paths:
            own_listener = stack.enter_context(listen(host, 0))
            own_port = own_listener.getsockname()[1]
            campaigns.append(_open_listed(path, names[path.resolve()], own_port, trusted, stack))
            if campaigns[-1].store is not None:
                listeners[own_port] = own_listener
        stores = {listed.port: listed.store for listed in campaigns if listed.store is not None and listed.port}
        apps = {own_port: create_app(store) for own_port, store in stores.items()}

        def start_worker(own_port: int) -> None:  # a process each, so only for campaigns that somebody opens
            stack.enter_context(Worker(stores[own_port].target))

        url = _url(host, listener)
        print(f"Campaigns at    {url}", flush=True)
        for listed in campaigns:
            say(f"{listed.name}: {listed.problem or f'port {listed.port}'}")
        print("Stop with Ctrl-C.", flush=True)
        if browse:
            open_page(url)
        with suppress(KeyboardInterrupt):
            serve(ByPort(create_listing(folder, campaigns), apps, start_worker), listener, *listeners.values())
        for store in stores.values():
            store.check()
    say(f"Stopped. Every answer is in its campaign, {counted(len(stores), 'file')} of {folder}.")


def _open_listed(path: Path, name: Path, port: int, trusted: bool, stack: ExitStack) -> Listed:
    """Open a campaign until the stack closes, or say why it cannot be served. Its file is served as `name` only."""
    from pairsmith.campaign.web.folder import Listed

    if path != name:
        return Listed(path.name, problem=f"{name.name} and {path.name} are the same file; remove the link {path.name}")
    try:
        store = stack.enter_context(open_campaign(str(path)))
        check_origin(store, trusted)
    except ValueError as error:
        return Listed(path.name, problem=str(error))
    return Listed(path.name, store, port)


def check_origin(store: Store, trusted: bool) -> None:
    """Refuse to serve the files and invites of a campaign that this user has neither made nor confirmed."""
    from pairsmith.campaign.people import invites, seals, trust

    name = display_name(store.target)
    if trust.is_confirmed(store):
        if void := invites.invited(store, confirmed=False):
            names = ", ".join(invitee for invitee, _ in void)
            say(f"Void until confirmed with pairsmith campaign trust: the invites of {names}", sys.stderr)
        return
    access = describe_access(store, store.settings.folder)
    origin = f"{name} was made by another user or machine, or by an older pairsmith"
    if not access:
        say(f"{origin}; it shows no files and has no invites.", sys.stderr)
        return
    seals.key()  # raises an error if this user cannot have a key
    if trusted:
        confirm(store)
        return
    for line in [f"{origin}. It", *access]:
        say(line, sys.stderr)
    raise ValueError(f"{name} is not served before you confirm this: pairsmith campaign trust {name}")


def demo_campaign(
    target: Annotated[
        Path | None,
        typer.Argument(
            help="The file of the campaign. Default: digits.db, or reviews.db with --texts.", metavar="FILE"
        ),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Compare 60 short reviews instead: which is more helpful?")
    ] = False,
    port: Annotated[int, typer.Option(help="The port to serve at, or 0 for any free port.", min=0, max=65535)] = 8000,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    at_once: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Serve the campaign once it is made, or only make it.")
    ] = True,
) -> None:
    """Make a campaign from handwritten digits (which is larger?) and serve it. If the file exists, it is served.

    With --texts, the items are short texts, and their features are made from the texts alone.

    [bold]pairsmith demo-campaign[/bold]
    """
    check_app_installed()
    target = target or Path("reviews.db" if texts else "digits.db")
    if not target.exists():
        from pairsmith.campaign.setup import demo
        from pairsmith.campaign.setup.create import check_place

        check_place(str(target))
        print(f"{'Reading reviews' if texts else 'Drawing digits'} and planning the first pairs ...", flush=True)
        if texts:
            count, recipe = demo.make_text_demo(str(target))
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
    """Return a socket that listens at this address, or refuse in one line."""
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


def _url(host: str, listener: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"


def open_page(url: str) -> None:
    """Open the page in a browser in half a second, when it is being served, if this machine has a screen."""
    import threading
    import webbrowser

    if _has_screen():
        threading.Timer(0.5, webbrowser.open, [url]).start()


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
