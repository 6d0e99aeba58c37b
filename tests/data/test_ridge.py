"""The ridge, chosen by default and checked."""

import numpy as np
import pytest

from pairsmith.data import features as features_module
from pairsmith.data.features import InMemory, TooLargeToCopy, column_extremes
from pairsmith.data.ridge import as_ridge


def ridge_of(ridge, X):
    features = InMemory(np.array(X, dtype=np.float64))
    return as_ridge(ridge, features, column_extremes(features))


def test_auto_is_the_papers_multiple_of_the_mean_norm(monkeypatch):
    X = np.random.default_rng(0).standard_normal((23, 4)) * [1, 10, 0.1, 3]
    expected = 1e-5 * sum(sum(value**2 for value in row) ** 0.5 for row in X.tolist()) / 23
    assert ridge_of("auto", X) == pytest.approx(expected, rel=1e-14)
    monkeypatch.setattr(features_module, "_NUMBERS_PER_BLOCK", 20)  # five rows per block
    assert ridge_of("auto", X) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16])
def test_auto_does_not_overflow_in_narrow_types(dtype):
    X = np.full((5, 4), 200, dtype=dtype)
    X[0] = 0
    features = TooLargeToCopy(X)
    assert as_ridge("auto", features, column_extremes(features)) == pytest.approx(1e-5 * 400 * 4 / 5)


def test_auto_works_when_squares_overflow():
    assert ridge_of("auto", [[3e150, 4e150], [0, 0]]) == pytest.approx(1e-5 * 5e150 / 2)


@pytest.mark.parametrize("number", [2, 2.0, np.float32(2), np.int64(2)])
def test_numbers_are_not_changed(number):
    assert ridge_of(number, [[1.0], [2.0]]) == 2.0


@pytest.mark.parametrize(
    ("ridge", "X", "message"),
    [
        ("large", [[1.0], [2.0]], "ridge must be a positive number or 'auto', got 'large'"),
        (True, [[1.0], [2.0]], "ridge must be a positive number or 'auto', got True"),
        (None, [[1.0], [2.0]], "ridge must be a positive number or 'auto', got None"),
        ([1, 2], [[1.0], [2.0]], "ridge must be a positive number or 'auto'"),
        (10**400, [[1.0], [2.0]], "ridge must be a positive number or 'auto'"),
        (0, [[1.0], [2.0]], "ridge must be a positive number, got 0"),
        (-1.0, [[1.0], [2.0]], "ridge must be a positive number, got -1.0"),
        (np.nan, [[1.0], [2.0]], "ridge must be a positive number, got nan"),
        ("auto", [[0.0], [0.0]], "mean norm of X, which is 0 here; give a positive number"),
        (1.0, [[1e153], [0.0]], r"X has a largest entry of 1.0e\+153, whose square float64 cannot hold; rescale X"),
        (1.0, [[1e-153], [0.0]], "X has a largest entry of 1.0e-153"),
        (1e-10, [[1e150], [0.0]], "ridge=1.0e-10 is out of proportion to features that spread over 1.0e[+]150"),
        (1e10, [[1e-145], [0.0]], "out of proportion"),
    ],
)
def test_ridges_and_features_beyond_float64_are_refused(ridge, X, message):
    with pytest.raises(ValueError, match=message):
        ridge_of(ridge, X)
