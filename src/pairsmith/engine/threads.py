"""A team of threads for loops over blocks of items or pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from pairsmith.design.blas import single_threaded_blas


class ThreadTeam:
    """Threads that share the blocks of a loop. The block size does not depend on their number, so neither do results.

    A "worker" elsewhere in pairsmith is a process: a Dask worker, or the process that plans for a campaign.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.executor = ThreadPoolExecutor(threads)

    def share(self, work: Callable[[Any], None], tasks: Iterable[Any]) -> None:
        """Call `work` on every task, in parallel, and wait; raise the first exception."""
        tasks = list(tasks)
        if self.threads == 1 or len(tasks) < 2:
            for task in tasks:
                work(task)
        else:
            list(self.executor.map(work, tasks))


@contextmanager
def thread_team(threads: int) -> Iterator[ThreadTeam]:
    """Provide a team of threads, and hold BLAS to one thread in each of them meanwhile."""
    with single_threaded_blas():
        team = ThreadTeam(threads)
        try:
            yield team
        finally:
            team.executor.shutdown(cancel_futures=True)
