"""The ranking as people look at it: the items themselves, some at a time, searched by what they are called or say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store.media import parts_with_files
from pairsmith.campaign.store.schema import items

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

LONGEST = 160  # characters of a text that are shown
MARKS = re.compile(r"\*+|`+|^[ \t]*(?:#+|>|[-+])[ \t]+", re.MULTILINE)  # of Markdown; a line does not need them
COLUMNS = ("row", "rank", "score", "low", "high", "best", "worst", "in_top")  # as `report` has them


@dataclass(frozen=True)
class Caption:
    """What an item is called, and what is shown of it in a list."""

    id: str
    group: str | None
    text: str  # the beginning of its texts; empty where it has none
    picture: int | None  # which of its parts is the first image


class Page(NamedTuple):
    """How many items fit, the lowest and the highest end of an interval of all items, and some of those that fit."""

    total: int
    low: float
    high: float
    items: list[dict[str, Any]]


class Rankings:
    """The ranking of the last report, by pages. Captions are read once, and again where items were added."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._captions: list[Caption] = []

    def page(self, offset: int, limit: int, search: str = "", group: str | None = None, question: int = 0) -> Page:
        """Some of the items of this group that have all these words, best first by this question."""
        ranking, captions = dashboard.last_ranking(self.store, question), self._up_to_date()
        words = search.casefold().split()

        def fits(row: int) -> bool:
            said = captions[row]
            if group is not None and said.group != group:
                return False
            return all(word in said.id.casefold() or word in said.text.casefold() for word in words)

        low, high = min((row[3] for row in ranking), default=0.0), max((row[4] for row in ranking), default=0.0)
        if words or group is not None:
            ranking = [values for values in ranking if fits(values[0])]
        some = ranking[offset : offset + limit]
        shown = [dict(zip(COLUMNS, values, strict=True)) | vars(captions[values[0]]) for values in some]
        return Page(len(ranking), low, high, shown)

    def groups(self) -> list[str]:
        """The groups that items are in, as they come."""
        return list(dict.fromkeys(said.group for said in self._up_to_date() if said.group is not None))

    def table(self, question: int = 0) -> pd.DataFrame:
        """All of it by this question, as it is written to a file."""
        rows = self.page(0, 10**9, question=question).items
        columns = ["rank", "id", "group", *COLUMNS[2:]]
        table = pd.DataFrame(rows, columns=columns)
        return table if self.store.settings.grouped else table.drop(columns="group")

    def _up_to_date(self) -> list[Caption]:
        with self.store.reading() as connection:
            count = connection.execute(sa.select(sa.func.count()).select_from(items)).scalar_one()
            if count != len(self._captions):
                columns = items.c.name, items.c.grouped, items.c.parts
                found = connection.execute(sa.select(*columns).order_by(items.c.row)).all()
                self._captions = [_caption(row.name, row.grouped, row.parts) for row in found]
        return self._captions


def _caption(name: str, group: str | None, parts: Any) -> Caption:
    """Whatever a foreign database holds for parts."""
    texts = [
        MARKS.sub("", value) if kind == "markdown" else value
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, list) and len(part) == 2
        for kind, value in [part]
        if kind in ("text", "markdown") and isinstance(value, str)
    ]
    text = " ".join(" ".join(texts)[: 4 * LONGEST].split())
    picture = next((at for at, kind, _ in parts_with_files(parts) if kind == "image"), None)
    return Caption(name, group, text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…", picture)
