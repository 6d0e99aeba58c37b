"""Benchmark the paper's eight algorithms on Gaussian data: time, memory and gain evaluations.

    python benchmarks/algorithms.py -n 3000 -d 400 -k 200
    python benchmarks/algorithms.py -n 15000 -d 400 -k 200 --only FLP SLP

Each algorithm runs in its own process, after a small problem that loads the compiled code. "passes" is its time
relative to one float64 GEMM pass over the pairs (Z Z' by tiles of the upper triangle) in the same run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import pairsmith as ps
from pairsmith.paper.greedy import ALGORITHMS

# Seconds the paper reports (read off its figures and text) for d = 400, K = 200.
PAPER = {
    3000: {"FG": 2600, "SG": 1700, "NL": 800, "FLP": 150, "SLP": 210, "SLM": 1250},
    15000: {"FLP": 0.93 * 3600, "SLP": 1.45 * 3600, "NL": 4.5 * 3600, "SLM": 9.4 * 3600},
}


def features(n: int, d: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal((n, d))


def gemm_pass(n: int, d: int, dtype: Any = np.float64, tile: int = 1000) -> float:
    """Time Z Z' over the upper triangle, tile by tile: the least that looking at every pair costs."""
    Z = features(n, d).astype(dtype)
    out = np.empty((tile, tile), dtype=dtype)
    best = np.inf
    for _ in range(3):
        began = time.perf_counter()
        for a in range(0, n, tile):
            for b in range(a, n, tile):
                left, right = Z[a : a + tile], Z[b : b + tile]
                np.matmul(left, right.T, out=out[: len(left), : len(right)])
        best = min(best, time.perf_counter() - began)
    return best


def measure(task: tuple[str, int, int, int, int, float]) -> tuple[float, float, int, list[list[int]]]:
    name, n, d, k, labeled, ridge = task
    ps.select(features(50, d), 10, ridge=ridge, algorithm=name)
    X = features(n, d)
    selection = ps.select(X, k, labeled=range(labeled), ridge=ridge, algorithm=name)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return float(selection.seconds[-1]), peak, selection.diagnostics["evaluations"], selection.pairs.tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=1000, help="items")
    parser.add_argument("-d", type=int, default=100, help="features")
    parser.add_argument("-k", type=int, default=200, help="pairs to pick")
    parser.add_argument("--labeled", type=int, default=30)
    parser.add_argument("--ridge", type=float, default=1e-4)
    shorts = [algorithm.short for algorithm in ALGORITHMS.values()]
    parser.add_argument("--only", nargs="+", choices=shorts, help="the paper's abbreviations; default: all eight")
    args = parser.parse_args()
    chosen = {a.short: name for name, a in ALGORITHMS.items() if not args.only or a.short in args.only}

    pairs = args.n * (args.n - 1) // 2
    one_pass = gemm_pass(args.n, args.d)
    paper = PAPER.get(args.n, {}) if (args.d, args.k) == (400, 200) else {}
    title = f"N = {args.n:,}, d = {args.d}, K = {args.k}: {pairs:,} pairs; one GEMM pass {one_pass:.2f} s"
    table = Table("algorithm", title=title)
    for column in ("seconds", "passes", "peak memory", "evaluations", "per pair", "paper", "times faster"):
        table.add_column(column, justify="right")
    table.add_column("same pairs")
    reference: list[list[int]] | None = None
    console = Console(width=140)
    for short, name in chosen.items():
        task = (name, args.n, args.d, args.k, args.labeled, args.ridge)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, peak, evaluations, picked = pool.apply(measure, (task,))
        reference = reference or picked
        console.print(f"{short:4} {seconds:10.2f} s  {peak / 1e9:.2f} GB", highlight=False)
        table.add_row(
            f"{short:4} {name}",
            f"{seconds:.2f}",
            f"{seconds / one_pass:.1f}",
            f"{peak / 1e9:.2f} GB",
            f"{evaluations:,}",
            f"{evaluations / pairs:.2f}",
            f"{paper[short]:,.0f} s" if short in paper else "",
            f"{paper[short] / seconds:.0f}" if short in paper else "",
            "yes" if picked == reference else "no",
        )
    console.print(table)


if __name__ == "__main__":
    main()
