"""Whether the file of a campaign is still the one that was opened.

SQLite goes on with files that were removed or replaced, and what it writes to them is gone when it ends. So each change
to a campaign ends with a look at its files, before anybody is told that it was made.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import sqlalchemy as sa

from pairsmith.campaign import database
from pairsmith.campaign.database import CampaignError
from pairsmith.campaign.schema import campaign


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
        lost = next((name for name, file in self._opened_as.items() if _identity(name) != file), None)
        if lost is None:
            self._check_contents()
            return
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

    def _check_contents(self) -> None:
        """Raise where somebody has copied another file over the campaign's, which stays the same file by its inode.

        Connections that are open go by what they have read before. Only when the file itself was written to, as SQLite
        does now and then too, a new connection looks whether the answers are there.
        """
        if self._anchor is None:
            return
        found = os.stat(self.target)
        written = found.st_mtime_ns, found.st_size
        if written == self._last_written:
            return
        seen = self._answers_seen  # before this look: others on other threads may see more while it lasts
        try:
            if found.st_size == 0:  # beside which SQLite would take the log for garbage, and delete it
                raise sqlite3.DatabaseError
            with closing(sqlite3.connect(self.target, timeout=10)) as fresh:
                (answers,) = fresh.execute(
                    "SELECT count(*) FROM answers JOIN leases ON leases.id = answers.lease"
                    " JOIN pairs ON pairs.id = leases.pair JOIN people ON people.id = leases.person"
                ).fetchone()
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                return  # somebody is at work on it: the next look will tell
            answers = -1
        if answers < seen:
            raise Gone(
                f"{self.target} was overwritten while in use and does not hold all answers any more, so it takes no"
                " others; stop pairsmith, put the right file back and start again"
            )
        self._last_written, self._answers_seen = written, max(self._answers_seen, answers)

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
