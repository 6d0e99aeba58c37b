"""Where a campaign is kept: a SQLite file, or a PostgreSQL database by its URL.

Both are opened so that a transaction that has ended is on disk. What is wrong with a database is told in one line.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pairsmith.campaign import application_id, is_url
from pairsmith.campaign.store import integrity, migrations, schema
from pairsmith.campaign.store.schema import campaign, items, pairs, tables
from pairsmith.files.json_reader import parse_json

APPLICATION = 0x70616972  # "pair": marks our SQLite files
_MAY_WRITE = (  # for PostgreSQL
    "SELECT has_table_privilege('answers', 'INSERT') AND has_table_privilege('campaign', 'UPDATE')"
    " AND current_setting('transaction_read_only') = 'off'"
)
_RESTORE = "restore it from a backup"
_PATIENCE = 10  # seconds to wait for somebody else's transaction


class CampaignError(ValueError):
    """What is wrong with a campaign, in one line."""


class Refused(CampaignError):
    """What cannot be done for whoever asks; `status` is the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def shown(target: str) -> str:
    """The target without its passwords: a URL may hold them among its options, too."""
    if not is_url(target):
        return target
    return _url(target).difference_update_query(["password", "sslpassword"]).render_as_string()


def check_kind(target: str) -> None:
    """Refuse the URL of what is not PostgreSQL; it may hold a password, so it is not repeated."""
    if "://" in target and not is_url(target):
        raise CampaignError(
            f"{target.partition('://')[0]}:// is no place for a campaign; name a file, such as retina.db, or a"
            " postgresql:// URL"
        )


def _url(target: str) -> sa.URL:
    try:
        return sa.make_url(target)
    except (sa.exc.ArgumentError, ValueError):
        raise CampaignError(
            "this is no PostgreSQL URL; use the form postgresql://user:password@host:port/database"
        ) from None


def connect(target: str, journal: str = "WAL") -> sa.Engine:
    """An engine whose transactions are durable; `write=True` among its options starts them with the right to write.

    `journal` is how SQLite keeps its journal, for a file.
    """
    if is_url(target):
        return _connect_postgresql(target)
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(target)),
        json_deserializer=parse_json,
        connect_args={"timeout": _PATIENCE, "check_same_thread": False},
        pool_size=16,
        max_overflow=48,
    )
    return _with_transactions(engine, journal)


def _with_transactions(engine: sa.Engine, journal: str) -> sa.Engine:
    @sa.event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        for setting in (f"journal_mode={journal}", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN")

    return engine


def _connect_copy(path: Path) -> sa.Engine:
    """A copy in memory of a file that cannot be written to: it can be read, and brought to this version.

    SQLite reads a file with a write-ahead log only beside it: where the folder cannot be written to, either somebody
    has the campaign open, and the log is shared, or there is none, and the file by itself is whole.
    """
    alone = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    memory = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        source = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro{alone}", uri=True, timeout=_PATIENCE)
        try:
            source.backup(memory)
        finally:
            source.close()
    except sqlite3.Error as error:
        memory.close()
        if alone:
            raise CampaignError(_told(str(path), error)) from error
        raise CampaignError(
            f"{path} cannot be written to, and its newest answers are in {path.name}-wal, which cannot be read there;"
            " copy both to a folder of your own"
        ) from error
    engine = sa.create_engine(
        "sqlite://", creator=lambda: memory, poolclass=sa.StaticPool, json_deserializer=parse_json
    )
    return _with_transactions(engine, "MEMORY")


def open_to_copy(path: Path) -> sqlite3.Connection:
    """The file of a campaign, of whatever version, to be copied with what is in its log."""
    how = "rw" if _check_file(path, changes=False) else "ro"
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={how}", uri=True, timeout=_PATIENCE)


def _connect_postgresql(target: str) -> sa.Engine:
    url = _url(target).set(drivername="postgresql+psycopg")
    given = url.query.get("options", "")  # such as a search_path
    # Neither the server's defaults nor those of the database or the user may change what a transaction means. A writer
    # waits for the lock of the one before it and must then see what that one wrote: "read committed" does.
    settings = {
        "synchronous_commit": "on",
        "default_transaction_isolation": r"read\ committed",
        "lock_timeout": f"{_PATIENCE}s",
    }
    options = f"{given} {' '.join(f'-c {name}={value}' for name, value in settings.items())}"
    try:
        engine = sa.create_engine(
            url,
            json_deserializer=parse_json,
            connect_args={"connect_timeout": _PATIENCE, "options": options, "client_encoding": "UTF8"},
            pool_size=16,
            max_overflow=16,
            pool_pre_ping=True,
        )
    except ImportError:
        raise CampaignError("PostgreSQL needs psycopg; pip install 'pairsmith[postgres]'") from None

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("write"):  # one writer at a time, as SQLite has it
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION})")
        else:  # who reads sees one state, as in SQLite; who writes must see what the writer before wrote
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    return engine


def create(target: str, fill: Callable[[sa.Connection], None], part: Path | None = None) -> None:
    """Make the tables at a new place and let `fill` write to them: all of it, or nothing.

    A file is written as `part`, which is renamed to `target` afterwards. So it has to be whole by itself: its journal
    is in memory, and it is read again before anybody is told that it is there.
    """
    engine = connect(target if part is None else str(part), "MEMORY")
    try:
        with explained(target):
            with engine.execution_options(write=True).begin() as connection:
                if sa.inspect(connection).has_table("campaign"):
                    raise CampaignError(f"{shown(target)} holds a campaign already; choose another database")
                _check_encoding(connection, target)
                tables.create_all(connection, checkfirst=False)
                fill(connection)
                if part is not None:
                    connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION}")
                written = _rows(connection)
            engine.dispose()
            with engine.connect() as connection:
                if (part is not None and _damage(connection)) or _rows(connection) != written:
                    raise CampaignError(f"{shown(target)} could not be written whole; is the disk full?")
    finally:
        engine.dispose()


