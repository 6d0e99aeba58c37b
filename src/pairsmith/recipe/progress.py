"""A bar on standard error for what takes long, one for each column, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any


class Progress:
    """Used as a context; nothing is shown unless `wanted`."""

    def __init__(self, wanted: bool) -> None:
        self._bar: Any = None
        if wanted:
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(*progress.Progress.get_default_columns(), console=Console(stderr=True))

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def over(self, what: str, total: int) -> Callable[[int], object]:
        """A function that is told how many more of these are done."""
        if self._bar is None:
            return lambda _: None
        task = self._bar.add_task(what, total=total)
        return lambda more: self._bar.advance(task, more)

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """While something is done of which nobody knows how much is left."""
        task = None if self._bar is None else self._bar.add_task(what, total=None)
        yield
        if self._bar is not None:
            self._bar.update(task, total=1, completed=1)
