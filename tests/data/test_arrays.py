"""Checks of the row numbers and pairs that users pass."""

import numpy as np
import pandas as pd
import pytest

from pairsmith.data.arrays import (
    MAX_EXACT_INT,
    as_ordered_pairs,
    as_pairs,
    as_row_numbers,
    check_row_numbers,
    integer_size,
    refuse_masked,
)


@pytest.mark.parametrize(
    "values",
    [
        [3, 0, 7],
        (3, 0, 7),
        [3.0, 0.0, 7.0],
        np.array([3, 0, 7], dtype=np.uint8),
        np.array([3, 0, 7], dtype=np.float32),
        np.array([3, 0, 7], dtype=object),
        pd.Series([3, 0, 7]),
    ],
)
def test_whole_numbers_of_any_type_are_row_numbers(values):
    items = as_row_numbers(values, "labeled")
    assert items.dtype == np.int64
    assert items.tolist() == [3, 0, 7]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.5], "labeled must be whole row numbers, got float64 values such as"),
        ([np.nan], "must be whole row numbers"),
        ([np.inf], "must be whole row numbers"),
        ([2.0**53], "must be whole row numbers"),
        ([2**53], "must be whole row numbers"),
        ([2**70], "must be whole row numbers"),
        (np.array([1, 2**70], dtype=object), "must be whole row numbers"),
        (["a"], "must be whole row numbers"),
        ([True, False], r"got true/false values; use numpy.flatnonzero\(labeled\)"),
        ([[1, 2], [3]], "its parts differ in length"),
        (np.ma.array([1, 2], mask=[0, 1]), "labeled is a masked array"),
        ([np.ma.array([1, 2], mask=[0, 1])], "labeled is a masked array"),
    ],
)
def test_other_values_are_refused_as_row_numbers(values, message):
    with pytest.raises(ValueError, match=message):
        as_row_numbers(values, "labeled")


def test_pairs_are_sorted_and_ordered_pairs_are_not():
    values = [(5, 2), (1, 3), (2, 5)]
    assert as_pairs(values, "pairs").tolist() == [[2, 5], [1, 3], [2, 5]]
    assert as_ordered_pairs(values, "pairs").tolist() == [[5, 2], [1, 3], [2, 5]]
    for empty in ([], np.zeros((0, 2)), np.zeros((2, 0))):
        for read in (as_pairs, as_ordered_pairs):
            assert read(empty, "pairs").shape == (0, 2)
            assert read(empty, "pairs").dtype == np.int64


@pytest.mark.parametrize("read", [as_pairs, as_ordered_pairs])
def test_malformed_pairs_are_refused(read):
    with pytest.raises(ValueError, match="pairs: row 1 pairs item 4 with itself; remove it"):
        read([(0, 1), (4, 4), (5, 5)], "pairs")
    for values in ([1, 2], [(1, 2, 3)], [[[1, 2]]]):
        with pytest.raises(ValueError, match=r"pairs must have two columns, one pair per row; got shape"):
            read(values, "pairs")


def test_row_numbers_outside_of_X_are_refused():
    check_row_numbers(np.array([0, 4]), 5, "labeled")
    check_row_numbers(np.zeros((0, 2), dtype=np.int64), 5, "labeled")
    for item in (-1, 5):
        with pytest.raises(ValueError, match=f"labeled holds {item}, but the rows of X are numbered 0 to 4"):
            check_row_numbers(np.array([[0, item]]), 5, "labeled")


def test_the_size_of_a_whole_number_is_its_absolute_value():
    assert float(MAX_EXACT_INT) == MAX_EXACT_INT
    assert float(MAX_EXACT_INT + 1) != MAX_EXACT_INT + 1
    values = [-3, np.int8(-128), 10**400, 2.0, "5", None, True]
    assert [integer_size(value) for value in values] == [3, 128, 10**400, 0, 0, 0, 1]


def test_values_without_a_mask_are_accepted():
    for values in (np.eye(2), [1, 2], "text", None):
        refuse_masked(values, "X")
