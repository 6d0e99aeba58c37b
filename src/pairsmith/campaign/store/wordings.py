"""The questions and the instructions: as the campaign was made with, and as they were edited since.

A version has the instructions and every question. All are kept, and each pair that is shown says with which
(`leases.wording`, as a lease has it).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.changes import log
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.schema import wordings

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


MOST = 9  # questions of a campaign
LONGEST_QUESTION, LONGEST_INSTRUCTIONS = 300, 50_000  # characters; instructions travel with every pair
# Control characters, halves of characters beyond 16 bits, and ends of lines and paragraphs.
_NO_PART_OF_A_LINE = ("Cc", "Cs", "Zl", "Zp")
# Characters as regular expressions name them: those of these kinds, and others that nobody sees.
_ENDS_A_LINE = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_SEEN = re.compile(rf"[^\s{_UNSEEN}{_ENDS_A_LINE}]")
QUESTION_PATTERN = rf"^[^{_ENDS_A_LINE}]*{_SEEN.pattern}[^{_ENDS_A_LINE}]*$"  # as the API's contract says it


class Wording(NamedTuple):
    number: int  # 1 is what the campaign was made with
    question: str
    instructions: str  # Markdown


def wording(store: Store, edit: int | None, question: int = 0) -> Wording:
    """The wording of this edit with this question, 0 the first; None is what the campaign was made with."""
    if edit is None:
        return Wording(1, store.settings.questions[question], store.settings.instructions)
    with store.reading() as connection:
        row = connection.execute(sa.select(wordings).where(wordings.c.id == edit)).one()
    return Wording(row.id + 1, [row.question, *row.further][question], row.instructions)


def current(store: Store, question: int = 0) -> Wording:
    """What is shown with this question from now on."""
    with store.reading() as connection:
        last = connection.execute(sql.LAST_WORDING).scalar()
    return store.wording(last, question)


def questions(store: Store) -> list[str]:
    """All questions as they are asked from now on."""
    return [current(store, number).question for number in range(len(store.settings.questions))]


def check_questions(asked: Sequence[str]) -> list[str]:
    """The questions of a campaign without the spaces around them, or the error that these cannot be asked."""
    if not 1 <= len(asked) <= MOST:
        raise Refused(422, f"{len(asked)} questions cannot be asked of each pair; ask 1 to {MOST}")
    found = [checked_question(question) for question in asked]
    _check_they_differ(found)
    return found


def _check_they_differ(asked: Sequence[str]) -> None:
    if twice := [question for at, question in enumerate(asked) if question in asked[:at]]:
        raise Refused(422, f"the question {twice[0]!r} is there twice; ask it once")


def edited(store: Store) -> list[Any]:
    """All edits, the latest first: at, question, instructions."""
    with store.reading() as connection:
        return list(connection.execute(sa.select(wordings).order_by(wordings.c.id.desc())))


def edit(
    store: Store, question: str | None = None, instructions: str | None = None, by: int | None = None, which: int = 0
) -> Wording:
    """Ask another question or give other instructions, from the next pair that is shown on; None leaves what is.

    `which` of the questions is asked otherwise, 0 the first.
    """
    now, before, asked = store.now(), current(store, which), questions(store)
    if question is not None:
        asked[which] = checked_question(question)
        _check_they_differ(asked)
    instructions = before.instructions if instructions is None else checked_instructions(instructions)
    if (asked[which], instructions) == (before.question, before.instructions):
        return before
    new = {"at": now, "question": asked[0], "further": asked[1:], "instructions": instructions}
    with store.writing() as connection:
        made = connection.execute(wordings.insert().values(new))
        assert made.inserted_primary_key is not None
        number = int(made.inserted_primary_key[0])
        log(connection, now, by, "edited", wording=number + 1, question=asked[which])
    return store.wording(number, which)


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
    if not _SEEN.search(question):
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
