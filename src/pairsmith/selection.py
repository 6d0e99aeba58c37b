"""select(): check the input once, resolve names in one place, run, time -> Selection."""

from __future__ import annotations

import operator
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairsmith.certificate import upper_bound
from pairsmith.criteria.a_optimal import a_optimal
from pairsmith.criteria.entropy import entropy
from pairsmith.criteria.fisher import fisher
from pairsmith.criteria.mutual_information import mutual_information
from pairsmith.criteria.random import random
from pairsmith.data import fingerprint
from pairsmith.data.arrays import Floats, Ints, as_items, as_pairs, check_items, refuse_masked
from pairsmith.data.candidates import (
    AllPairs,
    Candidates,
    PairList,
    Remaining,
    WithinGroups,
)
from pairsmith.data.features import COMFORTABLE, Features, extremes, some_rows
from pairsmith.data.frames import as_features, check_finite, check_ids
from pairsmith.data.ridge import as_ridge
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.information import Design
from pairsmith.engine.scan import Scan
from pairsmith.engine.search import engine
from pairsmith.files.checkpoint import Checkpoint
from pairsmith.files.write import write_whole
from pairsmith.paper.greedy import ALGORITHMS

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.model.bradley_terry import BradleyTerry

# Each with the bytes it needs for every candidate; those with a model weigh answers by it.
OBJECTIVES = {
    "d-optimal": 0,
    "local-d-optimal": 0,
    "averaged-d-optimal": 0,
    "a-optimal": 16,
    "entropy": 0,
    "fisher": 8,
    "mutual-information": 40,
    "random": 0,
}
GAINS = {  # what a gain is, where it is not what log det of the information grows by
    "a-optimal": "what the trace of A^-1, the summed variance of the coefficients, falls by",
    "entropy": "how open the answer is under the model, in nats",
    "fisher": "what the Fisher information ratio grows by",
    "mutual-information": "what the answer tells about the coefficients, in nats",
}
BY_ENGINE = ("d-optimal", "local-d-optimal", "averaged-d-optimal")
WITH_MODEL = ("local-d-optimal", "averaged-d-optimal", "entropy", "fisher", "mutual-information")
RESUMABLE = (*BY_ENGINE, "a-optimal")


