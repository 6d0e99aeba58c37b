"""Numbers, dates and categories: which is which, and what is neither."""

import datetime

import numpy as np
import pandas as pd
import pytest

from pairsmith.recipe.columns import AsItIs, Categories, as_categories, as_days, as_numbers, kind_of, mostly_numbers


def place(row):
    return f"row {row}, column 'x'"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], "number"),
        (["1", " 2e3 ", ""], "number"),
        ([True, False], "number"),
        (["2024-01-31", "1999-12-01T10:00:00Z"], "date"),
        ([datetime.date(2024, 1, 31), pd.Timestamp("2020-01-01")], "date"),
        (["red", "blue", "red", "blue"], "category"),
        ([f"text {row}" for row in range(50)], "text"),
        ([None, "", np.nan, pd.NA, pd.NaT], "no value"),
    ],
)
def test_kinds(values, kind):
    assert kind_of(values, place) == kind


def test_a_column_that_is_both_is_refused_with_the_odd_one_out():
    with pytest.raises(
        ValueError, match=r"row 2, column 'x': 'many' stands among numbers; make the column all numbers"
    ):
        kind_of([1, 2, "many", 4], place)
    with pytest.raises(ValueError, match=r"row 1, column 'x': 7 stands among text"):
        kind_of(["a", 7, "b", "c"], place)


def test_a_column_of_numbers_is_known_in_spite_of_a_word():
    for values, mostly in (
        ([1, 2, 3], True),
        (["1", "2", "many"], True),
        (["1", "many", None, ""], False),
        (["a", "b"], False),
        ([None, ""], False),
    ):
        assert mostly_numbers(pd.Series(values)) == mostly


def test_numbers():
    np.testing.assert_array_equal(as_numbers([1, "2.5", np.float32(3), True], place), [1, 2.5, 3, 1])
    np.testing.assert_array_equal(AsItIs().apply(np.array([1.0, 2.0])), [[1.0], [2.0]])
    for value, told in (
        (None, "has no value"),
        ("much", "has 'much', where a number is needed"),
        ("1_000", "where a number is needed"),
        (np.inf, "has inf, where a finite number is needed"),
        ("1e400", "finite number"),
        (2**60, "beyond 2^53"),
        (str(2**60), "beyond 2^53"),
        ("x" * 1000, r"'x{20}…x{19}',"),
    ):
        with pytest.raises(ValueError, match=r"row 1, column 'x' .*" + told.replace("^", r"\^")):
            as_numbers([1, value], place)


def test_dates_are_days_in_utc():
    values = ["1970-01-02", "1970-01-01T12:00:00Z", "1970-01-01 12:00+02:00", datetime.date(1969, 12, 31),
              np.datetime64("1970-01-03")]  # fmt: skip
    np.testing.assert_allclose(as_days(values, place), [1, 0.5, 10 / 24, -1, 2])
    for value, told in (
        (None, "has no date"),
        ("31.12.2024", "where a date such as 2024-05-31"),
        ("2024-13-01", "date"),
    ):
        with pytest.raises(ValueError, match=told):
            as_days([value], place)


def test_rare_and_unknown_categories_stand_together():
    values = as_categories(["a"] * 5 + ["b"] * 3 + ["c", "d", " a ", None], place)
    made = Categories.fit(values)
    assert made.names == ["=a", "=b", "=(others)"]
    found = made.apply([*values, "unknown"])
    np.testing.assert_array_equal(found.sum(axis=1), 1)
    np.testing.assert_array_equal(found.sum(axis=0), [6, 3, 4])  # c, d, the missing one and the unknown one
    assert Categories.from_json(made.to_json()) == made
    all_frequent = Categories.fit(["a", "a", "b", "b"])
    assert all_frequent.apply(["b", "unknown"]).tolist() == [[0, 1], [0, 0]]


def test_of_many_categories_the_most_frequent_have_a_column():
    values = [f"c{at:02d}" for at in range(40) for _ in range(2 + (at >= 10))]
    made = Categories.fit(values)
    assert made.levels == [f"c{at:02d}" for at in range(10, 40)]
    assert made.rare
