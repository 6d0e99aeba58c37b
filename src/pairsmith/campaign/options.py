"""The options of a campaign: everything the organiser decides when it is made."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any, Self

from pydantic import Field, TypeAdapter, ValidationError

LEASE_SECONDS = 600.0
VIEWING_SECONDS = 0.4
RANDOM_SHARE = 0.1

MAX_COUNT = 10**9  # pairs or answers, in any option that counts them
MAX_VIEWING_SECONDS = 60
MIN_LEASE_SECONDS, MAX_LEASE_SECONDS = 6, 86_400
MAX_QUESTIONS = 9
MAX_QUESTION_LENGTH, MAX_INSTRUCTIONS_LENGTH = 300, 50_000  # characters; every pair carries the instructions with it

# Unicode categories a question may not contain: control characters, surrogates, line and paragraph separators.
_NOT_IN_ONE_LINE = ("Cc", "Cs", "Zl", "Zp")
_LINE_ENDS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"  # the same for regular expressions, without the surrogates
_INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_VISIBLE_CHARACTER = re.compile(rf"[^\s{_INVISIBLE}{_LINE_ENDS}]")
QUESTION_PATTERN = rf"^[^{_LINE_ENDS}]*{_VISIBLE_CHARACTER.pattern}[^{_LINE_ENDS}]*$"  # for the API's schema


class OptionError(ValueError):
    """An option has a value that it cannot have. The message begins with the option's name."""

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(f"{option} {problem}")
        self.option, self.problem = option, problem


@dataclass(frozen=True)
class TableColumns:
    """The columns of the table of items, so that items added later are read the same way."""

    show: list[str] | None = None  # KIND:COLUMN each; None: the campaign was not made from a table
    id: str | None = None
    group_by: str | None = None
    prompt: str | None = None  # COLUMN or KIND:COLUMN


