"""Benchmark features of raw texts. The target for 100,000 texts of 200 words: under two minutes and 4 GB.

    python benchmarks/features.py                  # all 100,000 texts
    python benchmarks/features.py --texts 10000    # a tenth

Words are drawn by Zipf's law from a vocabulary of 100,000, whose letters have English frequencies. Fitting looks at
10,000 texts at most; applying looks at all. The run has its own process, so that its peak memory is not shared. CPU
seconds help on machines that are not idle.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from itertools import pairwise

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import pairsmith as ps

LETTERS = "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrrddddlllluuuccmmffyywwggppbvk"


def texts_of(n: int, words: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    letters = np.array(list(LETTERS))
    vocabulary = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 11, 100_000)], dtype=object)
    share = 1 / np.arange(1, len(vocabulary) + 1)
    bounds = np.cumsum(share / share.sum())
    return [" ".join(vocabulary[np.searchsorted(bounds, rng.random(words))]) for _ in range(n)]


def run(task: tuple[int, int]) -> list[str]:
    """Time fitting and applying a recipe and applying it again, and return these times and the peak memory."""
    table = pd.DataFrame({"text": texts_of(*task)})
    times = [(time.perf_counter(), time.process_time())]
    recipe, _ = ps.Recipe.fit_apply(table, text=["text"])
    times.append((time.perf_counter(), time.process_time()))
    recipe.apply(table)
    times.append((time.perf_counter(), time.process_time()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    took = [f"{b[0] - a[0]:.1f} s ({b[1] - a[1]:.1f} s CPU)" for a, b in pairwise(times)]
    return [*took, f"{peak:.1f} GB"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=200)
    chosen = parser.parse_args()
    table = Table("texts", "words each", "fit and apply", "apply again", "memory")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        table.add_row(f"{chosen.texts:,}", str(chosen.words), *pool.apply(run, ((chosen.texts, chosen.words),)))
    Console().print(table)


if __name__ == "__main__":
    main()
