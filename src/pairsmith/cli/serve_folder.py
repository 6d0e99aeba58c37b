"""pairsmith serve of a folder: a page that lists its campaigns, and each of them served beside it."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pairsmith.campaign import ENDINGS, counted
from pairsmith.cli.opening import needs_app, open_campaign, say
from pairsmith.cli.serve import check_origin, listen, open_page

if TYPE_CHECKING:
    from pairsmith.campaign.web.folder import Listed


def serve_folder(folder: Path, host: str, port: int, for_others: bool, browse: bool, trusted: bool) -> None:
    """List the campaigns of this folder and serve them, on this machine."""
    if for_others or host not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError(
            f"{folder} is a folder, and is served to this machine only: an invite is to one campaign; serve each with a"
            " pairsmith serve of its own"
        )
    found = sorted(path for path in folder.iterdir() if path.suffix in ENDINGS and path.is_file())
    if not found:
        raise ValueError(f"{folder} holds no campaign; make one with pairsmith campaign create {folder / 'name.db'}")
    files: dict[Path, Path] = {}  # the name that each file is served by
    for path in sorted(found, key=lambda path: (path.is_symlink(), path)):
        files.setdefault(path.resolve(), path)
    needs_app()
    from pairsmith.campaign.planning.worker import Worker
    from pairsmith.campaign.web.app import create_app
    from pairsmith.campaign.web.folder import ByPort, create_listing
    from pairsmith.campaign.web.server import serve

    with ExitStack() as opened:
        listener = opened.enter_context(listen(host, port))
        listeners = {}
        campaigns = []
        for path in found:
            own = opened.enter_context(listen(host, 0))
            campaigns.append(_opened(path, files[path.resolve()], own.getsockname()[1], trusted, opened))
            if campaigns[-1].store is not None:
                listeners[own.getsockname()[1]] = own
        served = {listed.port: listed.store for listed in campaigns if listed.store is not None and listed.port}
        apps = {own: create_app(store) for own, store in served.items()}

        def first_asked(own: int) -> None:  # a process each: only for the campaigns that somebody opens
            opened.enter_context(Worker(served[own].target))

        url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
        print(f"Campaigns at    {url}", flush=True)
        for listed in campaigns:
            say(f"{listed.name}: {listed.problem or f'port {listed.port}'}")
        print("Stop with Ctrl-C.", flush=True)
        if browse:
            open_page(url)
        with suppress(KeyboardInterrupt):
            serve(ByPort(create_listing(folder, campaigns), apps, first_asked), listener, *listeners.values())
        for store in served.values():
            store.check()
    say(f"Stopped. Every answer is in its campaign, {counted(len(served), 'file')} of {folder}.")


def _opened(path: Path, served: Path, port: int, trusted: bool, opened: ExitStack) -> Listed:
    """Open a campaign until the end, or say why not. `served` is the one name by which its file is served."""
    from pairsmith.campaign.web.folder import Listed

    if path != served:
        return Listed(
            path.name, problem=f"{served.name} and {path.name} are the same file; remove the link {path.name}"
        )
    try:
        store = opened.enter_context(open_campaign(str(path)))
        check_origin(store, trusted)
    except ValueError as error:
        return Listed(path.name, problem=str(error))
    return Listed(path.name, store, port)
