"""A campaign, opened: its transactions, and what of it never changes, or is only ever added to.

`people`, `leases`, `answers`, `pace` and `dashboard` are functions over a Store. Each of them that changes something is
one transaction, on disk when it returns.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, lru_cache
from typing import Any, Self

import sqlalchemy as sa

from pairsmith.campaign import is_url
from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.store import database, items, wordings
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.guard import FileGuard
from pairsmith.campaign.store.items import StoredItems
from pairsmith.campaign.store.schema import SECOND, campaign


class Store:
    """The campaign in an SQLite file or a PostgreSQL database. Without `changes`, a read-only file will do."""

    def __init__(self, target: str, clock: Callable[[], float] = time.time, changes: bool = True) -> None:
        self.target, self.clock = str(target), clock
        self._guard = None if is_url(self.target) else FileGuard(self.target)
        self.engine = database.open_existing(self.target, changes)
        if self._guard is not None:
            self._guard.watch_log(self.engine)
        self._writer = self.engine.execution_options(write=True)
        # SQLite's own queue for writers is sleep and retry; threads of one process can do better.
        self._turn: AbstractContextManager[Any] = nullcontext() if is_url(self.target) else threading.Lock()
        self._parts = lru_cache(4096)(self._read_parts)
        self._wording = lru_cache(64)(lambda edit, question: wordings.wording(self, edit, question))
        self._items: StoredItems | None = None
        self._possible: dict[int, int] = {}  # pairs that may meet, by the number of items
        self._name = lru_cache(4096)(self._read_name)
        self._prompt = lru_cache(4096)(self._read_prompt)

    def close(self) -> None:
        if self._guard is not None:
            self._guard.close()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the campaign."""
        with database.explained(self.target), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that has the right to write from its beginning, as one at a time has."""
        with (
            database.explained(self.target),
            self._turn,
            self._writer.begin() as connection,
        ):
            yield connection
        self.check()

    def check(self) -> None:
        """Raise where what was written is not in the file of this name, or not sure to stay there."""
        if self._guard is not None:
            self._guard.check()

    def now(self) -> int:
        """The time, in the unit of the tables."""
        return round(self.clock() * SECOND)

    @cached_property
    def settings(self) -> CampaignOptions:
        with self.reading() as connection:
            return _settings(connection)

    @property
    def items(self) -> StoredItems:
        """The items that are compared."""
        with self.reading() as connection:
            return self.items_as_of(connection)

    def items_as_of(self, connection: sa.Connection) -> StoredItems:
        """The items that this transaction sees; they are read again only where some were added."""
        count = connection.execute(sql.ITEMS).scalar_one()
        known = self._items
        if known is None or len(known.features) != count:
            self._items = known = items.read(connection, _settings(connection))
        return known

    def possible_pairs(self, connection: sa.Connection) -> int:
        """How many pairs of items may meet; they are counted again only where items were added."""
        count = connection.execute(sql.ITEMS).scalar_one()
        possible = self._possible.get(count)
        if possible is None:
            sizes = connection.execute(sql.GROUP_SIZES).scalars().all()
            possible = sum(size * (size - 1) // 2 for size in sizes)
            self._possible = {count: possible}
        return possible

    def forget_items(self) -> None:
        """Read the items again: one of them was mended."""
        self._items = None

    def parts(self, row: int) -> list[tuple[str, str]]:
        """What is shown of an item: kind (text, markdown, image, audio), and the text or the path in the folder."""
        try:
            return self._parts(row)
        except LookupError:  # which is not remembered: the item may be added yet
            return []

    def wording(self, edit: int | None, question: int = 0) -> wordings.Wording:
        """This question and the instructions, of this edit; None is what the campaign was made with."""
        return self._wording(edit, question)

    def _read_parts(self, row: int) -> list[tuple[str, str]]:
        with self.reading() as connection:
            found = items.parts(connection, row)
        if not found:
            raise LookupError(row)
        return found

    def name(self, row: int) -> str:
        """The id of an item, without reading all of them."""
        return self._name(row)

    def _read_name(self, row: int) -> str:
        with self.reading() as connection:
            return items.name(connection, row)

    def prompt(self, row: int) -> str | None:
        """What an item answers, and so the other item of each of its pairs; None where there is no prompt."""
        return self._prompt(row)

    def _read_prompt(self, row: int) -> str | None:
        with self.reading() as connection:
            return items.prompt(connection, row)


def _settings(connection: sa.Connection) -> CampaignOptions:
    return CampaignOptions.from_stored(connection.execute(sa.select(campaign.c.settings)).scalar_one())
