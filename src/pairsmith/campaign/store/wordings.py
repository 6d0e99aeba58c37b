"""Wordings: the questions and the instructions as the campaign was made, and each edited version since.

A wording has the instructions and every question. All versions are kept; `leases.wording` says which one a rater saw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from pairsmith.campaign.options import OptionError, check_instructions, checked_questions
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.changes import log
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.schema import wordings

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


class Wording(NamedTuple):
    """One question with the instructions, in one version."""

    number: int  # of the version: 1 is what the campaign was made with
    question: str
    instructions: str  # Markdown


def wording(store: Store, edit: int | None, question: int = 0) -> Wording:
    """Return this question as of the edit with this id, or as the campaign was made if `edit` is None."""
    if edit is None:
        return Wording(1, store.settings.questions[question], store.settings.instructions)
    with store.reading() as connection:
        row = connection.execute(sa.select(wordings).where(wordings.c.id == edit)).one()
    return Wording(row.id + 1, row.questions[question], row.instructions)


def current(store: Store, question: int = 0) -> Wording:
    """Return the newest wording of this question."""
    with store.reading() as connection:
        last = connection.execute(sql.LAST_WORDING).scalar()
    return store.wording(last, question)


def questions(store: Store) -> list[str]:
    """Return the newest wording of every question."""
    return [current(store, number).question for number in range(len(store.settings.questions))]


def edit(
    store: Store, question: str | None = None, instructions: str | None = None, by: int | None = None, which: int = 0
) -> Wording:
    """Change the wording from the next pair on, and return it. None leaves the question or the instructions as is.

    `which` is the number of the question to change, counted from 0; `by` is the organiser, None for a command.
    """
    now, before, all_questions = store.now(), current(store, which), questions(store)
    try:
        if question is not None:
            all_questions[which] = question
            all_questions = checked_questions(all_questions)
        instructions = before.instructions if instructions is None else check_instructions(instructions)
    except OptionError as error:
        raise Refused(422, str(error)) from None
    if (all_questions[which], instructions) == (before.question, before.instructions):
        return before
    with store.writing() as connection:
        version = {"at": now, "questions": all_questions, "instructions": instructions}
        edited = connection.execute(wordings.insert().values(version))
        assert edited.inserted_primary_key is not None
        number = int(edited.inserted_primary_key[0])
        log(connection, now, by, "edited", wording=number + 1, question=all_questions[which])
    return store.wording(number, which)
