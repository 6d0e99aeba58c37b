"""select(): check the input once, resolve names in one place, run, time -> Selection."""

from __future__ import annotations

import operator
import os
import time
import warnings
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairsmith import objectives
from pairsmith.candidates import (
    AllPairs,
    Candidates,
    Ints,
    PairList,
    Remaining,
    WithinGroups,
    as_items,
    as_pairs,
    check_items,
)
from pairsmith.certificate import upper_bound
from pairsmith.design import COMFORTABLE, Design, Floats
from pairsmith.engine import engine
from pairsmith.features import as_features, as_ridge
from pairsmith.greedy import ALGORITHMS
from pairsmith.storage import Checkpoint, fingerprint, write_whole

if TYPE_CHECKING:
    import pandas as pd

OBJECTIVES = ("d-optimal", "random")


@dataclass(frozen=True)
class Selection:
    """The pairs that were picked, in order, and what each was worth."""

    pairs: Ints  # (k, 2) row numbers, i < j
    gains: Floats  # (k,) log(1 + d_e) of each pick at its step
    logdet: Floats  # (k,) log det A after each pick
    seconds: Floats  # (k,) from the call to each pick
    objective: str
    algorithm: str
    ridge: float
    bound: float | None = None  # with certify: no k candidates give more than this over no pairs at all
    optimality: float | None = None  # the share of it that these reach
    ids: npt.NDArray[Any] | None = field(default=None, repr=False)  # the items' own names, where X had any
    diagnostics: dict[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.pairs)

    def to_frame(self) -> pd.DataFrame:
        """A table with one row a pair: rank, the two items' ids (row numbers where X had none), gain, log det."""
        import pandas as pd

        named = self.pairs if self.ids is None else self.ids[self.pairs]
        return pd.DataFrame(
            {
                "rank": np.arange(1, len(self) + 1),
                "first": named[:, 0],
                "second": named[:, 1],
                "gain": self.gains,
                "logdet": self.logdet,
            }
        )

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `to_frame()`, whole or not at all."""
        write_whole(path, lambda temporary: self.to_frame().to_csv(temporary, index=False))


def select(
    X: Any,
    k: int,
    *,
    labeled: npt.ArrayLike | None = None,
    comparisons: npt.ArrayLike | None = None,
    candidates: Candidates | npt.ArrayLike | None = None,
    max_per_item: int | None = None,
    ridge: float | str = "auto",
    objective: str = "d-optimal",
    algorithm: str = "auto",
    certify: bool | int = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    pool_size: int | None = None,
) -> Selection:
    """Pick the k pairs whose comparison teaches a Bradley-Terry model most.

    Greedily maximises f(S) = log det(ridge I + sum_A x_i x_i' + sum_S (x_i - x_j)(x_i - x_j)') over sets S of
    k candidate pairs (the paper's Eq. 3 and 4). Among equal gains the smaller (i, j) is picked; where rounding splits
    an exact tie, any of its pairs may be.

    Parameters
    ----------
    X : array-like or data frame of shape (N, d)
        One row of numeric features an item. A frame's `id` column, or else its index, names the items.
    k : int
        How many pairs.
    labeled : array-like of int
        Rows of X that have an absolute label already (the paper's A).
    comparisons : array-like of shape (m, 2)
        Pairs of rows already compared: they condition the design and are not picked again.
    candidates : None, AllPairs, WithinGroups, PairList or array-like of shape (M, 2)
        Which pairs may be asked. None means all.
    max_per_item : int
        Exposure cap: no item in more than this many of the pairs picked now. Earlier comparisons do not count.
    ridge : float or "auto"
        The objective's lambda. "auto" is the paper's choice, 1e-5 times the mean norm of the feature vectors.
    objective : "d-optimal" or "random"
    algorithm : str
        "auto" and "engine" are the engine: exact, and the fastest. The paper's eight are "naive", "factorization",
        "scalar", "naive-lazy", "factorization-lazy", "factorization-lazy-memo", "scalar-lazy" and "scalar-lazy-memo".
    certify : bool or int
        Prove how close to the best possible k pairs these are: `bound` and `optimality` of the result. It takes another
        scan of the candidates; a number runs that many refinements, a scan each, which tighten the bound.
    random_state : None, int or numpy.random.Generator
        Seeds the random objective.
    n_jobs : int
        Threads. None or -1 means all cores, -2 all but one. The picks do not depend on it.
    progress : bool
        Show a progress bar on standard error.
    checkpoint : path
        A file that holds the pairs picked so far, written as they come. The same call, started again, goes on from
        there; a file that belongs to other data, candidates or settings is refused. Any greedy algorithm may go on
        where another stopped, and k may differ.
    pool_size : int
        How many pairs the engine keeps between two scans of all pairs; None chooses. It changes time and memory (about
        40 bytes a pair), never the result.

    Returns
    -------
    Selection
    """
    began = time.perf_counter()
    features, ids = as_features(X)
    n = len(features)
    k = _whole(k, "k")
    _check_name(objective, "objective", OBJECTIVES)
    _check_name(algorithm, "algorithm", ("auto", "engine", *ALGORITHMS))
    if objective == "random" and algorithm != "auto":
        raise ValueError(f"algorithm={algorithm!r} is for objective='d-optimal'; leave it out for 'random'")
    if pool_size is not None:
        pool_size = _whole(pool_size, "pool_size")
        if algorithm not in ("auto", "engine"):
            raise ValueError(f"pool_size is for the engine; leave it out for algorithm={algorithm!r}")
    threads = _threads(n_jobs)
    rng = _generator(random_state)

    refinements = _refinements(certify)

    known = as_items([] if labeled is None else labeled, "labeled")
    if known.ndim != 1:
        raise ValueError(f"labeled must be a list of row numbers, got an array of shape {known.shape}")
    check_items(known, n, "labeled")
    compared = as_pairs([] if comparisons is None else comparisons, "comparisons")
    check_items(compared, n, "comparisons")
    remaining = _remaining(candidates, n, k, compared, max_per_item)
    lam = as_ridge(ridge, features)

    if algorithm == "auto":
        algorithm = "random" if objective == "random" else "engine"
    large = len(remaining.rows) > 10_000_000 or features.size * 32 > COMFORTABLE
    memory = _memory() if large or algorithm in ALGORITHMS else 1 << 31
    if algorithm in ALGORITHMS:
        _check_memory(algorithm, len(remaining.rows), n * k, memory)
    saved = None
    if checkpoint is not None:
        if objective == "random":
            raise ValueError("checkpoint is for the greedy algorithms; random pairs take no time: leave it out")
        saved = Checkpoint(checkpoint, _problem(features, lam, known, compared, remaining, max_per_item))

    design = Design(features, lam, known, compared)
    everything = Remaining(remaining.rows, remaining.taken, np.full(n, np.iinfo(np.int64).max))
    diagnostics: dict[str, Any] = {}
    pairs, gains, logdet, seconds = [], [], [], []

    def note(i: int, j: int, gain: float) -> None:
        pairs.append((i, j))
        gains.append(gain)
        logdet.append(design.logdet)
        seconds.append(time.perf_counter() - began)

    if saved:
        for i, j in saved.pairs[:k]:
            if not (0 <= i < j < n and remaining.allows(i, j)):
                raise ValueError(
                    f"checkpoint {checkpoint} holds the pair ({i}, {j}), which cannot be; name another file"
                )
            note(i, j, design.add(i, j)[0])
            remaining.take(i, j)
    left = k - len(pairs)

    with _Bar(progress, k, len(pairs)) as bar:

        def tell(doing: str) -> None:
            bar.tell(doing)
            if saved:
                saved.flush()

        if objective == "random":
            steps = objectives.random(design, remaining, rng)
        elif algorithm == "engine":
            steps = engine(design, remaining, left, threads, diagnostics, pool_size, memory // 2, tell)
        else:
            bar.tell("picking")
            steps = ALGORITHMS[algorithm].run(design, remaining, left, threads, diagnostics)
        try:
            with closing(steps):
                for _, (i, j, gain) in zip(range(left), steps, strict=False):
                    note(i, j, gain)
                    bar.advance()
                    if saved:
                        saved.add(i, j)
        finally:
            if saved:
                saved.flush()
        bound = optimality = None
        if refinements is not None and pairs:
            greedy = objective == "d-optimal" and max_per_item is None
            picked, worth = np.array(pairs), np.array(gains)
            bound = upper_bound(design, everything, picked, worth, greedy, refinements, threads, memory // 2, tell)
            optimality = float(worth.sum()) / bound
    if design.uncertainty > 1e-6:
        warnings.warn(
            f"X spans so many orders of magnitude beside ridge={lam:.1e} that rounding may have moved gains by"
            f" {design.uncertainty:.0e}; rescale X, or its items and columns that are far out",
            stacklevel=2,
        )
    if len(pairs) < k:
        warnings.warn(
            f"max_per_item={max_per_item}: only {len(pairs)} of k={k} pairs could be picked before every pair left"
            " had an item at its cap; raise max_per_item or ask for fewer pairs",
            stacklevel=2,
        )
    return Selection(
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        gains=np.array(gains),
        logdet=np.array(logdet),
        seconds=np.array(seconds),
        objective=objective,
        algorithm=algorithm,
        ridge=lam,
        bound=bound,
        optimality=optimality,
        ids=ids,
        diagnostics=diagnostics,
    )


def _check_name(value: Any, name: str, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        shown = repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
        raise ValueError(f"{name}: {shown} is unknown; choose one of {', '.join(choices)}")


def _whole(value: Any, name: str) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {value!r}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number


def _threads(n_jobs: int | None) -> int:
    import joblib

    cores: int = joblib.cpu_count()
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a number of threads, or -1 for all cores; got {n_jobs!r}")
    return min(int(n_jobs), 1024) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be None, a whole number >= 0 or a numpy Generator; got {random_state!r}"
        ) from None


def _remaining(candidates: Any, n: int, k: int, compared: Ints, max_per_item: int | None) -> Remaining:
    """The candidate pairs without those already compared, checked to hold k."""
    if candidates is None:
        candidates = AllPairs()
    elif not isinstance(candidates, AllPairs | WithinGroups | PairList):
        candidates = PairList(candidates)
    rows = candidates.rows(n)
    numbers = rows.numbers(compared)
    taken = np.unique(numbers[numbers >= 0])
    left = len(rows) - len(taken)
    if k > left:
        already = f" ({len(taken)} of {len(rows)} are compared already)" if len(taken) else ""
        raise ValueError(f"k={k} pairs asked for, but only {left} candidate pairs are left{already}; lower k")
    room = np.full(n, np.iinfo(np.int64).max)
    if max_per_item is not None:
        cap = min(_whole(max_per_item, "max_per_item"), len(rows) + 1)
        gone = np.bincount(rows.pairs(taken).ravel(), minlength=n)
        possible = int(np.minimum(rows.degrees() - gone, cap).sum()) // 2
        if k > possible:
            raise ValueError(
                f"k={k} pairs asked for, but max_per_item={cap} allows at most {possible}; lower k or raise the cap"
            )
        room[:] = cap
    return Remaining(rows, taken, room)


def _refinements(certify: bool | int) -> int | None:
    """How many refinements of the bound, None for no bound at all."""
    if isinstance(certify, bool | np.bool_):
        return 0 if certify else None
    try:
        number = operator.index(certify)
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"certify must be True, False or a number of refinements, got {certify!r}")
    return number


def _problem(
    features: npt.NDArray[Any], ridge: float, known: Ints, compared: Ints, remaining: Remaining, cap: int | None
) -> dict[str, Any]:
    """What decides the greedy sequence, for the checkpoint to compare."""
    rows = remaining.rows
    return {
        "items": len(features),
        "ridge": ridge,
        "max_per_item": cap,
        "features": fingerprint(features),
        "candidates": fingerprint(rows.partner, rows.first, rows.count),
        "labeled items": fingerprint(np.unique(known, return_counts=True)[0], np.unique(known, return_counts=True)[1]),
        "comparisons": fingerprint(compared[np.lexsort(compared.T)]),
    }


def _check_memory(algorithm: str, n_pairs: int, n_times_k: int, there: int) -> None:
    chosen = ALGORITHMS[algorithm]
    needed = chosen.bytes_per_pair * n_pairs + chosen.bytes_per_item_and_step * n_times_k
    if needed > there:
        raise ValueError(
            f"algorithm={algorithm!r} needs {needed / 1e9:.0f} GB for {n_pairs:,} pairs, and {there / 1e9:.0f} GB are"
            " available; use algorithm='engine', which keeps only what matters"
        )


def _memory() -> int:
    """Bytes that can be had: what the machine has free, or what the container is allowed."""
    import psutil

    there = int(psutil.virtual_memory().available)
    try:
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text() for name in ("max", "current"))
        there = min(there, int(limit) - int(used))
    except (OSError, ValueError):  # no such container, or no limit
        pass
    return max(there, 1 << 28)


class _Bar:
    """A progress bar on standard error, or nothing. Drawn ten times a second at most, whatever is picked or told."""

    def __init__(self, wanted: bool, total: int, done: int) -> None:
        self.bar: Any = None
        self.done = done
        self.shown = 0.0
        if wanted:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
            self.bar = Progress(*columns, console=Console(stderr=True))
            self.task = self.bar.add_task("", total=total, completed=done)

    def __enter__(self) -> _Bar:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
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
