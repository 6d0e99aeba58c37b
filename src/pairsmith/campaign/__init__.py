"""Labelling with people: a campaign asks pairs in the browser, keeps every answer and plans the next pairs.

A *round* is a batch of pairs, planned at once; each is asked with one *question* after the other, of which most
campaigns have one, and each question has a model and a ranking of its own. A pair is *leased* to a person while they
look at it; an *answer* is the outcome that they give, or a skip; it may be *taken back*. Organisers *strike out*
answers and *exclude* raters; what is left *counts*. A *snapshot* is the campaign at one moment.

    options     what is said when a campaign is made
    store       the database, and everything that reads or writes it directly
    people      who takes part: invites, enrolment, seals
    answering   from a request for a pair to a stored answer
    learning    the model of a campaign
    reporting   what the model has learned, for people to read
    planning    from stored answers to the next round
    setup       making campaigns
    exchange    answers written to files and read from files
    judging     programs as raters
    markdown    Markdown as safe HTML
    web         pages, API, media, and the server
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

ENDINGS = (".db", ".sqlite", ".sqlite3")  # of an SQLite file


def counted(number: int, noun: str) -> str:
    """So many of them, such as "1 answer" or "2 answers"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_url(target: str) -> bool:
    """Whether this names a PostgreSQL database rather than a file."""
    return target.startswith(("postgresql:", "postgres:", "postgresql+psycopg:"))


def is_campaign(target: str) -> bool:
    """Whether this means a database rather than a table: a URL, an SQLite file, or what would be the name of one."""
    if "://" in target or target.endswith(ENDINGS):
        return True
    if target.startswith(("/dev/stdin", "/dev/fd/")):  # what comes through a pipe can be read only once
        return False
    return os.path.isfile(target) and application_id(target) is not None


def application_id(path: str | os.PathLike[str]) -> int | None:
    """Return the application id of an SQLite file, or None for any other file.

    SQLite reads it, because a process that has the database open must not open and close the file by other means:
    on closing any descriptor, POSIX drops all locks that the process holds on the file. SQLite waits with closing its
    own. An immutable file is read without locks, and nothing is written beside it.
    """
    try:
        immutable = f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(immutable, uri=True)) as connection:
            found: int = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.Error:
        return None
    return found if os.path.getsize(path) else None  # SQLite takes an empty file for an empty database
