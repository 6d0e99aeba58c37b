"""Tests of experiments/common.py: splits, resumable runs, timings, data sets."""

from itertools import pairwise

import common
import numpy as np
import pandas as pd
import pytest

import pairsmith as ps


def test_a_fifth_validates_and_the_folds_share_out_the_rest(tmp_path):
    data = ps.datasets.synthetic(100, 5, seed=3)
    splits = [common.training(data, 7, fold) for fold in range(4)]
    tests = [set(test.tolist()) for _, _, _, test in splits]
    assert set.union(*tests) | set(splits[0][2].tolist()) == set(range(100))
    for task, train, validation, test in splits:
        assert [len(train), len(validation), len(test)] == [60, 20, 20]
        assert sorted([*train, *validation, *test]) == list(range(100))
        np.testing.assert_array_equal(validation, splits[0][2])
        np.testing.assert_array_equal(task.X, data.X[train])
        np.testing.assert_array_equal(task.labels, data.labels[train[task.labeled]])
        assert task.candidates is None
        assert len(np.unique(task.labels)) == 2
    assert not np.array_equal(common.training(data, 8)[1], splits[0][1])


def test_comparisons_of_some_items_are_renumbered():
    data = ps.datasets.Dataset(
        "tiny", np.eye(4), "", pairs=np.array([[0, 1], [1, 3], [3, 2]]), outcomes=np.array([1, -1, 1])
    )
    pairs, outcomes = common.comparisons_among(data, np.array([3, 1]))
    assert pairs.tolist() == [[1, 0]]  # item 1 is the second of these, item 3 the first
    assert outcomes.tolist() == [-1]


def test_finished_units_are_saved_and_not_run_again(tmp_path):
    calls = []

    def work(data, seed):
        calls.append((data, seed))
        if seed == 2:
            raise KeyboardInterrupt
        return [{"K": k, "value": seed / 3 + k} for k in (1, 2)]

    units = [{"data": "a", "seed": seed} for seed in range(4)]
    path = tmp_path / "units.csv"
    with pytest.raises(KeyboardInterrupt):
        common.run_units(path, units, work)
    assert calls == [("a", 0), ("a", 1), ("a", 2)]
    calls.clear()
    table = common.run_units(path, [unit for unit in units if unit["seed"] != 2], work)
    assert calls == [("a", 3)]
    assert table.seed.tolist() == [0, 0, 1, 1, 3, 3]
    pd.testing.assert_frame_equal(pd.read_csv(path), table.reset_index(drop=True))
    assert [found.name for found in tmp_path.iterdir()] == ["units.csv"]


@pytest.mark.slow
def test_parallel_units_give_the_same_rows(tmp_path):
    units = [{"data": "synthetic", "seed": seed} for seed in range(3)]
    alone = common.run_units(tmp_path / "alone.csv", units, double)
    beside = common.run_units(tmp_path / "beside.csv", units, double, jobs=2)
    pd.testing.assert_frame_equal(
        alone.sort_values("seed").reset_index(drop=True), beside.sort_values("seed").reset_index(drop=True)
    )


def double(data, seed):
    return [{"value": float(np.random.default_rng(seed).random())}]


def test_timings_of_naive_greedy_are_extrapolated_and_marked(tmp_path):
    rows = common.time_selection("gaussian 80 5", 0, "NG", tmp_path, limit=0.0)
    assert [row["K"] for row in rows] == common.MARKS
    assert [row["extrapolated"] for row in rows] == [k > 3 for k in common.MARKS]
    seconds = {row["K"]: row["seconds"] for row in rows}
    assert seconds[200] - seconds[190] == pytest.approx(seconds[20] - seconds[10])
    measured = common.time_selection("gaussian 80 5", 0, "SLP", tmp_path, limit=0.0)
    assert not any(row["extrapolated"] for row in measured)
    assert all(low["seconds"] <= high["seconds"] for low, high in pairwise(measured))


def test_recipes(tmp_path):
    lines = ["CategoryID,Cost,Difficulty,PreparationTime,Ingredients,Preparations"]
    lines += [f"{n},1,2,{n * n},[0.{n} 1.5],[{n} 0]" for n in range(4)]
    (tmp_path / "textData.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "samples.txt").write_text("1,2;2,3;\n2,1;1,2;3,2;\n")
    (tmp_path / "lables.txt").write_text("1;0;\n-1;-1;1;\n")
    data = common.recipes(tmp_path)
    assert data.X.shape == (4, 8)
    assert data.pairs.tolist() == [[0, 1], [1, 2]]
    assert data.outcomes.tolist() == [1, -1]  # 1 > 2 twice and once the other way; 3 > 2 once, and once even
    assert data.counts.tolist() == [3, 2]