@dataclass(frozen=True)
class CampaignOptions:
    """What the organiser decides when a campaign is made. The database keeps it as one JSON object."""

    questions: list[str]  # asked of each pair, one after the other; each has a ranking of its own
    instructions: str = ""  # Markdown, shown before the first pair and on demand
    k: int = 100  # pairs in a round; more if people answer faster than rounds are planned
    answers_per_pair: int = 1  # from this many people, each time the pair is asked
    asks_again: bool = False  # whether the design may ask a pair again once it has its answers
    ties: bool = True  # whether people may answer that the items are equal
    repeats: bool = False  # whether one person may be asked the same pair again
    max_per_item: int | None = None  # pairs of a round that one item may be in
    objective: str = "order"  # the criterion that designs rounds
    random_share: float = RANDOM_SHARE  # share of the pairs that are drawn at random
    lease_seconds: float = LEASE_SECONDS  # after which an abandoned pair returns to the queue
    viewing_seconds: float = VIEWING_SECONDS  # for which a pair is on the screen before an answer counts
    graded: bool = False  # whether people say slightly better or much better
    comments: bool = False  # whether people may add a comment to an answer
    folder: str | None = None  # holds all files that are shown; None: the folder of the table, or no files
    columns: TableColumns = field(default_factory=TableColumns)

    # Filled in by `setup.create.create`.
    id: str | None = None  # random; seals are bound to it
    seal: str | None = None  # by the user who made or confirmed the campaign with this folder, see `people.seals`
    feature_names: list[str] = field(default_factory=list)
    grouped: bool = False  # whether only items of the same group are compared
    recipe: dict[str, Any] | None = None  # of the features, as JSON; None: the table held the numbers
    prompt_kind: Annotated[str, Field(pattern="^(text|markdown)$")] = "text"
    author_column: str | None = None  # names who made each item

    def checked(self) -> Self:
        """Return these options with trimmed questions, or raise an OptionError for the first that is wrong."""
        from pairsmith.criteria import CRITERIA  # scikit-learn, which serving does without

        self._check_numbers()
        if self.objective not in CRITERIA:
            raise OptionError("objective", f"{self.objective!r} is unknown; choose one of {', '.join(CRITERIA)}")
        if self.asks_again and not CRITERIA[self.objective].needs_gaussian_process:
            raise OptionError("asks_again", f"needs objective 'order', got {self.objective!r}")
        if self.folder is not None and not os.path.isdir(self.folder):
            raise OptionError("folder", f"{self.folder} does not exist")
        check_instructions(self.instructions)
        return replace(self, questions=checked_questions(self.questions))

    def _check_numbers(self) -> None:
        for name in ("k", "answers_per_pair", "max_per_item"):
            count = getattr(self, name)
            if count is not None and not 1 <= count <= MAX_COUNT:
                raise OptionError(name, f"must be at least 1 and at most {MAX_COUNT:,}, got {count}")
        if self.asks_again and self.answers_per_pair != 1:
            raise OptionError("asks_again", f"needs answers_per_pair=1, got {self.answers_per_pair}")
        if not 0 <= self.random_share <= 1:
            problem = f"must be between 0 and 1, such as 0.1 for one pair in ten, got {self.random_share}"
            raise OptionError("random_share", problem)
        if not 0 <= self.viewing_seconds <= MAX_VIEWING_SECONDS:
            problem = f"must be between 0 and {MAX_VIEWING_SECONDS} seconds, got {self.viewing_seconds}"
            raise OptionError("viewing_seconds", problem)
        if not MIN_LEASE_SECONDS <= self.lease_seconds <= MAX_LEASE_SECONDS:
            problem = f"must be between {MIN_LEASE_SECONDS} seconds and a day, got {self.lease_seconds:g} seconds"
            raise OptionError("lease_seconds", problem)

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Return the options in the database's JSON object, or raise a ValueError that names the wrong one.

        A campaign that somebody else made may lack a seal, and may hold anything for a folder. Unknown options are
        ignored.
        """
        if not isinstance(stored, Mapping):
            raise ValueError("the options are no JSON object")
        names = [each.name for each in fields(cls)]
        values = {name: stored[name] for name in names if name in stored}
        if not isinstance(values.get("folder"), str):
            values["folder"] = None
        if missing := [name for name in names if name not in values and name not in ("id", "seal")]:
            raise ValueError(f"the option {missing[0]!r} is missing")
        try:
            options: Self = TypeAdapter(cls).validate_json(json.dumps(values), strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"the option {str(first['loc'][0])!r} is wrong: {first['msg']}") from None
        if not options.questions:
            raise ValueError("the option 'questions' is empty")
        options._check_numbers()
        return options

    def to_stored(self) -> dict[str, Any]:
        """Return the JSON object that the database keeps."""
        return asdict(self)


def checked_questions(questions: Sequence[str]) -> list[str]:
    """Return the questions without surrounding spaces, or raise an OptionError."""
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise OptionError("questions", f"must be 1 to {MAX_QUESTIONS} for each pair, got {len(questions)}")
    trimmed = [_checked_question(question) for question in questions]
    for place, question in enumerate(trimmed):
        if question in trimmed[:place]:
            raise OptionError("question", f"{question!r} is there twice; ask it once")
    return trimmed


def _checked_question(question: str) -> str:
    question = question.strip()
    if len(question) > MAX_QUESTION_LENGTH:
        raise OptionError(
            "question",
            f"has {len(question):,} characters, and at most {MAX_QUESTION_LENGTH} fit above a pair; say the rest in"
            " the instructions",
        )
    odd = next((letter for letter in question if unicodedata.category(letter) in _NOT_IN_ONE_LINE), None)
    if odd is not None:
        raise OptionError("question", f"holds {odd!a}, and has to be one line of text; leave that out")
    if not _VISIBLE_CHARACTER.search(question):
        raise OptionError("question", "is empty; ask something, such as 'Which is better?'")
    return question


def check_instructions(instructions: str) -> str:
    """Return the instructions, or raise an OptionError if they cannot be stored and shown."""
    if len(instructions) > MAX_INSTRUCTIONS_LENGTH:
        problem = f"have {len(instructions):,} characters, of at most {MAX_INSTRUCTIONS_LENGTH:,}; shorten them"
        raise OptionError("instructions", problem)
    if any(letter == "\0" or unicodedata.category(letter) == "Cs" for letter in instructions):
        raise OptionError("instructions", "hold an invalid character, such as NUL; leave it out")
    return instructions
