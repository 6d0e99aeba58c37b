"""The paper's evaluation (Sec. 6.1): how well the answers to the chosen pairs predict items that nobody compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import common
import numpy as np
from sklearn.metrics import roc_auc_score

import pairsmith as ps
from pairsmith.datasets import Dataset
from pairsmith.model.cross_validation import RIDGES

METHODS = [
    "engine",
    "fisher",
    "entropy",
    "mutual-information",
    "random",
]  # the eight algorithms pick the engine's pairs
MARKS = [0, 5, 10, 20, 30, 40, 50, 75, 100, 125, 150, 175, 200]
MUTUAL_INFORMATION_CANDIDATES = 20_000  # at most; a random sample of more
MAX_VALIDATION_PAIRS = 2000  # that choose the ridge; a random sample of more


def evaluate(data: str, seed: int, fold: int, folder: Path) -> list[dict[str, Any]]:
    """Return the AUC of the test items' labels and comparisons at every K of MARKS, from one selection per method."""
    held = common.data_set(data, seed, folder)
    task, train, validation, test = common.training(held, seed, fold)
    answers = np.zeros((len(train), len(train)), dtype=np.int8)
    asked, outcomes = common.comparisons_among(held, train)
    answers[asked[:, 0], asked[:, 1]] = outcomes
    answers[asked[:, 1], asked[:, 0]] = -outcomes
    judge = Judge(held, task, train, validation, test, seed)
    rows = []
    nothing = judge(np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int))
    for method in METHODS:
        own, k = task, min(MARKS[-1], task.n_candidates())
        if method == "mutual-information":
            k = common.MUTUAL_INFORMATION_PAIRS
            if task.n_candidates() > MUTUAL_INFORMATION_CANDIDATES:
                rng = np.random.default_rng([seed, fold, 2])
                sample = rng.choice(len(asked), MUTUAL_INFORMATION_CANDIDATES, replace=False)
                own = task._replace(candidates=asked[sample])
        pairs = own.select(method, k, n_jobs=1).pairs
        for mark in MARKS:
            if mark <= len(pairs):
                i, j = pairs[:mark].T
                found = judge(pairs[:mark], answers[i, j]) if mark else nothing
                rows.append({"method": "d-optimal" if method == "engine" else method, "K": mark, **found})
    return rows


def data_facts(data: str, seed: int, folder: Path) -> list[dict[str, Any]]:
    """Return the sizes of the data, the ridge of the design, and the AUCs with all training comparisons answered."""
    held = common.data_set(data, seed, folder)
    task, train, validation, test = common.training(held, seed)
    n = len(held.X)
    row = {
        "n": n, "d": held.X.shape[1], "labeled": len(task.labeled), "pairs": len(held.pairs) or n * (n - 1) // 2,
        "training": task.n_candidates(), "ridge": ps.select(task.X, 1, objective="random", random_state=0).ridge,
        "labels": np.nan, "comparisons": np.nan,
    }  # fmt: skip
    if len(held.pairs):
        found = Judge(held, task, train, validation, test, seed)(*common.comparisons_among(held, train))
        row.update(labels=found["labels"], comparisons=found["comparisons"])
    return [row]


class Judge:
    """Fits to the revealed labels and the answers, with the ridge of best validation AUC, and returns test AUCs."""

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
        pairs, outcomes = common.comparisons_among(data, validation)
        some = np.random.default_rng([seed, 3]).permutation(len(pairs))[:MAX_VALIDATION_PAIRS]
        self.pairs, self.outcomes = pairs[some] + len(train), outcomes[some]
        self.test_X, self.test_label = data.X[test], label[test]
        pairs, outcomes = common.comparisons_among(data, test)
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
