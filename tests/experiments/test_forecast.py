"""Forecasts of doubt and reliability, compared with what the model then claims."""

import forecast
import numpy as np
import pandas as pd
import pytest
import sets

import pairsmith as ps


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_forecasts_are_compared_with_what_the_model_then_claims(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "trial", lambda name, seed, folder: sets.synthetic(seed, n=24, d=2))
    before, _, first, second = forecast.repetition("synthetic", 0, tmp_path, (0, 40), (20, 40), simulations=2)
    assert (before["start"], before["more"]) == (0, 20)
    assert 0 < before["claimed"] < before["before"] == pytest.approx(0.5)
    assert (first["start"], first["more"], second["more"]) == (40, 20, 40)
    assert 0 < second["claimed"] < first["before"] < 0.5
    assert second["low"] < second["forecast"] < second["high"]
    assert second["low_reliability"] < second["forecast_reliability"] < second["high_reliability"]
    assert before["reliability"] < second["reliability"]
    assert first["took"] == second["took"]
    head, cells = forecast.table(pd.DataFrame([first | {"data": "synthetic", "seed": 0}]))
    assert len(head) == len(cells[0]) == 12
    assert cells[0][:4] == ["synthetic", "40", "20", f"{100 * first['before']:.1f}%"]


def test_answers_needed_are_compared_with_answers_taken():
    curve = np.array([[0.3, 0.24, 0.09], [0.3, 0.24, 0.09]])
    given = ps.Forecast(np.array([0, 20, 40]), curve, curve, 1 - curve, 40, 100, {}, np.array([0, 20, 40]))
    pairs = {20: (0.2, 0.2), 40: (0.3, 0.3), 60: (0.25, 0.3), 80: (0.2, 0.1), 100: (0.1, 0.1)}
    actual = {count: forecast.Actual(doubt, 1 - doubt, wrong) for count, (doubt, wrong) in pairs.items()}
    first, last = forecast.compare(40, given, actual)
    assert (first["claimed"], first["wrong"], last["claimed"], last["wrong"]) == (0.25, 0.3, 0.2, 0.1)
    assert (last["needed_about"], last["took"]) == (22, 40)  # 0.225, a tenth of the way from 0.24 to 0.09
    raw = pd.DataFrame([row | {"data": "a", "seed": 0} for row in (first, last)])
    assert forecast.needed_table(raw)[1] == [["a", "40", "22", "22", "22", "40", "0 of 1"]]
    never = dict.fromkeys(actual, forecast.Actual(0.3, 0.7, 0.3))
    assert forecast.compare(40, given, never)[0]["took"] == -1
