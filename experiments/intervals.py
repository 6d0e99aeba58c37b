"""How often intervals of BradleyTerryGP contain the truth, and how true its reliability is, where the model is true.

    python experiments/intervals.py        # a minute or two

Sixty items with four features; scores are linear in them with variance 2, beside effects of the items' own.
"""

from __future__ import annotations

import warnings

import numpy as np
from rich.console import Console
from rich.table import Table

import pairsmith as ps

N, D, LINEAR, SEEDS = 60, 4, 2.0, 100


def simulated(seed: int, count: int, items: float) -> tuple[float, float, float]:
    """The share of 90% intervals that cover, the reliability claimed, and the squared correlation with the truth."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    scores = np.sqrt(LINEAR / D) * X @ rng.standard_normal(D) + np.sqrt(items) * rng.standard_normal(N)
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(count)])
    chance = 1 / (1 + np.exp(scores[pairs[:, 1]] - scores[pairs[:, 0]]))
    outcomes = np.where(rng.random(count) < chance, 1, -1)
    model = ps.BradleyTerryGP(smooth=False).fit(X, comparisons=pairs, outcomes=outcomes)
    ranking = model.rank(X).sort_index()
    level = ranking["score"].mean() - scores.mean()  # of which comparisons say nothing
    inside = (ranking["low"] - level <= scores) & (scores <= ranking["high"] - level)
    return float(inside.mean()), model.reliability_, float(np.corrcoef(ranking["score"], scores)[0, 1] ** 2)


def main() -> None:
    warnings.filterwarnings("ignore", message="the answers leave")
    table = Table(title=f"90% intervals of BradleyTerryGP, {N} items, {SEEDS} simulations")
    for name in ("answers", "variance of effects", "intervals that cover", "reliability claimed", "true"):
        table.add_column(name, justify="right")
    for count in (100, 400):
        for items in (0.001, 0.2, 1.0):
            cover, claimed, true = np.mean([simulated(seed, count, items) for seed in range(SEEDS)], axis=0)
            table.add_row(str(count), str(items), f"{cover:.1%}", f"{claimed:.3f}", f"{true:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
