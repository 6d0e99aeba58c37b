"""Threads for loops over blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from pairsmith.design.blas import single_threaded_blas


class Team:
    """Threads for the loops over blocks, with BLAS held to one thread in each: results do not depend on how many.

    A *worker* is something else: a process of Dask's, or the one that plans for a campaign.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads)

    def share(self, work: Callable[[Any], None], tasks: Iterable[Any]) -> None:
        tasks = list(tasks)
        if self.threads == 1 or len(tasks) < 2:
            for task in tasks:
                work(task)
        else:
            list(self.pool.map(work, tasks))


@contextmanager
def team_of(threads: int) -> Iterator[Team]:
    with single_threaded_blas():
        team = Team(threads)
        try:
            yield team
        finally:
            team.pool.shutdown(cancel_futures=True)
