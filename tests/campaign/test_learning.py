"""The model of a campaign."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.campaign.answering import leases
from pairsmith.campaign.exchange.files import export_answers, import_answers
from pairsmith.campaign.learning import evidence, fit_linear, fit_model
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.cli.fit import read_campaign_evidence
from support.campaigns import answer_next, answers_of, invite_people


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_the_models_are_fitted_to_labels_and_answers(tmp_path, make):
    store = make(str(tmp_path / "t.db"), labels=(np.array([0, 4]), np.array([1, -1])))
    for choice in ("left", "right", "tie", "skip", "left"):
        answer_next(store, choice)
    snapshot = take_snapshot(store)
    answers = snapshot.answers
    assert len(answers) == 4
    known = {
        "y": np.array([1, -1]),
        "labeled": np.array([0, 4]),
        "comparisons": answers[["first", "second"]].to_numpy(),
        "outcomes": answers["outcome"].to_numpy(),
    }
    X = snapshot.features.to_numpy()
    linear = fit_linear(snapshot)
    expected = ps.BradleyTerry(ridge=linear.ridge).fit(X, **known)
    np.testing.assert_allclose(linear.coef_, expected.coef_, rtol=1e-9)
    model = fit_model(snapshot)
    right = answers["first"] + answers["second"] - answers["left"]
    known["comparisons"] = np.column_stack([answers["left"], right])  # as they were shown
    known["outcomes"] = answers["outcome"] * np.where(answers["left"] == answers["first"], 1, -1)
    expected = ps.BradleyTerryGP().fit(snapshot.features, **known, raters=answers["rater"], shown_first=answers["left"])
    pd.testing.assert_frame_equal(model.rank(snapshot.features), expected.rank(snapshot.features))
    assert model.known(snapshot.features).all()


def test_the_model_learns_raters_and_sides(tmp_path, make):
    """Ben always takes the left one: his answers must not rank, and those of anna must."""
    store = make(str(tmp_path / "t.db"), n=10, d=2, k=45, answers_per_pair=2, objective="random")
    anna, ben = invite_people(store, 2)
    while (lease := leases.next_pair(store, anna)) is not None:
        leases.answer(store, anna, lease.token, "left" if lease.left < lease.right else "right")
    while (lease := leases.next_pair(store, ben)) is not None:
        leases.answer(store, ben, lease.token, "left")
    model = fit_model(take_snapshot(store))
    assert model.raters_.loc["p1", "bias"] > 1 > abs(model.raters_.loc["p0", "bias"])
    assert model.raters_.loc["p0", "slope"] > 2 * model.raters_.loc["p1", "slope"]
    assert list(model.rank(take_snapshot(store).features).index) == [f"{row:03d}" for row in range(10)]


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_graded_answers_weigh_in_both_models(tmp_path, make):
    store = make(str(tmp_path / "t.db"), graded=True, labels=(np.array([0, 4]), np.array([1, -1])))
    person = people.local_rater(store)
    for turn in range(8):
        token = leases.next_pair(store, person).token
        leases.answer(store, person, token, "left", strength="slightly" if turn % 4 else "much")
    snapshot = take_snapshot(store)
    much = (snapshot.answers["strength"] == "much").to_numpy()
    known = evidence(snapshot)
    assert known.pop("sample_weight").tolist() == [1, 1, *np.where(much, 1.75, 0.75)]
    weighed = ps.BradleyTerryGP().fit(snapshot.features, **known, sample_weight=[1, 1, *np.where(much, 1.75, 0.75)])
    plain = ps.BradleyTerryGP().fit(snapshot.features, **known)
    ranking = fit_model(snapshot).rank(snapshot.features)
    pd.testing.assert_frame_equal(ranking, weighed.rank(snapshot.features))
    assert not np.allclose(ranking["score"], plain.rank(snapshot.features).loc[ranking.index, "score"])
    scores = fit_linear(snapshot).decision_function(snapshot.features)
    without = replace(snapshot, answers=snapshot.answers.assign(strength=""))
    assert not np.allclose(scores, fit_linear(without).decision_function(snapshot.features))
    assert "sample_weight" not in evidence(without)
    assert read_campaign_evidence(store.target).weights.tolist() == [1, 1, *np.where(much, 1.75, 0.75)]


def test_the_order_of_imported_answers_is_no_side(tmp_path, make):
    """A table of winners and losers has the winner first, always; the item shown first it does not tell."""
    store = make(str(tmp_path / "t.db"), n=8)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    assert add_answers(store, answers_of(pairs)) == 28
    known = evidence(take_snapshot(store))
    assert {tuple(sorted(pair)) for pair in known["comparisons"].tolist()} == set(pairs)
    assert known["shown_first"].tolist() == [-1] * 28
    np.testing.assert_array_equal(known["comparisons"][:, 0] < known["comparisons"][:, 1], known["outcomes"] > 0)
    model = fit_model(take_snapshot(store))
    assert model.raters_["bias"].isna().all()
    assert list(model.rank(take_snapshot(store).features).index) == [f"{row:03d}" for row in range(8)]


def test_a_fit_starts_from_the_previous_model(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=10, k=30)
    for _ in range(20):
        answer_next(store)
    first = fit_model(take_snapshot(store))
    before = first.decision_function(take_snapshot(store).features)
    answer_next(store, "right")
    again = fit_model(take_snapshot(store), first)
    assert again is first
    assert not np.array_equal(again.decision_function(take_snapshot(store).features), before)
    fresh = fit_model(take_snapshot(store))
    np.testing.assert_allclose(again.doubt_, fresh.doubt_, atol=0.02)


def test_without_labels_and_answers_there_is_no_model(tmp_path, make):
    snapshot = take_snapshot(make(str(tmp_path / "t.db")))
    assert evidence(snapshot) == {}
    assert fit_model(snapshot) is fit_linear(snapshot) is None


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_ties_stay_ties_even_if_nobody_preferred_the_second(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    person = people.local_rater(store)
    lease = leases.next_pair(store, person)
    leases.answer(store, person, lease.token, "left" if lease.left < lease.right else "right")
    leases.answer(store, person, leases.next_pair(store, person).token, "tie")
    snapshot = take_snapshot(store)
    assert sorted(snapshot.answers["outcome"]) == [0, 1]
    model = fit_model(snapshot)
    tied = snapshot.answers.loc[snapshot.answers["outcome"] == 0, ["first", "second"]].to_numpy()
    assert model.compare(snapshot.features, tied)[0] == pytest.approx(0.5, abs=0.2)
    assert fit_linear(snapshot) is not None
    export_answers(store, "csv", tmp_path / "out.csv")
    assert import_answers(store, tmp_path / "out.csv") == (2, 0)
