"""What more answers would bring."""

from dataclasses import replace

import numpy as np
import pytest

from campaigns import answers_of
from pairsmith.campaign import outlook
from pairsmith.campaign.answers import add as add_answers
from pairsmith.campaign.snapshot import take_snapshot


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
    assert [target for target, *_ in found["needed"]] == [t for t in outlook.TARGETS if t < middle[0]]


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
    assert outlook.foretell(done) == {"from": 66, "points": [], "needed": []}


@pytest.mark.slow
def test_where_pairs_may_be_asked_again_there_is_no_end(snapshot):
    given = answers_of(np.column_stack(np.triu_indices(12, 1))).assign(elsewhere=True, strength="")
    done = replace(snapshot, answers=given, asks_again=True)
    assert outlook.pairs_left(done) == 66
    assert outlook.foretell(done)["points"][-1][0] == 166
