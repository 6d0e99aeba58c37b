"""A copy of a campaign that is whole, made while people answer.

A copy of the file by itself lacks what is still in SQLite's log beside it; SQLite's own backup has both, as of one
moment.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from pairsmith.campaign import ENDINGS, is_url
from pairsmith.campaign.store import database
from pairsmith.campaign.store.database import CampaignError
from pairsmith.files.write import write_whole

_TABLES = ("campaign", "items", "pairs", "people", "leases", "answers", "undos")  # of every version


def copy(target: str, output: Path, force: bool = False) -> tuple[int, int]:
    """Copy the SQLite file `target` to `output`; how many items and answers the copy has, which was read again."""
    database.check_kind(target)
    if is_url(target):
        raise CampaignError("PostgreSQL makes its own copies, also while a campaign is served: pg_dump URL > copy.sql")
    if output.suffix not in ENDINGS:
        raise CampaignError(f"--output {output}: call the copy something.db")
    if output.is_dir() or not output.parent.is_dir():
        raise CampaignError(f"--output {output}: this is no place for a file; name one in a folder that exists")
    if os.path.realpath(output) == os.path.realpath(target):
        raise CampaignError(f"--output {output} is the campaign itself; choose another")
    if output.exists() and not force:
        raise CampaignError(f"--output {output} is there already; choose another, or replace it with --force")
    copied: dict[str, int] = {}

    def write(part: Path) -> None:
        with closing(database.open_to_copy(Path(target))) as source, closing(sqlite3.connect(part)) as destination:
            before = _counts(source)
            source.backup(destination)
            destination.execute("PRAGMA journal_mode=DELETE")  # a file by itself, without a log beside it
        with closing(sqlite3.connect(f"{part.resolve().as_uri()}?mode=ro", uri=True)) as found:
            copied.update(_counts(found))
            whole = found.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
        if not whole or any(copied[table] < count for table, count in before.items()):
            raise CampaignError(f"{output} could not be written whole; is the disk full?")

    with database.explained(target):
        write_whole(output, write)
    return copied["items"], copied["answers"]


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Rows of each table, to which nothing is ever done but adding."""
    return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _TABLES}
