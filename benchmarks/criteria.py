"""Benchmark every criterion against N and K, on Gaussian data with 30 labelled items.

    python benchmarks/criteria.py             # the table
    python benchmarks/criteria.py --figures   # single problems: the paper's sizes, and typical ones for each criterion

Each run has its own process, after a small problem that loads the compiled code.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time

import numpy as np
from algorithms import features
from rich.console import Console
from rich.table import Table

import pairsmith as ps
from pairsmith.criteria import CRITERIA

TABLE = [(100, 20, 10), (100, 20, 200), (1000, 30, 10), (1000, 30, 200), (3000, 30, 200), (10_000, 30, 200)]
LIMIT = {"fisher": 5e7, "mutual-information": 6e6, "a-optimal": 6e7}  # pairs; larger problems are skipped
FIGURES = [
    ("mutual-information", "auto", 100, 20, 10, "the paper on Sushi: 200 s"),
    ("mutual-information", "auto", 100, 20, 200, "sampled outcomes"),
    ("fisher", "auto", 1000, 30, 200, "target: under a minute"),
    ("entropy", "auto", 1_000_000, 10, 1000, "target: about a second"),
    ("a-optimal", "auto", 3000, 400, 200, ""),
    ("d-optimal", "scalar", 3000, 400, 200, "the same complexity"),
    ("d-optimal", "auto", 15_000, 400, 200, ""),
    ("local-d-optimal", "auto", 15_000, 400, 200, "target: at most 3 times the row above"),
    ("d-optimal", "auto", 100_000, 30, 200, ""),
    ("local-d-optimal", "auto", 100_000, 30, 200, "target: at most 3 times the row above"),
]


def run(task: tuple[str, str, int, int, int]) -> tuple[float, dict[str, object]]:
    objective, algorithm, n, d, k = task
    rng = np.random.default_rng(1)

    def seconds(n: int, k: int) -> tuple[float, dict[str, object]]:
        X = features(n, d)
        labels = np.where(X[:30] @ rng.standard_normal(d) > 0, 1, -1)
        began = time.perf_counter()
        selection = ps.select(
            X,
            k,
            labeled=range(30),
            labels=labels,
            ridge=1e-4,
            objective=objective,
            algorithm=algorithm,
            random_state=0,
        )
        return time.perf_counter() - began, selection.diagnostics

    seconds(60, 5)
    if algorithm == "auto" and n > 1000:
        seconds(1000, 5)
    return seconds(n, k)


def measure(task: tuple[str, str, int, int, int]) -> tuple[float, dict[str, object]]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(run, (task,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", action="store_true", help="single problems instead of the table")
    console = Console(width=140, highlight=False)
    if parser.parse_args().figures:
        table = Table("criterion", "algorithm", "N", "d", "K", "seconds", "")
        for objective, algorithm, n, d, k, remark in FIGURES:
            seconds, diagnostics = measure((objective, algorithm, n, d, k))
            if "objective_error" in diagnostics:
                remark += f"; objective {diagnostics['objective']:.3f} +- {diagnostics['objective_error']:.3f} nats"
            table.add_row(objective, algorithm, f"{n:,}", str(d), str(k), f"{seconds:.3g}", remark)
            console.print(objective, n, d, k, f"{seconds:.3g} s")
    else:
        table = Table("criterion", *(f"N={n:,} d={d} K={k}" for n, d, k in TABLE))
        for objective in CRITERIA:
            row = []
            for n, d, k in TABLE:
                large = n * (n - 1) / 2 > LIMIT.get(objective, np.inf)
                row.append("" if large else f"{measure((objective, 'auto', n, d, k))[0]:.3g}")
            table.add_row(objective, *row)
            console.print(objective, *row)
    console.print(table)


if __name__ == "__main__":
    main()
