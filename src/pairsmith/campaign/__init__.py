"""Labelling with people: a campaign asks pairs in the browser, keeps every answer and plans the next pairs.

A *round* is a batch of pairs, planned at once; each is asked with one *question* after the other, of which most
campaigns have one, and each question has a model and a ranking of its own. A pair is *leased* to a person while they
look at it; an *answer* is the outcome that they give, or a skip; it may be *taken back*. Organisers *strike out*
answers and *exclude* labellers; what is left *counts*. A *snapshot* is the campaign at one moment.

What there is:
  settings      what was decided when the campaign was made
  schema        the tables; migrations: how earlier versions become this one; statements: the SQL of every request
  database      opening SQLite files and PostgreSQL, and what is wrong with them in one line
  integrity     whether an edited database still holds a campaign
  store         a campaign, opened: transactions, settings, items; guard: whether its file is still there
  prompts       what items answer, and who wrote them
  items         the items: features, groups, labels, what people see; media_files: their images and sounds
Who takes part:
  people        invites, and whoever labels on this machine; enrolment: links by which people invite themselves;
                lookalikes: names that people would take for one another
  seals         the key of this user; trust: whether this user made or confirmed a campaign
What happens:
  create        a table of items becomes a campaign; demo: two to try
  leases        pairs handed out, answers taken and undone; gold: pairs whose outcome is known among them
  goals         when it is over: budgets, bounds, deadlines, quotas; paused and closed
  answers       the answers that stand, and those added from elsewhere; exchange: answers to and from files, with
                label_studio, preferences (what language models are tuned by) and times
  judge         a program that answers pairs; asking: by a command or by HTTP; agreement: how far it agrees with people
  repair        mending what earlier versions stored; corrections: labellers excluded, answers struck out
  browse        answers one by one; wordings: the question and the instructions as they were edited
  additions     more items; backup: a copy of a campaign
What is computed, by the process of `worker`:
  snapshot      all that planning and reports look at; learning: the model of it
  rounds        the next pairs, designed and by chance; planning: when to add them
  pace          pairs left, and how fast they are answered
  waits         which pairs wait for people who are not at work
  report        what the dashboard shows of the model; dashboard: its figures, and the last report
  history       what the model claimed at the time, and what it foretold; yardstick: whether that came true
  outlook       what more answers would bring; advice: what all figures mean, in sentences
  ranking       the items in order, by pages, as people look at them; thumbnails: small pictures of them
  raters        how each labeller answers
What people see:
  web/          pages, api, media, the gate that every request passes, the server
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
