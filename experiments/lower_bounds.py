"""Lower bounds on the answers that any design needs for a ranking of given quality.

    python experiments/lower_bounds.py --data folder    # seconds; reads the results of worth.py

An answer has two outcomes, so K answers carry at most K bits. Before the first answer, items in classes of equal
scores, of sizes n_c, can stand in N! / prod n_c! orders. Afterwards a share of the truly different pairs is expected to
be in the wrong order. Given this share, the entropy of the true order is at most the entropy of the distribution

    P(order) = q^inversions / Z(q),        Z(q) = [N]! / prod [n_c]!,    [n]! = prod over i <= n of (1 - q^i) / (1 - q),

with the q whose expected number of inversions matches the share. Z is the q-multinomial coefficient, which counts
orders by inversions. The answers must have supplied the difference of the two entropies. This holds on average over all
orders, without features. If features told everything they can beforehand, the first entropy would be the one for the
share of unseen pairs in the wrong order after the most answers. That is an estimate and not a bound, because features
may leave less open.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import common
import model_report
import numpy as np
import pandas as pd
import sets
import worth_report
from scipy.optimize import brentq


def max_entropy(sizes: np.ndarray, wrong: float) -> float:
    """Return the maximum entropy, in bits, of the order of classes of these sizes if this share of pairs is wrong."""
    differ = 2 * _log_count_and_inversions(sizes, 0.0)[1]
    if wrong >= 0.5:
        return _log_count_and_inversions(sizes, 0.0)[0] / np.log(2)
    if wrong <= 0:
        return 0.0
    most = 1.0
    while _log_count_and_inversions(sizes, most)[1] > wrong * differ:
        most *= 2
    steep = brentq(lambda steep: _log_count_and_inversions(sizes, steep)[1] - wrong * differ, 0.0, most)
    log_z, inversions = _log_count_and_inversions(sizes, steep)
    return (log_z + steep * inversions) / np.log(2)


def _log_count_and_inversions(sizes: np.ndarray, steep: float) -> tuple[float, float]:
    """Return log Z for q = exp(-steep), and the expected number of inversions."""
    whole, parts = _log_q_factorial(int(np.sum(sizes)), steep), [_log_q_factorial(int(size), steep) for size in sizes]
    log_z, inversions = whole - np.sum(parts, axis=0)
    return float(log_z), float(inversions)


def _log_q_factorial(n: int, steep: float) -> np.ndarray:
    """Return log [n]! and minus its derivative with respect to `steep`."""
    i = np.arange(1, n + 1)
    if steep == 0:
        return np.array([np.sum(np.log(i)), np.sum(i - 1) / 2])
    left = np.exp(-steep * i)
    logs = np.log1p(-left) - np.log1p(-left[0])
    slopes = left[0] / (1 - left[0]) - i * left / (1 - left)
    return np.array([logs.sum(), slopes.sum()])


def min_answers(classes: list[np.ndarray], right: float, before: float = 0.5) -> float:
    """Return a lower bound on the answers between two shares of pairs in order, averaged over repetitions."""
    return float(np.mean([max_entropy(sizes, 1 - before) - max_entropy(sizes, 1 - right) for sizes in classes]))


def table(results: Path, folder: Path) -> model_report.Rows:
    """Return the bounds for the sets with targets, at the shares that choix and the model reach with random pairs."""
    means, needs = (pd.read_csv(results / f"{name}.csv") for name in ("worth", "worth-saved"))
    head = ["set"]
    for who in ("choix, 1,500", "our model, 600"):
        head += [f"{who} random answers", "designed answers", "bound without features", "with features"]
    cells = []
    for data in common.available([data for data in worth_report.OF_CHOIX if data in set(needs.data)], folder):
        designed = means[(means.data == data) & (means.rule == worth_report.DESIGNED)]
        trials = [sets.trial(data, seed, folder) for seed in range(designed.repetitions.max())]
        classes = [np.unique(trial.above, return_counts=True)[1] for trial in trials]
        unseen = float(designed["right unseen"].iloc[-1])
        line = [model_report.name_of(data)]
        for rival in (worth_report.CHOIX, worth_report.RANDOM):
            own: Any = needs[(needs.data == data) & (needs.rival == rival) & (needs.figure == "right")]
            for row in own.itertuples():
                bounds = (min_answers(classes, row.reached, before) for before in (0.5, unseen))
                line += [f"{row.reached:.3f}", f"{row.needed:.0f}", *(f"{bound:.0f}" for bound in bounds)]
        cells.append(line)
    return head, cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with netflix/, camra/")
    chosen = parser.parse_args()
    results = common.HERE / "results"
    made = table(results, chosen.data)
    model_report.publish({"lower bounds": ("Lower bounds on the number of answers", made)}, results / "worth.md")


if __name__ == "__main__":
    main()
