"""Measure how time grows with N, d and K for the engine and the paper's algorithms, and draw docs/growth.png.

    python benchmarks/growth.py              # about a quarter of an hour; writes benchmarks/growth.csv too

Gaussian data, 30 labelled items, ridge 1e-4. A curve ends where the next point would take longer than --limit seconds.
"""

from __future__ import annotations

import argparse
import multiprocessing
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from algorithms import features

import pairsmith as ps
from pairsmith.paper.greedy import ALGORITHMS

HERE = Path(__file__).resolve().parent
SIZES = [300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
COLOURS = {10: "#56b4e9", 30: "#0072b2", 100: "#009e73", 400: "#d55e00"}


def run(task: tuple[str, int, int, int]) -> list[tuple[int, float]]:
    """Return (k, seconds to the k-th pick). Run it in its own process."""
    algorithm, n, d, k = task
    ps.select(features(60, d), 20, ridge=1e-4, algorithm=algorithm)
    X = features(n, d)
    if algorithm == "engine":
        ps.select(features(700, d), 50, ridge=1e-4, pool_size=50_000)
    selection = ps.select(X, k, labeled=range(30), ridge=1e-4, algorithm=algorithm)
    marks = [mark for mark in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if mark <= k]
    return [(mark, float(selection.seconds[mark - 1])) for mark in marks]


def measure(limit: float) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []

    def add(figure: str, name: str, n: int, d: int, k: int, last: float) -> float:
        """Time this problem, unless the last one took longer than the limit, and return the seconds."""
        if last > limit:
            return last
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            points = pool.apply(run, ((name, n, d, k),))
        for mark, seconds in points if figure == "K" else points[-1:]:
            rows.append({"figure": figure, "algorithm": name, "N": n, "d": d, "K": mark, "seconds": seconds})
        print(figure, name, n, d, k, f"{points[-1][1]:.3g} s", flush=True)
        return points[-1][1]

    for d in COLOURS:
        seconds = 0.0
        for n in SIZES:
            if n * n * d > 2e13 and n * d > 3e7:
                break
            seconds = add("N", "engine", n, d, 200, seconds) if seconds * 9 < 3 * limit else limit + 1
    for name in ALGORITHMS:
        seconds = 0.0
        for n in SIZES[:4]:
            seconds = add("N, d = 30", name, n, 30, 200, seconds * 10 if n > 300 else 0.0)
    for name in ("engine", *ALGORITHMS):
        if name not in ("naive", "naive-lazy", "factorization"):
            add("K", name, 3000, 30, 2000, 0.0)
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, path: Path) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    for d, colour in COLOURS.items():
        part = table[(table.figure == "N") & (table.d == d)]
        left.plot(part.N, part.seconds, "o-", color=colour, lw=2, ms=4)
        left.annotate(
            f"d = {d}", (part.N.iloc[-1], part.seconds.iloc[-1]), (5, 2), textcoords="offset points", color=colour
        )
    left.set(title="The engine, 200 pairs", xlabel="items N")
    engine = table[(table.figure == "N") & (table.d == 30) & table.N.isin(SIZES[:4])]
    _curves(middle, table[table.figure == "N, d = 30"], "N", engine)
    middle.set(title="With the paper's eight algorithms, d = 30, 200 pairs", xlabel="items N")
    rest = table[table.figure == "K"]
    _curves(right, rest[rest.algorithm != "engine"], "K", rest[rest.algorithm == "engine"])
    right.set(title="Against K, N = 3,000, d = 30", xlabel="pairs picked K")
    for axis in (left, middle, right):
        axis.set(xscale="log", yscale="log", ylabel="seconds")
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        low, high = axis.get_xlim()
        axis.set_xlim(low, high * (4 if axis is left else 3))
    figure.savefig(path, dpi=110)


def _curves(axis: Any, others: pd.DataFrame, by: str, engine: pd.DataFrame) -> None:
    lazy = others[others.algorithm.str.contains("lazy")]
    for name, part in others.groupby("algorithm", sort=False):
        alike = "lazy" in str(name)
        axis.plot(part[by], part.seconds, "-", color="#0072b2" if alike else "0.45", lw=1 if alike else 1.6)
        if not alike:
            _label(axis, part[by].iloc[-1], part.seconds.iloc[-1], str(name), "0.3")
    last = lazy[lazy[by] == lazy[by].max()].seconds
    count = {4: "four", 5: "five"}[lazy.algorithm.nunique()]
    _label(axis, lazy[by].max(), float(np.exp(np.log(last).mean())), f"the {count}\nlazy algorithms", "#0072b2")
    axis.plot(engine[by], engine.seconds, "o-", color="#d55e00", lw=2.2, ms=4)
    _label(axis, engine[by].iloc[-1], engine.seconds.iloc[-1], "engine", "#d55e00")


def _label(axis: Any, x: float, y: float, text: str, colour: str) -> None:
    axis.annotate(text, (x, y), (6, 0), textcoords="offset points", color=colour, va="center")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60, help="maximum seconds per point")
    parser.add_argument("--redraw", action="store_true", help="measure nothing; draw growth.csv")
    chosen = parser.parse_args()
    results = HERE / "growth.csv"
    if not chosen.redraw:
        measure(chosen.limit).to_csv(results, index=False)
    draw(pd.read_csv(results), HERE.parent / "docs" / "growth.png")


if __name__ == "__main__":
    main()
