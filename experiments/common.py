"""Shared parts of the experiments: command line, data sets, resumable runs, timings and figures.

To add a data set, write a function from a folder to a `Dataset` and name it in `data_set`, as `recipes` is.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import threadpoolctl
from rich.console import Console
from rich.progress import track
from sklearn.isotonic import isotonic_regression

import pairsmith as ps
from pairsmith.datasets import Dataset

HERE = Path(__file__).resolve().parent
LABELED_ITEMS = {"rop": 30, "sushi": 15, "recipes": 15, "sift": 30, "mslr": 30}  # the paper's |A|; 20 for all others
BUNDLED = ["synthetic", "diabetes", "breast_cancer", "digits"]
SIMULATED = ["weak", "curved"]  # simulated sets of sets.py
WITH_ANSWERS = [*BUNDLED, "rop", "sushi", "netflix", "camra", "recipes"]
ONLY_FEATURES = ["sift", "mslr"]  # without answers: for timings only
MIN_RATINGS = {
    "netflix": 833,
    "camra": 300,
}  # users with more ratings than this take part (the paper's CAMRa: 896; most copies are smaller)
MUTUAL_INFORMATION_PAIRS = 10  # mutual information stops here, as in the paper: up to here it is exact and fast
MARKS = [1, 2, 5, *range(10, 201, 10)]  # K at which times are recorded

ALGORITHM_NAMES = {
    "NG": "naive",
    "FG": "factorization",
    "SG": "scalar",
    "NL": "naive-lazy",
    "FLP": "factorization-lazy",
    "FLM": "factorization-lazy-memo",
    "SLP": "scalar-lazy",
    "SLM": "scalar-lazy-memo",
    "engine": "engine",
}
# Colours mark families (Okabe and Ito's palette, safe for the colour-blind), line styles mark kinds of search.
COLOURS = {
    **dict.fromkeys(("NG", "NL"), "0.45"),
    **dict.fromkeys(("FG", "FLP", "FLM"), "#0072b2"),
    **dict.fromkeys(("SG", "SLP", "SLM"), "#009e73"),
    "engine": "#d55e00",
    "d-optimal": "#d55e00",
    "fisher": "#cc79a7",
    "entropy": "#e69f00",
    "mutual-information": "#56b4e9",
    "random": "0.45",
}
LINES = {**dict.fromkeys(("NL", "FLP", "SLP"), "--"), **dict.fromkeys(("FLM", "SLM"), ":")}

console = Console(highlight=False, width=None if sys.stdout.isatty() else 130)


def options(doc: str) -> argparse.Namespace:
    """Parse the command line of an experiment and create the folders for its results and figures."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with netflix/, camra/, sift/, ...")
    parser.add_argument("--redraw", action="store_true", help="measure nothing; draw from existing results")
    chosen = parser.parse_args()
    chosen.quick = chosen.scale == "quick"
    chosen.results = HERE / "results" if not chosen.quick else HERE / "results" / "quick"
    chosen.figures = HERE.parent / "docs" / "figures" if not chosen.quick else HERE.parent / "figures"
    for folder in (chosen.results, chosen.figures):
        folder.mkdir(parents=True, exist_ok=True)
    return chosen


def available(names: Iterable[str], folder: Path) -> list[str]:
    """Return the data sets whose files exist or that need none, and report the missing ones."""
    found = [name for name in names if name in [*BUNDLED, *SIMULATED] or (folder / name).is_dir()]
    if missing := [name for name in names if name not in found]:
        console.print(f"Skipped, because {folder} has no folder of that name: {', '.join(missing)}")
    return found


# Data


def data_set(name: str, seed: int, folder: Path, ties: int = -1) -> Dataset:
    """Return the data for repetition number `seed`: a new draw, another user, another query, or always the same.

    `ties` is the outcome for two equal ratings of a user; -1 as in the paper.
    """
    if name == "synthetic":
        return ps.datasets.synthetic(500, 20, seed=seed)
    if name in MIN_RATINGS:
        return _standardised(getattr(ps.datasets, name)(folder / name, nth=seed, least=MIN_RATINGS[name], ties=ties))
    if name == "sift":
        return ps.datasets.sift(folder / name, seed=seed)
    if name == "mslr":
        return _query(ps.datasets.mslr(folder / name), seed)
    if name == "recipes":
        return _standardised(recipes(folder / name))
    if name in BUNDLED:
        data = getattr(ps.datasets, name)()
        return _standardised(data, None if name != "digits" else np.random.default_rng(seed).permutation(1797)[:500])
    return _standardised(getattr(ps.datasets, name)(folder / name))


