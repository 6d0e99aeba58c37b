"""Open the database of a campaign: an SQLite file, or a PostgreSQL database by its URL.

With both, a transaction that has ended is on disk. Errors are one line.
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

APPLICATION = 0x70616972  # "pair": the application id of our SQLite files, and the lock of PostgreSQL's writers
_MAY_WRITE_TO_POSTGRESQL = (
    "SELECT has_table_privilege('answers', 'INSERT') AND has_table_privilege('campaign', 'UPDATE')"
    " AND current_setting('transaction_read_only') = 'off'"
)
_RESTORE = "restore it from a backup"
_TIMEOUT = 10  # seconds to wait for somebody else's transaction


class CampaignError(ValueError):
    """Something is wrong with a campaign. The message is one line."""


class Refused(CampaignError):
    """A request cannot be fulfilled; `status` is the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def without_passwords(target: str) -> str:
    """Return the target without passwords, which a URL may also hold among its options."""
    if not is_url(target):
        return target
    return _url(target).difference_update_query(["password", "sslpassword"]).render_as_string()


def check_kind(target: str) -> None:
    """Refuse URLs of other databases than PostgreSQL. The error leaves out the URL, which may hold a password."""
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
    """Return an engine with durable transactions. With the execution option `write=True`, they may write.

    `journal` is SQLite's journal mode.
    """
    if is_url(target):
        return _connect_postgresql(target)
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(target)),
        json_deserializer=parse_json,
        connect_args={"timeout": _TIMEOUT, "check_same_thread": False},
        pool_size=16,
        max_overflow=48,
    )
    return _with_transactions(engine, journal)


def _with_transactions(engine: sa.Engine, journal: str) -> sa.Engine:
    @sa.event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the listener below begins transactions
        for setting in (f"journal_mode={journal}", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN")

    return engine


def _connect_copy(path: Path) -> sa.Engine:
    """Return an engine on a copy in memory of a file that cannot be written to. The copy can be read and migrated.

    SQLite needs the write-ahead log beside a file. If the folder cannot be written to, either another process has the
    campaign open and shares its log, or there is no log and the file by itself is whole.
    """
    alone = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    memory = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        source = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro{alone}", uri=True, timeout=_TIMEOUT)
        try:
            source.backup(memory)
        finally:
            source.close()
    except sqlite3.Error as error:
        memory.close()
        if alone:
            raise CampaignError(_one_line(str(path), error)) from error
        raise CampaignError(
            f"{path} cannot be written to, and its newest answers are in {path.name}-wal, which cannot be read there;"
            " copy both to a folder of your own"
        ) from error
    engine = sa.create_engine(
        "sqlite://", creator=lambda: memory, poolclass=sa.StaticPool, json_deserializer=parse_json
    )
    return _with_transactions(engine, "MEMORY")


def open_to_copy(path: Path) -> sqlite3.Connection:
    """Open the file of a campaign of any version, in order to copy it with its log."""
    how = "rw" if _check_file(path, changes=False) else "ro"
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={how}", uri=True, timeout=_TIMEOUT)


def _connect_postgresql(target: str) -> sa.Engine:
    url = _url(target).set(drivername="postgresql+psycopg")
    own_options = url.query.get("options", "")  # such as a search_path
    # The defaults of the server, the database or the user must not change what a transaction means. A writer waits for
    # the lock of the previous writer and must then see what that one wrote, as under "read committed".
    settings = {
        "synchronous_commit": "on",
        "default_transaction_isolation": r"read\ committed",
        "lock_timeout": f"{_TIMEOUT}s",
    }
    options = f"{own_options} {' '.join(f'-c {name}={value}' for name, value in settings.items())}"
    try:
        engine = sa.create_engine(
            url,
            json_deserializer=parse_json,
            connect_args={"connect_timeout": _TIMEOUT, "options": options, "client_encoding": "UTF8"},
            pool_size=16,
            max_overflow=16,
            pool_pre_ping=True,
        )
    except ImportError:
        raise CampaignError("PostgreSQL needs psycopg; pip install 'pairsmith[postgres]'") from None

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("write"):  # one writer at a time, as in SQLite
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION})")
        else:  # readers see one state, as in SQLite
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    return engine


