"""Tests of experiments/raw_features.py."""

import pytest
import raw_features
import sets


@pytest.mark.slow
def test_made_and_given_features_are_judged_on_the_same_trial(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "MAX_JUDGED_PAIRS", 500)
    rows = raw_features.repetition("digits", 0, tmp_path, [60])
    assert [(row["features"], row["columns"]) for row in rows] == [("given", 59), ("made", 31)]
    assert all(row["right"] > 0.6 for row in rows)
