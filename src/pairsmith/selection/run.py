"""Running a criterion: steps are taken, timed and saved to a checkpoint, and a progress bar shows how far they are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from pairsmith.criteria import Criterion
from pairsmith.criteria.problem import Run
from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.steps import Step, Steps
from pairsmith.files.checkpoint import Checkpoint
from pairsmith.selection.certificate import upper_bound


class Journal:
    """The steps of a run with their times. It also updates the progress bar and the checkpoint."""

    def __init__(self, began: float, k: int, progress: bool, checkpoint: Checkpoint | None) -> None:
        self.began, self.checkpoint = began, checkpoint
        self.steps: list[Step] = []
        self.seconds: list[float] = []  # from the call of select() to each step
        self._bar = ProgressBar(progress, k)

    def __enter__(self) -> Journal:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self.flush()
        finally:
            self._bar.stop()

    def note(self, step: Step) -> None:
        """Record a step and the time it was taken."""
        self.steps.append(step)
        self.seconds.append(time.perf_counter() - self.began)
        self._bar.advance()

    def report_progress(self, activity: str) -> None:
        """Show the activity beside the progress bar, and save the checkpoint, since the activity may take long."""
        self._bar.describe(activity)
        self.flush()

    def flush(self) -> None:
        """Save the checkpoint, if there is one."""
        if self.checkpoint:
            self.checkpoint.flush()

    @property
    def pairs(self) -> Ints:
        """The pairs of all steps, (m, 2)."""
        return np.array([(step.i, step.j) for step in self.steps], dtype=np.int64).reshape(-1, 2)

    @property
    def gains(self) -> Floats:
        """The gain of each step."""
        return np.array([step.gain for step in self.steps])

    @property
    def logdet(self) -> Floats:
        """log det A after each step."""
        return np.array([step.logdet for step in self.steps])


def replay(run: Run, criterion: Criterion, journal: Journal) -> None:
    """Pick the pairs of the journal's checkpoint again."""
    if journal.checkpoint is None or criterion.replay is None:
        return
    n = run.problem.features.shape[0]
    for i, j in journal.checkpoint.pairs[: run.problem.k]:
        if not (0 <= i < j < n and run.remaining.allows(i, j)):
            raise ValueError(
                f"checkpoint {journal.checkpoint.path} holds the pair ({i}, {j}), which cannot be picked here; name"
                " another file"
            )
        journal.note(criterion.replay(run.design, i, j))
        run.remaining.take(i, j)


def take_steps(run: Run, steps: Callable[[Run, int], Steps], journal: Journal) -> None:
    """Take the steps that are still missing to k."""
    journal.report_progress("picking")
    missing = run.problem.k - len(journal.steps)
    with closing(steps(run, missing)) as picks:
        for _, step in zip(range(missing), picks, strict=False):
            journal.note(step)
            if journal.checkpoint:
                journal.checkpoint.add(step.i, step.j)


def certify(
    run: Run, criterion: Criterion, journal: Journal, logdet_before: float, refinements: int
) -> tuple[float, float]:
    """Return a bound on what k candidates can add to log det, and the share of it that the steps reach."""
    rises = np.diff(journal.logdet, prepend=logdet_before)
    # A greedy run without a cap picked the largest gain of all candidates at each step.
    is_greedy = criterion.uses_engine and run.problem.max_per_item is None
    bound = upper_bound(run, journal.pairs, rises, is_greedy=is_greedy, refinements=refinements)
    return bound, float(rises.sum()) / bound if bound > 0 else 1.0


class ProgressBar:
    """A progress bar on standard error, or nothing. It is drawn at most ten times a second."""

    def __init__(self, enabled: bool, total: int) -> None:
        self.bar: Any = None
        self.done = 0
        self.last_update = 0.0
        if enabled and sys.stderr is not None:  # None: standard error is closed
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
            self.bar = Progress(*columns, console=Console(stderr=True))
            self.task = self.bar.add_task("", total=total)

    def start(self) -> None:
        """Show the bar."""
        if self.bar:
            self.bar.start()

    def stop(self) -> None:
        """Show the final count, and leave the bar as it is."""
        if self.bar:
            self.bar.update(self.task, completed=self.done, description="")
            self.bar.stop()

    def advance(self) -> None:
        """Count one more as done."""
        self.done += 1
        if self.bar and time.monotonic() > self.last_update + 0.1:
            self.bar.update(self.task, completed=self.done)
            self.last_update = time.monotonic()

    def describe(self, activity: str) -> None:
        """Show the current activity beside the bar."""
        if self.bar:
            self.bar.update(self.task, completed=self.done, description=activity)