def create(target: str, fill: Callable[[sa.Connection], None], part: Path | None = None) -> None:
    """Make the tables at a new place and let `fill` write to them, or leave nothing behind.

    The caller renames the file `part` to `target` afterwards. So the file has to be whole by itself: its journal is in
    memory, and it is read again at the end.
    """
    engine = connect(target if part is None else str(part), "MEMORY")
    try:
        with explained(target):
            with engine.execution_options(write=True).begin() as connection:
                if sa.inspect(connection).has_table("campaign"):
                    raise CampaignError(
                        f"{without_passwords(target)} holds a campaign already; choose another database"
                    )
                _check_encoding(connection, target)
                tables.create_all(connection, checkfirst=False)
                fill(connection)
                if part is not None:
                    connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION}")
                written = _count_rows(connection)
            engine.dispose()
            with engine.connect() as connection:
                if (part is not None and _damage(connection)) or _count_rows(connection) != written:
                    raise CampaignError(f"{without_passwords(target)} could not be written whole; is the disk full?")
    finally:
        engine.dispose()


def _check_encoding(connection: sa.Connection, target: str) -> None:
    """Refuse a PostgreSQL database whose encoding cannot hold every text."""
    if connection.dialect.name != "postgresql":
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise CampaignError(
            f"{without_passwords(target)} has the encoding {encoding}, which does not hold every text; make a database"
            " with createdb --template template0 --encoding UTF8"
        )


def _count_rows(connection: sa.Connection) -> list[int]:
    return [connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in (items, pairs)]


def _damage(connection: sa.Connection) -> str:
    """Return what SQLite finds wrong with a file, in one line, or an empty string."""
    result = " ".join(str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()).split())
    return "" if result == "ok" else result


def open_existing(target: str, changes: bool = True) -> sa.Engine:
    """Open a campaign and migrate it to this version. Other files, damaged ones and newer versions are left untouched.

    Without `changes`, the file or database may be read-only.
    """
    check_kind(target)
    copied = not is_url(target) and not _check_file(Path(target), changes)
    engine = _connect_copy(Path(target)) if copied else connect(target)
    try:
        with explained(target):
            with engine.connect() as connection:
                if is_url(target) and not sa.inspect(connection).has_table("campaign"):
                    raise CampaignError(
                        f"{without_passwords(target)} holds no campaign; make one with pairsmith campaign create"
                    )
                if not is_url(target) and (damage := _damage(connection)):
                    raise CampaignError(f"{target} is damaged ({damage}); restore it from a backup")
                if is_url(target) and changes and not connection.exec_driver_sql(_MAY_WRITE_TO_POSTGRESQL).scalar_one():
                    raise CampaignError(
                        f"{without_passwords(target)} cannot be written to; grant its user INSERT and UPDATE on all"
                        " tables, in a database that is not read-only"
                    )
                versions = connection.execute(sa.select(campaign.c.version)).scalars().all()
            version = versions[0] if len(versions) == 1 else 0
            if not isinstance(version, int) or version < 1:
                raise CampaignError(
                    f"{without_passwords(target)} was damaged or edited (its table campaign); {_RESTORE}"
                )
            if version > schema.VERSION:
                raise CampaignError(
                    f"{without_passwords(target)} was made by a newer pairsmith (format {version}; this one knows up to"
                    f" {schema.VERSION}); update pairsmith"
                )
            if version < schema.VERSION:
                migrations.migrate(engine)
            with engine.connect() as connection:
                if (problem := integrity.find_problem(connection)) is not None:
                    raise CampaignError(f"{without_passwords(target)} was damaged or edited: {problem}; {_RESTORE}")
            if copied:  # writes to the copy would be lost
                with engine.connect() as connection:
                    connection.exec_driver_sql("PRAGMA query_only=ON")
    except BaseException:
        engine.dispose()
        raise
    return engine


def _check_file(path: Path, changes: bool) -> bool:
    """Refuse a file that is no campaign, or is read-only if `changes` are needed. Return whether it is writable."""
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
    if path.stat().st_nlink > 1:  # SQLite keeps one log for each name, and would miss the others
        raise CampaignError(f"{path} has another name, a hard link to it; remove one of the two names")
    # SQLite's log lies beside the file itself, not beside a link to it.
    writable = all(os.access(place, os.W_OK, effective_ids=effective) for place in (path, path.resolve().parent))
    if changes and not writable:
        raise CampaignError(f"{path} cannot be written to; give yourself the right to write it and its folder")
    return writable


_PROBLEM_OF_CODE = {
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
    """Turn what databases raise into a CampaignError of one line."""
    try:
        yield
    except (sa.exc.DBAPIError, sa.exc.TimeoutError, sqlite3.Error) as error:
        raise CampaignError(_one_line(target, getattr(error, "orig", None) or error)) from error


def _one_line(target: str, error: BaseException) -> str:
    code = getattr(error, "sqlite_errorname", "") or getattr(error, "sqlstate", "") or ""
    for prefix, what in _PROBLEM_OF_CODE.items():
        if code.startswith(prefix):
            return f"{without_passwords(target)} {what}"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{without_passwords(target)}: the database says: {lines[0]}"