def recipes(folder: Path) -> Dataset:
    """Load 101 recipes that 54 people compared (CC BY 4.0) and take the majority of the votes on each pair.

    The files are textData.txt, samples.txt and lables.txt.
    """
    table = pd.read_csv(folder / "textData.txt")
    lists = [table[name].str.strip("[]").str.split(expand=True) for name in ("Ingredients", "Preparations")]
    plain = table[["CategoryID", "Cost", "Difficulty", "PreparationTime"]]
    X = pd.concat([plain, *lists], axis=1).to_numpy(dtype=float)
    pairs, wins = (
        np.array(
            [part.split(",") for part in (folder / name).read_text().replace("\n", ";").split(";") if part.strip()]
        )
        for name in ("samples.txt", "lables.txt")
    )
    answers = pd.DataFrame(np.column_stack([pairs.astype(int) - 1, wins.astype(float).astype(int)]))
    turned = np.where(answers[0] < answers[1], 1, -1)
    votes = pd.DataFrame(
        {"i": answers[[0, 1]].min(axis=1), "j": answers[[0, 1]].max(axis=1), "win": answers[2] * turned}
    )
    votes = votes.groupby(["i", "j"]).win.agg(["sum", "size"]).reset_index()
    score = np.bincount(votes.i, votes["sum"], len(X)) - np.bincount(votes.j, votes["sum"], len(X))
    seen = np.unique(votes[["i", "j"]])
    return Dataset(
        "recipes", X, "recipes compared by people, CC BY 4.0",
        labeled=seen, labels=np.where(score[seen] > np.median(score[seen]), 1, -1),
        pairs=votes[["i", "j"]].to_numpy(), outcomes=np.sign(votes["sum"]).to_numpy(), counts=votes["size"].to_numpy(),
    )  # fmt: skip


def _standardised(data: Dataset, rows: Any = None) -> Dataset:
    """Keep these rows, drop constant columns and scale the others to mean 0 and variance 1 (there is no intercept)."""
    items = np.arange(len(data.X)) if rows is None else np.sort(rows)
    X = data.X[items][:, np.ptp(data.X[items], axis=0) > 0]
    place = np.full(len(data.X), -1)
    place[items] = np.arange(len(items))
    kept, asked = place[data.labeled] >= 0, (place[data.pairs] >= 0).all(axis=1)
    return Dataset(
        data.name, (X - X.mean(axis=0)) / X.std(axis=0), data.source, ids=data.ids[items],
        labeled=place[data.labeled[kept]], labels=data.labels[kept],
        pairs=place[data.pairs[asked]], outcomes=data.outcomes[asked], counts=data.counts[asked],
    )  # fmt: skip


def _query(data: Dataset, seed: int) -> Dataset:
    """Return the documents of the query number `seed` among those with at least 150 documents."""
    assert data.groups is not None
    queries, counts = np.unique(data.groups, return_counts=True)
    large = queries[counts >= 150]
    if seed >= len(large):
        raise ValueError(f"query {seed} does not exist: only {len(large)} queries have 150 documents or more")
    return Dataset(data.name, data.X[data.groups == large[seed]], f"{data.source}, query {large[seed]}")


# The setup of the paper's Sec. 6.1


class Task(NamedTuple):
    """The input of a criterion: the training items, the revealed labels and the candidate pairs."""

    X: np.ndarray
    labeled: np.ndarray
    labels: np.ndarray
    candidates: np.ndarray | None  # None: all pairs

    def n_candidates(self) -> int:
        return len(self.X) * (len(self.X) - 1) // 2 if self.candidates is None else len(self.candidates)

    def select(self, method: str, k: int, **more: Any) -> ps.Selection:
        """Select k pairs. `method` is the short name of an algorithm (D-optimal) or an objective."""
        how = (
            {"algorithm": ALGORITHM_NAMES[method]}
            if method in ALGORITHM_NAMES
            else {"objective": method, "labels": self.labels}
        )
        return ps.select(self.X, k, labeled=self.labeled, candidates=self.candidates, random_state=0, **how, **more)


