"""select(): check the input once, resolve names in one place, run, time -> Selection."""

from __future__ import annotations

import operator
import os
import time
import warnings
from contextlib import closing
from dataclasses import dataclass, field
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
from pairsmith.design import Design, Floats, Steps
from pairsmith.engine import engine
from pairsmith.greedy import ALGORITHMS

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
        from pairsmith.tables import write_whole

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
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
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
    random_state : None, int or numpy.random.Generator
        Seeds the random objective.
    n_jobs : int
        Threads of the compiled loops. None or -1 means all cores, -2 all but one. BLAS has threads of its own.
    progress : bool
        Show a progress bar on standard error.
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

    known = as_items([] if labeled is None else labeled, "labeled")
    if known.ndim != 1:
        raise ValueError(f"labeled must be a list of row numbers, got an array of shape {known.shape}")
    check_items(known, n, "labeled")
    compared = as_pairs([] if comparisons is None else comparisons, "comparisons")
    check_items(compared, n, "comparisons")
    remaining = _remaining(candidates, n, k, compared, max_per_item)
    lam = _ridge(ridge, features)

    if algorithm == "auto":
        algorithm = "random" if objective == "random" else "engine"
    if algorithm in ALGORITHMS:
        _check_memory(algorithm, len(remaining.rows), n * k)

    design = Design(features, lam, known, compared)
    diagnostics: dict[str, Any] = {}
    if objective == "random":
        steps = objectives.random(design, remaining, rng)
    elif algorithm == "engine":
        steps = engine(design, remaining, k, threads, diagnostics, pool_size)
    else:
        steps = ALGORITHMS[algorithm].run(design, remaining, k, threads, diagnostics)
    pairs, gains, logdet, seconds = [], [], [], []
    with closing(steps):
        for i, j, gain in _first(steps, k, progress):
            pairs.append((i, j))
            gains.append(gain)
            logdet.append(design.logdet)
            seconds.append(time.perf_counter() - began)
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
        ids=ids,
        diagnostics=diagnostics,
    )


def as_features(X: Any) -> tuple[Floats, npt.NDArray[Any] | None]:
    """X as a finite (N, d) float64 array, and its items' ids if it names them."""
    ids, columns = None, None
    if hasattr(X, "collect"):
        raise ValueError("X is a lazy frame; pass X.collect()")
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        X, ids, columns = _from_frame(X)
    elif hasattr(X, "tocsr"):
        raise ValueError("X is a sparse matrix; pass X.toarray()")
    elif np.ma.isMaskedArray(X):
        raise ValueError("X is a masked array; fill in what is masked and pass a plain array")
    try:
        array: npt.NDArray[Any] = np.asarray(X)
    except ValueError as error:
        raise ValueError("X must be a rectangular table of numbers; its rows differ in length") from error
    if array.ndim != 2:
        hint = "; use X.reshape(-1, 1) for a single feature" if array.ndim == 1 else ""
        raise ValueError(f"X must have two dimensions, items and features; got shape {array.shape}{hint}")
    n, d = array.shape
    if d == 0:
        raise ValueError("X has no feature columns; at least one numeric column is needed")
    if n < 2:
        raise ValueError(f"X has {n} item{'s' * (n != 1)}; at least two are needed to form a pair")
    if array.dtype.kind not in "biuf":
        try:
            if array.dtype.kind != "O" or any(isinstance(value, str | bytes) for value in array.flat):
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"X must be numeric, got {array.dtype} values; drop or encode what is not a number"
            ) from None
    if array.dtype.kind in "iu" and max(int(array.max()), -int(array.min())) > 2**53:
        raise ValueError("X holds whole numbers beyond 2^53, which float64 cannot tell apart; subtract an offset first")
    features: Floats = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(features)
    if not finite.all():
        row, column = (int(at) for at in np.argwhere(~finite)[0])
        item = "" if ids is None else f" (item {ids[row]!r})"
        name = column if columns is None else repr(columns[column])
        raise ValueError(f"X holds {features[row, column]} at row {row}{item}, column {name}; remove or fill it in")
    if ids is not None:
        _check_ids(ids)
    return features, ids


