"""The engine against floors measured in the same run, on Gaussian data with 30 labelled items and a ridge of 1e-4.

    python benchmarks/engine.py                    # every problem of the table
    python benchmarks/engine.py --only 15000,400   # one of them

The floors: "gemm" is one float32 matrix product over the upper triangle of the pairs; "xv" is K products X v in
float64; "flp" is our own factorization-lazy.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from typing import Any

import numpy as np
from algorithms import features, gemm_pass
from rich.console import Console
from rich.table import Table

import pairsmith as ps

PROBLEMS = [  # N, d, K, floor
    (100, 20, 200, "flp"),
    (3000, 400, 200, "gemm"),
    (15_000, 400, 200, "gemm"),
    (100_000, 30, 200, "xv"),
    (100_000, 100, 200, "gemm"),
    (1_000_000, 10, 200, "xv"),
]


def measure(task: tuple[int, int, int, str]) -> tuple[float, float, float, dict[str, Any]]:
    """Seconds, the floor's seconds, peak memory and diagnostics, in a process of its own."""
    n, d, k, kind = task
    ps.select(features(50, d), 5, ridge=1e-4)
    ps.select(features(700, d), 50, ridge=1e-4, pool_size=50_000)
    X = features(n, d)
    options = {"labeled": range(30), "ridge": 1e-4}
    repeats = 20 if n < 1000 else 3
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        selection = ps.select(X, k, **options)
        times.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if kind == "gemm":
        floor = gemm_pass(n, d, np.float32)
    elif kind == "xv":
        began = time.perf_counter()
        for _ in range(k):
            X @ X[0]
        floor = time.perf_counter() - began
    else:
        ps.select(X, k, **options, algorithm="factorization-lazy")
        began = time.perf_counter()
        ps.select(X, k, **options, algorithm="factorization-lazy")
        floor = time.perf_counter() - began
    return float(np.median(times)), floor, peak, selection.diagnostics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="N,d", help="problems of the table, such as 15000,400")
    only = parser.parse_args().only
    table = Table("N", "d", "K", "pairs", "seconds", "floor", "floor, s", "floors", "peak memory", "scans", "float64")
    console = Console(width=130)
    for n, d, k, kind in PROBLEMS:
        if only and f"{n},{d}" not in only:
            continue
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, floor, peak, told = pool.apply(measure, ((n, d, k, kind),))
        row = (
            f"{n:,}",
            d,
            k,
            f"{n * (n - 1) / 2:.2g}",
            f"{seconds:.3g}",
            kind,
            f"{floor:.3g}",
            f"{seconds / floor:.2g}",
        )
        console.print(*row, highlight=False)
        table.add_row(*map(str, row), f"{peak / 1e9:.2f} GB", str(told["scans"]), str(told["float64_scans"]))
    console.print(table)


if __name__ == "__main__":
    main()
