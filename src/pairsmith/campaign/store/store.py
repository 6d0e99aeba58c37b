"""An open campaign: its transactions, and its content that never changes or only grows.

Everything else about a campaign is a function of a Store, such as those of `invites`, `leases` and `answers`. Each
function that changes something is one transaction, on disk when it returns.
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
    """An open campaign in an SQLite file or a PostgreSQL database. Without `changes`, it may be read-only."""

    def __init__(self, target: str, clock: Callable[[], float] = time.time, changes: bool = True) -> None:
        self.target, self.clock = str(target), clock
        self._guard = None if is_url(self.target) else FileGuard(self.target)
        self.engine = database.open_existing(self.target, changes)
        if self._guard is not None:
            self._guard.watch_log(self.engine)
        self._writer = self.engine.execution_options(write=True)
        # SQLite's writers sleep and retry; threads of one process can queue for a lock.
        self._turn: AbstractContextManager[Any] = nullcontext() if is_url(self.target) else threading.Lock()
        self._parts = lru_cache(4096)(self._read_parts)
        self._wording = lru_cache(64)(lambda edit, question: wordings.wording(self, edit, question))
        self._items: StoredItems | None = None
        self._possible_pairs: dict[int, int] = {}  # by the number of items
        self._name = lru_cache(4096)(self._read_name)
        self._prompt = lru_cache(4096)(self._read_prompt)

    def close(self) -> None:
        """Close the database."""
        if self._guard is not None:
            self._guard.close()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that sees one state of the campaign."""
        with database.explained(self.target), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a transaction that may write. There is one at a time, and the next sees all that it wrote."""
        with (
            database.explained(self.target),
            self._turn,
            self._writer.begin() as connection,
        ):
            yield connection
        self.check()

    def check(self) -> None:
        """Raise Gone if the last write is not in the file of this name, or may not stay there."""
        if self._guard is not None:
            self._guard.check()

    def now(self) -> int:
        """Return the time in the unit of the tables, microseconds."""
        return round(self.clock() * SECOND)

    @cached_property
    def settings(self) -> CampaignOptions:
        """The options of the campaign."""
        with self.reading() as connection:
            return _load_options(connection)

    @property
    def items(self) -> StoredItems:
        """The items that are compared."""
        with self.reading() as connection:
            return self.items_as_of(connection)

    def items_as_of(self, connection: sa.Connection) -> StoredItems:
        """Return the items that this transaction sees. They are read again only if some were added."""
        count = connection.execute(sql.ITEMS).scalar_one()
        cached = self._items
        if cached is None or len(cached.features) != count:
            self._items = cached = items.read(connection, _load_options(connection))
        return cached

    def possible_pairs(self, connection: sa.Connection) -> int:
        """Return how many pairs of items may be compared. They are counted again only if items were added."""
        count = connection.execute(sql.ITEMS).scalar_one()
        possible = self._possible_pairs.get(count)
        if possible is None:
            sizes = connection.execute(sql.GROUP_SIZES).scalars().all()
            possible = sum(size * (size - 1) // 2 for size in sizes)
            self._possible_pairs = {count: possible}
        return possible

    def parts(self, row: int) -> list[tuple[str, str]]:
        """Return what raters see of an item, see `items.parts`; empty if there is no such item."""
        try:
            return self._parts(row)
        except LookupError:  # not cached, because the item may be added later
            return []

    def wording(self, edit: int | None, question: int = 0) -> wordings.Wording:
        """Return this question as of an edit, see `wordings.wording`."""
        return self._wording(edit, question)

    def _read_parts(self, row: int) -> list[tuple[str, str]]:
        with self.reading() as connection:
            own = items.parts(connection, row)
        if not own:
            raise LookupError(row)
        return own

    def name(self, row: int) -> str:
        """Return the id of an item, without reading all items."""
        return self._name(row)

    def _read_name(self, row: int) -> str:
        with self.reading() as connection:
            return items.name(connection, row)

    def prompt(self, row: int) -> str | None:
        """Return the prompt that an item and the other items of its group answer, or None."""
        return self._prompt(row)

    def _read_prompt(self, row: int) -> str | None:
        with self.reading() as connection:
            return items.prompt(connection, row)


def _load_options(connection: sa.Connection) -> CampaignOptions:
    return CampaignOptions.from_stored(connection.execute(sa.select(campaign.c.settings)).scalar_one())
