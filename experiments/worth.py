"""What designed comparisons are worth: AUC on unseen items against the number of comparisons, for every criterion.

    python experiments/worth.py                                   # 50 repetitions on data that need no download
    python experiments/worth.py --repetitions 2 --only diabetes   # a quick look
    python experiments/worth.py --data folder                     # and on those of netflix/, camra/, recipes/ in there
    python experiments/worth.py --redraw                          # tables and pictures from the results there are

A repetition holds out a quarter of the items, labels ten of the rest and lets a criterion choose comparisons among
them: in one batch of 200, or in rounds of 10 with the model fitted in between. The answers are those of the data; the
model is the same for all (BradleyTerry, with a ridge under which scores have a standard deviation of 2 beforehand). All
criteria see the same splits and answers, so differences to random are paired. What was done before is not done again.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import common
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from evaluation import auc
from rich.table import Table
from scipy.optimize import minimize_scalar
from scipy.special import expit

import pairsmith as ps
from pairsmith.datasets import Dataset

RESULTS, DOCS = common.HERE / "results", common.HERE.parent / "docs"
K, ROUND, LABELED = 200, 10, 10
MUTUAL = 20  # mutual information goes this far: it takes longer than all others together
NAMES = ["diabetes", "breast_cancer", "digits", "synthetic", "mismatch", "netflix", "camra", "recipes"]
COLOURS = {
    "random": "0.45",
    "d-optimal": "#0072b2",
    "a-optimal": "#56b4e9",
    "entropy": "#e69f00",
    "fisher": "#cc79a7",
    "mutual-information": "#f0e442",
    "local-d-optimal": "#009e73",
    "rounds: entropy": "#a65628",
    "rounds: local": "#d55e00",
    "rounds: averaged": "#984ea3",
    "rounds: calibrated": "#000000",
    "rounds: tied": "#66a61e",
}


def mismatched(seed: int) -> Dataset:
    """Scores that are hardly linear in the features, and answers with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 20))
    score = X @ rng.standard_normal(20) / 6 + 2 * np.abs(X[:, 0]) + np.sin(3 * X[:, 1])
    i, j = np.triu_indices(len(X), 1)
    wins = np.where(rng.random(len(i)) < expit(score[i] - score[j]), 1, -1)
    better = np.where(score > np.median(score), 1, -1)
    return Dataset(
        "mismatch",
        X,
        "synthetic",
        labeled=np.arange(len(X)),
        labels=better,
        pairs=np.column_stack([i, j]),
        outcomes=wins,
    )


def repetition(data: str, seed: int, folder: Path) -> list[dict[str, Any]]:
    held = mismatched(seed) if data == "mismatch" else common.data_set(data, seed, folder, ties=0)
    rng = np.random.default_rng([seed, 1])
    items = rng.permutation(np.unique(held.pairs))
    test, train = items[: len(items) // 4], np.sort(items[len(items) // 4 :])
    X = held.X[train]
    label = np.zeros(len(held.X), dtype=int)
    label[held.labeled] = held.labels
    A = rng.choice(len(train), LABELED, replace=False)
    while len(np.unique(label[train[A]])) < 2:
        A = rng.choice(len(train), LABELED, replace=False)
    y = label[train[A]]
    ridge = float(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))) / 8
    asked, outcomes = common.among(held, train)
    answers = np.zeros((len(train), len(train)), dtype=int)
    answers[asked[:, 0], asked[:, 1]] = outcomes
    answers[asked[:, 1], asked[:, 0]] = -outcomes
    whole = len(asked) == len(train) * (len(train) - 1) // 2
    given = {"labeled": A, "candidates": None if whole else asked, "n_jobs": 1}
    test_pairs, truth = common.among(held, test)
    test_pairs, truth = test_pairs[truth != 0], truth[truth != 0]

    def fit(pairs: np.ndarray) -> ps.BradleyTerry:
        known = {} if len(pairs) == 0 else {"comparisons": pairs, "outcomes": answers[pairs[:, 0], pairs[:, 1]]}
        return ps.BradleyTerry(ridge).fit(X, y, labeled=A, **known)

    rows: list[dict[str, Any]] = []

    def judge(criterion: str, k: int, model: ps.BradleyTerry) -> None:
        scores = model.decision_function(held.X[test])
        gap = scores[test_pairs[:, 0]] - scores[test_pairs[:, 1]]
        found = {
            "comparisons": auc(np.r_[truth, -truth], np.r_[gap, -gap]),
            "labels": auc(label[test], scores),
        }
        rows.append({"criterion": criterion, "K": k, **{name: round(value, 5) for name, value in found.items()}})

    for criterion in COLOURS:
        if not criterion.startswith("rounds"):
            count = MUTUAL if criterion == "mutual-information" else K
            pairs = ps.select(X, count, labels=y, objective=criterion, random_state=seed, **given).pairs
            for k in range(0, count + 1, ROUND):
                judge(criterion, k, fit(pairs[:k]))
            continue
        pairs = np.zeros((0, 2), dtype=int)
        while True:
            model = fit(pairs)
            judge(criterion, len(pairs), model)
            if len(pairs) == K:
                break
            how: dict[str, Any] = {"objective": "averaged-d-optimal"}
            if criterion == "rounds: entropy":
                how["objective"] = "entropy"
            elif criterion == "rounds: tied":  # the precision of the model's prior, 2 ridge, is the design's too
                how["ridge"] = 2 * ridge
            elif criterion != "rounds: averaged":
                how["objective"] = "local-d-optimal"
            if criterion == "rounds: calibrated":
                model.coef_ = model.coef_ * trust(X, y, A, pairs, answers[pairs[:, 0], pairs[:, 1]], ridge)
            done = {"comparisons": pairs} if len(pairs) else {}
            pairs = np.vstack([pairs, ps.select(X, ROUND, model=model, **how, **done, **given).pairs])
    return rows


