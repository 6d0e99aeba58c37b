"""What designed comparisons are worth: AUC on unseen items against the number of comparisons, for every criterion.

    python experiments/worth.py                                   # 50 repetitions on data that need no download
    python experiments/worth.py --repetitions 2 --only diabetes   # a quick look
    python experiments/worth.py --netflix ratings.txt --recipes folder    # and on real ratings and comparisons
    python experiments/worth.py --redraw                          # tables and pictures from the results there are

A repetition holds out a quarter of the items, labels ten of the rest and lets a criterion choose comparisons among
them: in one batch of 200, or in rounds of 10 with the model fitted in between. The answers are those of the data; the
model is the same for all (BradleyTerry, with a ridge under which scores have a standard deviation of 2 beforehand). All
criteria see the same splits, so differences to random are paired. Repetitions that are in results/worth.csv already are
not done again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import threadpoolctl
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

import pairsmith as ps

HERE = Path(__file__).resolve().parent
RESULTS, DOCS = HERE / "results" / "worth.csv", HERE.parent / "docs"
K, ROUND, LABELED, MARKS = 200, 10, 10, [0, 10, 20, 50, 100, 150, 200]
MUTUAL = 10  # mutual information is exact, and fast, up to here
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
}


def data(name: str, paths: dict[str, str], seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Features, the score that answers follow, and answers there are (pairs and outcomes as three columns), or None."""
    rng = np.random.default_rng(seed)
    if name == "diabetes":
        X, score = load_diabetes(return_X_y=True)
    elif name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
        score = 1.0 - y
    elif name == "digits":
        X, score = load_digits(return_X_y=True)
        some = rng.choice(len(X), 500, replace=False)
        X, score = X[some], score[some].astype(float)
    elif name.startswith("synthetic"):
        X = rng.standard_normal((400, 20))
        score = X @ rng.standard_normal(20) / 2
        if "mismatch" in name:
            score = score / 3 + 2 * np.abs(X[:, 0]) + np.sin(3 * X[:, 1])  # hardly linear, and noisy answers
    elif name == "Netflix":
        ratings = np.loadtxt(paths[name])
        X = TruncatedSVD(30, random_state=0).fit_transform(ratings.T)
        active = np.flatnonzero((ratings > 0).sum(axis=1) > 833)
        own = ratings[rng.choice(active)]
        some = rng.permutation(np.flatnonzero(own))[:500]
        X, score = X[some], own[some]
    else:
        return recipes(Path(paths[name]))
    return StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]), score, None


