import numpy as np
import pytest

from pairsmith.data.features import from_array
from pairsmith.model.prior import usual_ridge


def test_scores_have_a_standard_deviation_of_2_beforehand():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) * np.array([1, 2, 3, 4, 5, 60]) + 100
    ridge = usual_ridge(from_array(X))
    scores = (X - X.mean(axis=0)) @ (rng.standard_normal((6, 4000)) / np.sqrt(2 * ridge))
    assert np.sqrt(np.mean(scores**2)) == pytest.approx(2, rel=0.05)


def test_items_that_are_all_the_same_have_a_ridge_too():
    assert usual_ridge(from_array(np.ones((5, 2)))) == 1.0
