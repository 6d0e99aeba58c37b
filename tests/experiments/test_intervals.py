"""Tests of experiments/intervals.py: coverage of intervals and its summary."""

import intervals
import numpy as np
import pandas as pd
import pytest


def test_summary_compares_coverage_with_its_target():
    given = {"features": 4, "parts": "all", "effects": 1.0, "answers": 100}
    rows = [{**given, "cover": cover, "claimed": 0.7, "true": 0.6} for cover in (0.8, 0.9)]
    rows += [{**given, "answers": 200, "cover": 0.96, "claimed": 0.5, "true": 0.4}]
    first, second = intervals.summarise(pd.DataFrame(rows)).to_dict("records")
    assert first["cover missed"] == pytest.approx(0.02)
    assert first["reliability missed"] == pytest.approx(0.1 - 0.03)
    assert second["cover missed"] == pytest.approx(0.03)
    assert np.isnan(second["reliability missed"])  # true r² is below the range of the target


@pytest.mark.parametrize(
    ("features", "parts", "effects"), [(4, "linear, items", 1.0), (4, "linear", 0.0), (0, "items", 1.0)]
)
def test_simulated_intervals_cover_most_scores(features, parts, effects):
    (row,) = intervals.simulate(features, parts, effects, 200, seed=0)
    assert 0.6 < row["cover"] <= 1
    assert row["claimed"] == pytest.approx(row["true"], abs=0.15)
    assert intervals.simulate(features, parts, effects, 200, seed=0) == [row]
