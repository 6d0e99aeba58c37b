"""Whether the file of a campaign is still the one that was opened.

SQLite goes on with files that were removed or replaced, and what it writes to them is gone when it ends. So each change
to a campaign ends with a look at its files, before anybody is told that it was made.
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
    """The files of a campaign were taken away while it was open."""


class FileGuard:
    """Watches the SQLite file `target`, its log and the log's index for as long as the campaign is open."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._opened_as = {os.path.abspath(target): _identity(target)}  # looked at before anybody opens it
        self._engine: sa.Engine | None = None
        self._anchor: sa.Connection | None = None
        self._last_written: tuple[int, int] | None = None  # when the file itself was, and its size then
        self._answers_seen = 0  # answers that were in it at the last look; none is ever deleted

    def watch_log(self, engine: sa.Engine) -> None:
        """Watch the log and its index too, now that the file is open."""
        self._engine = engine
        if not engine.url.database:  # a copy in memory
            return
        # SQLite's log and its index stay the same files for as long as a connection is open.
        with database.explained(self.target):
            self._anchor = engine.connect()
            self._anchor.execute(sa.select(campaign.c.version))
            self._anchor.rollback()
        beside = (os.path.realpath(self.target) + ending for ending in ("-wal", "-shm"))
        self._opened_as |= {name: _identity(name) for name in beside}

    def close(self) -> None:
        if self._anchor is not None:
            self._anchor.close()
            self._anchor = None

    def check(self) -> None:
        """Raise where what was written is not in the file of this name, or not sure to stay there."""
        if self._lost() is None and self._holds_the_answers():
            return
        lost = self._lost()  # again, since the file may have been taken away between the two looks
        if lost is None:
            raise Gone(
                f"{self.target} was overwritten while in use and does not hold all answers any more, so it takes no"
                " others; stop pairsmith, put the right file back and start again"
            )
        # Into the file itself, wherever it is now: another file of this name would take the log for its own.
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

    def _lost(self) -> str | None:
        """A name that no longer means the file that was opened by it, if there is any."""
        return next((name for name, file in self._opened_as.items() if _identity(name) != file), None)

    def _holds_the_answers(self) -> bool:
        """Whether the answers are in the file: somebody may have copied another over it, which keeps its inode.

        Connections that are open go by what they have read before. Only when the file itself was written to, as SQLite
        does now and then too, a new connection looks whether the answers are there.
        """
        if self._anchor is None:
            return True
        try:
            found = os.stat(self.target)
        except OSError:
            return False
        written = found.st_mtime_ns, found.st_size
        if written == self._last_written:
            return True
        if found.st_size == 0:  # beside which SQLite would take the log for garbage, and delete it
            return False
        seen = self._answers_seen  # before this look: others on other threads may see more while it lasts
        existing = f"{Path(self.target).resolve().as_uri()}?mode=rw"  # a plain name would make a file that is gone anew
        try:
            with closing(sqlite3.connect(existing, uri=True, timeout=10)) as fresh:
                (answers,) = fresh.execute(
                    "SELECT count(*) FROM answers JOIN leases ON leases.id = answers.lease"
                    " JOIN pairs ON pairs.id = leases.pair JOIN people ON people.id = leases.person"
                ).fetchone()
        except sqlite3.DatabaseError as error:
            told: str = getattr(error, "sqlite_errorname", "")
            return told.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))  # others are at work: the next look will tell
        if answers < seen:
            return False
        self._last_written, self._answers_seen = written, max(self._answers_seen, answers)
        return True

    def _empty_the_log(self) -> bool:
        """Move all that SQLite's log holds into the file itself, where that can be done."""
        assert self._engine is not None
        connection = self._engine.raw_connection()  # no transaction
        try:
            busy, *_ = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy
        except sqlite3.Error:
            return False
        finally:
            connection.close()


def _identity(path: str) -> tuple[int, int] | None:
    """What the file system knows a file by, whatever its name; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