def trust(X: np.ndarray, y: np.ndarray, A: np.ndarray, pairs: np.ndarray, outcomes: np.ndarray, ridge: float) -> float:
    """By how much to believe differences of scores, 0 to 1: the slope that fits answers left out of the fit best."""
    if len(pairs) < 2 * ROUND:
        return 0.0
    gaps, wins = [], []
    for fold in range(5):
        out = np.arange(len(pairs)) % 5 == fold
        model = ps.BradleyTerry(ridge).fit(X, y, labeled=A, comparisons=pairs[~out], outcomes=outcomes[~out])
        gaps.append((X[pairs[out, 0]] - X[pairs[out, 1]]) @ model.coef_)
        wins.append(outcomes[out])
    gap, win = np.concatenate(gaps), np.concatenate(wins)
    found = minimize_scalar(
        lambda t: np.sum(np.logaddexp(0, -t * gap * win)[win != 0]), bounds=(0, 1), method="bounded"
    )
    return float(found.x)


def summarised(table: pd.DataFrame) -> pd.DataFrame:
    """Means over repetitions at each K, with standard errors."""
    groups = table.groupby(["data", "criterion", "K"], sort=False)
    found = groups[["comparisons", "labels"]].agg(["mean", "sem"])
    found.columns = [f"{name} {what}" for name, what in found.columns]
    return found.assign(repetitions=groups.seed.nunique()).reset_index()


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """For each data set and criterion: paired differences averaged over K, and the K that reaches random's end.

    "over" is the difference to random, "default over" that of rounds of averaged D-optimal to the criterion.
    """

    def paired(gap: pd.Series) -> tuple[float, float]:
        mean = gap.dropna().drop(0, level="K").unstack().mean(axis=1)
        return mean.mean(), 1.96 * mean.std(ddof=1) / np.sqrt(len(mean))

    rows = []
    for name, part in table.groupby("data", sort=False):
        wide = part.pivot_table(index=["seed", "K"], columns="criterion", values="comparisons")
        final = wide.xs(K, level="K")["random"].mean()
        for criterion in COLOURS:
            curve = wide[criterion].dropna()
            over_seeds = curve.groupby("K").mean()
            reached = over_seeds[over_seeds >= final - 1e-12].drop(0, errors="ignore").index
            over, default = paired(curve - wide["random"]), paired(wide["rounds: averaged"] - curve)
            rows.append(
                {"data": name, "criterion": criterion, "first": over_seeds[0], "last": over_seeds.iloc[-1],
                 "over": over[0], "error": over[1], "default over": default[0], "default error": default[1],
                 "needed": reached[0] if len(reached) else np.nan, "repetitions": part.seed.nunique()}
            )  # fmt: skip
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame) -> None:
    for name, part in table.groupby("data", sort=False):
        figure, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained", sharex=True)
        for axis, column in zip(axes, ("comparisons", "labels"), strict=True):
            for criterion, own in part.groupby("criterion", sort=False):
                dashed = "--" if str(criterion).startswith("rounds") else "-"
                strong = criterion in ("random", "d-optimal", "rounds: averaged")
                colour, mean, error = COLOURS[str(criterion)], own[f"{column} mean"], 1.96 * own[f"{column} sem"]
                axis.plot(own.K, mean, dashed, color=colour, lw=2.2 if strong else 1, label=criterion)
                if strong:
                    axis.fill_between(own.K, mean - error, mean + error, color=colour, alpha=0.12, lw=0)
            axis.set(xlabel="comparisons", title=f"AUC of unseen {column}")
        axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.suptitle(f"{str(name).replace('_', ' ')}, {part.repetitions.max()} repetitions, 95% intervals")
        common.finish(figure, axes, DOCS / f"worth-{name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--only", nargs="+", metavar="DATA", choices=NAMES)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with netflix/, camra/, recipes/")
    parser.add_argument("--redraw", action="store_true")
    chosen = parser.parse_args()
    means, tables = RESULTS / "worth.csv", RESULTS / "worth-compared.csv"
    if not chosen.redraw:
        names = ["mismatch", *common.there([name for name in NAMES if name != "mismatch"], chosen.data)]
        names = [name for name in NAMES if name in names and name in (chosen.only or NAMES)]
        units = [{"data": name, "seed": seed} for seed in range(chosen.repetitions) for name in names]
        raw = common.stored(RESULTS / "worth-repetitions.csv", units, partial(repetition, folder=chosen.data), jobs=-1)
        summarised(raw).to_csv(means, index=False, float_format="%.5f")
        compared(raw).to_csv(tables, index=False, float_format="%.5f")
    draw(pd.read_csv(means))
    found = pd.read_csv(tables)
    over, default = (
        [f"{1000 * gap:+.1f} ± {1000 * error:.1f}" for gap, error in zip(found[first], found[second], strict=True)]
        for first, second in (("over", "error"), ("default over", "default error"))
    )
    needed = ["" if np.isnan(k) else f"{k:.0f}" for k in found.needed]
    for title, cells in (
        ("AUC of unseen comparisons over random, in thousandths, averaged over K", over),
        ("Rounds of averaged D-optimal over each, the same way", default),
        (f"Comparisons needed for what {K} random ones reach", needed),
    ):
        shown = Table("criterion", *found.data.unique(), title=title)
        for criterion, part in found.assign(cell=cells).groupby("criterion", sort=False):
            shown.add_row(str(criterion), *part.cell)
        common.console.print(shown)


if __name__ == "__main__":
    main()
