"""Check that the file of a campaign is still the one that was opened.

SQLite keeps writing to files that were removed or replaced, and those writes are lost when the process ends. So each
change to a campaign ends with a check of its files, before it is acknowledged.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from pairsmith.campaign.store import database
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.schema import campaign


class Gone(CampaignError):
    """The files of a campaign were removed or replaced while it was open."""


class FileGuard:
    """Watches the SQLite file `target`, its write-ahead log and the log's index while the campaign is open."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._opened_as = {os.path.abspath(target): _identity(target)}  # taken before SQLite opens the file
        self._engine: sa.Engine | None = None
        self._anchor: sa.Connection | None = None
        self._last_written: tuple[int, int] | None = None  # modification time and size of the file itself
        self._answers_seen = 0  # in the file at the last check; none is ever deleted

    def watch_log(self, engine: sa.Engine) -> None:
        """Watch the log and its index too, once the file is open."""
        self._engine = engine
        if not engine.url.database:  # a copy in memory
            return
        # The log and its index stay the same files while a connection is open.
        with database.explained(self.target):
            self._anchor = engine.connect()
            self._anchor.execute(sa.select(campaign.c.version))
            self._anchor.rollback()
        beside = (os.path.realpath(self.target) + ending for ending in ("-wal", "-shm"))
        self._opened_as |= {name: _identity(name) for name in beside}

    def close(self) -> None:
        """Stop watching."""
        if self._anchor is not None:
            self._anchor.close()
            self._anchor = None

    def check(self) -> None:
        """Raise Gone if the last write is not in the file of this name, or may not stay there."""
        if self._lost_file() is None and self._holds_the_answers():
            return
        lost = self._lost_file()  # again: the file may have been removed between the two checks
        if lost is None:
            raise Gone(
                f"{self.target} was overwritten while in use and does not hold all answers any more, so it takes no"
                " others; stop pairsmith, put the right file back and start again"
            )
        # Another file of this name would take the log for its own, so the log goes into the file it belongs to.
        saved = self._empty_the_log()
        if lost == next(iter(self._opened_as)):
            raise Gone(
                f"{self.target} was removed, renamed or replaced while in use, so it takes no more answers; stop"
                " pairsmith, put the right file back and start again"
            )
        raise Gone(
            f"{os.path.basename(lost)} was removed while in use, so {self.target} takes no more answers;"
            f" {'all so far are in it' if saved else 'some may be lost'}; stop pairsmith and start again"
        )

    def _lost_file(self) -> str | None:
        """Return the first name that no longer leads to the file that was opened by it, or None."""
        return next((name for name, file in self._opened_as.items() if _identity(name) != file), None)

    def _holds_the_answers(self) -> bool:
        """Return whether the answers are still in the file: copying another file over it keeps the inode.

        Open connections rely on what they read before. So if the file itself was written to, which SQLite does now and
        then too, a new connection counts the answers.
        """
        if self._anchor is None:
            return True
        try:
            status = os.stat(self.target)
        except OSError:
            return False
        written = status.st_mtime_ns, status.st_size
        if written == self._last_written:
            return True
        if status.st_size == 0:  # opened now, SQLite would take the log for garbage and delete it
            return False
        seen = self._answers_seen  # now: other threads may raise it while this one counts
        existing = f"{Path(self.target).resolve().as_uri()}?mode=rw"  # a plain name would create a missing file
        try:
            with closing(sqlite3.connect(existing, uri=True, timeout=10)) as fresh:
                (answers,) = fresh.execute(
                    "SELECT count(*) FROM answers JOIN leases ON leases.id = answers.lease"
                    " JOIN pairs ON pairs.id = leases.pair JOIN people ON people.id = leases.person"
                ).fetchone()
        except sqlite3.DatabaseError as error:
            code: str = getattr(error, "sqlite_errorname", "")
            return code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))  # somebody is writing; the next check will count
        if answers < seen:
            return False
        self._last_written, self._answers_seen = written, max(self._answers_seen, answers)
        return True

    def _empty_the_log(self) -> bool:
        """Move everything in SQLite's log into the file itself, and return whether that worked."""
        assert self._engine is not None
        connection = self._engine.raw_connection()  # outside of any transaction
        try:
            busy, *_ = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy
        except sqlite3.Error:
            return False
        finally:
            connection.close()


def _identity(path: str) -> tuple[int, int] | None:
    """Return what identifies a file whatever its name, or None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
