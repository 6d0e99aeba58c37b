"""Tests of the paper's protocol: repeatable to the last digit, and right where the figure is known."""

import common
import evaluation
import numpy as np
import pandas as pd
import pytest

import pairsmith as ps


@pytest.fixture
def small(monkeypatch):
    """Make all data sets small."""
    monkeypatch.setattr(common, "data_set", lambda name, seed, folder, ties=-1: ps.datasets.synthetic(60, 4, seed=seed))
    monkeypatch.setattr(evaluation, "MARKS", [0, 10, 40])
    monkeypatch.setattr(evaluation, "METHODS", ["engine", "entropy", "mutual-information", "random"])


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_evaluation_is_repeatable_and_learns(tmp_path):
    rows = [row for seed in range(3) for row in evaluation.evaluate("synthetic", seed, 1, tmp_path)]
    again = [row for seed in range(3) for row in evaluation.evaluate("synthetic", seed, 1, tmp_path)]
    assert rows == again
    table = pd.DataFrame(rows)
    assert set(table.method) == {"d-optimal", "entropy", "mutual-information", "random"}
    assert table[table.method == "mutual-information"].K.max() == 10
    mean = table.groupby(["method", "K"]).comparisons.mean()
    assert mean["d-optimal", 40] > mean["d-optimal", 0]  # d = 4: forty answers teach more than none


@pytest.mark.usefixtures("small")
def test_a_perfect_order_of_the_test_items_has_an_auc_of_one(tmp_path, monkeypatch):
    data = ps.datasets.synthetic(60, 4, seed=0)
    scores = data.X @ np.array([1.0, -2.0, 0.5, 0.0])
    i, j = data.pairs.T
    sure = ps.datasets.Dataset(
        "sure", data.X, "", labeled=np.arange(60), labels=np.where(scores > 0, 1, -1), pairs=data.pairs,
        outcomes=np.sign(scores[i] - scores[j]).astype(int),
    )  # fmt: skip
    monkeypatch.setattr(common, "data_set", lambda *_: sure)
    row = evaluation.data_facts("sure", 0, tmp_path)[0]
    assert row["comparisons"] > 0.999
    assert row["labels"] > 0.99
