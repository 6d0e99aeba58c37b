"""What pairsmith does, in under a minute: which 100 pairs of patients should doctors compare?

The diabetes set that comes with scikit-learn: 442 patients, 10 features, and how far the disease progressed, which
is what a doctor comparing two patients would judge. Twenty patients have an absolute label already.
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA

import pairsmith as ps

K, LABELED, DRAWS, SHOWN = 100, 20, 20, 25
FOLDER = Path(__file__).resolve().parent.parent / "demo"
BLUE, ORANGE = "#0072b2", "#d55e00"  # colour-blind safe


def main() -> None:
    console = Console(highlight=False)
    FOLDER.mkdir(exist_ok=True)
    diabetes = load_diabetes()
    severity = diabetes.target
    patients = pd.DataFrame(
        diabetes.data, columns=diabetes.feature_names, index=[f"patient {n:03d}" for n in range(len(severity))]
    )
    labeled = np.random.default_rng(0).choice(len(patients), LABELED, replace=False)
    possible = len(patients) * (len(patients) - 1) // 2
    console.print(
        f"{len(patients)} patients with {patients.shape[1]} features, {LABELED} of them labelled.\n"
        f"Which {K} of {possible:,} pairs should be compared?\n"
    )

    began = time.perf_counter()
    designed = ps.select(patients, K, labeled=labeled, certify=20)
    compiled = designed.diagnostics["compiling"]
    taken = time.perf_counter() - began - compiled
    drawn = [ps.select(patients, K, labeled=labeled, objective="random", random_state=seed) for seed in range(DRAWS)]
    random_logdet = np.array([selection.logdet for selection in drawn])

    table = Table(title=f"The first ten of {K} pairs")
    for column, side in (("rank", "right"), ("first", "left"), ("second", "left"), ("gain", "right")):
        table.add_column(column, justify=side)
    for row in designed.to_frame().head(10).itertuples():
        table.add_row(str(row.rank), row.first, row.second, f"{row.gain:.3f}")
    console.print(table)

    start = designed.logdet[0] - designed.gains[0]
    reached = random_logdet.mean(axis=0)[-1]
    enough = int(np.argmax(designed.logdet >= reached)) + 1
    console.print(
        f"\nlog det of the information: {start:.1f} with the labels alone,\n"
        f"  {reached:.1f} with {K} random pairs (mean of {DRAWS} draws),\n"
        f"  {designed.logdet[-1]:.1f} with the {K} designed pairs, which pass the random {K} after {enough}.\n"
        f"Proved: no {K} pairs can add more than {designed.bound:.1f}; these add {designed.gains.sum():.1f},"
        f" {designed.optimality:.1%} of that."
    )
    designed.to_csv(FOLDER / "pairs.csv")
    draw(FOLDER / "design.png", patients, severity, labeled, designed, random_logdet, start)
    once = f", after {compiled:.1f} s of compiling, once on this machine" if compiled else ""
    console.print(
        f"\nPicked and proved in {taken:.1f} s{once}. Wrote demo/pairs.csv and demo/design.png.\nOn your own data:\n"
        "  .venv/bin/pairsmith select items.csv -k 100 -o pairs.csv"
    )


def draw(path, patients, severity, labeled, designed, random_logdet, start):
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")

    steps = np.arange(K + 1)
    curve = np.concatenate([[start], designed.logdet])
    draws = np.column_stack([np.full(len(random_logdet), start), random_logdet])
    mean = draws.mean(axis=0)
    enough = int(np.argmax(curve >= mean[-1]))
    left.plot(steps, curve, color=BLUE, lw=2)
    left.plot(steps, mean, color=ORANGE, lw=2)
    left.fill_between(steps, draws.min(axis=0), draws.max(axis=0), color=ORANGE, alpha=0.2, lw=0)
    left.plot([enough, K], [mean[-1], mean[-1]], color="0.4", lw=1, ls="--")
    left.plot(enough, mean[-1], "o", color=BLUE)
    place = {"textcoords": "offset points", "weight": "bold"}
    left.annotate(f"{enough} designed = {K} random", (enough, mean[-1]), (8, -15), ha="left", color=BLUE, **place)
    left.annotate("designed", (K, curve[-1]), (-6, 6), ha="right", color=BLUE, **place)
    left.annotate(
        f"random: mean and range\nof {len(draws)} draws", (K, mean[-1]), (-6, -72), ha="right", color=ORANGE, **place
    )
    left.set(xlabel="pairs compared", ylabel="log det of the information", title="What is known", xlim=(0, K))
    left.grid(alpha=0.25)

    plane = PCA(2).fit_transform(patients)
    for rank, (i, j) in enumerate(designed.pairs[:SHOWN]):
        right.plot(
            *plane[[i, j]].T, color="0.2", lw=0.8, alpha=0.7, zorder=2, label="to compare" if rank == 0 else None
        )
    points = right.scatter(*plane.T, c=severity, cmap="cividis", s=16, zorder=1, edgecolors="none")
    right.scatter(
        *plane[labeled].T, s=60, facecolors="none", edgecolors=ORANGE, lw=1.5, zorder=3, label="labelled already"
    )
    figure.colorbar(points, ax=right, label="disease progression")
    right.legend(loc="lower right", frameon=False)
    right.set(
        xlabel="first principal axis", ylabel="second principal axis", title=f"The first {SHOWN} pairs to compare"
    )
    right.set_xticks([])
    right.set_yticks([])
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
