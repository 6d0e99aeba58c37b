"""Tests of reports: rankings, figures and advice from simulated answers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pairsmith.campaign.answering import corrections
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.planning import planner
from pairsmith.campaign.reporting import calibration
from pairsmith.campaign.reporting.dashboard import EMPTY_REPORT
from pairsmith.campaign.reporting.history import ReportState, fingerprint
from pairsmith.campaign.reporting.report import find_disputed_items, make_report
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot


def test_labels_without_answers_give_a_ranking(target, make):
    store = make(target, labels=(np.array([0, 1, 2]), np.array([1, -1, 1])))
    report = make_report(take_snapshot(store))
    assert (report["answers"], report["curve"], report["people"]) == (0, [], [])
    assert len(report["ranking"]) == 12


def give_answers(store, count, truth, rng=None, rater="anna", later=0):
    """Add `count` answers of a rater to the next planned pairs, according to `truth` (with noise if `rng` is given).

    They are one second apart, and begin `later` seconds after a fixed time.
    """
    done = int((take_snapshot(store).answers["rater"] == rater).sum())
    while len(take_snapshot(store).planned) < done + count:
        assert planner.plan_round(store)
    pairs = take_snapshot(store).planned[done : done + count]
    gap = truth[pairs[:, 0]] - truth[pairs[:, 1]]
    better = gap > 0 if rng is None else rng.random(count) < 1 / (1 + np.exp(-gap))
    given = pd.DataFrame({"first": pairs[:, 0], "second": pairs[:, 1], "outcome": np.where(better, 1, -1)})
    at = (1_700_000_000 + later + np.arange(done, done + count)) * 1_000_000
    assert add_answers(store, given.assign(left=pairs[:, 0], rater=rater, seconds=2.0, at=at)) == count


def test_advice_when_all_pairs_are_answered_before_40_answers(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=4)
    give_answers(store, 5, np.arange(4.0))
    report = make_report(take_snapshot(store))
    assert report["advice"]["text"].startswith("Too early to tell")
    assert report["learned"]["explained"] is None  # five answers do not tell
    give_answers(store, 1, np.arange(4.0))
    assert make_report(take_snapshot(store))["advice"]["text"].startswith("Every pair has been answered. 6 answers")


def test_report_of_one_consistent_and_one_contradictory_rater(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=20, d=4, k=20, answers_per_pair=2)
    truth = take_snapshot(store).features.to_numpy() @ np.array([3.0, -2.0, 1.0, 0.5])
    give_answers(store, 20, truth)
    give_answers(store, 10, truth, rater="ben")
    give_answers(store, 10, -truth, rater="ben")  # half of his answers are reversed
    report = make_report(take_snapshot(store))
    assert report["answers"] == 40
    rows = {row["name"]: row for row in report["people"]}
    assert (rows["anna"]["answers"], rows["ben"]["answers"]) == (20, 20)
    assert rows["anna"]["agrees_on_repeated"] == rows["ben"]["agrees_on_repeated"]
    assert rows["anna"]["agrees_on_repeated"][0] == 0.5
    assert rows["anna"]["seconds"] == 2.0
    assert rows["anna"]["slope"] > rows["ben"]["slope"]
    assert rows["anna"]["infit"] > 0
    scores = [row[2] for row in report["ranking"]]
    assert scores == sorted(scores, reverse=True)
    assert all(
        low < score < high and 1 <= best <= worst <= 20 and 0 <= in_top <= 1
        for _, _, score, low, high, best, worst, in_top in report["ranking"]
    )
    assert [row[1] for row in report["ranking"]] == list(range(1, 21))
    assert {row[0] for row in report["ranking"]} == set(range(20))
    assert sum(row[7] for row in report["ranking"]) == pytest.approx(10, abs=0.01)  # ten items are among the ten best


@pytest.mark.slow
def test_advice_to_stop_requires_checks(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=12, d=2, k=30)
    truth = take_snapshot(store).features.to_numpy() @ [4.0, -3.0]
    give_answers(store, 20, truth)
    assert not make_report(take_snapshot(store))["advice"]["stop"]
    assert "early" in make_report(take_snapshot(store))["advice"]["text"]
    give_answers(store, 46, truth)  # all pairs
    advice = make_report(take_snapshot(store))["advice"]
    assert not advice["stop"]
    assert advice["text"].startswith("Every pair has been answered, and the chance")
    assert "if everybody judges like this one rater and the model is right" in advice["text"]
    give_answers(store, 66, truth, rater="ben", later=1000)
    snapshot = take_snapshot(store)
    advice = make_report(replace(snapshot, answers=snapshot.answers.assign(why="random")))["advice"]
    assert advice["stop"]
    assert advice["text"].startswith("You can stop: every pair has been answered")


@pytest.mark.slow
def test_advice_warns_when_raters_do_not_judge_alike(tmp_path, make):
    """Two raters judge by one feature and two by another, each consistently, so that the doubt means little."""
    store = make(str(tmp_path / "t.db"), n=30, d=2, k=60)
    X = take_snapshot(store).features.to_numpy()
    for at, (name, goes_by) in enumerate({"anna": 0, "ben": 0, "eve": 1, "zoe": 1}.items()):
        give_answers(store, 60, 4 * X[:, goes_by], np.random.default_rng(at), rater=name, later=1000 * at)
    snapshot = take_snapshot(store)
    advice = make_report(replace(snapshot, answers=snapshot.answers.sort_values(["seconds", "at"])))["advice"]
    assert not advice["stop"]
    assert any("that the model expected" in sentence for sentence in advice["more"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_doubt_is_honest_when_features_are_irrelevant(tmp_path, make, seed):
    """60 items, 5 features unrelated to quality, 400 answers without error: at least half of the true doubt."""
    store = make(str(tmp_path / "t.db"), n=60, d=5, k=400)
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(60)
    give_answers(store, 400, truth)
    snapshot = take_snapshot(store)
    model = fit_model(snapshot)
    scores = model.decision_function(snapshot.features)
    i, j = np.triu_indices(60, 1)
    wrong = np.mean((scores[i] > scores[j]) != (truth[i] > truth[j]))
    assert model.doubt_ > wrong / 2
    assert model.doubt_ < 0.2
    state = ReportState(
        model=model,
        model_fingerprint=fingerprint(snapshot),
        n_fitted=400,
        doubts=AnyDoubts(),
        predictions=np.full(400, np.nan),
    )
    report = make_report(snapshot, state)
    assert f"{model.doubt_:.1%}" in report["advice"]["text"]
    assert any("Features say hardly anything" in sentence or "Features explain" in sentence
               for sentence in report["advice"]["more"])  # fmt: skip
    assert report["learned"]["explained"] < 0.5
    assert report["learned"]["doubt"] == pytest.approx(model.doubt_, abs=1e-3)
    assert report["curve"][-1]["doubt"] > wrong / 2


def test_forecast_is_shown_only_with_the_answers_it_was_made_from(tmp_path, make):
    """It starts at the current doubt; after an exclusion, and beyond its horizon, another one is pending."""
    store = make(str(tmp_path / "t.db"), n=30, d=2, k=50)
    truth = take_snapshot(store).features.to_numpy() @ [4.0, -3.0]
    rng, state = np.random.default_rng(0), ReportState()
    pending = "What more answers would bring is being computed."

    def after(forecast=None):
        if forecast is not None:
            state.forecast = forecast
        report = make_report(take_snapshot(store), state)
        assert report["curve"][-1]["doubt"] == report["learned"]["doubt"]
        assert (pending in report["advice"]["more"]) == (report["outlook"] is None) == (state.forecast is None)
        return report

    give_answers(store, 60, truth, rng)
    assert after()["outlook"] is None
    made = {"from": 60, "of": fingerprint(take_snapshot(store)), "points": [[60, *3 * [0.3]], [75, 0.2, 0.25, 0.3]]}
    give_answers(store, 10, truth, rng, rater="ben", later=1000)
    report = after(made)
    assert report["outlook"]["points"][0] == [70, *3 * [report["learned"]["doubt"]]]
    assert report["outlook"]["points"][1][0] == 75
    corrections.exclude(store, "anna")
    give_answers(store, 55, truth, rng, rater="eve", later=2000)
    assert after()["outlook"] is None
    corrections.exclude(store, "anna", False)
    corrections.exclude(store, "eve")
    assert after(made)["outlook"]["points"][0][0] == 70
    give_answers(store, 5, truth, rng, rater="ben", later=1000)
    assert after()["outlook"] is None  # as many answers as it looked ahead


def test_consistency_is_checked_again_after_answers_are_excluded(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), n=30, d=2, k=50)
    checked, state = [], ReportState()
    monkeypatch.setattr(calibration, "consistency", lambda given, _: checked.append(given) or "fine")
    truth = np.arange(30.0)
    give_answers(store, 50, truth)
    give_answers(store, 10, truth, rater="ben", later=1000)
    for change in (
        lambda: None,
        lambda: give_answers(store, 5, truth, rater="eve", later=2000),
        lambda: corrections.exclude(store, "ben"),
        lambda: give_answers(store, 8, truth, rater="eve", later=2000),
    ):
        change()
        make_report(take_snapshot(store), state)
    assert [len(given.answers) for given in checked] == [60, 55]


class AnyDoubts(dict):
    """Doubts of 0.2 at all marks, because they do not matter here."""

    def __contains__(self, name):
        return True

    def __missing__(self, name):
        return 0.2


def test_report_without_answers_is_empty(tmp_path, make):
    report = make_report(take_snapshot(make(str(tmp_path / "t.db"))))
    assert report == EMPTY_REPORT | {"advice": report["advice"]}
    assert not report["advice"]["stop"]


def test_doubt_is_the_share_of_pairs_in_the_wrong_order_in_posterior_draws(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=12, d=3, k=30)
    X = take_snapshot(store).features.to_numpy()
    give_answers(store, 30, X @ [2.0, -1.0, 0.5])
    snapshot = take_snapshot(store)
    model = fit_model(snapshot)
    i, j = np.triu_indices(12, 1)
    scores = model.decision_function(snapshot.features)
    joint = model._scores(snapshot.features)[0].without_last()
    draws = joint.draws(np.random.default_rng(1), 4000)
    wrong = np.mean((draws[:, i] > draws[:, j]) != (scores[i] > scores[j]))
    assert make_report(snapshot)["learned"]["doubt"] == pytest.approx(wrong, abs=0.01)


@pytest.mark.slow
def test_calibration_is_measured_on_random_pairs(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=20, d=4, k=60)
    give_answers(store, 60, take_snapshot(store).features.to_numpy() @ np.array([3.0, -2.0, 1.0, 0.5]))
    snapshot = take_snapshot(store)
    learned = make_report(snapshot)["learned"]
    assert learned["agreement"] == learned["auc"] == {"number": 0, "value": None, "low": None, "high": None}
    why = np.where(np.arange(60) % 2, "random", "designed")
    state = ReportState()
    found = make_report(replace(snapshot, answers=snapshot.answers.assign(why=why)), state)
    predictions = state.predictions[1::2]
    right = (predictions > 0.5) == (snapshot.answers["outcome"].to_numpy()[1::2] > 0)
    used = np.isfinite(predictions) & (predictions != 0.5)
    assert found["learned"]["agreement"]["number"] == used.sum() >= 20
    assert found["learned"]["agreement"]["value"] == pytest.approx(right[used].mean(), abs=1e-3)
    assert found["curve"][0]["auc"] is None  # too few pairs
    assert found["curve"][-1]["auc_low"] < found["curve"][-1]["auc"] <= found["curve"][-1]["auc_high"]
    assert any("random pairs" in sentence for sentence in found["advice"]["more"])


def test_each_group_has_its_own_ranking(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=12, d=2, k=20)
    give_answers(store, 20, take_snapshot(store).features.to_numpy() @ [4.0, -3.0])
    groups = np.array(["p", "q", "r"] * 4, dtype=object)
    report = make_report(replace(take_snapshot(store), groups=groups))
    assert [row[1] for row in report["ranking"]] == [1, 2, 3, 4] * 3
    assert [row[0] % 3 for row in report["ranking"]] == [0] * 4 + [1] * 4 + [2] * 4
    assert all(1 <= row[5] <= row[6] <= 4 for row in report["ranking"])
    assert sum(row[7] for row in report["ranking"][:4]) == pytest.approx(1, abs=0.01)


def test_disputed_items_have_contradictory_answers(tmp_path, make):
    """Items in a clear order, except for one that wins against the best and loses to the worst."""
    store = make(str(tmp_path / "t.db"), n=10, d=2, k=45)
    truth = 8.0 * np.arange(10)
    give_answers(store, 45, truth)
    snapshot = take_snapshot(store)
    assert find_disputed_items(snapshot, fit_model(snapshot)) == []
    given = snapshot.answers.copy()
    about = (given["first"] == 5) | (given["second"] == 5)
    given.loc[about, "outcome"] *= -1
    other = replace(snapshot, answers=given)
    (name, against, total), *_ = find_disputed_items(other, fit_model(other))
    assert name == snapshot.features.index[5]
    assert total == 9
    assert against >= 5
