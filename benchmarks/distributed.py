"""Benchmark the engine on a local cluster of single-threaded workers: overhead, speed-up, bytes sent, a cost model.

    python benchmarks/distributed.py                 # N = 60,000, d = 200, K = 200 against the engine with 2 threads
    python benchmarks/distributed.py --measure       # several N, d, K on 1 and 2 workers -> benchmarks/distributed.csv
    python benchmarks/distributed.py --model         # fit the cost model to that file and print its tables
    python benchmarks/distributed.py --large         # features of 2 GB in a .npy file, 512 MB per worker

Gaussian data with 30 labelled items, ridge 1e-4. Bytes are all traffic of the loopback device; traffic through the
scheduler counts twice.
"""

from __future__ import annotations

import argparse
import csv
import logging
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.pop(0)  # in this folder, this file would shadow the package "distributed"

import numpy as np
import psutil
from distributed import Client, LocalCluster
from scipy.optimize import nnls

import pairsmith as ps

OPTIONS: dict[str, Any] = {"labeled": range(30), "ridge": 1e-4}
CSV = Path(__file__).with_suffix(".csv")
PROBLEMS = [(10_000, 50, 100), (20_000, 50, 200), (20_000, 100, 100), (15_000, 200, 100), (25_000, 200, 200),
            (40_000, 30, 200), (100_000, 20, 200)]  # fmt: skip
HELD_OUT = (40_000, 100, 150)
TERMS = "a scan", "whitening, N d^2 (1 + 1/W)", "products / W", "picks, K N"


def gaussian(n: int, d: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal((n, d))


def cluster(workers: int, memory: str = "auto") -> LocalCluster:
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=memory,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )


def sent() -> int:
    return int(psutil.net_io_counters(pernic=True)["lo"].bytes_sent)


def on_workers(workers: int, n: int, d: int, k: int) -> tuple[float, int, ps.Selection]:
    """Return seconds (the better of two runs, after a small problem), bytes sent, and the selection."""
    X, best = gaussian(n, d), np.inf
    with cluster(workers) as local, Client(local) as client:
        ps.select(X[:1500], 20, pool_size=5000, client=client, **OPTIONS)
        for _ in range(2):
            before, began = sent(), time.perf_counter()
            selection = ps.select(X, k, client=client, **OPTIONS)
            if time.perf_counter() - began < best:
                best, traffic = time.perf_counter() - began, sent() - before
    return best, traffic, selection


def headline(n: int = 60_000, d: int = 200, k: int = 200) -> None:
    X = gaussian(n, d)
    ps.select(X[:1500], 20, pool_size=5000, **OPTIONS)
    times = []
    for _ in range(2):
        began = time.perf_counter()
        alone = ps.select(X, k, n_jobs=2, **OPTIONS)
        times.append(time.perf_counter() - began)
    print(f"engine, 2 threads: {min(times):.1f} s, {alone.diagnostics}", flush=True)
    seconds = {}
    for workers in (1, 2):
        seconds[workers], traffic, selection = on_workers(workers, n, d, k)
        same = np.array_equal(selection.pairs, alone.pairs)
        print(
            f"{workers} worker(s): {seconds[workers]:.1f} s, {traffic / 1e6:.0f} MB sent"
            f" ({traffic / (8 * n * d):.1f} times N d numbers), same pairs: {same}",
            flush=True,
        )
    print(f"overhead, 2 workers against 2 threads: {seconds[2] / min(times):.2f}")
    print(f"speed-up from 1 to 2 workers: {seconds[1] / seconds[2]:.2f}")


def measure() -> None:
    with CSV.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["N", "d", "K", "workers", "seconds", "scans", "products", "bytes"])
        for n, d, k in [*PROBLEMS, HELD_OUT]:
            for workers in (1, 2):
                seconds, traffic, selection = on_workers(workers, n, d, k)
                diagnostics = selection.diagnostics
                row = [
                    n,
                    d,
                    k,
                    workers,
                    f"{seconds:.3f}",
                    diagnostics["scans"],
                    f"{diagnostics['products']:.4g}",
                    traffic,
                ]
                writer.writerow(row)
                file.flush()
                print(*row, flush=True)


