"""Tests of experiments/lower_bounds.py: entropies of orders, against all orders written out."""

from itertools import permutations

import lower_bounds
import numpy as np
import pandas as pd
import pytest
import sets
import worth_report
from scipy.special import entr


def inversions_of_all(sizes):
    """Count the inversions of every order."""
    orders = set(permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    return np.array([sum(a > b for at, a in enumerate(order) for b in order[at:]) for order in orders])


@pytest.mark.parametrize("sizes", [[1] * 6, [2, 3, 2], [4, 1, 1], [3, 4]])
@pytest.mark.parametrize("wrong", [0.01, 0.1, 0.3, 0.49])
def test_entropy_is_the_maximum_for_a_share_of_wrong_pairs(sizes, wrong):
    inversions = inversions_of_all(sizes)
    differ, found = inversions.max(), lower_bounds.max_entropy(np.array(sizes), wrong)
    # The entropy is the least, over s, of log2 of the sum of exp(s (wrong - inversions)): its Lagrangian dual.
    steep = np.concatenate([np.linspace(0, 5, 2001), np.linspace(5, 20, 2001)])
    dual = np.log2(np.exp(np.multiply.outer(steep, wrong * differ - inversions)).sum(axis=1))
    assert found == pytest.approx(dual.min(), abs=1e-4)
    assert np.all(found <= dual + 1e-9)


def test_entropy_of_no_knowledge_and_of_full_knowledge():
    sizes = np.array([2, 3, 2])
    every = len(inversions_of_all(sizes))
    assert lower_bounds.max_entropy(sizes, 0.5) == pytest.approx(np.log2(every))
    assert lower_bounds.max_entropy(sizes, 0.4999) == pytest.approx(np.log2(every), abs=1e-3)
    assert lower_bounds.max_entropy(sizes, 0.0) == 0
    assert lower_bounds.min_answers([sizes, sizes], right=1.0) == pytest.approx(np.log2(every))


def test_entropy_of_two_items():
    assert lower_bounds.max_entropy(np.array([1, 1]), 0.2) == pytest.approx(entr([0.2, 0.8]).sum() / np.log(2))


def test_entropy_of_many_items_with_few_wrong_pairs():
    sizes = np.ones(1000, dtype=int)
    assert (
        0
        < lower_bounds.max_entropy(sizes, 1e-6)
        < 10
        < lower_bounds.max_entropy(sizes, 1e-3)
        < lower_bounds.max_entropy(sizes, 0.1)
        < 9000
    )


def test_bounds_add_up():
    sizes = [np.ones(50, dtype=int)]
    told = lower_bounds.min_answers(sizes, 0.8)
    assert lower_bounds.min_answers(sizes, 0.95) == pytest.approx(
        told + lower_bounds.min_answers(sizes, 0.95, before=0.8)
    )


def test_table_averages_bounds_over_repetitions(tmp_path):
    measured = {"data": "digits", "rule": worth_report.DESIGNED, "K": [20, 1000], "repetitions": [2, 2]}
    pd.DataFrame(measured | {"right unseen": [0.6, 0.9]}).to_csv(tmp_path / "worth.csv", index=False)
    rivals = {"data": "digits", "rival": [worth_report.CHOIX, worth_report.RANDOM], "figure": "right"}
    pd.DataFrame(rivals | {"reached": [0.95, 0.93], "needed": [330.0, 270.0]}).to_csv(
        tmp_path / "worth-saved.csv", index=False
    )
    head, cells = lower_bounds.table(tmp_path, tmp_path)  # a folder without files: only sets that need none
    (line,) = [line for line in cells if line[0] == "digits"]
    assert len(line) == len(head)
    classes = [np.unique(sets.trial("digits", seed, tmp_path).above, return_counts=True)[1] for seed in (0, 1)]
    bounds = [lower_bounds.min_answers(classes, right, before) for right in (0.95, 0.93) for before in (0.5, 0.9)]
    shown = [f"{bound:.0f}" for bound in bounds]
    assert line == ["digits", "0.950", "330", *shown[:2], "0.930", "270", *shown[2:]]
    assert bounds[1] < bounds[0] < np.mean([len(np.repeat(sizes, sizes)) for sizes in classes]) * np.log2(10)
