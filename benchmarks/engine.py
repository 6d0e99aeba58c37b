"""Benchmark the engine against reference computations in the same run: 30 labelled items, ridge 1e-4, K = 200.

    python benchmarks/engine.py                          # Gaussian data, all problems
    python benchmarks/engine.py --only 15000,400         # one of them
    python benchmarks/engine.py --kinds                  # other data, and Gaussian data of the same size
    python benchmarks/engine.py --kinds --sift sift.tsv --mslr train.txt      # and real features
    python benchmarks/engine.py --first                  # the first call in a fresh process
    python benchmarks/engine.py --effects                # items with effects of their own

The references, called floors: "gemm" is one float32 matrix product over the upper triangle of the pairs, "xv" is K
products X v in float64, and "flp" is our own factorization-lazy. Times are medians of three runs (twenty for N < 1000).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from algorithms import features, gemm_pass
from rich.console import Console
from rich.table import Table

import pairsmith as ps

K = 200
PROBLEMS = [  # N, d, floor
    (100, 20, "flp"),
    (3000, 400, "gemm"),
    (15_000, 400, "gemm"),
    (100_000, 30, "xv"),
    (100_000, 100, "gemm"),
    (1_000_000, 10, "xv"),
]
ROUNDS = {"a campaign's round": "order", "a D-optimal round": "averaged-d-optimal"}  # under a BradleyTerryGP


def data(kind: str, n: int, d: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    if kind == "Student t, 3 degrees":
        return rng.standard_t(3, (n, d))
    if kind == "50 clusters":
        return rng.standard_normal((50, d))[rng.integers(50, size=n)] * 3 + rng.standard_normal((n, d))
    if kind.startswith("SIFT:"):
        return np.loadtxt(kind[5:], delimiter="\t")[:, :128]
    if kind.startswith("MSLR:"):
        from sklearn.datasets import load_svmlight_file

        X = load_svmlight_file(kind[5:])[0].toarray()
        X = X[:, X.std(axis=0) > 0]
        return (X - X.mean(axis=0)) / X.std(axis=0)  # its columns differ in scale by 10^7
    return features(n, d)


def measure(task: tuple[str, int, int, str]) -> tuple[float, float, float, dict[str, Any]]:
    """Return seconds, the floor's seconds, peak memory and diagnostics. Run it in its own process."""
    kind, n, d, floor_kind = task
    ps.select(features(50, d), 5, ridge=1e-4)
    ps.select(features(700, d), 50, ridge=1e-4, pool_size=50_000)
    X = data(kind, n, d)
    options: dict[str, Any] = {"labeled": range(30), "ridge": 1e-4}
    times = []
    for _ in range(20 if n < 1000 else 3):
        began = time.perf_counter()
        selection = ps.select(X, K, **options)
        times.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if floor_kind == "gemm":
        floor = gemm_pass(n, d, np.float32)
    elif floor_kind == "xv":
        began = time.perf_counter()
        for _ in range(K):
            X @ X[0]
        floor = time.perf_counter() - began
    else:
        ps.select(X, K, **options, algorithm="factorization-lazy")
        began = time.perf_counter()
        ps.select(X, K, **options, algorithm="factorization-lazy")
        floor = time.perf_counter() - began
    return float(np.median(times)), floor, peak, selection.diagnostics


