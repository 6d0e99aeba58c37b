import numpy as np
import pytest

from pairsmith.design.weights import logistic_weight


def test_it_is_the_variance_of_an_answer():
    rng = np.random.default_rng(0)
    for score in (-3.0, -0.5, 0.0, 1.0):
        answers = rng.random(400_000) < 1 / (1 + np.exp(-score))
        assert float(logistic_weight(score)) == pytest.approx(answers.var(), abs=0.002)
    assert float(logistic_weight(0.0)) == 0.25


def test_it_neither_overflows_nor_vanishes_early():
    found = logistic_weight(np.array([-700.0, 700.0, -5000.0]))
    np.testing.assert_allclose(found[:2], np.exp(-700.0), rtol=1e-12)
    assert found[2] == 0