def terms(n: float, d: float, k: float, workers: float, scans: float, products: float) -> list[float]:
    return [scans, scans * n * d**2 * (1 + 1 / workers), products / workers, k * n]


def model() -> None:
    """Fit the cost model by least squares of relative errors with non-negative coefficients, and print predictions."""
    with CSV.open() as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]

    def of(row: dict[str, float]) -> list[float]:
        return terms(*(row[name] for name in ("N", "d", "K", "workers", "scans", "products")))

    held_out = [row for row in rows if (row["N"], row["d"], row["K"]) == HELD_OUT]
    fitted = [row for row in rows if row not in held_out]
    seconds = np.array([row["seconds"] for row in fitted])
    A = np.array([of(row) for row in fitted])
    scale = A.max(axis=0)
    solution, _ = nnls(A / scale / seconds[:, None], np.ones(len(A)))
    coefficients = solution / scale
    for name, value in zip(TERMS, coefficients, strict=True):
        print(f"{name:30s} {value:.3g} s")
    print("relative errors of the fit:", np.round(A @ coefficients / seconds - 1, 2))
    for row in held_out:
        predicted = float(np.array(of(row)) @ coefficients)
        print(f"held out, {row['workers']:.0f} worker(s): predicted {predicted:.1f} s, measured {row['seconds']:.1f} s")
    for d in (20, 200):
        # Assume that all pairs are multiplied as often as in the largest problem measured at this d.
        last = max((row for row in rows if row["d"] == d), key=lambda row: row["N"])
        passes = last["products"] / (last["N"] ** 2 / 2 * d)
        print(
            f"\nd = {d}, K = 200, {last['scans']:.0f} scans, all pairs multiplied {passes:.3g} times: predicted hours"
        )
        print("N        ", *(f"{workers:>10,} workers" for workers in (10, 100, 1000)))
        for n in (1e6, 1e7, 1e8):
            times = [
                float(np.array(terms(n, d, 200, w, last["scans"], passes * n**2 / 2 * d)) @ coefficients) / 3600
                for w in (10, 100, 1000)
            ]
            print(f"{n:<9.0e}", *(f"{hours:>18.3g}" for hours in times))


def large(n: int = 10_000_000, d: int = 25, k: int = 20) -> None:
    """Select from 2 GB of heavy-tailed data (Student t, 2 degrees of freedom) on workers that cannot hold them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
        rng = np.random.default_rng(0)
        for low in range(0, n, 100_000):
            X[low : low + 100_000] = rng.standard_t(2, (min(100_000, n - low), d))
        X.flush()
        del X
        print(f"{path.stat().st_size / 1e9:.2f} GB in the file", flush=True)
        with cluster(2, "512MB") as local, Client(local) as client:
            began, before = time.perf_counter(), sent()
            selection = ps.select(path, k, client=client, ridge=1e-4)
            print(
                f"{time.perf_counter() - began:.1f} s, {(sent() - before) / 1e6:.0f} MB sent, {selection.diagnostics}"
            )
            # getrusage would include the memory of the parent at the time of the fork.
            peaks = client.run(lambda: re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()).group(1))
            print("peak memory of the workers:", [f"{int(peak) / 1e3:.0f} MB" for peak in peaks.values()], flush=True)
        began = time.perf_counter()
        alone = ps.select(np.load(path, mmap_mode="r"), k, ridge=1e-4)
        same = np.array_equal(alone.pairs, selection.pairs)
        print(f"one machine: {time.perf_counter() - began:.1f} s, same pairs: {same}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("measure", "model", "large"):
        parser.add_argument(f"--{name}", action="store_true")
    chosen = parser.parse_args()
    for name, run in (("measure", measure), ("model", model), ("large", large)):
        if getattr(chosen, name):
            return run()
    headline()


if __name__ == "__main__":
    main()
