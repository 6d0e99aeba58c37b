"""The question and the instructions: as the campaign was made with, and as they were edited since.

Every version is kept, and each pair that is shown says with which (`leases.wording`, as a lease has it).
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from pairsmith.campaign import corrections
from pairsmith.campaign import statements as sql
from pairsmith.campaign.database import Refused
from pairsmith.campaign.schema import wordings

if TYPE_CHECKING:
    from pairsmith.campaign.store import Store


LONGEST_QUESTION, LONGEST_INSTRUCTIONS = 300, 50_000  # characters; instructions travel with every pair
# Control characters, halves of characters beyond 16 bits, and ends of lines and paragraphs.
_NO_PART_OF_A_LINE = ("Cc", "Cs", "Zl", "Zp")


class Wording(NamedTuple):
    number: int  # 1 is what the campaign was made with
    question: str
    instructions: str  # Markdown


def wording(store: Store, edit: int | None) -> Wording:
    """The wording of this edit; None is what the campaign was made with."""
    if edit is None:
        return Wording(1, store.settings.question, store.settings.instructions)
    with store.reading() as connection:
        row = connection.execute(sa.select(wordings).where(wordings.c.id == edit)).one()
    return Wording(row.id + 1, row.question, row.instructions)


def current(store: Store) -> Wording:
    """What is shown from now on."""
    with store.reading() as connection:
        last = connection.execute(sql.LAST_WORDING).scalar()
    return store.wording(last)


def edited(store: Store) -> list[Any]:
    """All edits, the latest first: at, question, instructions."""
    with store.reading() as connection:
        return list(connection.execute(sa.select(wordings).order_by(wordings.c.id.desc())))


def edit(store: Store, question: str | None = None, instructions: str | None = None, by: int | None = None) -> Wording:
    """Ask another question or give other instructions, from the next pair that is shown on; None leaves what is."""
    now, before = store.now(), current(store)
    question = before.question if question is None else checked_question(question)
    instructions = before.instructions if instructions is None else checked_instructions(instructions)
    if (question, instructions) == (before.question, before.instructions):
        return before
    with store.writing() as connection:
        made = connection.execute(wordings.insert().values(at=now, question=question, instructions=instructions))
        assert made.inserted_primary_key is not None
        number = int(made.inserted_primary_key[0])
        corrections.log(connection, now, by, "edited", wording=number + 1, question=question)
    return store.wording(number)


def checked_question(question: str) -> str:
    """A question without the spaces around it, or the error that it is none: it has to be one line, of some length."""
    question = question.strip()
    if len(question) > LONGEST_QUESTION:
        raise Refused(
            422,
            f"question has {len(question):,} characters, and at most {LONGEST_QUESTION} fit above a pair; say the rest"
            " in the instructions",
        )
    odd = next((letter for letter in question if unicodedata.category(letter) in _NO_PART_OF_A_LINE), None)
    if odd is not None:
        raise Refused(422, f"question holds {odd!a}, and has to be one line of text; leave that out")
    if not any(letter.isprintable() and letter != " " for letter in question):
        raise Refused(422, "question is empty; ask something, such as 'Which is better?'")
    return question


def checked_instructions(instructions: str) -> str:
    """Instructions, or the error that they cannot be shown."""
    if len(instructions) > LONGEST_INSTRUCTIONS:
        raise Refused(
            422,
            f"instructions have {len(instructions):,} characters, of at most {LONGEST_INSTRUCTIONS:,}; shorten them",
        )
    if any(letter == "\0" or unicodedata.category(letter) == "Cs" for letter in instructions):
        raise Refused(422, "instructions hold a character that is none, such as NUL; leave it out")
    return instructions
