"""Features made from pictures and texts, beside those that were given."""

import pytest
import raw_features
import sets


@pytest.mark.slow
def test_features_made_from_pictures_are_judged_on_the_trial_of_those_that_were_given(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "MAX_JUDGED_PAIRS", 500)
    rows = raw_features.repetition("digits", 0, tmp_path, [60])
    assert [(row["features"], row["columns"]) for row in rows] == [("given", 59), ("made", 31)]
    assert all(row["right"] > 0.6 for row in rows)