def first_call() -> None:
    """Time the first call of select in a fresh process, then the same call again."""
    script = """
import time, numpy as np
X = np.random.default_rng(0).standard_normal((3000, 50))
began = time.perf_counter()
import pairsmith as ps
imported = time.perf_counter() - began
times = []
for _ in range(3):
    began = time.perf_counter()
    ps.select(X, 200, ridge=1e-4)
    times.append(time.perf_counter() - began)
print(f"import {imported:.2f} s, first call {times[0]:.2f} s, warm {min(times[1:]):.2f} s")
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", script], check=True)


def measure_effects(task: tuple[str, int, int]) -> tuple[float, float | None, float]:
    """Return seconds with effects, seconds without (None if that makes no sense), and peak memory."""
    kind, n, d = task
    rng = np.random.default_rng(0)
    ps.select(features(700, 5), 50, ridge=1.0, item_effects=1.0, pool_size=50_000)
    ps.select(None, 60, n_items=60, item_effects=1.0)
    without = None
    if kind in ROUNDS:
        X = features(n, d)
        quality = X @ rng.standard_normal(d) + rng.standard_normal(n)
        pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(600)])
        gp = ps.BradleyTerryGP().fit(
            X, comparisons=pairs, outcomes=np.sign(quality[pairs[:, 0]] - quality[pairs[:, 1]])
        )
        options: dict[str, Any] = {"model": gp, "comparisons": pairs, "objective": ROUNDS[kind]}
        seconds = float(np.median([timed(X, 10, options) for _ in range(20)][1:]))
    elif kind == "no features":
        pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(n)])
        seconds = timed(None, 2000, {"n_items": n, "item_effects": 1.0, "comparisons": pairs})
    else:
        X = features(n, d)
        options = {"ridge": 1.0, "comparisons": np.array([rng.choice(n, 2, replace=False) for _ in range(200)])}
        ps.select(X[:700], 20, ridge=1.0, pool_size=50_000)
        without = timed(X, K, options)
        seconds = timed(X, K, options | {"item_effects": 1.0})
    return seconds, without, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def timed(X: Any, k: int, options: dict[str, Any]) -> float:
    began = time.perf_counter()
    ps.select(X, k, **options)
    return time.perf_counter() - began


def effects() -> None:
    """Print a table of problems with effects, each run in its own process."""
    table = Table("items with effects", "N", "d", "earlier answers", "K", "seconds", "without effects", "memory")
    for kind, n, d, answers, k in (
        ("all pairs", 15_000, 400, 200, K),
        ("all pairs", 100_000, 100, 200, K),
        ("no features", 10_000, 0, 10_000, 2000),
        *((kind, 300, 10, 600, 10) for kind in ROUNDS),
    ):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, without, peak = pool.apply(measure_effects, ((kind, n, d),))
        shown_without = "" if without is None else f"{without:.3g}"
        table.add_row(
            kind, f"{n:,}", str(d), f"{answers:,}", f"{k:,}", f"{seconds:.3g}", shown_without, f"{peak / 1e9:.2f} GB"
        )
        Console(width=130).print(
            kind, n, d, f"{seconds:.3g} s" + (shown_without and f", without {shown_without} s"), highlight=False
        )
    Console(width=130).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="N,d", help="some of the problems, such as 15000,400")
    parser.add_argument("--kinds", action="store_true", help="other data, and Gaussian data of the same size")
    parser.add_argument("--sift", metavar="FILE", help="5,000 SIFT descriptors, tab-separated, 128 columns and an id")
    parser.add_argument("--mslr", metavar="FILE", help="5,000 documents of MSLR-WEB10K, SVMlight")
    parser.add_argument("--first", action="store_true", help="the first call in a fresh process")
    parser.add_argument("--effects", action="store_true", help="items with effects of their own")
    chosen = parser.parse_args()
    if chosen.first:
        return first_call()
    if chosen.effects:
        return effects()
    tasks = [("Gaussian", *problem) for problem in PROBLEMS]
    if chosen.kinds:
        tasks = [(kind, 15_000, 400, "gemm") for kind in ("Gaussian", "Student t, 3 degrees", "50 clusters")]
        for name, path, d in (("SIFT", chosen.sift, 128), ("MSLR", chosen.mslr, 136)):
            if path:
                tasks += [("Gaussian", 5000, d, "gemm"), (f"{name}:{path}", 5000, d, "gemm")]
    table = Table("data", "N", "d", "pairs", "seconds", "floor", "floor, s", "floors", "memory", "scans", "float64")
    console = Console(width=130)
    for kind, n, d, floor_kind in tasks:
        if chosen.only and f"{n},{d}" not in chosen.only:
            continue
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, floor, peak, diagnostics = pool.apply(measure, ((kind, n, d, floor_kind),))
        row = (
            kind.split(":")[0],
            f"{n:,}",
            d,
            f"{n * (n - 1) / 2:.2g}",
            f"{seconds:.3g}",
            floor_kind,
            f"{floor:.3g}",
            f"{seconds / floor:.2g}",
        )
        console.print(*row, highlight=False)
        table.add_row(
            *map(str, row), f"{peak / 1e9:.2f} GB", str(diagnostics["scans"]), str(diagnostics["float64_scans"])
        )
    console.print(table)


if __name__ == "__main__":
    main()
