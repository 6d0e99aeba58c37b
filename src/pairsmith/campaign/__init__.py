"""Campaigns: ask people pairs in the browser, store every answer, and plan the next pairs.

A *round* is a batch of pairs that are planned together. Most campaigns ask one *question* of each pair; if there are
several, they are asked one after the other, and each has a model and a ranking of its own. A pair is *leased* to a
person while they look at it. They give an *answer* or skip the pair, and may take that back. Organisers *strike out*
answers and *exclude* raters; the remaining answers *count*. A *snapshot* is the campaign at one moment.

    options     everything the organiser decides when a campaign is made
    store       the database, and everything that reads or writes it directly
    people      who takes part: invites, enrolment, seals
    answering   from a request for a pair to a stored answer
    learning    the model of a campaign
    reporting   what the model has learned, for people to read
    planning    from stored answers to the next round
    setup       make campaigns
    exchange    export and import answers
    judging     programs as raters
    markdown    Markdown as safe HTML
    web         pages, API, media, and the server
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

ENDINGS = (".db", ".sqlite", ".sqlite3")  # of SQLite files


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 answer" or "2 answers"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_url(target: str) -> bool:
    """Return whether the target is a PostgreSQL database rather than a file."""
    return target.startswith(("postgresql:", "postgres:", "postgresql+psycopg:"))


def is_campaign(target: str) -> bool:
    """Return whether the target is a database rather than a table: a URL, an SQLite file, or a name for one."""
    if "://" in target or target.endswith(ENDINGS):
        return True
    if target.startswith(("/dev/stdin", "/dev/fd/")):  # a pipe can be read only once
        return False
    return os.path.isfile(target) and application_id(target) is not None


def application_id(path: str | os.PathLike[str]) -> int | None:
    """Return the application id of an SQLite file, or None for any other file.

    SQLite itself reads the file, because a process that has the database open must not open and close the file by other
    means: on closing any descriptor, POSIX drops all locks that the process holds on the file. SQLite defers closing
    its descriptors. The file is opened as immutable, so it is read without locks and nothing is written beside it.
    """
    try:
        immutable = f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(immutable, uri=True)) as connection:
            application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.Error:
        return None
    return application if os.path.getsize(path) else None  # SQLite takes an empty file for an empty database
