"""What the dashboard shows of the model."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from campaigns import answer_next
from pairsmith.campaign import leases, people, planning, report
from pairsmith.campaign.answers import add as add_answers
from pairsmith.campaign.dashboard import EMPTY_REPORT
from pairsmith.campaign.learning import evidence, fit_model
from pairsmith.campaign.report import FAIRLY_SURE, LITTLE, Memory, Point, advise, make_report
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
    assert rows["anna"]["agrees_on_repeated"] == rows["ben"]["agrees_on_repeated"]
    assert rows["anna"]["agrees_on_repeated"][0] == 0.5
    assert rows["anna"]["seconds"] == 2.0
    assert rows["anna"]["agrees_with_model"] > rows["ben"]["agrees_with_model"]
    assert rows["anna"]["slope"] > rows["ben"]["slope"]
    assert rows["anna"]["infit"] > 0
    scores = [row[1] for row in report["ranking"]]
    assert scores == sorted(scores, reverse=True)
    assert all(
        low < score < high and 1 <= best <= worst <= 20 for _, score, low, high, best, worst in report["ranking"]
    )
    assert {row[0] for row in report["ranking"]} == set(store.items.names)
    # log det by brute force
    X = take_snapshot(store).features.to_numpy()
    pairs = {tuple(pair) for pair in take_snapshot(store).answers[["first", "second"]].to_numpy()}
    D = np.array([X[i] - X[j] for i, j in pairs])
    ridge = ps.select(X, 1).ridge
    gained = np.linalg.slogdet(ridge * np.eye(4) + D.T @ D)[1] - 4 * np.log(ridge)
    assert report["curve"][-1]["gained"] == pytest.approx(gained, abs=1e-3)
    assert report["curve"][-1]["gained"] > report["curve"][-1]["random"]


@pytest.mark.slow
def test_answers_are_predicted_where_they_can_be_and_noise_is_not(tmp_path, make):
    found = []
    for name, rng in (("honest", None), ("noise", np.random.default_rng(0))):
        store = make(str(tmp_path / f"{name}.db"), n=30, d=3, k=40)
        X = take_snapshot(store).features.to_numpy()
        give_answers(store, 80, X @ [2.0, -1.0, 1.0] * (0.0 if rng else 1.0), rng)
        found.append([point["auc"] for point in make_report(take_snapshot(store))["curve"]])
    assert found[0][-1] > max(0.9, found[0][0])
    assert 0.25 < found[1][-1] < 0.75


@pytest.mark.slow
def test_what_comes_later_is_predicted_by_the_model_of_then_and_the_rest_without_itself(tmp_path, make):
    """The AUC after 8 of 20 answers, by models fitted without each answer."""
    store = make(str(tmp_path / "t.db"), n=12, d=3, k=40)
    give_answers(store, 20, take_snapshot(store).features.to_numpy() @ [2.0, -1.0, 0.5], np.random.default_rng(1))
    snapshot = take_snapshot(store)
    early = replace(snapshot, answers=snapshot.answers[:8])
    model = fit_model(early)
    fixed = {name: model.variances_[name] for name in ("linear", "smooth", "items")}
    known = evidence(snapshot)
    gaps = []
    for at in range(20):
        use = np.array([other for other in range(8) if other != at])
        without = {name: values[use] for name, values in known.items() if name != "raters"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = ps.BradleyTerryGP(**fixed).fit(snapshot.features, **without).decision_function(snapshot.features)
        gaps.append(scores[known["comparisons"][at, 0]] - scores[known["comparisons"][at, 1]])
    right = gaps * known["outcomes"]  # of the item preferred; its mirror image is as far below
    auc = np.mean([(one > -other) + (one == -other) / 2 for one in right for other in right])
    (point,) = [point for point in make_report(snapshot)["curve"] if point["answers"] == 8]
    assert point["auc"] == pytest.approx(auc, abs=0.05)


@pytest.mark.slow
def test_stop_advice(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=12, d=2, k=30)
    truth = take_snapshot(store).features.to_numpy() @ [4.0, -3.0]
    give_answers(store, 20, truth)
    assert not make_report(take_snapshot(store))["advice"]["stop"]
    assert "early" in make_report(take_snapshot(store))["advice"]["text"]
    give_answers(store, 46, truth)  # every pair there is
    assert make_report(take_snapshot(store))["advice"]["stop"]
    falling = [{"answers": mark, "doubt": 0.4 - mark / 400} for mark in range(10, 101, 10)]
    assert not advise(falling)["stop"]
    assert "15.0% and still falls (22.5% before the last 30 answers)" in advise(falling)["text"]
    for level, done in ((FAIRLY_SURE, True), (2 * FAIRLY_SURE, False)):  # what hardly changes is done only where sure
        flat = [{"answers": mark, "doubt": level - LITTLE * mark / 100} for mark in range(10, 101, 10)]
        assert advise(flat)["stop"] == done


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
    report = make_report(snapshot, Memory(model=model, points=all_known(snapshot, model)))
    assert f"{model.doubt_:.1%}" in report["advice"]["text"]
    assert report["learned"]["explained"] < 0.5
    assert report["learned"]["doubt"] == pytest.approx(model.doubt_, abs=1e-3)


class all_known(dict):
    """Points of a curve that are all those of one model: its earlier ones are no matter here."""

    def __init__(self, snapshot, model):
        super().__init__()
        self.point = Point(
            model.doubt_, model.decision_function(snapshot.features), model.left_out_["gap"].to_numpy()[:1]
        )

    def __contains__(self, name):
        return True

    def __getitem__(self, name):
        return self.point


def test_the_report_of_nothing_is_empty(tmp_path, make):
    report = make_report(take_snapshot(make(str(tmp_path / "t.db"))))
    assert report == EMPTY_REPORT | {"advice": report["advice"]}
    assert not report["advice"]["stop"]


def test_a_report_computes_what_the_last_one_did_not(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), n=10, k=40)
    memory, fits = Memory(), []

    def counted(snapshot, model):
        fits.append(len(snapshot.answers))
        return fit_model(snapshot, model)

    monkeypatch.setattr(report, "fit_model", counted)
    for total in (6, 7, 7):
        while len(take_snapshot(store).answers) < total:
            answer_next(store)
        found = make_report(take_snapshot(store), memory)
        assert [point["answers"] for point in found["curve"]] == [4, total]
    assert fits == [4, 6, 7]
    me = people.local_person(store)
    last = take_snapshot(store).answers.iloc[-1]
    winner = last["first"] if last["outcome"] > 0 else last["second"]
    leases.undo(store, me, leases.progress(store, me)["undo"])
    again = leases.next_pair(store, me)
    leases.answer(store, me, again.token, "right" if again.left == winner else "left")  # the other answer in its place
    changed = make_report(take_snapshot(store), memory)
    assert fits == [4, 6, 7, 7]
    assert changed["curve"][0]["auc"] != found["curve"][0]["auc"]  # which is over all answers
    assert changed["curve"][0]["doubt"] == found["curve"][0]["doubt"]
    assert changed["curve"][1]["doubt"] != found["curve"][1]["doubt"]


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
