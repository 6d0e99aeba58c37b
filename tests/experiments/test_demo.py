"""Tests of experiments/demo.py."""

from itertools import combinations

import demo
import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import pairsmith as ps


def test_the_demo_counts_pairs_of_patients_in_the_wrong_order(monkeypatch):
    for name, value in {"PATIENTS": 25, "MOST": 40, "STEP": 40}.items():
        monkeypatch.setattr(demo, name, value)
    (row,) = demo.repetition(3)
    diabetes, rng = load_diabetes(), np.random.default_rng(3)
    some = rng.permutation(442)[:25]
    X, severity = diabetes.data[some], diabetes.target[some]
    everyone = list(combinations(range(25), 2))
    drawn = rng.permutation(everyone)[:40]
    outcomes = np.sign(severity[drawn[:, 0]] - severity[drawn[:, 1]])
    gp = ps.BradleyTerryGP().fit(X, comparisons=drawn, outcomes=outcomes)
    scores = gp.decision_function(X)
    wrong = [(scores[i] > scores[j]) != (severity[i] > severity[j]) for i, j in everyone if severity[i] != severity[j]]
    assert row[demo.RANDOM] == pytest.approx(np.mean(wrong))
    assert row["answers"] == 40
    assert 0 < row[demo.DESIGNED] < min(row[alpha] for alpha in demo.PENALTIES) < 0.5
    assert 0 < row["claimed"] < 0.5
