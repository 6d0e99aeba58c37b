"""Tests of experiments/worth_report.py with made-up figures."""

import numpy as np
import pandas as pd
import pytest
import worth
import worth_report


def test_answers_needed_for_a_level():
    marks, shares = np.array([20, 40, 100]), np.array([0.6, 0.7, 0.8])
    levels = {0.5: 20, 0.6: 20, 0.65: 30, 0.7: 40, 0.75: 70, 0.8: 100, 0.81: np.inf}
    for level, k in levels.items():
        assert worth_report.answers_needed(marks, shares, level) == pytest.approx(k)
    dip = np.array([0.6, 0.55, 0.8])
    assert worth_report.answers_needed(marks, dip, 0.58) == 20  # reached once is reached
    assert worth_report.answers_needed(marks, dip, 0.675) == pytest.approx(70)


def rows_of(rule, seed, shares, data="digits", **more):
    figures = {"model": "GP", "right unseen": np.nan, "doubt": 0.3, "reliability": 1.0, "seconds": 0.1}
    figures |= {"top found": 0.5, "top right": 0.5, "bits": np.nan}
    return [
        {"data": data, "rule": rule, "seed": seed, **figures, "K": k, "right": share, **more}
        for k, share in shares.items()
    ]


def table_of(rows, path):
    pd.DataFrame(rows).to_csv(path / worth_report.REPETITIONS, index=False)
    return worth_report.load_repetitions(path / worth_report.REPETITIONS)


def test_targets_of_designs(tmp_path):
    rows = []
    for seed, shift in enumerate((0.0, 0.02)):
        rows += rows_of("order", seed, {100: 0.70 + shift, 300: 0.90 + shift, 600: 0.96 + shift})
        rows += rows_of("random", seed, {100: 0.72 + 2 * shift, 300: 0.80 + shift, 600: 0.85 + shift})
        for alpha, share in (("choix, alpha 0.01", 0.93), ("choix, alpha 0.3", 0.91)):
            rows += rows_of(worth.CHOIX, seed, {1500: share + shift}, model=alpha)
        rows += rows_of("order", seed, {100: 0.60}, "dar") + rows_of("random", seed, {100: 0.604 + shift}, "dar")
    raw = table_of(rows, tmp_path)
    assert raw[raw.rule == worth.CHOIX].model.unique().tolist() == ["choix, alpha 0.01"]
    needs = pd.DataFrame(worth_report.answers_saved(raw))
    digits = needs[needs.data == "digits"].set_index("rival")
    assert digits.needed[worth.CHOIX] == pytest.approx(450)  # .94 is half way from .91 to .97
    assert digits.needed["random"] == pytest.approx(250)
    assert digits.low[worth.CHOIX] == pytest.approx(digits.high[worth.CHOIX])  # paired: both shift alike
    over = pd.DataFrame(worth_report.paired_gains(raw, "order", "random"))
    at = over[over.figure == "right"].set_index(["data", "K"])
    assert at.over["digits", 100] == pytest.approx(-0.03)
    assert at.error["digits", 100] == pytest.approx(1.96 * 0.01)  # differences of -.02 and -.04
    assert at.error["digits", 300] == pytest.approx(0)
    _, cells = worth_report.check_targets(needs, over)
    assert [line[1] for line in cells] == ["1 of 1", "1 of 1", "3 of 4", "0 of 0", "0 of 1", "0 of 1"]
    assert [line[2] for line in cells] == [
        "digits 0.30 (0.30 to 0.30)", "digits 0.42 (0.42 to 0.42)", "digits at 100 by 0.030 ± 0.020", "not measured",
        "Dar es Salaam at 100 by 0.014 ± 0.020", "digits at 100 by 0.030 ± 0.020",
    ]  # fmt: skip


