"""The ranking as people browse it: pages of items, searched by id or text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store.media import file_parts
from pairsmith.campaign.store.schema import items

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

MAX_CAPTION_CHARACTERS = 160
MARKDOWN_MARKS = re.compile(r"\*+|`+|^[ \t]*(?:#+|>|[-+])[ \t]+", re.MULTILINE)  # left out of captions
COLUMNS = ("row", "rank", "score", "low", "high", "best", "worst", "in_top")  # of a report's ranking


@dataclass(frozen=True)
class Caption:
    """An item's id and group, and what a list shows of it."""

    id: str
    group: str | None
    text: str  # the beginning of its texts; empty without texts
    picture: int | None  # the index of the first image among its parts


class Page(NamedTuple):
    """A page of the items that match a search."""

    total: int  # matching items
    low: float  # the lowest and the highest end of all items' intervals
    high: float
    items: list[dict[str, Any]]  # of this page


class Rankings:
    """The ranking of the last report, by pages. Captions are read once, and again after items were added."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._captions: list[Caption] = []

    def page(self, offset: int, limit: int, search: str = "", group: str | None = None, question: int = 0) -> Page:
        """Return a page of the items of this group that contain all words of the search, best first."""
        ranking, captions = dashboard.last_ranking(self.store, question), self._current_captions()
        words = search.casefold().split()

        def matches(row: int) -> bool:
            caption = captions[row]
            if group is not None and caption.group != group:
                return False
            return all(word in caption.id.casefold() or word in caption.text.casefold() for word in words)

        low, high = min((row[3] for row in ranking), default=0.0), max((row[4] for row in ranking), default=0.0)
        if words or group is not None:
            ranking = [values for values in ranking if matches(values[0])]
        page = ranking[offset : offset + limit]
        rows = [dict(zip(COLUMNS, values, strict=True)) | vars(captions[values[0]]) for values in page]
        return Page(len(ranking), low, high, rows)

    def groups(self) -> list[str]:
        """Return the groups in the order of their first items."""
        return list(dict.fromkeys(each.group for each in self._current_captions() if each.group is not None))

    def table(self, question: int = 0) -> pd.DataFrame:
        """Return the whole ranking for a question, as it is written to a file."""
        rows = self.page(0, 10**9, question=question).items
        columns = ["rank", "id", "group", *COLUMNS[2:]]
        table = pd.DataFrame(rows, columns=columns)
        return table if self.store.settings.grouped else table.drop(columns="group")

    def _current_captions(self) -> list[Caption]:
        with self.store.reading() as connection:
            count = connection.execute(sa.select(sa.func.count()).select_from(items)).scalar_one()
            if count != len(self._captions):
                columns = items.c.name, items.c.grouped, items.c.parts
                rows = connection.execute(sa.select(*columns).order_by(items.c.row)).all()
                self._captions = [_caption(row.name, row.grouped, row.parts) for row in rows]
        return self._captions


def _caption(name: str, group: str | None, parts: Any) -> Caption:
    """Return an item's caption, whatever a foreign database holds for its parts."""
    texts = [
        MARKDOWN_MARKS.sub("", value) if kind == "markdown" else value
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, list) and len(part) == 2
        for kind, value in [part]
        if kind in ("text", "markdown") and isinstance(value, str)
    ]
    text = " ".join(" ".join(texts)[: 4 * MAX_CAPTION_CHARACTERS].split())
    picture = next((at for at, kind, _ in file_parts(parts) if kind == "image"), None)
    return Caption(
        name, group, text if len(text) <= MAX_CAPTION_CHARACTERS else f"{text[: MAX_CAPTION_CHARACTERS - 1]}…", picture
    )
