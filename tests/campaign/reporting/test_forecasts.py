"""Tests of forecasts: when they are made, what they say, and when they still apply."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from pairsmith.campaign.reporting import forecasts
from pairsmith.campaign.reporting.history import fingerprint, first_answers
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import answers_of


@pytest.fixture
def snapshot(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=12, d=2, k=40)
    pairs = take_snapshot(store).planned
    add_answers(store, answers_of(pairs, outcome=np.where(pairs[:, 0] < pairs[:, 1] - 3, 1, -1)))
    return take_snapshot(store)


def test_forecast_is_due_after_a_fifth_more_answers():
    assert not forecasts.is_due(None, 39)
    assert forecasts.is_due(None, 40)
    assert not forecasts.is_due({"from": 100}, 119)
    assert forecasts.is_due({"from": 100}, 120)
    assert forecasts.is_due({"from": 100}, 99)  # some were taken back


@pytest.mark.slow
def test_simulated_doubt_falls_until_no_pair_is_left(snapshot):
    found = forecasts.simulate(snapshot)
    assert found["from"] == 40
    answers, low, middle, high = np.array(found["points"]).T
    assert (answers[0], answers[-1]) == (40, 66)  # all pairs
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert middle[-1] < middle[0]
    now = forecasts.anchor(found, snapshot, middle[0])
    np.testing.assert_allclose(now["points"], found["points"], atol=2e-5)  # anchored where it was made
    assert [target for target, *_ in now["needed"]] == [t for t in forecasts.DOUBT_TARGETS if t < middle[0]]


def forecast_of(snapshot, count, *points):
    """Return a forecast made after the first `count` answers of this snapshot."""
    return {
        "from": count,
        "of": fingerprint(first_answers(snapshot, count)),
        "points": [list(point) for point in points],
    }


@pytest.mark.parametrize("count", [1, 19, 20, 29, 39, 40])
def test_anchored_forecast_starts_at_the_current_doubt_and_lies_in_the_future(snapshot, count):
    given = forecast_of(snapshot, 1, (1, 0.4, 0.4, 0.4), (20, 0.25, 0.3, 0.35), (50, 0.1, 0.2, 0.4))
    found = forecasts.anchor(given, first_answers(snapshot, count), 0.15)
    answers, low, middle, high = np.array(found["points"]).T
    assert answers[0] == found["from"] == count
    assert (np.diff(answers) > 0).all()
    assert low[0] == middle[0] == high[0] == 0.15
    assert (np.diff(middle) < 0).all()
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert low[-1] < middle[-1] < high[-1]
    assert [target for target, *_ in found["needed"]] == [0.1, 0.05]
    for _, about, at_least, at_most in found["needed"]:
        numbers = [number for number in (at_least, about, at_most) if number is not None]
        assert numbers == sorted(numbers)  # None: beyond the horizon
        assert all(1 <= number <= 50 - count for number in numbers)


def test_anchored_forecast_by_hand(snapshot):
    """Half way to the horizon, half of the fall in logits and half of the variance are left."""
    before, after = expit([0.0, -2.0])
    low, high = expit([-3.0, -1.0])
    found = forecasts.anchor(forecast_of(snapshot, 20, (20, *3 * [before]), (60, low, after, high)), snapshot, 0.3)
    start = logit(0.3)
    expected = [40, *3 * [0.3]], [60, *expit(start - 1 + np.array([-1, 0, 1]) / np.sqrt(2))]
    np.testing.assert_allclose(found["points"], expected, atol=1e-5)
    _, _, middle, _ = found["points"][-1]
    about = 20 * (0.3 - 0.2) / (0.3 - middle)
    assert found["needed"][0][:2] == [0.2, round(about)]


def test_forecast_is_dropped_when_its_answers_change(snapshot):
    given = forecast_of(snapshot, 20, (20, 0.3, 0.3, 0.3), (60, 0.1, 0.2, 0.25))
    answers = snapshot.answers
    assert forecasts.anchor(given, snapshot, 0.3)
    assert forecasts.anchor(None, snapshot, 0.3) is None
    assert forecasts.anchor({"from": 20, "points": given["points"]}, snapshot, 0.3) is None  # without a fingerprint
    for other in (
        answers.drop(answers.index[7]),  # struck out, or excluded with its rater
        answers.iloc[:19],
        answers.assign(outcome=[-answers["outcome"].iloc[0], *answers["outcome"].iloc[1:]]),
        answers.iloc[[30, *range(30), *range(31, 40)]],  # imported, with an earlier time
    ):
        assert forecasts.anchor(given, replace(snapshot, answers=other), 0.3) is None
    more_items = replace(snapshot, features=pd.concat([snapshot.features] * 2))
    assert forecasts.anchor(given, more_items, 0.3) is None


@pytest.mark.parametrize("horizon", [21, 39, 40])
def test_forecast_is_dropped_at_its_horizon(snapshot, horizon):
    given = forecast_of(snapshot, 20, (20, 0.3, 0.3, 0.3), (horizon, 0.1, 0.2, 0.25))
    assert forecasts.anchor(given, snapshot, 0.3) is None


@pytest.mark.slow
def test_forecasts_within_groups_and_without_features(snapshot):
    grouped = replace(snapshot, groups=np.array(["a", "b"] * 6, dtype=object))
    left = forecasts.count_open_pairs(grouped)
    given = snapshot.answers[["first", "second"]].to_numpy()
    assert left == 30 - len(given[given[:, 0] % 2 == given[:, 1] % 2])
    assert forecasts.simulate(grouped)["points"][-1][0] == 40 + left
    bare = replace(snapshot, features=snapshot.features[[]])
    assert forecasts.simulate(bare)["points"]


def test_forecast_is_empty_when_no_pair_is_left(snapshot):
    all_pairs = np.column_stack(np.triu_indices(12, 1))
    given = answers_of(all_pairs).assign(elsewhere=True, strength="")
    done = replace(snapshot, answers=given)
    assert forecasts.count_open_pairs(done) == 0
    assert forecasts.simulate(done) == {"from": 66, "of": fingerprint(done), "points": []}
    assert forecasts.anchor(forecasts.simulate(done), done, 0.1) == {"from": 66, "points": [], "needed": []}


@pytest.mark.slow
def test_forecast_does_not_end_with_the_pairs_when_they_may_be_asked_again(snapshot):
    given = answers_of(np.column_stack(np.triu_indices(12, 1))).assign(elsewhere=True, strength="")
    done = replace(snapshot, answers=given, asks_again=True)
    assert forecasts.count_open_pairs(done) == 66
    assert forecasts.simulate(done)["points"][-1][0] == 166


def test_unreachable_database_is_reported_on_one_line():
    line = [sys.executable, "-m", "pairsmith.campaign.planning.worker", "forecast"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(line, text=True, **pipes) as process:
        process.stdin.write("0 postgresql://127.0.0.1:1/nothing\n")
        process.stdin.flush()  # the process would end with its standard input, which stays open
        errors = process.stderr.read()
        assert process.wait() == 1
    assert errors.startswith("Error: postgresql://127.0.0.1:1/nothing")
    assert errors.count("\n") == 1
