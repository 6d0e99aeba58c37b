import warnings
from fractions import Fraction

import numpy as np
import pytest

from pairsmith.data.spread import spread_of

COLUMNS = {
    "ordinary": [1.5, -2.25, 7.0, 3.0],
    "whole numbers far from zero": [1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3],
    "two close whole numbers": [2.0**53 - 1, 2.0**53, 2.0**53, 2.0**53 - 1],
    "fractions far from zero": [1e12, 1e12 + 0.25, 1e12 + 0.5, 1e12 + 0.75],
    "large": [1e160, 2e160, 3e160, 4e160],
    "close to the largest float": [-1.7e308, 1.7e308, 1e308, 0.0],
    "large and close": [1e308, 1e308 + 1e300, 1e308 + 2e300, 1e308],
    "small": [1e-300, 2e-300, 5e-300, 0.0],
    "subnormal": [1e-320, 2e-320, 3e-320, 4e-320],
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_mean_and_deviation_match_exact_fractions(column):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (mean,), (deviation,), (varies,) = spread_of(np.array(column)[:, None])
    exact = [Fraction(value) for value in column]
    exact_mean = sum(exact) / 4
    variance = sum((value - exact_mean) ** 2 for value in exact) / 4
    assert varies
    subnormal = 5e-324 / max(deviation, 5e-324)
    assert float(Fraction(deviation) ** 2 / variance) == pytest.approx(1, rel=1e-9 + 4 * subnormal)
    assert abs(Fraction(mean) - exact_mean) <= Fraction(max(np.abs(column))) * 2**-50 + Fraction(5e-324)


@pytest.mark.parametrize(
    "column", [[0.1 + 0.2, 0.3] * 2, [7.0] * 4, [1e15] * 4, [0.0] * 4, [1e-320] * 4, [1 / 3, 1 - 2 / 3] * 2]
)
def test_columns_that_differ_by_rounding_do_not_vary(column):
    assert not spread_of(np.array(column)[:, None]).varies.any()


def test_a_table_without_columns_has_no_spread():
    assert spread_of(np.zeros((4, 0))).varies.shape == (0,)
