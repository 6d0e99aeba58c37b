"""What the dashboard shows of the model."""

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from campaigns import answer_next
from pairsmith.campaign import planning
from pairsmith.campaign.answers import add as add_answers
from pairsmith.campaign.dashboard import EMPTY_REPORT
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.report import LITTLE, advise, make_report
from pairsmith.campaign.snapshot import take_snapshot


def test_labels_alone_give_a_ranking(target, make):
    store = make(target, labels=(np.array([0, 1, 2]), np.array([1, -1, 1])))
    report = make_report(take_snapshot(store))
    assert (report["answers"], report["curve"], report["people"]) == (0, [], [])
    assert len(report["ranking"]) == 12


def give_answers(store, count, truth, rng=None, labeller="anna"):
    """`count` more answers of this labeller, of pairs in the order planned, as `truth` (with noise: rng) has them."""
    done = int((take_snapshot(store).answers["labeller"] == labeller).sum())
    while len(take_snapshot(store).planned) < done + count:
        assert planning.plan_round(store)
    pairs = take_snapshot(store).planned[done : done + count]
    gap = truth[pairs[:, 0]] - truth[pairs[:, 1]]
    better = gap > 0 if rng is None else rng.random(count) < 1 / (1 + np.exp(-gap))
    given = pd.DataFrame({"first": pairs[:, 0], "second": pairs[:, 1], "outcome": np.where(better, 1, -1)})
    at = (1_700_000_000 + np.arange(done, done + count)) * 1_000_000
    assert add_answers(store, given.assign(left=pairs[:, 0], labeller=labeller, seconds=2.0, at=at)) == count


def test_the_report_against_what_is_known(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=20, d=4, k=20, answers_per_pair=2)
    truth = take_snapshot(store).features.to_numpy() @ np.array([3.0, -2.0, 1.0, 0.5])
    give_answers(store, 20, truth)
    give_answers(store, 10, truth, labeller="ben")
    give_answers(store, 10, -truth, labeller="ben")  # half of his answers are the other way round
    report = make_report(take_snapshot(store))
    assert report["answers"] == 40
    rows = {row["name"]: row for row in report["people"]}
    assert (rows["anna"]["answers"], rows["ben"]["answers"]) == (20, 20)
    assert rows["anna"]["agrees_on_repeated"] == rows["ben"]["agrees_on_repeated"] == 0.5
    assert rows["anna"]["seconds"] == 2.0
    assert rows["anna"]["agrees_with_model"] > rows["ben"]["agrees_with_model"]
    scores = [row[1] for row in report["ranking"]]
    assert scores == sorted(scores, reverse=True)
    assert {row[0] for row in report["ranking"]} == set(store.items.names)
    # log det by brute force
    X = take_snapshot(store).features.to_numpy()
    pairs = {tuple(pair) for pair in take_snapshot(store).answers[["first", "second"]].to_numpy()}
    D = np.array([X[i] - X[j] for i, j in pairs])
    ridge = ps.select(X, 1).ridge
    gained = np.linalg.slogdet(ridge * np.eye(4) + D.T @ D)[1] - 4 * np.log(ridge)
    assert report["curve"][-1]["gained"] == pytest.approx(gained, abs=1e-3)
    assert report["curve"][-1]["gained"] > report["curve"][-1]["random"]


def test_held_out_auc_rises_with_honest_answers_and_not_with_noise(tmp_path, make):
    found = []
    for name, rng in (("honest", None), ("noise", np.random.default_rng(0))):
        store = make(str(tmp_path / f"{name}.db"), n=40, d=3, k=40)
        X = take_snapshot(store).features.to_numpy()
        give_answers(store, 160, X @ [2.0, -1.0, 1.0] * (0.0 if rng else 1.0), rng)
        found.append(make_report(take_snapshot(store))["curve"][-1]["auc"])
    assert found[0] > 0.9
    assert 0.25 < found[1] < 0.75


def test_stop_advice(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=30, d=2, k=30)
    X = take_snapshot(store).features.to_numpy()
    truth = X @ [4.0, -3.0]
    give_answers(store, 20, truth)
    assert not make_report(take_snapshot(store))["advice"]["stop"]
    assert "early" in make_report(take_snapshot(store))["advice"]["text"]
    give_answers(store, 400, truth)
    report = make_report(take_snapshot(store))
    assert report["advice"]["stop"]
    falling = [{"answers": mark, "doubt": 0.4 - mark / 400} for mark in range(10, 101, 10)]
    assert not advise(falling)["stop"]
    flat = [{"answers": mark, "doubt": 0.2 - LITTLE * mark / 100} for mark in range(10, 101, 10)]
    assert advise(flat)["stop"]


def test_the_report_of_nothing_is_empty(tmp_path, make):
    report = make_report(take_snapshot(make(str(tmp_path / "t.db"))))
    assert report == EMPTY_REPORT | {"advice": report["advice"]}
    assert not report["advice"]["stop"]


def test_others_have_their_turn_before_each_point_and_change_nothing(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=10, k=20)
    for _ in range(6):
        answer_next(store)
    expected = make_report(take_snapshot(store))
    turns = []

    def meanwhile():
        turns.append(len(take_snapshot(store).answers))
        answer_next(store)  # somebody answers while the report is made

    assert make_report(take_snapshot(store), meanwhile) == expected
    assert turns == list(range(6, 12))
    assert [point["answers"] for point in expected["curve"]] == [1, 2, 3, 4, 5, 6]


def test_doubt_is_how_often_two_items_stand_in_the_wrong_order(tmp_path, make):
    """Against draws from the posterior: the order of each against that of the estimate."""
    store = make(str(tmp_path / "t.db"), n=12, d=3, k=30)
    X = take_snapshot(store).features.to_numpy()
    give_answers(store, 30, X @ [2.0, -1.0, 0.5])
    snapshot = take_snapshot(store)
    model = fit_model(snapshot)
    rng = np.random.default_rng(1)
    draws = X @ (model.coef_[:, None] + model.covariance_root_ @ rng.standard_normal((3, 4000)))
    scores = X @ model.coef_
    wrong = [np.mean((draws[i] > draws[j]) != (scores[i] > scores[j])) for i in range(12) for j in range(12) if i != j]
    assert make_report(snapshot)["curve"][-1]["doubt"] == pytest.approx(np.mean(wrong), abs=0.01)