def recipes(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Recipes people compared: a score from their wins, and every answer."""
    table = pd.read_csv(folder / "textData.txt")
    lists = [table[name].str.strip("[]").str.split(expand=True) for name in ("Ingredients", "Preparations")]
    plain = table[["CategoryID", "Cost", "Difficulty", "PreparationTime"]]
    X = pd.concat([plain, *lists], axis=1).to_numpy(dtype=float)
    answers = []
    lines = (folder / "samples.txt").read_text().split(), (folder / "lables.txt").read_text().split()
    for pairs, wins in zip(*lines, strict=True):  # one line a person
        for pair, win in zip(pairs.strip(";").split(";"), wins.strip(";").split(";"), strict=True):
            i, j = pair.split(",")
            answers.append((int(i) - 1, int(j) - 1, int(float(win))))
    array = np.array(answers)
    score = np.bincount(array[:, 0], array[:, 2], len(X)) - np.bincount(array[:, 1], array[:, 2], len(X))
    return StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]), score, array


def repetition(name: str, paths: dict[str, str], seed: int) -> list[dict[str, Any]]:
    X, score, given = data(name, paths, seed)
    rng = np.random.default_rng([seed, 1])
    if given is not None:  # items nobody compared are of no use
        compared = np.unique(given[:, :2])
        place = np.full(len(X), -1)
        place[compared] = np.arange(len(compared))
        X, score, given = X[compared], score[compared], np.column_stack([place[given[:, :2]], given[:, 2]])
    order = rng.permutation(len(X))
    held, train = order[: len(X) // 4], order[len(X) // 4 :]
    noisy = name.startswith("synthetic")

    def ask(pairs: np.ndarray) -> np.ndarray:
        """Answers to pairs of training items: of the model with noise, of the data without, or people's majority."""
        gap = score[train[pairs[:, 0]]] - score[train[pairs[:, 1]]]
        if given is not None:
            return np.array(
                [votes[tuple(sorted(train[pair]))] * (1 if train[pair[0]] < train[pair[1]] else -1) for pair in pairs]
            )
        return (
            np.where(answers.random(len(pairs)) < 1 / (1 + np.exp(-gap)), 1, -1) if noisy else np.sign(gap).astype(int)
        )

    candidates = None
    votes: dict[tuple[int, int], int] = {}
    if given is not None:
        for i, j, win in given:
            votes[min(i, j), max(i, j)] = votes.get((min(i, j), max(i, j)), 0) + (win if i < j else -win)
        votes = {pair: int(np.sign(total)) for pair, total in votes.items()}
        back = {item: at for at, item in enumerate(train)}
        candidates = np.array([(back[i], back[j]) for i, j in votes if i in back and j in back])
    A = rng.choice(len(train), LABELED, replace=False)
    better = score > np.median(score[train])
    if not better[train].any():  # somebody who gives most movies the best mark
        better = score > score[train].mean()
    y = np.where(better[train[A]], 1, -1)
    while len(np.unique(y)) < 2:
        A = rng.choice(len(train), LABELED, replace=False)
        y = np.where(better[train[A]], 1, -1)
    ridge = float(np.mean(np.sum((X[train] - X[train].mean(axis=0)) ** 2, axis=1))) / 8
    test = rng.integers(len(held), size=(4000, 2))
    test = test[score[held[test[:, 0]]] != score[held[test[:, 1]]]]
    if given is not None:
        ahead = {item: at for at, item in enumerate(held)}
        test = np.array([(ahead[i], ahead[j]) for (i, j), win in votes.items() if i in ahead and j in ahead and win])
        truth = np.array([win for (i, j), win in votes.items() if i in ahead and j in ahead and win])
    else:
        truth = np.sign(score[held[test[:, 0]]] - score[held[test[:, 1]]])

    def fit(pairs: np.ndarray, outcomes: np.ndarray) -> ps.BradleyTerry:
        known = {} if len(pairs) == 0 else {"comparisons": pairs, "outcomes": outcomes}
        return ps.BradleyTerry(ridge).fit(X[train], y, labeled=A, **known)

    rows: list[dict[str, Any]] = []

    def judge(criterion: str, k: int, model: ps.BradleyTerry) -> None:
        scores = model.decision_function(X[held])
        gap = scores[test[:, 0]] - scores[test[:, 1]]
        both = np.concatenate([truth, -truth]), np.concatenate([gap, -gap])
        labels = better[held]
        absolute = roc_auc_score(labels, scores) if 0 < labels.sum() < len(labels) else np.nan
        rows.append(
            {"data": name, "seed": seed, "criterion": criterion, "K": k,
             "comparisons": roc_auc_score(*both), "labels": absolute}
        )  # fmt: skip

    common = {"labeled": A, "candidates": candidates, "n_jobs": 1}
    for criterion in COLOURS:
        answers = np.random.default_rng([seed, 2])
        if not criterion.startswith("rounds"):
            count = MUTUAL if criterion == "mutual-information" else K
            pairs = ps.select(X[train], count, labels=y, objective=criterion, random_state=seed, **common).pairs
            outcomes = ask(pairs)
            for k in MARKS:
                if k <= count:
                    judge(criterion, k, fit(pairs[:k], outcomes[:k]))
            continue
        pairs, outcomes = np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int)
        while True:
            model = fit(pairs, outcomes)
            if len(pairs) in MARKS:
                judge(criterion, len(pairs), model)
            if len(pairs) == K:
                break
            if criterion == "rounds: averaged":
                spread = X[train] @ model.covariance_root_
                variance = 2 * float(np.mean(np.sum((spread - spread.mean(axis=0)) ** 2, axis=1)))
                model.coef_ = model.coef_ / np.sqrt(1 + np.pi * variance / 8)
            elif criterion == "rounds: calibrated":
                model.coef_ = model.coef_ * trust(X[train], y, A, pairs, outcomes, ridge)
            objective = "entropy" if criterion == "rounds: entropy" else "local-d-optimal"
            done = {"comparisons": pairs} if len(pairs) else {}
            more = ps.select(X[train], ROUND, objective=objective, model=model, **done, **common).pairs
            pairs, outcomes = np.vstack([pairs, more]), np.concatenate([outcomes, ask(more)])
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


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """For each data set and criterion: AUC, and the paired difference to random averaged over K, with 95% intervals."""
    rows = []
    for name, part in table.groupby("data", sort=False):
        wide = part.pivot_table(index=["seed", "K"], columns="criterion", values="comparisons")
        final = wide.xs(K, level="K")["random"].mean()
        for criterion in COLOURS:
            if criterion not in wide:
                continue
            upto = MUTUAL if criterion == "mutual-information" else K
            difference = (wide[criterion] - wide["random"]).unstack()
            mean = difference[[k for k in MARKS if 0 < k <= upto]].mean(axis=1)
            curve = wide[criterion].groupby("K").mean()
            reached = curve.index[(curve >= final - 1e-12) & (curve.index > 0)]
            rows.append(
                {"data": name, "criterion": criterion, "AUC at the end": curve.get(upto, np.nan),
                 "over random": mean.mean(), "+-": 1.96 * mean.std(ddof=1) / np.sqrt(len(mean)),
                 f"K for random's AUC at {K}": int(reached[0]) if len(reached) else "", "repetitions": len(mean)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame) -> None:
    for name, part in table.groupby("data", sort=False):
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharex=True)
        for axis, column in zip(axes, ("comparisons", "labels"), strict=True):
            for criterion, own in part.groupby("criterion", sort=False):
                curve = own.groupby("K")[column].agg(["mean", "sem"])
                dashed = "--" if str(criterion).startswith("rounds") else "-"
                strong = criterion in ("random", "d-optimal", "rounds: local", "rounds: calibrated")
                colour = COLOURS[str(criterion)]
                axis.plot(curve.index, curve["mean"], dashed, color=colour, lw=2 if strong else 1.1, label=criterion)
                if strong:
                    low, high = (curve["mean"] + side * 1.96 * curve["sem"] for side in (-1, 1))
                    axis.fill_between(curve.index, low, high, color=colour, alpha=0.12, lw=0)
            axis.set(xlabel="comparisons", title=f"AUC of unseen {column}")
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
        axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.suptitle(f"{name}, {part.seed.nunique()} repetitions, 95% intervals")
        figure.savefig(DOCS / f"worth-{str(name).replace(' ', '-').replace(',', '')}.png", dpi=100)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--only", nargs="+", metavar="DATA")
    parser.add_argument(
        "--netflix", metavar="FILE", help="a text matrix of ratings, users by movies, 0 where there is none"
    )
    parser.add_argument(
        "--recipes", metavar="FOLDER", help="textData.txt, samples.txt and lables.txt of the recipe set"
    )
    parser.add_argument("--redraw", action="store_true")
    chosen = parser.parse_args()
    names = ["diabetes", "breast cancer", "digits", "synthetic", "synthetic, mismatch"]
    paths = {"Netflix": chosen.netflix, "recipes": chosen.recipes}
    names += [name for name, path in paths.items() if path]
    if chosen.only:
        names = [name for name in names if name in chosen.only]
    RESULTS.parent.mkdir(exist_ok=True)
    table = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame({"data": [], "seed": []})
    if not chosen.redraw:
        done = set(zip(table.data, table.seed, strict=True))
        todo = [(n, seed) for seed in range(chosen.repetitions) for n in names if (n, seed) not in done]
        with threadpoolctl.threadpool_limits(1):
            work = joblib.Parallel(n_jobs=-1, return_as="generator_unordered", batch_size=1)(
                joblib.delayed(repetition)(name, paths, seed) for name, seed in todo
            )
            for rows in track(work, "Repetitions", total=len(todo)):
                pd.DataFrame(rows).to_csv(RESULTS, mode="a", header=not RESULTS.exists(), index=False)
        table = pd.read_csv(RESULTS)
    told = summary(table)
    told.to_csv(RESULTS.with_name("worth-summary.csv"), index=False)
    shown = Table(*told.columns)
    for row in told.itertuples(index=False):
        shown.add_row(*(f"{value:+.4f}" if isinstance(value, float) else str(value) for value in row))
    Console(width=130).print(shown)
    draw(table)


if __name__ == "__main__":
    main()