def _check_ids(ids: npt.NDArray[Any]) -> None:
    import pandas as pd

    try:
        missing, again = pd.isna(ids), pd.Series(ids).duplicated()
    except TypeError:
        raise ValueError("X has ids that are not plain values; use text or numbers") from None
    if np.any(missing):
        raise ValueError(f"X has no id at row {int(np.argmax(missing))}; give every item one")
    if again.any():
        raise ValueError(f"X has more than one item with the id {ids[int(np.argmax(again))]!r}; ids must be unique")


def _from_frame(frame: Any) -> tuple[Any, npt.NDArray[Any] | None, list[Any]]:
    """A pandas or polars frame's features, ids and column names."""
    polars = type(frame).__module__.startswith("polars")
    names = list(frame.columns)
    series = frame.get_columns() if polars else [frame.iloc[:, at] for at in range(len(names))]
    ids = None
    if names.count("id") > 1:
        raise ValueError("X has more than one column called 'id'; keep one")
    if "id" in names or not (polars or _plain(frame.index)):
        source = series[names.index("id")] if "id" in names else frame.index
        ids = np.empty(len(frame), dtype=object)
        ids[:] = source.to_list()
    kept = [(name, column) for name, column in zip(names, series, strict=True) if name != "id"]
    numbers = np.empty((len(frame), len(kept)))
    for at, (name, column) in enumerate(kept):
        if polars:
            numeric = column.dtype.is_numeric() or str(column.dtype) == "Boolean"
        else:
            numeric = getattr(column.dtype, "kind", "O") in "biuf"
        if not numeric:
            raise ValueError(f"X: column {name!r} is not numeric ({column.dtype}); drop it or turn it into numbers")
        if polars:
            numbers[:, at] = [np.nan if value is None else float(value) for value in column.to_list()]
        else:
            numbers[:, at] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers, ids, [name for name, _ in kept]


def _plain(index: Any) -> bool:
    """Whether a pandas index only counts the rows 0, 1, 2, ..."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


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


def _ridge(ridge: float | str, X: Floats) -> float:
    """The objective's lambda as a number that float64 can work with at the scale of X."""
    high, low = X.max(axis=0), X.min(axis=0)
    largest = float(max(high.max(), -low.min()))
    if largest > 1e152 or 0 < largest < 1e-152:
        raise ValueError(f"X has a largest entry of {largest:.1e}, whose square float64 cannot hold; rescale X")
    if isinstance(ridge, str):
        if ridge != "auto":
            raise ValueError(f"ridge must be a positive number or 'auto', got {ridge!r}")
        if largest == 0:
            raise ValueError("ridge='auto' is 1e-5 times the mean norm of X, which is 0 here; give a positive number")
        lam = 1e-5 * largest * float(np.linalg.norm(X / largest, axis=1).mean())
    else:
        try:
            if isinstance(ridge, bool | np.bool_):
                raise TypeError
            lam = float(ridge)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"ridge must be a positive number or 'auto', got {ridge!r}") from None
        if not (np.isfinite(lam) and lam > 0):
            raise ValueError(f"ridge must be a positive number, got {ridge!r}")
    # The largest gain is about spread^2 / ridge; it must neither overflow nor vanish.
    spread = float((high - low).max())
    if spread > 0:
        exponent = 2 * np.log10(spread) - np.log10(lam)
        if exponent + np.log10(X.shape[1]) > 300 or exponent < -290:
            raise ValueError(
                f"ridge={lam:.1e} is out of proportion to features that spread over {spread:.1e}; rescale X"
            )
    return lam


def _check_memory(algorithm: str, n_pairs: int, n_times_k: int) -> None:
    chosen, there = ALGORITHMS[algorithm], _memory()
    needed = chosen.bytes_per_pair * n_pairs + chosen.bytes_per_item_and_step * n_times_k
    if needed > there:
        raise ValueError(
            f"algorithm={algorithm!r} needs {needed / 1e9:.0f} GB for {n_pairs:,} pairs, and {there / 1e9:.0f} GB are"
            " available; use algorithm='engine', which keeps only what matters"
        )


def _memory() -> int:
    import psutil

    return int(psutil.virtual_memory().available)


def _first(steps: Steps, k: int, progress: bool) -> Steps:
    """The first k steps, under a progress bar if wanted."""
    if not progress:
        yield from (step for _, step in zip(range(k), steps, strict=False))
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("Selecting pairs", total=k)
        for step in _first(steps, k, progress=False):
            bar.advance(task)
            yield step
