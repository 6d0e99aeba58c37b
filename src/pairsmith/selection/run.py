"""Steps taken and timed: progress shown, a checkpoint replayed and written, a certificate at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from pairsmith.criteria import Criterion
from pairsmith.criteria.work import Work
from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.steps import Step, Steps
from pairsmith.files.checkpoint import Checkpoint
from pairsmith.selection.certificate import upper_bound


class Journal:
    """Where the steps of a run are noted: with their times, on the progress bar, in the checkpoint."""

    def __init__(self, began: float, k: int, progress: bool, saved: Checkpoint | None) -> None:
        self.began, self.saved = began, saved
        self.steps: list[Step] = []
        self.seconds: list[float] = []  # from the call of select() to each step
        self._bar = Bar(progress, k)

    def __enter__(self) -> Journal:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self.flush()
        finally:
            self._bar.stop()

    def note(self, step: Step) -> None:
        self.steps.append(step)
        self.seconds.append(time.perf_counter() - self.began)
        self._bar.advance()

    def tell(self, doing: str) -> None:
        """Show what is being done, and save the checkpoint: what follows may take long."""
        self._bar.tell(doing)
        self.flush()

    def flush(self) -> None:
        if self.saved:
            self.saved.flush()

    @property
    def pairs(self) -> Ints:
        return np.array([(step.i, step.j) for step in self.steps], dtype=np.int64).reshape(-1, 2)

    @property
    def gains(self) -> Floats:
        return np.array([step.gain for step in self.steps])

    @property
    def logdet(self) -> Floats:
        return np.array([step.logdet for step in self.steps])


def replay(work: Work, criterion: Criterion, journal: Journal) -> None:
    """Include the pairs that the journal's checkpoint holds, as if they had just been picked."""
    if journal.saved is None or criterion.replay is None:
        return
    n = work.problem.features.shape[0]
    for i, j in journal.saved.pairs[: work.problem.k]:
        if not (0 <= i < j < n and work.remaining.allows(i, j)):
            raise ValueError(
                f"checkpoint {journal.saved.path} holds the pair ({i}, {j}), which cannot be; name another file"
            )
        journal.note(criterion.replay(work.design, i, j))
        work.remaining.take(i, j)


def take(work: Work, steps: Callable[[Work, int], Steps], journal: Journal) -> None:
    """Take the steps that are missing."""
    journal.tell("picking")
    missing = work.problem.k - len(journal.steps)
    with closing(steps(work, missing)) as picks:
        for _, step in zip(range(missing), picks, strict=False):
            journal.note(step)
            if journal.saved:
                journal.saved.add(step.i, step.j)


def certified(
    work: Work, criterion: Criterion, journal: Journal, logdet_before: float, refinements: int
) -> tuple[float, float]:
    """What no k candidates raise log det by more than, and the share of it that the steps taken reach."""
    rises = np.diff(journal.logdet, prepend=logdet_before)
    bound = upper_bound(
        work.design,
        work.problem.uncapped(),
        journal.pairs,
        rises,
        # Greedy and uncapped: each pick had the largest gain of all candidates.
        criterion.by_engine and work.problem.max_per_item is None,
        refinements,
        work.threads,
        work.memory,
        work.tell,
        work.scan,
        work.before_picks,
    )
    return bound, float(rises.sum()) / bound if bound > 0 else 1.0


class Bar:
    """A progress bar on standard error, or nothing. Drawn ten times a second at most, whatever is picked or told."""

    def __init__(self, wanted: bool, total: int) -> None:
        self.bar: Any = None
        self.done = 0
        self.shown = 0.0
        if wanted and sys.stderr is not None:  # closed
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
            self.bar = Progress(*columns, console=Console(stderr=True))
            self.task = self.bar.add_task("", total=total)

    def start(self) -> None:
        if self.bar:
            self.bar.start()

    def stop(self) -> None:
        if self.bar:
            self.bar.update(self.task, completed=self.done, description="")
            self.bar.stop()

    def advance(self) -> None:
        self.done += 1
        if self.bar and time.monotonic() > self.shown + 0.1:
            self.bar.update(self.task, completed=self.done)
            self.shown = time.monotonic()

    def tell(self, doing: str) -> None:
        if self.bar:
            self.bar.update(self.task, completed=self.done, description=doing)
