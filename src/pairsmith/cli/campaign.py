"""The command line of campaigns: parse, call, print."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from pairsmith.campaign import printable

if TYPE_CHECKING:
    import socket

    from pairsmith.campaign.store import Known, Store

Campaign = Annotated[str, typer.Argument(help="A campaign: an SQLite file or a postgresql:// URL.", metavar="CAMPAIGN")]

campaign = typer.Typer(help="Make a labelling campaign, invite people, export answers.", no_args_is_help=True)


def needs_app() -> None:
    """One line where the extra is not installed."""
    for module in ("sqlalchemy", "fastapi", "uvicorn", "jinja2", "markdown_it", "nh3"):
        if find_spec(module) is None:
            raise ValueError(f"campaigns need {module}; pip install 'pairsmith[app]'")


def _store(target: str, changes: bool = True) -> Store:
    needs_app()
    from pairsmith.campaign.store import Store

    return Store(target, changes=changes)


def known(target: str, *refused: object) -> Known:
    """What a campaign knows, for fit, rank and select; options that it has its own answer to are refused."""
    needs_app()
    if any(option for option in refused):
        raise ValueError(
            f"{shown(target)} is a campaign and brings its own items, features, groups, labels and answers; leave out"
            " the options that name others"
        )
    with _store(target, changes=False) as store:
        return store.known()


@campaign.command()
def create(
    target: Annotated[str, typer.Argument(help="A new file, such as retina.db, or a postgresql:// URL.")],
    items: Annotated[
        Path, typer.Option(help="Items with numeric features: .csv, .tsv, .jsonl, .parquet or .npy.", metavar="FILE")
    ],
    question: Annotated[str, typer.Option(help="What people are asked of each pair.")],
    k: Annotated[
        int, typer.Option("-k", "--pairs", help="How many pairs a round has; more where people outrun it.", metavar="K")
    ] = 100,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="What people see of an item, as KIND:COLUMN; kinds are text, markdown, image and audio (files, seen"
            " from the table's folder). May be repeated. Default: the id.",
            metavar="KIND:COLUMN",
        ),
    ] = None,
    media: Annotated[
        Path | None,
        typer.Option(
            help="The folder that holds every file shown; nothing outside is ever served. Default: the table's folder.",
            metavar="FOLDER",
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Feature columns, by name or pattern such as 'f_*'; may be repeated. Default: all other columns.",
            metavar="PATTERN",
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Absolute labels there are: a column of ids and one of two values.")
    ] = None,
    better: Annotated[
        str | None, typer.Option(help="The better one of the two labels, where they are words.", metavar="LABEL")
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="The column of item ids. Default: id, or else the first.", metavar="COLUMN"),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Pair only items with the same value in this column.", metavar="COLUMN")
    ] = None,
    max_per_item: Annotated[
        int | None, typer.Option(help="No item in more than this many pairs of a round.", metavar="COUNT")
    ] = None,
    answers_per_pair: Annotated[int, typer.Option(help="How many people answer each pair.", metavar="COUNT")] = 1,
    ties: Annotated[bool, typer.Option("--ties/--no-ties", help="Whether people may call it a tie.")] = True,
    repeats: Annotated[
        bool, typer.Option("--repeats/--no-repeats", help="Whether one person may be asked the same pair again.")
    ] = False,
    instructions: Annotated[
        Path | None, typer.Option(help="Instructions for people, shown on demand: a text or Markdown file.")
    ] = None,
    objective: Annotated[
        str, typer.Option(help="What rounds are designed by: a criterion of pairsmith select.")
    ] = "averaged-d-optimal",
    lease: Annotated[
        float, typer.Option(help="Minutes after which an abandoned pair returns to the queue.", metavar="MINUTES")
    ] = 10.0,
) -> None:
    """Make a campaign from a table of items.

    [bold]pairsmith campaign create retina.db --items items.csv --features 'f_*' --show image:path -k 200
    --question 'Which eye looks worse?'[/bold]
    """
    needs_app()
    from pairsmith.campaign import create as creation
    from pairsmith.criteria import CRITERIA
    from pairsmith.files.tables import as_label, contents, read_labels

    creation.check_place(target)
    if objective not in CRITERIA:
        raise ValueError(f"--objective: {objective!r} is unknown; choose one of {', '.join(CRITERIA)}")
    if not 0.1 <= lease <= 1440:
        raise ValueError(f"--lease must be between 0.1 and 1440 minutes, got {lease}")
    if media is not None and not media.is_dir():
        raise ValueError(f"--media {media}: there is no such folder")
    if better is not None and labels is None:
        raise ValueError("--better names one of the labels of --labels; give that too")
    table, parts = creation.read(items, show or (), id_column, features or (), group_by)
    try:
        told = "" if instructions is None else contents(instructions).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--instructions {instructions} cannot be read as UTF-8 text: {error}") from None
    labelled = None if labels is None else read_labels(labels, table)
    count = creation.create(
        target,
        table,
        parts,
        question=question,
        k=k,
        labels=labelled,
        better=None if better is None or labelled is None else as_label(better, labelled[1]),
        instructions=told,
        answers=answers_per_pair,
        ties=ties,
        repeats=repeats,
        max_per_item=max_per_item,
        objective=objective,
        lease=lease * 60,
        progress=sys.stderr.isatty(),
        media=media,
    )
    _say(f"Made {shown(target)}: {len(table.features)} items, {count} pairs planned.")
    _say(f"Label them with: pairsmith label {shown(target)}")


@campaign.command("export")
def export_answers(
    target: Campaign,
    kind: Annotated[
        str, typer.Option("--format", help="csv, jsonl, parquet, choix, label-studio or dpo.", metavar="FORMAT")
    ] = "csv",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Where to write them. Default: answers.csv, answers-dpo.jsonl and so on."),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="In csv, leave texts as they are that a spreadsheet would take for formulas."),
    ] = False,
) -> None:
    """Write the answers to a file.

    [bold]pairsmith campaign export retina.db --format csv -o answers.csv[/bold]
    """
    needs_app()
    from pairsmith.campaign import exchange
    from pairsmith.files.write import descriptor

    if kind not in exchange.ENDINGS:
        raise ValueError(f"--format: {kind!r} is unknown; choose one of {', '.join(exchange.ENDINGS)}")
    if kind == "parquet" and find_spec("pyarrow") is None:
        raise ValueError("--format parquet needs pyarrow; pip install 'pairsmith[data]'")
    name = "answers" if kind in exchange.TABLES else f"answers-{kind}"  # two formats have the same ending
    path = output or Path(f"{name}{exchange.ENDINGS[kind]}")
    if output is None and path.exists():
        raise ValueError(f"{path} is there already; name it with -o to replace it, or another file")
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"--output {path}: this is no place for a file; name one in a folder that exists")
    if os.path.realpath(path) == os.path.realpath(target):
        raise ValueError(f"--output {path} is the campaign itself; choose another")
    with _store(target, changes=False) as store:
        count, left_out = exchange.export(store, kind, path, raw)
    ties = f" ({left_out} ties left out: {kind} has none)" if left_out else ""
    # Where the answers go to standard output, this does not go among them.
    _say(f"Wrote {count} answers to {path}{ties}", sys.stderr if descriptor(path) == 1 else sys.stdout)


@campaign.command("import")
def import_answers(
    target: Campaign,
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="Tables with first, second and outcome, or winner and loser (also labeller, left, seconds, time);"
            " or Label Studio's JSON, whose tasks have left_id and right_id.",
            metavar="ANSWERS...",
        ),
    ],
) -> None:
    """Add answers that were made elsewhere. The same file twice counts once.

    An answer that says neither who gave it nor when is taken for one that is there already, if there is one like it.

    [bold]pairsmith campaign import retina.db answers.csv[/bold]
    """
    needs_app()
    from pairsmith.campaign import exchange

    with _store(target) as store:
        for path in answers:
            count, new = exchange.bring(store, path)
            _say(f"{path}: {count} answers, {new} of them new.")


@campaign.command()
def repair(
    target: Campaign,
    better: Annotated[
        str | None, typer.Option(help="The better one of the two labels, where they are words.", metavar="LABEL")
    ] = None,
) -> None:
    """Mend answers that compare an item with itself, as an earlier version stored some imports. Nothing is deleted.

    [bold]pairsmith campaign repair retina.db[/bold]
    """
    with _store(target) as store:
        if better is not None:
            print(f"{shown(target)}: {store.relabel(better)} labels are numbers now, 1 the better.")
        restored, aside = store.repair()
    if restored + aside == 0:
        print(f"{shown(target)}: nothing to repair.")
        return
    print(f"{shown(target)}: {restored} answers restored, {aside} set aside.")
    if aside:
        print("Of those set aside the second item is not known: import the file that they came from again.")


@campaign.command()
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
    role, path = ("organiser", "organise") if dashboard else ("labeller", "join")
    with _store(target) as store:
        for name in names:
            if not name.strip() or not name.isprintable() or len(name) > 200:
                raise ValueError(f"{name[:200]!r} is no name; use 1 to 200 characters on one line")
            _say(f"{name}: {url.rstrip('/')}/{path}/{store.invite(name, role)}")


@campaign.command()
def revoke(
    target: Campaign, names: Annotated[list[str], typer.Argument(help="Whose links.", metavar="NAME...")]
) -> None:
    """Make invite links worthless. Answers given stay."""
    with _store(target) as store:
        for name in names:
            if store.revoke(name) == 0:
                invited = ", ".join(found for found, _ in store.invited()) or "nobody"
                raise ValueError(f"{name!r} has no invite; invited: {invited}")
            _say(f"{name}: revoked.")


@campaign.command()
def people(target: Campaign) -> None:
    """Who has an invite."""
    with _store(target, changes=False) as store:
        for name, role in store.invited():
            _say(f"{role}  {name}")
        for name, role in store.invited(confirmed=False):
            _say(f"{role}  {name}  (void: made elsewhere; pairsmith campaign trust confirms it)")


@campaign.command()
def trust(
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
    with _store(target) as store:
        _trust(store, media, invites)


def _trust(store: Store, media: Path | None = None, invites: bool = True) -> None:
    from pairsmith.campaign.media import MediaError, open_file

    files = store.files()
    named = media or store.folder
    folder = os.path.realpath(named) if files and named else None
    if files and not (folder and os.path.isdir(folder)):
        raise ValueError(
            f"{shown(store.target)} shows {len(files)} files of {folder or 'no folder'}, which is not there; say where"
            " they are with --media"
        )
    for line in _wants(store, folder, invites):
        _say(line)
    for kind, path in files:
        try:
            open_file(str(folder), path, kind).close()
        except MediaError as error:
            _say(f"Warning: {path} {error}", sys.stderr)
    store.confirm(folder, invites)
    _say(f"Confirmed {shown(store.target)}.")


def _wants(store: Store, folder: str | None, invites: bool = True) -> list[str]:
    """What a campaign shows and whom it lets in, a line each."""
    files = len(store.files())
    people = ", ".join(f"{name} ({role})" for good in (True, False) for name, role in store.invited(good))
    lines = [f"  shows {files} {'file' if files == 1 else 'files'} of {folder}"] if files else []
    return lines + ([f"  {'lets in by invite link' if invites else 'revoked'}: {people}"] if people else [])


def _check_origin(store: Store, trusted: bool) -> None:
    """Refuse to serve files and invites of a campaign that this user neither made nor confirmed."""
    from pairsmith.campaign import seals

    if store.confirmed:
        if void := store.invited(confirmed=False):
            names = ", ".join(name for name, _ in void)
            _say(f"Void until confirmed with pairsmith campaign trust: the invites of {names}", sys.stderr)
        return
    wants = _wants(store, store.folder)
    made = f"{shown(store.target)} was made by another user or machine, or by an older pairsmith"
    if not wants:
        _say(f"{made}; it shows no files and has no invites.", sys.stderr)
        return
    seals.key()  # or the error that there can be none
    if trusted:
        _trust(store)
        return
    for line in [f"{made}. It", *wants]:
        _say(line, sys.stderr)
    raise ValueError(
        f"{shown(store.target)} is not served before you confirm this: pairsmith campaign trust {shown(store.target)}"
    )


def label(
    target: Campaign,
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
    """Serve a campaign to the people who label.

    [bold]pairsmith label retina.db[/bold]
    """
    with _store(target) as store:
        _check_origin(store, trusted)
        here = host in ("127.0.0.1", "localhost", "::1")
        local = here and not invited
        listener = _listen(host, port)
        from pairsmith.campaign.rounds import Worker
        from pairsmith.campaign.server import serve
        from pairsmith.campaign.web import create_app

        url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
        print(f"Label at        {url}", flush=True)
        print(f"Dashboard at    {url}dashboard", flush=True)
        if store.folder:
            _say(f"Files from      {store.folder}")
        if not local:
            roles = {role for _, role in store.invited()}
            for role, option in (("labeller", "NAME"), ("organiser", "NAME --dashboard")):
                if role not in roles:
                    _say(f"No {role} is invited yet: pairsmith campaign invite {shown(target)} {option} --url URL")
        if not here and not insecure:
            _say("Browsers keep invites through TLS only: put a proxy in front; in a trusted network give --insecure.")
        print("Stop with Ctrl-C.", flush=True)
        if browse and local and _has_screen():
            import threading
            import webbrowser

            threading.Timer(0.5, webbrowser.open, [url]).start()
        with Worker(target), suppress(KeyboardInterrupt):
            serve(create_app(store, local, insecure), listener)
        store.check()
    _say(f"Stopped. Every answer is in {shown(target)}.")


def demo_campaign(
    target: Annotated[Path, typer.Argument(help="Where to put it.", metavar="FILE")] = Path("digits.db"),
    port: Annotated[int, typer.Option(help="0 for any that is free.", min=0, max=65535)] = 8000,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve it at once.")] = True,
) -> None:
    """Make a campaign from handwritten digits (which is larger?) and serve it; one that is there goes on.

    [bold]pairsmith demo-campaign[/bold]
    """
    needs_app()
    if not target.exists():
        from pairsmith.campaign.create import check_place, demo

        check_place(str(target))
        print("Drawing digits and planning the first pairs ...", flush=True)
        count = demo(str(target))
        _say(f"Made {target}: {count} pairs planned.")
    if serve:
        label(str(target), port=port, browse=browse)


def _listen(host: str, port: int) -> socket.socket:
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
            f"cannot serve at {host}, port {port}: {reason}; choose others with --host and --port"
        ) from None
    return listener


def _say(text: str, to: TextIO | None = None) -> None:
    print(printable(text), file=to, flush=True)


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def shown(target: str) -> str:
    """The campaign's name, without its password."""
    from pairsmith.campaign import database

    return database.shown(target)
