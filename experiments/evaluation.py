"""The paper's evaluation (Sec. 6.1): what the answers to the pairs chosen are worth for items that nobody compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import common
import numpy as np
from sklearn.metrics import roc_auc_score

import pairsmith as ps
from pairsmith.datasets import Dataset
from pairsmith.model.cross_validation import RIDGES

METHODS = ["engine", "fisher", "entropy", "mutual-information", "random"]  # the eight pick what the engine picks
MARKS = [0, 5, 10, 20, 30, 40, 50, 75, 100, 125, 150, 175, 200]
FEW = 20_000  # mutual information chooses among so many candidates, drawn at random where there are more
_SEEN = 2000  # validation comparisons that decide on the ridge, drawn likewise


def evaluate(data: str, seed: int, fold: int, folder: Path) -> list[dict[str, Any]]:
    """AUC of the test items' labels and comparisons at every K of MARKS, from one selection a method."""
    held = common.data_set(data, seed, folder)
    task, train, validation, test = common.training(held, seed, fold)
    answers = np.zeros((len(train), len(train)), dtype=np.int8)
    asked, outcomes = common.among(held, train)
    answers[asked[:, 0], asked[:, 1]] = outcomes
    answers[asked[:, 1], asked[:, 0]] = -outcomes
    judge = Judge(held, task, train, validation, test, seed)
    rows = []
    nothing = judge(np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int))
    for method in METHODS:
        own, k = task, min(MARKS[-1], task.n_candidates())
        if method == "mutual-information":
            k = common.MUTUAL
            if task.n_candidates() > FEW:
                rng = np.random.default_rng([seed, fold, 2])
                own = task._replace(candidates=asked[rng.choice(len(asked), FEW, replace=False)])
        pairs = own.select(method, k, n_jobs=1).pairs
        for mark in MARKS:
            if mark <= len(pairs):
                i, j = pairs[:mark].T
                found = judge(pairs[:mark], answers[i, j]) if mark else nothing
                rows.append({"method": "d-optimal" if method == "engine" else method, "K": mark, **found})
    return rows


def facts(data: str, seed: int, folder: Path) -> list[dict[str, Any]]:
    """Sizes of the data, the ridge of the design, and the AUCs when all training comparisons are answered."""
    held = common.data_set(data, seed, folder)
    task, train, validation, test = common.training(held, seed)
    n = len(held.X)
    row = {
        "n": n, "d": held.X.shape[1], "labeled": len(task.labeled), "pairs": len(held.pairs) or n * (n - 1) // 2,
        "training": task.n_candidates(), "ridge": ps.select(task.X, 1, objective="random", random_state=0).ridge,
        "labels": np.nan, "comparisons": np.nan,
    }  # fmt: skip
    if len(held.pairs):
        found = Judge(held, task, train, validation, test, seed)(*common.among(held, train))
        row.update(labels=found["labels"], comparisons=found["comparisons"])
    return [row]


class Judge:
    """Fits to the labels revealed and the answers given, with the ridge that validates best; then tests."""

    def __init__(
        self, data: Dataset, task: common.Task, train: np.ndarray, validation: np.ndarray, test: np.ndarray, seed: int
    ) -> None:
        label = np.zeros(len(data.X), dtype=int)
        label[data.labeled] = data.labels
        self.X = np.vstack([task.X, data.X[validation]])
        self.validation = np.arange(len(train), len(self.X))
        marked = np.flatnonzero(label[validation])
        self.labeled = np.concatenate([task.labeled, self.validation[marked]])
        self.labels = np.concatenate([task.labels, label[validation[marked]]])
        pairs, outcomes = common.among(data, validation)
        some = np.random.default_rng([seed, 3]).permutation(len(pairs))[:_SEEN]
        self.pairs, self.outcomes = pairs[some] + len(train), outcomes[some]
        self.test_X, self.test_label = data.X[test], label[test]
        pairs, outcomes = common.among(data, test)
        self.test_pairs, self.test_outcomes = pairs[outcomes != 0], outcomes[outcomes != 0]

    def __call__(self, pairs: np.ndarray, outcomes: np.ndarray) -> dict[str, float]:
        model = ps.BradleyTerryCV(ridges=RIDGES[::5], metric="auc", refit=False).fit(
            self.X,
            self.labels,
            labeled=self.labeled,
            comparisons=np.vstack([pairs, self.pairs]),
            outcomes=np.concatenate([outcomes, self.outcomes]),
            validation=self.validation,
        )
        scores = model.decision_function(self.test_X)
        known = self.test_label != 0
        gap = scores[self.test_pairs[:, 0]] - scores[self.test_pairs[:, 1]]
        return {
            "labels": auc(self.test_label[known], scores[known]),
            "comparisons": auc(np.r_[self.test_outcomes, -self.test_outcomes], np.r_[gap, -gap]),
            "ridge": model.ridge_,
        }


def auc(truth: np.ndarray, scores: np.ndarray) -> float:
    return float(roc_auc_score(truth, scores)) if len(np.unique(truth)) == 2 else np.nan
