"""Benchmark the models: BradleyTerry against LogisticRegression, BradleyTerryGP against Cholesky factorisations.

    python benchmarks/model.py             # all but the last row: about two minutes
    python benchmarks/model.py --large     # 100,000 answers to 10,000 items as well: ten minutes more

BradleyTerry and LogisticRegression fit the same rows: 100,000 comparisons of 10,000 items, d = 400. BradleyTerryGP also
learns its variances. A step of its fit costs one Cholesky factorisation of the smaller of answers and coefficients,
which is timed in the same run. Then it is fitted to 20 more answers, starting from the last fit. Each row has its own
process, so that its peak memory is not shared.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.linalg import cholesky
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import pairsmith as ps

MORE = 20
ROWS = [  # answers, items, features, target seconds, target gigabytes
    (200, 500, 50, 0.5, None),
    (1_000, 1_000, 50, 4, None),
    (10_000, 5_000, 100, 60, 3),
]
LARGE = (100_000, 10_000, 100, 600, 6)


def compare_with_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    n, m, d, ridge = 10_000, 100_000, 400, 1.0
    X = rng.standard_normal((n, d))
    beta = rng.standard_normal(d) / 10
    first = rng.integers(n, size=m)
    pairs = np.column_stack([first, (first + rng.integers(1, n, size=m)) % n])
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    y = np.where(rng.random(m) < expit(rows @ beta), 1, -1)
    for _ in range(3):
        began = time.perf_counter()
        peer = LogisticRegression(C=1 / (2 * ridge), fit_intercept=False, solver="newton-cholesky").fit(rows, y)
        theirs = time.perf_counter() - began
        began = time.perf_counter()
        model = ps.BradleyTerry(ridge).fit(X, comparisons=pairs, outcomes=y)
        ours = time.perf_counter() - began
        norms = []
        for coef in (peer.coef_[0], model.coef_):
            gradient = 2 * ridge * coef - rows.T @ (y * expit(-y * (rows @ coef)))
            norms.append(np.linalg.norm(gradient) / np.linalg.norm(rows, axis=1).sum())
        print(
            f"LogisticRegression {theirs:.2f} s (gradient {norms[0]:.1e} of its scale), BradleyTerry with differences"
            f" and posterior {ours:.2f} s ({norms[1]:.1e}): {ours / theirs:.2f} times"
        )


def gaussian_process(count: int, n: int, d: int) -> tuple[float, float, float, float]:
    """Return the seconds of a fit, of a warm fit with MORE answers and of a Cholesky factorisation, and gigabytes."""
    warnings.filterwarnings("ignore", message="the answers leave")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    scores = 1.5 * X @ rng.standard_normal(d) / np.sqrt(d) + rng.standard_normal(n)
    first = rng.integers(n, size=count + MORE)
    pairs = np.column_stack([first, (first + rng.integers(1, n, size=count + MORE)) % n])
    outcomes = np.where(rng.random(count + MORE) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), 1, -1)
    model = ps.BradleyTerryGP(warm_start=True)
    seconds = []
    for answers in (count, count + MORE):
        began = time.perf_counter()
        model.fit(X, comparisons=pairs[:answers], outcomes=outcomes[:answers])
        seconds.append(time.perf_counter() - began)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    size = min(count, n + d)
    some = np.eye(size) + 0.1
    began = time.perf_counter()
    cholesky(some, check_finite=False)
    return seconds[0], seconds[1], time.perf_counter() - began, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="include the row of 100,000 answers")
    parser.add_argument("--only-gp", action="store_true", help="BradleyTerryGP alone")
    chosen = parser.parse_args()
    if not chosen.only_gp:
        compare_with_logistic_regression()
    table = Table(title="BradleyTerryGP, variances included")
    for column in (
        "answers",
        "N",
        "d",
        "seconds (target)",
        "one Cholesky",
        "ratio",
        f"{MORE} more",
        "GB (target)",
    ):
        table.add_column(column, justify="right")
    for count, n, d, target, gigabytes in [*ROWS, *([LARGE] if chosen.large else [])]:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            process.apply(gaussian_process, (50, 100, 5))  # loading compiled code is not timed
            cold, warm, floor, memory = process.apply(gaussian_process, (count, n, d))
        room = f"{memory:.1f}" + ("" if gigabytes is None else f" ({gigabytes})")
        again = f"{warm:.2f} s, {cold / warm:.1f} times faster"
        table.add_row(
            f"{count:,}", f"{n:,}", f"{d}", f"{cold:.2f} ({target})", f"{floor:.4f}", f"{cold / floor:.0f}", again, room
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
