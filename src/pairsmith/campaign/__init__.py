"""Labelling with people: a campaign asks pairs in the browser, keeps every answer and plans the next pairs.

database   where a campaign is kept: tables, versions, and what a broken database says
statements the SQL of every request
store      pairs handed out, answers taken, undone and counted
seals      which campaigns and invites this user made or confirmed
media      images and sounds, opened without leaving their folder
create     a table of items becomes a campaign; the demo
rounds     the next pairs, designed by a process of its own
report     what the dashboard shows, computed by that process
exchange   answers written to and read from files
web        the pages and the API; gate: what every request passes before it is looked at
server     who may hold a connection, and for how long
commands   the command line
"""

from __future__ import annotations

import os

ENDINGS = (".db", ".sqlite", ".sqlite3")  # of an SQLite file


def printable(text: str) -> str:
    """This text for a terminal: what is no printable character, such as the start of a colour code, as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_url(target: str) -> bool:
    """Whether this names a PostgreSQL database rather than a file."""
    return target.startswith(("postgresql:", "postgres:", "postgresql+psycopg:"))


def is_campaign(target: str) -> bool:
    """Whether this means a database rather than a table: a URL, an SQLite file, or what would be the name of one."""
    if "://" in target or target.endswith(ENDINGS):
        return True
    if target.startswith(("/dev/stdin", "/dev/fd/")) or not os.path.isfile(
        target
    ):  # what comes through a pipe can be read only once
        return False
    try:
        with open(target, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False
