"""How few answers could do: a bound for every design, by how much a ranking as good as that has to know.

    python experiments/fewest.py --data folder    # after worth.py, whose results it reads; seconds

An answer is one of two, so K answers tell K bits at most. Before the first, items that fall into classes of equal
scores, of sizes n_c, can stand in N! / prod n_c! orders. Afterwards, where a share of the pairs that differ is expected
to be in the wrong order, the entropy of the true one is at most that of the distribution that leaves most open,

    P(order) = q^inversions / Z(q),        Z(q) = [N]! / prod [n_c]!,    [n]! = prod over i <= n of (1 - q^i) / (1 - q),

with the q that makes so many inversions likely: Z is the q-multinomial coefficient, which counts orders by inversions.
What lies between the two entropies must have been told. That holds on average over all orders, without features. If
features told beforehand all that they can, the first entropy would be that of the share of unseen items in the wrong
order after the most answers: no proof, as it leaves open more than features may, but a yardstick.
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


def entropy(sizes: np.ndarray, wrong: float) -> float:
    """The most bits that the order of classes of these sizes can be open by, if this share of pairs is wrong."""
    differ = 2 * _counted(sizes, 0.0)[1]
    if wrong >= 0.5:
        return _counted(sizes, 0.0)[0] / np.log(2)
    if wrong <= 0:
        return 0.0
    most = 1.0
    while _counted(sizes, most)[1] > wrong * differ:
        most *= 2
    steep = brentq(lambda steep: _counted(sizes, steep)[1] - wrong * differ, 0.0, most)
    log_z, inversions = _counted(sizes, steep)
    return (log_z + steep * inversions) / np.log(2)


def _counted(sizes: np.ndarray, steep: float) -> tuple[float, float]:
    """log Z of q = exp(-steep), and the inversions that are expected."""
    whole, parts = _factorial(int(np.sum(sizes)), steep), [_factorial(int(size), steep) for size in sizes]
    log_z, inversions = whole - np.sum(parts, axis=0)
    return float(log_z), float(inversions)


def _factorial(n: int, steep: float) -> np.ndarray:
    """log [n]! and minus its derivative by `steep`."""
    i = np.arange(1, n + 1)
    if steep == 0:
        return np.array([np.sum(np.log(i)), np.sum(i - 1) / 2])
    left = np.exp(-steep * i)
    logs = np.log1p(-left) - np.log1p(-left[0])
    slopes = left[0] / (1 - left[0]) - i * left / (1 - left)
    return np.array([logs.sum(), slopes.sum()])


def fewest(classes: list[np.ndarray], right: float, before: float = 0.5) -> float:
    """Answers that it takes at least to come from one share of pairs in order to another, averaged over sets."""
    return float(np.mean([entropy(sizes, 1 - before) - entropy(sizes, 1 - right) for sizes in classes]))


def table(results: Path, folder: Path) -> model_report.Rows:
    means, needs = (pd.read_csv(results / f"{name}.csv") for name in ("worth", "worth-saved"))
    head = ["set"]
    for who in ("choix, 1,500", "our model, 600"):
        head += [f"{who} random answers", "designed answers", "bound without features", "with features"]
    cells = []
    for data in common.there([data for data in worth_report.OF_CHOIX if data in set(needs.data)], folder):
        designed = means[(means.data == data) & (means.rule == worth_report.DESIGNED)]
        trials = [sets.trial(data, seed, folder) for seed in range(designed.repetitions.max())]
        classes = [np.unique(trial.above, return_counts=True)[1] for trial in trials]
        unseen = float(designed["right unseen"].iloc[-1])
        line = [model_report.name_of(data)]
        for rival in (worth_report.CHOIX, worth_report.RANDOM):
            own: Any = needs[(needs.data == data) & (needs.rival == rival) & (needs.figure == "right")]
            for row in own.itertuples():
                bounds = (fewest(classes, row.reached, before) for before in (0.5, unseen))
                line += [f"{row.reached:.3f}", f"{row.needed:.0f}", *(f"{bound:.0f}" for bound in bounds)]
        cells.append(line)
    return head, cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with netflix/, camra/")
    chosen = parser.parse_args()
    results = common.HERE / "results"
    made = table(results, chosen.data)
    model_report.publish({"fewest": ("Lower bounds on the number of answers", made)}, results / "worth.md")


if __name__ == "__main__":
    main()