def test_rules_are_compared_with_rivals_by_repetition(tmp_path):
    rows = []
    for seed, shift in ((0, 0.0), (1, 0.02)):
        rows += rows_of("order", seed, {20: 0.7 + shift, 40: 0.8})
        rows += rows_of("balanced", seed, {20: 0.6 + 2 * shift, 40: 0.8})
    table_of(rows, tmp_path)
    worth_report.save(tmp_path)
    head, cells = worth_report._over_others(pd.read_csv(tmp_path / "worth-against-others.csv"))
    assert head == ["rule", "over", "set", "K = 20", "K = 40"]
    assert cells == [["order", "balanced", "digits", "+90 ± 20", "+0 ± 0"]]


def test_gains_of_other_goals(tmp_path):
    rows = rows_of("random", 0, {20: 0.6, 40: 0.7})
    for seed, found in ((0, {20: 0.2, 40: 0.4}), (1, {20: 0.6, 40: 0.8})):
        for k, share in found.items():
            rows += rows_of("order", seed, {k: 0.7}, **{"top found": share, "right unseen": 0.6})
            rows += rows_of("goal top", seed, {k: 0.6}, **{"top found": share + 0.1 + 0.1 * seed})
    gains = pd.DataFrame(worth_report.goal_gains(table_of(rows, tmp_path))).set_index("figure")
    assert gains.index.tolist() == ["top found", "top right", "right"]
    assert gains.ranking["top found"] == pytest.approx(0.5)
    assert gains.over["top found"] == pytest.approx(0.15)
    assert gains.error["top found"] == pytest.approx(1.96 * 0.05)
    (tmp_path / "worth.md").write_text("<!-- table: goals -->\n<!-- end of table -->\n")
    worth_report.save(tmp_path)
    worth_report.show(tmp_path, tmp_path)
    assert gains.over["right"] == pytest.approx(-0.1)
    cells = ["0.500 / 0.650: +0.150 ± 0.098", "0.500 / 0.500: +0.000 ± 0.000", "0.700 / 0.600: -0.100 ± 0.000"]
    assert f"| top | digits | {' | '.join(cells)} |" in (tmp_path / "worth.md").read_text()
    assert {"worth-training.png", "worth-unseen.png"} <= {path.name for path in tmp_path.iterdir()}


def test_bits_in_answers(tmp_path):
    assert worth_report.cumulative_bits(np.array([10, 20]), np.array([0.5, 0.5]), 30) == pytest.approx(7.5 + 10)
    rows = []
    for k, share, random in ((20, 0.7, 0.6), (300, 0.8, 0.7), (600, 0.9, 0.8), (1000, 0.95, 0.9)):
        for rule, right, bits in (("order", share, 1.0), ("random", random, 0.5)):
            told = rows_of(rule, 0, {k: right}, **{"right unseen": 0.6, "bits": bits if k < 1000 else np.nan})
            rows += told + [row | {"data": "molskill", "right": np.nan} for row in told]
    table_of(rows, tmp_path)
    (tmp_path / "worth.md").write_text("<!-- table: bits -->\n<!-- end of table -->\n")
    worth_report.save(tmp_path)
    worth_report.show(tmp_path, tmp_path)
    written = (tmp_path / "worth.md").read_text().splitlines()
    lines = [line for line in written if line.startswith(("| digits", "| molecules"))]
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    assert cells == [
        ["digits", *["1.00 / 0.50"] * 3, "305", "300 (300 to 300)"],
        ["molecules", *["1.00 / 0.50"] * 3, "305", ""],  # the order of training molecules is unknown
    ]


def test_campaigns_stand_between_designed_and_random_in_tables(tmp_path):
    rules = ["random", worth_report.CAMPAIGNS, "averaged D, linear", "order"]
    assert set(rules) <= set(worth.RULES)
    table_of([row for rule in rules for row in rows_of(rule, 0, {20: 0.6})], tmp_path)
    worth_report.save(tmp_path)
    means = pd.read_csv(tmp_path / "worth.csv")
    assert worth_report._doubts(means)[1] == [
        ["digits", rule, "30.0 / 40.0"] for rule in ("order", worth_report.CAMPAIGNS, "random")
    ]
    assert [line[0] for line in worth_report._seconds(means)[1]] == [
        "order", worth_report.CAMPAIGNS, "averaged D, linear", "random",
    ]  # fmt: skip
