"""What was decided when a campaign was made, and does not change while people answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

# Where whoever makes the campaign says nothing else.
LEASE_SECONDS = 600.0
VIEWING_SECONDS = 0.4
RANDOM_SHARE = 0.1

# Attributes that the database keeps under another name: campaigns made before must open.
_STORED_AS = {"answers_per_pair": "answers", "lease_seconds": "lease", "feature_names": "features", "folder": "media"}


@dataclass(frozen=True)
class Settings:
    """The settings of a campaign; the database keeps them as one JSON object."""

    question: str  # that people are asked of each pair
    instructions: str  # Markdown, shown before the first pair and on demand
    k: int  # pairs of a round, where people are not faster than that
    answers_per_pair: int  # by so many people, each time that it is asked
    ties: bool  # whether people may call it a tie
    repeats: bool  # whether one person may be asked the same pair again
    max_per_item: int | None  # no item is in more pairs of a round than this
    objective: str  # the criterion that chooses pairs
    lease_seconds: float  # after which an abandoned pair returns to the queue
    feature_names: list[str]
    grouped: bool  # whether only items of one group are compared
    id: str | None = None  # of this campaign among all, for its seals
    folder: str | None = None  # holds all files that are shown; None where there are none
    recipe: dict[str, Any] | None = None  # of the features, as JSON; None where they were there already
    seal: str | None = None  # of whoever made or confirmed the campaign with this folder, see `seals`
    viewing_seconds: float = VIEWING_SECONDS  # for which a pair is on the screen before an answer counts
    graded: bool = False  # whether people say slightly better or much better
    comments: bool = False  # whether people may add a comment to an answer
    random_share: float = RANDOM_SHARE  # of the pairs is drawn at random
    columns: dict[str, Any] | None = None  # of the table of items: show (KIND:COLUMN each), id and group_by
    asks_again: bool = False  # whether the design may ask a pair again
    prompt_kind: str = "text"  # text or markdown, of prompts where there are any
    by: str | None = None  # the column that said who made each item; None where nothing did
    further: list[str] = field(default_factory=list)  # questions after the first, asked of the same pairs

    @property
    def questions(self) -> list[str]:
        """All questions that people are asked of each pair, in this order, as the campaign was made."""
        return [self.question, *self.further]

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """From the JSON object of the database, of which a foreign one may hold anything for a folder."""
        named = {each.name: _STORED_AS.get(each.name, each.name) for each in fields(cls)}
        values = {name: stored[key] for name, key in named.items() if key in stored}
        if not isinstance(values.get("folder"), str):
            values["folder"] = None
        return cls(**values)

    def to_stored(self) -> dict[str, Any]:
        return {_STORED_AS.get(each.name, each.name): getattr(self, each.name) for each in fields(self)}
