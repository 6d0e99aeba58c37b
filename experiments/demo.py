"""Show in under twenty seconds what designed rounds save: which pairs of patients should doctors compare?

The diabetes set of scikit-learn has ten features of each patient and how far the disease progressed. A doctor who
compares two patients would judge that progression; here it gives the answers. The task is to rank two hundred patients.
In rounds of twenty, pairsmith asks about the pairs whose answers say most about the order, and fits its model to all
answers so far. For comparison, the same model learns from random pairs, and so does choix, plain Bradley-Terry without
features, with the better of two priors at each number of answers, in hindsight. Everything is repeated four times with
other patients.
"""

import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import choix
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes

import pairsmith as ps

PATIENTS, ROUND, MOST, STEP, REPETITIONS = 200, 20, 400, 40, 4
FOLDER = Path(__file__).resolve().parent.parent / "demo"
DESIGNED, RANDOM, CHOIX = "designed rounds", "random pairs", "random pairs, choix"
PENALTIES = (0.01, 0.3)  # choix' alpha
COLOURS = {DESIGNED: "#d55e00", RANDOM: "#0072b2", CHOIX: "0.45"}  # colour-blind safe


def main() -> None:
    console = Console(highlight=False)
    FOLDER.mkdir(exist_ok=True)
    console.print(
        f"{PATIENTS} patients with 10 features, {PATIENTS * (PATIENTS - 1) // 2:,} pairs of them."
        " Which should doctors compare to rank them?\n",
        soft_wrap=True,
    )
    began = time.perf_counter()
    # Processes, although each imports everything again: threads wait for each other and take nearly twice as long.
    found = joblib.Parallel(n_jobs=-1)(joblib.delayed(repetition)(seed) for seed in range(REPETITIONS))
    table = pd.DataFrame([row for rows in found for row in rows])
    means = table.groupby("answers").mean()
    means[CHOIX] = means[list(PENALTIES)].min(axis=1)

    shown = Table(title=f"Pairs of patients in the wrong order, means of {REPETITIONS} repetitions")
    for column in ("answers", DESIGNED, "the model claims", RANDOM, CHOIX):
        shown.add_column(column, justify="right")
    for answers, row in means.iterrows():
        shown.add_row(f"{answers}", *(f"{row[name]:.1%}" for name in (DESIGNED, "claimed", RANDOM, CHOIX)))
    console.print(shown)
    enough, less = (np.interp(-means[name].iloc[-1], -means[DESIGNED], means.index) for name in (RANDOM, CHOIX))
    console.print(
        f"\nDesigned rounds need {enough:.0f} answers for what {MOST} random ones reach,"
        f" and {less:.0f} for what {MOST} reach with choix, which sees no features."
    )
    draw(table, means, enough, FOLDER / "saved.png")
    console.print(
        f"Wrote demo/saved.png, after {time.perf_counter() - began:.0f} s. To design a round for your own items:\n"
        "  .venv/bin/pairsmith fit items.csv answers.csv -o model.json\n"
        "  .venv/bin/pairsmith select items.csv -k 20 --model model.json --answers answers.csv -o pairs.csv",
        soft_wrap=True,
    )


def repetition(seed: int) -> list[dict[str | float, float]]:
    """Return the shares of pairs in the wrong order after each number of answers."""
    warnings.filterwarnings("ignore", message="the answers leave")  # expected: random pairs leave islands at first
    diabetes, rng = load_diabetes(), np.random.default_rng(seed)
    some = rng.permutation(len(diabetes.target))[:PATIENTS]
    X, severity = diabetes.data[some], diabetes.target[some]
    pairs = np.column_stack(np.triu_indices(PATIENTS, 1))

    def answers(pairs: np.ndarray) -> np.ndarray:
        return np.sign(severity[pairs[:, 0]] - severity[pairs[:, 1]]).astype(int)

    def wrong(scores: np.ndarray) -> float:
        """Return the share of truly different pairs in the wrong order; equal scores count half."""
        truth, gap = answers(pairs), scores[pairs[:, 0]] - scores[pairs[:, 1]]
        return float(np.mean((1 - np.sign(gap * truth))[truth != 0]) / 2)

    drawn = rng.permutation(pairs)[:MOST]
    designed = np.zeros((0, 2), dtype=int)
    model = ps.BradleyTerryGP(warm_start=True).fit(X)
    same = ps.BradleyTerryGP(warm_start=True)
    won = answers(drawn)
    wins = [tuple(pair if outcome > 0 else pair[::-1]) for pair, outcome in zip(drawn.tolist(), won, strict=True)]
    rows: list[dict[str | float, float]] = []
    for count in range(ROUND, MOST + 1, ROUND):
        asked = {"comparisons": designed} if len(designed) else {}
        designed = np.vstack([designed, ps.select(X, ROUND, model=model, **asked).pairs])
        model.fit(X, comparisons=designed, outcomes=answers(designed))
        if count % STEP == 0:
            given = {"comparisons": drawn[:count], "outcomes": won[:count]}
            decided = [win for win, outcome in zip(wins[:count], won, strict=False) if outcome != 0]
            row = {DESIGNED: wrong(model.decision_function(X)), "claimed": model.doubt_}
            row |= {RANDOM: wrong(same.fit(X, **given).decision_function(X))}
            row |= {alpha: wrong(choix.opt_pairwise(PATIENTS, decided, alpha=alpha)) for alpha in PENALTIES}
            rows.append({"answers": count, **row})
    return rows


def draw(table: pd.DataFrame, means: pd.DataFrame, enough: float, path: Path) -> None:
    figure, axis = plt.subplots(figsize=(8.4, 4.6), layout="constrained")
    claimed = 100 * table.groupby("answers").claimed.agg(["min", "max"])
    axis.fill_between(
        claimed.index, claimed["min"], claimed["max"], color=COLOURS[DESIGNED], alpha=0.18, lw=0,
        label="what the model claims after designed rounds, its doubt: from the least to the most",
    )  # fmt: skip
    place = {"textcoords": "offset points", "weight": "bold"}
    for name, colour in COLOURS.items():
        axis.plot(means.index, 100 * means[name], "o-", ms=4, lw=2.4 if name == DESIGNED else 1.6, color=colour)
        end = (MOST, 100 * means[name].iloc[-1])
        axis.annotate(
            name.replace(", ", ",\n"),
            end,
            (10, {CHOIX: 7, RANDOM: -7}.get(name, 0)),
            va="center",
            color=colour,
            **place,
        )
    level = 100 * means[RANDOM].iloc[-1]
    axis.plot([enough, MOST], [level, level], ls="--", lw=1, color="0.4")
    axis.annotate(
        f"{enough:.0f} designed answers\n= {MOST} random ones", (enough, level), (-8, -38), ha="right", **place
    )
    axis.set(xlabel="answers", ylabel="pairs in the wrong order, %", ylim=(0, None), xlim=(STEP / 2, 1.3 * MOST))
    axis.set_xticks(range(2 * STEP, MOST + 1, 2 * STEP))
    axis.set_title(
        f"{PATIENTS} patients ranked by comparing two at a time, means of {REPETITIONS} repetitions", loc="left"
    )
    axis.legend(loc="lower left", frameon=False)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
