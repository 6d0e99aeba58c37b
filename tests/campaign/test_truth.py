"""Whether the dashboard tells the truth of a campaign whose truth is known, from the first round to the page."""

import random
import secrets
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.model.gaussian_process import BradleyTerryGP
from support.campaigns import client_of

ITEMS, ANSWERS, ROUND = 60, 400, 50


def answer_rounds(store, choose, after_round):
    """Somebody answers as `choose(lease)` says, rounds being designed by what they said; `after_round` sees models."""
    me, model = people.local_rater(store), BradleyTerryGP(warm_start=True)
    for _ in range(ANSWERS):
        lease = leases.next_pair(store, me)
        if lease is None:
            assert planning.plan_round(store, previous=[model])
            after_round(model)
            lease = leases.next_pair(store, me)
        leases.answer(store, me, lease.token, choose(lease), 1.0)


def on_the_page(store):
    """The report as the dashboard has it."""
    dashboard.save_report(store, make_report(take_snapshot(store)))
    with client_of(store) as api:
        return api.get("/api/dashboard").json()["report"]


@pytest.fixture
def campaign(tmp_path, make, monkeypatch):
    """60 items with five features that have nothing to do with what is asked; sides are the same in every run."""
    drawn = random.Random(0)
    monkeypatch.setattr(leases, "secrets", SimpleNamespace(choice=drawn.choice, token_urlsafe=secrets.token_urlsafe))
    return make(str(tmp_path / "t.db"), n=ITEMS, d=5, k=ROUND)


@pytest.mark.slow
def test_coin_flips_through_designed_rounds_are_said_to_contradict_each_other(campaign):
    rng = np.random.default_rng(1)  # some draws look like order: with 0, 23 of 34 random pairs come true
    answer_rounds(campaign, lambda _: rng.choice(["left", "right"]), lambda _: None)
    report = on_the_page(campaign)
    assert report["advice"]["text"].startswith("The answers contradict each other as if they were coin flips")
    assert not report["advice"]["stop"]
    assert set(take_snapshot(campaign).answers["why"]) == {"designed", "random"}
    found = report["learned"]["agreement"]
    assert found["number"] >= 20
    assert binomtest(round(found["value"] * found["number"]), found["number"]).pvalue > 0.001  # no more than a coin has
    assert report["people"][0]["foretold"][0] == pytest.approx(found["value"], abs=1e-3)  # of the one there is


@pytest.mark.slow
def test_of_answers_without_error_no_less_than_half_of_the_true_doubt_is_claimed(campaign):
    """After each designed round, and on the page after the last."""
    truth = np.random.default_rng(0).standard_normal(ITEMS)
    features = take_snapshot(campaign).features
    i, j = np.triu_indices(ITEMS, 1)

    def wrong(scores):
        return np.mean((scores[i] > scores[j]) != (truth[i] > truth[j]))

    claimed = []

    def compare(model):
        found = wrong(model.decision_function(features))
        assert model.doubt_ >= found / 2
        claimed.append((model.doubt_, found))

    answer_rounds(campaign, lambda lease: "left" if truth[lease.left] > truth[lease.right] else "right", compare)
    assert len(claimed) == ANSWERS // ROUND - 1
    assert claimed[0][1] > 0.15  # there was something to be modest about
    report = on_the_page(campaign)
    scores = np.empty(ITEMS)
    for row, _, score, *_ in dashboard.last_ranking(campaign):
        scores[row] = score
    assert report["learned"]["doubt"] >= wrong(scores) / 2
    assert f"{report['learned']['doubt']:.1%}" in report["advice"]["text"]
    assert report["people"][0]["foretold"][1] > 0.6