def training(data: Dataset, seed: int, fold: int = 0) -> tuple[Task, np.ndarray, np.ndarray, np.ndarray]:
    """Return the task and the training, validation and test items.

    A fifth of the items, the same in all folds, is for validation. The rest is cut into four parts, one of which is for
    testing: 60, 20 and 20 of 100, as in the paper's table. Data without answers are used whole.
    """
    rng = np.random.default_rng([seed, 1])
    if len(data.pairs) == 0:
        n = len(data.X)
        labels = np.resize([-1, 1], n)
        A = rng.choice(n, LABELED_ITEMS.get(data.name, 20), replace=False)
        return Task(data.X, A, labels[A], None), np.arange(n), np.zeros(0, int), np.zeros(0, int)
    items = rng.permutation(np.unique(data.pairs))  # items that nobody compared are of no use
    validation, rest = items[: len(items) // 5], items[len(items) // 5 :]
    test = rest[fold::4]
    train = np.sort(np.setdiff1d(rest, test))
    label = np.zeros(len(data.X), dtype=int)
    label[data.labeled] = data.labels
    known = np.flatnonzero(label[train])
    A = rng.choice(known, min(LABELED_ITEMS.get(data.name, 20), len(known)), replace=False)
    while len(np.unique(label[train[A]])) < 2:
        A = rng.choice(known, len(A), replace=False)
    pairs = comparisons_among(data, train)[0]
    whole = len(pairs) == len(train) * (len(train) - 1) // 2
    return Task(data.X[train], A, label[train[A]], None if whole else pairs), train, validation, test


def comparisons_among(data: Dataset, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the comparisons between these items, as positions in `items`, and their outcomes."""
    place = np.full(len(data.X), -1)
    place[items] = np.arange(len(items))
    pairs = place[data.pairs]
    inside = (pairs >= 0).all(axis=1)
    return pairs[inside], data.outcomes[inside]


# Work


def run_units(path: Path, units: list[dict[str, Any]], work: Callable[..., list[dict[str, Any]]], jobs: int = 1) -> Any:
    """Run `work(**unit)` for every unit that `path` does not hold yet, and return the rows of all units.

    The table is saved after each unit, so that a run can be stopped at any moment and started again. With jobs > 1,
    units run in parallel, with one thread each.
    """
    table = pd.read_csv(path) if path.exists() else pd.DataFrame()
    names = list(units[0])
    done = set(table[names].astype(str).itertuples(index=False, name=None)) if len(table) else set()
    todo = [unit for unit in units if tuple(str(unit[name]) for name in names) not in done]

    def results() -> Iterable[tuple[dict[str, Any], list[dict[str, Any]]]]:
        if jobs == 1:
            yield from ((unit, work(**unit)) for unit in todo)
        else:
            with threadpoolctl.threadpool_limits(1):
                both = joblib.delayed(lambda unit: (unit, work(**unit)))
                yield from joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)(map(both, todo))

    for unit, rows in track(results(), path.stem, total=len(todo), console=console, disable=not todo):
        table = pd.concat([table, pd.DataFrame([{**unit, **row} for row in rows])], ignore_index=True)
        part = path.with_name(f"part-{path.name}")  # keeps the suffix, which sets the compression
        table.to_csv(part, index=False)
        os.replace(part, path)
    wanted = {tuple(str(unit[name]) for name in names) for unit in units}
    return table[[key in wanted for key in table[names].astype(str).itertuples(index=False, name=None)]]


def measure_timings(chosen: argparse.Namespace, units: list[tuple[str, int, str]]) -> Any:
    """Time each (data, seed, algorithm or objective), one at a time, and return the seconds at each K of MARKS."""
    limit = 4.0 if chosen.quick else 10.0
    asked = [{"data": data, "seed": seed, "method": method} for data, seed, method in units]
    path = chosen.results / "timings.csv"
    if chosen.redraw:
        return pd.read_csv(path).merge(pd.DataFrame(asked))
    return run_units(path, asked, lambda **unit: time_selection(**unit, folder=chosen.data, limit=limit))


def repeats(chosen: argparse.Namespace, name: str) -> int:
    """Return how often a data set is timed, each time with other labels, another user or another query."""
    return 1 if chosen.quick or name == "sift" else 2


def time_selection(data: str, seed: int, method: str, folder: Path, limit: float) -> list[dict[str, Any]]:
    """Time one selection of 200 pairs.

    `data` is the name of a data set, or "gaussian N d". All steps of naive greedy cost the same. If 200 steps would
    take longer than `limit` seconds, it makes as many as fit, at least three, and the other times are extrapolated and
    marked as such.
    """
    if data.startswith("gaussian"):
        n, d = map(int, data.split()[1:])
        task = Task(np.random.default_rng(seed).standard_normal((n, d)), np.arange(30), np.resize([-1, 1], 30), None)
    else:
        task = training(data_set(data, seed, folder), seed)[0]
    d, pairs = task.X.shape[1], task.n_candidates()
    k = MUTUAL_INFORMATION_PAIRS if method == "mutual-information" else min(200, pairs)
    small = Task(np.random.default_rng(0).standard_normal((60, d)), np.arange(2), np.array([-1, 1]), None)
    small.select(method, 5)  # loads the compiled code
    if method == "engine":
        small.select(method, 5, pool_size=100)  # and the code that only large problems use
    if method == "NG":
        first, second = task.select(method, 2).seconds
        k = min(k, max(3, int(limit / (second - first))))
    seconds = task.select(method, k).seconds
    step = (seconds[-1] - seconds[0]) / max(1, len(seconds) - 1)
    rows = []
    for mark in MARKS if method == "NG" else [mark for mark in MARKS if mark <= len(seconds)]:
        beyond = mark > len(seconds)
        took = seconds[-1] + (mark - len(seconds)) * step if beyond else seconds[mark - 1]
        rows.append({"n": len(task.X), "d": d, "pairs": pairs, "K": mark, "seconds": took, "extrapolated": beyond})
    return rows


# Figures


def save_figure(figure: Any, axes: Iterable[Any], path: Path) -> None:
    for axis in axes:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    console.print(f"Wrote {path}")


def draw_curve(axis: Any, x: Any, seconds: Any, method: str, extrapolated: Any = None) -> None:
    """Draw a line in the style of its method, with hollow marks for extrapolated times."""
    x, seconds = np.asarray(x), np.asarray(seconds)
    axis.plot(x, seconds, LINES.get(method, "-"), color=COLOURS[method], lw=2.4 if method == "engine" else 1.5)
    hollow = np.zeros(len(x), dtype=bool) if extrapolated is None else np.asarray(extrapolated, dtype=bool)
    for marks, face in ((hollow, "white"), (~hollow, COLOURS[method])):
        axis.plot(x[marks], seconds[marks], "o", ms=4.5, mfc=face, mec=COLOURS[method])


def label_lines(axis: Any, ends: dict[str, tuple[float, float]]) -> None:
    """Write each line's name next to its end, and move names apart that would overlap (log scale)."""
    axis.figure.draw_without_rendering()
    to_pixels = axis.transData.transform
    for x in {x for x, _ in ends.values()}:
        own = sorted((y, name) for name, (at, y) in ends.items() if at == x)
        heights, steps = np.array([to_pixels((x, y))[1] for y, _ in own]), 13.0 * np.arange(len(own))
        # Isotonic regression keeps the order and 13 pixels of distance, as close as possible to the ends of the lines.
        for (y, name), moved in zip(own, isotonic_regression(heights - steps) + steps - heights, strict=True):
            axis.annotate(
                name, (x, y), (9, moved * 72 / axis.figure.dpi), textcoords="offset points", va="center",
                color=COLOURS.get(name, "0.2"), fontsize=9,
            )  # fmt: skip


def draw_two_budgets(table: Any, by: str, label: str, path: Path) -> None:
    """Draw the time to K = 50 and K = 200 against N or d. A band shows the range over repetitions."""
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained", sharey=True)
    for axis, k in zip(axes, (50, 200), strict=True):
        ends = {}
        axis.set(xscale="log", yscale="log", xlabel=label, title=f"K = {k}")
        for method, own in table[k == table.K].groupby("method", sort=False):
            shown = own.groupby(by).agg(mean=("seconds", "mean"), low=("seconds", "min"), high=("seconds", "max"),
                                        extrapolated=("extrapolated", "any"))  # fmt: skip
            draw_curve(axis, shown.index, shown["mean"], method, shown.extrapolated)
            axis.fill_between(shown.index, shown.low, shown.high, color=COLOURS[method], alpha=0.15, lw=0)
            ends[method] = (shown.index[-1], shown["mean"].iloc[-1])
        low, high = axis.get_xlim()
        axis.set_xlim(low, high * (high / low) ** 0.14)
        ticks = sorted(table[by].unique())
        axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axis.minorticks_off()
        label_lines(axis, ends)
    axes[0].set_ylabel("seconds")
    if table.extrapolated.any():
        axes[0].annotate("hollow: extrapolated", (0.02, 0.96), xycoords="axes fraction", color="0.4", fontsize=9)
    save_figure(figure, axes, path)
