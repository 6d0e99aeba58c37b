"""Tests of experiments/authors.py."""

import authors
import numpy as np
import pytest


def test_random_pairs_are_texts_for_one_prompt():
    pairs = authors.random_pairs(3, 5, np.random.default_rng(0))
    assert pairs.shape == (authors.PAIRS_PER_TEXT * 15, 2)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert (pairs[:, 0] // 3 == pairs[:, 1] // 3).all()
    assert set(pairs.ravel()) == set(range(15))


@pytest.mark.parametrize(("features", "share"), [(0, 0.0), (3, 0.5)])
def test_intervals_of_authors_have_plausible_widths_and_repeat(features, share):
    inside, width = authors.simulate_coverage(3, 4, features, share, 0)
    assert inside.shape == width.shape == (3,)
    assert (width > 0.5).all()  # four texts that differ by 1 cannot be known better
    again, _ = authors.simulate_coverage(3, 4, features, share, 0)
    np.testing.assert_array_equal(inside, again)


def test_the_table_of_authors(monkeypatch, capsys):
    monkeypatch.setattr(authors, "simulate_coverage", lambda *given: (np.array([True, False]), np.array([1.0, 2.0])))
    monkeypatch.setattr("sys.argv", ["authors.py", "--simulations", "1"])
    authors.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(authors.FEATURES) * len(authors.AUTHORS)
    assert lines[-1] == "| 20 features, a tenth | 20 | 50.0 ± 0.0 | 1.50 | 50.0 ± 0.0 | 1.50 |"