@dataclass(frozen=True)
class Selection:
    """The pairs that were picked, in order, and what each was worth."""

    pairs: Ints  # (k, 2) row numbers, i < j
    gains: Floats  # (k,) what each pick added to the objective at its step: log(1 + d_e), or see `gain_is`
    logdet: Floats  # (k,) log det A after each pick, whatever the objective
    seconds: Floats  # (k,) from the call to each pick
    objective: str
    algorithm: str
    ridge: float
    logdet_before: float  # log det A before the first pick
    bound: float | None = None  # with certify: no k candidates raise log det A by more than this
    optimality: float | None = None  # the share of it that these reach
    ids: npt.NDArray[Any] | None = field(default=None, repr=False)  # the items' own names, where X had any
    diagnostics: dict[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def gain_is(self) -> str:
        """What a gain is under this objective, in words."""
        return GAINS.get(self.objective, "what log det of the information grows by")

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
    labels: npt.ArrayLike | None = None,
    better: Any = None,
    comparisons: npt.ArrayLike | None = None,
    outcomes: npt.ArrayLike | None = None,
    candidates: Candidates | npt.ArrayLike | None = None,
    max_per_item: int | None = None,
    ridge: float | str = "auto",
    objective: str = "d-optimal",
    algorithm: str = "auto",
    model: BradleyTerry | None = None,
    certify: bool | int = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    pool_size: int | None = None,
    client: Any = None,
) -> Selection:
    """Pick the k pairs whose comparison teaches a Bradley-Terry model most.

    Greedily maximises f(S) = log det(ridge I + sum_A x_i x_i' + sum_S (x_i - x_j)(x_i - x_j)') over sets S of
    k candidate pairs (the paper's Eq. 3 and 4). Among equal gains the smaller (i, j) is picked; where rounding splits
    an exact tie, any of its pairs may be.

    Parameters
    ----------
    X : array-like or data frame of shape (N, d)
        One row of numeric features an item. The column `id` of a frame (pandas, polars) or an Arrow table, or else a
        frame's index, names the items.
    k : int
        How many pairs.
    labeled : array-like of int
        Rows of X that have an absolute label already (the paper's A).
    labels : array-like
        Those labels, of two values; only criteria that use a model look at them.
    better : str or number
        The better one of the two labels. Words need it; of two numbers the greater one is, unless this says otherwise.
    comparisons : array-like of shape (m, 2)
        Pairs of rows already compared: they condition the design and are not picked again.
    outcomes : array-like of shape (m,)
        +1 where the first was preferred, -1 where the second, 0 for a tie; only criteria that use a model look at them.
    candidates : None, AllPairs, WithinGroups, PairList or array-like of shape (M, 2)
        Which pairs may be asked. None means all.
    max_per_item : int
        Exposure cap: no item in more than this many of the pairs picked now. Earlier comparisons do not count.
    ridge : float or "auto"
        The objective's lambda. "auto" is the paper's choice, 1e-5 times the mean norm of the feature vectors.
    objective : str
        "d-optimal"; "local-d-optimal", which weighs each answer by its variance p (1 - p) under a model;
        "averaged-d-optimal", the same with p shrunk toward 1/2 by how uncertain the model is; "a-optimal", which lowers
        the trace of A^-1; the paper's competitors "entropy", "fisher" and "mutual-information", which use a model too;
        or "random".
    algorithm : str
        "auto" and "engine" are the engine: exact, and the fastest. The paper's eight are "naive", "factorization",
        "scalar", "naive-lazy", "factorization-lazy", "factorization-lazy-memo", "scalar-lazy" and "scalar-lazy-memo".
    model : fitted BradleyTerry
        For the criteria that use one. Without it one is fitted to labels and outcomes, with a ridge under which scores
        have a standard deviation of 2 beforehand.
    certify : bool or int
        Prove how close log det comes to the best possible k pairs: `bound` and `optimality` of the result. It takes
        another scan of the candidates; a number runs that many refinements, a scan each, which tighten the bound. For
        D-optimality, its two relatives and random pairs: for other criteria no such bound is known.
    random_state : None, int or numpy.random.Generator
        Seeds the random objective, and the samples that mutual information is estimated from (None: always the same).
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
        40 bytes a pair), never the result (but which of gains equal within 1e-12 is taken).
    client : dask.distributed.Client
        Scan on its workers: the same pairs, sooner. X may then also be a dask array, or the path of a .npy file, a
        Parquet table (its column `id` names the items) or a Zarr array that every worker can open; the workers read
        it, and X does not pass through this process. D-optimality and its two relatives only.

    Returns
    -------
    Selection
    """
    began = time.perf_counter()
    k = _whole(k, "k")
    _check_name(objective, "objective", tuple(OBJECTIVES))
    _check_name(algorithm, "algorithm", ("auto", "engine", *ALGORITHMS))
    by_engine = objective in BY_ENGINE
    if algorithm != "auto" and not (objective == "d-optimal" or (by_engine and algorithm == "engine")):
        raise ValueError(f"algorithm={algorithm!r} is for objective='d-optimal'; leave it out for {objective!r}")
    if pool_size is not None:
        pool_size = _whole(pool_size, "pool_size")
        if algorithm not in ("auto", "engine") or not by_engine:
            used = f"algorithm={algorithm!r}" if by_engine else f"objective={objective!r}"
            raise ValueError(f"pool_size is for the engine; leave it out for {used}")
    if client is not None and (algorithm not in ("auto", "engine") or not by_engine):
        used = f"algorithm={algorithm!r}" if by_engine else f"objective={objective!r}"
        raise ValueError(f"client is for the engine; leave it out for {used}")
    threads = _threads(n_jobs)
    # What the samples of mutual information happen to be is nobody's wish: without a seed they are always the same.
    rng = _generator(0 if random_state is None and objective == "mutual-information" else random_state)
    cluster = None
    if client is not None:
        from pairsmith.cluster.client import Cluster

        cluster = Cluster(client)
    features: Features
    if cluster is not None and cluster.reads(X):
        features, ids = cluster.features(X)
        check_finite(features)
        if ids is not None:
            check_ids(ids)
    else:
        features, ids = as_features(X)
    n, d = features.shape
    refinements = _refinements(certify)
    if refinements is not None and objective in GAINS:
        raise ValueError(f"certify bounds log det, which is not what objective={objective!r} maximises; leave it out")

    for name, given in (("labels", labels), ("outcomes", outcomes)):
        refuse_masked(given, name)
    known = as_items([] if labeled is None else labeled, "labeled")
    if known.ndim != 1:
        raise ValueError(f"labeled must be a list of row numbers, got an array of shape {known.shape}")
    check_items(known, n, "labeled")
    compared = as_pairs([] if comparisons is None else comparisons, "comparisons")
    check_items(compared, n, "comparisons")
    remaining = _remaining(candidates, n, k, compared, max_per_item)
    high, low = bounds = extremes(features)
    lam = as_ridge(ridge, features, bounds)

    if algorithm == "auto":
        algorithm = "engine" if by_engine else objective
    large = len(remaining.rows) > 10_000_000 or n * d * 32 > COMFORTABLE
    memory = _memory() if large or algorithm != "engine" else 1 << 31
    _check_memory(algorithm, len(remaining.rows), n * k, memory)
    if checkpoint is not None and not isinstance(checkpoint, str | os.PathLike):
        raise ValueError(f"checkpoint must be the path of a file, got {checkpoint!r}")
    if checkpoint is not None and objective not in RESUMABLE:
        raise ValueError(f"checkpoint is for {', '.join(RESUMABLE)}; leave it out for objective={objective!r}")
    scores = None
    if objective in WITH_MODEL:
        model = _model(features, objective, known, labels, better, comparisons, outcomes, model)
        scores = np.concatenate(features.over_blocks(partial(_scores, model.coef_)))
    if objective == "averaged-d-optimal":
        assert scores is not None
        assert model is not None
        scores = scores * _doubt(features, model)
    weighing = scores if by_engine else None
    saved = None
    if checkpoint is not None:
        problem = _problem(features, lam, known, compared, remaining, max_per_item, objective, weighing)
        saved = Checkpoint(checkpoint, problem)

    rows, extent = remaining.rows, high - low
    if rows.groups is None:  # items in none of the pairs of a list do not matter, however far out they are
        extent = np.ptp(features.rows(np.unique(rows.pairs(np.arange(len(rows))))), axis=0)
    with single_threaded_blas():  # small factorizations, for which threads are far slower
        design = Design(features, lam, known, compared, weighing, extent)
    everything = Remaining(remaining.rows, remaining.taken, np.full(n, np.iinfo(np.int64).max))
    start = design.logdet
    diagnostics: dict[str, Any] = {}
    pairs, gains, logdet, seconds = [], [], [], []

    def note(i: int, j: int, gain: float, after: float) -> None:
        pairs.append((i, j))
        gains.append(gain)
        logdet.append(after)
        seconds.append(time.perf_counter() - began)

    if saved:
        for i, j in saved.pairs[:k]:
            if not (0 <= i < j < n and remaining.allows(i, j)):
                raise ValueError(
                    f"checkpoint {checkpoint} holds the pair ({i}, {j}), which cannot be; name another file"
                )
            gain, v = design.add(i, j)
            # |v|^2 = |A^-1 x|^2 / (1 + d) is what the pair takes off the trace, by Sherman-Morrison.
            note(i, j, float(v @ v) if objective == "a-optimal" else gain, design.logdet)
            remaining.take(i, j)
    left = k - len(pairs)

    scan: Callable[..., Scan] = Scan
    if cluster is not None:
        scan = cluster.scan(features)
    with _Bar(progress, k, len(pairs)) as bar, nullcontext() if cluster is None else cluster.keeping_copies():

        def tell(doing: str) -> None:
            bar.tell(doing)
            if saved:
                saved.flush()

        bar.tell("picking")
        if objective == "random":
            steps = random(design, remaining, rng)
        elif objective == "a-optimal":
            steps = a_optimal(design, remaining, threads)
        elif objective == "entropy":
            assert scores is not None
            steps = entropy(design, remaining, left, scores)
        elif objective == "fisher":
            assert scores is not None
            steps = fisher(design, remaining, scores, compared, lam, threads)
        elif objective == "mutual-information":
            assert model is not None
            posterior = design.X, model.coef_, model.covariance_root_
            steps = mutual_information(design, remaining, left, *posterior, rng, diagnostics)
        elif algorithm == "engine":
            steps = engine(design, remaining, left, threads, diagnostics, pool_size, memory // 2, tell, scan)
        else:
            steps = ALGORITHMS[algorithm].run(design, remaining, left, threads, diagnostics)
        try:
            with closing(steps):
                for _, (i, j, gain, after) in zip(range(left), steps, strict=False):
                    note(i, j, gain, after)
                    bar.advance()
                    if saved:
                        saved.add(i, j)
        finally:
            if saved:
                saved.flush()
        bound = optimality = None
        if refinements is not None and pairs:
            greedy = by_engine and max_per_item is None
            picked, worth = np.array(pairs), np.diff(logdet, prepend=start)
            certifying = design, everything, picked, worth, greedy, refinements, threads, memory // 2, tell, scan
            bound = upper_bound(*certifying)
            optimality = float(worth.sum()) / bound if bound > 0 else 1.0
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
        logdet_before=start,
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


def _model(
    features: Features,
    objective: str,
    known: Ints,
    labels: npt.ArrayLike | None,
    better: Any,
    comparisons: npt.ArrayLike | None,
    outcomes: npt.ArrayLike | None,
    model: BradleyTerry | None,
) -> BradleyTerry:
    """The model given, or one fitted to what is known."""
    from pairsmith.model.bradley_terry import BradleyTerry

    d = features.shape[1]
    if model is not None:
        if not isinstance(model, BradleyTerry) or not hasattr(model, "coef_"):
            raise ValueError("model must be a fitted BradleyTerry; call its fit first")
        if len(model.coef_) != d:
            raise ValueError(f"model was fitted to {len(model.coef_)} features, but X has {d}")
        return model
    if labels is None and outcomes is None:
        raise ValueError(
            f"objective={objective!r} needs a model: give labels (of labeled), outcomes (of comparisons) or model"
        )
    # Only the rows it is fitted to are copied.
    pairs = as_items([] if comparisons is None or outcomes is None else comparisons, "comparisons").reshape(-1, 2)
    for name, given, of, count in (
        ("labels", labels, "labeled", len(known)),
        ("outcomes", outcomes, "comparisons", len(pairs)),
    ):
        if given is not None and np.shape(given) != (count,):
            raise ValueError(f"{name} has shape {np.shape(given)}, but {of} has {count} entries; give one for each")
    items = np.unique(np.concatenate([known if labels is not None else known[:0], pairs.ravel()]))
    X = features.rows(items)
    return BradleyTerry(ridge=usual_ridge(features), better=better).fit(
        X,
        labels,
        labeled=None if labels is None else np.searchsorted(items, known),
        comparisons=None if outcomes is None else np.searchsorted(items, pairs),
        outcomes=outcomes,
    )


def usual_ridge(features: Features) -> float:
    """The model's ridge where nobody chose one: scores then have a standard deviation of 2 before any answer."""
    some = some_rows(features, 5000)
    spread = float(np.mean(np.sum((some - some.mean(axis=0)) ** 2, axis=1)))
    return spread / 8 if spread > 0 else 1.0


def _scores(coef: Floats, _low: int, block: npt.NDArray[Any]) -> Floats:
    scores: Floats = block @ coef
    return scores


def _doubt(features: Features, model: BradleyTerry) -> float:
    """By how much to shrink scores so that p is, roughly, averaged over the posterior: 1 / sqrt(1 + pi v / 8).

    v is the posterior variance of a difference of scores, for a pair of items drawn at random (MacKay's approximation).
    """
    some = some_rows(features, 5000) @ model.covariance_root_
    variance = 2 * float(np.mean(np.sum((some - some.mean(axis=0)) ** 2, axis=1)))
    return float(1 / np.sqrt(1 + np.pi * variance / 8))


def _problem(
    features: Features,
    ridge: float,
    known: Ints,
    compared: Ints,
    remaining: Remaining,
    cap: int | None,
    objective: str,
    scores: Floats | None,
) -> dict[str, Any]:
    """What decides the greedy sequence, for the checkpoint to compare."""
    rows = remaining.rows
    return {
        "items": features.shape[0],
        "ridge": ridge,
        "max_per_item": cap,
        "objective": objective,
        "features": fingerprint.of_features(features),
        "candidates": fingerprint.of_arrays(rows.partner, rows.first, rows.count),
        "labeled items": fingerprint.of_arrays(
            np.unique(known, return_counts=True)[0], np.unique(known, return_counts=True)[1]
        ),
        "comparisons": fingerprint.of_arrays(compared[np.lexsort(compared.T)]),
        **({} if scores is None else {"model": fingerprint.of_arrays(scores)}),
    }


def _check_memory(algorithm: str, n_pairs: int, n_times_k: int, there: int) -> None:
    """Refuse before any work what would not fit; `algorithm` may be one of the other objectives."""
    if algorithm in ALGORITHMS:
        chosen = ALGORITHMS[algorithm]
        needed = chosen.bytes_per_pair * n_pairs + chosen.bytes_per_item_and_step * n_times_k
    else:
        needed = OBJECTIVES.get(algorithm, 0) * n_pairs
    if needed > there:
        kind = "algorithm" if algorithm in ALGORITHMS else "objective"
        instead = "algorithm='engine'" if algorithm in ALGORITHMS else "objective='local-d-optimal'"
        raise ValueError(
            f"{kind}={algorithm!r} needs {needed / 1e9:.0f} GB for {n_pairs:,} pairs, and {there / 1e9:.0f} GB are"
            f" available; use {instead}, which keeps only what matters"
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
        if wanted and sys.stderr is not None:  # closed
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
