"""What more answers would bring."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from pairsmith.campaign.reporting import forecasts as outlook
from pairsmith.campaign.reporting.history import first_answers, name_of
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import answers_of


@pytest.fixture
def snapshot(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=12, d=2, k=40)
    pairs = take_snapshot(store).planned
    add_answers(store, answers_of(pairs, outcome=np.where(pairs[:, 0] < pairs[:, 1] - 3, 1, -1)))
    return take_snapshot(store)


def test_a_forecast_is_due_now_and_then():
    assert not outlook.due(None, 39)
    assert outlook.due(None, 40)
    assert not outlook.due({"from": 100}, 119)
    assert outlook.due({"from": 100}, 120)
    assert outlook.due({"from": 100}, 99)  # some were taken back


@pytest.mark.slow
def test_doubt_to_come(snapshot):
    found = outlook.foretell(snapshot)
    assert found["from"] == 40
    answers, low, middle, high = np.array(found["points"]).T
    assert (answers[0], answers[-1]) == (40, 66)  # every pair that there is
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert middle[-1] < middle[0]
    now = outlook.anchor(found, snapshot, middle[0])
    np.testing.assert_allclose(now["points"], found["points"], atol=2e-5)  # it starts where it was made
    assert [target for target, *_ in now["needed"]] == [t for t in outlook.TARGETS if t < middle[0]]


def forecast_of(snapshot, count, *points):
    """A forecast made after the first `count` answers of this snapshot."""
    return {"from": count, "of": name_of(first_answers(snapshot, count)), "points": [list(point) for point in points]}


@pytest.mark.parametrize("count", [1, 19, 20, 29, 39, 40])
def test_a_forecast_starts_at_the_doubt_shown_and_lies_in_the_future(snapshot, count):
    given = forecast_of(snapshot, 1, (1, 0.4, 0.4, 0.4), (20, 0.25, 0.3, 0.35), (50, 0.1, 0.2, 0.4))
    found = outlook.anchor(given, first_answers(snapshot, count), 0.15)
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
        known = [number for number in (at_least, about, at_most) if number is not None]
        assert known == sorted(known)  # None: beyond the horizon
        assert all(1 <= number <= 50 - count for number in known)


def test_an_anchored_forecast_by_hand(snapshot):
    """Half way to a horizon: half of the fall, in logits, and half of the variance are left."""
    before, after = expit([0.0, -2.0])
    low, high = expit([-3.0, -1.0])
    found = outlook.anchor(forecast_of(snapshot, 20, (20, *3 * [before]), (60, low, after, high)), snapshot, 0.3)
    start = logit(0.3)
    expected = [40, *3 * [0.3]], [60, *expit(start - 1 + np.array([-1, 0, 1]) / np.sqrt(2))]
    np.testing.assert_allclose(found["points"], expected, atol=1e-5)
    _, _, middle, _ = found["points"][-1]
    about = 20 * (0.3 - 0.2) / (0.3 - middle)
    assert found["needed"][0][:2] == [0.2, round(about)]


def test_a_forecast_is_dropped_with_the_answers_it_was_made_from(snapshot):
    given = forecast_of(snapshot, 20, (20, 0.3, 0.3, 0.3), (60, 0.1, 0.2, 0.25))
    answers = snapshot.answers
    assert outlook.anchor(given, snapshot, 0.3)
    assert outlook.anchor(None, snapshot, 0.3) is None
    assert outlook.anchor({"from": 20, "points": given["points"]}, snapshot, 0.3) is None  # of an earlier version
    for other in (
        answers.drop(answers.index[7]),  # struck out, or of somebody who was excluded
        answers.iloc[:19],
        answers.assign(outcome=[-answers["outcome"].iloc[0], *answers["outcome"].iloc[1:]]),
        answers.iloc[[30, *range(30), *range(31, 40)]],  # imported, and given before
    ):
        assert outlook.anchor(given, replace(snapshot, answers=other), 0.3) is None
    more_items = replace(snapshot, features=pd.concat([snapshot.features] * 2))
    assert outlook.anchor(given, more_items, 0.3) is None


@pytest.mark.parametrize("horizon", [21, 39, 40])
def test_a_burst_of_answers_outlives_its_forecast(snapshot, horizon):
    given = forecast_of(snapshot, 20, (20, 0.3, 0.3, 0.3), (horizon, 0.1, 0.2, 0.25))
    assert outlook.anchor(given, snapshot, 0.3) is None


@pytest.mark.slow
def test_within_groups_and_without_features(snapshot):
    grouped = replace(snapshot, groups=np.array(["a", "b"] * 6, dtype=object))
    left = outlook.pairs_left(grouped)
    given = snapshot.answers[["first", "second"]].to_numpy()
    assert left == 30 - len(given[given[:, 0] % 2 == given[:, 1] % 2])
    assert outlook.foretell(grouped)["points"][-1][0] == 40 + left
    bare = replace(snapshot, features=snapshot.features[[]])
    assert outlook.foretell(bare)["points"]


def test_where_nothing_is_left_to_ask_nothing_is_foretold(snapshot):
    all_pairs = np.column_stack(np.triu_indices(12, 1))
    given = answers_of(all_pairs).assign(elsewhere=True, strength="")
    done = replace(snapshot, answers=given)
    assert outlook.pairs_left(done) == 0
    assert outlook.foretell(done) == {"from": 66, "of": name_of(done), "points": []}
    assert outlook.anchor(outlook.foretell(done), done, 0.1) == {"from": 66, "points": [], "needed": []}


@pytest.mark.slow
def test_where_pairs_may_be_asked_again_there_is_no_end(snapshot):
    given = answers_of(np.column_stack(np.triu_indices(12, 1))).assign(elsewhere=True, strength="")
    done = replace(snapshot, answers=given, asks_again=True)
    assert outlook.pairs_left(done) == 66
    assert outlook.foretell(done)["points"][-1][0] == 166


def test_a_database_that_is_down_is_one_line():
    line = [sys.executable, "-m", "pairsmith.campaign.planning.worker", "forecast"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(line, text=True, **pipes) as process:
        process.stdin.write("0 postgresql://127.0.0.1:1/nothing\n")
        process.stdin.flush()  # it ends when its standard input does, which stays open
        told = process.stderr.read()
        assert process.wait() == 1
    assert told.startswith("Error: postgresql://127.0.0.1:1/nothing")
    assert told.count("\n") == 1
