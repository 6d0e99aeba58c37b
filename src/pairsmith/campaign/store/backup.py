"""Copy a campaign while people answer.

The file by itself lacks what is still in SQLite's write-ahead log. SQLite's own backup copies both, as of one moment.
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

_TABLES = ("campaign", "items", "pairs", "people", "leases", "answers", "undos")  # in every version


def copy(target: str, output: Path, force: bool = False) -> tuple[int, int]:
    """Copy the SQLite file `target` to `output`, read the copy again, and return its numbers of items and answers."""
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
    copied_rows: dict[str, int] = {}

    def write(part: Path) -> None:
        with closing(database.open_to_copy(Path(target))) as source, closing(sqlite3.connect(part)) as destination:
            rows_before = _count_rows(source)
            source.backup(destination)
            destination.execute("PRAGMA journal_mode=DELETE")  # a single file, without a log beside it
        with closing(sqlite3.connect(f"{part.resolve().as_uri()}?mode=ro", uri=True)) as copied:
            copied_rows.update(_count_rows(copied))
            whole = copied.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
        if not whole or any(copied_rows[table] < count for table, count in rows_before.items()):
            raise CampaignError(f"{output} could not be written whole; is the disk full?")

    with database.explained(target):
        write_whole(output, write)
    return copied_rows["items"], copied_rows["answers"]


def _count_rows(connection: sqlite3.Connection) -> dict[str, int]:
    """Count the rows of each table. They only ever grow in number."""
    return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _TABLES}