def _check_encoding(connection: sa.Connection, target: str) -> None:
    """Refuse a PostgreSQL database that cannot hold every text."""
    if connection.dialect.name != "postgresql":
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise CampaignError(
            f"{shown(target)} has the encoding {encoding}, which does not hold every text; make a database with"
            " createdb --template template0 --encoding UTF8"
        )


def _rows(connection: sa.Connection) -> list[int]:
    return [connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in (items, pairs)]


def _damage(connection: sa.Connection) -> str:
    """What SQLite finds wrong with a file, in one line; nothing where it is whole."""
    found = " ".join(str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()).split())
    return "" if found == "ok" else found


def open_existing(target: str, changes: bool = True) -> sa.Engine:
    """The campaign at this place, brought to this version; what is not ours, damaged or newer is left untouched.

    Without `changes`, a file or a database that cannot be written to will do.
    """
    check_kind(target)
    copied = not is_url(target) and not _check_file(Path(target), changes)
    engine = _connect_copy(Path(target)) if copied else connect(target)
    try:
        with explained(target):
            with engine.connect() as connection:
                if is_url(target) and not sa.inspect(connection).has_table("campaign"):
                    raise CampaignError(f"{shown(target)} holds no campaign; make one with pairsmith campaign create")
                if not is_url(target) and (damage := _damage(connection)):
                    raise CampaignError(f"{target} is damaged ({damage}); restore it from a backup")
                if is_url(target) and changes and not connection.exec_driver_sql(_MAY_WRITE).scalar_one():
                    raise CampaignError(
                        f"{shown(target)} cannot be written to; grant its user INSERT and UPDATE on all tables, in a"
                        " database that is not read-only"
                    )
                versions = connection.execute(sa.select(campaign.c.version)).scalars().all()
            version = versions[0] if len(versions) == 1 else 0
            if not isinstance(version, int) or version < 1:
                raise CampaignError(f"{shown(target)} was damaged or edited (its table campaign); {_RESTORE}")
            if version > schema.VERSION:
                raise CampaignError(
                    f"{shown(target)} was made by a newer pairsmith (format {version}; this one knows up to"
                    f" {schema.VERSION}); update pairsmith"
                )
            if version < schema.VERSION:
                migrations.migrate(engine)
            with engine.connect() as connection:
                if (problem := integrity.find_problem(connection)) is not None:
                    raise CampaignError(f"{shown(target)} was damaged or edited: {problem}; {_RESTORE}")
            if copied:  # what would be written to the copy would be lost
                with engine.connect() as connection:
                    connection.exec_driver_sql("PRAGMA query_only=ON")
    except BaseException:
        engine.dispose()
        raise
    return engine


def _check_file(path: Path, changes: bool) -> bool:
    """Refuse what is no campaign, without opening the file; return whether it is writable, as `changes` need it."""
    if not path.exists():
        raise CampaignError(f"{path}: there is no such campaign; make one with pairsmith campaign create")
    if path.is_dir():
        raise CampaignError(f"{path} is a folder, not a campaign")
    if not path.is_file():
        raise CampaignError(f"{path} is a device or a pipe, not a campaign")
    effective = os.access in os.supports_effective_ids
    if not os.access(path, os.R_OK, effective_ids=effective):
        raise CampaignError(f"{path} cannot be read; give yourself the right to read it")
    if application_id(path) != APPLICATION:
        raise CampaignError(f"{path} is no campaign of pairsmith, or its beginning is damaged; name another file")
    if path.stat().st_nlink > 1:  # SQLite keeps a log for each name, and would miss what the others hold
        raise CampaignError(f"{path} has another name, a hard link to it; remove one of the two names")
    # SQLite writes beside the file itself, not beside a link to it.
    writable = all(os.access(place, os.W_OK, effective_ids=effective) for place in (path, path.resolve().parent))
    if changes and not writable:
        raise CampaignError(f"{path} cannot be written to; give yourself the right to write it and its folder")
    return writable


_SAYS = {
    "SQLITE_BUSY": "is locked by another program; close that and try again",
    "SQLITE_LOCKED": "is locked by another program; close that and try again",
    "SQLITE_READONLY": "cannot be written to; give yourself the right to write it and its folder",
    "SQLITE_FULL": "has no room to grow: the disk is full; nothing was lost, make room and try again",
    "SQLITE_CORRUPT": "is damaged; restore it from a backup",
    "SQLITE_NOTADB": "is no campaign of pairsmith, or its beginning is damaged; name another file",
    "SQLITE_CANTOPEN": "cannot be opened; look whether it and its folder exist and may be written to",
    "SQLITE_IOERR_SHM": "has no room for its log: the disk is full; nothing was lost, make room and try again",
    "SQLITE_IOERR": "could not be read or written: the disk reports an error",
    "55P03": "is locked by another program; close that and try again",  # PostgreSQL's lock_not_available
}


@contextmanager
def explained(target: str) -> Iterator[None]:
    """What databases raise, as one line."""
    try:
        yield
    except (sa.exc.DBAPIError, sa.exc.TimeoutError, sqlite3.Error) as error:
        raise CampaignError(_told(target, getattr(error, "orig", None) or error)) from error


def _told(target: str, error: BaseException) -> str:
    code = getattr(error, "sqlite_errorname", "") or getattr(error, "sqlstate", "") or ""
    for prefix, what in _SAYS.items():
        if code.startswith(prefix):
            return f"{shown(target)} {what}"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{shown(target)}: the database says: {lines[0]}"
