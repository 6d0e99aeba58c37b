"""What the dashboard shows of the model."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pairsmith.campaign.answering import corrections
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.reporting import report as report_module
from pairsmith.campaign.reporting.dashboard import EMPTY_REPORT
from pairsmith.campaign.reporting.history import Memory, name_of
from pairsmith.campaign.reporting.report import disputed, make_report
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot


def test_labels_alone_give_a_ranking(target, make):
    store = make(target, labels=(np.array([0, 1, 2]), np.array([1, -1, 1])))
    report = make_report(take_snapshot(store))
    assert (report["answers"], report["curve"], report["people"]) == (0, [], [])
    assert len(report["ranking"]) == 12


def give_answers(store, count, truth, rng=None, rater="anna", later=0):
    """`count` more answers of this rater, of pairs in the order planned, as `truth` (with noise: rng) has them.

    One a second from a time on, `later` seconds after that of the other raters.
    """
    done = int((take_snapshot(store).answers["rater"] == rater).sum())
    while len(take_snapshot(store).planned) < done + count:
        assert planning.plan_round(store)
    pairs = take_snapshot(store).planned[done : done + count]
    gap = truth[pairs[:, 0]] - truth[pairs[:, 1]]
    better = gap > 0 if rng is None else rng.random(count) < 1 / (1 + np.exp(-gap))
    given = pd.DataFrame({"first": pairs[:, 0], "second": pairs[:, 1], "outcome": np.where(better, 1, -1)})
    at = (1_700_000_000 + later + np.arange(done, done + count)) * 1_000_000
    assert add_answers(store, given.assign(left=pairs[:, 0], rater=rater, seconds=2.0, at=at)) == count


def test_few_items_are_all_compared_before_there_is_advice(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=4)
    give_answers(store, 5, np.arange(4.0))
    report = make_report(take_snapshot(store))
    assert report["advice"]["text"].startswith("Too early to tell")
    assert report["learned"]["explained"] is None  # five answers say nothing of that
    give_answers(store, 1, np.arange(4.0))
    assert make_report(take_snapshot(store))["advice"]["text"].startswith("Every pair has been answered; 6 answers")


def test_the_report_against_what_is_known(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=20, d=4, k=20, answers_per_pair=2)
    truth = take_snapshot(store).features.to_numpy() @ np.array([3.0, -2.0, 1.0, 0.5])
    give_answers(store, 20, truth)
    give_answers(store, 10, truth, rater="ben")
    give_answers(store, 10, -truth, rater="ben")  # half of his answers are the other way round
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
    assert sum(row[7] for row in report["ranking"]) == pytest.approx(10, abs=0.01)  # of the ten best there are ten


@pytest.mark.slow
def test_stop_advice(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=12, d=2, k=30)
    truth = take_snapshot(store).features.to_numpy() @ [4.0, -3.0]
    give_answers(store, 20, truth)
    assert not make_report(take_snapshot(store))["advice"]["stop"]
    assert "early" in make_report(take_snapshot(store))["advice"]["text"]
    give_answers(store, 46, truth)  # every pair there is
    advice = make_report(take_snapshot(store))["advice"]
    assert not advice["stop"]
    assert advice["text"].startswith("Every pair has been answered, and the chance")
    assert "if everybody judges as this one rater does and the model is right" in advice["text"]
    give_answers(store, 66, truth, rater="ben", later=1000)
    snapshot = take_snapshot(store)
    advice = make_report(replace(snapshot, answers=snapshot.answers.assign(why="random")))["advice"]
    assert advice["stop"]
    assert advice["text"].startswith("You can stop: every pair has been answered")


@pytest.mark.slow
def test_raters_who_do_not_judge_alike_are_told_apart(tmp_path, make):
    """Two go by one feature and two by another: each of them is as good as sure, and the doubt means little."""
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
def test_it_does_not_claim_what_features_cannot_tell(tmp_path, make, seed):
    """60 items, 5 features unrelated to quality, 400 answers without error: no less than half of the true doubt."""
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
    memory = Memory(model=model, model_of=name_of(snapshot), fitted=400, doubts=Known(), foretold=np.full(400, np.nan))
    report = make_report(snapshot, memory)
    assert f"{model.doubt_:.1%}" in report["advice"]["text"]
    assert any("Features say hardly anything" in sentence or "Features explain" in sentence
               for sentence in report["advice"]["more"])  # fmt: skip
    assert report["learned"]["explained"] < 0.5
    assert report["learned"]["doubt"] == pytest.approx(model.doubt_, abs=1e-3)
    assert report["curve"][-1]["doubt"] > wrong / 2


def test_a_forecast_is_shown_only_with_answers_that_it_was_made_from(tmp_path, make):
    """After more answers it starts at the doubt shown; after an exclusion, and beyond its horizon, it is awaited."""
    store = make(str(tmp_path / "t.db"), n=30, d=2, k=50)
    truth = take_snapshot(store).features.to_numpy() @ [4.0, -3.0]
    rng, memory = np.random.default_rng(0), Memory()
    awaited = "What more answers would bring is being computed."

    def after(forecast=None):
        if forecast is not None:
            memory.outlook = forecast
        report = make_report(take_snapshot(store), memory)
        assert report["curve"][-1]["doubt"] == report["learned"]["doubt"]
        assert (awaited in report["advice"]["more"]) == (report["outlook"] is None) == (memory.outlook is None)
        return report

    give_answers(store, 60, truth, rng)
    assert after()["outlook"] is None
    made = {"from": 60, "of": name_of(take_snapshot(store)), "points": [[60, *3 * [0.3]], [75, 0.2, 0.25, 0.3]]}
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
    assert after()["outlook"] is None  # as many answers as it foretold


def test_whether_answers_contradict_each_other_is_looked_at_again_without_those_left_out(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), n=30, d=2, k=50)
    looked_at, memory = [], Memory()
    monkeypatch.setattr(report_module.yardstick, "consistency", lambda given, _: looked_at.append(given) or "fine")
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
        make_report(take_snapshot(store), memory)
    assert [len(given.answers) for given in looked_at] == [60, 55]


class Known(dict):
    """Doubts at marks, as if they had been found out: they are no matter here."""

    def __contains__(self, name):
        return True

    def __missing__(self, name):
        return 0.2


def test_the_report_of_nothing_is_empty(tmp_path, make):
    report = make_report(take_snapshot(make(str(tmp_path / "t.db"))))
    assert report == EMPTY_REPORT | {"advice": report["advice"]}
    assert not report["advice"]["stop"]


def test_doubt_is_how_often_two_items_stand_in_the_wrong_order(tmp_path, make):
    """Against draws from the posterior: the order of each against that of the estimate."""
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
def test_random_pairs_are_the_yardstick(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=20, d=4, k=60)
    give_answers(store, 60, take_snapshot(store).features.to_numpy() @ np.array([3.0, -2.0, 1.0, 0.5]))
    snapshot = take_snapshot(store)
    learned = make_report(snapshot)["learned"]
    assert learned["agreement"] == learned["auc"] == {"number": 0, "value": None, "low": None, "high": None}
    why = np.where(np.arange(60) % 2, "random", "designed")
    memory = Memory()
    found = make_report(replace(snapshot, answers=snapshot.answers.assign(why=why)), memory)
    told = memory.foretold[1::2]
    right = (told > 0.5) == (snapshot.answers["outcome"].to_numpy()[1::2] > 0)
    used = np.isfinite(told) & (told != 0.5)
    assert found["learned"]["agreement"]["number"] == used.sum() >= 20
    assert found["learned"]["agreement"]["value"] == pytest.approx(right[used].mean(), abs=1e-3)
    assert found["curve"][0]["auc"] is None  # of too few
    assert found["curve"][-1]["auc_low"] < found["curve"][-1]["auc"] <= found["curve"][-1]["auc_high"]
    assert any("random pairs" in sentence for sentence in found["advice"]["more"])


def test_a_group_has_a_ranking_of_its_own(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=12, d=2, k=20)
    give_answers(store, 20, take_snapshot(store).features.to_numpy() @ [4.0, -3.0])
    groups = np.array(["p", "q", "r"] * 4, dtype=object)
    report = make_report(replace(take_snapshot(store), groups=groups))
    assert [row[1] for row in report["ranking"]] == [1, 2, 3, 4] * 3
    assert [row[0] % 3 for row in report["ranking"]] == [0] * 4 + [1] * 4 + [2] * 4
    assert all(1 <= row[5] <= row[6] <= 4 for row in report["ranking"])
    assert sum(row[7] for row in report["ranking"][:4]) == pytest.approx(1, abs=0.01)


def test_who_is_disputed(tmp_path, make):
    """Items in a clear order, but for one, which won against the best and lost to the worst."""
    store = make(str(tmp_path / "t.db"), n=10, d=2, k=45)
    truth = 8.0 * np.arange(10)
    give_answers(store, 45, truth)
    snapshot = take_snapshot(store)
    assert disputed(snapshot, fit_model(snapshot)) == []
    given = snapshot.answers.copy()
    about = (given["first"] == 5) | (given["second"] == 5)
    given.loc[about, "outcome"] *= -1
    other = replace(snapshot, answers=given)
    (name, against, total), *_ = disputed(other, fit_model(other))
    assert name == snapshot.features.index[5]
    assert total == 9
    assert against >= 5
