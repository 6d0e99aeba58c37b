"""What was decided when a campaign was made, and does not change while people answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Self

from pydantic import Field, TypeAdapter, ValidationError

# Where whoever makes the campaign says nothing else.
LEASE_SECONDS = 600.0
VIEWING_SECONDS = 0.4
RANDOM_SHARE = 0.1

# Attributes that the database keeps under another name: campaigns made before must open.
_STORED_AS = {"answers_per_pair": "answers", "lease_seconds": "lease", "feature_names": "features", "folder": "media"}


@dataclass(frozen=True)
class CampaignOptions:
    """The settings of a campaign; the database keeps them as one JSON object."""

    question: str  # that people are asked of each pair
    instructions: str  # Markdown, shown before the first pair and on demand
    k: Annotated[int, Field(ge=1)]  # pairs of a round, where people are not faster than that
    answers_per_pair: Annotated[int, Field(ge=1)]  # by so many people, each time that it is asked
    ties: bool  # whether people may call it a tie
    repeats: bool  # whether one person may be asked the same pair again
    max_per_item: Annotated[int, Field(ge=1)] | None  # no item is in more pairs of a round than this
    objective: str  # the criterion that chooses pairs
    lease_seconds: Annotated[
        float, Field(gt=0, allow_inf_nan=False)
    ]  # after which an abandoned pair returns to the queue
    feature_names: list[str]
    grouped: bool  # whether only items of one group are compared
    id: str | None = None  # of this campaign among all, for its seals
    folder: str | None = None  # holds all files that are shown; None where there are none
    recipe: dict[str, Any] | None = None  # of the features, as JSON; None where they were there already
    seal: str | None = None  # of whoever made or confirmed the campaign with this folder, see `seals`
    viewing_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = (
        VIEWING_SECONDS  # for which a pair is on the screen before an answer counts
    )
    graded: bool = False  # whether people say slightly better or much better
    comments: bool = False  # whether people may add a comment to an answer
    random_share: Annotated[float, Field(ge=0, le=1)] = RANDOM_SHARE  # of the pairs is drawn at random
    columns: dict[str, Any] | None = None  # of the table of items: show (KIND:COLUMN each), id and group_by
    asks_again: bool = False  # whether the design may ask a pair again
    prompt_kind: Annotated[str, Field(pattern="^(text|markdown)$")] = (
        "text"  # text or markdown, of prompts where there are any
    )
    by: str | None = None  # the column that said who made each item; None where nothing did
    further: list[str] = field(default_factory=list)  # questions after the first, asked of the same pairs

    @property
    def questions(self) -> list[str]:
        """All questions that people are asked of each pair, in this order, as the campaign was made."""
        return [self.question, *self.further]

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Return the settings in the JSON object of the database, or raise a ValueError that names the wrong one.

        A foreign database may hold anything for a folder.
        """
        if not isinstance(stored, Mapping):
            raise ValueError("the settings are no JSON object")
        named = {each.name: _STORED_AS.get(each.name, each.name) for each in fields(cls)}
        values = {name: stored[key] for name, key in named.items() if key in stored}
        if not isinstance(values.get("folder"), str):
            values["folder"] = None
        try:
            found: Self = TypeAdapter(cls).validate_json(json.dumps(values), strict=True)
        except ValidationError as error:
            wrong = error.errors()[0]
            name = named.get(str(wrong["loc"][0]), str(wrong["loc"][0]))
            raise ValueError(f"the setting {name!r} is wrong: {wrong['msg']}") from None
        return found

    def to_stored(self) -> dict[str, Any]:
        return {_STORED_AS.get(each.name, each.name): getattr(self, each.name) for each in fields(self)}
