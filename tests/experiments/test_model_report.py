"""Tests of experiments/model_report.py with made-up figures."""

import model_report
import numpy as np
import pandas as pd
import pytest


def test_true_wrong_corrects_for_errors_of_the_truth():
    rng = np.random.default_rng(0)
    true, error, own = rng.standard_normal((3, 3000))
    estimate, score = np.sqrt(0.7) * true + np.sqrt(0.3) * error, true + own
    i, j = rng.integers(3000, size=(2, 100_000))
    right = np.mean((score[i] - score[j]) * (estimate[i] - estimate[j]) > 0)
    wrong = np.mean((score[i] - score[j]) * (true[i] - true[j]) < 0)
    assert 1 - right > wrong + 0.03
    assert model_report.true_wrong(right, 0.7) == pytest.approx(wrong, abs=0.01)
    assert model_report.true_wrong(right, 1.0) == pytest.approx(1 - right)


def test_targets_and_shortfalls():
    given = {"data": "diabetes", "K": 1000, "right unseen": 0.7, "doubt": 0.25, "reliability": 1.0}
    rows = [
        {**given, "seed": seed, "model": name, "right": right + 0.01 * seed}
        for seed in (0, 1)
        for name, right in (("GP", 0.85), ("linear", 0.7), ("choix, alpha 0.3", 0.88), ("GP, not linear", 0.9))
    ]
    rows[3]["right unseen"] = rows[7]["right unseen"] = 0.75
    raw = model_report.add_truth(pd.DataFrame(rows))
    found = pd.DataFrame(model_report.check_targets(raw, raw[raw.model == "GP"])).set_index(["what", "data"])
    assert found.short["training", "diabetes"] == pytest.approx(0.88 - 0.01 - 0.85)
    assert found.error["training", "diabetes"] == pytest.approx(0)  # paired: the difference is the same in both
    assert found.short["training, figure", "diabetes"] == pytest.approx(0.87 - 0.855)
    assert found.short["unseen", "diabetes"] == pytest.approx(0.75 - 0.01 - 0.7)
    assert found.rival["unseen", "diabetes"] == "GP, not linear"
    assert found.short["doubt", "diabetes"] == pytest.approx(0.25 - 0.145 - 0.08)
    assert found.short["doubt", "average"] == pytest.approx(0.25 - 0.145 - 0.03)
    assert found.short["doubt in rounds", "average"] == pytest.approx(0.25 - 0.145 - 0.05)
    _, cells = model_report._summary(found.reset_index())
    assert cells[0][1:] == ["0 of 1", "diabetes at 1,000 by 0.020 ± 0.000"]
    assert cells[4][1:] == ["0 of 1", "at 1,000 by 7.5 points"]


def test_tables_are_inserted_between_their_marks():
    page = "A.\n<!-- table: one -->\n\nold\n\n<!-- end of table -->\nB.\n<!-- table: two -->\n<!-- end of table -->\n"
    table = model_report.markdown(["a", "b"], [["1", "2"]])
    assert table == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    made = model_report.insert_table(page, "one", table)
    assert made == page.replace("old", table)
    assert model_report.insert_table(made, "one", table) == made
